/* SPDX-License-Identifier: MIT */
/* What of Python's own a kernel may use: constants worked out as Python does, functions of math and
 * numpy that Warp has too, names that came with a star, indentation; and what is said about names
 * that are not there. */
#include "tests/lang/kernel_text.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *constant; /* C = ... */
    double value;
} constants[] = {
    {"round(2.6)", 3},
    {"round(2.5)", 2}, /* half to even */
    {"round(-0.5)", 0},
    {"round(2.567, 2)", 2.57},
    {"round(7)", 7},
    {"len([1, 2, 3])", 3},
    {"len((1, 2)) + len('abc')", 5},
    {"len('größe')", 5},
    {"len(wp.vec3(1.0, 2.0, 3.0))", 3},
    {"abs(-3) + abs(-1.5)", 4.5},
    {"min(3, 4, 2)", 2},
    {"max([1, 5, 2]) + sum([1, 2])", 8},
    {"sum([0.5, 1])", 1.5},
    {"pow(2, 10)", 1024},
    {"int(3.7) * 2", 6},
    {"int(-3.7)", -3},
    {"7 // 2 + 7 % 4", 6},
    {"-7 // 2", -4},
    {"-7 % 3", 2},
    {"-7.5 // 2", -4},
    {"-7.5 % 2", 0.5},
    {"math.floor(2.5) + math.ceil(1.2)", 4},
    {"math.floor(5) // 2", 2}, /* an int */
    {"math.sqrt(16.0)", 4},
    {"math.atan2(1.0, 1.0) * 4.0", 3.14159265358979},
    {"math.log2(8.0) + math.fabs(-1.0)", 4},
    {"np.sqrt(2.25) + np.abs(-1)", 2.5},
    {"np.minimum(1.0, 2.0) + np.deg2rad(180.0)", 4.14159265358979},
    {"np.floor(2.5)", 2},
    {"wp.round(2.5)", 3},               /* Warp's, away from zero */
    {"wp.sqrt(2.0)", 1.41421353816986}, /* in float32 */
    {"4 if 2 > 1 else 5", 4},
    {"4 if not (1 < 2 < 3) else 5", 5},
    {"(0 or 7) + (3 and 4)", 11},
    {"1.0 if 'a' == 'a' and 'a' != 'b' else 2.0", 1},
    {"2 if None is None else 3", 2},
    {"2 if (1,) and not [] else 3", 2},
    {"2 if 3 is not None else 3", 2},
    {"wp.int32(5) * 2", 10},
};

static void constants_are_pythons(void **state)
{
    (void)state;
    dm_buffer source = DM_BUFFER_EMPTY;
    enum { COUNT = sizeof constants / sizeof constants[0] };
    float y[COUNT] = {0};
    dm_buffer_puts(&source, "import warp as wp\nimport math\nimport numpy as np\n");
    for (int i = 0; i < COUNT; i++)
        dm_buffer_printf(&source, "C%d = %s\n", i, constants[i].constant);
    dm_buffer_puts(&source, "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n");
    for (int i = 0; i < COUNT; i++)
        dm_buffer_printf(&source, "    y[%d] = float(C%d)\n", i, i);
    dm_buffer_putc(&source, '\0');
    dm_test_run_kernel(source.data, y, COUNT);
    for (int i = 0; i < COUNT; i++)
        if ((double)y[i] != (double)(float)constants[i].value)
            fail_msg("%s is %.9g, not %.9g", constants[i].constant, (double)y[i],
                     constants[i].value);
    dm_buffer_deinit(&source);
}

/* What Python would refuse stays unknown. */
static void constants_that_are_none(void **state)
{
    (void)state;
    static const char *const none[] = {"math.sqrt(-1.0)", "min(3)",         "len(3)",
                                       "round('a')",      "1 // 0",         "1.5 % 0",
                                       "pow(0.0, -1.0)",  "np.round(1, 2)", "math.floor(1e300)",
                                       "max([])",         "1 if q else 2",  "'a' < 1"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        char source[512];
        snprintf(source, sizeof source,
                 "import warp as wp\nimport math\nimport numpy as np\nC = %s\n"
                 "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    y[0] = float(C)\n",
                 none[i]);
        char *found = dm_test_diagnostics(source);
        if (strstr(found, "its value is not known here") == NULL)
            fail_msg("'%s' is taken: %s", none[i], found);
        free(found);
    }
}

