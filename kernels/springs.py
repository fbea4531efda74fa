# SPDX-License-Identifier: MIT
"""Particles joined by springs: forces are gathered with atomics, then a semi-implicit Euler step."""
import warp as wp

GRAVITY = wp.constant(wp.vec3(0.0, -9.81, 0.0))


@wp.kernel
def spring_forces(
    position: wp.array(dtype=wp.vec3),
    velocity: wp.array(dtype=wp.vec3),
    ends: wp.array(dtype=wp.vec2i),
    rest: wp.array(dtype=float),
    stiffness: float,
    damping: float,
    force: wp.array(dtype=wp.vec3),
):
    s = wp.tid()
    i = ends[s][0]
    j = ends[s][1]
    d = position[j] - position[i]
    l = wp.length(d)
    n = d / l
    closing = wp.dot(velocity[j] - velocity[i], n)
    f = n * (stiffness * (l - rest[s]) + damping * closing)
    wp.atomic_add(force, i, f)
    wp.atomic_sub(force, j, f)


@wp.kernel
def step(
    position: wp.array(dtype=wp.vec3),
    velocity: wp.array(dtype=wp.vec3),
    force: wp.array(dtype=wp.vec3),
    inverse_mass: wp.array(dtype=float),
    dt: float,
    new_position: wp.array(dtype=wp.vec3),
    new_velocity: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    v = velocity[i] + (force[i] * inverse_mass[i] + GRAVITY * wp.nonzero(inverse_mass[i])) * dt
    p = position[i] + v * dt
    if p[1] < 0.0:
        p[1] = 0.0
        v = wp.vec3(v[0] * 0.9, -0.5 * v[1], v[2] * 0.9)
    new_position[i] = p
    new_velocity[i] = v
