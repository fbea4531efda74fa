/* SPDX-License-Identifier: MIT */
/* `dotmatrix synth validate`, `show` and `stats` from outside: output and exit codes. */
#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdlib.h>
#include <string.h>

static void produce(const char *folder)
{
    dm_test_result r;
    dm_test_dotmatrix(&r, "synth", "produce", "--count", "13", "--out", folder, "--verify", "none",
                      "--kinds", "pairs,rejected");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
}

static void validate_says_yes_and_no(void **state)
{
    const char *folder = dm_test_path(state, "set");
    dm_test_result r;
    char *bytes = NULL;
    size_t size;
    produce(folder);
    dm_test_dotmatrix(&r, "synth", "validate", "--in", folder, "--level", "none");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "13 pairs with 13 distinct forms"));
    assert_non_null(strstr(r.out, "0 problems"));
    dm_test_result_free(&r);
    const char *shard = dm_test_path(state, "set/pairs-00000.jsonl");
    assert_ok(dm_file_read(shard, 0, &bytes, &size, err));
    bytes[size / 2] ^= 1;
    assert_ok(dm_file_write(shard, bytes, size, err));
    free(bytes);
    dm_test_dotmatrix(&r, "synth", "validate", folder, "--level", "none");
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "pairs-00000.jsonl: checksum"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "synth", "validate", folder, "--level", "none", "--json");
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "\"valid\": false"));
    dm_test_result_free(&r);
}

/* A check of nothing is no success. */
static void validate_of_nothing_fails(void **state)
{
    static const char *const texts[] = {"", "\n\n", "[]"};
    const char *file = dm_test_path(state, "none.json");
    for (size_t i = 0; i < 3; i++) {
        dm_test_result r;
        assert_ok(dm_file_write(file, texts[i], strlen(texts[i]), err));
        dm_test_dotmatrix(&r, "synth", "validate", file, "--level", "none");
        assert_int_not_equal(r.exit_code, 0);
        dm_test_result_free(&r);
    }
    file = dm_test_path(state, "none.jsonl");
    assert_ok(dm_file_write(file, "", 0, err));
    dm_test_result r;
    dm_test_dotmatrix(&r, "synth", "validate", file, "--level", "none");
    dm_test_expect_exit(&r, 4);
    assert_non_null(strstr(r.err, "none.jsonl: no records: nothing was checked"));
    dm_test_result_free(&r);
}

static void show_and_stats(void **state)
{
    const char *folder = dm_test_path(state, "set");
    dm_test_result r;
    produce(folder);
    dm_test_dotmatrix(&r, "synth", "show", folder, "1-00000004");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "category math"));
    assert_non_null(strstr(r.out, "| cuda_forward"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "synth", "stats", folder);
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "control_flow"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "synth", "stats", folder, "--png", "/dev/full");
    assert_int_not_equal(r.exit_code, 0);
    dm_test_result_free(&r);
}

typedef struct wrong {
    const char *arguments[8];
    int exit_code;
    const char *says;
} wrong;

static void wrong_arguments(void **state)
{
    (void)state;
    static const wrong cases[] = {
        {{"synth", "validate"}, 2, "validate needs a dataset"},
        {{"synth", "validate", "/nowhere"}, 4, "no such folder or file"},
        {{"synth", "validate", "--in", "/nowhere", "x"}, 2, "unexpected argument 'x'"},
        {{"synth", "validate", "--in", "/nowhere", "--level", "fulll"}, 2, "full"},
        {{"synth", "show", "/nowhere"}, 4, "no such folder or file"},
        {{"synth", "show"}, 2, "show needs a dataset"},
        {{"synth", "show", "/nowhere", "1"}, 4, "no such folder"},
        {{"synth", "stats"}, 2, "stats needs a dataset"},
        {{"synth", "produce", "--sample", "3"}, 2, "--sample is for validate, not for produce"},
        {{"synth", "stat", "x"}, 2, "did you mean stats"},
        {{"synth", "produce", "x"}, 2, "unexpected argument 'x'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_test_result r;
        dm_test_run_dotmatrix(NULL, cases[i].arguments, &r);
        dm_test_expect_exit(&r, cases[i].exit_code);
        if (strstr(r.err, cases[i].says) == NULL)
            fail_msg("'%s' is not in: %s", cases[i].says, r.err);
        dm_test_result_free(&r);
    }
}

DM_TESTS("synth/command", DM_TEST_IN_DIR(validate_says_yes_and_no),
         DM_TEST_IN_DIR(validate_of_nothing_fails), DM_TEST_IN_DIR(show_and_stats),
         DM_TEST(wrong_arguments))
