# SPDX-License-Identifier: MIT
"""Symbols, hooks, banks, timed buttons and states of one machine."""

import io
import pathlib

import pytest

import dotmatrix as dm


@pytest.fixture
def switchback(roms):
    with dm.GameBoy(roms / "SWITCHBACK.gb") as machine:
        yield machine


def test_symbols_beside_the_rom(gb):
    bank, address = gb.symbol_lookup("MainLoop")
    assert bank == 0 and 0x150 <= address < 0x8000
    assert gb.memory[gb.symbol_lookup("MainLoop")] == gb.memory[address]


def test_symbols_of_a_file(starfall, tmp_path):
    path = tmp_path / "mine.sym"
    path.write_text("; a comment\n[labels]\n00:c0A0 wMine\n3:4000 Far.local ; more\nnonsense\n")
    with dm.GameBoy(starfall, symbols=path) as gb:
        assert gb.symbol_lookup("wMine") == (0, 0xC0A0)
        assert gb.symbol_lookup("Far.local") == (3, 0x4000)
        with pytest.raises(dm.InvalidArgument, match="closest is 'wMine'"):
            gb.symbol_lookup("wMini")


def test_no_symbols(starfall):
    with dm.GameBoy(pathlib.Path(starfall).read_bytes()) as gb, pytest.raises(ValueError, match="no symbol file"):
        gb.symbol_lookup("MainLoop")


def test_symbols_of_no_file(starfall):
    with pytest.raises(dm.NotFound, match="nowhere.sym"):
        dm.GameBoy(starfall, symbols="/nowhere.sym")


def test_hook_by_symbol(gb):
    seen = []
    gb.hook_register(None, "MainLoop", seen.append, "loop")
    gb.tick(120)
    assert set(seen) == {"loop"} and len(seen) > 50


def test_hook_sees_the_moment(gb):
    places = []
    bank, address = gb.symbol_lookup("MainLoop")
    gb.hook_register(bank, address, lambda gb: places.append((gb.registers()["pc"], gb.counters()["cycles"])), gb)
    gb.tick(30)
    assert places and all(pc == address for pc, _ in places)
    assert [c for _, c in places] == sorted({c for _, c in places})


def test_hooks_change_nothing(starfall):
    with dm.GameBoy(starfall) as with_hook, dm.GameBoy(starfall) as without:
        with_hook.hook_register(None, "MainLoop", lambda _: None, None)
        for frames in (1, 7, 60, 1):
            with_hook.tick(frames)
            without.tick(frames)
            assert with_hook.counters() == without.counters()
            assert with_hook.save_state() == without.save_state()
            assert with_hook.frame() == without.frame()


def test_hook_of_a_bank(switchback):
    """Code at the same address of two banks."""
    hits = {1: 0, 2: 0, None: 0}

    def hit(bank):
        hits[bank] += 1

    switchback.hook_register(0, 0x100, hit, None)
    switchback.hook_register(5, 0x100, hit, 1)
    switchback.tick(1)
    assert hits == {1: 0, 2: 0, None: 1}


def test_hook_removes_itself(gb):
    seen = []

    def once(_):
        seen.append(1)
        gb.hook_deregister(None, "MainLoop")

    gb.hook_register(None, "MainLoop", once)
    gb.tick(60)
    assert seen == [1] and not gb._busy


def test_hook_errors(gb):
    gb.hook_register(0, 0x150, print)
    with pytest.raises(dm.InvalidArgument, match="there is a hook at 00:0150"):
        gb.hook_register(0, 0x150, print)
    with pytest.raises(dm.InvalidArgument, match="no hook at 01:4000"):
        gb.hook_deregister(1, 0x4000)
    with pytest.raises(dm.InvalidArgument, match="0..0xFFFF"):
        gb.hook_register(0, 0x10000, print)
    with pytest.raises(dm.InvalidArgument, match="cannot be called"):
        gb.hook_register(0, 0x200, None)


def test_hook_raises(gb):
    def fail(_):
        raise KeyError("mine")

    gb.hook_register(None, "MainLoop", fail)
    with pytest.raises(KeyError, match="mine"):
        gb.tick(60)
    gb.hook_deregister(None, "MainLoop")
    assert gb.tick(2)


