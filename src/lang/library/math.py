# SPDX-License-Identifier: MIT
# Norms, angles of rotations, motions and forces seen from another frame.


def norm_l1(v: Any):
    return dot(v, sign(v))


def norm_l2(v: Any):
    return length(v)


# Quadratic near zero, linear beyond delta.
def norm_huber(v: Any, delta: float32 = 1.0):
    l = length(v)
    return where(l <= delta, 0.5 * l * l, delta * (l - 0.5 * delta))


def norm_pseudo_huber(v: Any, delta: float32 = 1.0):
    return delta * sqrt(1.0 + length_sq(v) / (delta * delta))


def smooth_normalize(v: Any, delta: float32 = 1.0):
    return v / norm_pseudo_huber(v, delta)


def velocity_at_point(qd: spatial_vector, r: vec3):
    return spatial_bottom(qd) + cross(spatial_top(qd), r)


# The part of a rotation that is about an axis of length one, and its angle.
def quat_twist(axis: vec3, q: quat):
    a = axis * (axis[0] * q[0] + axis[1] * q[1] + axis[2] * q[2])
    return normalize(quaternion(a, q[3]))


def quat_twist_angle(axis: vec3, q: quat):
    return 2.0 * atan2(abs(axis[0] * q[0] + axis[1] * q[1] + axis[2] * q[2]), q[3])


def quat_twist_angle_signed(axis: vec3, q: quat):
    return 2.0 * atan2(axis[0] * q[0] + axis[1] * q[1] + axis[2] * q[2], q[3])


def quat_to_rpy(q: quat):
    roll = atan2(2.0 * (q[3] * q[0] + q[1] * q[2]), 1.0 - 2.0 * (q[0] * q[0] + q[1] * q[1]))
    pitch = asin(clamp(2.0 * (q[3] * q[1] - q[2] * q[0]), -1.0, 1.0))
    yaw = atan2(2.0 * (q[3] * q[2] + q[0] * q[1]), 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]))
    return vec3(roll, pitch, yaw)


def _quat_about(axis: int32, angle: float32):
    v = vec3(0.0, 0.0, 0.0)
    v[axis] = sin(0.5 * angle)
    return quaternion(v, cos(0.5 * angle))


# Turns about the axes i, j, k, in this order, by those components of e.
def quat_from_euler(e: vec3, i: int32, j: int32, k: int32):
    return _quat_about(k, e[k]) * (_quat_about(j, e[j]) * _quat_about(i, e[i]))


def transform_twist(t: transform, x: spatial_vector):
    w = transform_vector(t, spatial_top(x))
    v = transform_vector(t, spatial_bottom(x)) + cross(transform_get_translation(t), w)
    return vector(w[0], w[1], w[2], v[0], v[1], v[2], length=6)


def transform_wrench(t: transform, x: spatial_vector):
    f = transform_vector(t, spatial_bottom(x))
    m = transform_vector(t, spatial_top(x)) + cross(transform_get_translation(t), f)
    return vector(m[0], m[1], m[2], f[0], f[1], f[2], length=6)
