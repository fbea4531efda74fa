/* SPDX-License-Identifier: MIT */
/* A part of the hostile calls of rows.py: every fifth row, so that each command and each kind of row
 * is tried in every run of the tests. All rows: `make test-hostile`. */
#include "base/file.h"
#include "tests/support/command.h"

static const char script[] = DM_TEST_SOURCE_ROOT "/tests/hostile/hostile.py";
static const char command[] = DM_TEST_BUILD_ROOT "/src/cli/dotmatrix";
#define SLICE_SECONDS 400 /* 35 on a quiet core */

static void every_fifth_call_is_answered_clearly(void **state)
{
    (void)state;
    dm_test_result r;
    if (!dm_file_exists(script))
        dm_test_skip("the sources are not here");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    dm_test_skip("the rows' limits of memory and time are not for a program with a sanitizer");
#endif
    const char *const argv[] = {"python3",    "-B", script,    command, "--jobs", "1",
                                "--patience", "5",  "--slice", "0/5",   NULL};
    dm_test_run(&(dm_test_command){.argv = argv, .seconds = SLICE_SECONDS}, &r);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
}

DM_TESTS("hostile/slice", DM_TEST(every_fifth_call_is_answered_clearly))
