# SPDX-License-Identifier: MIT
"""One Game Boy with the habits of PyBoy's object: tick, button, memory, screen, hooks."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from . import _core
from ._core import Memory
from .symbols import Symbols

if TYPE_CHECKING:
    import numpy
    from PIL.Image import Image

__all__ = ["KEYS", "PALETTE", "GameBoy", "Memory", "Screen"]

# PyBoy's default palette: white, light grey, dark grey, black, each as R, G, B, 255.
PALETTE = bytes((255, 255, 255, 255, 153, 153, 153, 255, 85, 85, 85, 255, 0, 0, 0, 255))
KEYS = {"right": 1, "left": 2, "up": 4, "down": 8, "a": 16, "b": 32, "select": 64, "start": 128}
ANY_BANK = -1
STARTS = {"post_boot": 0, "boot_rom": 1, "zero": 2}


class Screen:
    """What is on a machine's screen."""

    __slots__ = ("_gb", "palette")

    raw_buffer_dims = (144, 160)
    raw_buffer_format = "RGBA"

    def __init__(self, gb: _core.GameBoy, palette: bytes = PALETTE) -> None:
        self._gb = gb
        self.palette = palette

    @property
    def ndarray(self) -> numpy.ndarray:
        """144 x 160 x 4 bytes (RGBA) as a NumPy array: one memory, written again at each use."""
        import numpy

        return numpy.asarray(self._gb.rgba(self.palette))

    @property
    def shades(self) -> numpy.ndarray:
        """144 x 160 bytes, 0 (light) to 3 (dark), as a NumPy array of its own."""
        import numpy

        return numpy.frombuffer(self._gb.frame(), dtype=numpy.uint8).reshape(144, 160)

    @property
    def raw_buffer(self) -> bytes:
        """The same bytes as `ndarray`, in a row."""
        return self._gb.rgba(self.palette).tobytes()

    @property
    def image(self) -> Image:
        """A PIL.Image, RGBA (needs Pillow)."""
        try:
            from PIL import Image
        except ImportError:
            raise _core.Unavailable("screen.image: Pillow is not installed; screen.ndarray needs NumPy alone") from None

        return Image.frombytes("RGBA", (160, 144), self.raw_buffer)