/* math.f and numpy.f are Warp's f in a kernel, as in Warp. */
static void functions_of_modules(void **state)
{
    (void)state;
    float y[8] = {0};
    dm_test_run_kernel("import warp as wp\nimport math\nimport numpy as np\n"
                       "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    x = float(0.5)\n"
                       "    y[0] = np.sin(x) + math.cos(x)\n    y[1] = np.max(x, 1.0)\n"
                       "    y[2] = math.pow(x, 2.0) + math.radians(180.0)\n"
                       "    y[3] = np.dot(wp.vec3(x), wp.vec3(2.0))\n"
                       "    y[4] = np.float32(3.0) + math.pi\n"
                       "    y[5] = wp.static(round(2.5) + len([1, 2]) * 1.0)\n"
                       "    y[6] = math.floor(x * 3.0)\n    y[7] = np.round(x * 5.0)\n",
                       y, 1);
    const double expected[] = {sin(0.5) + cos(0.5), 1, 0.25 + 3.14159265, 3, 6.14159265, 4, 1, 3};
    for (int i = 0; i < 8; i++)
        assert_true(fabs((double)y[i] - expected[i]) < 1e-6);
}

/* Rows as lists in a constant; a generic type called without values in a kernel is zeros. */
static void matrices_and_vectors(void **state)
{
    (void)state;
    float y[6] = {0};
    dm_test_run_kernel(
        "import warp as wp\n"
        "M = wp.constant(wp.types.matrix(shape=(2, 3), dtype=int)([[1, 2, 3], [4, 5, 6]]))\n"
        "V = wp.vec3([1.0, 2.0, 3.0])\n"
        "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n"
        "    y[0] = float(M[0, 2] * 10 + M[1, 0])\n    y[1] = V[2]\n"
        "    z = wp.types.matrix(shape=(2, 2), dtype=wp.float32)\n    y[2] = z[1, 1]\n"
        "    v = wp.types.vector(length=4, dtype=wp.float32)\n    v[3] = 5.0\n    y[3] = v[3]\n"
        "    u = wp.types.vector(length=2, dtype=wp.float32)(7.0, 8.0)\n    y[4] = u[1]\n"
        "    y[5] = wp.types.matrix(2.0, 3.0, 4.0, 5.0, shape=(2, 2), dtype=wp.float32)[1, 0]\n",
        y, 1);
    const float expected[] = {34, 3, 0, 5, 8, 4};
    for (int i = 0; i < 6; i++)
        assert_true(y[i] == expected[i]);
}

/* Members of enumerations, those that Python numbers included. */
static void enumerations(void **state)
{
    (void)state;
    float y[6] = {0};
    dm_test_run_kernel("import enum\nimport warp as wp\n"
                       "class Kind(enum.IntEnum):\n    A = enum.auto()\n    B = enum.auto()\n"
                       "    C = 7\n    D = enum.auto()\n"
                       "class Bits(enum.IntFlag):\n    A = 1\n    B = enum.auto()\n"
                       "    C = enum.auto()\n    D = 12\n    E = enum.auto()\n"
                       "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n"
                       "    y[0] = float(Kind.A)\n    y[1] = float(Kind.B)\n"
                       "    y[2] = float(Kind.D)\n    y[3] = float(Bits.B)\n"
                       "    y[4] = float(Bits.C | Bits.A)\n    y[5] = float(Bits.E)\n",
                       y, 1);
    const float expected[] = {1, 2, 8, 2, 5, 16};
    for (int i = 0; i < 6; i++)
        assert_true(y[i] == expected[i]);
}

/* Warp finds its functions and types in a kernel without "wp.", but not before a name of the file. */
static void builtins_without_a_module(void **state)
{
    (void)state;
    float y[2] = {0};
    dm_test_run_kernel("import warp as wp\n"
                       "@wp.func\ndef cos(x: float):\n    return x + 10.0\n"
                       "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n"
                       "    v = vec3(3.0, 4.0, 0.0)\n    expect_eq(v[0], 3.0)\n"
                       "    y[0] = length(v) + sqrt(4.0)\n    exp = float(2.0)\n"
                       "    y[1] = cos(1.0) + exp\n",
                       y, 1);
    assert_true(y[0] == 7.0f && y[1] == 13.0f);
}

