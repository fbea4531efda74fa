/* SPDX-License-Identifier: MIT */
/* The compiler's stages as a reader sees them: tree, IR, C and CUDA text in tests/golden/lang. */
#include "lang/compile.h"
#include "tests/support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char scale[] =
    "import warp as wp\n"
    "\n"
    "@wp.kernel\n"
    "def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):\n"
    "    i = wp.tid()\n"
    "    if i < x.shape[0]:\n"
    "        y[i] = wp.sin(x[i]) * s\n";

static const char horner[] =
    "import warp as wp\n"
    "\n"
    "@wp.struct\n"
    "class Poly:\n"
    "    offset: wp.vec3\n"
    "    order: int\n"
    "\n"
    "@wp.func\n"
    "def term(p: float, x: float, c: float):\n"
    "    return p * x + c\n"
    "\n"
    "@wp.kernel\n"
    "def horner(c: wp.array2d(dtype=float), q: Poly, y: wp.array(dtype=wp.vec3)):\n"
    "    i = wp.tid()\n"
    "    p = float(0.0)\n"
    "    for k in range(q.order):\n"
    "        if c[i, k] > 100.0:\n"
    "            break\n"
    "        p = term(p, q.offset[0], c[i, k])\n"
    "    v = q.offset\n"
    "    v[1] = p\n"
    "    y[i] = wp.normalize(v)\n";

static void check_text(const char *name, const char *text)
{
    dm_compilation c;
    dm_compile_options options = {.lines = true};
    dm_buffer out = DM_BUFFER_EMPTY;
    char file[128];
    assert_ok(dm_compilation_init(&c, "k.py", text, strlen(text), &options, err));
    assert_ok(dm_compilation_kernel(&c, 0, err));
    dm_ir_print(c.kernels[0].forward, &out);
    dm_ir_print(c.kernels[0].backward, &out);
    snprintf(file, sizeof file, "lang/%s.ir", name);
    dm_golden_text(file, dm_buffer_text(&out));
    dm_buffer_clear(&out);
    assert_ok(dm_compilation_print(&c, 0, DM_TARGET_C, &out, err));
    snprintf(file, sizeof file, "lang/%s.c", name);
    dm_golden_text(file, dm_buffer_text(&out));
    dm_buffer_clear(&out);
    assert_ok(dm_compilation_print(&c, 0, DM_TARGET_CUDA, &out, err));
    snprintf(file, sizeof file, "lang/%s.cu", name);
    dm_golden_text(file, dm_buffer_text(&out));
    dm_buffer_deinit(&out);
    dm_compilation_deinit(&c);
}

static void scale_text(void **state)
{
    (void)state;
    check_text("scale", scale);
}

static void horner_text(void **state)
{
    (void)state;
    check_text("horner", horner);
}

/* The same text gives the same output, whatever was compiled before. */
static void output_is_deterministic(void **state)
{
    (void)state;
    char *first = NULL;
    for (int round = 0; round < 3; round++) {
        dm_compilation c;
        dm_compile_options options = {0};
        dm_buffer out = DM_BUFFER_EMPTY;
        assert_ok(dm_compilation_init(&c, "k.py", horner, strlen(horner), &options, err));
        assert_ok(dm_compilation_kernel(&c, 0, err));
        for (int again = 0; again <= round; again++) {
            dm_buffer_clear(&out);
            assert_ok(dm_compilation_print(&c, 0, DM_TARGET_CUDA, &out, err));
        }
        if (first == NULL)
            first = strdup(dm_buffer_text(&out));
        assert_string_equal(first, dm_buffer_text(&out));
        dm_buffer_deinit(&out);
        dm_compilation_deinit(&c);
    }
    free(first);
}

/* Names that C, CUDA or the text itself uses are changed. */
static void names_do_not_clash(void **state)
{
    (void)state;
    const char *text =
        "import warp as wp\n"
        "@wp.func\n"
        "def sqrt(double: float):\n"
        "    return double * double\n"
        "@wp.kernel\n"
        "def main(int_: wp.array(dtype=float), register: float, args: float, vec3f: float):\n"
        "    threadIdx = wp.tid()\n"
        "    float_ = sqrt(register) + args\n"
        "    exp = wp.exp(float_) + vec3f + wp.length(wp.vec3(float_))\n"
        "    int_[threadIdx] = exp\n";
    dm_compilation c;
    dm_compile_options options = {0};
    dm_buffer out = DM_BUFFER_EMPTY;
    assert_ok(dm_compilation_init(&c, "k.py", text, strlen(text), &options, err));
    assert_ok(dm_compilation_kernel(&c, 0, err));
    assert_ok(dm_compilation_print(&c, 0, DM_TARGET_C, &out, err));
    assert_null(strstr(dm_buffer_text(&out), "float register,"));
    assert_null(strstr(dm_buffer_text(&out), "float sqrt("));
    assert_null(strstr(dm_buffer_text(&out), " threadIdx "));
    dm_buffer_deinit(&out);
    dm_compilation_deinit(&c);
}

