/* SPDX-License-Identifier: MIT */
#include "base/host/machine.h"

#include "base/host/build.h"
#include "base/thread.h"
#include "tests/support/tmpdir.h"

#include <stdlib.h>
#include <string.h>

static void query_fills_what_every_linux_has(void **state)
{
    (void)state;
    dm_machine machine;
    memset(&machine, 0xff, sizeof machine);
    dm_machine_query(&machine);
    assert_int_equal(machine.cores, dm_cpu_count());
    assert_true(machine.memory_bytes > 1 << 20);
    assert_true(machine.memory_available_bytes <= machine.memory_bytes);
    assert_non_null(strstr(machine.os, "Linux"));
    assert_true(machine.architecture[0] != 0);
    assert_non_null(memchr(machine.cpu_features, 0, sizeof machine.cpu_features));
#if defined(__AVX2__)
    assert_non_null(strstr(machine.cpu_features, "avx2"));
#endif
}

static void programs_are_found_on_the_path(void **state)
{
    char path[DM_PATH_MAX];
    assert_true(dm_program_find(path, "sh"));
    assert_string_equal(path + strlen(path) - 3, "/sh");
    assert_false(dm_program_find(path, "no-such-program-here"));
    assert_string_equal(path, "");

    setenv("PATH", "::/nowhere", 1); /* empty entries are not the working folder to us */
    assert_false(dm_program_find(path, "sh"));
    setenv("PATH", dm_test_dir(state), 1);
    assert_ok(dm_file_write(dm_test_path(state, "plain"), "", 0, err));
    assert_false(dm_program_find(path, "plain")); /* not executable */
    unsetenv("PATH");
    assert_false(dm_program_find(path, "sh"));
}

static void the_build_knows_itself(void **state)
{
    (void)state;
    assert_true(strlen(dm_build_commit) >= 7);
    assert_null(strchr(dm_build_commit, '@'));
    assert_true(strlen(dm_build_type) > 0);
    assert_non_null(strchr(dm_build_compiler, ' '));
}

DM_TESTS("base/machine", DM_TEST(query_fills_what_every_linux_has),
         DM_TEST_IN_DIR(programs_are_found_on_the_path), DM_TEST(the_build_knows_itself))
