/* SPDX-License-Identifier: MIT */
/* Builtins: the rows of builtins.def and the functions of library/. Each is called in float64 on random arguments; its
 * value must be that of a plain C reference written here, its gradient that of central differences (builtin_case.h). */
#include "tests/lang/builtin_case.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

typedef dm_builtin_case builtin_case;

static void check(const builtin_case *cases, int count)
{
    dm_test_builtin_cases(cases, count, false);
}

/* ---- Scalars ---- */

PLAIN(plain_sin, y[0] = sin(x[0]))
PLAIN(plain_cos, y[0] = cos(x[0]))
PLAIN(plain_tan, y[0] = tan(x[0]))
PLAIN(plain_asin, y[0] = asin(x[0]))
PLAIN(plain_acos, y[0] = acos(x[0]))
PLAIN(plain_atan, y[0] = atan(x[0]))
PLAIN(plain_atan2, y[0] = atan2(x[0], x[1]))
PLAIN(plain_sinh, y[0] = sinh(x[0]))
PLAIN(plain_cosh, y[0] = cosh(x[0]))
PLAIN(plain_tanh, y[0] = tanh(x[0]))
PLAIN(plain_exp, y[0] = exp(x[0]))
PLAIN(plain_log, y[0] = log(x[0]))
PLAIN(plain_log2, y[0] = log2(x[0]))
PLAIN(plain_log10, y[0] = log10(x[0]))
PLAIN(plain_sqrt, y[0] = sqrt(x[0]))
PLAIN(plain_cbrt, y[0] = cbrt(x[0]))
PLAIN(plain_erf, y[0] = erf(x[0]))
PLAIN(plain_erfc, y[0] = erfc(x[0]))
PLAIN(plain_itself, y[0] = x[0])
PLAIN(plain_pow, y[0] = pow(x[0], x[1]))
PLAIN(plain_floor, y[0] = floor(x[0]))
PLAIN(plain_ceil, y[0] = ceil(x[0]))
PLAIN(plain_trunc, y[0] = trunc(x[0]))
PLAIN(plain_round, y[0] = round(x[0]))
PLAIN(plain_rint, y[0] = rint(x[0]))
PLAIN(plain_frac, y[0] = x[0] - trunc(x[0]))
PLAIN(plain_abs, y[0] = fabs(x[0]))
PLAIN(plain_sign, y[0] = x[0] < 0 ? -1 : 1)
PLAIN(plain_step, y[0] = x[0] < 0 ? 1 : 0)
PLAIN(plain_one, y[0] = 1; (void)x)
PLAIN(plain_zero, y[0] = 0; (void)x)
PLAIN(plain_min, y[0] = x[0] < x[1] ? x[0] : x[1])
PLAIN(plain_max, y[0] = x[0] > x[1] ? x[0] : x[1])
PLAIN(plain_clamp, y[0] = x[0] < x[1] - 3 ? x[1] - 3 : x[0] > x[2] + 3 ? x[2] + 3 : x[0])
PLAIN(plain_degrees, y[0] = x[0] * 180 / 3.14159265358979323846)
PLAIN(plain_radians, y[0] = x[0] * 3.14159265358979323846 / 180)
PLAIN(plain_mod, y[0] = fmod(x[0], x[1]))
PLAIN(plain_floordiv, y[0] = floor(x[0] / x[1]))
PLAIN(plain_div, y[0] = x[0] / x[1])
PLAIN(plain_copysign, y[0] = copysign(x[0], x[1]))
PLAIN(plain_where, y[0] = x[0] < x[1] ? x[2] : x[3])
PLAIN(plain_lerp, y[0] = x[0] + (x[1] - x[0]) * x[2])
PLAIN(plain_smoothstep, double t = (x[2] - x[0]) / (x[1] - x[0]); t = t < 0   ? 0
                                                                      : t > 1 ? 1
                                                                              : t;
      y[0] = t * t * (3 - 2 * t))

