# SPDX-License-Identifier: MIT
"""The smallest kernels: one thread per element.

dotmatrix kernel compile kernels/saxpy.py"""
import warp as wp


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a * x[i] + y[i]


@wp.kernel
def sum_of_squares(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i] * x[i])


@wp.kernel
def clipped(x: wp.array(dtype=float), low: float, high: float, out: wp.array(dtype=float)):
    i = wp.tid()
    if i >= x.shape[0]:
        return
    out[i] = wp.clamp(x[i], low, high) + wp.min(x[i], 0.5) * wp.max(x[i], 0.25)


@wp.kernel
def scalar_math(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    a = wp.sin(v) * wp.cos(v) + wp.tan(v) - wp.atan2(v, 1.5)
    b = wp.exp(-v) + wp.log(v) + wp.sqrt(v) + wp.pow(v, 2.5) + v ** 3.0
    c = wp.tanh(v) + wp.sinh(v) - wp.cosh(v) + wp.asin(v) - wp.acos(v)
    d = wp.abs(v - 0.5) + wp.sign(v - 0.5) + wp.floor(4.0 * v) + wp.erf(v) + wp.cbrt(v)
    out[i] = a + b + c + d + wp.smoothstep(0.1, 0.9, v) + wp.lerp(v, 2.0, 0.25)
