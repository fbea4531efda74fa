/* SPDX-License-Identifier: MIT */
/* Values of the builtins that test_builtins.c leaves out: named operators, matrices from rows and columns, motions,
 * lower_bound, atomics, expectations. Each is compared with a plain C reference; test_random.c has noise and random
 * numbers. The last test looks for a builtin that no test in this folder calls. */
#include "base/file.h"
#include "lang/common.h"
#include "lang/library.h"
#include "tests/lang/builtin_case.h"
#include "tests/lang/kernel_text.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <dotmatrix/kernel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Operators by their names ---- */

#define EACH(n, expression)                                                                        \
    for (int i = 0; i < (n); i++)                                                                  \
    y[i] = (expression)
PLAIN(sum, y[0] = x[0] + x[1])
PLAIN(difference, y[0] = x[0] - x[1])
PLAIN(product, y[0] = x[0] * x[1])
PLAIN(quotient, y[0] = x[0] / x[1])
PLAIN(floored, y[0] = floor(x[0] / 0.7))
PLAIN(rest, y[0] = fmod(x[0], x[1]))
PLAIN(rest_of_signed, y[0] = fmod(x[0], 0.7))
PLAIN(minus, y[0] = -x[0])
PLAIN(itself, y[0] = x[0])
PLAIN(zero, y[0] = 0; (void)x)
PLAIN(one, y[0] = 1; (void)x)
PLAIN(not_less, y[0] = !(x[0] < x[1]))
PLAIN(sums3, EACH(3, x[i] + x[3 + i]))
PLAIN(rests3, EACH(3, fmod(x[i], x[3 + i])))
PLAIN(differences9, EACH(9, x[i] - x[9 + i]))
PLAIN(image3, EACH(3, x[3 * i] * x[9] + x[3 * i + 1] * x[10] + x[3 * i + 2] * x[11]))
PLAIN(quotients4, EACH(4, x[i] / x[4]))
PLAIN(minus7, EACH(7, -x[i]))
PLAIN(itself4, EACH(4, x[i]))

static const dm_builtin_case operator_cases[] = {
    {"wp.add(a, b)", "s s", "s", sum, -3, 3},
    {"wp.sub(a, b)", "s s", "s", difference, -3, 3},
    {"wp.mul(a, b)", "s s", "s", product, -3, 3},
    {"wp.div(a, b)", "s s", "s", quotient, 0.5, 3},
    {"wp.floordiv(a, wp.float64(0.7))", "s", "s", floored, -9, 9},
    {"wp.mod(a, b)", "s s", "s", rest, 0.5, 9},
    {"wp.mod(a, wp.float64(0.7))", "s", "s", rest_of_signed, -9, 9},
    {"wp.neg(a)", "s", "s", minus, -3, 3},
    {"wp.pos(a)", "s", "s", itself, -3, 3},
    {"wp.unot(a)", "s", "b", zero, -3, 3},
    {"wp.unot(a - a)", "s", "b", one, -3, 3},
    {"wp.unot(a < b)", "s s", "b", not_less, -3, 3},
    {"wp.add(a, b)", "3 3", "3", sums3, -3, 3},
    {"wp.mod(a, b)", "3 3", "3", rests3, 0.5, 9},
    {"wp.sub(a, b)", "m3 m3", "m3", differences9, -3, 3},
    {"wp.mul(a, b)", "m3 3", "3", image3, -3, 3},
    {"wp.div(a, b)", "q s", "q", quotients4, 0.5, 3},
    {"wp.neg(a)", "t", "t", minus7, -3, 3},
    {"wp.pos(a)", "m2", "m2", itself4, -3, 3},
};

static void operators_by_name(void **state)
{
    (void)state;
    dm_test_builtin_cases(operator_cases, COUNT(operator_cases), false);
}

/* ---- Shapes and choices ---- */