static const builtin_case scalar_cases[] = {
    {"wp.sin(a)", "s", "s", plain_sin, -3, 3},
    {"wp.cos(a)", "s", "s", plain_cos, -3, 3},
    {"wp.tan(a)", "s", "s", plain_tan, -1, 1},
    {"wp.asin(a)", "s", "s", plain_asin, -0.9, 0.9},
    {"wp.acos(a)", "s", "s", plain_acos, -0.9, 0.9},
    {"wp.atan(a)", "s", "s", plain_atan, -3, 3},
    {"wp.atan2(a, b)", "s s", "s", plain_atan2, 0.2, 3},
    {"wp.sinh(a)", "s", "s", plain_sinh, -2, 2},
    {"wp.cosh(a)", "s", "s", plain_cosh, -2, 2},
    {"wp.tanh(a)", "s", "s", plain_tanh, -2, 2},
    {"wp.exp(a)", "s", "s", plain_exp, -2, 2},
    {"wp.log(a)", "s", "s", plain_log, 0.2, 3},
    {"wp.log2(a)", "s", "s", plain_log2, 0.2, 3},
    {"wp.log10(a)", "s", "s", plain_log10, 0.2, 3},
    {"wp.sqrt(a)", "s", "s", plain_sqrt, 0.2, 3},
    {"wp.cbrt(a)", "s", "s", plain_cbrt, 0.2, 3},
    {"wp.erf(a)", "s", "s", plain_erf, -2, 2},
    {"wp.erfc(a)", "s", "s", plain_erfc, -2, 2},
    {"wp.erf(wp.erfinv(a))", "s", "s", plain_itself, -0.95, 0.95},
    {"wp.erfinv(wp.erf(a))", "s", "s", plain_itself, -2.5, 2.5},
    {"wp.erfc(wp.erfcinv(a))", "s", "s", plain_itself, 0.01, 1.99},
    {"wp.pow(a, b)", "s s", "s", plain_pow, 0.2, 3},
    {"a ** b", "s s", "s", plain_pow, 0.2, 3},
    {"wp.floor(a)", "s", "s", plain_floor, -9, 9},
    {"wp.ceil(a)", "s", "s", plain_ceil, -9, 9},
    {"wp.trunc(a)", "s", "s", plain_trunc, -9, 9},
    {"wp.round(a)", "s", "s", plain_round, -9, 9},
    {"wp.rint(a)", "s", "s", plain_rint, -9, 9},
    {"wp.frac(a)", "s", "s", plain_frac, -9, 9},
    {"wp.abs(a)", "s", "s", plain_abs, -3, 3},
    {"wp.sign(a)", "s", "s", plain_sign, -3, 3},
    {"wp.step(a)", "s", "s", plain_step, -3, 3},
    {"wp.nonzero(a)", "s", "s", plain_one, 1, 3},
    {"wp.isfinite(a)", "s", "b", plain_one, -3, 3},
    {"wp.isnan(a)", "s", "b", plain_zero, -3, 3},
    {"wp.isinf(a)", "s", "b", plain_zero, -3, 3},
    {"wp.min(a, b)", "s s", "s", plain_min, -3, 3},
    {"wp.max(a, b)", "s s", "s", plain_max, -3, 3},
    {"wp.clamp(a, b - wp.float64(3.0), c + wp.float64(3.0))", "s s s", "s", plain_clamp, -3, 3},
    {"wp.degrees(a)", "s", "s", plain_degrees, -3, 3},
    {"wp.radians(a)", "s", "s", plain_radians, -90, 90},
    {"a % b", "s s", "s", plain_mod, 0.5, 9},
    {"a // b", "s s", "s", plain_floordiv, 0.5, 9},
    {"a / b", "s s", "s", plain_div, 0.5, 9},
    {"wp.div_approx(a, b)", "s s", "s", plain_div, 0.5, 9},
    {"wp.copysign(a, b)", "s s", "s", plain_copysign, -3, 3},
    {"wp.where(a < b, c, d)", "s s s s", "s", plain_where, -3, 3},
    {"wp.lerp(a, b, c)", "s s s", "s", plain_lerp, -3, 3},
    {"wp.smoothstep(a - wp.float64(4.0), b + wp.float64(4.0), c)", "s s s", "s", NULL, -3, 3},
};

PLAIN(plain_wide_smoothstep, double z[] = {x[0] - 4, x[1] + 4, x[2]}; plain_smoothstep(z, y))

static void scalars(void **state)
{
    (void)state;
    builtin_case cases[COUNT(scalar_cases)];
    memcpy(cases, scalar_cases, sizeof cases);
    cases[COUNT(scalar_cases) - 1].plain = plain_wide_smoothstep;
    check(cases, COUNT(cases));
}

/* ---- Vectors ---- */

static double dot_of(int n, const double *a, const double *b)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

static void cross_of(const double *a, const double *b, double *y)
{
    for (int i = 0; i < 3; i++)
        y[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static int least_of(int n, const double *a)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        best = a[i] < a[best] ? i : best;
    return best;
}

static int largest_of(int n, const double *a)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        best = a[i] > a[best] ? i : best;
    return best;
}

#define EACH3(expression)                                                                          \
    for (int i = 0; i < 3; i++)                                                                    \
    y[i] = (expression)
