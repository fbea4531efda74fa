# SPDX-License-Identifier: MIT
"""Quaternions, transforms and spatial vectors."""
import warp as wp


@wp.kernel
def rotate(q: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    r = wp.normalize(q[i])
    out[i] = wp.quat_rotate(r, v[i]) + wp.cross(wp.quat_rotate_inv(q[i], v[i]), v[i])


@wp.kernel
def compose(axis: wp.array(dtype=wp.vec3), angle: wp.array(dtype=float), out: wp.array(dtype=wp.quat)):
    i = wp.tid()
    a = wp.quat_from_axis_angle(wp.normalize(axis[i]), angle[i])
    b = wp.quat_rpy(0.1, angle[i], -0.3)
    c = wp.quat_slerp(a, b, 0.3)
    out[i] = a * wp.quat_inverse(b) * c


@wp.kernel
def to_matrix(q: wp.array(dtype=wp.quat), out: wp.array(dtype=wp.mat33), back: wp.array(dtype=wp.quat)):
    i = wp.tid()
    m = wp.quat_to_matrix(wp.normalize(q[i]))
    out[i] = m
    back[i] = wp.quat_from_matrix(m)


@wp.kernel
def move(
    pose: wp.array(dtype=wp.transform),
    point: wp.array(dtype=wp.vec3),
    out: wp.array(dtype=wp.vec3),
    relative: wp.array(dtype=wp.transform),
):
    i = wp.tid()
    t = pose[i]
    u = wp.transform_inverse(t) * pose[0]
    relative[i] = u
    out[i] = wp.transform_point(t, point[i]) + wp.transform_vector(u, point[i]) + wp.transform_get_translation(u)


@wp.kernel
def twist(
    motion: wp.array(dtype=wp.spatial_vector), wrench: wp.array(dtype=wp.spatial_vector), out: wp.array(dtype=float)
):
    i = wp.tid()
    m = wp.spatial_cross(motion[i], wrench[i])
    f = wp.spatial_cross_dual(motion[i], wrench[i])
    out[i] = wp.spatial_dot(m, f) + wp.dot(wp.spatial_top(m), wp.spatial_bottom(f))
