/* SPDX-License-Identifier: MIT */
/* The canonical form: names, constants, comments and spacing do not count, everything else does. */
#include "synth/canonical.h"
#include "tests/support/test.h"

#include <string.h>

static const char kernel[] =
    "import warp as wp\n\n\n@wp.kernel\ndef scale(x: wp.array(dtype=float), s: float, "
    "y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = x[i] * s + 2.0\n";

static bool alike(const char *a, const char *b)
{
    dm_buffer scratch = DM_BUFFER_EMPTY;
    dm_hash128 first = dm_synth_canonical_hash(a, strlen(a), &scratch);
    dm_hash128 second = dm_synth_canonical_hash(b, strlen(b), &scratch);
    dm_buffer_deinit(&scratch);
    return first.low == second.low && first.high == second.high;
}

static void names_and_constants_do_not_count(void **state)
{
    (void)state;
    static const char *const same[] = {
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = a[k] * b + 17.25e-3\n",
        "import warp as wp\n@wp.kernel\ndef f(\n    a: wp.array(dtype=float),\n    b: float,\n    "
        "c: wp.array(dtype=float),\n):\n"
        "    k = wp.tid()\n    c[k]=a[k]*b+1\n",
        "import warp as wp\n# a comment\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    \"\"\"A docstring: with = signs.\"\"\"\n\n    k = wp.tid()  # thread\n    c[k] = a[k] "
        "* b + 0x1F\n"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (!alike(kernel, same[i]))
            fail_msg("text %zu has another form", i);
}

static void everything_else_counts(void **state)
{
    (void)state;
    static const char *const other[] = {
        /* an operator, a builtin, a type, an order of names, a block */
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = a[k] - b + 2.0\n",
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = wp.sin(a[k]) * b + 2.0\n",
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=wp.float64), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = a[k] * b + 2.0\n",
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = b * a[k] + 2.0\n",
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    if b > 2.0:\n        c[k] = a[k] * b + 2.0\n",
        "import warp as wp\n@wp.kernel\ndef f(a: wp.array(dtype=float), b: float, c: "
        "wp.array(dtype=float)):\n"
        "    k = wp.tid()\n    c[k] = a[k] * (b + 2.0)\n"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (alike(kernel, other[i]))
            fail_msg("text %zu has the same form", i);
    /* Blocks are told apart by their indentation. */
    assert_false(alike("if a:\n    b()\n    c()\n", "if a:\n    b()\nc()\n"));
    assert_false(alike("returnx\n", "return x\n"));
}

static void any_bytes_end(void **state)
{
    (void)state;
    static const char *const odd[] = {"",    "\n", "\"", "'''", "\"\\",  "1e",      ".",
                                      "(((", ")",  "\\", "#",   "1.5e+", "\xff\xfe"};
    dm_buffer out = DM_BUFFER_EMPTY;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        dm_buffer_clear(&out);
        dm_synth_canonical_form(odd[i], strlen(odd[i]), &out);
        assert_true(out.size <= 3 * strlen(odd[i]) + 2);
    }
    /* Names beyond those that are numbered are written out. */
    dm_buffer text = DM_BUFFER_EMPTY;
    for (int i = 0; i < 400; i++)
        dm_buffer_printf(&text, "name%d ", i);
    dm_buffer_clear(&out);
    dm_synth_canonical_form(text.data, text.size, &out);
    assert_non_null(strstr(dm_buffer_text(&out), "name399"));
    assert_null(strstr(dm_buffer_text(&out), "name7 "));
    dm_buffer_deinit(&text);
    dm_buffer_deinit(&out);
}

DM_TESTS("synth/canonical", DM_TEST(names_and_constants_do_not_count),
         DM_TEST(everything_else_counts), DM_TEST(any_bytes_end))