class GameBoy(_core.GameBoy):
    """One machine. `rom` is a path or the ROM's bytes.

        with dm.GameBoy("game.gb") as gb:
            gb.button("start")
            for _ in range(600):
                gb.tick()
            gb.memory[0xC000], gb.screen.ndarray

    `symbols` is a .sym file; without it one beside the ROM is taken, where there is one. `start`: "post_boot" (as a DMG
    is when its boot ROM hands over), "boot_rom" (run the 256 bytes of `boot_rom`) or "zero". `force_dmg` runs a ROM for
    the Game Boy Color only as on a DMG.
    """

    def __init__(
        self,
        rom: str | os.PathLike[str] | bytes,
        *,
        symbols: str | os.PathLike[str] | None = None,
        start: str | None = None,
        boot_rom: bytes | None = None,
        force_dmg: bool = False,
        keep_idle_loops: bool = False,
    ) -> None:
        if start is None:
            start = "post_boot" if boot_rom is None else "boot_rom"
        if start not in STARTS:
            raise _core.InvalidArgument(f"start={start!r}: one of {', '.join(STARTS)}")
        source = bytes(rom) if isinstance(rom, (bytes, bytearray, memoryview)) else os.fspath(rom)
        super().__init__(source, STARTS[start], boot_rom, force_dmg, keep_idle_loops)
        self.symbols = Symbols.of_rom(source if isinstance(source, str) else None, symbols)
        self._keys = 0
        self._releases: list[tuple[int, int]] = []  # (frame, mask)
        self._hooks: dict[tuple[int, int], tuple[Callable[[Any], object], Any]] = {}  # by (address, bank)
        self._order: list[tuple[int, int]] = []  # of the stops

    @property
    def screen(self) -> Screen:
        """What is on the screen: `ndarray`, `shades`, `image`, `raw_buffer`."""
        return Screen(self)

    @property
    def cartridge_title(self) -> str:
        """The title in the ROM's header."""
        raw = bytes(self.memory[0, 0x134:0x144])
        return raw.split(b"\0", 1)[0][:16].decode("ascii", "replace").rstrip("\x80\xc0\ufffd")

    # ---- Buttons ----

    def button(self, name: str, delay: int = 1) -> None:
        """Press a button for the next `delay` frames."""
        if delay < 1:
            raise _core.InvalidArgument(f"button: {delay} frames, 1 at least")
        self.button_press(name)
        heapq.heappush(self._releases, (self.frame_count + delay, self._key(name)))
        self._busy = True

    def button_press(self, name: str) -> None:
        """Hold a button until button_release."""
        self._hold(self._keys | self._key(name))

    def button_release(self, name: str) -> None:
        """Let go of a button."""
        self._hold(self._keys & ~self._key(name))

    def _hold(self, keys: int) -> None:
        self.set_keys(keys)
        self._keys = keys

    @staticmethod
    def _key(name: str) -> int:
        try:
            return KEYS[name.lower()]
        except (KeyError, AttributeError):
            raise _core.InvalidArgument(f"button {name!r}: one of {', '.join(KEYS)}") from None

    # ---- Time ----

    def _tick(self, count: int, render: bool) -> bool:
        """tick() where buttons are to be released or hooks called."""
        while count > 0:
            frames = count
            if self._releases:
                frames = min(frames, max(self._releases[0][0] - self.frame_count, 1))
            self._frames(frames, 1 if render and frames == count else 0)
            count -= frames
            while self._releases and self._releases[0][0] <= self.frame_count:
                self._hold(self._keys & ~heapq.heappop(self._releases)[1])
        self._busy = bool(self._releases or self._hooks)
        return True

    def _frames(self, count: int, draw: int) -> None:
        if not self._hooks:
            self.run_frames(count, draw)
            return
        while count > 0:
            now = min(count, 16384)
            which = self.run_stops(now, draw if now == count else 0)
            while which is not None:
                callback, context = self._hooks[self._order[which]]
                callback(context)
                which = self.run_stops(0, draw)
            count -= now

    # ---- Hooks ----

    def symbol_lookup(self, symbol: str) -> tuple[int, int]:
        """(bank, address) of a symbol: memory[gb.symbol_lookup("wScore")] is what stands there."""
        return self.symbols.lookup(symbol)

    def hook_register(self, bank: int | None, addr: int | str, callback: Callable[[Any], object], context: Any = None) -> None:
        """Call `callback(context)` each time before the instruction at this place is executed.

        `addr` is a symbol or an address; with an address `bank` is the bank that must be mapped there, or None for any.
        Inside, memory and registers are those of that moment. While there are hooks tick() runs instruction by
        instruction, 20 to 50 times slower than without.
        """
        place = self._place(bank, addr)
        if place in self._hooks:
            raise _core.InvalidArgument(f"hook_register: there is a hook at {self._name(place)}")
        if not callable(callback):
            raise _core.InvalidArgument(f"hook_register: {callback!r} cannot be called")
        self._hooks[place] = (callback, context)
        self._update_hooks()

    def hook_deregister(self, bank: int | None, addr: int | str) -> None:
        """Remove a hook; the arguments are those of hook_register."""
        place = self._place(bank, addr)
        if self._hooks.pop(place, None) is None:
            raise _core.InvalidArgument(f"hook_deregister: there is no hook at {self._name(place)}")
        self._update_hooks()

    def _place(self, bank: int | None, addr: int | str) -> tuple[int, int]:
        if isinstance(addr, str):
            bank, addr = self.symbols.lookup(addr)
        if not 0 <= addr <= 0xFFFF:
            raise _core.InvalidArgument(f"hook: an address lies in 0..0xFFFF, not {addr:#x}")
        if bank is None or not (addr < 0x8000 or 0xA000 <= addr < 0xC000):
            return addr, ANY_BANK
        return addr, bank

    @staticmethod
    def _name(place: tuple[int, int]) -> str:
        address, bank = place
        return f"{address:04X}" if bank == ANY_BANK else f"{bank:02X}:{address:04X}"

    def _update_hooks(self) -> None:
        # A hook may remove itself while its tick goes on: numbers in `_order` stay those of the stops.
        self._order = list(self._hooks)
        self.set_stops(self._order)
        self._busy = bool(self._releases or self._hooks)

    # ---- States ----

    def save_state(self, to: str | os.PathLike[str] | BinaryIO | None = None) -> bytes | None:
        """The whole machine: as bytes, to a path, or to a file open for writing bytes."""
        if to is None:
            return super().save_state()
        if hasattr(to, "write"):
            to.write(super().save_state())
        else:
            super().save_state(to)
        return None

    def load_state(self, source: str | os.PathLike[str] | BinaryIO | bytes) -> None:
        """Back to a state: bytes, a path, or a file open for reading bytes. PyBoy's states are read too. Buttons that
        are held stay so."""
        if hasattr(source, "read"):
            source = source.read()
        if isinstance(source, (bytearray, memoryview)):
            source = bytes(source)
        super().load_state(source)
        self.set_keys(self._keys)

    def __enter__(self) -> GameBoy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<dotmatrix.GameBoy, closed>" if self.closed else f"<dotmatrix.GameBoy {self.cartridge_title!r}>"
