/* SPDX-License-Identifier: MIT */
/* What is no kernel is refused with a message at its place; nothing crashes, hangs or grows without
 * bound. */
#include "lang/compile.h"
#include "tests/support/command.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All diagnostics of a text, every kernel compiled and printed for both targets; the caller frees
 * it. */
static char *diagnostics(const char *text, size_t size)
{
    dm_compilation c;
    dm_compile_options options = {0};
    dm_buffer out = DM_BUFFER_EMPTY;
    if (dm_compilation_init(&c, "k.py", text, size, &options, NULL) == DM_OK) {
        for (int i = 0; i < c.kernel_count; i++) {
            dm_buffer printed = DM_BUFFER_EMPTY;
            if (dm_compilation_kernel(&c, i, NULL) == DM_OK) {
                dm_compilation_print(&c, i, DM_TARGET_C, &printed, NULL);
                dm_compilation_print(&c, i, DM_TARGET_CUDA, &printed, NULL);
            }
            dm_buffer_deinit(&printed);
        }
    }
    if (c.lang.bail_reason != NULL)
        dm_buffer_printf(&out, "bail: %s\n", c.lang.bail_reason);
    dm_lang_print_diags(&c.lang, &out);
    dm_compilation_deinit(&c);
    dm_buffer_putc(&out, '\0');
    return dm_buffer_take(&out);
}

static void expect(const char *text, const char *message)
{
    char *found = diagnostics(text, strlen(text));
    if (message[0] == '\0' ? found[0] != '\0' : strstr(found, message) == NULL)
        fail_msg("no '%s' for:\n%s\nbut:\n%s", message, text, found);
    free(found);
}

#define HEAD "import warp as wp\n"
#define KERNEL                                                                                     \
    HEAD "@wp.kernel\ndef k(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):\n    i "  \
         "= wp.tid()\n"

