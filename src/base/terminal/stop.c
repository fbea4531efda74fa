/* SPDX-License-Identifier: MIT */
/* stop.c - see stop.h.
 *
 * The two signals are blocked in every thread, and one thread waits for them. So no handler of a
 * library that is called can end the process first (NVRTC 13 installs its own while it compiles and
 * exits with 4), and what has to be done is done with ordinary calls. */
#include "base/terminal/stop.h"
#include "base/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN_MAX 512
#define FOLDERS_MAX 1024
#define HELD_TENTHS_MAX 100 /* ten seconds */

static atomic_bool requested;
static atomic_int children[CHILDREN_MAX]; /* process groups; 0: free */
static atomic_int holds;
static sigset_t signals; /* those that are waited for */

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER; /* of `told` */
static bool told;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static char *folders[FOLDERS_MAX];
static int locks[FOLDERS_MAX]; /* temp.h: held as long as the folder is in use */
static char kept[512];

static void kill_children(void)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        int pid = atomic_load(&children[i]);
        if (pid > 0 && kill(-pid, SIGKILL) != 0)
            kill(pid, SIGKILL); /* its group is not made yet */
    }
}

/* dm_dir_remove would ask for the mutex again, so the list is emptied first. */
static void remove_folders(void)
{
    char *list[FOLDERS_MAX];
    pthread_mutex_lock(&mutex);
    memcpy(list, folders, sizeof list);
    memset(folders, 0, sizeof folders);
    pthread_mutex_unlock(&mutex);
    for (size_t i = 0; i < FOLDERS_MAX; i++)
        if (list[i] != NULL)
            dm_dir_remove(list[i], NULL);
}

/* Wait so long; a second signal ends the process. */
static void wait_for_another(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    if (sigtimedwait(&signals, NULL, &left) > 0)
        _exit(DM_STOP_EXIT_CODE);
}

static void *wait_for_signal(void *unused)
{
    (void)unused;
    int number;
    while (sigwait(&signals, &number) != 0) {
    }
    atomic_store(&requested, true);
    kill_children();
    wait_for_another(DM_STOP_SECONDS);
    for (int i = 0; i < HELD_TENTHS_MAX && atomic_load(&holds) > 0; i++)
        wait_for_another(0.1);
    kill_children(); /* those begun since */
    remove_folders();
    dm_stop_tell("");
    _exit(DM_STOP_EXIT_CODE);
}

/* A forked child has no thread that waits: the signals end it as usual. */
static void unblock(void)
{
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

void dm_stop_install(void)
{
    pthread_t thread;
    sigset_t before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    if (pthread_atfork(NULL, NULL, unblock) != 0 ||
        pthread_create(&thread, NULL, wait_for_signal, NULL) != 0) {
        pthread_sigmask(SIG_SETMASK, &before, NULL); /* the signals end the process as usual */
        return;
    }
    pthread_detach(thread);
}

bool dm_stop_requested(void)
{
    return atomic_load_explicit(&requested, memory_order_relaxed);
}

void dm_stop_hold(void)
{
    atomic_fetch_add(&holds, 1);
}

void dm_stop_release(void)
{
    atomic_fetch_sub(&holds, 1);
}

void dm_stop_child_add(pid_t pid)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&children[i], &none, (int)pid))
            break;
    }
    if (dm_stop_requested()) /* the signal came between its start and here */
        kill_children();
}

void dm_stop_child_remove(pid_t pid)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        int expected = (int)pid;
        if (atomic_compare_exchange_strong(&children[i], &expected, 0))
            return;
    }
}

void dm_stop_folder_add(const char *path)
{
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < FOLDERS_MAX; i++) {
        if (folders[i] == NULL) {
            folders[i] = strdup(path);
            locks[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (locks[i] >= 0)
                (void)flock(locks[i], LOCK_EX | LOCK_NB);
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
}

void dm_stop_folder_remove(const char *path)
{
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < FOLDERS_MAX; i++) {
        if (folders[i] != NULL && strcmp(folders[i], path) == 0) {
            free(folders[i]);
            folders[i] = NULL;
            if (locks[i] >= 0)
                close(locks[i]);
        }
    }
    pthread_mutex_unlock(&mutex);
}

void dm_stop_kept(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&mutex);
    vsnprintf(kept, sizeof kept, format, args);
    pthread_mutex_unlock(&mutex);
    va_end(args);
}

void dm_stop_tell(const char *command)
{
    char line[640];
    /* Whoever comes second waits until the line is written, since it ends the process next. */
    pthread_mutex_lock(&telling);
    pthread_mutex_lock(&mutex);
    int length = snprintf(line, sizeof line, "dotmatrix%s%s: interrupted%s%s\n",
                          command[0] ? " " : "", command, kept[0] ? "; " : "", kept);
    pthread_mutex_unlock(&mutex);
    told = told || write(STDERR_FILENO, line, (size_t)length) >= 0;
    pthread_mutex_unlock(&telling);
}
