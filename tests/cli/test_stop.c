/* SPDX-License-Identifier: MIT */
/* SIGINT and SIGTERM: one exit code, one line, within a second, no child and no temporary folder.
 */
#include "base/terminal/stop.h"
#include "cli/command.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The clock runs out between the command's line and the end of the process, as it does when a sanitizer looks for
 * leaks there. */
static void a_slow_end_tells_of_it_once(void **state)
{
    (void)state;
    int ends[2], status;
    char said[256] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        dm_stop_install();
        kill(getpid(), SIGINT);
        while (!dm_stop_requested())
            usleep(1000);
        dm_stop_kept("all of it is kept");
        dm_stop_tell("work");
        sleep(30);
        _exit(1);
    }
    close(ends[1]);
    size_t size = 0;
    ssize_t got;
    while (size < sizeof said - 1 && (got = read(ends[0], said + size, sizeof said - 1 - size)) > 0)
        size += (size_t)got;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), DM_STOP_EXIT_CODE);
    assert_string_equal(said, "dotmatrix work: interrupted; all of it is kept\n");
}

DM_TESTS("cli/stop", DM_TEST(a_slow_end_tells_of_it_once),
         DM_TEST_IN_DIR(ctrl_c_ends_a_compilation), DM_TEST_IN_DIR(sigterm_ends_a_compilation))
