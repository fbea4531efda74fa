# SPDX-License-Identifier: MIT
# Quaternions, transforms and spatial vectors, of what is not a row of builtins.def.


def quat_from_axis_angle(axis: vec(length=3, dtype=Float), angle: Float):
    half = angle * type(angle)(0.5)
    return quaternion(axis * sin(half), cos(half))


# The shorter way round: the angle is in 0 ... pi.
def quat_to_axis_angle(quat: quaternion(dtype=Float)):
    v = vector(quat[0], quat[1], quat[2], length=3)
    sine = length(v)
    zero = sine * type(sine)(0.0)
    axis = normalize(v)
    if quat[3] < zero:
        axis = -axis
    return axis, type(sine)(2.0) * atan2(sine, abs(quat[3]))


def quat_rpy(roll: Float, pitch: Float, yaw: Float):
    half = type(roll)(0.5)
    cr = cos(roll * half)
    sr = sin(roll * half)
    cp = cos(pitch * half)
    sp = sin(pitch * half)
    cy = cos(yaw * half)
    sy = sin(yaw * half)
    return quaternion(
        cy * sr * cp - sy * cr * sp, cy * cr * sp + sy * sr * cp, sy * cr * cp - cy * sr * sp, cy * cr * cp + sy * sr * sp
    )


def quat_slerp(a: quaternion(dtype=Float), b: quaternion(dtype=Float), t: Float):
    axis, angle = quat_to_axis_angle(quat_inverse(a) * b)
    return a * quat_from_axis_angle(axis, t * angle)


# The columns are the rotated axes.
def quat_to_matrix(quat: quaternion(dtype=Float)):
    one = type(quat[0])(1.0)
    zero = type(quat[0])(0.0)
    x = quat_rotate(quat, vector(one, zero, zero, length=3))
    y = quat_rotate(quat, vector(zero, one, zero, length=3))
    z = quat_rotate(quat, vector(zero, zero, one, length=3))
    return matrix_from_cols(x, y, z)


# From the largest of the four components, so that nothing small is divided by. Of a 4x4 matrix the upper left part.
def quat_from_matrix(mat: Any):
    one = type(mat[0, 0])(1.0)
    half = type(mat[0, 0])(0.5)
    q = quaternion(one, one, one, one)
    if mat[0, 0] + mat[1, 1] + mat[2, 2] >= one - one:
        h = sqrt(mat[0, 0] + mat[1, 1] + mat[2, 2] + one)
        k = half / h
        q = quaternion((mat[2, 1] - mat[1, 2]) * k, (mat[0, 2] - mat[2, 0]) * k, (mat[1, 0] - mat[0, 1]) * k, half * h)
    elif mat[2, 2] > mat[0, 0] and mat[2, 2] > mat[1, 1]:
        h = sqrt(mat[2, 2] - (mat[0, 0] + mat[1, 1]) + one)
        k = half / h
        q = quaternion((mat[2, 0] + mat[0, 2]) * k, (mat[1, 2] + mat[2, 1]) * k, half * h, (mat[1, 0] - mat[0, 1]) * k)
    elif mat[1, 1] > mat[0, 0]:
        h = sqrt(mat[1, 1] - (mat[2, 2] + mat[0, 0]) + one)
        k = half / h
        q = quaternion((mat[0, 1] + mat[1, 0]) * k, half * h, (mat[1, 2] + mat[2, 1]) * k, (mat[0, 2] - mat[2, 0]) * k)
    else:
        h = sqrt(mat[0, 0] - (mat[1, 1] + mat[2, 2]) + one)
        k = half / h
        q = quaternion(half * h, (mat[0, 1] + mat[1, 0]) * k, (mat[2, 0] + mat[0, 2]) * k, (mat[2, 1] - mat[1, 2]) * k)
    return normalize(q)


def transform_multiply(a: transformation(dtype=Float), b: transformation(dtype=Float)):
    return a * b


# The adjoint of a product of transforms: of its first and its second factor.
def _transform_mul_first(a: transformation(dtype=Float), b: transformation(dtype=Float), g: transformation(dtype=Float)):
    turned = _quat_rotate_by(transform_get_rotation(a), transform_get_translation(b), transform_get_translation(g))
    q = transform_get_rotation(g) * quat_inverse(transform_get_rotation(b))
    return transformation(transform_get_translation(g), turned + q)


def _transform_mul_second(a: transformation(dtype=Float), g: transformation(dtype=Float)):
    q = transform_get_rotation(a)
    p = quat_rotate_inv(q, transform_get_translation(g))
    return transformation(p, quat_inverse(q) * transform_get_rotation(g))


def transform_inverse(xform: transformation(dtype=Float)):
    q = quat_inverse(transform_get_rotation(xform))
    return transformation(-quat_rotate(q, transform_get_translation(xform)), q)


def transform_point(xform: transformation(dtype=Float), point: vec(length=3, dtype=Float)):
    return transform_get_translation(xform) + quat_rotate(transform_get_rotation(xform), point)


def transform_vector(xform: transformation(dtype=Float), vec: vec(length=3, dtype=Float)):
    return quat_rotate(transform_get_rotation(xform), vec)


def transform_point(mat: matrix(shape=(4, 4), dtype=Float), point: vec(length=3, dtype=Float)):
    r = mat * vector(point[0], point[1], point[2], type(point[0])(1.0), length=4)
    return vector(r[0], r[1], r[2], length=3)


def transform_vector(mat: matrix(shape=(4, 4), dtype=Float), vec: vec(length=3, dtype=Float)):
    r = mat * vector(vec[0], vec[1], vec[2], type(vec[0])(0.0), length=4)
    return vector(r[0], r[1], r[2], length=3)


def spatial_top(svec: vec(length=6, dtype=Float)):
    return vector(svec[0], svec[1], svec[2], length=3)


def spatial_bottom(svec: vec(length=6, dtype=Float)):
    return vector(svec[3], svec[4], svec[5], length=3)


def spatial_dot(a: vec(length=6, dtype=Float), b: vec(length=6, dtype=Float)):
    return dot(a, b)


def spatial_cross(a: vec(length=6, dtype=Float), b: vec(length=6, dtype=Float)):
    w = cross(spatial_top(a), spatial_top(b))
    v = cross(spatial_bottom(a), spatial_top(b)) + cross(spatial_top(a), spatial_bottom(b))
    return vector(w[0], w[1], w[2], v[0], v[1], v[2], length=6)


def spatial_cross_dual(a: vec(length=6, dtype=Float), b: vec(length=6, dtype=Float)):
    w = cross(spatial_top(a), spatial_top(b)) + cross(spatial_bottom(a), spatial_bottom(b))
    v = cross(spatial_top(a), spatial_bottom(b))
    return vector(w[0], w[1], w[2], v[0], v[1], v[2], length=6)


# [r 0]
# [s r]
def spatial_adjoint(r: matrix(shape=(3, 3), dtype=Float), s: matrix(shape=(3, 3), dtype=Float)):
    a = matrix(r[0, 0] - r[0, 0], shape=(6, 6))
    for i in range(3):
        for j in range(3):
            a[i, j] = r[i, j]
            a[i + 3, j] = s[i, j]
            a[i + 3, j + 3] = r[i, j]
    return a


def inverse_approx(a: Any):
    return inverse(a)