PLAIN(vec_add, EACH3(x[i] + x[3 + i]))
PLAIN(vec_sub, EACH3(x[i] - x[3 + i]))
PLAIN(vec_neg, EACH3(-x[i]))
PLAIN(vec_pos, EACH3(x[i]))
PLAIN(vec_scale, EACH3(x[i] * x[3]))
PLAIN(vec_scaled, EACH3(x[0] * x[1 + i]))
PLAIN(vec_div, EACH3(x[i] / x[3]))
PLAIN(vec_under, EACH3(x[0] / x[1 + i]))
PLAIN(vec_cw_mul, EACH3(x[i] * x[3 + i]))
PLAIN(vec_cw_div, EACH3(x[i] / x[3 + i]))
PLAIN(vec_mod, EACH3(fmod(x[i], x[3 + i])))
PLAIN(vec_min, EACH3(fmin(x[i], x[3 + i])))
PLAIN(vec_max, EACH3(fmax(x[i], x[3 + i])))
PLAIN(vec_abs, EACH3(fabs(x[i])))
PLAIN(vec_sign, EACH3(x[i] < 0 ? -1 : 1))
PLAIN(vec_least, y[0] = x[least_of(4, x)])
PLAIN(vec_largest, y[0] = x[largest_of(4, x)])
PLAIN(vec_argmin, y[0] = least_of(4, x))
PLAIN(vec_argmax, y[0] = largest_of(4, x))
PLAIN(vec_dot, y[0] = dot_of(4, x, x + 4))
PLAIN(vec_length, y[0] = sqrt(dot_of(3, x, x)))
PLAIN(vec_length_sq, y[0] = dot_of(3, x, x))
PLAIN(vec_normalize, EACH3(x[i] / sqrt(dot_of(3, x, x))))
PLAIN(vec_cross, cross_of(x, x + 3, y))
PLAIN(vec_lerp, EACH3(x[i] + (x[3 + i] - x[i]) * x[6]))
PLAIN(vec_where, EACH3(x[6] > 0 ? x[i] : x[3 + i]))
PLAIN(vec_outer, for (int i = 0; i < 9; i++) y[i] = x[i / 3] * x[3 + i % 3])
PLAIN(vec_skew, memset(y, 0, 9 * sizeof *y); y[1] = -x[2]; y[2] = x[1]; y[3] = x[2]; y[5] = -x[0];
      y[6] = -x[1]; y[7] = x[0])
PLAIN(vec_diag, for (int i = 0; i < 9; i++) y[i] = i % 4 == 0 ? x[i / 4] : 0)

static const builtin_case vector_cases[] = {
    {"a + b", "3 3", "3", vec_add, -3, 3},
    {"a - b", "3 3", "3", vec_sub, -3, 3},
    {"-a", "3", "3", vec_neg, -3, 3},
    {"+a", "3", "3", vec_pos, -3, 3},
    {"a * b", "3 s", "3", vec_scale, -3, 3},
    {"a * b", "s 3", "3", vec_scaled, -3, 3},
    {"a / b", "3 s", "3", vec_div, 0.5, 3},
    {"a / b", "s 3", "3", vec_under, 0.5, 3},
    {"wp.cw_mul(a, b)", "3 3", "3", vec_cw_mul, -3, 3},
    {"wp.cw_div(a, b)", "3 3", "3", vec_cw_div, 0.5, 3},
    {"a % b", "3 3", "3", vec_mod, 0.5, 9},
    {"wp.min(a, b)", "3 3", "3", vec_min, -3, 3},
    {"wp.max(a, b)", "3 3", "3", vec_max, -3, 3},
    {"wp.abs(a)", "3", "3", vec_abs, -3, 3},
    {"wp.sign(a)", "3", "3", vec_sign, -3, 3},
    {"wp.min(a)", "4", "s", vec_least, -3, 3},
    {"wp.max(a)", "4", "s", vec_largest, -3, 3},
    {"wp.argmin(a)", "4", "i", vec_argmin, -3, 3},
    {"wp.argmax(a)", "4", "i", vec_argmax, -3, 3},
    {"wp.dot(a, b)", "4 4", "s", vec_dot, -3, 3},
    {"wp.length(a)", "3", "s", vec_length, -3, 3},
    {"wp.length_sq(a)", "3", "s", vec_length_sq, -3, 3},
    {"wp.normalize(a)", "3", "3", vec_normalize, 0.1, 3},
    {"wp.cross(a, b)", "3 3", "3", vec_cross, -3, 3},
    {"wp.lerp(a, b, c)", "3 3 s", "3", vec_lerp, -3, 3},
    {"wp.where(c > wp.float64(0.0), a, b)", "3 3 s", "3", vec_where, -3, 3},
    {"wp.outer(a, b)", "3 3", "m3", vec_outer, -3, 3},
    {"wp.skew(a)", "3", "m3", vec_skew, -3, 3},
    {"wp.diag(a)", "3", "m3", vec_diag, -3, 3},
    {"a == b", "3 3", "b", plain_zero, -3, 3},
    {"a != b", "3 3", "b", plain_one, -3, 3},
    {"a == a", "3", "b", plain_one, -3, 3},
    {"wp.isfinite(a)", "4", "b", plain_one, -3, 3},
    {"wp.isnan(a)", "4", "b", plain_zero, -3, 3},
    {"wp.isinf(a)", "4", "b", plain_zero, -3, 3},
};