def test_banks(switchback):
    rom = switchback.memory[3, 0x4000:0x4010]
    assert rom == switchback.memory[3, 0x0000:0x0010] and len(rom) == 16
    switchback.memory[0, 0xA005] = 77
    assert switchback.memory[0, 0xA005] == 77
    switchback.memory[0, 0xA000:0xA004] = b"abcd"
    assert bytes(switchback.memory[0, 0xA000:0xA004:2]) == b"ac"
    assert switchback.bank(0) == 0 and switchback.bank(0x4000) >= 1


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ((99, 0x4000), "no number 99"),
        ((0, slice(0x3FFE, 0x4002)), None),
        ((1, 0x8000), "no number 1"),
        ((0, 0xFF80), "has no banks"),
        ((0, slice(0x4000, None)), "both ends"),
        ((-1, 0), "boot ROM"),
        ((0, 0, 0), "a bank and an address"),
        ((0, 0x20000), "0..0xFFFF"),
    ],
)
def test_bank_errors(switchback, where, why):
    if why is None:
        assert len(switchback.memory[where]) == 4  # both halves of ROM 0
        return
    with pytest.raises(dm.InvalidArgument, match=why):
        switchback.memory[where]


def test_rom_is_not_written(switchback):
    with pytest.raises(dm.Unsupported, match="ROM is not written"):
        switchback.memory[1, 0x4000] = 1


@pytest.mark.parametrize("value", [256, -1, [1, 2, 300, 4]])
def test_values(gb, value):
    with pytest.raises(dm.InvalidArgument, match="0..255"):
        gb.memory[0xC100:0xC104] = value


def test_button_for_a_time(gb):
    """A press of n frames ends with the n-th."""
    pressed = []
    gb.button("a", 3)
    for _ in range(5):
        pressed.append(gb._keys)
        gb.tick()
    assert pressed == [16, 16, 16, 0, 0] and not gb._busy


def test_button_within_a_long_tick(starfall):
    with dm.GameBoy(starfall) as one, dm.GameBoy(starfall) as many:
        for gb in one, many:
            gb.tick(60, False)
            gb.button("start", 4)
        one.tick(50, False)
        for _ in range(50):
            many.tick(1, False)
        assert one.save_state() == many.save_state()


def test_tick_arguments(gb):
    assert gb.tick(2, False) and gb.tick(count=2, render=True, sound=False) and gb.tick(0)
    assert gb.frame_count == 4
    for wrong in ({"count": -1}, {"count": 2**32}):
        with pytest.raises(dm.InvalidArgument, match="number of frames"):
            gb.tick(**wrong)
    with pytest.raises(TypeError):
        gb.tick(1, count=1)
    with pytest.raises(TypeError):
        gb.tick(1, True, True, True)
    with pytest.raises(TypeError):
        gb.tick(rendr=True)


def test_states_anywhere(gb, tmp_path):
    gb.tick(90)
    state = gb.save_state()
    gb.save_state(tmp_path / "a.state")
    with open(tmp_path / "b.state", "wb") as file:
        gb.save_state(file)
    assert (tmp_path / "a.state").read_bytes() == (tmp_path / "b.state").read_bytes() == state
    for source in (state, bytearray(state), tmp_path / "a.state", str(tmp_path / "b.state"), io.BytesIO(state)):
        gb.tick(30)
        gb.load_state(source)
        assert gb.save_state() == state


def test_damaged_state(gb):
    state = bytearray(gb.save_state())
    state[100] ^= 1
    with pytest.raises(dm.FormatError):
        gb.load_state(bytes(state))


def test_battery(switchback, roms, tmp_path):
    switchback.memory[0, 0xA010] = 42
    switchback.save_battery(tmp_path / "game.sav")
    with dm.GameBoy(roms / "SWITCHBACK.gb") as other:
        other.load_battery(tmp_path / "game.sav")
        assert other.memory[0, 0xA010] == 42


def test_interrupt_stops_a_long_tick(starfall):
    """Ctrl-C during a tick of days is KeyboardInterrupt within a moment."""
    import os
    import signal
    import threading
    import time

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    with dm.GameBoy(starfall) as gb:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            gb.tick(2**31)
        assert time.monotonic() - start < 10
    signal.signal(signal.SIGINT, before)


def test_title_and_repr(gb):
    assert gb.cartridge_title == "STARFALL" and "STARFALL" in repr(gb)
    gb.close()
    assert "closed" in repr(gb)
