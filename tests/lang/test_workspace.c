/* SPDX-License-Identifier: MIT */
/* What compilations leave to the next ones in a workspace: names, types, calls of builtins,
 * helpers. A text must not show what was compiled before it. */
#include "lang/compile.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "import warp as wp\n\n"

/* Kernels that want the same names for different things, and different helpers of one name. */
static const char *const sources[] = {
    HEAD "@wp.struct\nclass State:\n    pos: wp.vec3\n    mass: float\n\n"
         "@wp.kernel\ndef move(s: wp.array(dtype=State), y: wp.array(dtype=wp.vec3)):\n"
         "    i = wp.tid()\n    t = s[i]\n    t.mass = t.mass * 2.0\n    y[i] = t.pos * t.mass\n",
    HEAD "@wp.struct\nclass State:\n    mass: wp.float64\n    pos: wp.mat22\n\n"
         "@wp.kernel\ndef move(s: wp.array(dtype=State), y: wp.array(dtype=wp.vec2)):\n"
         "    i = wp.tid()\n    y[i] = s[i].pos * wp.vec2(1.0, float(s[i].mass))\n",
    HEAD "@wp.kernel\ndef vec3f(mat33f: wp.array(dtype=float), t: wp.array(dtype=float)):\n"
         "    quatf = wp.tid()\n    t_1 = mat33f[quatf] * 0.3333333\n    t[quatf] = t_1 + t_1\n",
    HEAD "@wp.kernel\ndef largest(v: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):\n"
         "    i = wp.tid()\n    y[i] = wp.max(v[i]) + wp.max(wp.max(v[i], v[0]))\n",
    HEAD "@wp.kernel\ndef largest(v: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):\n"
         "    i = wp.tid()\n    y[i] = wp.max(wp.max(v[i], v[0])) + wp.length(v[i])\n",
    HEAD "@wp.kernel\ndef halves(x: wp.array(dtype=wp.float16), y: wp.array(dtype=wp.vec2h)):\n"
         "    i = wp.tid()\n    wp.atomic_add(y, i, wp.vec2h(x[i], x[i] * x[i]))\n",
    HEAD "@wp.func\ndef lerp(a: float, b: float):\n    return a + b * 0.1, b\n\n"
         "@wp.kernel\ndef mixes(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):\n"
         "    i, j = wp.tid()\n    a, b = lerp(x[i, j], x[j, i])\n"
         "    for k in range(3):\n        b = b * a\n"
         "    state = wp.rand_init(7, i)\n    y[i] += a * b + wp.randf(state)\n",
    HEAD "@wp.kernel\ndef long_names(x_of_the_first_array_of_all: wp.array(dtype=float),\n"
         "               x_of_the_first_array_of_any: wp.array(dtype=float)):\n"
         "    i = wp.tid()\n    x_of_the_first_array_of_any[i] = "
         "wp.sin(x_of_the_first_array_of_all[i])\n",
};
#define COUNT (sizeof sources / sizeof sources[0])

/* Both targets, both passes; the caller frees it. */
static char *texts_of(const char *source, bool all_double, dm_workspace *workspace)
{
    dm_compilation c;
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_compile_options options = {.workspace = workspace, .all_double = all_double};
    assert_ok(dm_compilation_init(&c, "k.py", source, strlen(source), &options, err));
    assert_ok(dm_compilation_kernel(&c, 0, err));
    for (int target = DM_TARGET_C; target <= DM_TARGET_CUDA; target++) {
        assert_ok(dm_compilation_print(&c, 0, (dm_target)target, &out, err));
        for (int pass = DM_PASS_FORWARD; pass <= DM_PASS_BACKWARD; pass++)
            if (pass == DM_PASS_FORWARD || c.kernels[0].backward != NULL)
                assert_ok(dm_compilation_print_pass(&c, 0, (dm_target)target, (dm_passes)pass, &out,
                                                    err));
    }
    dm_compilation_deinit(&c);
    return dm_buffer_take(&out);
}

static void expect_refused(const char *source, dm_workspace *workspace)
{
    dm_compilation c;
    dm_compile_options options = {.workspace = workspace};
    dm_error err = {0};
    dm_status status = dm_compilation_init(&c, "k.py", source, strlen(source), &options, &err);
    if (status == DM_OK)
        status = dm_compilation_kernel(&c, 0, &err);
    assert_int_equal(status, DM_ECOMPILE);
    dm_compilation_deinit(&c);
}

