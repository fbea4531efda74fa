# SPDX-License-Identifier: MIT
"""PyBoy's names over dotmatrix's machine, so that small PyBoy scripts run unchanged.

    import dotmatrix.pyboy as pyboy           # instead of: import pyboy
    with pyboy.PyBoy("game.gb") as game: ...

    python -m dotmatrix.pyboy script.py       # a script that says `import pyboy`, as it is

docs/python.md has a table of what differs.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, BinaryIO

from .. import _core, gameboy
from . import utils
from .utils import WindowEvent

__all__ = ["PyBoy", "RegisterFile", "Screen", "Sprite", "TileMap", "install", "utils"]

_BATTERIES = {0x03, 0x06, 0x09, 0x0D, 0x0F, 0x10, 0x13, 0x1B, 0x1E, 0x22, 0xFF}
# Options that mean nothing here: no window, no sound, no Color.
_IGNORED = {
    "scale", "sound", "sound_volume", "sound_emulated", "sound_sample_rate", "no_input", "log_level",
    "cgb_color_palette", "title_status", "autopause", "debug", "bootrom_file", "disable_input", "hide_window",
    "window_type", "default_ram_file", "disable_renderer", "randomize", "gameshark_disabled",
}  # fmt: skip


class Screen(gameboy.Screen):
    """PyBoy's screen: `ndarray`, `image`, `raw_buffer`, and where the picture lies on the tile maps."""

    __slots__ = ()

    def get_tilemap_position(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """((SCX, SCY), (WX - 7, WY)) as they are now."""
        memory = self._gb.memory
        return (memory[0xFF43], memory[0xFF42]), (memory[0xFF4B] - 7, memory[0xFF4A])


class RegisterFile:
    """The processor's registers by name: A F B C D E HL SP PC. They are read, not written."""

    __slots__ = ("_gb",)

    def __init__(self, gb: _core.GameBoy) -> None:
        object.__setattr__(self, "_gb", gb)

    def __getattr__(self, name: str) -> int:
        if name not in ("A", "F", "B", "C", "D", "E", "HL", "SP", "PC"):
            raise AttributeError(name)
        registers = self._gb.registers()
        return registers["h"] << 8 | registers["l"] if name == "HL" else registers[name.lower()]

    def __setattr__(self, name: str, value: int) -> None:
        raise _core.Unsupported(f"register_file.{name}: registers are not written")


class TileMap:
    """A tile map of 32 x 32 identifiers: map[column, row], or slices of either."""

    def __init__(self, gb: _core.GameBoy, bit: int) -> None:
        self._gb, self._bit = gb, bit

    def _base(self) -> int:
        return 0x9C00 if self._gb.memory[0xFF40] & self._bit else 0x9800

    def tile_identifier(self, column: int, row: int) -> int:
        """The tile at a place: 0..255, or with signed addressing 128..383, as PyBoy counts them."""
        if not (0 <= column < 32 and 0 <= row < 32):
            raise _core.InvalidArgument(f"tile map: column and row lie in 0..31, not {column}, {row}")
        tile = self._gb.memory[self._base() + 32 * row + column]
        return tile if self._gb.memory[0xFF40] & 0x10 or tile >= 128 else tile + 256

    def __getitem__(self, where: tuple[int | slice, int | slice]) -> Any:
        columns, rows = where
        if isinstance(columns, slice) and isinstance(rows, slice):
            return [[self.tile_identifier(x, y) for x in range(*columns.indices(32))] for y in range(*rows.indices(32))]
        if isinstance(columns, slice):
            return [self.tile_identifier(x, rows) for x in range(*columns.indices(32))]
        if isinstance(rows, slice):
            return [self.tile_identifier(columns, y) for y in range(*rows.indices(32))]
        return self.tile_identifier(columns, rows)


class Sprite:
    """One of the 40 objects, as it is in OAM now."""

    def __init__(self, gb: _core.GameBoy, index: int) -> None:
        if not 0 <= index < 40:
            raise _core.InvalidArgument(f"sprite: numbers lie in 0..39, not {index}")
        self.sprite_index = index
        y, x, self.tile_identifier, flags = gb.memory[0xFE00 + 4 * index : 0xFE04 + 4 * index]
        self.x, self.y = x - 8, y - 16
        self.attr_obj_bg_priority = bool(flags & 0x80)
        self.attr_y_flip = bool(flags & 0x40)
        self.attr_x_flip = bool(flags & 0x20)
        self.attr_palette_number = flags >> 4 & 1
        height = 16 if gb.memory[0xFF40] & 4 else 8
        self.shape = (8, height)
        self.on_screen = -height < self.y < 144 and -8 < self.x < 160

    def __repr__(self) -> str:
        return f"Sprite [{self.sprite_index}]: Position: ({self.x}, {self.y}), Tile: {self.tile_identifier}"


def _bytes_of(file: BinaryIO | str | os.PathLike[str]) -> bytes:
    if hasattr(file, "read"):
        return file.read()
    with open(file, "rb") as opened:
        return opened.read()


class PyBoy(gameboy.GameBoy):
    """PyBoy's object: `tick`, `button`, `send_input`, `memory`, `screen`, states, hooks, sprites and tile maps.

    There is no window and no sound; the machine runs as fast as it can. A game starts as if its boot ROM had just
    ended, unless `bootrom` is given.
    """

    def __init__(
        self,
        gamerom: str | os.PathLike[str] | BinaryIO,
        *,
        ram_file: BinaryIO | None = None,
        rtc_file: BinaryIO | None = None,
        window: str = "null",
        symbols: str | os.PathLike[str] | None = None,
        bootrom: str | os.PathLike[str] | None = None,
        cgb: bool | None = None,
        color_palette: tuple[int, int, int, int] | None = None,
        **ignored: Any,
    ) -> None:
        unknown = sorted(set(ignored) - _IGNORED)
        if unknown:
            raise TypeError(f"PyBoy: there is no option '{unknown[0]}' here")
        if cgb:
            raise _core.Unsupported("PyBoy: cgb=True: dotmatrix is a Game Boy (DMG), not a Game Boy Color")
        path = None if hasattr(gamerom, "read") else os.fspath(gamerom)
        super().__init__(
            path if path is not None else gamerom.read(),
            symbols=symbols,
            boot_rom=_bytes_of(bootrom) if bootrom is not None else None,
            force_dmg=cgb is False,
        )
        self.gamerom = path
        self.stopped = self._quit = False
        self.palette = gameboy.PALETTE if color_palette is None else _palette(color_palette)
        self.register_file = RegisterFile(self)
        self._later: list[tuple[int, int]] = []
        if ram_file is None and path is not None and os.path.isfile(path + ".ram") and self._has_battery:
            with open(path + ".ram", "rb") as file:
                self._load_ram(file.read())
        elif ram_file is not None:
            self._load_ram(ram_file.read())

    # ---- Cartridge RAM ----

    @property
    def _has_battery(self) -> bool:
        return self.memory[0, 0x147] in _BATTERIES

    def _ram_bank(self, bank: int) -> slice | None:
        """The addresses of a bank of cartridge RAM; None: there is no such bank."""
        for last in (0xC000, 0xA800, 0xA200):
            try:
                self.memory[bank, last - 1]
                return slice(0xA000, last)
            except _core.InvalidArgument:
                continue
        return None

    def _load_ram(self, data: bytes) -> None:
        bank = 0
        while data and (where := self._ram_bank(bank)) is not None:
            part = data[: where.stop - where.start]
            self.memory[bank, where.start : where.start + len(part)] = part
            data, bank = data[len(part) :], bank + 1

    def _save_ram(self) -> bytes:
        parts, bank = [], 0
        while (where := self._ram_bank(bank)) is not None:
            parts.append(bytes(self.memory[bank, where]))
            bank += 1
        return b"".join(parts)

    # ---- PyBoy's methods ----

    @property
    def screen(self) -> Screen:
        """What is on the screen."""
        return Screen(self, self.palette)

    @property
    def tilemap_background(self) -> TileMap:
        """The background's tile map."""
        return TileMap(self, 0x08)

    @property
    def tilemap_window(self) -> TileMap:
        """The window's tile map."""
        return TileMap(self, 0x40)

    def get_sprite(self, sprite_index: int) -> Sprite:
        """One of the 40 objects."""
        return Sprite(self, sprite_index)

    def get_sprite_by_tile_identifier(self, tile_identifiers: list[int], on_screen: bool = True) -> list[list[int]]:
        """For each identifier the numbers of the objects that show it."""
        sprites = [Sprite(self, i) for i in range(40)]
        return [
            [s.sprite_index for s in sprites if s.tile_identifier == tile and (s.on_screen or not on_screen)]
            for tile in tile_identifiers
        ]

    def send_input(self, event: int | WindowEvent, delay: int = 0) -> None:
        """A WindowEvent of a button, now or after `delay` frames; QUIT ends the run. Others mean nothing here."""
        event = int(event)
        pressed, released = utils.PRESSED.get(event), utils.RELEASED.get(event)
        if delay < 0:
            raise _core.InvalidArgument(f"send_input: a delay of {delay} frames")
        if event == WindowEvent.QUIT:
            self._quit = self._busy = True
        elif pressed is not None and delay == 0:
            self.button_press(pressed)
        elif released is not None and delay == 0:
            self.button_release(released)
        elif pressed is not None or released is not None:
            self._later.append((self.frame_count + delay, event))
            self._busy = True

    def _tick(self, count: int, render: bool) -> bool:
        while self._later and count > 0:
            due = [event for at, event in self._later if at <= self.frame_count]
            self._later = [(at, event) for at, event in self._later if at > self.frame_count]
            for event in due:
                self.send_input(event)
            until = min((at for at, _ in self._later), default=self.frame_count + count)
            part = min(count, until - self.frame_count)
            super()._tick(part, render and part == count)
            count -= part
        super()._tick(count, render)
        self._busy = bool(self._busy or self._later or self._quit or self.stopped)
        return not self._quit and not self.stopped

    def set_emulation_speed(self, target_speed: float) -> None:
        """Nothing: the machine always runs as fast as it can."""

    def save_state(self, file_like_object: BinaryIO) -> None:
        """Write the state to a file open for writing bytes. PyBoy itself does not read it."""
        _file_of_bytes(file_like_object, "write", "wb")
        super().save_state(file_like_object)

    def load_state(self, file_like_object: BinaryIO) -> None:
        """Read a state, ours or PyBoy's, from a file open for reading bytes."""
        _file_of_bytes(file_like_object, "read", "rb")
        super().load_state(file_like_object)

    def stop(self, save: bool = True, ram_file: BinaryIO | None = None, rtc_file: BinaryIO | None = None) -> None:
        """End; with `save` RAM that a battery keeps goes to `ram_file`, else to a file beside the ROM, game.gb.ram."""
        if self.stopped or self.closed:
            return
        if save and self._has_battery:
            data = self._save_ram()
            if ram_file is not None:
                ram_file.write(data)
            elif self.gamerom is not None:
                with open(self.gamerom + ".ram", "wb") as file:
                    file.write(data)
        self.stopped = True
        self.close()

    def _serial(self) -> str:
        return self.serial(True).decode("latin-1")

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __getattr__(self, name: str) -> Any:
        what = _MISSING.get(name)
        if what is not None:
            raise _core.Unsupported(f"PyBoy.{name}: {what}")
        raise AttributeError(f"PyBoy has no attribute '{name}'")


_MISSING = {
    "game_wrapper": "game wrappers are not here; read memory by address or symbol",
    "game_area": "game areas are not here; tilemap_background has the tiles",
    "game_area_dimensions": "game areas are not here; tilemap_background has the tiles",
    "game_area_collision": "game areas are not here",
    "game_area_mapping": "game areas are not here",
    "get_tile": "pictures of tiles are not here; screen.ndarray has the picture, memory[0x8000:0x9800] the tiles",
    "memory_scanner": "keep two lists memory[0xC000:0xE000] and compare them",
    "sound": "there is no sound",
    "gameshark": "use memory[...] = value each tick",
    "printer_image": "there is no printer",
}


def _palette(colours: tuple[int, int, int, int]) -> bytes:
    return b"".join(bytes((c >> 16 & 255, c >> 8 & 255, c & 255, 255)) for c in colours)


def _file_of_bytes(file: Any, method: str, mode: str) -> None:
    if isinstance(file, (str, os.PathLike)) or isinstance(file, io.TextIOBase) or not hasattr(file, method):
        raise _core.InvalidArgument(f"a file of bytes is wanted, as open(path, '{mode}') gives it")


def install() -> None:
    """`import pyboy` in this process means this module from now on."""
    sys.modules["pyboy"] = sys.modules[__name__]
    sys.modules["pyboy.utils"] = utils
