# SPDX-License-Identifier: MIT
"""A kernel in Warp's dialect, its gradient, and a fit with it: where were four sources of heat?

    python kernel_gradient.py

The same kernel runs forwards and backwards on NumPy's arrays by a Tape, and as a function that torch differentiates.
"""

import time

import numpy as np

import dotmatrix as dm
from dotmatrix import wp

SOURCES = 4


@dm.func
def falloff(dx: float, dy: float):
    return wp.exp(-8.0 * (dx * dx + dy * dy))


@dm.kernel
def heat(sources: wp.array(dtype=wp.vec3), at: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for k in range(SOURCES):
        s = sources[k]
        total += s[2] * falloff(at[i][0] - s[0], at[i][1] - s[1])
    out[i] = total


@dm.kernel
def square_error(predicted: wp.array(dtype=float), measured: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    e = predicted[i] - measured[i]
    wp.atomic_add(loss, 0, e * e)


def main():
    rng = np.random.default_rng(3)
    truth = rng.uniform(-1, 1, (SOURCES, 3)).astype(np.float32)
    truth[:, 2] += 2
    at = rng.uniform(-1.5, 1.5, (2000, 2)).astype(np.float32)
    measured = np.zeros(len(at), np.float32)
    dm.launch(heat, dim=len(at), inputs=[truth, at], outputs=[measured])

    guess = (truth + rng.normal(0, 0.2, truth.shape)).astype(np.float32)
    predicted, loss = np.zeros_like(measured), np.zeros(1, np.float32)
    began, first = time.perf_counter(), None
    moment, scale = np.zeros_like(guess), np.zeros_like(guess)
    for step in range(1, 401):
        loss[:] = 0
        with dm.Tape() as tape:
            dm.launch(heat, dim=len(at), inputs=[guess, at], outputs=[predicted])
            dm.launch(square_error, dim=len(at), inputs=[predicted, measured], outputs=[loss])
        tape.backward(loss)
        gradient = tape.gradient(guess)
        moment = 0.9 * moment + 0.1 * gradient
        scale = 0.99 * scale + 0.01 * gradient**2
        guess -= 0.01 * (moment / (1 - 0.9**step)) / (np.sqrt(scale / (1 - 0.99**step)) + 1e-8)
        first = float(loss[0]) if first is None else first
    seconds = time.perf_counter() - began
    print(f"loss {first:.3f} -> {loss[0]:.2e} in {seconds:.2f} s; largest error of a source {abs(guess - truth).max():.4f}")
    assert loss[0] < 1e-3 * first

    try:
        import torch
    except ImportError:
        print("torch is not installed: its part is left out")
        return
    from dotmatrix.torch import call

    sources = torch.tensor(guess, requires_grad=True)
    out = call(heat, dim=len(at), inputs=[sources, torch.from_numpy(at)], outputs=[torch.empty(len(at))])
    (out**2).sum().backward()
    with torch.no_grad():  # the same by torch itself
        again = sources.detach().clone().requires_grad_()
    d = torch.from_numpy(at)[:, None, :] - again[None, :, :2]
    ((again[:, 2] * torch.exp(-8 * (d**2).sum(-1))).sum(1) ** 2).sum().backward()
    print(f"torch: largest difference of the gradients {float((sources.grad - again.grad).abs().max()):.2e}")
    assert torch.allclose(sources.grad, again.grad, rtol=1e-3, atol=1e-3)


if __name__ == "__main__":
    main()
