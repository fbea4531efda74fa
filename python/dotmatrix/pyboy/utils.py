# SPDX-License-Identifier: MIT
"""pyboy.utils: the events of send_input, and binary coded decimals."""

from __future__ import annotations

__all__ = ["PRESSED", "RELEASED", "WindowEvent", "bcd_to_dec", "dec_to_bcd"]

_BUTTONS = ("up", "down", "right", "left", "a", "b", "select", "start")


class WindowEvent(int):
    """The number of an event, with PyBoy's names: PRESS_BUTTON_A, RELEASE_ARROW_LEFT, QUIT ..."""

    QUIT = 0
    PRESS_ARROW_UP, PRESS_ARROW_DOWN, PRESS_ARROW_RIGHT, PRESS_ARROW_LEFT = 1, 2, 3, 4
    PRESS_BUTTON_A, PRESS_BUTTON_B, PRESS_BUTTON_SELECT, PRESS_BUTTON_START = 5, 6, 7, 8
    RELEASE_ARROW_UP, RELEASE_ARROW_DOWN, RELEASE_ARROW_RIGHT, RELEASE_ARROW_LEFT = 9, 10, 11, 12
    RELEASE_BUTTON_A, RELEASE_BUTTON_B, RELEASE_BUTTON_SELECT, RELEASE_BUTTON_START = 13, 14, 15, 16
    PRESS_SPEED_UP, RELEASE_SPEED_UP, STATE_SAVE, STATE_LOAD, PASS = 18, 19, 20, 21, 22
    SCREEN_RECORDING_TOGGLE, PAUSE, UNPAUSE, PAUSE_TOGGLE = 23, 24, 25, 26


PRESSED = {1 + i: name for i, name in enumerate(_BUTTONS)}
RELEASED = {9 + i: name for i, name in enumerate(_BUTTONS)}


def bcd_to_dec(value: int, byte_width: int = 1, byteorder: str = "little") -> int:
    """The number that `byte_width` bytes of two decimal digits each mean."""
    number = 0
    for byte in reversed(value.to_bytes(byte_width, byteorder)):
        number = 100 * number + 10 * (byte >> 4) + (byte & 15)
    return number


def dec_to_bcd(value: int, byte_width: int = 1, byteorder: str = "little") -> int:
    """A number as bytes of two decimal digits each."""
    digits = []
    for _ in range(byte_width):
        digits.append(value % 100 // 10 << 4 | value % 10)
        value //= 100
    return int.from_bytes(bytes(digits), byteorder)