static void vectors(void **state)
{
    (void)state;
    check(vector_cases, COUNT(vector_cases));
}

/* ---- Matrices ---- */

static void product_of(int rows, int inner, int cols, const double *a, const double *b, double *y)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            y[i * cols + j] = 0;
            for (int k = 0; k < inner; k++)
                y[i * cols + j] += a[i * inner + k] * b[k * cols + j];
        }
}

/* By the first row. */
static double determinant_of(int n, const double *a)
{
    if (n == 1)
        return a[0];
    double sum = 0;
    for (int k = 0; k < n; k++) {
        double minor[9];
        for (int i = 1; i < n; i++)
            for (int j = 0, to = 0; j < n; j++)
                if (j != k)
                    minor[(i - 1) * (n - 1) + to++] = a[i * n + j];
        sum += (k % 2 == 0 ? 1 : -1) * a[k] * determinant_of(n - 1, minor);
    }
    return sum;
}

/* Gauss and Jordan, with pivots. */
static void inverse_of(int n, const double *a, double *y)
{
    double work[4][8];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            work[i][j] = a[i * n + j];
            work[i][n + j] = i == j;
        }
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int i = c; i < n; i++)
            pivot = fabs(work[i][c]) > fabs(work[pivot][c]) ? i : pivot;
        for (int j = 0; j < 2 * n; j++) {
            double keep = work[c][j];
            work[c][j] = work[pivot][j];
            work[pivot][j] = keep;
        }
        double by = work[c][c];
        for (int j = 0; j < 2 * n; j++)
            work[c][j] /= by;
        for (int i = 0; i < n; i++) {
            double times = work[i][c];
            for (int j = 0; i != c && j < 2 * n; j++)
                work[i][j] -= times * work[c][j];
        }
    }
    for (int i = 0; i < n * n; i++)
        y[i] = work[i / n][n + i % n];
}

#define EACH9(expression)                                                                          \
    for (int i = 0; i < 9; i++)                                                                    \
    y[i] = (expression)
PLAIN(mat_add, EACH9(x[i] + x[9 + i]))
PLAIN(mat_sub, EACH9(x[i] - x[9 + i]))
PLAIN(mat_neg, EACH9(-x[i]))
PLAIN(mat_scale, EACH9(x[i] * x[9]))
PLAIN(mat_scaled, EACH9(x[0] * x[1 + i]))
PLAIN(mat_div, EACH9(x[i] / x[9]))
PLAIN(mat_under, EACH9(x[0] / x[1 + i]))
PLAIN(mat_cw_mul, EACH9(x[i] * x[9 + i]))
PLAIN(mat_cw_div, EACH9(x[i] / x[9 + i]))
PLAIN(mat_transpose, EACH9(x[i % 3 * 3 + i / 3]))
PLAIN(mat_ddot, y[0] = dot_of(9, x, x + 9))
PLAIN(mat_times_vec, product_of(3, 3, 1, x, x + 9, y))
PLAIN(vec_times_mat, product_of(1, 3, 3, x, x + 3, y))
PLAIN(mat_times_mat, product_of(3, 3, 3, x, x + 9, y))
PLAIN(mat_times_mat4, product_of(4, 4, 4, x, x + 16, y))
PLAIN(mat_trace, y[0] = x[0] + x[4] + x[8])
PLAIN(mat_get_diag, EACH3(x[4 * i]))
PLAIN(mat_det2, y[0] = determinant_of(2, x))
PLAIN(mat_det3, y[0] = determinant_of(3, x))
PLAIN(mat_det4, y[0] = determinant_of(4, x))
PLAIN(mat_inverse2, inverse_of(2, x, y))
PLAIN(mat_inverse3, inverse_of(3, x, y))
PLAIN(mat_inverse4, inverse_of(4, x, y))
PLAIN(mat_point, EACH3(dot_of(3, x + 4 * i, x + 16) + x[4 * i + 3]))
PLAIN(mat_direction, EACH3(dot_of(3, x + 4 * i, x + 16)))
PLAIN(mat_lerp, EACH9(x[i] + (x[9 + i] - x[i]) * x[18]))

