# SPDX-License-Identifier: MIT
"""What a step of the optimiser needs of the gradients, made where they are; `adam` below reads it.

dotmatrix kernel compile kernels/agent/optimise.py"""
import warp as wp


@wp.kernel(enable_backward=False)
def control(counts: wp.array2d(dtype=float), sums: wp.array(dtype=float), clip: float,
            state: wp.array(dtype=float)):
    # counts[s, 0]: samples of shard s that count; sums[1]: the squares of all gradients. state: what gradients are
    # multiplied with, 1 when they are numbers, the sum of all norms so far, how many, how many were no numbers.
    i = wp.tid()
    count = float(0.0)
    for s in range(counts.shape[0]):
        count += counts[s, 0]
    norm = wp.sqrt(sums[1]) / wp.max(count, 1.0)
    scale = 1.0 / wp.max(count, 1.0)
    if clip > 0.0 and norm > clip:
        scale = scale * (clip / norm)
    state[0] = scale
    state[1] = 0.0
    if wp.isfinite(norm):
        state[2] = state[2] + norm
        state[3] = state[3] + 1.0
        if count > 0.0:
            state[1] = 1.0
    else:
        state[4] = state[4] + 1.0


@wp.kernel(enable_backward=False)
def adam(w: wp.array(dtype=float), g: wp.array(dtype=float), m: wp.array(dtype=float), v: wp.array(dtype=float),
         state: wp.array(dtype=float), schedule: wp.array(dtype=float), first: int, beta1: float, beta2: float,
         epsilon: float):
    # kernels/nn/optimisers.py's adam, bit for bit, with the rate and 1 - beta ** step at schedule[first ..]: they are
    # read when the kernel runs, so a captured graph can be replayed. state: control's.
    i = wp.tid()
    if state[1] == 0.0:
        return
    d = g[i] * state[0]
    a = beta1 * m[i] + (1.0 - beta1) * d
    b = beta2 * v[i] + (1.0 - beta2) * d * d
    m[i] = a
    v[i] = b
    w[i] = w[i] - schedule[first] * (a / schedule[first + 1]) / (wp.sqrt(b / schedule[first + 2]) + epsilon)
