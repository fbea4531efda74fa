/* SPDX-License-Identifier: MIT */
/* Gradients of statements: loops with carried values, while, break, continue, early return,
 * in-place changes, functions, structs, atomics. Each kernel's backward pass against differences in
 * float64. */
#include "kernel/check.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

typedef struct gradient_case {
    const char *name; /* of the kernel, the last in the text */
    const char *text;
} gradient_case;

#define X "x: wp.array(dtype=float)"
#define Y "y: wp.array(dtype=float)"

static const gradient_case cases[] = {
    {"product", "@wp.kernel\ndef product(" X ", " Y "):\n"
                "    i = wp.tid()\n"
                "    p = float(1.0)\n"
                "    for j in range(x.shape[0]):\n"
                "        p = p * x[j] + wp.sin(p)\n"
                "    y[i] = p\n"},
    {"sum", "@wp.kernel\ndef sum(" X ", " Y ", n: int):\n"
            "    i = wp.tid()\n"
            "    s = float(0.0)\n"
            "    for j in range(1, n, 2):\n"
            "        s += x[j] * x[i]\n"
            "    for j in range(n - 1, -1, -2):\n"
            "        s -= wp.exp(x[j]) * 0.1\n"
            "    y[i] = s * s\n"},
    {"long_loop", "@wp.kernel\ndef long_loop(" X ", " Y "):\n" /* several segments of the tape */
                  "    i = wp.tid()\n"
                  "    v = x[i]\n"
                  "    for j in range(150):\n"
                  "        v = wp.sin(v) + 0.3 * x[j % 6] * v\n"
                  "    y[i] = v\n"},
    {"empty_loop", "@wp.kernel\ndef empty_loop(" X ", " Y ", n: int):\n"
                   "    i = wp.tid()\n"
                   "    v = x[i]\n"
                   "    for j in range(n, 0):\n"
                   "        v = v * v\n"
                   "    for j in range(n, n):\n"
                   "        v = v * v * v\n"
                   "    y[i] = v\n"},
    {"newton", "@wp.kernel\ndef newton(" X ", " Y "):\n"
               "    i = wp.tid()\n"
               "    v = x[i] + 3.0\n"
               "    r = v\n"
               "    k = int(0)\n"
               "    while k < 4:\n"
               "        r = 0.5 * (r + v / r)\n"
               "        k += 1\n"
               "    y[i] = r\n"},
    {"with_break", "@wp.kernel\ndef with_break(" X ", " Y "):\n"
                   "    i = wp.tid()\n"
                   "    p = float(1.0)\n"
                   "    for j in range(x.shape[0]):\n"
                   "        p = p * x[j]\n"
                   "        if j == 3:\n"
                   "            break\n"
                   "        p = p + wp.cos(p)\n"
                   "    y[i] = p\n"},
    {"with_continue", "@wp.kernel\ndef with_continue(" X ", " Y "):\n"
                      "    i = wp.tid()\n"
                      "    p = float(1.0)\n"
                      "    for j in range(x.shape[0]):\n"
                      "        if j % 2 == 0:\n"
                      "            continue\n"
                      "        p = p * x[j] * x[i]\n"
                      "    y[i] = p\n"},
    {"while_break", "@wp.kernel\ndef while_break(" X ", " Y "):\n"
                    "    i = wp.tid()\n"
                    "    p = x[i]\n"
                    "    k = int(0)\n"
                    "    while True:\n"
                    "        k += 1\n"
                    "        if k == 2:\n"
                    "            continue\n"
                    "        p = p * p + x[k % 6]\n"
                    "        if k > 4 or p > 50.0:\n"
                    "            break\n"
                    "    y[i] = p\n"},
    {"return_in_loop", "@wp.func\ndef find(" X ", limit: float):\n"
                       "    s = float(0.0)\n"
                       "    for j in range(x.shape[0]):\n"
                       "        s = s + x[j] * x[j]\n"
                       "        if s > limit:\n"
                       "            return s * float(j)\n"
                       "    return s * s\n"
                       "@wp.kernel\ndef return_in_loop(" X ", " Y "):\n"
                       "    i = wp.tid()\n"
                       "    y[i] = find(x, x[i] * 3.0) * x[i] + find(x, 100.0)\n"},
    {"early_return", "@wp.kernel\ndef early_return(" X ", " Y "):\n"
                     "    i = wp.tid()\n"
                     "    if i == 2:\n"
                     "        y[i] = x[i] * x[i] * 3.0\n"
                     "        return\n"
                     "    v = x[i]\n"
                     "    if i > 3:\n"
                     "        if i == 4:\n"
                     "            return\n"
                     "        v = v * v\n"
                     "    y[i] = v * 2.0\n"},
    {"nested", "@wp.kernel\ndef nested(" X ", " Y ", n: int):\n"
               "    i = wp.tid()\n"
               "    a = float(1.0)\n"
               "    b = x[i]\n"
               "    for j in range(n):\n"
               "        for k in range(j):\n"
               "            if x[k] > 1.0:\n"
               "                a = a * x[k]\n"
               "            else:\n"
               "                b = b + a * x[j]\n"
               "        a = a + b * 0.1\n"
               "    y[i] = a * b\n"},
    {"swap", "@wp.kernel\ndef swap(" X ", " Y ", n: int):\n"
             "    i = wp.tid()\n"
             "    a = x[i]\n"
             "    b = x[0] * 2.0\n"
             "    for j in range(n):\n"
             "        a, b = b, a * b * 0.5\n"
             "    y[i] = a - 2.0 * b\n"},
    {"in_place", "@wp.kernel\ndef in_place(" X ", " Y "):\n"
                 "    i = wp.tid()\n"
                 "    v = x[i]\n"
                 "    v *= v\n"
                 "    v /= x[0]\n"
                 "    v -= wp.sqrt(v)\n"
                 "    if v > 0.0:\n"
                 "        v *= 3.0\n"
                 "    y[i] = v\n"},
    {"components", "@wp.kernel\ndef components(p: wp.array(dtype=wp.vec3), " Y "):\n"
                   "    i = wp.tid()\n"
                   "    v = p[i]\n"
                   "    v[0] = v[1] * v[2]\n"
                   "    v.y = v.x * v.x\n"
                   "    v[2] += v[1]\n"
                   "    for k in range(20):\n"
                   "        v[k % 3] = v[(k + 1) % 3] * 0.9 + v[k % 3] * 0.1\n"
                   "    y[i] = wp.dot(v, p[i]) + wp.length(v)\n"},
    {"unrolled", "N = wp.constant(3)\n"
                 "@wp.kernel\ndef unrolled(" X ", " Y "):\n"
                 "    i = wp.tid()\n"
                 "    m = wp.identity(n=3, dtype=float)\n"
                 "    for a in range(N):\n"
                 "        for b in range(N):\n"
                 "            m[a, b] += x[(a + b) % 6] * x[i]\n"
                 "    v = m * wp.vec3(x[0], x[1], x[2])\n"
                 "    y[i] = wp.dot(v, v) + wp.ddot(m, m)\n"},
    {"structs", "@wp.struct\nclass Body:\n    pos: wp.vec3\n    mass: float\n    kind: int\n"
                "@wp.func\ndef energy(b: Body, s: float):\n"
                "    b.mass = b.mass * s\n"
                "    return 0.5 * b.mass * wp.dot(b.pos, b.pos)\n"
                "@wp.kernel\ndef structs(bodies: wp.array(dtype=Body), " Y "):\n"
                "    i = wp.tid()\n"
                "    b = bodies[i]\n"
                "    b.pos = b.pos * b.mass\n"
                "    b.pos[1] = b.mass\n"
                "    y[i] = energy(b, bodies[0].mass)\n"},
    {"atomics", "@wp.kernel\ndef atomics(" X ", " Y ", t: wp.array(dtype=wp.vec3)):\n"
                "    i = wp.tid()\n"
                "    wp.atomic_add(y, i % 2, x[i] * x[i])\n"
                "    wp.atomic_sub(y, 3, wp.sin(x[i]))\n"
                "    y[4] += x[i] * 2.0\n"
                "    wp.atomic_max(t, 0, wp.vec3(x[i] * 2.0, x[i], 0.0))\n"
                "    t[1].y += x[i] * x[0]\n"},
    {"two_dims",
     "@wp.kernel\ndef two_dims(m: wp.array2d(dtype=float), " X ", o: wp.array2d(dtype=float)):\n"
     "    i, j = wp.tid()\n"
     "    row = m[i]\n"
     "    s = float(0.0)\n"
     "    for k in range(m.shape[1]):\n"
     "        s += row[k] * x[k] * m[k, -1]\n"
     "    o[i, j] = s * x[j]\n"},
    {"store_then_store", "@wp.kernel\ndef store_then_store(" X ", " Y "):\n"
                         "    i = wp.tid()\n"
                         "    y[i] = x[i] * 5.0\n"
                         "    y[i] = x[i] * x[i]\n"},
    {"several_results", "@wp.func\ndef polar(a: float, b: float):\n"
                        "    r = wp.sqrt(a * a + b * b)\n"
                        "    return r, wp.atan2(b, a)\n"
                        "@wp.kernel\ndef several_results(" X ", " Y "):\n"
                        "    i = wp.tid()\n"
                        "    r, t = polar(x[i], x[0])\n"
                        "    y[i] = r * wp.cos(t * 2.0)\n"},
    {"choice", "@wp.kernel\ndef choice(" X ", " Y "):\n"
               "    i = wp.tid()\n"
               "    v = x[i] * 2.0 if i > 0 and x[i - 1] > 1.0 else x[i] * x[i]\n"
               "    w = wp.where(x[i] > 1.0, v * v, x[0])\n"
               "    y[i] = w + wp.max(v, x[0]) + wp.clamp(x[i], 0.8, 1.2)\n"},
    {"late", "@wp.kernel\ndef late(" X ", " Y ", n: int):\n"
             "    i = wp.tid()\n"
             "    for j in range(n):\n"
             "        last = x[j] * x[i]\n"
             "        if j == 2:\n"
             "            found = last * x[j]\n"
             "    y[i] = last + found\n"},
    {"effects_in_function",
     "@wp.func\ndef put(" Y ", i: int, v: float):\n"
     "    y[i] = v * v\n"
     "    return v * 3.0\n"
     "@wp.kernel\ndef effects_in_function(" X ", " Y ", z: wp.array(dtype=float)):\n"
     "    i = wp.tid()\n"
     "    w = put(y, i, x[i])\n"
     "    z[i] = w * w\n"},
    {"custom_replay",
     "@wp.func\ndef take(n: wp.array(dtype=int), seen: wp.array(dtype=int), i: int):\n"
     "    k = wp.atomic_add(n, 0, 1)\n"
     "    seen[i] = k\n"
     "    return k\n"
     "@wp.func_replay(take)\ndef take_again(n: wp.array(dtype=int), seen: wp.array(dtype=int), i: "
     "int):\n"
     "    return seen[i]\n"
     "@wp.kernel\ndef custom_replay(n: wp.array(dtype=int), seen: wp.array(dtype=int), " X ", " Y
     "):\n"
     "    i = wp.tid()\n"
     "    k = take(n, seen, i)\n"
     "    y[k % 6] = x[i] * x[i]\n"},
    {"custom_gradient",
     "@wp.func\ndef cube(v: float, p: wp.vec3, a: wp.array(dtype=float), i: int):\n"
     "    return v * v * v * p[0] * a[i], v * 2.0\n"
     "@wp.func_grad(cube)\ndef cube_grad(v: float, p: wp.vec3, a: wp.array(dtype=float), i: int, "
     "g: float, h: float):\n"
     "    wp.adjoint[v] += 3.0 * v * v * p[0] * a[i] * g\n"
     "    wp.adjoint[v] += 2.0 * h\n"
     "    wp.adjoint[p][0] += v * v * v * a[i] * g\n"
     "    wp.adjoint[a][i] += v * v * v * p[0] * g\n"
     "@wp.kernel\ndef custom_gradient(" X ", p: wp.array(dtype=wp.vec3), " Y "):\n"
     "    i = wp.tid()\n"
     "    c, d = cube(x[i], p[i], x, 2)\n"
     "    y[i] = c * c + d\n"},
    {"generic", "from typing import Any\n"
                "@wp.func\ndef blend(a: Any, b: Any, t: float):\n"
                "    return a * (1.0 - t) + b * t\n"
                "@wp.kernel\ndef generic(" X ", p: wp.array(dtype=wp.vec3), " Y "):\n"
                "    i = wp.tid()\n"
                "    y[i] = blend(x[i], x[0], 0.3) * wp.length(blend(p[i], p[0], x[i]))\n"},
};

