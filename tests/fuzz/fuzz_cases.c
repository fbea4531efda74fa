/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz_cases.h"

#include "base/file.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

bool fuzz_reason_is_good(const dm_error *err)
{
    if (err->message[0] == '\0')
        return false;
    for (const char *at = err->message; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20)
            return false;
    return true;
}

bool fuzz_given_read(char **paths, int count, size_t limit, fuzz_given *out)
{
    dm_error err = {0};
    *out = (fuzz_given){.bytes = calloc((size_t)count + 1, sizeof *out->bytes),
                        .sizes = calloc((size_t)count + 1, sizeof *out->sizes)};
    if (out->bytes == NULL || out->sizes == NULL)
        return false;
    for (int i = 0; i < count; i++) {
        if (dm_file_read(paths[i], limit, &out->bytes[out->count], &out->sizes[out->count], &err) ==
            DM_OK)
            out->count++;
        else
            fprintf(stderr, "fuzz: %s\n", err.message);
    }
    return true;
}

void fuzz_given_free(fuzz_given *given)
{
    for (unsigned i = 0; i < given->count; i++)
        free(given->bytes[i]);
    free((void *)given->bytes);
    free(given->sizes);
}

double fuzz_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- Cases that hang or die ---- */

/* What the signal handler says: made beforehand, since it may not format. */
static char death_text[128];
static size_t death_size;

static void death(int signal_number)
{
    if (write(STDERR_FILENO, death_text, death_size) != (ssize_t)death_size)
        _exit(3);
    _exit(signal_number == SIGPROF ? 2 : 4);
}

/* The sanitizers end in abort(), so that the case is named. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "abort_on_error=1:handle_abort=0:handle_segv=1";
}
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:abort_on_error=1:print_stacktrace=1";
}

void fuzz_watch_install(void)
{
    signal(SIGPROF, death);
    signal(SIGABRT, death);
#ifndef __SANITIZE_ADDRESS__ /* which has a handler of its own, and aborts after it */
    static char other_stack[1 << 16];
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    struct sigaction action = {.sa_handler = death, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
#endif
}

static void set_timer(int seconds)
{
    struct itimerval limit = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_PROF, &limit, NULL);
}

void fuzz_watch(int seconds, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(death_text, sizeof death_text, format, args);
    va_end(args);
    death_size = (size_t)size < sizeof death_text ? (size_t)size : sizeof death_text - 1;
    set_timer(seconds);
}

void fuzz_watch_end(void)
{
    set_timer(0);
}