static const struct {
    const char *body, *message; /* of a kernel with x, n, y and i = tid() */
} bodies[] = {
    {"    y[i] = x[i] * 2\n", "k.py:5:12: error: '*' does not take (float32, int32)"},
    {"    y[i] = x[i] * n\n", "hint: convert one of them, for instance with wp.float32(...)"},
    {"    y[i] = n * x[i]\n", "hint: convert one of them, for instance with wp.float32(...)"},
    {"    y[i] = n\n", "int32 cannot be stored as float32"},
    {"    y[i] = z\n", "nothing is called 'z' here"},
    {"    y[i] = wp.nonsense(x[i])\n", "there is no builtin 'nonsense'"},
    {"    y[i] = wp.sin(n)\n", "'sin' does not take (int32)"},
    {"    y[i] = wp.sin(x[i], 1.0)\n", "'sin' does not take"},
    {"    y[x[i]] = 1.0\n", "an index must be an integer, not float32"},
    {"    y[i, 0] = 1.0\n", "float32"},
    {"    a = x[i, 0]\n", "2 indices for an array of 1 dimensions"},
    {"    a = 1.0\n    a = 2\n", "'a' is float32 and cannot become int32"},
    {"    if n > 0:\n        a = 1.0\n    y[i] = a\n", ""}, /* zero where it is not set */
    {"    y[i] = a\n    a = 1.0\n", "nothing is called 'a' here"},
    {"    for j in x:\n        pass\n", "a kernel can only loop over a range"},
    {"    for j in range(1.5):\n        pass\n", "range takes int32, not float32"},
    {"    for j in range(wp.int64(5)):\n        pass\n", "range takes int32, not int64"},
    {"    for j in range(0, 4, 0):\n        pass\n", "step 0 never ends"},
    {"    for in range(3):\n        pass\n", "expected"},
    {"  y[i] = 1.0\ny[i] = 2.0\n", "matches no outer block"},
    {"    f = wp.printf(\"x\")\n    y[i] = wp.sin(wp.printf(\"x\"))\n", "gives no value"},
    {"    break\n", "this stands in no loop"},
    {"    return 1.0\n", "a kernel returns nothing"},
    {"    a = lambda v: v\n", "a lambda cannot be used in a kernel"},
    {"    a = [v for v in range(3)]\n", "a comprehension cannot be used"},
    {"    try:\n        pass\n    except E:\n        pass\n", "'try' cannot stand in a kernel"},
    {"    def f(): pass\n", "a function definition cannot stand in a kernel"},
    {"    v = wp.vec3(1.0, 2.0)\n", "vec3f has 3 components, not 2"},
    {"    v = wp.vec3(1.0, 2.0, n)\n", "a component of vec3f cannot be int32"},
    {"    v = wp.vec3()\n    a = v[3]\n", "index 3 is outside of 0 to 2"},
    {"    v = wp.vec3()\n    a = v.q\n", "vec3f has no 'q'"},
    {"    v = wp.vec3()\n    v.x = n\n", "int32 cannot be stored as float32"},
    {"    v = wp.vec3() + wp.vec2()\n", "'+' does not take (vec3f, vec2f)"},
    {"    v = wp.vec3d() * 2.0\n", "'*' does not take (vec3d, float32)"},
    {"    a, b = x[i]\n", "2 names for 1 values"},
    {"    wp.atomic_add(y, 1.0)\n", "takes an array, its indices and a value"},
    {"    wp.atomic_add(y, i, n)\n", "the array holds float32, not int32"},
    {"    a = 3000000000000000000000\n", "does not fit 64 bits"},
    {"    a = wp.tid() = 3\n", "this cannot be assigned to"},
    {"    3 = n\n", "this cannot be assigned to"},
    {"    wp.printf(\"%d\\n\", x[i])\n", "%d cannot show float32"},
    {"    wp.printf(\"%d %d\\n\", n)\n", "the format does not fit"},
    {"    if x:\n        y[i] = 1.0\n", ""},
    {"    a = x[i] if n > 0 else n\n", "the two sides of 'if ... else' are float32 and int32"},
    {"    a = x and n in x\n", "'in' is not supported in kernels"},
    {"    y[i] = *x\n", "k.py:5:"},
};

static void mistakes_are_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, KERNEL "%s", bodies[i].body);
        expect(text, bodies[i].message);
    }
}

static void several_mistakes_in_one_run(void **state)
{
    (void)state;
    char *found = diagnostics(KERNEL "    y[i] = x[i] * 2\n    a = q\n    y[i] = n\n",
                              sizeof(KERNEL "    y[i] = x[i] * 2\n    a = q\n    y[i] = n\n") - 1);
    assert_non_null(strstr(found, "k.py:5:"));
    assert_non_null(strstr(found, "k.py:6:"));
    assert_non_null(strstr(found, "k.py:7:"));
    free(found);
}

static void declarations(void **state)
{
    (void)state;
    expect(HEAD "@wp.kernel\ndef k(x):\n    pass\n", "the parameter 'x' needs a type");
    expect(HEAD "@wp.kernel\ndef k(x: Nothing):\n    pass\n", "not a type that is known here");
    expect(HEAD "@wp.kernel\ndef k(*x):\n    pass\n", "plain parameters only");
    expect(HEAD "@wp.kernel\ndef k(x: wp.array(dtype=float, ndim=9)):\n    pass\n", "not a type");
    expect(HEAD "@wp.func\ndef f(x: float):\n    return f(x)\n"
                "@wp.kernel\ndef k(x: float):\n    a = f(x)\n",
           "'f' calls itself");
    expect(HEAD "@wp.func\ndef f(x: float):\n    return g(x)\n"
                "@wp.func\ndef g(x: float):\n    return f(x)\n"
                "@wp.kernel\ndef k(x: float):\n    a = g(x)\n",
           "calls itself");
    expect(HEAD "@wp.func\ndef f(x: float):\n    return wp.tid()\n"
                "@wp.kernel\ndef k(x: float):\n    a = f(x)\n",
           "tid() can be called in kernels only");
    expect(HEAD "@wp.func\ndef f(x: float):\n    if x > 0.0:\n        return 1\n    return x\n"
                "@wp.kernel\ndef k(x: float):\n    a = f(x)\n",
           "this returns float32, but 'f' returns int32");
    expect(HEAD "@wp.func\ndef f(x: float):\n    return x\n"
                "@wp.kernel\ndef k(n: int):\n    a = f(n)\n",
           "'f' does not take (int32)");
    expect(HEAD "@wp.struct\nclass A:\n    b: \"A\"\n"
                "@wp.kernel\ndef k(a: A):\n    pass\n",
           "k.py:4:");
    expect(HEAD "N = N + 1\n@wp.kernel\ndef k(x: wp.array(dtype=int)):\n    x[0] = N\n",
           "cannot be used in a kernel");
    expect(HEAD "def outer(size):\n    @wp.kernel\n    def k(x: wp.array(dtype=int)):\n        "
                "x[0] = size\n",
           "--define NAME=VALUE");
}