/* Rows one after the other, as matrices lie in memory; and columns. */
PLAIN(rows22, EACH(4, x[i]))
PLAIN(rows23, EACH(6, x[i]))
PLAIN(rows33, EACH(9, x[i]))
PLAIN(rows44, EACH(16, x[i]))
PLAIN(columns22, EACH(4, x[i % 2 * 2 + i / 2]))
PLAIN(columns32, EACH(6, x[i % 2 * 3 + i / 2]))
PLAIN(columns23, EACH(6, x[i % 3 * 2 + i / 3]))
PLAIN(columns33, EACH(9, x[i % 3 * 3 + i / 3]))
PLAIN(columns44, EACH(16, x[i % 4 * 4 + i / 4]))
PLAIN(rows23_image, EACH(2, x[3 * i] * x[6] + x[3 * i + 1] * x[7] + x[3 * i + 2] * x[8]))
PLAIN(zeros, EACH(9, 0); (void)x)
PLAIN(zeros3, EACH(3, 0); (void)x)
PLAIN(zeros4, EACH(4, 0); (void)x)
PLAIN(zeros7, EACH(7, 0); (void)x)
PLAIN(second, y[0] = x[1])
PLAIN(chosen, y[0] = x[0] < x[1] ? x[3] : x[2])
PLAIN(chosen_by_number, y[0] = floor(x[0]) != 0 ? x[2] : x[1])
PLAIN(chosen3, EACH(3, x[0] < x[1] ? x[5 + i] : x[2 + i]))
PLAIN(two, y[0] = 2; (void)x)
PLAIN(three, y[0] = 3; (void)x)
PLAIN(four, y[0] = 4; (void)x)
PLAIN(seven, y[0] = 7; (void)x)
PLAIN(scaled, y[0] = 2.5 * x[0])
PLAIN(scaled3, EACH(3, 2.5 * x[i]))
PLAIN(with_unit_quat, EACH(4, x[i] + (i == 3)))
PLAIN(with_unit_transform, EACH(7, x[i] + (i == 6)))

static const dm_builtin_case shape_cases[] = {
    {"wp.matrix_from_rows(a, b)", "2 2", "m2", rows22, -3, 3},
    {"wp.matrix_from_rows(a, b)", "3 3", "m23", rows23, -3, 3},
    {"wp.matrix_from_rows(a, b, c)", "2 2 2", "m32", rows23, -3, 3},
    {"wp.matrix_from_rows(a, b, c)", "3 3 3", "m3", rows33, -3, 3},
    {"wp.matrix_from_rows(a, b, c, d)", "4 4 4 4", "m4", rows44, -3, 3},
    {"wp.matrix_from_cols(a, b)", "2 2", "m2", columns22, -3, 3},
    {"wp.matrix_from_cols(a, b)", "3 3", "m32", columns32, -3, 3},
    {"wp.matrix_from_cols(a, b, c)", "2 2 2", "m23", columns23, -3, 3},
    {"wp.matrix_from_cols(a, b, c)", "3 3 3", "m3", columns33, -3, 3},
    {"wp.matrix_from_cols(a, b, c, d)", "4 4 4 4", "m4", columns44, -3, 3},
    {"wp.matrix_from_rows(a, b) * c", "3 3 3", "2", rows23_image, -3, 3},
    {"wp.zero_like(a)", "s", "s", zero, -3, 3},
    {"wp.zero_like(a)", "3", "3", zeros3, -3, 3},
    {"wp.zero_like(a)", "m3", "m3", zeros, -3, 3},
    {"wp.zero_like(a)", "q", "q", zeros4, -3, 3},
    {"wp.zero_like(a)", "t", "t", zeros7, -3, 3},
    {"wp.zero_like(a) * a + b", "s s", "s", second, -3, 3},
    {"wp.select(a < b, c, d)", "s s s s", "s", chosen, -3, 3},
    {"wp.select(wp.floor(a), b, c)", "s s s", "s", chosen_by_number, 0.1, 1.9},
    {"wp.select(a < b, c, d)", "s s 3 3", "3", chosen3, -3, 3},
    {"wp.len(a)", "3", "i", three, -3, 3},
    {"wp.len(a)", "m4", "i", four, -3, 3},
    {"wp.len(a)", "q", "i", four, -3, 3},
    {"wp.len(a)", "t", "i", seven, -3, 3},
    {"wp.len(wp.matrix_from_rows(a, b))", "3 3", "i", two, -3, 3},
    {"wp.len(wp.matrix_from_cols(a, b))", "3 3", "i", three, -3, 3},
    {"wp.type(a)(2.5) * a", "s", "s", scaled, -3, 3},
    {"wp.type(a[0])(2.5) * a", "3", "3", scaled3, -3, 3},
    {"a + wp.quat_identity(dtype=wp.float64)", "q", "q", with_unit_quat, -3, 3},
    {"a * wp.quat_identity(dtype=wp.float64)", "q", "q", itself4, -3, 3},
    {"a + wp.transform_identity(dtype=wp.float64)", "t", "t", with_unit_transform, -3, 3},
};

