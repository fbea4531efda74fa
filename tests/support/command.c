/* SPDX-License-Identifier: MIT */
/* command.c - see command.h. */
#include "tests/support/command.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS                                                                                    \
    20 /* how soon the end of the program is seen when a child of it keeps a pipe open */
#define ARGUMENTS_MAX 128

/* Our ends of the program's pipes; -1 once closed. */
typedef struct channels {
    int in, out, err;
    const char *input;
    size_t input_left;
    dm_buffer out_text, err_text;
} channels;

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void change_environment(const char *const *env)
{
    for (; env != NULL && *env != NULL; env++) {
        const char *equals = strchr(*env, '=');
        if (equals == NULL) {
            unsetenv(*env);
        } else {
            char *name = strndup(*env, (size_t)(equals - *env));
            setenv(name, equals + 1, 1);
            free(name);
        }
    }
}

/* In the child; returns only on failure. */
static void become(const dm_test_command *command, int in, int out, int err)
{
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        return;
    if (command->folder != NULL && chdir(command->folder) != 0)
        return;
    change_environment(command->env);
    execvp(command->argv[0], (char *const *)command->argv);
}

/* Start the program. A failure between fork and exec comes back as an errno through a pipe that a
 * good exec closes. */
static pid_t start(const dm_test_command *command, channels *ch)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, report[2] = {-1, -1};
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 ||
        pipe2(report, O_CLOEXEC) != 0)
        fail_msg("no pipes: %s", strerror(errno));
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        fail_msg("fork: %s", strerror(errno));
    if (pid == 0) {
        become(command, in[0], out[1], err[1]);
        int error = errno;
        _exit(write(report[1], &error, sizeof error) > 0 ? 127 : 126);
    }
    setpgid(pid, pid); /* also here: whoever comes first */
    close(in[0]);
    close(out[1]);
    close(err[1]);
    close(report[1]);
    int error = 0;
    ssize_t got = read(report[0], &error, sizeof error);
    close(report[0]);
    ch->in = in[1];
    ch->out = out[0];
    ch->err = err[0];
    if (got > 0) {
        waitpid(pid, NULL, 0);
        close_end(&ch->in);
        close_end(&ch->out);
        close_end(&ch->err);
        fail_msg("cannot run %s: %s", command->argv[0], strerror(error));
    }
    for (int i = 0; i < 3; i++) {
        int fd = i == 0 ? ch->in : i == 1 ? ch->out : ch->err;
        fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    return pid;
}

/* Take what is there; closes at the end of the text. */
static void drain(int *fd, dm_buffer *text)
{
    while (*fd >= 0) {
        char bytes[65536];
        ssize_t got = read(*fd, bytes, sizeof bytes);
        if (got > 0)
            dm_buffer_append(text, bytes, (size_t)got);
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            close_end(fd);
        else if (errno == EAGAIN)
            return;
    }
}

static void feed(channels *ch)
{
    while (ch->in >= 0 && ch->input_left > 0) {
        ssize_t put = write(ch->in, ch->input, ch->input_left);
        if (put < 0) {
            if (errno == EAGAIN)
                return;
            if (errno == EINTR)
                continue;
            break; /* it does not want to read on */
        }
        ch->input += put;
        ch->input_left -= (size_t)put;
    }
    close_end(&ch->in);
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Talk to the program until it ended or the time is over; true when it ended. */
static bool converse(pid_t pid, channels *ch, uint64_t until)
{
    for (;;) {
        feed(ch);
        drain(&ch->out, &ch->out_text);
        drain(&ch->err, &ch->err_text);
        if (has_ended(pid)) {
            drain(&ch->out, &ch->out_text); /* what it wrote just before */
            drain(&ch->err, &ch->err_text);
            return true;
        }
        if (dm_time_ns() >= until)
            return false;
        struct pollfd fds[3] = {{ch->in, POLLOUT, 0}, {ch->out, POLLIN, 0}, {ch->err, POLLIN, 0}};
        poll(fds, 3, ch->out < 0 && ch->err < 0 ? 1 : TICK_MS);
    }
}

void dm_test_run(const dm_test_command *command, dm_test_result *result)
{
    *result = (dm_test_result){.exit_code = -1};
    channels ch = {.input = command->input, .input_left = command->input_size};
    if (ch.input != NULL && ch.input_left == 0)
        ch.input_left = strlen(ch.input);
    double limit = command->seconds > 0 ? command->seconds : DM_TEST_COMMAND_SECONDS;
    void (*old_handler)(int) = signal(SIGPIPE, SIG_IGN);
    uint64_t started = dm_time_ns();
    pid_t pid = start(command, &ch);
    result->timed_out = !converse(pid, &ch, started + (uint64_t)(limit * 1e9));
    kill(-pid, SIGKILL); /* before it is reaped, so that the number is still its own */
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    result->seconds = (double)(dm_time_ns() - started) * 1e-9;
    close_end(&ch.in);
    close_end(&ch.out);
    close_end(&ch.err);
    signal(SIGPIPE, old_handler);
    if (WIFEXITED(status) && !result->timed_out)
        result->exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        result->signal = WTERMSIG(status);
    result->out_size = ch.out_text.size;
    result->err_size = ch.err_text.size;
    result->out = dm_buffer_take(&ch.out_text);
    result->err = dm_buffer_take(&ch.err_text);
    assert_non_null(result->out);
    assert_non_null(result->err);
}

void dm_test_result_free(dm_test_result *result)
{
    free(result->out);
    free(result->err);
    *result = (dm_test_result){.exit_code = -1};
}

void dm_test_run_dotmatrix(const dm_test_command *command, const char *const *arguments,
                           dm_test_result *result)
{
    const char *argv[ARGUMENTS_MAX] = {getenv("DM_TEST_COMMAND")};
    if (argv[0] == NULL || *argv[0] == 0)
        argv[0] = DM_TEST_BUILD_ROOT "/src/cli/dotmatrix";
    size_t count = 1;
    for (; *arguments != NULL; arguments++) {
        assert_true(count < ARGUMENTS_MAX - 1);
        argv[count++] = *arguments;
    }
    dm_test_command whole = command != NULL ? *command : (dm_test_command){0};
    whole.argv = argv;
    dm_test_run(&whole, result);
}

const char *dm_test_python_with(const char *modules)
{
    static char path[DM_PATH_MAX];
    const char *python = getenv("DM_PEER_PYTHON");
    char import[128];
    if (python == NULL) {
        assert_ok(dm_path_join(path, dm_test_source_root(), ".venv/bin/python", err));
        python = dm_file_exists(path) ? path : "python3";
    }
    snprintf(import, sizeof import, "import %s", modules);
    const char *const argv[] = {python, "-c", import, NULL};
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = argv}, &r);
    bool there = r.exit_code == 0;
    dm_test_result_free(&r);
    if (!there)
        dm_test_skip("%s has no %s; DM_PEER_PYTHON names another interpreter", python, modules);
    return python;
}

void dm_test_expect_exit(const dm_test_result *result, int code)
{
    if (result->exit_code == code)
        return;
    print_error("--- stdout\n%s\n--- stderr\n%s\n---\n", result->out, result->err);
    if (result->timed_out)
        fail_msg("exit code %d expected, but it was killed after %.1f s", code, result->seconds);
    if (result->signal != 0)
        fail_msg("exit code %d expected, ended by %s", code, strsignal(result->signal));
    fail_msg("exit code %d expected, got %d", code, result->exit_code);
}
