# SPDX-License-Identifier: MIT
"""What a step of the optimiser needs of the gradients, made where they are; kernels/nn/optimisers.py reads it.

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
