# SPDX-License-Identifier: MIT
"""Arrays of the library as those of torch, NumPy, CuPy or JAX, without a copy, and their streams."""

import sys

from ._core import Array, InvalidArgument, Unavailable

__all__ = ["FORMATS", "choose_format", "convert", "current_stream", "prepare_actions"]

FORMATS = ("torch", "numpy", "cupy", "jax", "dlpack")


def _importable(name):
    import importlib.util

    return name in sys.modules or importlib.util.find_spec(name) is not None


def choose_format(wanted, device_kind):
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


def convert(array, form):
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


def current_stream(form, index):
    """The CUDA stream on which the caller works, as a number; None: the caller's library has none to say."""
    if form == "torch":
        import torch

        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        return raw(index) if raw is not None else torch.cuda.current_stream(index).cuda_stream
    if form == "cupy":
        import cupy

        return cupy.cuda.get_current_stream().ptr
    return None


def prepare_actions(actions, kind):
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
