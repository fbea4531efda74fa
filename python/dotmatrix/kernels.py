# SPDX-License-Identifier: MIT
"""Kernels in the dialect of NVIDIA Warp, written as Python functions and run on the user's own arrays.

    @dm.kernel
    def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    dm.launch(saxpy, dim=n, inputs=[2.0, x], outputs=[y])

Arrays are NumPy's, torch's, CuPy's, or anything with DLPack or an array interface; nothing is copied. What the dialect
has is in docs/dialect.md.
"""

from __future__ import annotations

import ast
import functools
import inspect
import struct
import textwrap
import weakref
from collections.abc import Sequence
from typing import Any

from . import _core, source
from .arrays import View, current_stream, view
from .swarm import device as open_device

_CODES = {"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f2": "e", "f4": "f", "f8": "d"}


class Kernel:
    """A kernel; what @dm.kernel makes of a function.

    It is compiled at the first use, when constants of its module get their values, and once more for each device. The
    options are those of dm_kernel_options: `no_backward`, `warp_compat`, `from_inputs`, `bounds` (an index outside of
    an array ends the launch with an error), `lines`, `all_double`.
    """

    def __init__(self, func: Any, **options: Any) -> None:
        self.func = source.plain(func)
        functools.update_wrapper(self, self.func)
        self.options = options
        self._programs = {}
        self._made = None
        self._params = None

    @property
    def _core(self):
        if self._made is None:
            text = source.gather(self.func, "kernel")
            try:
                self._made = _core.Kernel(text.path, str(text), text.name, dict(self.options, imports=True))
            except _core.Error as error:
                raise text.error(error) from None
            self._params = self._made.params
        return self._made

    @property
    def name(self) -> str:
        """The function's name."""
        return self.func.__name__

    @property
    def c(self) -> str:
        """The kernel and its gradient as C."""
        return self._core.source(0)

    @property
    def cuda(self) -> str:
        """The kernel and its gradient as CUDA C++."""
        return self._core.source(1)

    @property
    def params(self) -> list[dict[str, Any]]:
        """The parameters, one dict each: name, type, is_array, ndim, scalar (as NumPy's typestr), components,
        element_size."""
        self._core
        return self._params

    @property
    def dimensions(self) -> int:
        """How many coordinates tid() gives."""
        return self._core.dimensions

    @property
    def no_backward(self) -> str | None:
        """Why there is no backward pass; None: there is one."""
        return self._core.no_backward

    @functools.cached_property
    def writes(self) -> frozenset[str]:
        """Names of array parameters that the kernel may write to."""
        return _written(self.func)

    def program(self, device: Any = "cpu") -> Any:
        """The kernel on a device, compiled now: nothing is compiled when it is launched there."""
        device = open_device(device)
        if device not in self._programs:
            self._programs[device] = _core.Program(self._core, device)
        return self._programs[device]

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self.name}: a kernel is launched: dm.launch({self.name}, dim, inputs, outputs)")

    def __repr__(self) -> str:
        return f"<dotmatrix.Kernel {self.name}>"


def kernel(func: Any = None, **options: Any) -> Any:
    """Make a kernel of a function in the dialect. `@dm.kernel`, or with options `@dm.kernel(bounds=True)`."""
    if func is None:
        return lambda func: Kernel(func, **options)
    return Kernel(func, **options)


