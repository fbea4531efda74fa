/* SPDX-License-Identifier: MIT */
/* test_support.c - the helpers can fail: a difference is seen, a hang is ended, a crash is counted.
 */
#include "tests/support/command.h"
#include "tests/support/golden.h"
#include "tests/support/tmpdir.h"

#include "base/file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void write_text(const char *path, const char *text)
{
    assert_ok(dm_file_write(path, text, strlen(text), err));
}

static void run_shell(dm_test_result *result, const char *script)
{
    dm_test_command command = {.argv = (const char *const[]){"sh", "-c", script, NULL}};
    dm_test_run(&command, result);
}

/* ---- running programs ---- */

static void exit_code_and_streams_are_caught(void **state)
{
    (void)state;
    dm_test_result r;
    run_shell(&r, "echo out; echo err >&2; exit 3");
    assert_int_equal(r.exit_code, 3);
    assert_int_equal(r.signal, 0);
    assert_false(r.timed_out);
    assert_string_equal(r.out, "out\n");
    assert_string_equal(r.err, "err\n");
    dm_test_result_free(&r);
    assert_null(r.out);
}

static void input_environment_and_folder_arrive(void **state)
{
    setenv("DM_TEST_GONE", "1", 1);
    dm_test_result r;
    dm_test_command command = {
        .argv =
            (const char *const[]){"sh", "-c", "cat; pwd; echo \"$DM_TEST_A,$DM_TEST_GONE\"", NULL},
        .env = (const char *const[]){"DM_TEST_A=x=y", "DM_TEST_GONE", NULL},
        .folder = dm_test_dir(state),
        .input = "line\n",
    };
    dm_test_run(&command, &r);
    char expected[DM_PATH_MAX + 100], real[DM_PATH_MAX];
    assert_non_null(realpath(dm_test_dir(state), real));
    snprintf(expected, sizeof expected, "line\n%s\nx=y,\n", real);
    assert_string_equal(r.out, expected);
    dm_test_result_free(&r);
    assert_string_equal(getenv("DM_TEST_GONE"), "1");
}

/* More than a pipe holds, both ways at once. */
static void large_streams_do_not_block(void **state)
{
    (void)state;
    size_t size = 3 << 20;
    char *input = malloc(size);
    for (size_t i = 0; i < size; i++)
        input[i] = (char)(i * 31 >> 3);
    dm_test_command command = {
        .argv = (const char *const[]){"sh", "-c", "tee /dev/stderr", NULL},
        .input = input,
        .input_size = size,
    };
    dm_test_result r;
    dm_test_run(&command, &r);
    dm_test_expect_exit(&r, 0);
    assert_int_equal(r.out_size, size);
    assert_memory_equal(r.out, input, size);
    assert_int_equal(r.err_size, size);
    dm_test_result_free(&r);
    /* and a program that does not read it */
    command.argv = (const char *const[]){"true", NULL};
    dm_test_run(&command, &r);
    assert_int_equal(r.exit_code, 0);
    dm_test_result_free(&r);
    free(input);
}

static void a_signal_is_told(void **state)
{
    (void)state;
    dm_test_result r;
    run_shell(&r, "kill -TERM $$");
    assert_int_equal(r.exit_code, -1);
    assert_int_equal(r.signal, SIGTERM);
    assert_false(r.timed_out);
    dm_test_result_free(&r);
}

