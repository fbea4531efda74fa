# SPDX-License-Identifier: MIT
"""Means and variances, in a fixed order: each thread sums the rows of one part, then one adds up the parts.

dotmatrix kernel compile kernels/agent/normalise.py"""
import warp as wp


@wp.kernel(enable_backward=False)
def part_sums(x: wp.array2d(dtype=float), weights: wp.array(dtype=float), rows: int, sums: wp.array3d(dtype=float)):
    # For part p and column c: the rows' weights, their mean, and the sum of squares of what they are off it.
    p, c = wp.tid()
    first = p * rows
    last = wp.min(first + rows, x.shape[0])
    count = float(0.0)
    mean = float(0.0)
    squares = float(0.0)
    for r in range(first, last):
        if weights[r] > 0.0:
            count += 1.0
            off = x[r, c] - mean
            mean += off / count
            squares += off * (x[r, c] - mean)
    sums[p, c, 0] = count
    sums[p, c, 1] = mean
    sums[p, c, 2] = squares


@wp.kernel(enable_backward=False)
def add_parts(sums: wp.array3d(dtype=float), state: wp.array2d(dtype=float)):
    # state[c] is count, mean, squares of all that was seen before; the parts are added to it (Chan et al. 1979).
    c = wp.tid()
    count = state[c, 0]
    mean = state[c, 1]
    squares = state[c, 2]
    for p in range(sums.shape[0]):
        more = sums[p, c, 0]
        if more > 0.0:
            off = sums[p, c, 1] - mean
            both = count + more
            squares += sums[p, c, 2] + off * off * (count * (more / both))
            mean += off * (more / both)
            count = both
    state[c, 0] = count
    state[c, 1] = mean
    state[c, 2] = squares


@wp.kernel(enable_backward=False)
def standardise(x: wp.array2d(dtype=float), state: wp.array2d(dtype=float), limit: float, y: wp.array2d(dtype=float)):
    # y = (x - mean) / deviation, at most `limit` far from 0 (0: any).
    r, c = wp.tid()
    deviation = wp.sqrt(state[c, 2] / wp.max(state[c, 0], 1.0)) + 1.0e-8
    v = (x[r, c] - state[c, 1]) / deviation
    if limit > 0.0:
        v = wp.clamp(v, -limit, limit)
    y[r, c] = v