def _written(func, depth=0):
    """Parameters that are stored to, here or in a function that they are handed to."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(func)))
    names = {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
    written = set()

    def root(node):
        while isinstance(node, (ast.Subscript, ast.Attribute)):
            node = node.value
        return node.id if isinstance(node, ast.Name) else None

    def called(node):
        """What a call may write to among its arguments."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name.startswith(("atomic_", "store")):
            return node.args[:1]
        if isinstance(node.func, ast.Attribute):  # a builtin: they take values
            return []
        found, function = source.look_up(name, func)
        function = source.plain(function) if found else None
        if not inspect.isfunction(function) or source.is_warp(function.__module__) or depth > 8:
            return []
        theirs, order = _written(function, depth + 1), list(inspect.signature(function).parameters)
        return [a for a, p in zip(node.args, order) if p in theirs] + [k.value for k in node.keywords if k.arg in theirs]

    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, (ast.Subscript, ast.Attribute)):
                    written.add(root(part))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):  # the array under another name
            written.add(root(node.value))
        if isinstance(node, ast.Call):
            written |= {root(argument) for argument in called(node)}
    return frozenset(written & names)


# ---- Arguments ----


def _array_error(name, param, text):
    return _core.InvalidArgument(f"'{name}': {param['type']} is wanted, {text}")


def _array_argument(param, at):
    """(shape, strides) of an array as the parameter sees it: without the dimensions of a vector or matrix."""
    name, ndim = param["name"], param["ndim"]
    if param["scalar"] == "V":
        if at.itemsize == param["element_size"]:
            inner = 1
        else:
            inner = param["element_size"] // at.itemsize
    else:
        if at.typestr != param["scalar"]:
            raise _array_error(name, param, f"elements of type {at.typestr} are given")
        inner = param["components"]
    if len(at.shape) < ndim:
        raise _array_error(name, param, f"an array of shape {at.shape} is given")
    rest, want = 1, at.itemsize
    for length, stride in zip(reversed(at.shape[ndim:]), reversed(at.strides[ndim:])):
        if length > 1 and stride != want:
            raise _array_error(name, param, "an array whose elements are scattered is given")
        rest *= length
        want *= length
    if rest != inner:
        parts = f"{inner} numbers each" if inner > 1 else "one number each"
        raise _array_error(name, param, f"an array of shape {at.shape} is given: {ndim} dimensions, then {parts}")
    return at.shape[:ndim], at.strides[:ndim]


def _flat(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in _flat(v)]
    return [value]


def _plain_argument(param, value):
    """A parameter that is no array, as bytes."""
    name, scalar = param["name"], param["scalar"]
    if scalar == "V":
        data = value.tobytes() if hasattr(value, "tobytes") else bytes(value)
    else:
        numbers = _flat(value)
        if len(numbers) != param["components"]:
            raise _core.InvalidArgument(f"'{name}': {param['type']} has {param['components']} numbers, {len(numbers)} are given")
        if scalar[0] in "iu" and not all(isinstance(n, int) or hasattr(n, "__index__") for n in numbers):
            raise _core.InvalidArgument(f"'{name}': {param['type']} takes an integer, {value!r} is given")
        try:
            data = struct.pack(f"={len(numbers)}{_CODES[scalar]}", *numbers)
        except (struct.error, OverflowError, TypeError) as error:
            raise _core.InvalidArgument(f"'{name}': {param['type']}: {error}, {value!r} is given") from None
    if len(data) != param["element_size"]:
        raise _core.InvalidArgument(f"'{name}': {param['type']} has {param['element_size']} bytes, {len(data)} are given")
    return data


