# SPDX-License-Identifier: MIT
"""Kernels as functions of torch: their gradients are torch's.

    from dotmatrix.torch import call

    y = call(falloff, dim=n, inputs=[x, 0.5], outputs=[torch.empty(n)])
    y.sum().backward()                   # x.grad is there
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from . import _core
from .kernels import Kernel, launch


class _Call(torch.autograd.Function):
    @staticmethod
    def forward(ctx, kernel, dim, inputs, outputs, *tensors):
        launch(kernel, dim, inputs=inputs, outputs=outputs)
        ctx.kernel, ctx.dim, ctx.inputs, ctx.count = kernel, dim, inputs, len(tensors)
        ctx.which = [i for i, value in enumerate(inputs) if isinstance(value, torch.Tensor)]
        ctx.mark_dirty(*outputs)
        ctx.mark_non_differentiable(*(out for out in outputs if not out.is_floating_point()))
        ctx.save_for_backward(*(inputs[i] for i in ctx.which), *outputs)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        saved = ctx.saved_tensors
        given, outputs = saved[: len(ctx.which)], saved[len(ctx.which) :]
        inputs, adjoints = list(ctx.inputs), [None] * len(ctx.inputs)
        for i, tensor in zip(ctx.which, given):
            inputs[i] = tensor
            if tensor.is_floating_point():
                adjoints[i] = torch.zeros_like(tensor, memory_format=torch.preserve_format)
        # The backward pass sets the gradients of what was stored to zero: it gets copies, laid out as the outputs are.
        copies = [
            torch.zeros_like(out).copy_(grad) if grad is not None and out.is_floating_point() else None
            for out, grad in zip(outputs, grads)
        ]
        launch(ctx.kernel, ctx.dim, inputs=inputs, outputs=list(outputs), adj_inputs=adjoints, adj_outputs=copies, adjoint=True)
        found = [adjoints[i] for i in ctx.which]
        return (None, None, None, None, *found, *([None] * (ctx.count - len(found))))


def call(kernel: Any, dim: int | Sequence[int], inputs: Sequence[Any] = (), outputs: Sequence[Any] = ()) -> Any:
    """Launch a kernel on tensors, and give back its outputs (one: itself, several: a tuple) as results that torch
    differentiates. The kernel must not write to `inputs`; `outputs` are tensors to write to, which are given back."""
    kernel = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    inputs, outputs = list(inputs), list(outputs)
    names = [p["name"] for p in kernel.params]
    if len(inputs) + len(outputs) != len(names):
        raise _core.InvalidArgument(f"{kernel.name}: takes {len(names)} arguments ({', '.join(names)}), {len(inputs) + len(outputs)} are given")
    written = [name for name in names[: len(inputs)] if name in kernel.writes]
    if written:
        raise _core.InvalidArgument(f"{kernel.name}: it writes to '{written[0]}': that is no input")
    for name, out in zip(names[len(inputs) :], outputs):
        if not isinstance(out, torch.Tensor) or out.requires_grad:
            raise _core.InvalidArgument(f"{kernel.name}: output '{name}': a tensor that requires no gradient is wanted")
    needs = torch.is_grad_enabled() and any(isinstance(v, torch.Tensor) and v.requires_grad for v in inputs)
    if needs and kernel.no_backward is not None:
        raise _core.Unsupported(f"{kernel.name}: no backward pass: {kernel.no_backward}")
    tensors = [v for v in inputs if isinstance(v, torch.Tensor)]
    results = _Call.apply(kernel, dim, [v.detach() if isinstance(v, torch.Tensor) else v for v in inputs], outputs, *tensors, *outputs)
    return results[0] if len(results) == 1 else results
