/* SPDX-License-Identifier: MIT */
/* tools/build with a fake meson and ninja in front of the real ones. */
#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* $d is a checkout with a build folder that was configured in $was; $steps is what ninja counts. */
static const char prelude[] =
    "set -eu; mkdir -p $d/tools $d/bin $d/build/meson-info; cp $root/tools/build $d/tools/build\n"
    "printf '{\"directories\": {\"source\": \"%s\"}}' $was >$d/build/meson-info/meson-info.json\n"
    "touch $d/build/build.ninja $d/calls\n"
    "printf '#!/bin/sh\\necho meson $1 >>$d/calls\\n' >$d/bin/meson\n"
    "printf '#!/bin/sh\\ncase \"$*\" in *-n*) echo \"[1/%s] x\";; esac\\n' $steps >$d/bin/ninja\n"
    "chmod +x $d/bin/*; export d PATH=$d/bin:$PATH\n"
    "$d/tools/build build; cat $d/calls\n";

static void build(void **state, dm_test_result *result, const char *was, const char *steps)
{
    if (!dm_file_exists(DM_TEST_SOURCE_ROOT "/tools/build"))
        dm_test_skip("the sources are not here");
    setenv("d", dm_test_dir(state), 1);
    setenv("root", DM_TEST_SOURCE_ROOT, 1);
    setenv("was", was, 1);
    setenv("steps", steps, 1);
    dm_test_run(&(dm_test_command){.argv = (const char *const[]){"sh", "-c", prelude, NULL}},
                result);
    dm_test_expect_exit(result, 0);
}

static void says_nothing_when_little_is_to_be_done(void **state)
{
    dm_test_result r;
    build(state, &r, dm_test_dir(state), "3");
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, "");
    dm_test_result_free(&r);
}

static void a_moved_checkout_is_configured_anew(void **state)
{
    dm_test_result r;
    build(state, &r, "/nowhere/else", "3");
    assert_string_equal(r.out, "meson setup\n");
    assert_string_equal(
        r.err, "build: the checkout was moved from /nowhere/else; build is configured anew\n");
    dm_test_result_free(&r);
}

static void a_long_build_is_told(void **state)
{
    dm_test_result r;
    build(state, &r, dm_test_dir(state), "500");
    assert_string_equal(r.err,
                        "build: 500 files to compile in build; this takes minutes on few cores\n");
    dm_test_result_free(&r);
}

DM_TESTS("tools/build", DM_TEST_IN_DIR(says_nothing_when_little_is_to_be_done),
         DM_TEST_IN_DIR(a_moved_checkout_is_configured_anew), DM_TEST_IN_DIR(a_long_build_is_told))
