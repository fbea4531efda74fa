# SPDX-License-Identifier: MIT
"""Game Boys for learning machines: thousands in lockstep on a CPU or a GPU, exact to the cycle.

    import dotmatrix as dm
    gb = dm.GameBoy("game.gb")
    gb.tick(60)
    gb.screen.ndarray           # 144 x 160 x 4 bytes
    gb.memory[0xC000:0xC010]    # a list of 16 numbers

The package is a door to the C library: what it can do is described in docs/python.md.
"""

from ._core import (
    Array,
    CompileError,
    Device,
    DeviceError,
    Error,
    FileError,
    FormatError,
    InternalError,
    InvalidArgument,
    NotFound,
    OutOfMemory,
    Unavailable,
    Unsupported,
    tools,
    version,
)
from .env import VectorEnv, make, rom_path
from .gameboy import GameBoy, Memory, Screen
from .kernels import Kernel, Tape, kernel, launch
from .swarm import Swarm, codec_keys, device, devices

__version__ = version()
__all__ = [
    "Array",
    "CompileError",
    "Device",
    "DeviceError",
    "Error",
    "FileError",
    "FormatError",
    "GameBoy",
    "InternalError",
    "InvalidArgument",
    "Kernel",
    "Memory",
    "NotFound",
    "OutOfMemory",
    "Screen",
    "Swarm",
    "Tape",
    "Unavailable",
    "Unsupported",
    "VectorEnv",
    "codec_keys",
    "device",
    "devices",
    "kernel",
    "launch",
    "make",
    "rom_path",
    "tools",
    "version",
]