static const builtin_case matrix_cases[] = {
    {"a + b", "m3 m3", "m3", mat_add, -3, 3},
    {"a - b", "m3 m3", "m3", mat_sub, -3, 3},
    {"-a", "m3", "m3", mat_neg, -3, 3},
    {"a * b", "m3 s", "m3", mat_scale, -3, 3},
    {"a * b", "s m3", "m3", mat_scaled, -3, 3},
    {"a / b", "m3 s", "m3", mat_div, 0.5, 3},
    {"a / b", "s m3", "m3", mat_under, 0.5, 3},
    {"wp.cw_mul(a, b)", "m3 m3", "m3", mat_cw_mul, -3, 3},
    {"wp.cw_div(a, b)", "m3 m3", "m3", mat_cw_div, 0.5, 3},
    {"wp.transpose(a)", "m3", "m3", mat_transpose, -3, 3},
    {"wp.ddot(a, b)", "m3 m3", "s", mat_ddot, -3, 3},
    {"a * b", "m3 3", "3", mat_times_vec, -3, 3},
    {"a @ b", "m3 3", "3", mat_times_vec, -3, 3},
    {"a * b", "3 m3", "3", vec_times_mat, -3, 3},
    {"a * b", "m3 m3", "m3", mat_times_mat, -3, 3},
    {"wp.mul(a, b)", "m4 m4", "m4", mat_times_mat4, -3, 3},
    {"wp.trace(a)", "m3", "s", mat_trace, -3, 3},
    {"wp.get_diag(a)", "m3", "3", mat_get_diag, -3, 3},
    {"wp.determinant(a)", "m2", "s", mat_det2, -3, 3},
    {"wp.determinant(a)", "m3", "s", mat_det3, -3, 3},
    {"wp.determinant(a)", "m4", "s", mat_det4, -3, 3},
    {"wp.inverse(a + wp.identity(n=2, dtype=wp.float64) * wp.float64(9.0))", "m2", "m2", NULL, -3,
     3},
    {"wp.inverse(a + wp.identity(n=3, dtype=wp.float64) * wp.float64(9.0))", "m3", "m3", NULL, -3,
     3},
    {"wp.inverse(a + wp.identity(n=4, dtype=wp.float64) * wp.float64(9.0))", "m4", "m4", NULL, -3,
     3},
    {"wp.inverse_approx(a + wp.identity(n=2, dtype=wp.float64) * wp.float64(9.0))", "m2", "m2",
     NULL, -3, 3},
    {"wp.inverse_approx(a + wp.identity(n=3, dtype=wp.float64) * wp.float64(9.0))", "m3", "m3",
     NULL, -3, 3},
    {"wp.inverse_approx(a + wp.identity(n=4, dtype=wp.float64) * wp.float64(9.0))", "m4", "m4",
     NULL, -3, 3},
    {"wp.transform_point(a, b)", "m4 3", "3", mat_point, -3, 3},
    {"wp.transform_vector(a, b)", "m4 3", "3", mat_direction, -3, 3},
    {"wp.lerp(a, b, c)", "m3 m3 s", "m3", mat_lerp, -3, 3},
    {"a == b", "m3 m3", "b", plain_zero, -3, 3},
    {"wp.isfinite(a)", "m3", "b", plain_one, -3, 3},
    {"wp.isnan(a)", "m3", "b", plain_zero, -3, 3},
};

static void shifted_inverse(int n, const double *x, double *y)
{
    double a[16];
    for (int i = 0; i < n * n; i++)
        a[i] = x[i] + (i % (n + 1) == 0 ? 9 : 0);
    inverse_of(n, a, y);
}
PLAIN(shifted_inverse2, shifted_inverse(2, x, y))
PLAIN(shifted_inverse3, shifted_inverse(3, x, y))
PLAIN(shifted_inverse4, shifted_inverse(4, x, y))

static void matrices(void **state)
{
    (void)state;
    builtin_case cases[COUNT(matrix_cases)];
    memcpy(cases, matrix_cases, sizeof cases);
    for (int i = 0; i < COUNT(cases); i++)
        if (cases[i].plain == NULL)
            cases[i].plain = cases[i].args[1] == '2'   ? shifted_inverse2
                             : cases[i].args[1] == '3' ? shifted_inverse3
                                                       : shifted_inverse4;
    check(cases, COUNT(cases));
    (void)mat_inverse2;
    (void)mat_inverse3;
    (void)mat_inverse4;
}

/* ---- Rotations ---- */

static void quat_product(const double *a, const double *b, double *y)
{
    double n[3];
    cross_of(a, b, n);
    for (int i = 0; i < 3; i++)
        y[i] = a[3] * b[i] + b[3] * a[i] + n[i];
    y[3] = a[3] * b[3] - dot_of(3, a, b);
}

/* v (2 w w - 1) + 2 w (u x v) + 2 u (u . v), for q that need not be of length one */
static void rotated(const double *q, const double *v, double *y)
{
    double n[3];
    cross_of(q, v, n);
    for (int i = 0; i < 3; i++)
        y[i] = v[i] * (2 * q[3] * q[3] - 1) + 2 * q[3] * n[i] + 2 * q[i] * dot_of(3, q, v);
}

