/* SPDX-License-Identifier: MIT */
/* command.h - run a program and look at what it did.
 *
 *     dm_test_result r;
 *     dm_test_dotmatrix(&r, "info", "--json");
 *     assert_int_equal(r.exit_code, 0);
 *     assert_string_equal(r.err, "");
 *     dm_test_result_free(&r);
 *
 * The program runs in a process group of its own. When it ends or its time is over, the whole group
 * is killed, so that nothing it started stays behind. */
#ifndef DM_TESTS_SUPPORT_COMMAND_H
#define DM_TESTS_SUPPORT_COMMAND_H

#include "tests/support/test.h"

#define DM_TEST_COMMAND_SECONDS 60

typedef struct dm_test_command {
    const char *const *argv; /* ends with NULL; found through $PATH like in a shell */
    const char *const
        *env;           /* NULL, or changes that end with NULL: "NAME=value", or "NAME" to unset */
    const char *folder; /* to run in; NULL: here */
    const void *input;  /* for stdin; NULL: empty */
    size_t input_size;  /* 0 with an input: its strlen */
    double seconds;     /* time limit; 0: DM_TEST_COMMAND_SECONDS */
} dm_test_command;

typedef struct dm_test_result {
    int exit_code;   /* -1 when it did not exit by itself */
    int signal;      /* that ended it, or 0 */
    bool timed_out;  /* killed by us; signal is SIGKILL then */
    char *out, *err; /* stdout and stderr, NUL-terminated */
    size_t out_size, err_size;
    double seconds;
} dm_test_result;

/* Fails the test when the program cannot be started at all. */
void dm_test_run(const dm_test_command *command, dm_test_result *result);
void dm_test_result_free(dm_test_result *result);

/* Run the built `dotmatrix` ($DM_TEST_COMMAND names another) with these arguments. `command` gives
 * everything but argv, and may be NULL. */
void dm_test_run_dotmatrix(const dm_test_command *command, const char *const *arguments,
                           dm_test_result *result);
#define dm_test_dotmatrix(result, ...)                                                             \
    dm_test_run_dotmatrix(NULL, (const char *const[]){__VA_ARGS__, NULL}, result)

/* A Python that has these modules ("jax" or "tiktoken, regex"): $DM_PEER_PYTHON, else .venv's, else
 * python3; the test is skipped when it lacks one. Valid until the next call. */
const char *dm_test_python_with(const char *modules);

/* Fail, showing everything the program wrote, unless it exited with `code`. */
void dm_test_expect_exit(const dm_test_result *result, int code);

#endif