class _Launch:
    """One launch: kernel, dimensions, and what each parameter gets. `views` has the arrays as View, else None."""

    def __init__(self, kernel: Any, dim: int | Sequence[int], values: Any, device: Any) -> None:
        self.kernel = kernel
        self.dim = tuple(int(d) for d in dim) if isinstance(dim, (tuple, list)) else (int(dim),)
        params = kernel.params
        if len(values) != len(params):
            names = ", ".join(p["name"] for p in params)
            raise _core.InvalidArgument(f"{kernel.name}: takes {len(params)} arguments ({names}), {len(values)} are given")
        self.values = list(values)
        self.views = [view(v, p["name"]) if p["is_array"] and v is not None else None for p, v in zip(params, values)]
        self.device = self._device(device)
        self.plain = []
        for param, value, at in zip(params, values, self.views):
            if not param["is_array"]:
                self.plain.append(_plain_argument(param, value))
            elif at is None:
                self.plain.append(((0,) * param["ndim"], (0,) * param["ndim"]))
            else:
                if at.read_only and param["name"] in kernel.writes:
                    raise _core.InvalidArgument(f"'{param['name']}': the kernel writes to it, the array is read-only")
                self.plain.append(_array_argument(param, at))

    def _device(self, device):
        kinds = {at.device for at in self.views if at is not None}
        if len(kinds) > 1:
            raise _core.InvalidArgument(f"{self.kernel.name}: its arrays lie on {' and '.join(sorted(kinds))}")
        found = kinds.pop() if kinds else None
        if device is None:
            device = found or "cpu"
        opened = open_device(device)
        if found is not None and found.partition(":")[0] != opened.kind:
            raise _core.InvalidArgument(f"{self.kernel.name}: its arrays lie on {found}, the device is {device}")
        return opened

    def run(self, backward=False, grads=None, data=None):
        """Queue it. `grads`: an array or None for each parameter; `data`: arrays in the place of those of the
        launch."""
        arguments, keep = [], []
        for i, (param, at, what) in enumerate(zip(self.kernel.params, self.views, self.plain)):
            if not param["is_array"]:
                arguments.append(what)
                continue
            grad = grads[i] if grads is not None else None
            address = 0
            if grad is not None:
                of = view(grad, f"gradient of {param['name']}")
                keep.append(of)
                if at is None or of.shape != at.shape or of.strides != at.strides or of.typestr != at.typestr:
                    raise _core.InvalidArgument(
                        f"gradient of '{param['name']}': an array like the parameter's is wanted (shape, strides, type)"
                    )
                address = of.address
            now = at
            if data is not None and data[i] is not None:
                now = view(data[i], param["name"])
                keep.append(now)
            arguments.append((now.address if now is not None else 0, address, *what))
        stream, wait = _stream(self.views, self.device)
        self.kernel.program(self.device).launch(1 if backward else 0, self.dim, arguments, stream, wait)


def _stream(views, device):
    """The caller's stream on a GPU, and whether to wait: for arrays of libraries that have none."""
    if device.kind == "cpu":
        return None, False
    for library in ("torch", "cupy"):
        if any(at is not None and at.library == library for at in views):
            return current_stream(library, device.index), False
    return None, True


# ---- Launches ----

_tapes = []


def launch(
    kernel: Any, dim: int | Sequence[int], inputs: Sequence[Any] = (), outputs: Sequence[Any] = (), device: Any = None, *,
    adj_inputs: Sequence[Any] | None = None, adj_outputs: Sequence[Any] | None = None, adjoint: bool = False,
) -> None:
    """Run a kernel: one task for each point of `dim` (a number or up to four).

    `inputs` and `outputs` together are the kernel's arguments, in its order. Arrays are the caller's own; numbers,
    vectors and matrices may be numbers, tuples or arrays. `device`: where the arrays lie, else the CPU. On a GPU the
    launch is queued on the current stream of torch or CuPy, whose arrays are given.

    With `adjoint=True` the backward pass runs: `adj_inputs` and `adj_outputs` are the arrays' gradients, None where
    there is none. Gradients are added to; see Tape for the usual way.
    """
    if not isinstance(kernel, Kernel):
        kernel = _kernel_of(kernel)
    values = [*inputs, *outputs]
    made = _Launch(kernel, dim, values, device)
    if adjoint:
        if kernel.no_backward is not None:
            raise _core.Unsupported(f"{kernel.name}: no backward pass: {kernel.no_backward}")
        grads = [*(adj_inputs or [None] * len(inputs)), *(adj_outputs or [None] * len(outputs))]
        if len(grads) != len(values):
            raise _core.InvalidArgument(f"{kernel.name}: {len(grads)} gradients for {len(values)} arguments")
        made.run(backward=True, grads=[g if p["is_array"] else None for g, p in zip(grads, kernel.params)])
        return
    for tape in _tapes:
        tape._before(made)
    made.run()
    for tape in _tapes:
        tape._after(made)