static void conjugate(const double *q, double *y)
{
    for (int i = 0; i < 4; i++)
        y[i] = i < 3 ? -q[i] : q[i];
}

#define EACH4(expression)                                                                          \
    for (int i = 0; i < 4; i++)                                                                    \
    y[i] = (expression)
#define EACH7(expression)                                                                          \
    for (int i = 0; i < 7; i++)                                                                    \
    y[i] = (expression)
PLAIN(quat_add, EACH4(x[i] + x[4 + i]))
PLAIN(quat_sub, EACH4(x[i] - x[4 + i]))
PLAIN(quat_neg, EACH4(-x[i]))
PLAIN(quat_scale, EACH4(x[i] * x[4]))
PLAIN(quat_scaled, EACH4(x[0] * x[1 + i]))
PLAIN(quat_div, EACH4(x[i] / x[4]))
PLAIN(quat_under, EACH4(x[0] / x[1 + i]))
PLAIN(quat_mul, quat_product(x, x + 4, y))
PLAIN(quat_dot, y[0] = dot_of(4, x, x + 4))
PLAIN(quat_length, y[0] = sqrt(dot_of(4, x, x)))
PLAIN(quat_length_sq, y[0] = dot_of(4, x, x))
PLAIN(quat_normalize, EACH4(x[i] / sqrt(dot_of(4, x, x))))
PLAIN(quat_inverse, conjugate(x, y))
PLAIN(quat_rotate, rotated(x, x + 4, y))
PLAIN(quat_rotate_inv, double c[4]; conjugate(x, c); rotated(c, x + 4, y))
PLAIN(quat_axis_angle, EACH3(x[i] * sin(x[3] / 2)); y[3] = cos(x[3] / 2))
PLAIN(quat_rpy, double a[] = {sin(x[0] / 2), 0, 0, cos(x[0] / 2)};
      double b[] = {0, sin(x[1] / 2), 0, cos(x[1] / 2)};
      double c[] = {0, 0, sin(x[2] / 2), cos(x[2] / 2)}; double cb[4]; quat_product(c, b, cb);
      quat_product(cb, a, y))
PLAIN(
    quat_matrix, for (int j = 0; j < 3; j++) {
        double e[3] = {j == 0, j == 1, j == 2}, r[3];
        rotated(x, e, r);
        for (int i = 0; i < 3; i++)
            y[i * 3 + j] = r[i];
    })
PLAIN(quat_angle, y[0] = 2 * atan2(sqrt(dot_of(3, x, x)), fabs(x[3])))
PLAIN(quat_axis, EACH3(x[i] / sqrt(dot_of(3, x, x)) * (x[3] < 0 ? -1 : 1)))
PLAIN(quat_slerp_same, EACH4(x[i] / sqrt(dot_of(4, x, x))))
PLAIN(quat_there_and_back, double l = sqrt(dot_of(4, x, x)); EACH4(x[i] / l * (x[3] < 0 ? -1 : 1)))
PLAIN(quat_lerp, EACH4(x[i] + (x[4 + i] - x[i]) * x[8]))
PLAIN(turn_add, EACH7(x[i] + x[7 + i]))
PLAIN(turn_sub, EACH7(x[i] - x[7 + i]))
PLAIN(turn_scale, EACH7(x[i] * x[7]))
PLAIN(turn_scaled, EACH7(x[0] * x[1 + i]))
PLAIN(turn_mul, rotated(x + 3, x + 7, y); for (int i = 0; i < 3; i++) y[i] += x[i];
      quat_product(x + 3, x + 10, y + 3))
PLAIN(turn_inverse, conjugate(x + 3, y + 3); rotated(y + 3, x, y);
      for (int i = 0; i < 3; i++) y[i] = -y[i])
PLAIN(turn_point, rotated(x + 3, x + 7, y); for (int i = 0; i < 3; i++) y[i] += x[i])
PLAIN(turn_vector, rotated(x + 3, x + 7, y))
PLAIN(turn_translation, memcpy(y, x, 3 * sizeof *y))
PLAIN(turn_rotation, memcpy(y, x + 3, 4 * sizeof *y))
PLAIN(turn_moved, memcpy(y, x + 7, 3 * sizeof *y); memcpy(y + 3, x + 3, 4 * sizeof *y))
PLAIN(turn_turned, memcpy(y, x, 3 * sizeof *y); memcpy(y + 3, x + 7, 4 * sizeof *y))
PLAIN(turn_compose, memcpy(y, x, 7 * sizeof *y))
PLAIN(spatial_top_of, memcpy(y, x, 3 * sizeof *y))
PLAIN(spatial_bottom_of, memcpy(y, x + 3, 3 * sizeof *y))
PLAIN(spatial_dot_of, y[0] = dot_of(6, x, x + 6))
PLAIN(spatial_cross_of, double v[3]; cross_of(x, x + 6, y); cross_of(x + 3, x + 6, v);
      cross_of(x, x + 9, y + 3); for (int i = 0; i < 3; i++) y[3 + i] += v[i])
