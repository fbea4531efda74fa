# SPDX-License-Identifier: MIT
"""Norms, angles, and motions and forces seen from another frame."""
import warp as wp


@wp.kernel
def norms(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    n = wp.norm_l1(v[i]) + wp.norm_l2(v[i]) + wp.norm_huber(v[i], 0.7) + wp.norm_pseudo_huber(v[i], 0.5)
    out[i] = n + wp.dot(wp.smooth_normalize(v[i], 0.3), v[i])


@wp.kernel
def angles(q: wp.array(dtype=wp.quat), axis: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3), turn: wp.array(dtype=wp.quat)):
    i = wp.tid()
    p = wp.normalize(q[i])
    a = wp.normalize(axis[i])
    out[i] = wp.quat_to_rpy(p) * wp.quat_twist_angle(a, p) + axis[i] * wp.quat_twist_angle_signed(a, p)
    turn[i] = wp.quat_twist(a, p) * wp.quat_from_euler(axis[i], 2, 0, 1)


@wp.kernel
def wrenches(
    frame: wp.array(dtype=wp.transform), motion: wp.array(dtype=wp.spatial_vector), out: wp.array(dtype=wp.spatial_vector)
):
    i = wp.tid()
    point = wp.velocity_at_point(motion[i], wp.transform_get_translation(frame[i]))
    out[i] = wp.transform_twist(frame[i], motion[i]) + wp.transform_wrench(frame[i], motion[i]) * wp.length(point)