_wrapped = weakref.WeakKeyDictionary()


def _kernel_of(function):
    try:
        return _wrapped[function]
    except KeyError:
        _wrapped[function] = Kernel(function)
        return _wrapped[function]
    except TypeError:
        raise _core.InvalidArgument(f"launch: {function!r} is no kernel") from None


class Tape:
    """Launches, recorded to be run backwards.

        with dm.Tape() as tape:
            dm.launch(predict, n, inputs=[x, w], outputs=[y])
            dm.launch(square_error, n, inputs=[y, t], outputs=[loss])
        tape.backward(loss)
        tape.gradient(w)

    An array that a later launch writes to is copied first, so that each backward pass sees what its forward pass saw.
    """

    def __init__(self) -> None:
        self._records = []  # (launch, arrays in the place of those that were overwritten since)
        self._grads = {}  # key of an array: (array, gradient)

    def __enter__(self) -> Tape:
        _tapes.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _tapes.remove(self)

    def _before(self, made):
        """Keep what the launch overwrites and an earlier one may need."""
        written = [at for at, p in zip(made.views, made.kernel.params) if at is not None and p["name"] in made.kernel.writes]
        for at in written:
            copy = None
            for launch, data in self._records:
                for i, other in enumerate(launch.views):
                    if other is None or data[i] is not None or not at.overlaps(other):
                        continue
                    if other.key != at.key:
                        raise _core.Unsupported(
                            "Tape: two different views of one memory, and one is written to: give the same array"
                        )
                    copy = at.clone() if copy is None else copy
                    data[i] = copy

    def _after(self, made):
        data = [None] * len(made.views)
        if made.kernel.options.get("from_inputs"):
            raise _core.Unsupported(f"Tape: {made.kernel.name} has from_inputs: launch its adjoint by hand")
        self._records.append((made, data))

    def _gradient_for(self, at):
        if at.typestr[0] != "f" and not at.typestr.startswith("V"):
            return None
        if at.key not in self._grads:
            for other, _ in self._grads.values():
                if at.overlaps(other):
                    raise _core.Unsupported("Tape: two different views of one memory: give the same array")
            self._grads[at.key] = (at, at.zeros())
        return self._grads[at.key][1]

    def backward(self, loss: Any = None, grads: Any = ()) -> None:
        """Run the launches backwards. `loss`: an array of one number; or `grads`: pairs (array, gradient of it)."""
        self._grads = {}
        pairs = list(grads.items()) if isinstance(grads, dict) else list(grads)
        if loss is not None:
            at = view(loss, "loss")
            if at.size != 1:
                raise _core.InvalidArgument(f"backward: the loss has {at.size} numbers; give `grads`")
            pairs.append((loss, None))
        if not pairs:
            raise _core.InvalidArgument("backward: a loss, or grads=[(array, gradient)]")
        for launch, _ in self._records:
            if launch.kernel.no_backward is not None:
                raise _core.Unsupported(f"{launch.kernel.name}: no backward pass: {launch.kernel.no_backward}")
        for array, value in pairs:
            to = self._gradient_for(view(array, "grads"))
            to[...] = 1 if value is None else value
        for launch, data in reversed(self._records):
            launch.run(backward=True, grads=[self._gradient_for(at) if at is not None else None for at in launch.views], data=data)

    def gradient(self, array: Any) -> Any:
        """The gradient of an array after backward(); None: it took no part."""
        pair = self._grads.get(view(array, "gradient").key)
        return None if pair is None else pair[1]

    def reset(self) -> None:
        """Forget launches and gradients."""
        self._records, self._grads = [], {}


__all__ = ["Kernel", "Tape", "View", "kernel", "launch"]
