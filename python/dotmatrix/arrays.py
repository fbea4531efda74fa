# SPDX-License-Identifier: MIT
"""Arrays of the library as those of torch, NumPy, CuPy or JAX, without a copy, and their streams."""

from __future__ import annotations

import sys
from typing import Any

from ._core import Array, InvalidArgument, Unavailable

__all__ = ["FORMATS", "View", "choose_format", "convert", "current_stream", "prepare_actions", "view"]

FORMATS = ("torch", "numpy", "cupy", "jax", "dlpack")


def _importable(name):
    import importlib.util

    return name in sys.modules or importlib.util.find_spec(name) is not None


def choose_format(wanted: str | None, device_kind: str) -> str:
    """What arrays are given as: `wanted`, or by the device what there is: NumPy on the CPU, torch
    (else CuPy, else plain DLPack objects) on a GPU."""
    if wanted is not None:
        if wanted not in FORMATS:
            raise InvalidArgument(f"obs_as={wanted!r}: one of {', '.join(FORMATS)}")
        if wanted == "numpy" and device_kind == "cuda":
            raise InvalidArgument("obs_as='numpy': the swarm is on a GPU, NumPy is not; use torch, cupy, jax or dlpack")
        if wanted != "dlpack" and not _importable(wanted):
            raise Unavailable(f"obs_as={wanted!r}: the module {wanted} is not installed")
        return wanted
    for name in ("numpy",) if device_kind == "cpu" else ("torch", "cupy"):
        if _importable(name):
            return name
    return "dlpack"


def convert(array: Any, form: str) -> Any:
    """An Array as an array of another library over the same memory. (JAX's arrays never change, so they are copies:
    JAX is given memory that nobody writes to.)"""
    if array is None or form == "dlpack":
        return array
    if form == "numpy":
        import numpy

        return numpy.asarray(array)
    if form == "torch":
        import torch

        return torch.from_dlpack(array)
    if form == "cupy":
        import cupy

        return cupy.asarray(array)
    if form == "jax":
        import jax.numpy

        if array.device == "cpu":  # JAX refuses bool and unaligned memory through DLPack, and would alias it
            import numpy

            return jax.numpy.array(numpy.asarray(array))
        return jax.numpy.array(jax.numpy.from_dlpack(array), copy=True)
    raise InvalidArgument(f"no format {form!r}")


def current_stream(form: str, index: int) -> int | None:
    """The CUDA stream on which the caller works, as a number; None: the caller's library has none to say."""
    if form == "torch":
        import torch

        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        return raw(index) if raw is not None else torch.cuda.current_stream(index).cuda_stream
    if form == "cupy":
        import cupy

        return cupy.cuda.get_current_stream().ptr
    return None


def prepare_actions(actions: Any, kind: str) -> tuple[Any, int | None]:
    """Actions as something the C side takes; integers of a GPU become bytes there, on the current stream.
    Returns (object, address): with an address the object has been checked to be bytes on a CUDA device."""
    if isinstance(actions, (list, tuple)):
        try:
            return bytes(actions), None
        except (TypeError, ValueError):
            raise InvalidArgument("actions: integers within 0..255") from None
    if kind == "cpu" or actions is None or isinstance(actions, Array):
        return actions, None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(actions, torch.Tensor):
        if not actions.is_cuda:
            return actions, None
        if actions.dtype is not torch.uint8:
            if actions.dtype.is_floating_point or actions.dtype.is_complex:
                raise InvalidArgument("actions: integers, not floats")
            actions = actions.to(torch.uint8)
        if not actions.is_contiguous():
            actions = actions.contiguous()
        return actions, actions.data_ptr()
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(actions, cupy.ndarray) and actions.dtype != cupy.uint8:
        return actions.astype(cupy.uint8), None
    if type(actions).__module__.startswith("jax") and str(actions.dtype) != "uint8":
        return actions.astype("uint8"), None
    return actions, None


