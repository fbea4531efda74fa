# SPDX-License-Identifier: MIT
"""Signed distances of shapes, with functions, a struct and overloads."""
import warp as wp


@wp.struct
class Ball:
    center: wp.vec3
    radius: float


@wp.func
def distance(p: wp.vec3, ball: Ball):
    return wp.length(p - ball.center) - ball.radius


@wp.func
def distance(p: wp.vec3, half: wp.vec3):
    q = wp.abs(p) - half
    outside = wp.length(wp.max(q, wp.vec3(0.0, 0.0, 0.0)))
    return outside + wp.min(wp.max(q[0], wp.max(q[1], q[2])), 0.0)


@wp.func
def smooth_union(a: float, b: float, k: float):
    h = wp.clamp(0.5 + 0.5 * (b - a) / k, 0.0, 1.0)
    return wp.lerp(b, a, h) - k * h * (1.0 - h)


@wp.kernel
def scene(p: wp.array(dtype=wp.vec3), radius: float, half: wp.vec3, out: wp.array(dtype=float)):
    i = wp.tid()
    ball = Ball()
    ball.center = wp.vec3(0.3, 0.1, 0.2)
    ball.radius = radius
    out[i] = smooth_union(distance(p[i], ball), distance(p[i], half), 0.3)


@wp.kernel
def march(origin: wp.array(dtype=wp.vec3), radius: float, hit: wp.array(dtype=float)):
    """Steps along z until the ball is near: how far that was."""
    i = wp.tid()
    ball = Ball()
    ball.radius = radius
    t = float(0.0)
    for _ in range(64):
        d = distance(origin[i] + wp.vec3(0.0, 0.0, t - 3.0), ball)
        if d < 0.001 or t > 10.0:
            break
        t += d
    hit[i] = t
