/* SPDX-License-Identifier: MIT */
/* What `kernel run`, `list` and `compile` take and say: vectors as arguments, shapes with those of
 * the elements, numbers that are none, arrays too short for the launch, one file of many kernels. */
#include "base/file.h"
#include "cli/command.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdlib.h>
#include <string.h>

static const char text[] = "import warp as wp\n"
                           "@wp.kernel\n"
                           "def fall(x: wp.array(dtype=wp.vec3), g: wp.vec3,\n"
                           "         m: wp.mat22, y: wp.array(dtype=float)):\n"
                           "    i = wp.tid()\n"
                           "    x[i] = x[i] + g\n"
                           "    y[i] = m[0, 1] / m[1, 0]\n"
                           "@wp.kernel\n"
                           "def guarded(x: wp.array2d(dtype=float), n: int):\n"
                           "    i, j = wp.tid()\n"
                           "    if i >= n:\n"
                           "        return\n"
                           "    x[i, j] = 1.0\n"
                           "@wp.kernel\n"
                           "def column(x: wp.array2d(dtype=float), y: wp.array(dtype=int)):\n"
                           "    i, j = wp.tid()\n"
                           "    if j > 0:\n"
                           "        y[i] = 2\n"
                           "    wp.atomic_add(x, i, 0, 1.0)\n"
                           "    y[j] = 1\n";

#define FALL "--kernel", "fall", "--dim", "2", "--arg", "y=zeros:2"
#define M "--arg", "m=1,2,3,4"
#define G "--arg", "g=0,-9.8,0"
#define X "--arg", "x=zeros:2x3"
#define COLUMN "--kernel", "column", "--no-bounds"

static const struct {
    const char *args[16];
    const char *out, *err; /* NULL: nothing, and it runs */
} runs[] = {
    {{FALL, M, G, X}, "x                float32  6 numbers, -9.8 to 0, sum -19.6", NULL},
    {{FALL, M, G, X}, "y                float32  2 numbers, 0.666667 to 0.666667", NULL},
    {{FALL, M, G, "--arg", "x=zeros:2"}, "6 numbers", NULL},
    {{FALL, "--arg", "m=1,nan,3,4", G, X}, "2 numbers, 2 NaN\n", NULL},
    {{FALL, "--arg", "m=1,2,0,4", G, X}, "2 numbers, 2 infinite\n", NULL},
    {{FALL, M, "--arg", "g=0,nan,1", X}, "6 numbers, 2 NaN, the others 0 to 1, sum 2\n", NULL},
    {{FALL, M, "--arg", "g=0,1", X}, NULL, "'g' is vec3f, which has 3 components, not 2"},
    {{FALL, M, "--arg", "g=1", X}, NULL, "'g' is vec3f, which has 3 components, not 1"},
    {{FALL, M, "--arg", "g=0,1,2,", X}, "6 numbers", NULL},
    {{FALL, M, G, "--arg", "x=zeros:2x4"}, NULL, "it has 1 dimensions, not 2"},
    {{FALL, M, G, "--arg", "x=zeros:1x3", "--no-bounds"},
     NULL,
     "fall: line 6: 'x' is too short for this launch: dimension 0 of its shape (1) must be 2"},
    /* what a thread may not come to is not asked for */
    {{"--kernel", "guarded", "--dim", "5,2", "--no-bounds", "--arg", "x=zeros:3x2", "--arg", "n=3"},
     "6 numbers",
     NULL},
    {{COLUMN, "--dim", "3,2", "--arg", "x=zeros:2x1", "--arg", "y=zeros:3"},
     NULL,
     "column: line 19: 'x' is too short"},
    {{COLUMN, "--dim", "3,4", "--arg", "x=zeros:3x1", "--arg", "y=zeros:3"},
     NULL,
     "column: line 20: 'y' is too short for this launch: dimension 0 of its shape (3) must be 4"},
};

static const char *put_source(void **state)
{
    const char *source = dm_test_path(state, "k.py");
    assert_ok(dm_file_write(source, text, sizeof text - 1, err));
    return source;
}

