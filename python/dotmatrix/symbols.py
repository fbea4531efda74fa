# SPDX-License-Identifier: MIT
"""Symbol files as RGBDS, and our own assembler, write them: lines of `bank:address name`."""

from __future__ import annotations

import os
import re

from . import _core

_LINE = re.compile(r"^([0-9A-Fa-f]+):([0-9A-Fa-f]{1,4})\s+(\S+)")


class Symbols:
    """Names of places: `lookup(name)` gives (bank, address), `names` all of them."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = path
        self.names: dict[str, tuple[int, int]] = {}
        if path is None:
            return
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    found = _LINE.match(line.strip())
                    if found is not None:
                        self.names[found[3]] = (int(found[1], 16), int(found[2], 16))
        except OSError as error:
            raise _core.NotFound(f"symbols: {os.fspath(path)}: {error.strerror}") from None

    @classmethod
    def of_rom(cls, rom: str | None, path: str | os.PathLike[str] | None = None) -> Symbols:
        """Those of `path`; without it those of game.sym or game.gb.sym beside game.gb; else none."""
        if path is None and rom is not None:
            for candidate in (os.path.splitext(rom)[0] + ".sym", rom + ".sym"):
                if os.path.isfile(candidate):
                    path = candidate
                    break
        return cls(path)

    def lookup(self, name: str) -> tuple[int, int]:
        """(bank, address) of a name."""
        try:
            return self.names[name]
        except KeyError:
            pass
        if self.path is None:
            raise _core.InvalidArgument(f"symbol '{name}': there is no symbol file; symbols= takes one (.sym)")
        import difflib

        close = difflib.get_close_matches(name, self.names, 1)
        hint = f"; the closest is '{close[0]}'" if close else ""
        raise _core.InvalidArgument(f"symbol '{name}': not in {os.fspath(self.path)}{hint}")
