# SPDX-License-Identifier: MIT
"""The command `dotmatrix`, for what the library's public headers do not have: datasets of kernels, training.

It is $DM_COMMAND, or the one inside of this package (`pip install`), or of its Meson build, or on PATH (`make
install`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from . import _core

__all__ = ["find", "run"]

_CODES = {
    2: _core.InvalidArgument, 3: _core.Unavailable, 4: _core.FormatError, 5: _core.FileError, 6: _core.OutOfMemory,
    7: _core.CompileError, 8: _core.DeviceError,
}  # fmt: skip


def find() -> str:
    """Where the command is."""
    here = os.path.dirname(__file__)
    own = [os.path.join(here, "bin", "dotmatrix"), os.path.join(here, "..", "..", "src", "cli", "dotmatrix")]
    for path in (os.environ.get("DM_COMMAND"), *(p for p in own if os.access(p, os.X_OK)), shutil.which("dotmatrix")):
        if path:
            return os.path.abspath(path)
    raise _core.Unavailable("the command 'dotmatrix' is not here: install it (make install), or set DM_COMMAND to it")


def run(arguments: Sequence[str | os.PathLike[str]], *, progress: bool = False, answers: Sequence[int] = (0,)) -> str:
    """Run it and give what it printed. `progress`: what it says on stderr is shown. An exit code that is none of
    `answers` is the error that it stands for, with the command's own line."""
    command = [find(), *(os.fspath(a) for a in arguments)]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=None if progress else subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
        )
    except OSError as error:
        raise _core.Unavailable(f"{command[0]}: {error.strerror}") from None
    if done.returncode in answers:
        return done.stdout
    lines = (done.stderr or "").replace("\r", "\n").strip().splitlines()
    said = lines[-1] if lines else f"dotmatrix {arguments[0]} ended with exit code {done.returncode}"
    raise _CODES.get(done.returncode, _core.InternalError)(said.removeprefix("dotmatrix: "))