static void runs_and_says(void **state)
{
    const char *source = put_source(state);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        const char *argv[24] = {"kernel", "run", source};
        dm_test_result r;
        for (int k = 0; k < 16 && runs[i].args[k] != NULL; k++)
            argv[3 + k] = runs[i].args[k];
        dm_test_run_dotmatrix(NULL, argv, &r);
        dm_test_expect_exit(&r, runs[i].err == NULL ? DM_EXIT_OK : DM_EXIT_USAGE);
        const char *said = runs[i].err == NULL ? r.out : r.err;
        const char *expected = runs[i].err == NULL ? runs[i].out : runs[i].err;
        if (strstr(said, expected) == NULL)
            fail_msg("run %zu: '%s' does not say '%s'", i, said, expected);
        dm_test_result_free(&r);
    }
}

static void check_tells_indices(void **state)
{
    static const char source[] = "import warp as wp\n"
                                 "@wp.kernel\n"
                                 "def next(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
                                 "    i = wp.tid()\n"
                                 "    y[i] = 2.0 * x[i + 1]\n"
                                 "@wp.kernel\n"
                                 "def same(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
                                 "    i = wp.tid()\n"
                                 "    y[i] = 2.0 * x[i]\n";
    const char *path = dm_test_path(state, "next.py");
    dm_test_result r;
    assert_ok(dm_file_write(path, source, sizeof source - 1, err));
    dm_test_dotmatrix(&r, "kernel", "check", path);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    const char *told = strstr(r.out, "line 5: x[6] is out of bounds, its shape is (6)");
    assert_non_null(told);
    assert_null(strstr(told + 20, "out of bounds"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "kernel", "check", path, "--json", "--kernel", "next");
    assert_non_null(strstr(r.out, "\"outside\": \"line 5: x[6] is out of bounds"));
    dm_test_result_free(&r);
}

static void list_has_types(void **state)
{
    dm_test_result r;
    dm_test_dotmatrix(&r, "kernel", "list", put_source(state));
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "fall(x: wp.array(dtype=wp.vec3), g: wp.vec3, m: wp.mat22, "
                                  "y: wp.array(dtype=float))  line 3\n"));
    assert_non_null(strstr(r.out, "guarded(x: wp.array2d(dtype=float), n: int)  line 9\n"));
    dm_test_result_free(&r);
}

/* All kernels of a file in one: it compiles, and holds what they share once. */
static void one_file_of_many(void **state)
{
    const char *source = put_source(state), *c = dm_test_path(state, "k.c"),
               *cuda = dm_test_path(state, "k.cu"), *cc = getenv("CC");
    char *written;
    size_t size;
    dm_test_result r;
    dm_test_dotmatrix(&r, "kernel", "compile", source, "--device", "cpu", "--out", c);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    dm_test_result_free(&r);
    const char *const argv[] = {
        cc == NULL ? "cc" : cc,     "-std=c17", "-Wall", "-Wextra", "-Werror", "-c", c, "-o",
        dm_test_path(state, "k.o"), NULL};
    dm_test_run(&(dm_test_command){.argv = argv}, &r);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "kernel", "compile", source, "--device", "cuda", "--out", cuda);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    dm_test_result_free(&r);
    assert_ok(dm_file_read(cuda, 1 << 20, &written, &size, err));
    const char *shared = strstr(written, "} array1_f32;");
    assert_non_null(shared);
    assert_null(strstr(shared + 1, "} array1_f32;"));
    assert_non_null(strstr(written, "void fall_forward("));
    assert_non_null(strstr(written, "void column_backward("));
    free(written);
    dm_test_dotmatrix(&r, "kernel", "compile", source, "--device", "both", "--out", c);
    dm_test_expect_exit(&r, DM_EXIT_USAGE);
    assert_non_null(strstr(r.err, "one file cannot hold C and CUDA C++"));
    dm_test_result_free(&r);
}

DM_TESTS("kernel/run", DM_TEST_IN_DIR(runs_and_says), DM_TEST_IN_DIR(check_tells_indices),
         DM_TEST_IN_DIR(list_has_types), DM_TEST_IN_DIR(one_file_of_many))
