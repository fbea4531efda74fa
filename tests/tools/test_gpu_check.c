/* SPDX-License-Identifier: MIT */
/* tools/gpu-check where there is no GPU, or where the programs that it was given do not run. */
#include "base/file.h"
#include "cli/command.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void check(dm_test_result *r, const char *option, const char *value)
{
    static char path[DM_PATH_MAX];
    snprintf(path, sizeof path, "%s/tools/gpu-check", dm_test_source_root());
    if (!dm_file_exists(path))
        dm_test_skip("the sources are not here");
    const char *argv[] = {path, option, value, NULL};
    dm_test_run(&(dm_test_command){.argv = argv}, r);
}

static void no_gpu_is_exit_code_3(void **state)
{
    (void)state;
    if (access("/dev/nvidia0", F_OK) == 0 || access("/dev/dxg", F_OK) == 0)
        dm_test_skip("there is a GPU");
    dm_test_result r;
    check(&r, "--only", "info");
    dm_test_expect_exit(&r, DM_EXIT_MISSING);
    assert_non_null(strstr(r.err, "no NVIDIA GPU on this machine"));
    assert_string_equal(r.out, "");
    dm_test_result_free(&r);
}

static void unknown_parts_are_refused(void **state)
{
    (void)state;
    dm_test_result r;
    check(&r, "--only", "info,everything");
    dm_test_expect_exit(&r, DM_EXIT_USAGE);
    assert_non_null(strstr(r.err, "no part is called 'everything'"));
    dm_test_result_free(&r);
}

/* A computer that seems to have a GPU, and test programs made for another one. */
static void programs_that_do_not_run_are_told(void **state)
{
    static const char script[] =
        "mkdir -p bin build/tests\n"
        "printf '#!/bin/sh\\necho GPU 0: a stand-in\\n' >bin/nvidia-smi\n"
        "printf '#!/bin/sh\\necho no libcmocka >&2; exit 127\\n' >build/tests/dm-tests\n"
        "chmod +x bin/nvidia-smi build/tests/dm-tests\n"
        "PATH=$PWD/bin:$PATH exec \"$0\" --binaries $PWD/build --only tests --out $PWD/out";
    char path[DM_PATH_MAX];
    snprintf(path, sizeof path, "%s/tools/gpu-check", dm_test_source_root());
    if (!dm_file_exists(path))
        dm_test_skip("the sources are not here");
    const char *argv[] = {"sh", "-c", script, path, NULL};
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = argv, .folder = dm_test_dir(state)}, &r);
    dm_test_expect_exit(&r, 1);
    assert_string_equal(r.err, "gpu-check: the tests do not run here: no libcmocka\n");
    dm_test_result_free(&r);
}

DM_TESTS("tools/gpu_check", DM_TEST(no_gpu_is_exit_code_3), DM_TEST(unknown_parts_are_refused),
         DM_TEST_IN_DIR(programs_that_do_not_run_are_told));
