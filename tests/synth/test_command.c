/* SPDX-License-Identifier: MIT */
/* `dotmatrix synth validate`, `show` and `stats` from outside: output and exit codes. */
#include "base/file.h"
#include "synth/store/compress.h"
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

static void shows_a_random_one_in_colours_and_lists(void **state)
{
    const char *folder = dm_test_path(state, "set");
    dm_test_result r, again;
    produce(folder);
    dm_test_dotmatrix(&r, "synth", "show", folder, "--random", "--seed", "5", "--color", "always");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "\033[34mdef\033[0m"));
    dm_test_dotmatrix(&again, "synth", "show", folder, "--random", "--seed", "5", "--color",
                      "always");
    assert_string_equal(r.out, again.out);
    dm_test_result_free(&again);
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "synth", "show", folder, "--random");
    dm_test_expect_exit(&r, 0);
    assert_null(strchr(r.out, '\033'));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "synth", "show", folder, "--list");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "1-00000012"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "synth", "show", folder, "--list", "--random");
    dm_test_expect_exit(&r, 2);
    dm_test_result_free(&r);
}

static void the_report_is_a_page(void **state)
{
    const char *folder = dm_test_path(state, "set"), *page = dm_test_path(state, "page.html");
    dm_test_result r;
    char *text = NULL;
    size_t size;
    produce(folder);
    dm_test_dotmatrix(&r, "synth", "report", folder, "--out", page);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    assert_ok(dm_file_read(page, 0, &text, &size, err));
    assert_non_null(strstr(text, "13 pairs of "));
    assert_non_null(strstr(text, "@wp.kernel"));
    assert_null(strstr(text, "<=")); /* everything of a record is escaped */
    free(text);
    dm_test_dotmatrix(&r, "synth", "report", folder);
    dm_test_expect_exit(&r, 2);
    dm_test_result_free(&r);
}

/* The same lines, and the same answers; a byte of the file changed is found. */
static void compressed_shards_hold_the_same_lines(void **state)
{
    const char *plain = dm_test_path(state, "plain"), *packed = dm_test_path(state, "packed");
    const char *file = dm_test_path(state, "packed/pairs-00000.jsonl.zst");
    dm_test_result r;
    char *bytes = NULL, *lines = NULL;
    size_t size, line_size;
    if (dm_synth_compress_check(NULL) != DM_OK)
        dm_test_skip("built without libzstd");
    for (int i = 0; i < 2; i++) { /* the second time nothing is left to do */
        dm_test_dotmatrix(&r, "synth", "produce", "--count", "30", "--out", packed, "--verify",
                          "none", "--compress", "zstd", "--shard-lines", "20");
        dm_test_expect_exit(&r, 0);
        dm_test_result_free(&r);
    }
    dm_test_dotmatrix(&r, "synth", "produce", "--count", "30", "--out", plain, "--verify", "none",
                      "--shard-lines", "20");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    assert_ok(dm_file_read(file, 0, &bytes, &size, err));
    assert_ok(dm_synth_compress_read(file, &lines, &line_size, err));
    char *expected = NULL;
    size_t expected_size;
    assert_ok(dm_file_read(dm_test_path(state, "plain/pairs-00000.jsonl"), 0, &expected,
                           &expected_size, err));
    assert_int_equal(line_size, expected_size);
    assert_memory_equal(lines, expected, expected_size);
    assert_true(size * 4 < expected_size);
    dm_test_dotmatrix(&r, "synth", "validate", packed, "--level", "none");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "0 problems"));
    dm_test_result_free(&r);
    bytes[size / 2] ^= 1;
    assert_ok(dm_file_write(file, bytes, size, err));
    dm_test_dotmatrix(&r, "synth", "validate", packed, "--level", "none");
    assert_int_not_equal(r.exit_code, 0);
    dm_test_result_free(&r);
    free(bytes);
    free(lines);
    free(expected);
}

DM_TESTS("synth/command", DM_TEST_IN_DIR(validate_says_yes_and_no),
         DM_TEST_IN_DIR(validate_of_nothing_fails), DM_TEST_IN_DIR(show_and_stats),
         DM_TEST_IN_DIR(shows_a_random_one_in_colours_and_lists),
         DM_TEST_IN_DIR(the_report_is_a_page),
         DM_TEST_IN_DIR(compressed_shards_hold_the_same_lines), DM_TEST(wrong_arguments))