static void check_case(const gradient_case *c)
{
    char text[4096];
    dm_check_result result;
    dm_error err = {0};
    dm_check_options options = {.seed = 7};
    snprintf(text, sizeof text, "import warp as wp\n%s", c->text);
    if (dm_kernel_check(c->name, text, strlen(text), c->name, &options, &result, &err) != DM_OK)
        fail_msg("%s: %s:%d %s", c->name, err.file, err.line, err.message);
    if (!result.checked || result.compared < 6)
        fail_msg("%s: not checked: %s", c->name, result.reason);
    if (!(result.gradient_error < 1e-5))
        fail_msg("%s: gradient is off by %g: %s", c->name, result.gradient_error, result.worst);
}

static void statements(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(&cases[i]);
}

/* A custom gradient is used as it is, right or not. */
static void custom_gradients_count(void **state)
{
    (void)state;
    const char *text = "import warp as wp\n"
                       "@wp.func\n"
                       "def f(x: float):\n"
                       "    return x * x\n"
                       "@wp.func_grad(f)\n"
                       "def f_grad(x: float, g: float):\n"
                       "    wp.adjoint[x] += 100.0 * g\n"
                       "@wp.kernel\n"
                       "def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
                       "    i = wp.tid()\n"
                       "    y[i] = f(x[i])\n";
    dm_check_result result;
    dm_check_options options = {.seed = 7};
    assert_ok(dm_kernel_check("t", text, strlen(text), "k", &options, &result, err));
    assert_true(result.gradient_error > 5);
}

