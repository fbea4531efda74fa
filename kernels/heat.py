# SPDX-License-Identifier: MIT
"""A stencil on a grid, and a small network's layer: arrays of two dimensions."""
import warp as wp


@wp.kernel
def heat(u: wp.array2d(dtype=float), rate: float, out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    rows = u.shape[0]
    cols = u.shape[1]
    up = u[wp.max(i - 1, 0), j]
    down = u[wp.min(i + 1, rows - 1), j]
    left = u[i, wp.max(j - 1, 0)]
    right = u[i, wp.min(j + 1, cols - 1)]
    out[i, j] = u[i, j] + rate * (up + down + left + right - 4.0 * u[i, j])


@wp.kernel
def layer(w: wp.array2d(dtype=float), b: wp.array(dtype=float), x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = b[i]
    for k in range(x.shape[0]):
        s += w[i, k] * x[k, j]
    out[i, j] = wp.tanh(s * 0.1)