/* True soon after the process is gone; a zombie counts as gone. */
static bool process_ended(long pid)
{
    for (int i = 0; i < 200; i++) {
        char path[64], *text = NULL;
        size_t size;
        snprintf(path, sizeof path, "/proc/%ld/stat", pid);
        if (dm_file_read(path, 0, &text, &size, NULL) != DM_OK)
            return true;
        const char *after_name = strrchr(text, ')');
        bool zombie = after_name != NULL && (after_name[2] == 'Z' || after_name[2] == 'X');
        free(text);
        if (zombie)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

static void a_hang_is_killed_with_its_children(void **state)
{
    (void)state;
    dm_test_command command = {
        .argv = (const char *const[]){"sh", "-c", "sleep 1000 & echo $!; sleep 1000", NULL},
        .seconds = 0.3,
    };
    dm_test_result r;
    dm_test_run(&command, &r);
    assert_true(r.timed_out);
    assert_int_equal(r.exit_code, -1);
    assert_int_equal(r.signal, SIGKILL);
    assert_true(r.seconds >= 0.3 && r.seconds < 30);
    long grandchild = atol(r.out);
    assert_true(grandchild > 1);
    assert_true(process_ended(grandchild));
    dm_test_result_free(&r);
}

/* The program ends, what it started keeps the pipes open: no waiting, and it is ended too. */
static void what_stays_behind_is_ended(void **state)
{
    (void)state;
    dm_test_result r;
    run_shell(&r, "sleep 1000 & echo $!");
    assert_int_equal(r.exit_code, 0);
    assert_true(r.seconds < 30);
    assert_true(process_ended(atol(r.out)));
    dm_test_result_free(&r);
}

static void the_command_can_be_replaced(void **state)
{
    const char *script = dm_test_path(state, "fake");
    write_text(script, "#!/bin/sh\necho \"$#:$1:$2\"\n");
    assert_int_equal(chmod(script, 0755), 0);
    const char *before = getenv("DM_TEST_COMMAND");
    char *saved = before != NULL ? strdup(before) : NULL;
    setenv("DM_TEST_COMMAND", script, 1);
    dm_test_result r;
    dm_test_dotmatrix(&r, "info", "--json");
    if (saved != NULL)
        setenv("DM_TEST_COMMAND", saved, 1);
    else
        unsetenv("DM_TEST_COMMAND");
    free(saved);
    dm_test_expect_exit(&r, 0);
    assert_string_equal(r.out, "2:info:--json\n");
    dm_test_result_free(&r);
}

/* ---- golden files ---- */

static void assert_differs(const char *path, const char *text, bool is_text, const char *report)
{
    dm_buffer got = DM_BUFFER_EMPTY;
    assert_false(dm_golden_compare(path, text, strlen(text), is_text, &got));
    if (strstr(dm_buffer_text(&got), report) == NULL)
        fail_msg("'%s' does not say '%s'", dm_buffer_text(&got), report);
    dm_buffer_deinit(&got);
}

static void golden_difference_is_shown(void **state)
{
    const char *path = dm_test_path(state, "g.txt");
    write_text(path, "one\ntwo\nthree\n");
    dm_buffer report = DM_BUFFER_EMPTY;
    assert_true(dm_golden_compare(path, "one\ntwo\nthree\n", 14, true, &report));
    assert_string_equal(dm_buffer_text(&report), "");
    dm_buffer_deinit(&report);
    assert_differs(path, "one\ntwx\nthree\n", true,
                   "differs at line 2\n  golden: two\\n\n  actual: twx\\n\n");
    assert_differs(path, "one\ntwo\n", true,
                   "differs at line 3\n  golden: three\\n\n  actual: (end of text)\n");
    assert_differs(path, "one\ntwo\nthree", true, "golden: three\\n\n  actual: three\n");
    assert_differs(path, "one\ntwo\nthree\n\tx", true,
                   "differs at line 4\n  golden: (end of text)\n  actual: \\x09x\n");
    assert_differs(path, "one\ntwo\nthrEe\n", false,
                   "differs at byte 0xb; 14 bytes golden, 14 actual");
    assert_differs(path, "", false, "byte 0x0; 14 bytes golden, 0 actual");
    assert_differs(dm_test_path(state, "none"), "x", true, strerror(ENOENT));
}

static void golden_is_written_when_asked(void **state)
{
    setenv("DM_TEST_GOLDEN", dm_test_dir(state), 1);
    setenv("DM_UPDATE_GOLDEN", "1", 1);
    dm_golden_text("new/sub/a.txt", "text\n");
    dm_golden_bytes("new/b.bin", "\0\1", 2);
    unsetenv("DM_UPDATE_GOLDEN");
    dm_golden_text("new/sub/a.txt", "text\n");
    dm_golden_bytes("new/b.bin", "\0\1", 2);
    unsetenv("DM_TEST_GOLDEN");
}

/* ---- the runner, run on groups that exist only for this ---- */

#define SELFTEST "DM_TEST_SELFTEST"

static void passes(void **state)
{
    (void)state;
}

static void fails(void **state)
{
    (void)state;
    assert_int_equal(1, 2);
}

static void skips(void **state)
{
    (void)state;
    dm_test_skip("because of %s", "this");
}

static void wrong_golden(void **state)
{
    (void)state;
    dm_golden_text("none.txt", "x");
}

static void hangs(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid > 0) {
        char number[32];
        snprintf(number, sizeof number, "%ld", (long)pid);
        assert_ok(dm_file_write(getenv(SELFTEST), number, strlen(number), err));
    }
    for (;;)
        pause();
}

static void leaves_a_child(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    char number[32];
    snprintf(number, sizeof number, "%ld", (long)pid);
    assert_ok(dm_file_write(getenv(SELFTEST), number, strlen(number), err));
}

static void is_killed(void **state)
{
    (void)state;
    raise(SIGKILL);
}

static void exits(void **state)
{
    (void)state;
    _exit(0);
}

static void reads_stdin(void **state)
{
    (void)state;
    assert_int_equal(getchar(), EOF);
}

static void starts_no_program(void **state)
{
    (void)state;
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = (const char *const[]){"/no/such/program", NULL}}, &r);
}

