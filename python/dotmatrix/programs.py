# SPDX-License-Identifier: MIT
"""Reward programs: what a step is worth, as a Python function that is compiled for the swarm's device.

    @dm.memory
    class Memory:
        score: int

    @dm.program(symbols="game.sym")
    def reward(m: dm.Machine, mem: Memory, out: dm.Out):
        score = dm.u16(m, "wScore")
        out.reward = float(score - mem.score)
        out.terminated = dm.u8(m, "wLives") == 0
        mem.score = score

    env = dm.make("game.gb", num_envs=4096, reward=reward)      # or the name of a file: reward="reward.py"

The function never runs as Python: its text is compiled, with the constants, helpers (@dm.func) and the memory class
that it uses. docs/rewards.md has the language. Here are the names, so that a module or a notebook that holds such
functions can be imported and checked by editors.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _core, source

__all__ = [
    "Array", "Bitmap", "HashSet", "Machine", "Out", "Program", "bcd", "bcd_le", "bit", "bits", "count_bits", "func",
    "hash", "hit", "i8", "memory", "observe", "one_hot", "poke", "program", "random", "rng", "screen_hash", "seen",
    "u16", "u16_be", "u24", "u32", "u8", "unit", "visit",
]  # fmt: skip


# ---- What stands in programs ----


class Machine:
    """The type of a program's first parameter: registers and counters of one machine. It is never made in Python."""

    a: int
    f: int
    b: int
    c: int
    d: int
    e: int
    h: int
    l: int  # noqa: E741
    pc: int
    sp: int
    keys: int
    frames: int
    clock: int
    number: int
    rom: int
    step: int
    action: int
    hooks: int


class Out:
    """The type of a program's last parameter: what it answers. It is never made in Python."""

    reward: float
    terminated: bool
    truncated: bool
    start: int
    obs: list[float]

    def metric(self, name: str, value: float) -> None:
        """A figure of this step, for Swarm.metrics."""


class Field:
    """What a field of a program's memory is, where it is more than one value."""

    def __init__(self, kind: str, *arguments: Any) -> None:
        self.kind, self.arguments = kind, arguments

    def __repr__(self) -> str:
        return f"dm.{self.kind}({', '.join(getattr(a, '__name__', repr(a)) for a in self.arguments)})"


class _ArrayType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _core.Array)

    def __call__(cls, length: int, type: Any = int) -> Any:
        return Field("Array", length, type)


class Array(metaclass=_ArrayType):
    """Memory of a swarm for other libraries, without a copy (DLPack, array interfaces): what obs_as="dlpack" gives.
    In a program's memory, Array(length, type) is a field of several values."""


def Bitmap(length: int) -> Any:
    """A field of a program's memory: `length` bits, for dm.visit and dm.seen."""
    return Field("Bitmap", length)


def HashSet(capacity: int) -> Any:
    """A field of a program's memory: a set of numbers, for dm.visit and dm.seen."""
    return Field("HashSet", capacity)


def _name(name: str, about: str) -> Callable[..., Any]:
    def stand_in(*_: Any, **__: Any) -> Any:
        raise TypeError(f"dm.{name} means something in a reward program only; GameBoy.memory and Swarm.read read memory here")

    stand_in.__name__ = stand_in.__qualname__ = name
    stand_in.__doc__ = f"In a reward program: {about}."
    return stand_in


u8 = _name("u8", "the byte at an address or symbol")
i8 = _name("i8", "the byte at an address or symbol, -128 to 127")
u16 = _name("u16", "two bytes, the low one first")
u16_be = _name("u16_be", "two bytes, the high one first")
u24 = _name("u24", "three bytes, the low one first")
u32 = _name("u32", "four bytes, the low one first")
bcd = _name("bcd", "a number of decimal digits, the first byte highest")
bcd_le = _name("bcd_le", "a number of decimal digits, the first byte lowest")
bits = _name("bits", "some bits of a byte")
bit = _name("bit", "a bit of the bytes from an address on")
count_bits = _name("count_bits", "how many bits are set in some bytes")
hash = _name("hash", "a number made of some bytes")
screen_hash = _name("screen_hash", "a number made of what is on the screen")
unit = _name("unit", "a byte as a float from 0 to 1")
poke = _name("poke", "write a byte")
hit = _name("hit", "was the place of a hook executed in this step")
rng = _name("rng", "a random uint32; the second argument names one of several in a step")
random = _name("random", "a random float from 0 to 1; the second argument names one of several in a step")
visit = _name("visit", "put a number into a Bitmap or HashSet; was it new")
seen = _name("seen", "is a number in a Bitmap or HashSet")
one_hot = _name("one_hot", "observe a number as zeros and a one")
observe = _name("observe", "observe some bytes")