/* Input that grows without end while it is compiled. */
static void growth_is_bounded(void **state)
{
    (void)state;
    expect(KERNEL "    s = float(0.0)\n"
                  "    for a in range(16):\n     for b in range(16):\n      for c in range(16):\n"
                  "       for d in range(16):\n        for e in range(16):\n"
                  "         s = s * x[a + b + c + d + e]\n    y[i] = s\n",
           "grows too large");
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_buffer_puts(&text, HEAD "@wp.func\ndef f0(x: float):\n    return x * 2.0\n");
    for (int i = 1; i < 300; i++)
        dm_buffer_printf(&text, "@wp.func\ndef f%d(x: float):\n    return f%d(x) + f%d(x)\n", i,
                         i - 1, i - 1);
    dm_buffer_puts(&text, "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = f299(x[0])\n");
    free(diagnostics(text.data, text.size)); /* deep calls: an error or a text */
    dm_buffer_clear(&text);
    dm_buffer_puts(&text, KERNEL);
    for (int i = 0; i < 150; i++)
        dm_buffer_printf(&text, "%*sif x[%d] > 0.0:\n", 4 + i, "", i);
    dm_buffer_printf(&text, "%*sy[i] = x[i]\n", 154, "");
    free(diagnostics(text.data, text.size));
    dm_buffer_clear(&text);
    dm_buffer_puts(&text, KERNEL "    y[i] = x[i]");
    for (int i = 0; i < 1900; i++)
        dm_buffer_puts(&text, " + x[i]");
    dm_buffer_puts(&text, "\n");
    free(diagnostics(text.data, text.size));
    dm_buffer_deinit(&text);
}

/* The fuzzer for a moment; `make fuzz-kernel` for longer, under the sanitizers. */
static void fuzzed_texts_are_refused_or_compile(void **state)
{
    (void)state;
    static const char program[] = DM_TEST_BUILD_ROOT "/tests/dm-fuzz-kernel";
    char files[2][4096];
    (void)snprintf(files[0], sizeof files[0], "%s/kernels/shapes.py", dm_test_source_root());
    (void)snprintf(files[1], sizeof files[1], "%s/kernels/loops.py", dm_test_source_root());
    const char *const argv[] = {program, "--cases", "300", files[0], files[1], NULL};
    dm_test_result result;
    dm_test_run(&(dm_test_command){.argv = argv, .seconds = 300}, &result);
    dm_test_expect_exit(&result, 0);
    assert_non_null(strstr(result.out, "300 texts"));
    dm_test_result_free(&result);
}

DM_TESTS("lang/errors", DM_TEST(mistakes_are_explained), DM_TEST(several_mistakes_in_one_run),
         DM_TEST(declarations), DM_TEST(growth_is_bounded),
         DM_TEST(fuzzed_texts_are_refused_or_compile))