static void registers_selftests(void);
__attribute__((constructor)) static void registers_selftests(void)
{
    static const struct CMUnitTest mixed[] = {DM_TEST(passes), DM_TEST(fails), DM_TEST(skips),
                                              DM_TEST(wrong_golden), DM_TEST(starts_no_program)};
    static const struct CMUnitTest hang[] = {DM_TEST(hangs)};
    static const struct CMUnitTest left[] = {DM_TEST(leaves_a_child)};
    static const struct CMUnitTest killed[] = {DM_TEST(passes), DM_TEST(is_killed)};
    static const struct CMUnitTest exiting[] = {DM_TEST(exits)};
    static const struct CMUnitTest stdin_reader[] = {DM_TEST(reads_stdin)};
    static dm_test_group groups[] = {
        {"selftest/mixed", mixed, 5, NULL},  {"selftest/hang", hang, 1, NULL},
        {"selftest/left", left, 1, NULL},    {"selftest/killed", killed, 2, NULL},
        {"selftest/exit", exiting, 1, NULL}, {"selftest/stdin", stdin_reader, 1, NULL},
    };
    if (getenv(SELFTEST) != NULL)
        for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
            dm_test_register(&groups[i]);
}

/* Run this program on one of those groups. */
static void run_selftest(void **state, const char *group, dm_test_result *result)
{
    char variable[DM_PATH_MAX + 32];
    snprintf(variable, sizeof variable, SELFTEST "=%s", dm_test_path(state, "pid"));
    dm_test_command command = {
        .argv = (const char *const[]){"/proc/self/exe", "--timeout", "1", group, NULL},
        .env = (const char *const[]){variable, "DM_TEST_GOLDEN=/nonexistent", NULL},
        .input = "not for tests\n",
    };
    dm_test_run(&command, result);
}

static void assert_says(const dm_test_result *r, const char *text)
{
    if (strstr(r->out, text) == NULL)
        fail_msg("'%s' is not in:\n%s", text, r->out);
}

static void runner_counts_and_shows_failures(void **state)
{
    dm_test_result r;
    run_selftest(state, "selftest/mixed", &r);
    dm_test_expect_exit(&r, 1);
    assert_says(&r, "FAIL selftest/mixed");
    assert_says(&r, "1 != 0x2");
    assert_says(&r, "SKIPPED: because of this");
    assert_says(&r, "/nonexistent/none.txt");
    assert_says(&r, "cannot run /no/such/program: ");
    assert_says(&r, "\n1 passed, 3 failed, 1 skipped\n");
    dm_test_result_free(&r);
}

