/* SPDX-License-Identifier: MIT */
/* Suites of verifications: roms/suite.json itself, and files that are wrong. */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char built[] = DM_TEST_BUILD_ROOT "/roms";

static const char *suite_path(void)
{
    static char path[DM_PATH_MAX];
    snprintf(path, sizeof path, "%s/roms/suite.json", dm_test_source_root());
    if (!dm_file_exists(path))
        dm_test_skip("the sources are not here");
    return path;
}

static dm_status count_source(const char *root, const dm_dir_entry *entry, void *user,
                              dm_error *err)
{
    (void)root;
    (void)err;
    size_t length = strlen(entry->path);
    *(size_t *)user += length > 4 && strcmp(entry->path + length - 4, ".asm") == 0;
    return DM_OK;
}

/* Every ROM of ours is in it, once. */
static void all_our_roms_are_in_the_suite(void **state)
{
    (void)state;
    json_t *root;
    char folder[DM_PATH_MAX];
    size_t sources = 0;
    assert_ok(dm_json_load(suite_path(), &root, err));
    json_t *roms = json_object_get(root, "roms"), *seen = json_object(), *entry;
    size_t i;
    json_array_foreach(roms, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "rom"));
        char path[DM_PATH_MAX];
        assert_null(json_object_get(seen, name));
        json_object_set_new(seen, name, json_true());
        snprintf(path, sizeof path, "%s/%s.gb", built, name);
        assert_true(dm_file_exists(path));
    }
    snprintf(folder, sizeof folder, "%s/roms", dm_test_source_root());
    assert_ok(dm_dir_walk(folder, count_source, &sources, err));
    assert_int_equal(json_array_size(roms), sources);
    json_decref(seen);
    json_decref(root);
}

/* In full, against our own machine; what needs references is `make verify`. */
static void the_suite_agrees_with_a_machine_alone(void **state)
{
    dm_test_result r;
    const char *path = suite_path();
    dm_test_run_dotmatrix(&(dm_test_command){.folder = dm_test_dir(state)},
                          (const char *const[]){"verify", "--suite", path, "--roms", built,
                                                "--ref-backend", "single", NULL},
                          &r);
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "27 agree, 0 differ, 0 skipped, 0 missing"));
    dm_test_result_free(&r);
}

static void the_wrong_one_fails_the_suite(void **state)
{
    dm_test_result r;
    const char *path = suite_path();
    dm_test_run_dotmatrix(&(dm_test_command){.folder = dm_test_dir(state), .seconds = 240},
                          (const char *const[]){"verify", "--suite", path, "--roms", built,
                                                "--ref-backend", "single", "--dut-backend",
                                                "wrong_single", "--bundle", "found", NULL},
                          &r);
    dm_test_expect_exit(&r, 1);
    assert_non_null(strstr(r.out, "MEM_RWB                single             DIFFERS"));
    assert_non_null(strstr(r.out, "LOADS_BASIC            single             ok"));
    assert_non_null(strstr(r.out, "bundle: found/MEM_RWB-"));
    assert_true(dm_dir_exists(dm_test_path(state, "found")));
    dm_test_result_free(&r);
}

static void refuse(void **state, const char *text, const char *message)
{
    dm_test_result r;
    assert_ok(dm_file_write(dm_test_path(state, "s.json"), text, strlen(text), err));
    dm_test_run_dotmatrix(
        &(dm_test_command){.folder = dm_test_dir(state)},
        (const char *const[]){"verify", "--suite", "s.json", "--roms", built, NULL}, &r);
    if (r.exit_code != DM_EXIT_INPUT && r.exit_code != DM_EXIT_USAGE)
        dm_test_expect_exit(&r, DM_EXIT_INPUT);
    if (strstr(r.err, message) == NULL)
        fail_msg("'%s' is not in: %s", message, r.err);
    dm_test_result_free(&r);
}

#define SUITE(entry) "{\"schema\": \"dotmatrix-suite-1\", \"roms\": [" entry "]}"

static void wrong_suites_are_refused(void **state)
{
    refuse(state, "[]", "not a suite");
    refuse(state, "{\"schema\": \"dotmatrix-suite-2\", \"roms\": []}", "not a suite of schema");
    refuse(state, SUITE(""), "nothing to run");
    refuse(state, SUITE("{\"rom\": \"ALU_LOOP\"}"), "without 'rom' or 'references'");
    refuse(state,
           SUITE("{\"rom\": \"NO_SUCH\", \"profile\": {}, \"references\": {\"single\": {}}}"),
           "NO_SUCH.gb");
    refuse(state,
           SUITE("{\"rom\": \"ALU_LOOP\", \"profile\": {\"step\": 3}, \"references\": {\"single\": "
                 "{}}}"),
           "unknown key 'step'");
    refuse(state,
           SUITE("{\"rom\": \"ALU_LOOP\", \"profile\": {\"steps\": 0}, \"references\": "
                 "{\"single\": {}}}"),
           "steps: a whole number from 1");
    refuse(state, SUITE("{\"rom\": \"ALU_LOOP\", \"profile\": {}, \"references\": {\"vba\": {}}}"),
           "'vba' is no backend");
    /* Nothing is left out silently. */
    refuse(state,
           SUITE("{\"rom\": \"ALU_LOOP\", \"profile\": {}, \"references\": {\"single\": "
                 "{\"ignore\": \"f\"}}}"),
           "leaves something out without a 'why'");
    refuse(state,
           SUITE("{\"rom\": \"ALU_LOOP\", \"profile\": {\"compare_frame\": true}, \"references\": "
                 "{\"single\": {\"compare_frame\": false}}}"),
           "leaves something out without a 'why'");
}

DM_TESTS("lab/suite", DM_TEST(all_our_roms_are_in_the_suite),
         DM_TEST_IN_DIR(the_suite_agrees_with_a_machine_alone),
         DM_TEST_IN_DIR(the_wrong_one_fails_the_suite), DM_TEST_IN_DIR(wrong_suites_are_refused));
