/* SPDX-License-Identifier: MIT */
/* Kernels that read and write one array. The backward pass is right, by differences, or there is
 * none and the reason names the array: with the arrays as the kernel left them, and with the arrays
 * as they were before (from_inputs). */
#include "kernel/check.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define X "x: wp.array(dtype=float)"
#define Y "y: wp.array(dtype=float)"
#define Z "z: wp.array(dtype=float)"

typedef struct in_place_case {
    const char *name; /* of the kernel, the last in the text */
    /* the array that the reason names where there is no backward pass; NULL: it is right */
    const char *after, *inputs;
    const char *text;
} in_place_case;

static const in_place_case cases[] = {
    {"square", "x", NULL,
     "@wp.kernel\ndef square(" X "):\n"
     "    i = wp.tid()\n"
     "    x[i] = x[i] * x[i]\n"},
    {"linear", NULL, NULL, /* the old value is not needed */
     "@wp.kernel\ndef linear(" X ", " Y "):\n"
     "    i = wp.tid()\n"
     "    x[i] = x[i] * 2.0 + wp.sin(y[i])\n"},
    {"augmented", "x", NULL,
     "@wp.kernel\ndef augmented(" X ", " Y "):\n"
     "    i = wp.tid()\n"
     "    x[i] *= wp.sin(x[i]) + y[i]\n"},
    {"written_then_read", NULL, NULL,
     "@wp.kernel\ndef written_then_read(" X ", " Y ", " Z "):\n"
     "    i = wp.tid()\n"
     "    y[i] = wp.sin(x[i])\n"
     "    z[i] = y[i] * y[i]\n"},
    {"written_twice", NULL, NULL,
     "@wp.kernel\ndef written_twice(" X ", " Y "):\n"
     "    i = wp.tid()\n"
     "    y[i] = wp.sin(x[i])\n"
     "    t = y[i]\n"
     "    y[i] = t * t * y[i]\n"},
    {"same_index", NULL, NULL,
     "@wp.kernel\ndef same_index(" X ", " Y ", n: int):\n"
     "    i = wp.tid()\n"
     "    y[(i + 1) % (n + 1)] = wp.exp(x[i])\n"
     "    t = y[(i + 1) % (n + 1)]\n"
     "    y[(i + 1) % (n + 1)] = t * t\n"},
    {"in_a_loop", "x", "x",
     "@wp.kernel\ndef in_a_loop(" X ", n: int):\n"
     "    i = wp.tid()\n"
     "    for k in range(n):\n"
     "        x[i] = wp.sin(x[i])\n"},
    {"each_round", NULL, NULL,
     "@wp.kernel\ndef each_round(" X ", " Y ", " Z ", n: int):\n"
     "    i = wp.tid()\n"
     "    s = float(0.1)\n"
     "    for j in range(n):\n"
     "        y[i] = wp.cos(s) * x[j]\n"
     "        s += y[i] * y[i]\n"
     "    z[i] = s\n"},
    {"before_a_loop", "y", NULL,
     "@wp.kernel\ndef before_a_loop(" X ", " Y ", n: int):\n"
     "    i = wp.tid()\n"
     "    t = y[i] * y[i]\n"
     "    for j in range(n):\n"
     "        y[i] = t * x[j]\n"},
    {"either_branch", NULL, NULL,
     "@wp.kernel\ndef either_branch(" X ", " Y ", " Z "):\n"
     "    i = wp.tid()\n"
     "    if y[i] > 1.0:\n"
     "        z[i] = x[i] * x[i]\n"
     "    else:\n"
     "        x[i] = y[i] * y[i]\n"},
    {"condition", "x", NULL,
     "@wp.kernel\ndef condition(" X ", " Y "):\n"
     "    i = wp.tid()\n"
     "    if x[i] > 1.0:\n"
     "        y[i] = y[i] * 3.0\n"
     "    x[i] = 0.5\n"},
    {"flag", "n", NULL,
     "@wp.kernel\ndef flag(" X ", " Y ", n: wp.array(dtype=int)):\n"
     "    i = wp.tid()\n"
     "    if n[i] > 2:\n"
     "        y[i] = x[i] * x[i]\n"
     "        n[i] = 0\n"},
    {"early_return", "x", NULL,
     "@wp.kernel\ndef early_return(" X ", " Y "):\n"
     "    i = wp.tid()\n"
     "    t = x[i]\n"
     "    if y[i] > 1.0:\n"
     "        return\n"
     "    x[i] = t * t\n"},
    {"by_a_function", "x", NULL,
     "@wp.func\ndef put(a: wp.array(dtype=float), i: int, v: float):\n"
     "    a[i] = v\n"
     "@wp.kernel\ndef by_a_function(" X "):\n"
     "    i = wp.tid()\n"
     "    t = x[i]\n"
     "    put(x, i, t * t)\n"},
    {"of_a_function", "x", NULL,
     "@wp.func\ndef squared(a: wp.array(dtype=float), i: int):\n"
     "    return a[i] * a[i]\n"
     "@wp.kernel\ndef of_a_function(" X "):\n"
     "    i = wp.tid()\n"
     "    x[i] = squared(x, i)\n"},
    {"inside_a_function", "a", NULL,
     "@wp.func\ndef change(a: wp.array(dtype=float), i: int):\n"
     "    a[i] = a[i] * a[i]\n"
     "@wp.kernel\ndef inside_a_function(" X "):\n"
     "    change(x, wp.tid())\n"},
    {"function_result", "a", NULL, /* the value is asked for again, without the store */
     "@wp.func\ndef take(a: wp.array(dtype=float), i: int):\n"
     "    t = a[i]\n"
     "    a[i] = 0.0\n"
     "    return t\n"
     "@wp.kernel\ndef function_result(" X ", " Y "):\n"
     "    i = wp.tid()\n"
     "    t = take(x, i)\n"
     "    y[i] = t * t\n"},
    {"through_a_view", "row", NULL,
     "@wp.kernel\ndef through_a_view(m: wp.array2d(dtype=float)):\n"
     "    i = wp.tid()\n"
     "    row = m[i]\n"
     "    t = row[1]\n"
     "    m[i, 1] = t * t\n"},
    {"component", "v", NULL,
     "@wp.kernel\ndef component(v: wp.array(dtype=wp.vec3)):\n"
     "    i = wp.tid()\n"
     "    v[i][0] = v[i][1] * v[i][0]\n"},
    {"atomically", "y", NULL,
     "@wp.kernel\ndef atomically(" Y "):\n"
     "    i = wp.tid()\n"
     "    t = y[i]\n"
     "    wp.atomic_add(y, i, t * t)\n"},
    {"maximum", NULL, "maximum",
     "@wp.kernel\ndef maximum(" X ", " Y "):\n"
     "    i = wp.tid()\n"
     "    wp.atomic_max(y, 0, x[i] * x[i])\n"},
};

