# SPDX-License-Identifier: MIT
"""Names of Warp for kernels where Warp itself is not installed.

    from dotmatrix import wp

    @wp.kernel
    def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = s * x[i]

Only decorators do something in Python; every other name stands for itself in the text that is compiled (docs/dialect.md
has what there is). `import warp as wp` works as well.
"""

from __future__ import annotations

from typing import Any

from . import kernels as _kernel

kernel = _kernel.kernel
launch = _kernel.launch
Tape = _kernel.Tape


class Name:
    """A name of the dialect, or an expression of such names: a type, a builtin, a constant."""

    def __init__(self, text: Any) -> None:
        self._text = text  # a function of what Warp is called

    def __dm_text__(self, alias: str) -> str:
        return self._text(alias)

    def __call__(self, *args: Any, **kwargs: Any) -> Name:
        parts = [_part(a) for a in args] + [lambda w, k=k, v=_part(v): f"{k}={v(w)}" for k, v in kwargs.items()]
        return Name(lambda w: f"{self._text(w)}({', '.join(p(w) for p in parts)})")

    def __getitem__(self, item: Any) -> Name:
        parts = [_part(i) for i in (item if isinstance(item, tuple) else (item,))]
        return Name(lambda w: f"{self._text(w)}[{', '.join(p(w) for p in parts)}]")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Name(lambda w: f"{self._text(w)}.{name}")

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} means something in a kernel only")

    def __iter__(self) -> Any:
        raise TypeError(f"{self!r} means something in a kernel only")

    def __repr__(self) -> str:
        return self._text("wp")


def _part(value):
    if isinstance(value, Name):
        return value.__dm_text__
    text = value.__name__ if isinstance(value, type) else repr(value)
    return lambda w: text


def _keep(function, extra):
    function.__dm_more__ = [*getattr(function, "__dm_more__", ()), extra]


_functions = {}


def func(function: Any) -> Any:
    """A function that kernels may call. Several of one name are overloads."""
    key = function.__module__, function.__qualname__
    before = _functions.get(key)
    if before is not None and before.__code__.co_firstlineno != function.__code__.co_firstlineno:
        _keep(function, before)
    _functions[key] = function
    return function


def func_grad(of: Any) -> Any:
    """The gradient of a function, written by hand."""

    def decorate(function: Any) -> Any:
        _keep(of, function)
        return function

    return decorate


def func_replay(of: Any) -> Any:
    """What the backward pass calls in a function's place."""

    def decorate(function: Any) -> Any:
        _keep(of, function)
        return function

    return decorate


def struct(cls) -> type:
    """A class whose annotations are the fields of a struct."""
    return cls


def constant(value: Any) -> Any:
    """A constant of the module: the value itself."""
    return value


def static(value: Any) -> Any:
    """A value that is known while a kernel is compiled."""
    return value


def init() -> None:
    """Nothing: as Warp has it."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Name(lambda w: f"{w}.{name}")
