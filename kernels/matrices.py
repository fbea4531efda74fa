# SPDX-License-Identifier: MIT
"""Small matrices: products, inverses, an elastic energy."""
import warp as wp


@wp.kernel
def products(
    a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    m = a[i] * wp.transpose(b[i]) + wp.outer(v[i], v[i]) - wp.skew(v[i])
    out[i] = m * v[i] + wp.get_diag(m) * wp.trace(m) + wp.cw_mul(v[i], v[i]) + wp.cw_div(v[i], v[i] + v[i])


@wp.kernel
def inverses(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=wp.mat33), c: wp.array(dtype=wp.mat44), out: wp.array(dtype=float)):
    i = wp.tid()
    x = wp.inverse(a[i] + wp.identity(n=2, dtype=float) * 4.0)
    y = wp.inverse(b[i] + wp.identity(n=3, dtype=float) * 4.0)
    z = wp.inverse(c[i] + wp.identity(n=4, dtype=float) * 4.0)
    out[i] = wp.trace(x) + y[0, 1] * z[2, 3] + wp.determinant(a[i]) + wp.determinant(b[i]) + wp.ddot(b[i], y)


@wp.kernel
def elastic_energy(f: wp.array(dtype=wp.mat33), mu: float, kappa: float, energy: wp.array(dtype=float)):
    """Neo-Hookean energy density of deformation gradients."""
    i = wp.tid()
    g = f[i] * 0.8 + wp.identity(n=3, dtype=float)
    j = wp.determinant(g)
    energy[i] = 0.5 * mu * (wp.ddot(g, g) - 3.0) - mu * wp.log(j) + 0.5 * kappa * (j - 1.0) * (j - 1.0)
