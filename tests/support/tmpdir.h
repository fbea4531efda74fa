/* SPDX-License-Identifier: MIT */
/* tmpdir.h - a temporary folder per test, under $TMPDIR (else /tmp), removed afterwards whether the
 * test passed or not:
 *
 *     static void writes_a_file(void **state)
 *     {
 *         assert_ok(dm_file_write(dm_test_path(state, "a.txt"), "x", 1, err));
 *     }
 *     DM_TESTS("base/file", DM_TEST_IN_DIR(writes_a_file))
 *
 * The test's `state` belongs to the folder then. DM_KEEP_TMP=1 keeps it and prints its name. */
#ifndef DM_TESTS_SUPPORT_TMPDIR_H
#define DM_TESTS_SUPPORT_TMPDIR_H

#include "tests/support/test.h"

int dm_test_dir_setup(void **state);
int dm_test_dir_teardown(void **state);
#define DM_TEST_IN_DIR(function)                                                                   \
    cmocka_unit_test_setup_teardown(function, dm_test_dir_setup, dm_test_dir_teardown)

/* The folder's absolute path. */
const char *dm_test_dir(void **state);
/* "folder/name"; valid until the test ends. */
const char *dm_test_path(void **state, const char *name);

#endif
