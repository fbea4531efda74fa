# SPDX-License-Identifier: MIT
"""PyBoy's names: small scripts unchanged, and beside PyBoy itself where it is installed."""

import io
import os
import pathlib
import subprocess
import sys

import pytest

import dotmatrix as dm
import dotmatrix.pyboy as pyboy
from dotmatrix.pyboy.utils import WindowEvent, bcd_to_dec, dec_to_bcd

PACKAGES = pathlib.Path(dm.__file__).parents[1]

SCRIPT = """
import io, sys
from pyboy import PyBoy
from pyboy.utils import WindowEvent, bcd_to_dec

pyboy = PyBoy(sys.argv[1], window="null", sound_emulated=False)
pyboy.set_emulation_speed(0)
pyboy.tick(120, True)
pyboy.button("start")
for _ in range(60):
    pyboy.tick(1, False)
pyboy.send_input(WindowEvent.PRESS_ARROW_LEFT)
pyboy.tick(20)
pyboy.send_input(WindowEvent.RELEASE_ARROW_LEFT)
state = io.BytesIO()
pyboy.save_state(state)
before = pyboy.memory[0xC000:0xC020]
pyboy.tick(30)
state.seek(0)
pyboy.load_state(state)
assert pyboy.memory[0xC000:0xC020] == before
calls = []
bank, address = pyboy.symbol_lookup("DrawSprites")
pyboy.hook_register(None, "DrawSprites", calls.append, 1)
pyboy.tick(30)
pyboy.hook_deregister(None, "DrawSprites")
assert calls
print(type(pyboy).__module__, pyboy.cartridge_title, pyboy.screen.ndarray.shape, bcd_to_dec(0x42), bank,
      pyboy.register_file.PC > 0, pyboy.frame_count)
pyboy.stop(save=False)
"""


@pytest.fixture
def game(starfall):
    with pyboy.PyBoy(starfall) as machine:
        yield machine


def run(arguments, **env):
    return subprocess.run(
        [sys.executable, "-B", *arguments], env=dict(os.environ, PYTHONPATH=str(PACKAGES), **env),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_script_unchanged(starfall, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    result = run(["-m", "dotmatrix.pyboy", str(tmp_path / "script.py"), starfall])
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].split() == ["dotmatrix.pyboy", "STARFALL", "(144,", "160,", "4)", "42", "0", "True", "260"]


def test_the_same_script_on_pyboy(starfall, tmp_path):
    pytest.importorskip("pyboy", reason="PyBoy is not installed")
    (tmp_path / "script.py").write_text(SCRIPT)
    result = run([str(tmp_path / "script.py"), starfall])
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].split()[1:] == ["STARFALL", "(144,", "160,", "4)", "42", "0", "True", "260"]


def test_no_script(tmp_path):
    assert run(["-m", "dotmatrix.pyboy"]).returncode == 2
    result = run(["-m", "dotmatrix.pyboy", "nowhere.py"])
    assert result.returncode == 4 and "nowhere.py" in result.stderr


def test_send_input_later(game):
    game.send_input(WindowEvent.PRESS_BUTTON_A)
    game.send_input(WindowEvent.RELEASE_BUTTON_A, 2)
    pressed = []
    for _ in range(4):
        pressed.append(game._keys)
        game.tick()
    assert pressed[:2] == [16, 16] and pressed[3] == 0


def test_later_inputs_within_a_long_tick(starfall):
    with pyboy.PyBoy(starfall) as one, pyboy.PyBoy(starfall) as many:
        for machine in one, many:
            machine.tick(60, False)
            machine.send_input(WindowEvent.PRESS_BUTTON_START, 3)
            machine.send_input(WindowEvent.RELEASE_BUTTON_START, 9)
            machine.button("left", 20)
        one.tick(64, False)
        for _ in range(64):
            many.tick(1, False)
        assert dm.GameBoy.save_state(one) == dm.GameBoy.save_state(many)


def test_quit(game):
    assert game.tick()
    game.send_input(WindowEvent.QUIT)
    assert not game.tick()


def test_stop_and_use(game):
    game.stop()
    game.stop()
    with pytest.raises(dm.InvalidArgument, match="closed"):
        game.tick()


def test_states_want_files_of_bytes(game):
    for file in ("a path", io.StringIO()):
        with pytest.raises(dm.InvalidArgument, match="file of bytes"):
            game.save_state(file)
        with pytest.raises(dm.InvalidArgument, match="file of bytes"):
            game.load_state(file)


