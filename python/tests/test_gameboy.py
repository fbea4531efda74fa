# SPDX-License-Identifier: MIT
"""One machine: ticks, buttons, memory, screen; and what happens to those who use it wrongly."""

import os
import pathlib

import numpy as np
import pytest

import dotmatrix as dm


def test_version():
    assert dm.__version__.count(".") == 2


def test_tick_draws(gb):
    assert gb.tick(120)
    picture = gb.screen.ndarray
    assert picture.shape == (144, 160, 4) and picture.dtype == np.uint8
    assert len(np.unique(picture[..., 0])) > 1
    assert (picture[..., 3] == 255).all()


def test_shades_and_colours_are_the_same_picture(gb):
    gb.tick(120)
    lut = np.array([255, 153, 85, 0], np.uint8)
    assert (lut[gb.screen.shades] == gb.screen.ndarray[..., 0]).all()


def test_rom_as_bytes(starfall, gb):
    other = dm.GameBoy(pathlib.Path(starfall).read_bytes())
    other.tick(60)
    gb.tick(60)
    assert (other.screen.shades == gb.screen.shades).all()


def test_memory(gb):
    gb.memory[0xC100] = 7
    assert gb.memory[0xC100] == 7
    gb.memory[0xC100:0xC104] = [1, 2, 3, 4]
    assert gb.memory[0xC100:0xC104] == [1, 2, 3, 4]
    gb.memory[0xC100:0xC104] = 9
    assert gb.memory[0xC100:0xC104] == [9] * 4
    assert gb.memory[0xC100:0xC104:2] == [9, 9]
    assert len(gb.memory[:]) == 0x10000


@pytest.mark.parametrize("where", [0x10000, -1])
def test_memory_ends(gb, where):
    with pytest.raises((dm.InvalidArgument, OverflowError)):
        gb.memory[where]


def test_memory_counts(gb):
    with pytest.raises(dm.InvalidArgument, match="4 addresses, 2 values"):
        gb.memory[0xC100:0xC104] = [1, 2]


def test_buttons_change_what_happens(starfall):
    with dm.GameBoy(starfall) as left, dm.GameBoy(starfall) as still:
        for machine in left, still:
            machine.tick(60)
            machine.button_press("start")
            machine.tick(4)
            machine.button_release("start")
            machine.tick(30)
        left.button_press("left")
        left.tick(40)
        still.tick(40)
        assert (left.screen.shades != still.screen.shades).any()


def test_unknown_button(gb):
    with pytest.raises(dm.InvalidArgument, match="one of right, left"):
        gb.button_press("fire")


def test_no_such_file():
    with pytest.raises(dm.Error, match="nowhere.gb") as info:
        dm.GameBoy("/nowhere/nowhere.gb")
    assert info.value.status


def test_not_a_rom():
    with pytest.raises(ValueError):
        dm.GameBoy(b"not a ROM")


def test_close_twice_and_use(gb):
    gb.close()
    gb.close()
    with pytest.raises(dm.InvalidArgument, match="closed"):
        gb.tick()


def test_picture_keeps_its_machine(starfall):
    gb = dm.GameBoy(starfall)
    gb.tick(120)
    picture = gb.screen.ndarray
    copy = picture.copy()
    del gb
    assert (picture == copy).all()


def test_dlpack(gb):
    gb.tick(120)
    array = gb.rgba(bytes(range(16)))
    other = np.from_dlpack(array)
    assert other.ctypes.data == array.address
    copied = np.from_dlpack(array, copy=True)
    assert copied.ctypes.data != array.address and (copied == other).all()


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 1)])
def test_capsules(gb, version):
    capsule = gb.rgba(bytes(16)).__dlpack__(max_version=version)
    assert ("versioned" in repr(capsule)) == (version is not None and version[0] >= 1)


def test_fork_is_an_error(gb):
    child = os.fork()
    if child == 0:
        try:
            gb.tick()
        except dm.InvalidArgument:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