static void names_that_came_with_a_star(void **state)
{
    (void)state;
    float y[2] = {0};
    dm_test_run_kernel("import warp as wp\nfrom warp import *\n"
                       "@wp.func\ndef clamp(x: float):\n    return x + 10.0\n" /* the file's own */
                       "@kernel\ndef k(y: array(dtype=float)):\n    i = tid()\n"
                       "    y[i] = length(vec3(3.0, 4.0, 0.0)) + max(float(i), 1.0)\n"
                       "    y[1] = clamp(1.0)\n",
                       y, 1);
    assert_true(y[0] == 6.0f && y[1] == 11.0f);
}

static const struct {
    const char *line, *message, *hint;
} missing[] = {
    {"y[i] = wp.sine(x)", "there is no builtin 'sine'", "did you mean 'sin'?"},
    {"wp.atomic_ad(y, i, x)", "there is no builtin 'atomic_ad'", "did you mean 'atomic_add'?"},
    {"y[i] = wp.vec33(x)[0]", "there is no builtin 'vec33'", "did you mean 'vec3'?"},
    {"y[i] = wp.normalise(wp.vec3(x))[0]", "'normalise'", "did you mean 'normalize'?"},
    {"y[i] = float(tid())", "nothing is called 'tid' here", "did you mean 'wp.tid'?"},
    {"y[i] = math.sin(x)", "nothing is called 'math' here", "import math"},
    {"y[i] = pi", "nothing is called 'pi' here", "did you mean 'wp.pi'?"},
    {"total = x\n    y[i] = totl", "nothing is called 'totl' here", "did you mean 'total'?"},
    {"y[i] = np.minimum(x, 1.0)", "'numpy.minimum' cannot be called", "by the same name"},
    {"y[i] = wp.qqqqq(x)", "there is no builtin 'qqqqq'", NULL},
    {"y[i] = wp.tile_sum(x)", "the builtin 'tile_sum' is not supported", NULL},
};

static void names_that_are_not_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        char source[512];
        snprintf(source, sizeof source,
                 "import warp as wp\nimport numpy as np\n"
                 "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    i = wp.tid()\n"
                 "    x = float(i)\n    %s\n",
                 missing[i].line);
        char *found = dm_test_diagnostics(source);
        if (strstr(found, missing[i].message) == NULL ||
            (missing[i].hint == NULL ? strstr(found, "hint:") != NULL
                                     : strstr(found, missing[i].hint) == NULL))
            fail_msg("'%s' gives:\n%s", missing[i].line, found);
        free(found);
    }
}

/* As Python: how lines are nested must not depend on the width of a tab. */
static void tabs_and_spaces(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool fine;
    } bodies[] = {
        {"\ti = wp.tid()\n\tif i > 0:\n\t\ty[i] = 1.0\n", true},
        {"\ti = wp.tid()\n\tif i > 0:\n\t    y[i] = 1.0\n\telse:\n\t\ty[i] = 2.0\n", true},
        {"\ti = wp.tid()\n        y[i] = 1.0\n", false},
        {"        i = wp.tid()\n\ty[i] = 1.0\n", false},
        {"    i = wp.tid()\n    if i > 0:\n\ty[i] = 1.0\n", false},
        {"    i = wp.tid()\n    if i > 0:\n    \ty[i] = 1.0\n", true},
        {"\ti = wp.tid()\n\tif i > 0:\n\t\ty[i] = 1.0\n        y[i] = 2.0\n", false},
        {"    i = wp.tid()\n\t\n    y[i] = 1.0\n", true}, /* a blank line */
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char source[512];
        snprintf(source, sizeof source,
                 "import warp as wp\n@wp.kernel\ndef k(y: wp.array(dtype=float)):\n%s",
                 bodies[i].body);
        char *found = dm_test_diagnostics(source);
        bool mixed = strstr(found, "tabs and spaces are mixed in this indentation") != NULL;
        if (mixed == bodies[i].fine || (bodies[i].fine && found[0] != '\0'))
            fail_msg("%s\n%s", bodies[i].body, found);
        free(found);
    }
}

DM_TESTS("lang/python", DM_TEST(constants_are_pythons), DM_TEST(constants_that_are_none),
         DM_TEST(functions_of_modules), DM_TEST(enumerations), DM_TEST(builtins_without_a_module),
         DM_TEST(matrices_and_vectors), DM_TEST(names_that_came_with_a_star),
         DM_TEST(names_that_are_not_there), DM_TEST(tabs_and_spaces))
