/* SPDX-License-Identifier: MIT */
/* `dotmatrix kernel`: what it writes, and what it says of bad input. */
#include "base/file.h"
#include "cli/command.h"
#include "kernel/npy.h"
#include "tests/support/command.h"
#include "tests/support/test.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char good[] = "import warp as wp\n\n\n@wp.kernel\n"
                           "def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
                           "    i = wp.tid()\n    y[i] = 2.0 * x[i]\n";

static const char *put_file(void **state, const char *name, const char *text, size_t size)
{
    const char *path = dm_test_path(state, name);
    assert_ok(dm_file_write(path, text, size, err));
    return path;
}

static void compiles_to_a_file(void **state)
{
    const char *source = put_file(state, "k.py", good, sizeof good - 1);
    const char *out = dm_test_path(state, "k.c");
    dm_test_result r;
    char *text;
    size_t size;
    dm_test_dotmatrix(&r, "kernel", "compile", source, "-o", out);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    dm_test_result_free(&r);
    assert_ok(dm_file_read(out, 1 << 20, &text, &size, err));
    assert_non_null(strstr(text, "twice_forward"));
    assert_non_null(strstr(text, "twice_backward"));
    free(text);
    dm_test_dotmatrix(&r, "kernel", "compile", source, "--out", "/dev/full");
    dm_test_expect_exit(&r, DM_EXIT_IO);
    dm_test_result_free(&r);
}

static void checks_gradients(void **state)
{
    const char *source = put_file(state, "k.py", good, sizeof good - 1);
    dm_test_result r;
    dm_test_dotmatrix(&r, "kernel", "check", source);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "ok   twice"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "kernel", "check", source, "--device", "cuda");
    if (r.exit_code != DM_EXIT_OK) {
        dm_test_expect_exit(&r, DM_EXIT_MISSING);
        assert_int_equal(r.out_size, 0);
    }
    dm_test_result_free(&r);
}

/* A check that compared nothing is no success. */
static void empty_checks_fail(void **state)
{
    static const char infinite[] = "import warp as wp\n\n\n@wp.kernel\n"
                                   "def f(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
                                   "    i = wp.tid()\n    y[i] = wp.log(x[i] - 100.0)\n";
    dm_test_result r;
    dm_test_dotmatrix(&r, "kernel", "check",
                      put_file(state, "f.py", infinite, sizeof infinite - 1));
    dm_test_expect_exit(&r, DM_EXIT_NEGATIVE);
    assert_non_null(strstr(r.out, "FAIL f"));
    assert_non_null(strstr(r.out, "no gradient was compared"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "kernel", "check", put_file(state, "e.py", "import warp as wp\n", 18));
    dm_test_expect_exit(&r, DM_EXIT_INPUT);
    assert_non_null(strstr(r.err, "the file has no kernels"));
    dm_test_result_free(&r);
}

static void bad_files_get_a_reason(void **state)
{
    const char *empty = put_file(state, "empty.py", "", 0);
    const char *cut = put_file(state, "cut.py", good, 60);
    dm_test_result r;
    dm_test_dotmatrix(&r, "kernel", "compile", empty);
    assert_int_not_equal(r.exit_code, 0);
    assert_non_null(strstr(r.err, "no kernels"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "kernel", "compile", cut);
    assert_int_not_equal(r.exit_code, 0);
    assert_non_null(strstr(r.err, "cut.py:5"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "kernel", "run", put_file(state, "k.py", good, sizeof good - 1),
                      "--kernel", "twice", "--dim", "4");
    assert_int_not_equal(r.exit_code, 0);
    assert_non_null(strstr(r.err, "--arg x=... is missing"));
    dm_test_result_free(&r);
}

/* x[i] = x[i] * x[i]: the backward pass gets the numbers of before, the result is the square. */
static void run_from_inputs(void **state)
{
    static const char text[] = "import warp as wp\n\n\n@wp.kernel\n"
                               "def square(x: wp.array(dtype=float)):\n"
                               "    i = wp.tid()\n"
                               "    x[i] = x[i] * x[i]\n";
    char source[DM_PATH_MAX], path[DM_PATH_MAX], arg[DM_PATH_MAX + 8];
    float numbers[3] = {1.0f, 2.0f, -3.0f};
    dm_npy in = {.scalar = DM_KERNEL_FLOAT32,
                 .ndim = 1,
                 .shape = {3},
                 .count = 3,
                 .bytes = sizeof numbers,
                 .data = numbers};
    assert_ok(dm_path_join(source, dm_test_dir(state), "square.py", err));
    assert_ok(dm_file_write(source, text, sizeof text - 1, err));
    assert_ok(dm_path_join(path, dm_test_dir(state), "x.npy", err));
    assert_ok(dm_npy_write(path, &in, err));
    snprintf(arg, sizeof arg, "x=%s", path);
    dm_test_result r;
    dm_test_dotmatrix(&r, "kernel", "run", source, "--dim", "3", "--arg", arg, "--grad", "x=ones",
                      "--from-inputs");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "1 to 9, sum 14"));
    assert_non_null(strstr(r.out, "-6 to 4, sum 0"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "kernel", "run", source, "--dim", "3", "--arg", arg, "--grad", "x=ones");
    assert_true(r.exit_code != 0);
    assert_non_null(strstr(r.err, "no backward pass"));
    dm_test_result_free(&r);
}

DM_TESTS("cli/kernel", DM_TEST_IN_DIR(run_from_inputs), DM_TEST_IN_DIR(compiles_to_a_file),
         DM_TEST_IN_DIR(checks_gradients), DM_TEST_IN_DIR(empty_checks_fail),
         DM_TEST_IN_DIR(bad_files_get_a_reason));