PLAIN(spatial_cross_dual_of, double v[3]; cross_of(x, x + 6, y); cross_of(x + 3, x + 9, v);
      cross_of(x, x + 9, y + 3); for (int i = 0; i < 3; i++) y[i] += v[i])
PLAIN(
    spatial_adjoint_of, for (int i = 0; i < 36; i++) {
        int row = i / 6, column = i % 6;
        y[i] = row / 3 == column / 3    ? x[row % 3 * 3 + column % 3]
               : row >= 3 && column < 3 ? x[9 + row % 3 * 3 + column % 3]
                                        : 0;
    })

static const builtin_case rotation_cases[] = {
    {"a + b", "q q", "q", quat_add, -3, 3},
    {"a - b", "q q", "q", quat_sub, -3, 3},
    {"-a", "q", "q", quat_neg, -3, 3},
    {"a * b", "q s", "q", quat_scale, -3, 3},
    {"a * b", "s q", "q", quat_scaled, -3, 3},
    {"a / b", "q s", "q", quat_div, 0.5, 3},
    {"a / b", "s q", "q", quat_under, 0.5, 3},
    {"a * b", "q q", "q", quat_mul, -3, 3},
    {"wp.dot(a, b)", "q q", "s", quat_dot, -3, 3},
    {"wp.length(a)", "q", "s", quat_length, 0.1, 3},
    {"wp.length_sq(a)", "q", "s", quat_length_sq, -3, 3},
    {"wp.normalize(a)", "q", "q", quat_normalize, 0.1, 3},
    {"wp.quat_inverse(a)", "q", "q", quat_inverse, -3, 3},
    {"wp.quat_rotate(a, b)", "q 3", "3", quat_rotate, -3, 3},
    {"wp.quat_rotate_inv(a, b)", "q 3", "3", quat_rotate_inv, -3, 3},
    {"wp.quat_from_axis_angle(a, b)", "3 s", "q", quat_axis_angle, -3, 3},
    {"wp.quat_to_axis_angle(a)[0]", "q", "3", quat_axis, 0.1, 3},
    {"wp.quat_to_axis_angle(-a)[0]", "q", "3", NULL, 0.1, 3},
    {"wp.quat_to_axis_angle(a)[1]", "q", "s", quat_angle, 0.1, 3},
    {"wp.quat_rpy(a, b, c)", "s s s", "q", quat_rpy, -3, 3},
    {"wp.quat_to_matrix(a)", "q", "m3", quat_matrix, -3, 3},
    {"wp.quat_from_matrix(wp.quat_to_matrix(wp.normalize(a)))", "q", "q", quat_there_and_back, 0.2,
     1},
    {"wp.quat_from_matrix(wp.quat_to_matrix(wp.normalize(a)))", "q", "q", quat_there_and_back, 0.2,
     3},
    {"wp.quat_slerp(wp.normalize(a), wp.normalize(a + b * wp.float64(0.0)), c)", "q q s", "q",
     quat_slerp_same, 0.2, 0.9},
    {"wp.lerp(a, b, c)", "q q s", "q", quat_lerp, -3, 3},
    {"a == b", "q q", "b", plain_zero, -3, 3},
    {"wp.isfinite(a)", "q", "b", plain_one, -3, 3},
    {"a + b", "t t", "t", turn_add, -3, 3},
    {"a - b", "t t", "t", turn_sub, -3, 3},
    {"a * b", "t s", "t", turn_scale, -3, 3},
    {"a * b", "s t", "t", turn_scaled, -3, 3},
    {"a * b", "t t", "t", turn_mul, -2, 2},
    {"wp.transform_multiply(a, b)", "t t", "t", turn_mul, -2, 2},
    {"wp.transform_inverse(a)", "t", "t", turn_inverse, -2, 2},
    {"wp.transform_point(a, b)", "t 3", "3", turn_point, -2, 2},
    {"wp.transform_vector(a, b)", "t 3", "3", turn_vector, -2, 2},
    {"wp.transform_get_translation(a)", "t", "3", turn_translation, -2, 2},
    {"wp.transform_get_rotation(a)", "t", "q", turn_rotation, -2, 2},
    {"wp.transform_set_translation_copy(a, b)", "t 3", "t", turn_moved, -2, 2},
    {"wp.transform_set_rotation_copy(a, b)", "t q", "t", turn_turned, -2, 2},
    {"wp.transformation(a, b)", "3 q", "t", turn_compose, -2, 2},
    {"wp.spatial_top(a)", "6", "3", spatial_top_of, -2, 2},
    {"wp.spatial_bottom(a)", "6", "3", spatial_bottom_of, -2, 2},
    {"wp.spatial_dot(a, b)", "6 6", "s", spatial_dot_of, -2, 2},
    {"wp.spatial_cross(a, b)", "6 6", "6", spatial_cross_of, -2, 2},
    {"wp.spatial_cross_dual(a, b)", "6 6", "6", spatial_cross_dual_of, -2, 2},
    {"wp.spatial_adjoint(a, b)", "m3 m3", "m6", spatial_adjoint_of, -2, 2},
};

