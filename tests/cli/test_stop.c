/* SPDX-License-Identifier: MIT */
/* SIGINT and SIGTERM: one exit code, one line, within a second, no child and no temporary folder.
 */
#include "cli/command.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdlib.h>
#include <string.h>

/* A C compiler that never ends stands for a long compilation, which no command looks up from. */
static void interrupt_compilation(void **state, const char *signal_name)
{
    static const char script[] =
        "printf '#!/bin/sh\\ncase \"$*\" in *--version*) echo cc 1;; *) echo $$ >\"$PWD_AT/pid\"; "
        "exec sleep 60;; esac\\n' >cc; chmod +x cc; mkdir tmp; "
        "PWD_AT=$PWD TMPDIR=$PWD/tmp DM_CACHE_DIR=$PWD/cache CC=$PWD/cc \"$0\" info --selftest "
        ">/dev/null & p=$!; "
        "until [ -s pid ]; do sleep 0.05; done; t=$(date +%s%N); kill -$1 $p; wait $p; code=$?; "
        "t=$((($(date +%s%N) - t) / 1000000)); "
        "[ -e /proc/$(cat pid)/exe ] && echo the compiler is still there; ls -A tmp; "
        "[ $t -lt 2000 ] || echo it took $t ms; exit $code";
    const char *program = getenv("DM_TEST_COMMAND");
    const char *argv[] = {
        "sh",        "-c",
        script,      program != NULL ? program : DM_TEST_BUILD_ROOT "/src/cli/dotmatrix",
        signal_name, NULL};
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = argv, .folder = dm_test_dir(state)}, &r);
    dm_test_expect_exit(&r, DM_EXIT_INTERRUPTED);
    assert_string_equal(r.out, "");
    assert_non_null(strstr(r.err, "interrupted\n"));
    dm_test_result_free(&r);
}

static void ctrl_c_ends_a_compilation(void **state)
{
    interrupt_compilation(state, "INT");
}

static void sigterm_ends_a_compilation(void **state)
{
    interrupt_compilation(state, "TERM");
}

DM_TESTS("cli/stop", DM_TEST_IN_DIR(ctrl_c_ends_a_compilation),
         DM_TEST_IN_DIR(sigterm_ends_a_compilation))