def test_battery_beside_the_rom(roms, tmp_path):
    rom = tmp_path / "game.gb"
    rom.write_bytes((roms / "SWITCHBACK.gb").read_bytes())
    first = pyboy.PyBoy(rom)
    first.memory[0, 0xA123] = 99
    first.stop()
    assert (tmp_path / "game.gb.ram").stat().st_size == 8192
    second = pyboy.PyBoy(str(rom))
    assert second.memory[0, 0xA123] == 99
    kept = io.BytesIO()
    second.stop(ram_file=kept)
    third = pyboy.PyBoy(io.BytesIO(rom.read_bytes()), ram_file=io.BytesIO(kept.getvalue()))
    assert third.memory[0, 0xA123] == 99
    third.stop()


def test_sprites_and_tiles(game):
    game.tick(120)
    sprites = [game.get_sprite(i) for i in range(40)]
    assert [s.sprite_index for s in sprites] == list(range(40))
    shown = [s for s in sprites if s.on_screen]
    for s in shown:
        assert s.sprite_index in game.get_sprite_by_tile_identifier([s.tile_identifier])[0]
    tiles = game.tilemap_background[0:20, 0:18]
    assert len(tiles) == 18 and len(tiles[0]) == 20
    assert tiles[3][5] == game.tilemap_background[5, 3] == game.tilemap_background.tile_identifier(5, 3)
    assert game.tilemap_background[0:20, 3] == tiles[3]
    assert game.screen.get_tilemap_position()[0] == (game.memory[0xFF43], game.memory[0xFF42])
    with pytest.raises(dm.InvalidArgument):
        game.get_sprite(40)
    with pytest.raises(dm.InvalidArgument):
        game.tilemap_window.tile_identifier(32, 0)


def test_palette(starfall):
    with pyboy.PyBoy(starfall, color_palette=(0x112233, 0x445566, 0x778899, 0xAABBCC)) as game:
        game.tick(120)
        colours = {tuple(p) for row in game.screen.ndarray for p in row}
        assert (0x11, 0x22, 0x33, 255) in colours and len(colours) > 1


@pytest.mark.parametrize("name", ["game_area", "game_wrapper", "get_tile", "memory_scanner", "sound"])
def test_what_is_missing_says_so(game, name):
    with pytest.raises(dm.Unsupported, match=name):
        getattr(game, name)


def test_what_never_was(game):
    with pytest.raises(AttributeError, match="no attribute 'fly'"):
        game.fly
    with pytest.raises(TypeError, match="no option 'wndow'"):
        pyboy.PyBoy("x.gb", wndow="null")
    with pytest.raises(dm.Unsupported, match="cgb"):
        pyboy.PyBoy("x.gb", cgb=True)
    with pytest.raises(dm.Unsupported, match="register_file.A"):
        game.register_file.A = 1


@pytest.mark.parametrize(("number", "bytes_"), [(0, 1), (42, 1), (1234, 2), (987654, 3)])
def test_bcd(number, bytes_):
    assert bcd_to_dec(dec_to_bcd(number, bytes_), bytes_) == number
    assert dec_to_bcd(42) == 0x42 and bcd_to_dec(0x1234, 2) == 1234


def test_bcd_is_pyboys():
    theirs = pytest.importorskip("pyboy.utils", reason="PyBoy is not installed")
    for order in "little", "big":
        for number in range(0, 9999, 97):
            code = theirs.dec_to_bcd(number, 2, order)
            assert code == dec_to_bcd(number, 2, order)
            assert bcd_to_dec(code, 2, order) == theirs.bcd_to_dec(code, 2, order)


def test_events_have_pyboys_numbers():
    theirs = pytest.importorskip("pyboy.utils", reason="PyBoy is not installed").WindowEvent
    for name in dir(WindowEvent):
        if name.isupper():
            assert getattr(WindowEvent, name) == getattr(theirs, name), name


def test_the_same_frames_as_pyboy(starfall):
    """The same picture as PyBoy's some frames after its boot ROM has ended."""
    theirs = pytest.importorskip("pyboy", reason="PyBoy is not installed").PyBoy(starfall, window="null")
    try:
        ours = pyboy.PyBoy(starfall)
        for machine in ours, theirs:
            for _ in range(600):
                machine.tick()
                if machine.memory[0xFF50] and machine.register_file.PC > 0x150 and machine.frame_count > 300:
                    break
        assert (ours.screen.ndarray[..., :3] == theirs.screen.ndarray[..., :3]).mean() > 0.9
        ours.stop(save=False)
    finally:
        theirs.stop(save=False)
