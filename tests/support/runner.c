/* SPDX-License-Identifier: MIT */
/* runner.c - the one test runner.
 *
 * dm-tests [--list] [--jobs N] [PATTERN ...]    a pattern is part of a group's name
 *
 * Each group runs in a child process with its output in a file, so that a crash or a hang is one
 * failed group and not the end of the run. A group passes its counts to the runner through a pipe. */
#include "tests/support/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GROUP_SECONDS_MAX 600

typedef struct running_group {
    dm_test_group *group;
    pid_t pid;
    int counts_fd;
    FILE *output;
    double started;
} running_group;

typedef struct counts {
    size_t passed, failed, skipped;
} counts;

static dm_test_group *groups;
static size_t skipped_here;

void dm_test_register(dm_test_group *group)
{
    dm_test_group **link = &groups;
    while (*link != NULL && strcmp((*link)->name, group->name) < 0)
        link = &(*link)->next;
    group->next = *link;
    *link = group;
}

void dm_test_note_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("SKIPPED: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    skipped_here++;
}

/* Asking for too much memory is part of the tests: under a sanitizer too it has to give NULL. These
 * are the hooks that the sanitizers' run-time libraries look for. */
#define SANITIZER_HOOK __attribute__((visibility("default"), used))
SANITIZER_HOOK const char *__asan_default_options(void);
SANITIZER_HOOK const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool wanted(const dm_test_group *group, char **patterns, int count)
{
    for (int i = 0; i < count; i++)
        if (strstr(group->name, patterns[i]) != NULL)
            return true;
    return count == 0;
}

static void start_group(running_group *slot, dm_test_group *group)
{
    int fds[2];
    slot->group = group;
    slot->output = tmpfile();
    slot->started = now();
    if (slot->output == NULL || pipe(fds) != 0) {
        perror("dm-tests");
        exit(2);
    }
    fflush(NULL);
    slot->pid = fork();
    if (slot->pid < 0) {
        perror("dm-tests: fork");
        exit(2);
    }
    if (slot->pid == 0) {
        close(fds[0]);
        dup2(fileno(slot->output), STDOUT_FILENO);
        dup2(fileno(slot->output), STDERR_FILENO);
        alarm(GROUP_SECONDS_MAX);
        int failed = _cmocka_run_group_tests(group->name, group->tests, group->count, NULL, NULL);
        counts c = {0};
        c.failed = failed < 0 ? group->count : (size_t)failed;
        c.skipped = skipped_here;
        c.passed = group->count - c.failed - c.skipped;
        fflush(NULL);
        ssize_t sent = write(fds[1], &c, sizeof c);
        exit(sent == (ssize_t)sizeof c && c.failed == 0 ? 0 : 1);
    }
    close(fds[1]);
    slot->counts_fd = fds[0];
}

/* Print what the child wrote: all of it when the group failed, only the skip reasons otherwise. */
static void show_output(FILE *output, bool all)
{
    char line[4096];
    rewind(output);
    while (fgets(line, sizeof line, output) != NULL)
        if (all || strncmp(line, "SKIPPED:", 8) == 0)
            printf("    %s%s", line, strchr(line, '\n') ? "" : "\n");
}

static void finish_group(running_group *slot, int status, counts *total)
{
    counts c;
    bool reported = read(slot->counts_fd, &c, sizeof c) == (ssize_t)sizeof c;
    bool good = reported && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!reported)
        c = (counts){0, slot->group->count, 0};
    else if (!good && c.failed == 0)
        c.failed = 1; /* e.g. a leak found at exit */
    printf("%-4s %-32s %3zu passed %6.2f s", good ? "ok" : "FAIL", slot->group->name, c.passed,
           now() - slot->started);
    if (WIFSIGNALED(status))
        printf("  %s", WTERMSIG(status) == SIGALRM ? "timed out" : strsignal(WTERMSIG(status)));
    printf("\n");
    show_output(slot->output, !good);
    fflush(stdout);
    fclose(slot->output);
    close(slot->counts_fd);
    total->passed += c.passed;
    total->failed += c.failed;
    total->skipped += c.skipped;
    slot->pid = 0;
}

int main(int argc, char **argv)
{
    long jobs = sysconf(_SC_NPROCESSORS_ONLN);
    bool list = false;
    int first = 1;
    for (; first < argc && strncmp(argv[first], "--", 2) == 0; first++) {
        if (strcmp(argv[first], "--list") == 0) {
            list = true;
        } else if (strcmp(argv[first], "--jobs") == 0 && first + 1 < argc) {
            jobs = atol(argv[++first]);
        } else {
            fprintf(stderr, "usage: dm-tests [--list] [--jobs N] [PATTERN ...]\n");
            return 2;
        }
    }
    if (jobs < 1 || jobs > 64)
        jobs = 1;

    running_group slots[64] = {0};
    counts total = {0};
    int active = 0, started = 0;
    dm_test_group *next = groups;
    double begin = now();
    for (;;) {
        while (next != NULL && (!wanted(next, argv + first, argc - first) || list)) {
            if (list && wanted(next, argv + first, argc - first))
                printf("%s (%zu)\n", next->name, next->count);
            next = next->next;
        }
        if (next != NULL && active < jobs) {
            int i = 0;
            while (slots[i].pid != 0)
                i++;
            start_group(&slots[i], next);
            next = next->next;
            active++;
            started++;
            continue;
        }
        if (active == 0)
            break;
        int status;
        pid_t pid = wait(&status);
        for (int i = 0; i < jobs; i++) {
            if (slots[i].pid == pid && pid > 0) {
                finish_group(&slots[i], status, &total);
                active--;
            }
        }
    }
    if (list)
        return 0;
    if (started == 0) {
        fprintf(stderr, "dm-tests: no group matches\n");
        return 2;
    }
    printf("%d groups in %.1f s\n", started, now() - begin);
    printf("%zu passed, %zu failed, %zu skipped\n", total.passed, total.failed, total.skipped);
    return total.failed == 0 ? 0 : 1;
}