static void texts_do_not_depend_on_what_came_before(void **state)
{
    (void)state;
    char *alone[2][COUNT];
    for (size_t i = 0; i < COUNT; i++)
        for (int wide = 0; wide < 2; wide++)
            alone[wide][i] = texts_of(sources[i], wide != 0, NULL);
    dm_workspace workspace;
    dm_workspace_init(&workspace);
    unsigned random = 1;
    for (int round = 0; round < 400; round++) {
        random = random * 1103515245u + 12345u;
        size_t i = (random >> 16) % COUNT;
        bool wide = round % 97 > 90; /* types of another kind: all that is kept is given up */
        char *found = texts_of(sources[i], wide, &workspace);
        assert_string_equal(found, alone[wide][i]);
        free(found);
        if (round % 5 == 0)
            expect_refused(HEAD "@wp.kernel\ndef k(x: wp.array(dtype=State)):\n    x[0] = y\n",
                           &workspace);
        if (round % 7 == 0)
            expect_refused("def (:\n", &workspace);
    }
    dm_workspace_deinit(&workspace);
    for (size_t i = 0; i < COUNT; i++)
        for (int wide = 0; wide < 2; wide++)
            free(alone[wide][i]);
}

/* Names without end must not fill the memory: what is kept is bounded. */
static void what_is_kept_is_bounded(void **state)
{
    (void)state;
    dm_workspace workspace;
    dm_workspace_init(&workspace);
    char *first = texts_of(sources[0], false, &workspace);
    size_t most = 0;
    for (int i = 0; i < 60; i++) {
        dm_buffer source = DM_BUFFER_EMPTY;
        dm_buffer_puts(&source, HEAD "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n"
                                     "    v = x[0]\n");
        for (int n = 0; n < 1000; n++)
            dm_buffer_printf(&source, "    name_%d_%d = v\n", i, n);
        dm_buffer_puts(&source, "    x[1] = v * v\n");
        free(texts_of(dm_buffer_text(&source), false, &workspace));
        dm_buffer_deinit(&source);
        most = workspace.kept.arena.used > most ? workspace.kept.arena.used : most;
    }
    assert_true(most > (size_t)1 << 20); /* it did grow */
    assert_true(most < (size_t)8 << 20);
    char *again = texts_of(sources[0], false, &workspace);
    assert_string_equal(again, first);
    free(first);
    free(again);
    dm_workspace_deinit(&workspace);
}

static void names_are_told_apart_by_every_byte(void **state)
{
    (void)state;
    dm_lang lang;
    dm_lang_init(&lang);
    char text[64], other[64];
    for (size_t length = 1; length < sizeof text; length++) {
        memset(text, 'n', length);
        const char *name = dm_lang_intern(&lang, text, length);
        assert_int_equal(dm_lang_name_of(name)->length, length);
        assert_memory_equal(name, text, length);
        assert_int_equal(name[length], '\0');
        assert_ptr_equal(dm_lang_intern(&lang, text, length), name);
        for (size_t i = 0; i < length; i++) {
            memcpy(other, text, length);
            other[i] = 'm';
            assert_ptr_not_equal(dm_lang_intern(&lang, other, length), name);
        }
    }
    dm_lang_deinit(&lang);
}

/* The short way to read a number must round as strtod does. */
static void numbers_are_read_as_strtod_reads_them(void **state)
{
    (void)state;
    static const char *const formats[] = {"%u.%u",  "%u.%06u", "0.%09u%u",
                                          "%u%u.5", ".%u%u",   "%u.%ue-3"};
    unsigned random = 12345;
    for (int i = 0; i < 20000; i++) {
        char text[64];
        random = random * 1103515245u + 12345u;
        unsigned first = random >> 8 >> random % 24;
        random = random * 1103515245u + 12345u;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, formats[i % 6], first, random >> 10 >> random % 22);
#pragma GCC diagnostic pop
        dm_lang lang;
        dm_lang_init(&lang);
        const dm_ast *tree =
            dm_lang_parse_expression(&lang, dm_lang_add_source(&lang, "n", text, strlen(text)));
        assert_int_equal(tree->kind, DM_AST_FLOAT);
        double expected = strtod(text, NULL);
        if (tree->real != expected)
            fail_msg("%s is read as %.17g", text, tree->real);
        dm_lang_deinit(&lang);
    }
}

DM_TESTS("lang/workspace", DM_TEST(texts_do_not_depend_on_what_came_before),
         DM_TEST(what_is_kept_is_bounded), DM_TEST(names_are_told_apart_by_every_byte),
         DM_TEST(numbers_are_read_as_strtod_reads_them));
