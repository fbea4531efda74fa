# SPDX-License-Identifier: MIT
"""One Game Boy with the habits of PyBoy's object: tick, button, memory, screen."""

import os

from . import _core

# PyBoy's default palette: white, light grey, dark grey, black, each as R, G, B, 255.
PALETTE = bytes((255, 255, 255, 255, 153, 153, 153, 255, 85, 85, 85, 255, 0, 0, 0, 255))
KEYS = {"right": 1, "left": 2, "up": 4, "down": 8, "a": 16, "b": 32, "select": 64, "start": 128}


class Screen:
    """What is on a machine's screen."""

    raw_buffer_dims = (144, 160)
    raw_buffer_format = "RGBA"

    def __init__(self, core):
        self._core = core

    @property
    def ndarray(self):
        """144 x 160 x 4 bytes (RGBA) as a NumPy array: one memory, written again at each use."""
        import numpy

        return numpy.asarray(self._core.screen(PALETTE))

    @property
    def shades(self):
        """144 x 160 bytes, 0 (light) to 3 (dark), as a NumPy array of its own."""
        import numpy

        return numpy.frombuffer(self._core.frame(), dtype=numpy.uint8).reshape(144, 160)

    @property
    def raw_buffer(self):
        """The same bytes as `ndarray`, in a row."""
        return self._core.screen(PALETTE).tobytes()

    @property
    def image(self):
        """A PIL.Image, RGBA (needs Pillow)."""
        from PIL import Image

        return Image.frombytes("RGBA", (160, 144), self.raw_buffer)


class Memory:
    """memory[address], memory[first:last], and assignment, as the CPU would read and write."""

    def __init__(self, core):
        self._core = core

    def __getitem__(self, where):
        if isinstance(where, slice):
            first, last, step = self._range(where)
            return list(self._core.peek(first, last - first)[::step]) if last > first else []
        return self._core.peek(where)[0]

    def __setitem__(self, where, value):
        if isinstance(where, slice):
            first, last, step = self._range(where)
            count = len(range(first, last, step))
            values = [value] * count if isinstance(value, int) else list(value)
            if len(values) != count:
                raise _core.InvalidArgument(f"memory: {count} addresses, {len(values)} values")
            if step == 1:
                self._core.poke(first, bytes(values))
            else:
                for address, byte in zip(range(first, last, step), values):
                    self._core.poke(address, bytes((byte,)))
        else:
            self._core.poke(where, bytes((value,)))

    @staticmethod
    def _range(where):
        first = 0 if where.start is None else where.start
        last = 0x10000 if where.stop is None else where.stop
        step = 1 if where.step is None else where.step
        if not (0 <= first <= 0x10000 and 0 <= last <= 0x10000 and step >= 1):
            raise _core.InvalidArgument("memory: a slice lies in 0..0x10000 and goes forwards")
        return first, last, step


class GameBoy:
    """One machine. `rom` is a path or the ROM's bytes.

    with dm.GameBoy("game.gb") as gb:
        gb.button("start")
        while gb.tick():
            ...
    """

    def __init__(self, rom, *, force_dmg=False):
        self._core = _core.GameBoy(
            bytes(rom) if isinstance(rom, (bytes, bytearray, memoryview)) else os.fspath(rom),
            force_dmg=force_dmg,
        )
        self._keys = 0
        self.screen = Screen(self._core)
        self.memory = Memory(self._core)

    def tick(self, count=1, render=True):
        """Run `count` frames; with `render` the last one is drawn. True while the machine runs."""
        self._core.run_frames(count, 1 if render else 0)
        return True

    def button_press(self, name):
        """Hold a button until button_release."""
        self._keys |= self._key(name)
        self._core.set_keys(self._keys)

    def button_release(self, name):
        """Let go of a button."""
        self._keys &= ~self._key(name)
        self._core.set_keys(self._keys)

    @staticmethod
    def _key(name):
        try:
            return KEYS[name]
        except KeyError:
            raise _core.InvalidArgument(f"button {name!r}: one of {', '.join(KEYS)}") from None

    def close(self):
        """Free the machine; twice is fine."""
        self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