static void check_case(const in_place_case *c, bool from_inputs)
{
    char text[2048], quoted[64];
    dm_check_result result;
    dm_error err = {0};
    dm_check_options options = {.seed = 11, .from_inputs = from_inputs};
    const char *refused = from_inputs ? c->inputs : c->after,
               *how = from_inputs ? "inputs" : "after";
    snprintf(text, sizeof text, "import warp as wp\n%s", c->text);
    if (dm_kernel_check(c->name, text, strlen(text), c->name, &options, &result, &err) != DM_OK)
        fail_msg("%s: %s:%d %s", c->name, err.file, err.line, err.message);
    if (refused != NULL) {
        snprintf(quoted, sizeof quoted, strlen(refused) == 1 ? "'%s'" : "%s", refused);
        if (result.has_backward || strstr(result.reason, quoted) == NULL)
            fail_msg("%s (%s): should be refused because of %s: %s; off by %g", c->name, how,
                     refused, result.reason, result.gradient_error);
        return;
    }
    if (!result.checked || result.compared < 6)
        fail_msg("%s (%s): not checked: %s", c->name, how, result.reason);
    if (!(result.gradient_error < 1e-5))
        fail_msg("%s (%s): gradient is off by %g: %s", c->name, how, result.gradient_error,
                 result.worst);
}

static void arrays_as_the_kernel_left_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(&cases[i], false);
}

static void arrays_as_they_were(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(&cases[i], true);
}

/* Arrays inside of structs: refused, not wrong. */
static void arrays_in_structs_are_one(void **state)
{
    (void)state;
    const char *text = "import warp as wp\n"
                       "@wp.struct\nclass S:\n"
                       "    a: wp.array(dtype=float)\n"
                       "    b: wp.array(dtype=float)\n"
                       "@wp.kernel\ndef k(s: S, y: wp.array(dtype=float)):\n"
                       "    i = wp.tid()\n"
                       "    t = s.a[i]\n"
                       "    s.a[i] = t * t\n";
    dm_kernel_file *file;
    assert_ok(dm_kernel_file_create("t", text, strlen(text), NULL, &file, err));
    dm_kernel *kernel = dm_kernel_file_find(file, "k");
    assert_ok(dm_kernel_compile(kernel, err));
    assert_false(dm_kernel_has_backward(kernel));
    assert_non_null(strstr(dm_kernel_no_backward(kernel), "before the kernel wrote to it"));
    dm_kernel_file_destroy(file);
}

DM_TESTS("lang/in_place", DM_TEST(arrays_as_the_kernel_left_them), DM_TEST(arrays_as_they_were),
         DM_TEST(arrays_in_structs_are_one))