PLAIN(quat_axis_of_negative, double n[4]; for (int i = 0; i < 4; i++) n[i] = -x[i]; quat_axis(n, y))

static void rotations(void **state)
{
    (void)state;
    builtin_case cases[COUNT(rotation_cases)];
    memcpy(cases, rotation_cases, sizeof cases);
    for (int i = 0; i < COUNT(cases); i++)
        if (cases[i].plain == NULL)
            cases[i].plain = quat_axis_of_negative;
    check(cases, COUNT(cases));
}

/* ---- Decompositions ---- */

/* What is taken apart must come together again; parts are compared where they are unique. */
PLAIN(same_matrix, memcpy(y, x, 9 * sizeof *y))
PLAIN(symmetric_part, for (int i = 0; i < 9; i++) y[i] = x[i] + x[i % 3 * 3 + i / 3])
PLAIN(identity_matrix, (void)x; for (int i = 0; i < 9; i++) y[i] = i % 4 == 0)
PLAIN(sum_of_squares, y[0] = dot_of(9, x, x))
PLAIN(sum_of_cubes, double a[9], b[9], c[9]; symmetric_part(x, a); product_of(3, 3, 3, a, a, b);
      product_of(3, 3, 3, b, a, c); y[0] = c[0] + c[4] + c[8])
/* Newton's iteration for the polar factor, of determinant one for positive determinants. */
PLAIN(
    polar_rotation, double r[9], inverse[9]; memcpy(r, x, sizeof r);
    for (int k = 0; k < 9; k++) r[k] += k % 4 == 0 ? 4 : 0; for (int n = 0; n < 60; n++) {
        inverse_of(3, r, inverse);
        for (int k = 0; k < 9; k++)
            y[k] = 0.5 * (r[k] + inverse[k % 3 * 3 + k / 3]);
        memcpy(r, y, sizeof r);
    })
PLAIN(first_direction, double l = sqrt(x[0] * x[0] + x[3] * x[3] + x[6] * x[6]);
      for (int i = 0; i < 3; i++) y[i] = x[3 * i] / l)

#define SHIFT "a + wp.identity(n=3, dtype=wp.float64) * wp.float64(4.0)"
static const builtin_case decomposition_cases[] = {
    {"wp.qr3(a)[0] * wp.qr3(a)[1]", "m3", "m3", same_matrix, -2, 2},
    {"wp.qr3(a)[0] * wp.vec3d(wp.float64(1.0), wp.float64(0.0), wp.float64(0.0))", "m3", "3",
     first_direction, 0.2, 2},
    {"wp.transpose(wp.qr3(a)[0]) * wp.qr3(a)[0]", "m3", "m3", identity_matrix, -2, 2},
    {"wp.eig3(a + wp.transpose(a))[0] * wp.diag(wp.eig3(a + wp.transpose(a))[1]) * "
     "wp.transpose(wp.eig3(a + wp.transpose(a))[0])",
     "m3", "m3", symmetric_part, -2, 2},
    {"wp.dot(wp.eig3(a + wp.transpose(a))[1], wp.cw_mul(wp.eig3(a + wp.transpose(a))[1], "
     "wp.eig3(a + wp.transpose(a))[1]))",
     "m3", "s", sum_of_cubes, -2, 2},
    {"wp.svd3(a)[0] * wp.diag(wp.svd3(a)[1]) * wp.transpose(wp.svd3(a)[2])", "m3", "m3",
     same_matrix, -2, 2},
    {"wp.length_sq(wp.svd3(a)[1])", "m3", "s", sum_of_squares, -2, 2},
    {"wp.svd3(" SHIFT ")[0] * wp.transpose(wp.svd3(" SHIFT ")[2])", "m3", "m3", polar_rotation, -1,
     1},
};

static void decompositions(void **state)
{
    (void)state;
    check(decomposition_cases, COUNT(decomposition_cases));
}

DM_TESTS("lang/builtins", DM_TEST(scalars), DM_TEST(vectors), DM_TEST(matrices), DM_TEST(rotations),
         DM_TEST(decompositions))
