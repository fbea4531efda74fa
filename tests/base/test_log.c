/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/terminal/log.h"
#include "tests/support/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Run `body` in a child whose stderr is a file; returns the text, to be freed. */
static char *stderr_of(void **state, void (*body)(void))
{
    const char *path = dm_test_path(state, "stderr");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        dup2(fd, STDERR_FILENO);
        body();
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    char *text = NULL;
    size_t size;
    assert_ok(dm_file_read(path, 0, &text, &size, err));
    return text;
}

static void assert_logged(void **state, void (*body)(void), const char *expected)
{
    char *text = stderr_of(state, body);
    assert_string_equal(text, expected);
    free(text);
}

static void all_levels(void)
{
    dm_log(DM_LOG_ERROR, "e %d", 1);
    dm_log(DM_LOG_WARN, "w");
    dm_log(DM_LOG_INFO, "i");
    dm_log(DM_LOG_DEBUG, "d");
}

static void all_levels_at_debug(void)
{
    dm_log_set_level(DM_LOG_DEBUG);
    all_levels();
}

static void level_comes_from_the_environment(void **state)
{
    unsetenv("DM_LOG");
    assert_logged(state, all_levels, "dotmatrix: error: e 1\ndotmatrix: warn: w\n");
    setenv("DM_LOG", "error", 1);
    assert_logged(state, all_levels, "dotmatrix: error: e 1\n");
    assert_logged(state, all_levels_at_debug,
                  "dotmatrix: error: e 1\ndotmatrix: warn: w\ndotmatrix: info: i\n"
                  "dotmatrix: debug: d\n");
    setenv("DM_LOG", "info", 1);
    assert_logged(state, all_levels,
                  "dotmatrix: error: e 1\ndotmatrix: warn: w\ndotmatrix: info: i\n");
    setenv("DM_LOG", "loud", 1); /* said once, and the default taken */
    assert_logged(state, all_levels,
                  "dotmatrix: warn: DM_LOG=loud is no level: error, warn, info or debug\n"
                  "dotmatrix: error: e 1\ndotmatrix: warn: w\n");
    unsetenv("DM_LOG");
}

static void levels_have_names(void **state)
{
    (void)state;
    dm_log_level level = DM_LOG_DEBUG;
    assert_true(dm_log_parse_level("warn", &level));
    assert_int_equal(level, DM_LOG_WARN);
    assert_true(dm_log_parse_level("error", &level));
    assert_int_equal(level, DM_LOG_ERROR);
    assert_false(dm_log_parse_level("WARN", &level));
    assert_false(dm_log_parse_level("", &level));
    assert_int_equal(level, DM_LOG_ERROR);
}

static void odd_messages(void)
{
    dm_log(DM_LOG_ERROR, "title \033[31m\r\x7f.\n\n");
    char text[5000];
    memset(text, 'l', sizeof text - 1);
    text[sizeof text - 1] = 0;
    dm_log(DM_LOG_ERROR, "%s", text);
    errno = ENOTTY;
    dm_log(DM_LOG_ERROR, "errno");
    if (errno != ENOTTY)
        _exit(1);
}

static void odd_messages_are_defused_and_whole(void **state)
{
    char *text = stderr_of(state, odd_messages);
    static const char first[] = "dotmatrix: error: title ?[31m??.\ndotmatrix: error: llll";
    assert_memory_equal(text, first, sizeof first - 1);
    assert_int_equal(strspn(strchr(text, '\n') + strlen("\ndotmatrix: error: "), "l"), 4999);
    free(text);
}

static void *log_often(void *argument)
{
    char line[301];
    memset(line, *(char *)argument, 300);
    line[300] = 0;
    for (int i = 0; i < 200; i++)
        dm_log(DM_LOG_ERROR, "%s", line);
    return NULL;
}

static void log_from_threads(void)
{
    pthread_t threads[4];
    static char letters[4] = {'a', 'b', 'c', 'd'};
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, log_often, &letters[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void lines_of_threads_do_not_mix(void **state)
{
    char *text = stderr_of(state, log_from_threads);
    int lines = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"), lines++) {
        assert_memory_equal(line, "dotmatrix: error: ", 18);
        assert_int_equal(strlen(line), 318);
        for (int i = 19; i < 318; i++)
            assert_int_equal(line[i], line[18]);
    }
    assert_int_equal(lines, 800);
    free(text);
}

static void closed_stderr(void)
{
    close(STDERR_FILENO);
    dm_log(DM_LOG_ERROR, "nobody hears");
}

static void closed_stderr_is_survived(void **state)
{
    assert_logged(state, closed_stderr, "");
}

static void with_status(void)
{
    dm_log_status("");
    dm_log_status("bar 1");
    dm_log(DM_LOG_ERROR, "message");
    dm_log_status("bar 2");
    dm_log_line("line");
    dm_log_status("");
    dm_log(DM_LOG_ERROR, "after");
}

static void messages_go_above_the_status(void **state)
{
    assert_logged(state, with_status,
                  "\r\033[Kbar 1"
                  "\r\033[Kdotmatrix: error: message\nbar 1"
                  "\r\033[Kbar 2"
                  "\r\033[Kline\nbar 2"
                  "\r\033[K"
                  "dotmatrix: error: after\n");
}

DM_TESTS("base/log", DM_TEST_IN_DIR(level_comes_from_the_environment), DM_TEST(levels_have_names),
         DM_TEST_IN_DIR(odd_messages_are_defused_and_whole),
         DM_TEST_IN_DIR(lines_of_threads_do_not_mix), DM_TEST_IN_DIR(closed_stderr_is_survived),
         DM_TEST_IN_DIR(messages_go_above_the_status))