static void runner_survives_killed_and_exiting_groups(void **state)
{
    dm_test_result r;
    run_selftest(state, "selftest/killed", &r);
    dm_test_expect_exit(&r, 1);
    assert_says(&r, strsignal(SIGKILL));
    assert_says(&r, "\n0 passed, 2 failed, 0 skipped\n");
    dm_test_result_free(&r);
    run_selftest(state, "selftest/exit", &r);
    dm_test_expect_exit(&r, 1);
    assert_says(&r, "ended early");
    dm_test_result_free(&r);
}

static void assert_child_ended(void **state)
{
    char *text = NULL;
    size_t size;
    assert_ok(dm_file_read(dm_test_path(state, "pid"), 0, &text, &size, err));
    assert_true(atol(text) > 1);
    assert_true(process_ended(atol(text)));
    free(text);
}

static void runner_ends_a_hang_and_its_children(void **state)
{
    dm_test_result r;
    run_selftest(state, "selftest/hang", &r);
    dm_test_expect_exit(&r, 1);
    assert_says(&r, "timed out");
    assert_says(&r, "\n0 passed, 1 failed, 0 skipped\n");
    assert_true(r.seconds < 30);
    dm_test_result_free(&r);
    assert_child_ended(state);
}

static void runner_ends_what_a_group_leaves(void **state)
{
    dm_test_result r;
    run_selftest(state, "selftest/left", &r);
    dm_test_expect_exit(&r, 0);
    assert_says(&r, "\n1 passed, 0 failed, 0 skipped\n");
    dm_test_result_free(&r);
    assert_child_ended(state);
}

static void runner_gives_no_stdin(void **state)
{
    dm_test_result r;
    run_selftest(state, "selftest/stdin", &r);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
}

static void runner_refuses_bad_arguments(void **state)
{
    dm_test_result r;
    run_selftest(state, "no such group", &r);
    dm_test_expect_exit(&r, 2);
    assert_non_null(strstr(r.err, "no group matches"));
    dm_test_result_free(&r);
    dm_test_run(&(dm_test_command){.argv = (const char *const[]){"/proc/self/exe", "--what", NULL}},
                &r);
    dm_test_expect_exit(&r, 2);
    assert_non_null(strstr(r.err, "usage"));
    dm_test_result_free(&r);
}

/* ---- temporary folders ---- */

static char last_folder[DM_PATH_MAX];

static void folder_is_there_and_empty(void **state)
{
    assert_true(dm_dir_exists(dm_test_dir(state)));
    assert_ok(dm_dir_create(dm_test_path(state, "a/b"), err));
    write_text(dm_test_path(state, "a/b/f"), "x");
    assert_ok(dm_path_join(last_folder, "", dm_test_dir(state), err));
}

static void folder_is_gone_afterwards(void **state)
{
    assert_string_not_equal(last_folder, dm_test_dir(state));
    assert_false(dm_dir_exists(last_folder));
}

DM_TESTS("support/support", DM_TEST(exit_code_and_streams_are_caught),
         DM_TEST_IN_DIR(input_environment_and_folder_arrive), DM_TEST(large_streams_do_not_block),
         DM_TEST(a_signal_is_told), DM_TEST(a_hang_is_killed_with_its_children),
         DM_TEST(what_stays_behind_is_ended), DM_TEST_IN_DIR(the_command_can_be_replaced),
         DM_TEST_IN_DIR(golden_difference_is_shown), DM_TEST_IN_DIR(golden_is_written_when_asked),
         DM_TEST_IN_DIR(runner_counts_and_shows_failures),
         DM_TEST_IN_DIR(runner_survives_killed_and_exiting_groups),
         DM_TEST_IN_DIR(runner_ends_a_hang_and_its_children),
         DM_TEST_IN_DIR(runner_ends_what_a_group_leaves), DM_TEST_IN_DIR(runner_gives_no_stdin),
         DM_TEST_IN_DIR(runner_refuses_bad_arguments), DM_TEST_IN_DIR(folder_is_there_and_empty),
         DM_TEST_IN_DIR(folder_is_gone_afterwards))
