/* SPDX-License-Identifier: MIT */
/* runner.c - the one test runner.
 *
 * dm-tests [--list] [--jobs N] [--timeout SECONDS] [--here] [--test NAME] [PATTERN ...]
 *
 * A pattern is part of a group's name. NAME is a test's: the others are left out, so that the tests
 * of one group can run beside each other in processes of their own.
 *
 * Each group runs in a child process with its output in a file, so that a crash or a hang is one
 * failed group and not the end of the run. A group passes its counts to the runner through a pipe.
 * The child leads a process group, which is killed when the child ends or its time is over: nothing
 * that a test started stays behind. With --here all run in this one process, for debuggers and
 * checkers that do not follow children. */
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GROUP_SECONDS_MAX 600
#define JOBS_MAX 64

typedef struct running_group {
    dm_test_group *group;
    pid_t pid;
    int counts_fd;
    FILE *output;
    double started;
    bool timed_out;
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

const char *dm_test_source_root(void)
{
    const char *other = getenv("DM_TEST_SOURCE_ROOT");
    return other != NULL ? other : DM_TEST_SOURCE_ROOT;
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

/* Only the tests of this name stay; a group without one goes. */
static bool keep_tests(const char *name)
{
    dm_test_group **link = &groups;
    while (*link != NULL) {
        dm_test_group *group = *link;
        struct CMUnitTest *kept = calloc(group->count, sizeof *kept);
        size_t count = 0;
        if (kept == NULL)
            return false;
        for (size_t i = 0; i < group->count; i++)
            if (strcmp(group->tests[i].name, name) == 0)
                kept[count++] = group->tests[i];
        group->tests = kept; /* to the end of the run */
        group->count = count;
        if (count == 0) {
            *link = group->next;
            free(kept);
        } else {
            link = &group->next;
        }
    }
    return true;
}

/* The child: run the group, report the counts, exit. */
static void run_group(dm_test_group *group, int output_fd, int counts_fd)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the runner itself be killed */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null_fd = open("/dev/null", O_RDONLY);
    dup2(null_fd, STDIN_FILENO);
    dup2(output_fd, STDOUT_FILENO);
    dup2(output_fd, STDERR_FILENO);
    int failed = _cmocka_run_group_tests(group->name, group->tests, group->count, NULL, NULL);
    counts c = {0};
    c.failed = failed < 0 ? group->count : (size_t)failed;
    c.skipped = skipped_here;
    c.passed = c.failed + c.skipped < group->count ? group->count - c.failed - c.skipped : 0;
    fflush(NULL);
    ssize_t sent = write(counts_fd, &c, sizeof c);
    exit(sent == (ssize_t)sizeof c && c.failed == 0 ? 0 : 1);
}

static void start_group(running_group *slot, dm_test_group *group)
{
    int fds[2];
    *slot = (running_group){.group = group, .output = tmpfile(), .started = now()};
    if (slot->output == NULL || pipe2(fds, O_CLOEXEC) != 0) {
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
        run_group(group, fileno(slot->output), fds[1]);
    }
    setpgid(slot->pid, slot->pid); /* also here: whoever comes first */
    close(fds[1]);
    slot->counts_fd = fds[0];
}

/* Print what the child wrote: all of it when the group failed, only the skip reasons otherwise,
 * each once with how many tests gave it in a row. */
static void show_output(FILE *output, bool all)
{
    char line[4096], last[4096] = "";
    int repeats = 0;
    rewind(output);
    for (;;) {
        bool more = fgets(line, sizeof line, output) != NULL;
        if (more)
            line[strcspn(line, "\n")] = '\0';
        if (more && all) {
            printf("    %s\n", line);
            continue;
        }
        if (more && strncmp(line, "SKIPPED:", 8) != 0)
            continue;
        if (more && repeats > 0 && strcmp(line, last) == 0) {
            repeats++;
            continue;
        }
        if (repeats > 1)
            printf("    %s (%d tests)\n", last, repeats);
        else if (repeats == 1)
            printf("    %s\n", last);
        if (!more)
            break;
        strcpy(last, line);
        repeats = 1;
    }
}

static void finish_group(running_group *slot, counts *total)
{
    int status = 0;
    kill(-slot->pid, SIGKILL); /* before the number is given back */
    while (waitpid(slot->pid, &status, 0) < 0 && errno == EINTR) {
    }
    counts c;
    bool reported = read(slot->counts_fd, &c, sizeof c) == (ssize_t)sizeof c;
    bool good = reported && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!reported)
        c = (counts){0, slot->group->count, 0};
    else if (!good && c.failed == 0)
        c.failed = 1; /* e.g. a leak found at exit */
    printf("%-4s %-32s %3zu passed %6.2f s", good ? "ok" : "FAIL", slot->group->name, c.passed,
           now() - slot->started);
    if (slot->timed_out)
        printf("  timed out");
    else if (WIFSIGNALED(status))
        printf("  %s", strsignal(WTERMSIG(status)));
    else if (!reported)
        printf("  ended early"); /* a test called exit() */
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

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Finish every group that ended, kill those whose time is over; the number finished. */
static int collect(running_group *slots, long count, double timeout, counts *total)
{
    int finished = 0;
    for (long i = 0; i < count; i++) {
        running_group *slot = &slots[i];
        if (slot->pid == 0)
            continue;
        bool ended = has_ended(slot->pid);
        if (!ended && now() - slot->started > timeout) {
            slot->timed_out = true;
            kill(-slot->pid, SIGKILL);
            ended = true;
        }
        if (ended) {
            finish_group(slot, total);
            finished++;
        }
    }
    return finished;
}

/* Wait for a child's end or a second. The children lead groups of their own, so an interrupt from
 * the terminal reaches only the runner and is passed on here. */
static void wait_for_news(running_group *slots, long count, const sigset_t *signals)
{
    int received = sigtimedwait(signals, NULL, &(struct timespec){.tv_sec = 1});
    if (received < 0 || received == SIGCHLD)
        return;
    for (long i = 0; i < count; i++)
        if (slots[i].pid != 0)
            kill(-slots[i].pid, SIGKILL);
    fprintf(stderr, "dm-tests: %s\n", strsignal(received));
    exit(128 + received);
}

static int usage(void)
{
    fprintf(stderr,
            "usage: dm-tests [--list] [--jobs N] [--timeout SECONDS] [--here] [--test NAME] "
            "[PATTERN ...]\n");
    return 2;
}

/* Every group in this process, output as it comes. */
static int run_here(char **patterns, int count)
{
    int failed = 0, started = 0;
    for (const dm_test_group *group = groups; group != NULL; group = group->next) {
        if (!wanted(group, patterns, count))
            continue;
        failed += _cmocka_run_group_tests(group->name, group->tests, group->count, NULL, NULL) != 0;
        started++;
    }
    printf("%d groups, %d failed, %zu tests skipped\n", started, failed, skipped_here);
    return started > 0 && failed == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    long jobs = sysconf(_SC_NPROCESSORS_ONLN);
    double timeout = GROUP_SECONDS_MAX;
    bool list = false, here = false;
    const char *name = NULL;
    int first = 1;
    for (; first < argc && strncmp(argv[first], "--", 2) == 0; first++) {
        if (strcmp(argv[first], "--list") == 0)
            list = true;
        else if (strcmp(argv[first], "--here") == 0)
            here = true;
        else if (strcmp(argv[first], "--jobs") == 0 && first + 1 < argc)
            jobs = atol(argv[++first]);
        else if (strcmp(argv[first], "--timeout") == 0 && first + 1 < argc)
            timeout = atof(argv[++first]);
        else if (strcmp(argv[first], "--test") == 0 && first + 1 < argc)
            name = argv[++first];
        else
            return usage();
    }
    if (name != NULL && !keep_tests(name)) {
        fprintf(stderr, "dm-tests: out of memory\n");
        return 2;
    }
    if (jobs < 1)
        jobs = 1;
    if (jobs > JOBS_MAX)
        jobs = JOBS_MAX;
    if (here && !list)
        return run_here(argv + first, argc - first);

    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);

    running_group slots[JOBS_MAX] = {0};
    counts total = {0};
    int active = 0, started = 0;
    double begin = now();
    for (dm_test_group *next = groups; next != NULL || active > 0;) {
        if (next != NULL && !wanted(next, argv + first, argc - first)) {
            next = next->next;
        } else if (next != NULL && list) {
            printf("%s (%zu)\n", next->name, next->count);
            next = next->next;
        } else if (next != NULL && active < jobs) {
            int i = 0;
            while (slots[i].pid != 0)
                i++;
            start_group(&slots[i], next);
            next = next->next;
            active++;
            started++;
        } else {
            int finished = collect(slots, jobs, timeout, &total);
            active -= finished;
            if (finished == 0)
                wait_for_news(slots, jobs, &signals);
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
