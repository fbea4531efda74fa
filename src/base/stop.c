/* SPDX-License-Identifier: MIT */
/* stop.c - see stop.h.
 *
 * The handler does only what a handler may: it sets the flag, kills the registered process groups
 * and wakes a thread. That thread is the clock; it removes folders with ordinary calls. */
#include "base/stop.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
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
static sem_t wake;

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

static void on_signal(int number)
{
    (void)number;
    int saved = errno;
    bool again = atomic_exchange(&requested, true);
    kill_children();
    if (again)
        _exit(DM_STOP_EXIT_CODE);
    sem_post(&wake);
    errno = saved;
}

static void sleep_seconds(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
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

static void *end_late(void *unused)
{
    (void)unused;
    while (sem_wait(&wake) != 0) {
    }
    sleep_seconds(DM_STOP_SECONDS);
    for (int i = 0; i < HELD_TENTHS_MAX && atomic_load(&holds) > 0; i++)
        sleep_seconds(0.1);
    kill_children(); /* those begun since */
    remove_folders();
    char line[640];
    int length =
        snprintf(line, sizeof line, "dotmatrix: interrupted%s%s\n", kept[0] ? "; " : "", kept);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        _exit(DM_STOP_EXIT_CODE);
    _exit(DM_STOP_EXIT_CODE);
}

void dm_stop_install(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    pthread_t thread;
    sigset_t all, before;
    if (sem_init(&wake, 0, 0) != 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, end_late, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started)
        return; /* the signals end the process as usual */
    pthread_detach(thread);
    for (size_t i = 0; i < 2; i++) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(numbers[i], &action, NULL);
    }
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

const char *dm_stop_kept_text(void)
{
    return kept;
}