def func(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that programs and kernels may call."""
    return function


def memory(cls: type) -> type:
    """The class whose fields a program keeps for each machine: zero at the start, part of snapshots."""
    cls.__dm_memory__ = True  # type: ignore[attr-defined]
    return cls


# ---- Programs ----


class Program:
    """A reward program: a function, or the name of a file. It is compiled when it is first used.

    `symbols` is a symbol file, looked for beside the function's file first; `hooks` names places in the game's program
    (dm.hit); `obs` is what it observes besides. `function` says which one is meant where a file has several.
    """

    def __init__(
        self,
        of: Callable[..., Any] | str | os.PathLike[str],
        *,
        symbols: str | os.PathLike[str] | None = None,
        hooks: Sequence[str] | None = None,
        obs: Any = None,
        function: str | None = None,
    ) -> None:
        self.func = None if isinstance(of, (str, os.PathLike)) else source.plain(of)
        self.path = os.fspath(of) if self.func is None else None  # type: ignore[arg-type]
        self.symbols, self.hooks, self.obs, self.function = symbols, hooks, obs, function
        self._made: _core.Reward | None = None
        if self.func is not None:
            functools.update_wrapper(self, self.func)

    @property
    def _core(self) -> _core.Reward:
        if self._made is None:
            self._made = self._file() if self.func is None else self._text()
        return self._made

    def _file(self) -> _core.Reward:
        try:
            return _core.Reward(self.path, None, self.function, self.symbols)
        except _core.CompileError as error:
            raise source.shown(error) from None

    def _text(self) -> _core.Reward:
        options = [f"{k}={list(v) if k == 'hooks' else v!r}" for k, v in (("hooks", self.hooks), ("obs", self.obs)) if v is not None]
        text = source.gather_program(self.func, f"program({', '.join(options)})" if options else "program")
        symbols = self.symbols
        if symbols is not None and not os.path.isabs(symbols):
            beside = os.path.join(os.path.dirname(text.path), os.fspath(symbols))
            symbols = beside if os.path.exists(beside) else symbols
        try:
            return _core.Reward(text.path, str(text), text.name, symbols)
        except _core.Error as error:
            raise text.error(error) from None

    @property
    def info(self) -> dict[str, Any]:
        """Its sizes, metrics, hooks and symbols."""
        return self._core.info

    @property
    def c(self) -> str:
        """The C that is compiled."""
        return self._core.source(False)

    @property
    def cuda(self) -> str:
        """The CUDA C++ that is compiled."""
        return self._core.source(True)

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self!r} runs on a swarm's machines: dm.make(rom, reward=...), or Swarm(..., program=...)")

    def __repr__(self) -> str:
        return f"<dotmatrix.Program {self.path or self.func.__name__}>"  # type: ignore[union-attr]


def program(function: Any = None, **options: Any) -> Any:
    """Make a reward program of a function: `@dm.program`, or `@dm.program(symbols="game.sym", hooks=["GameOver"])`."""
    if function is None:
        return lambda function: Program(function, **options)
    return Program(function, **options)


def as_program(given: Any) -> Program:
    """A Program of a Program, a function or the path of a .py file."""
    if isinstance(given, Program):
        return given
    if isinstance(given, (str, os.PathLike)) or inspect.isfunction(given):
        return Program(given)
    raise _core.InvalidArgument(f"reward={given!r}: a function, a program or the path of a .py file")
