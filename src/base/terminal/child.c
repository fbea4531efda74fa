/* SPDX-License-Identifier: MIT */
/* child.c - see child.h. */
#include "base/terminal/child.h"

#include "base/terminal/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

dm_status dm_child_run(const char *program, char *const argv[], char *const env[],
                       const char *folder, const char *log, int *exit_code, dm_error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (folder != NULL)
        posix_spawn_file_actions_addchdir_np(&actions, folder);
    pid_t pid;
    posix_spawnattr_t attributes; /* a group of its own, so that what it starts ends with it */
    posix_spawnattr_init(&attributes);
    sigset_t none; /* of blocked signals (stop.h) */
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    int code = posix_spawn(&pid, program, &actions, &attributes, argv, env != NULL ? env : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0)
        return dm_fail(err, DM_EUNAVAILABLE, "cannot run %s: %s", program, strerror(code));
    dm_stop_child_add(pid);
    int status, waited;
    do {
        waited = waitpid(pid, &status, 0);
    } while (waited < 0 && errno == EINTR);
    dm_stop_child_remove(pid);
    if (waited < 0)
        return dm_fail(err, DM_EIO, "waiting for %s: %s", program, strerror(errno));
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return DM_OK;
}