static void shapes_and_choices(void **state)
{
    (void)state;
    dm_test_builtin_cases(shape_cases, COUNT(shape_cases), false);
}

/* ---- Norms, turns and motions ---- */

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void add_cross(const double *a, const double *b, double *y)
{
    for (int i = 0; i < 3; i++)
        y[i] += a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* Hamilton's product. */
static void turn_after(const double *a, const double *b, double *y)
{
    for (int i = 0; i < 3; i++)
        y[i] = a[3] * b[i] + b[3] * a[i];
    y[3] = a[3] * b[3] - dot(a, b);
    add_cross(a, b, y);
}

/* quat_rotate: q v q* for a q of length one; for others v is scaled by 2 w w - 1 all the same. */
static void turned(const double *q, const double *v, double *y)
{
    for (int i = 0; i < 3; i++)
        y[i] = v[i] * (2 * q[3] * q[3] - 1) + 2 * q[i] * dot(q, v);
    double side[3] = {0};
    add_cross(q, v, side);
    for (int i = 0; i < 3; i++)
        y[i] += 2 * q[3] * side[i];
}

static double huber(const double *v, double delta)
{
    double l = sqrt(dot(v, v));
    return l <= delta ? l * l / 2 : delta * l - delta * delta / 2;
}

static double pseudo_huber(const double *v, double delta)
{
    return sqrt(delta * delta + dot(v, v));
}

static void twist(const double *axis, const double *q, double *y)
{
    double along = dot(axis, q), size = sqrt(along * along * dot(axis, axis) + q[3] * q[3]);
    for (int i = 0; i < 4; i++)
        y[i] = (i < 3 ? along * axis[i] : q[3]) / size;
}

/* Turns about the axes i, j, k: the last one is the leftmost factor. */
static void euler(const double *angles, const int axes[3], double *y)
{
    double turn[4] = {0, 0, 0, 1};
    for (int n = 0; n < 3; n++) {
        double next[4] = {0}, before[4];
        next[axes[n]] = sin(angles[axes[n]] / 2);
        next[3] = cos(angles[axes[n]] / 2);
        memcpy(before, turn, sizeof before);
        turn_after(next, before, turn);
    }
    memcpy(y, turn, sizeof turn);
}

PLAIN(sum_of_sizes, y[0] = fabs(x[0]) + fabs(x[1]) + fabs(x[2]))
PLAIN(length3, y[0] = sqrt(dot(x, x)))
PLAIN(huber_one, y[0] = huber(x, 1))
PLAIN(huber_three, y[0] = huber(x, 3))
PLAIN(pseudo_one, y[0] = pseudo_huber(x, 1))
PLAIN(pseudo_half, y[0] = pseudo_huber(x, 0.5))
PLAIN(smooth_one, EACH(3, x[i] / pseudo_huber(x, 1)))
PLAIN(smooth_half, EACH(3, x[i] / pseudo_huber(x, 0.5)))
PLAIN(point_velocity, memcpy(y, x + 3, 3 * sizeof *y); add_cross(x, x + 6, y))
PLAIN(twisted, twist(x, x + 3, y))
PLAIN(twist_angle, y[0] = 2 * atan2(fabs(dot(x, x + 3)), x[6]))
PLAIN(signed_angle, y[0] = 2 * atan2(dot(x, x + 3), x[6]))
PLAIN(signed_angle_back, y[0] = 2 * atan2(-dot(x, x + 3), x[6]))
PLAIN(itself3, EACH(3, x[i]))
PLAIN(euler_012, euler(x, (const int[]){0, 1, 2}, y))
PLAIN(euler_201, euler(x, (const int[]){2, 0, 1}, y))
PLAIN(euler_020, euler(x, (const int[]){0, 2, 0}, y))
/* Seen from the frame: both parts turned, one with the arm's share of the other. */
PLAIN(twist_seen, turned(x + 3, x + 7, y); turned(x + 3, x + 10, y + 3); add_cross(x, y, y + 3))
PLAIN(wrench_seen, turned(x + 3, x + 7, y); turned(x + 3, x + 10, y + 3); add_cross(x, y + 3, y))

static const dm_builtin_case motion_cases[] = {
    {"wp.norm_l1(a)", "3", "s", sum_of_sizes, -3, 3},
    {"wp.norm_l2(a)", "3", "s", length3, -3, 3},
    {"wp.norm_huber(a)", "3", "s", huber_one, -1, 1},
    {"wp.norm_huber(a, 3.0)", "3", "s", huber_three, -3, 3},
    {"wp.norm_pseudo_huber(a)", "3", "s", pseudo_one, -3, 3},
    {"wp.norm_pseudo_huber(a, 0.5)", "3", "s", pseudo_half, -3, 3},
    {"wp.smooth_normalize(a)", "3", "3", smooth_one, -3, 3},
    {"wp.smooth_normalize(a, 0.5)", "3", "3", smooth_half, -3, 3},
    {"wp.velocity_at_point(a, b)", "6 3", "3", point_velocity, -3, 3},
    {"wp.quat_twist(a, b)", "3 q", "q", twisted, 0.2, 1},
    {"wp.quat_twist_angle(a, b)", "3 q", "s", twist_angle, 0.2, 1},
    {"wp.quat_twist_angle(-a, b)", "3 q", "s", twist_angle, 0.2, 1},
    {"wp.quat_twist_angle_signed(a, b)", "3 q", "s", signed_angle, 0.2, 1},
    {"wp.quat_twist_angle_signed(-a, b)", "3 q", "s", signed_angle_back, 0.2, 1},
    {"wp.quat_to_rpy(wp.quat_rpy(a[0], a[1], a[2]))", "3", "3", itself3, -1.5, 1.5},
    {"wp.quat_from_euler(a, 0, 1, 2)", "3", "q", euler_012, -3, 3},
    {"wp.quat_from_euler(a, 2, 0, 1)", "3", "q", euler_201, -3, 3},
    {"wp.quat_from_euler(a, 0, 2, 0)", "3", "q", euler_020, -3, 3},
    {"wp.transform_twist(a, b)", "t 6", "6", twist_seen, -2, 2},
    {"wp.transform_wrench(a, b)", "t 6", "6", wrench_seen, -2, 2},
    {"a + wp.quat_identity()", "q", "q", with_unit_quat, -3, 3},
    {"a + wp.transform_identity()", "t", "t", with_unit_transform, -3, 3},
};

static void norms_turns_and_motions(void **state)
{
    (void)state;
    dm_test_builtin_cases(motion_cases, COUNT(motion_cases), true);
}

/* ---- Kernels on arrays ---- */

/* A list of arrays, as dm_test_run_arrays takes it. */
#define ARRAYS(...) ((const dm_test_array[]){__VA_ARGS__, {0}})

static void run(void **state, const char *text, const dm_test_array *arrays, int threads)
{
    dm_test_run_arrays(state, text, "", arrays, threads, NULL);
}

static void lengths(void **state)
{
    static const char text[] =
        "def k(a: wp.array(dtype=float), m: wp.array2d(dtype=float), n: wp.array(dtype=int)):\n"
        "    n[0] = wp.len(a)\n"
        "    n[1] = wp.len(m)\n"
        "    n[2] = wp.len(m[1])\n"
        "    n[3] = wp.len(a[1:4])\n"
        "    n[4] = wp.len(a[::2])\n"
        "    n[5] = wp.len(m.shape)\n"
        "    n[6] = wp.len(wp.vec4)\n"
        "    n[7] = len(a) + len(wp.mat22())\n";
    static const int expected[] = {7, 3, 5, 3, 4, 2, 4, 9};
    float a[7] = {0}, m[15] = {0};
    int n[COUNT(expected)] = {0};
    run(state, text, ARRAYS({"a", a, {7}}, {"m", m, {3, 5}}, {"n", n, {COUNT(n)}}), 1);
    for (int i = 0; i < COUNT(expected); i++)
        if (n[i] != expected[i])
            fail_msg("length %d is %d, not %d", i, n[i], expected[i]);
}

/* The order is (condition, if false, if true). */
static void select_takes_false_first(void **state)
{
    static const char text[] = "def k(n: wp.array2d(dtype=int)):\n"
                               "    i = wp.tid()\n"
                               "    n[i, 0] = wp.select(i > 1, 10, 20)\n"
                               "    n[i, 1] = wp.select(i, 10, 20)\n"
                               "    n[i, 2] = wp.select(wp.uint8(i - 1), i, -i)\n"
                               "    n[i, 3] = int(wp.select(False, 1.5, 2.5) * 2.0)\n";
    static const int expected[][4] = {{10, 10, 0, 3}, {10, 20, 1, 3}, {20, 20, -2, 3}};
    int n[3][4] = {{0}};
    run(state, text, ARRAYS({"n", n, {3, 4}}), 3);
    for (int i = 0; i < 12; i++)
        if (n[i / 4][i % 4] != expected[i / 4][i % 4])
            fail_msg("thread %d, %d: %d, not %d", i / 4, i % 4, n[i / 4][i % 4],
                     expected[i / 4][i % 4]);
}

static void within_checks_where_indices_are(void **state)
{
    static const char text[] = "def k(at: wp.array(dtype=int), y: wp.array(dtype=int)):\n"
                               "    i = wp.tid()\n"
                               "    y[i] = 10 * wp.within(at[i], 4)\n";
    static const struct {
        int index;
        const char *message;
    } rows[] = {{0, ""}, {3, ""}, {4, "4 is outside of 0 to 3"}, {-1, "-1 is outside of 0 to 3"}};
    for (int k = 0; k < COUNT(rows); k++) {
        int at[3] = {3, rows[k].index, 1}, y[3] = {0};
        dm_error told = {0};
        bool fits = rows[k].message[0] == '\0';
        const dm_test_array *arrays = ARRAYS({"at", at, {3}}, {"y", y, {3}});
        dm_test_run_arrays(state, text, "", arrays, 3, &told);
        assert_int_equal(told.status, fits ? DM_OK : DM_EINVAL);
        if (strstr(told.message, rows[k].message) == NULL)
            fail_msg("'%s' does not say '%s'", told.message, rows[k].message);
        assert_int_equal(y[1], fits ? 10 * at[1] : 0);
        run(state, text, arrays, 3);
        for (int i = 0; i < 3; i++)
            assert_int_equal(y[i], 10 * at[i]);
    }
}

/* The first of sorted[first ... last - 2] that is not below the value, else last - 1; `first` of an empty range. */
static int plain_lower_bound(const float *sorted, int step, int first, int last, float value)
{
    int i = first;
    while (i < last - 1 && sorted[i * step] < value)
        i++;
    return i;
}

static void lower_bounds(void **state)
{
    static const char text[] =
        "def k(given: wp.array(dtype=float), arr: wp.array(dtype=wp.$), none: "
        "wp.array(dtype=wp.$),\n"
        "      value: wp.array(dtype=float), first: wp.array(dtype=int), last: "
        "wp.array(dtype=int),\n"
        "      found: wp.array2d(dtype=int)):\n"
        "    i = wp.tid()\n"
        "    v = wp.$(value[i])\n"
        "    for j in range(given.shape[0]):\n" /* every thread writes the same */
        "        arr[j] = wp.$(given[j])\n"
        "    found[i, 0] = wp.lower_bound(arr, v)\n"
        "    found[i, 1] = wp.lower_bound(arr, first[i], last[i], v)\n"
        "    found[i, 2] = wp.lower_bound(arr[::2], v)\n"
        "    found[i, 3] = wp.lower_bound(none, v)\n";
    static float sorted[] = {-7, -3, -3, -3, 0, 2, 2, 5, 11};
    enum { N = COUNT(sorted), VALUES = 23, THREADS = VALUES * (N + 1) };
    static const char *const types[] = {"int8", "int32", "int64", "float32", "float64"};
    for (int t = 0; t < COUNT(types); t++) {
        int first[THREADS], last[THREADS], found[THREADS][4];
        float value[THREADS];
        int64_t arr[N] = {0};               /* the largest type */
        for (int i = 0; i < THREADS; i++) { /* -9 to 13: below all, equal, between, above all */
            value[i] = (float)(i % VALUES - 9);
            first[i] = i / VALUES;
            last[i] = i % 3 == 0 ? first[i] : i % 3 == 1 ? N : (first[i] + N) / 2;
        }
        dm_test_run_arrays(state, text, types[t],
                           ARRAYS({"given", sorted, {N}}, {"arr", arr, {N}}, {"none", arr, {0}},
                                  {"value", value, {THREADS}}, {"first", first, {THREADS}},
                                  {"last", last, {THREADS}}, {"found", found, {THREADS, 4}}),
                           THREADS, NULL);
        for (int i = 0; i < THREADS; i++) {
            int expected[] = {plain_lower_bound(sorted, 1, 0, N, value[i]),
                              plain_lower_bound(sorted, 1, first[i], last[i], value[i]),
                              plain_lower_bound(sorted, 2, 0, (N + 1) / 2, value[i]), 0};
            for (int k = 0; k < 4; k++)
                if (found[i][k] != expected[k])
                    fail_msg("%s, way %d, %g in %d to %d: %d, not %d", types[t], k,
                             (double)value[i], first[i], last[i], found[i][k], expected[k]);
        }
    }
}

/* ---- Atomics; test_widths.c has each of them in every type ---- */

/* Many threads on one element. */
static void atomics_across_threads(void **state)
{
    enum { THREADS = 20000 };
    static const char text[] = "def k(w: wp.array(dtype=int), f: wp.array(dtype=float),\n"
                               "      old: wp.array(dtype=int)):\n"
                               "    i = wp.tid()\n"
                               "    v = i * 7919 % 20000 - 10000\n"
                               "    wp.atomic_or(w, 0, 1 << (i % 31))\n"
                               "    wp.atomic_and(w, 1, ~(1 << (i % 31)))\n"
                               "    wp.atomic_xor(w, 2, i)\n"
                               "    wp.atomic_min(w, 3, v)\n"
                               "    wp.atomic_max(w, 4, v)\n"
                               "    old[i] = wp.atomic_exch(w, 5, i)\n"
                               "    seen = w[6]\n"
                               "    while True:\n"
                               "        held = wp.atomic_cas(w, 6, seen, seen + 3)\n"
                               "        if held == seen:\n"
                               "            break\n"
                               "        seen = held\n"
                               "    wp.atomic_min(f, 0, float(v) * 0.5)\n"
                               "    wp.atomic_max(f, 1, float(v) * 0.5)\n";
    static int old[THREADS];
    static bool returned[THREADS + 1];
    int w[7] = {0, -1, 0, 0, 0, THREADS, 0}, all = 0;
    float f[2] = {0};
    run(state, text, ARRAYS({"w", w, {7}}, {"f", f, {2}}, {"old", old, {THREADS}}), THREADS);
    for (int i = 0; i < THREADS; i++)
        all ^= i;
    assert_int_equal(w[0], 0x7FFFFFFF);
    assert_int_equal((uint32_t)w[1], 0x80000000);
    assert_int_equal(w[2], all);
    assert_int_equal(w[3], -10000);
    assert_int_equal(w[4], 9999);
    assert_int_equal(w[6], 3 * THREADS);
    assert_true(f[0] == -5000 && f[1] == 4999.5f);
    /* What was exchanged came back once, but for what is there now. */
    memset(returned, 0, sizeof returned);
    returned[w[5]] = true;
    for (int i = 0; i < THREADS; i++) {
        assert_in_range(old[i], 0, THREADS);
        assert_false(returned[old[i]]);
        returned[old[i]] = true;
    }
}

static void exchanges_have_no_gradient(void **state)
{
    (void)state;
    static const char *const calls[] = {"wp.atomic_exch(y, i, x[i])",
                                        "wp.atomic_cas(y, i, 1.0, x[i])"};
    for (int k = 0; k < COUNT(calls); k++) {
        char text[512];
        dm_kernel_file *file;
        snprintf(text, sizeof text,
                 "import warp as wp\n@wp.kernel\n"
                 "def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
                 "    i = wp.tid()\n    %s\n",
                 calls[k]);
        assert_ok(dm_kernel_file_create("k.py", text, strlen(text), NULL, &file, err));
        dm_kernel *kernel = dm_kernel_file_get(file, 0);
        assert_ok(dm_kernel_compile(kernel, err));
        assert_false(dm_kernel_has_backward(kernel));
        assert_non_null(strstr(dm_kernel_no_backward(kernel), "atomic has no gradient"));
        dm_kernel_file_destroy(file);
    }
}

/* ---- What is printed ---- */

/* A statement, of a = 1.0, n = 3, v = (1, 2, -3.5), m = ((1, 2), (3, 4)); and what it prints. NULL: its line and the
 * name of the expectation. */
static const struct {
    const char *statement, *printed;
} printing[] = {
    {"wp.expect_eq(n, 3)", ""},
    {"wp.expect_eq(n, 4)", NULL},
    {"wp.expect_eq(a, 1.0)", ""},
    {"wp.expect_eq(a, 1.0001)", NULL},
    {"wp.expect_eq(n > 2, True)", ""},
    {"wp.expect_eq(n > 2, n > 5)", NULL},
    {"wp.expect_eq(v, wp.vec3(1.0, 2.0, -3.5))", ""},
    {"wp.expect_eq(v, wp.vec3(1.0, 2.0, 3.5))", NULL},
    {"wp.expect_eq(v, wp.vec3(0.0, 2.0, -3.5))", NULL},
    {"wp.expect_eq(m, wp.mat22(1.0, 2.0, 3.0, 4.0))", ""},
    {"wp.expect_eq(m, wp.mat22(1.0, 3.0, 2.0, 4.0))", NULL},
    {"wp.expect_neq(n, 4)", ""},
    {"wp.expect_neq(n, 3)", NULL},
    {"wp.expect_neq(v, wp.vec3(1.0, 2.0, 3.5))", ""}, /* one component is enough */
    {"wp.expect_neq(v, wp.vec3(1.0, 2.0, -3.5))", NULL},
    {"wp.expect_near(a, 1.0)", ""},
    {"wp.expect_near(a, 1.0000005)", ""},
    {"wp.expect_near(a, 1.00001)", NULL},
    {"wp.expect_near(a, 1.25, 0.25)", ""}, /* at the bound */
    {"wp.expect_near(a, 1.25, 0.2)", NULL},
    {"wp.expect_near(1.25, a, 0.2)", NULL},
    {"wp.expect_near(a, a / 0.0 * 0.0, 0.2)", NULL}, /* NaN is near to nothing */
    {"wp.expect_near(v, wp.vec3(1.1, 1.9, -3.5), 0.15)", ""},
    {"wp.expect_near(v, wp.vec3(1.1, 1.9, -3.7), 0.15)", NULL},
    {"wp.print(\"100% of text\")", "100% of text\n"},
    {"wp.print(n)", "3\n"},
    {"wp.print(-n)", "-3\n"},
    {"wp.print(wp.uint32(n) - wp.uint32(4))", "4294967295\n"},
    {"wp.print(wp.int64(n) * wp.int64(-2000000000))", "-6000000000\n"},
    {"wp.print(wp.uint64(n) - wp.uint64(4))", "18446744073709551615\n"},
    {"wp.print(wp.int8(-n))", "-3\n"},
    {"wp.print(n > 2)", "1\n"},
    {"wp.print(a * 0.5)", "0.5\n"},
    {"wp.print(wp.float64(a) * wp.float64(0.1))", "0.1\n"},
    {"wp.print(wp.float16(a))", "1\n"},
    {"wp.print(v)", "1 2 -3.5\n"},
    {"wp.print(m)", "1 2 3 4\n"},
    {"wp.print(wp.transform_identity())", "0 0 0 0 0 0 1\n"},
    {"wp.print(\"n is\", n, v)", "n is 3 1 2 -3.5\n"},
    {"wp.printf(\"%d of %5.2f%%\\n\", n, a)", "3 of  1.00%\n"},
};

/* An expectation that does not hold is told, and the thread goes on. */
static void expectations_and_prints(void **state)
{
    dm_buffer text = DM_BUFFER_EMPTY, expected = DM_BUFFER_EMPTY;
    dm_buffer_puts(&text, "import warp as wp\n"
                          "@wp.kernel\n"
                          "def k(x: wp.array(dtype=float)):\n"
                          "    a = x[0] + 1.0\n"
                          "    n = int(a) + 2\n"
                          "    v = wp.vec3(a, 2.0, -3.5)\n"
                          "    m = wp.mat22(a, 2.0, 3.0, 4.0)\n");
    for (int i = 0; i < COUNT(printing); i++) {
        const char *statement = printing[i].statement, *printed = printing[i].printed;
        dm_buffer_printf(&text, "    %s\n", statement);
        if (printed != NULL)
            dm_buffer_puts(&expected, printed);
        else
            dm_buffer_printf(&expected, "line %d: %.*s\n", 8 + i, (int)strcspn(statement + 3, "("),
                             statement + 3);
    }
    dm_test_compiles(state, dm_buffer_text(&text), false);
    const char *source = dm_test_path(state, "print.py");
    assert_ok(dm_file_write(source, text.data, text.size, err));
    dm_test_result r;
    dm_test_dotmatrix(&r, "kernel", "run", source, "--dim", "1", "--arg", "x=zeros:1");
    dm_test_expect_exit(&r, 0);
    char *rest_of_output = strstr(r.out, "x   "); /* behind it the arrays are listed */
    assert_non_null(rest_of_output);
    *rest_of_output = '\0';
    assert_string_equal(r.out, dm_buffer_text(&expected));
    dm_test_result_free(&r);
    dm_buffer_deinit(&text);
    dm_buffer_deinit(&expected);
}

/* ---- Every builtin ---- */

static dm_status read_test(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    size_t length = strlen(entry->path), size;
    char path[DM_PATH_MAX], *text;
    (void)err;
    if (entry->is_dir || length < 2 || strcmp(entry->path + length - 2, ".c") != 0)
        return DM_OK;
    assert_ok(dm_path_join(path, root, entry->path, err));
    assert_ok(dm_file_read(path, 0, &text, &size, err));
    dm_buffer_append(user, text, size);
    free(text);
    return DM_OK;
}

/* Names with "_" first are for the compiler's own use. */
static int called(const char *texts, const char *name, dm_buffer *missing)
{
    char call[128], entry[128];
    if (name[0] == '_')
        return 0;
    snprintf(call, sizeof call, "wp.%.80s(", name);
    snprintf(entry, sizeof entry, " %.80s ", name);
    if (strstr(texts, call) == NULL && strstr(dm_buffer_text(missing), entry) == NULL)
        dm_buffer_puts(missing, entry);
    return 1;
}

static void every_builtin_has_a_case(void **state)
{
    (void)state;
    char folder[DM_PATH_MAX];
    dm_buffer texts = DM_BUFFER_EMPTY, missing = DM_BUFFER_EMPTY;
    int count, looked_up = 0;
    assert_ok(dm_path_join(folder, dm_test_source_root(), "tests/lang", err));
    if (!dm_dir_exists(folder))
        dm_test_skip("the sources are not here");
    assert_ok(dm_dir_walk(folder, read_test, &texts, err));
    const char *all = dm_buffer_text(&texts);
    assert_non_null(strstr(all, "every_builtin_has_a_case"));
    const dm_builtin *rows = dm_builtin_rows(&count);
    for (int i = 0; i < count; i++)
        looked_up += called(all, rows[i].name, &missing);
    for (int i = 0; dm_lower_special_name(i) != NULL; i++)
        looked_up += called(all, dm_lower_special_name(i), &missing);
    for (size_t i = 0; i < dm_library_text_count; i++)
        for (const char *at = dm_library_texts[i].text; (at = strstr(at, "\ndef ")) != NULL;) {
            char name[64];
            at += strlen("\ndef ");
            snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "("), at);
            looked_up += called(all, name, &missing);
        }
    assert_true(looked_up > 200);
    if (missing.size > 0)
        fail_msg("no test in tests/lang calls:%s", dm_buffer_text(&missing));
    dm_buffer_deinit(&texts);
    dm_buffer_deinit(&missing);
}

DM_TESTS("lang/values", DM_TEST(operators_by_name), DM_TEST(shapes_and_choices),
         DM_TEST(norms_turns_and_motions), DM_TEST_IN_DIR(lengths),
         DM_TEST_IN_DIR(select_takes_false_first), DM_TEST_IN_DIR(within_checks_where_indices_are),
         DM_TEST_IN_DIR(lower_bounds), DM_TEST_IN_DIR(atomics_across_threads),
         DM_TEST(exchanges_have_no_gradient), DM_TEST_IN_DIR(expectations_and_prints),
         DM_TEST(every_builtin_has_a_case))
