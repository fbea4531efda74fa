# SPDX-License-Identifier: MIT
# Decompositions of 3x3 matrices. Q, U and V are rotations; the last singular value takes the sign of the determinant.


# By Gram and Schmidt; the last column is the cross product of the others.
def qr3(A: matrix(shape=(3, 3), dtype=Float)):
    a = vector(A[0, 0], A[1, 0], A[2, 0], length=3)
    b = vector(A[0, 1], A[1, 1], A[2, 1], length=3)
    c = vector(A[0, 2], A[1, 2], A[2, 2], length=3)
    p = normalize(a)
    q = normalize(b - p * dot(p, b))
    r = cross(p, q)
    zero = type(A[0, 0])(0.0)
    upper = matrix(dot(p, a), dot(p, b), dot(p, c), zero, dot(q, b), dot(q, c), zero, zero, dot(r, c), shape=(3, 3))
    return matrix_from_cols(p, q, r), upper


# Of a symmetric matrix: eigenvectors as columns, eigenvalues.
def eig3(A: matrix(shape=(3, 3), dtype=Float)):
    e = _eig3(A)
    q = matrix(e[0, 0], e[0, 1], e[0, 2], e[1, 0], e[1, 1], e[1, 2], e[2, 0], e[2, 1], e[2, 2], shape=(3, 3))
    return q, vector(e[3, 0], e[3, 1], e[3, 2], length=3)


def svd3(A: matrix(shape=(3, 3), dtype=Float)):
    e = _svd3(A)
    u = matrix(e[0, 0], e[0, 1], e[0, 2], e[1, 0], e[1, 1], e[1, 2], e[2, 0], e[2, 1], e[2, 2], shape=(3, 3))
    v = matrix(e[4, 0], e[4, 1], e[4, 2], e[5, 0], e[5, 1], e[5, 2], e[6, 0], e[6, 1], e[6, 2], shape=(3, 3))
    return u, vector(e[3, 0], e[3, 1], e[3, 2], length=3), v
