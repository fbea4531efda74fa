/* SPDX-License-Identifier: MIT */
/* The kept corpus of every fuzz target, as it is and changed for a second; `make fuzz-parsers` for
 * longer, under the sanitizers. */
#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char program[] = DM_TEST_BUILD_ROOT "/tests/dm-fuzz";

static const char *const names[] = {
#define TARGET(name, limit, words) #name,
#include "tests/fuzz/targets.def"
#undef TARGET
};

static void run(void **state, size_t from, size_t to)
{
    char corpus[1024];
    if (!dm_file_exists(program) || !dm_dir_exists(DM_TEST_SOURCE_ROOT "/tests/fuzz/corpus"))
        dm_test_skip("the sources or dm-fuzz are not here");
    for (size_t i = from; i < to && i < sizeof names / sizeof names[0]; i++) {
        dm_test_result r;
        snprintf(corpus, sizeof corpus, DM_TEST_SOURCE_ROOT "/tests/fuzz/corpus/%s", names[i]);
        const char *const argv[] = {
            program,  "--target", names[i],      "--corpus",         corpus, "--seconds", "1",
            "--seed", "1",        "--artifacts", dm_test_dir(state), NULL};
        dm_test_run(&(dm_test_command){.argv = argv, .seconds = 120}, &r);
        dm_test_expect_exit(&r, 0);
        char expected[64];
        snprintf(expected, sizeof expected, "%s: ", names[i]);
        if (strncmp(r.err, expected, strlen(expected)) != 0 || strstr(r.err, " 0 changed") != NULL)
            fail_msg("%s: nothing was run: %s", names[i], r.err);
        dm_test_result_free(&r);
    }
}

static void corpora_of_data_and_texts(void **state)
{
    run(state, 0, 16);
}

static void corpora_of_the_lab_and_of_machines(void **state)
{
    run(state, 16, sizeof names / sizeof names[0]);
}

static void unknown_targets_are_refused(void **state)
{
    (void)state;
    if (!dm_file_exists(program))
        dm_test_skip("dm-fuzz is not here");
    dm_test_result r;
    const char *const argv[] = {program, "--target", "no_such_target", NULL};
    dm_test_run(&(dm_test_command){.argv = argv}, &r);
    assert_int_equal(r.exit_code, 2);
    assert_non_null(strstr(r.err, "no target 'no_such_target'"));
    dm_test_result_free(&r);
}

/* A new target, or a new seed of one, brings its corpus along (dm-fuzz --write-seeds). */
static void every_seed_is_kept(void **state)
{
    if (!dm_file_exists(program) || !dm_dir_exists(DM_TEST_SOURCE_ROOT "/tests/fuzz/corpus"))
        dm_test_skip("the sources or dm-fuzz are not here");
    dm_test_result r;
    setenv("d", dm_test_dir(state), 1);
    const char *const argv[] = {
        "sh", "-ec",
        DM_TEST_BUILD_ROOT "/tests/dm-fuzz --write-seeds \"$d/corpus\"\ncd \"$d/corpus\"\n"
                           "find . -type f | while read -r f; do\n"
                           "  test -f " DM_TEST_SOURCE_ROOT "/tests/fuzz/corpus/$f || echo $f\n"
                           "done\n",
        NULL};
    dm_test_run(&(dm_test_command){.argv = argv}, &r);
    dm_test_expect_exit(&r, 0);
    assert_string_equal(r.out, "");
    dm_test_result_free(&r);
}

DM_TESTS("fuzz/corpora", DM_TEST_IN_DIR(corpora_of_data_and_texts),
         DM_TEST_IN_DIR(corpora_of_the_lab_and_of_machines), DM_TEST(unknown_targets_are_refused),
         DM_TEST_IN_DIR(every_seed_is_kept))
