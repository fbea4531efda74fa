/* SPDX-License-Identifier: MIT */
/* sandbox.c - runs programs that may do anything; see sandbox.h. */
#include "synth/check/sandbox.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define MICROSECONDS_MAX 20000 /* of processor time, for one run */

static const int signals[DM_SANDBOX_SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF};
static sigjmp_buf stopped;

static void stop(int number)
{
    (void)number;
    siglongjmp(stopped, 1);
}

static size_t round_up(size_t size, size_t page)
{
    return (size + page - 1) / page * page;
}

bool dm_sandbox_open(dm_sandbox *s, size_t image_size, size_t block_size)
{
    static const size_t margins[] = {(size_t)1 << 36, (size_t)1 << 30, (size_t)1 << 24};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = round_up(2 * image_size, page);
    *s = (dm_sandbox){.image_size = image_size};
    s->block = malloc(block_size + 8);
    for (size_t i = 0; i < sizeof margins / sizeof margins[0] && s->zone == NULL; i++) {
        s->zone_size = inner + 2 * margins[i];
        void *zone =
            mmap(NULL, s->zone_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (zone == MAP_FAILED)
            continue;
        s->zone = zone;
        s->image = s->zone + margins[i];
        if (mprotect(s->image, inner, PROT_READ | PROT_WRITE) != 0) {
            munmap(zone, s->zone_size);
            s->zone = NULL;
        }
    }
    if (s->block == NULL || s->zone == NULL) {
        if (s->zone != NULL)
            munmap(s->zone, s->zone_size);
        free(s->block);
        return false;
    }
    struct sigaction action = {.sa_handler = stop};
    for (int i = 0; i < DM_SANDBOX_SIGNALS; i++)
        sigaction(signals[i], &action, &s->before[i]);
    return true;
}

void dm_sandbox_close(dm_sandbox *s)
{
    for (int i = 0; i < DM_SANDBOX_SIGNALS; i++)
        sigaction(signals[i], &s->before[i], NULL);
    munmap(s->zone, s->zone_size);
    free(s->block);
}

bool dm_sandbox_run(dm_sandbox *s, const dm_trial *t, dm_sandbox_entry entry)
{
    struct itimerval limit = {.it_value = {.tv_usec = MICROSECONDS_MAX}}, none = {0};
    volatile bool ended = false;
    memcpy(s->image, t->before, t->image_size);
    memset(s->image + s->image_size, 0, t->image_size);
    dm_trial_bind(t, s->block, s->image, s->image + s->image_size);
    if (sigsetjmp(stopped, 1) == 0) {
        setitimer(ITIMER_PROF, &limit, NULL);
        entry(s->block, 0, 1, 1);
        ended = true;
    }
    setitimer(ITIMER_PROF, &none, NULL);
    return ended;
}