class View:
    """Where an array of any library lies: address, shape, strides in bytes, type as NumPy's typestr without the byte
    order, device. It keeps the array alive."""

    __slots__ = ("address", "array", "device", "itemsize", "library", "read_only", "shape", "strides", "typestr")

    def __init__(
        self, array: Any, library: str, address: int, shape: Any, strides: Any, typestr: str, device: str,
        read_only: bool = False,
    ) -> None:
        self.array, self.library, self.address = array, library, address
        self.shape, self.typestr, self.device, self.read_only = tuple(shape), typestr, device, read_only
        self.itemsize = int(typestr[1:])
        if strides is None:
            strides, step = [], self.itemsize
            for length in reversed(self.shape):
                strides.insert(0, step)
                step *= length
        self.strides = tuple(strides)

    @property
    def key(self) -> tuple[Any, ...]:
        """What two views of the same elements have in common."""
        return self.device, self.address, self.shape, self.strides, self.typestr

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    def _range(self):
        first = last = self.address
        for length, stride in zip(self.shape, self.strides):
            first += min(0, (length - 1) * stride)
            last += max(0, (length - 1) * stride)
        return first, last + self.itemsize

    def overlaps(self, other: View) -> bool:
        """True when the memory of both may have bytes in common."""
        if self.device != other.device or not self.size or not other.size:
            return False
        (first, last), (begin, end) = self._range(), other._range()
        return first < end and begin < last

    def _like(self, values):
        """A new array of the same library, shape and strides."""
        if self.library == "torch":
            import torch

            new = torch.empty_strided(
                self.shape, [s // self.itemsize for s in self.strides], dtype=self.array.dtype, device=self.array.device
            )
            return new.zero_() if values is None else new.copy_(self.array.detach())
        module = __import__("cupy" if self.device != "cpu" else "numpy")
        array = module.asarray(self.array)
        if array.flags.c_contiguous:
            return module.zeros_like(array, order="C") if values is None else array.copy(order="C")
        first, last = self._range()
        buffer = module.zeros(last - first, module.uint8)
        offset = self.address - first
        if module.__name__ == "cupy":
            new = module.ndarray(self.shape, array.dtype, buffer.data + offset, strides=self.strides)
        else:
            new = module.ndarray(self.shape, array.dtype, buffer.data, offset, self.strides)
        if values is not None:
            new[...] = array
        return new

    def zeros(self) -> Any:
        """An array of the same library, shape, strides and type, all 0."""
        return self._like(None)

    def clone(self) -> Any:
        """The same with this array's elements."""
        return self._like(self.array)


_TORCH = {
    "torch.bool": "b1", "torch.uint8": "u1", "torch.int8": "i1", "torch.int16": "i2", "torch.uint16": "u2",
    "torch.int32": "i4", "torch.uint32": "u4", "torch.int64": "i8", "torch.uint64": "u8", "torch.float16": "f2",
    "torch.float32": "f4", "torch.float64": "f8",
}  # fmt: skip


def view(array: Any, what: str = "array") -> View:
    """A View of an array, without a copy; an error that begins with `what` for anything else."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        typestr = _TORCH.get(str(array.dtype))
        if typestr is None:
            raise InvalidArgument(f"{what}: an array of {array.dtype}")
        if array.device.type not in ("cpu", "cuda"):
            raise InvalidArgument(f"{what}: lies on {array.device}")
        strides = [s * array.element_size() for s in array.stride()]
        place = "cpu" if array.device.type == "cpu" else f"cuda:{array.device.index}"
        return View(array, "torch", array.data_ptr(), array.shape, strides, typestr, place)
    for name, library in (("__cuda_array_interface__", "cupy"), ("__array_interface__", "numpy")):
        try:
            interface = getattr(array, name)
        except AttributeError:
            continue
        if type(interface) is not dict or interface["typestr"][0] == ">":
            raise InvalidArgument(f"{what}: an array of type {interface['typestr']}")
        address, read_only = interface["data"]
        place = "cpu"
        if library == "cupy":
            number = getattr(getattr(array, "device", None), "id", None)
            place = f"cuda:{number if isinstance(number, int) else _device_of(array)}"
        return View(
            array, library, address, interface["shape"], interface.get("strides"), interface["typestr"][1:], place, read_only
        )
    if hasattr(array, "__dlpack__") and array.__dlpack_device__()[0] == 1:
        import numpy

        taken = view(numpy.from_dlpack(array), what)
        return taken
    raise InvalidArgument(f"{what}: an array is wanted (NumPy, torch, CuPy, DLPack), {type(array).__name__} is given")


def _device_of(array):
    device = getattr(array, "__dlpack_device__", None)
    return device()[1] if device is not None else 0
