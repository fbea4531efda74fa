# SPDX-License-Identifier: MIT
"""Loops whose gradient needs the values of every round, in float64."""
import warp as wp


@wp.kernel
def product(x: wp.array(dtype=wp.float64), n: int, out: wp.array(dtype=wp.float64)):
    """The gradient of a product is the product of the others."""
    i = wp.tid()
    p = wp.float64(1.0)
    for k in range(n):
        p = p * x[i + k]
    out[i] = p


@wp.kernel
def polynomial(c: wp.array(dtype=wp.float64), x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = wp.float64(0.0)
    for k in range(8):
        s = s * x[i] + c[k]
    out[i] = s


@wp.kernel
def newton(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    """Square roots by Newton's method: a while loop that ends at different times in different threads."""
    i = wp.tid()
    a = x[i] + wp.float64(1.0)
    r = a
    rounds = int(0)
    while wp.abs(r * r - a) > wp.float64(0.001) and rounds < 20:
        r = wp.float64(0.5) * (r + a / r)
        rounds += 1
    out[i] = r


@wp.kernel
def until_far(x: wp.array(dtype=wp.float64), limit: wp.float64, n: int, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = wp.float64(0.0)
    for k in range(n):
        if x[i + k] < wp.float64(0.2):
            continue
        s = s + x[i + k] * x[i + k] * (s + wp.float64(1.0))
        if s > limit:
            break
    out[i] = s


@wp.kernel
def in_place(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    v = wp.vec3d(x[i], x[i + 1], x[i + 2])
    v *= x[i]
    v[0] = v[1] * v[2]
    v[1] += v[0] * x[i + 2]
    s = v[0] * v[1]
    s *= s
    out[i] = s + v[2]