/* The check itself notices a wrong gradient: round() has none, but x * round(x) is not flat. */
static void wrong_gradients_are_noticed(void **state)
{
    (void)state;
    const char *text = "import warp as wp\n"
                       "@wp.kernel\n"
                       "def overwritten(x: wp.array(dtype=float)):\n"
                       "    i = wp.tid()\n"
                       "    x[i] = x[i] * x[i]\n"; /* reads x again after it was written */
    dm_check_result result;
    dm_check_options options = {.seed = 7};
    assert_ok(dm_kernel_check("t", text, strlen(text), "overwritten", &options, &result, err));
    assert_true(result.gradient_error > 1e-2);
}

static void no_backward_has_a_reason(void **state)
{
    (void)state;
    const char *text =
        "import warp as wp\n"
        "@wp.kernel\n"
        "def slots(x: wp.array(dtype=float), n: wp.array(dtype=int), y: wp.array(dtype=float)):\n"
        "    i = wp.tid()\n"
        "    k = wp.atomic_add(n, 0, 1)\n"
        "    y[k % 6] = x[i]\n";
    dm_check_result result;
    dm_check_options options = {.seed = 7};
    assert_ok(dm_kernel_check("t", text, strlen(text), "slots", &options, &result, err));
    assert_false(result.has_backward);
    assert_non_null(strstr(result.reason, "atomic"));
}

DM_TESTS("lang/gradients", DM_TEST(statements), DM_TEST(custom_gradients_count),
         DM_TEST(wrong_gradients_are_noticed), DM_TEST(no_backward_has_a_reason))