static char *text_of(const char *source, bool keep_loops)
{
    dm_compilation c;
    dm_compile_options options = {.module.keep_loops = keep_loops};
    dm_buffer out = DM_BUFFER_EMPTY;
    assert_ok(dm_compilation_init(&c, "k.py", source, strlen(source), &options, err));
    assert_ok(dm_compilation_kernel(&c, 0, err));
    assert_ok(dm_compilation_print(&c, 0, DM_TARGET_CUDA, &out, err));
    dm_compilation_deinit(&c);
    return dm_buffer_take(&out);
}

/* Short ranges of known length are written out, or stay; then a sum goes back without a word. */
static void loops_stay_where_asked(void **state)
{
    (void)state;
    const char *source = "import warp as wp\n"
                         "@wp.kernel\n"
                         "def k(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):\n"
                         "    i = wp.tid()\n"
                         "    total = float(0.0)\n"
                         "    for n in range(3):\n"
                         "        total += x[i][n] * float(n)\n"
                         "    y[i] = total\n";
    char *plain = text_of(source, false), *kept = text_of(source, true);
    assert_null(strstr(plain, "for (int n"));
    assert_non_null(strstr(kept, "for (int n = 0; n < 3; n++)"));
    assert_non_null(strstr(kept, "for (int n = 2; n > -1; n--)"));
    assert_null(strstr(kept, "adj_total +="));
    assert_null(strstr(kept, "adj_total = 0"));
    free(plain);
    free(kept);
}

/* Loops with large steps, or steps that only a run knows, are not unrolled (print_stmt.c). */
static void far_loops_stay(void **state)
{
    (void)state;
    static const struct {
        const char *step;
        bool stays;
    } cases[] = {{"1", false},
                 {"16777216", false},
                 {"16777217", true},
                 {"2147483647", true},
                 {"x.shape[1]", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char source[512];
        snprintf(source, sizeof source,
                 "import warp as wp\n"
                 "@wp.kernel\n"
                 "def k(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):\n"
                 "    i = wp.tid()\n"
                 "    total = float(0.0)\n"
                 "    for n in range(0, x.shape[0], %s):\n"
                 "        total += x[n, i] * x[i, n]\n"
                 "    y[i] = total\n",
                 cases[i].step);
        char *text = text_of(source, false), *forward = strstr(text, "#pragma unroll 1\n");
        assert_int_equal(forward != NULL, cases[i].stays);
        /* and on the way back */
        if (forward != NULL)
            assert_non_null(strstr(forward + 1, "#pragma unroll 1\n"));
        free(text);
    }
}

/* What differs between the devices is in the text, not left to its compiler. */
static void a_block_has_the_devices_threads(void **state)
{
    (void)state;
    static const char source[] = "import warp as wp\n"
                                 "@wp.kernel\n"
                                 "def k(y: wp.array(dtype=int)):\n"
                                 "    y[wp.tid()] = wp.block_dim()\n";
    static const char *const bodies[] = {"{\n    return 1;\n}",
                                         "{\n    return (int)blockDim.x;\n}"};
    for (int target = 0; target < 2; target++) {
        dm_compilation c;
        dm_compile_options options = {0};
        dm_buffer out = DM_BUFFER_EMPTY;
        assert_ok(dm_compilation_init(&c, "k.py", source, strlen(source), &options, err));
        assert_ok(dm_compilation_kernel(&c, 0, err));
        assert_ok(
            dm_compilation_print(&c, 0, target == 0 ? DM_TARGET_C : DM_TARGET_CUDA, &out, err));
        assert_non_null(strstr(dm_buffer_text(&out), bodies[target]));
        assert_null(strstr(dm_buffer_text(&out), "#if"));
        dm_buffer_deinit(&out);
        dm_compilation_deinit(&c);
    }
}

DM_TESTS("lang/text", DM_TEST(scale_text), DM_TEST(horner_text), DM_TEST(output_is_deterministic),
         DM_TEST(names_do_not_clash), DM_TEST(loops_stay_where_asked), DM_TEST(far_loops_stay),
         DM_TEST(a_block_has_the_devices_threads))
