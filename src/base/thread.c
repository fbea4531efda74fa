/* SPDX-License-Identifier: MIT */
/* thread.c - the thread pool.
 *
 * One 64-bit word, `state`, tells everything that threads have to agree on:
 *
 *    63            32  31  30           0
 *   +----------------+----+--------------+
 *   | run number     |open| workers in   |
 *   +----------------+----+--------------+
 *
 * A run: the caller writes the job, then publishes a new run number with the open bit. A worker
 * that sees an open run it was not in yet joins by adding one, takes chunks until none is left, and
 * leaves by subtracting one. The caller takes chunks too, then clears the open bit and waits until no
 * worker is in. So a worker that wakes up late costs the caller nothing: it finds the run closed,
 * and a small run does not wait for the slowest wake-up.
 *
 * Idle workers spin for a moment, so that back-to-back runs start in a microsecond, and then sleep
 * on a condition variable. Sleepers count themselves before they look at `state` a last time, and a
 * caller changes `state` before it looks at the count, both in the one order of seq_cst, so one of
 * the two always sees the other. */
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 1024
#define CHUNKS_PER_THREAD 8
#define SPIN_NS 50000
#define CACHE_LINE 64

#define STATE_OPEN (UINT64_C(1) << 31)
#define STATE_WORKERS (STATE_OPEN - 1)
#define STATE_RUN_SHIFT 32

typedef struct worker {
    dm_pool *pool;
    pthread_t thread;
    int number;
} worker;

struct dm_pool {
    /* the job: written by the caller while no worker is in */
    dm_pool_task task;
    void *user;
    uint64_t count, grain, chunks;

    _Alignas(CACHE_LINE) atomic_uint_fast64_t state;
    _Alignas(CACHE_LINE) atomic_uint_fast64_t next_chunk;

    _Alignas(CACHE_LINE) atomic_int sleepers;
    atomic_bool caller_sleeps;
    atomic_bool stop;
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* workers wait for an open run */
    pthread_cond_t done; /* the caller waits for the last worker to leave */

    pthread_mutex_t run_mutex; /* held for the whole of a run */
    uint64_t spin_ns;
    int threads;
    worker workers[]; /* [0] stands for the caller and has no thread */
};

/* The pool whose task this thread is in, to catch a run inside a run. */
static _Thread_local const dm_pool *current_pool;

uint64_t dm_time_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int dm_cpu_count(void)
{
    /* A fixed cpu_set_t ends at 1024 CPUs; the kernel says EINVAL until the set is large enough. */
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (set == NULL)
            break;
        size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        bool good = sched_getaffinity(0, size, set) == 0;
        int count = good ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (good && count > 0)
            return count;
        if (errno != EINVAL)
            break;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- doing the work ---- */

static void take_chunks(dm_pool *pool, int number)
{
    const dm_pool *outer = current_pool;
    current_pool = pool;
    for (;;) {
        uint64_t chunk = atomic_fetch_add_explicit(&pool->next_chunk, 1, memory_order_relaxed);
        if (chunk >= pool->chunks)
            break;
        uint64_t begin = chunk * pool->grain;
        uint64_t left = pool->count - begin;
        pool->task(pool->user, begin, begin + (left < pool->grain ? left : pool->grain), number);
    }
    current_pool = outer;
}

static bool is_new_run(uint64_t state, uint32_t last_run)
{
    return (state & STATE_OPEN) != 0 && (uint32_t)(state >> STATE_RUN_SHIFT) != last_run;
}

/* Wait until there is a run to join or the pool ends; returns the state that was seen. */
static uint64_t wait_for_run(dm_pool *pool, uint32_t last_run)
{
    uint64_t until = 0;
    for (;;) {
        for (int i = 0; i < 32; i++) {
            uint64_t state = atomic_load(&pool->state);
            if (is_new_run(state, last_run) || atomic_load(&pool->stop))
                return state;
            cpu_relax();
        }
        uint64_t now = dm_time_ns();
        if (until == 0)
            until = now + pool->spin_ns;
        if (now >= until)
            break;
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    uint64_t state;
    while (state = atomic_load(&pool->state),
           !is_new_run(state, last_run) && !atomic_load(&pool->stop))
        pthread_cond_wait(&pool->wake, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
    return state;
}

static void *worker_main(void *argument)
{
    worker *self = argument;
    dm_pool *pool = self->pool;
    uint32_t last_run = 0;
    for (;;) {
        uint64_t state = wait_for_run(pool, last_run);
        if (atomic_load(&pool->stop))
            return NULL;
        /* On failure `state` is read anew: another worker joined, or the run is over. */
        while (is_new_run(state, last_run)) {
            if (!atomic_compare_exchange_weak(&pool->state, &state, state + 1))
                continue;
            last_run = (uint32_t)(state >> STATE_RUN_SHIFT);
            take_chunks(pool, self->number);
            uint64_t before = atomic_fetch_sub(&pool->state, 1);
            bool last_out = (before & STATE_OPEN) == 0 && (before & STATE_WORKERS) == 1;
            if (last_out && atomic_load(&pool->caller_sleeps)) {
                pthread_mutex_lock(&pool->mutex);
                pthread_cond_signal(&pool->done);
                pthread_mutex_unlock(&pool->mutex);
            }
        }
    }
}

/* ---- running ---- */

static void wake_workers(dm_pool *pool)
{
    int asleep = atomic_load(&pool->sleepers);
    if (asleep == 0)
        return;
    pthread_mutex_lock(&pool->mutex);
    if (pool->chunks > (uint64_t)asleep) {
        pthread_cond_broadcast(&pool->wake);
    } else { /* the caller takes one chunk itself */
        for (uint64_t i = 1; i < pool->chunks; i++)
            pthread_cond_signal(&pool->wake);
    }
    pthread_mutex_unlock(&pool->mutex);
}

static void wait_until_empty(dm_pool *pool)
{
    uint64_t until = dm_time_ns() + pool->spin_ns;
    do {
        for (int i = 0; i < 32; i++) {
            if ((atomic_load(&pool->state) & STATE_WORKERS) == 0)
                return;
            cpu_relax();
        }
    } while (dm_time_ns() < until);
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->caller_sleeps, true);
    while ((atomic_load(&pool->state) & STATE_WORKERS) != 0)
        pthread_cond_wait(&pool->done, &pool->mutex);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->mutex);
}

void dm_pool_run(dm_pool *pool, uint64_t count, uint64_t grain, dm_pool_task task, void *user)
{
    assert(current_pool != pool && "a task may not run its own pool");
    if (count == 0)
        return;
    if (grain == 0)
        grain = count / ((uint64_t)pool->threads * CHUNKS_PER_THREAD);
    if (grain == 0)
        grain = 1;
    pthread_mutex_lock(&pool->run_mutex);
    pool->task = task;
    pool->user = user;
    pool->count = count;
    pool->grain = grain;
    pool->chunks = count / grain + (count % grain != 0);
    atomic_store_explicit(&pool->next_chunk, 0, memory_order_relaxed);
    if (pool->threads == 1 || pool->chunks == 1) {
        take_chunks(pool, 0);
    } else {
        uint64_t run = (atomic_load(&pool->state) >> STATE_RUN_SHIFT) + 1;
        run &= UINT32_MAX;
        atomic_store(&pool->state, run << STATE_RUN_SHIFT | STATE_OPEN);
        wake_workers(pool);
        take_chunks(pool, 0);
        atomic_fetch_and(&pool->state, ~STATE_OPEN);
        wait_until_empty(pool);
    }
    pthread_mutex_unlock(&pool->run_mutex);
}

/* ---- creating and destroying ---- */

static dm_status threads_wanted(int *threads, dm_error *err)
{
    if (*threads < 0 || *threads > THREADS_MAX)
        return dm_fail(err, DM_EINVAL, "%d threads: must be 1 to %d", *threads, THREADS_MAX);
    if (*threads > 0)
        return DM_OK;
    const char *text = getenv("DM_THREADS");
    if (text == NULL || *text == 0) {
        int cpus = dm_cpu_count();
        *threads = cpus < THREADS_MAX ? cpus : THREADS_MAX;
        return DM_OK;
    }
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || value < 1 || value > THREADS_MAX)
        return dm_fail(err, DM_EINVAL, "DM_THREADS=%.40s: must be a number from 1 to %d", text,
                       THREADS_MAX);
    *threads = (int)value;
    return DM_OK;
}

/* Stop and join workers 1 .. started-1, then free. */
static void end_pool(dm_pool *pool, int started)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 1; i < started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->run_mutex);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

/* Workers take no signals: those are for the program's own threads. Faults and the profiler's
 * clock stay. */
static void worker_signals(sigset_t *set)
{
    static const int kept[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGPROF};
    sigfillset(set);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        sigdelset(set, kept[i]);
}

dm_status dm_pool_create(int threads, dm_pool **out, dm_error *err)
{
    dm_status status = threads_wanted(&threads, err);
    if (status != DM_OK)
        return status;
    size_t size = sizeof(dm_pool) + (size_t)threads * sizeof(worker);
    size = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    dm_pool *pool = aligned_alloc(CACHE_LINE, size);
    if (pool == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory for a pool of %d threads", threads);
    memset(pool, 0, size);
    pool->threads = threads;
    /* With more threads than CPUs a spinning thread keeps a working one from its CPU. */
    pool->spin_ns = threads <= dm_cpu_count() ? SPIN_NS : 0;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_mutex_init(&pool->run_mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);

    sigset_t blocked, before;
    worker_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int started = 1;
    int error = 0;
    for (; started < threads && error == 0; started += error == 0) {
        pool->workers[started].pool = pool;
        pool->workers[started].number = started;
        error = pthread_create(&pool->workers[started].thread, NULL, worker_main,
                               &pool->workers[started]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        end_pool(pool, started);
        return dm_fail(err, DM_ENOMEM, "cannot start thread %d of %d: %s", started, threads,
                       strerror(error));
    }
    *out = pool;
    return DM_OK;
}

void dm_pool_destroy(dm_pool *pool)
{
    if (pool != NULL)
        end_pool(pool, pool->threads);
}

int dm_pool_threads(const dm_pool *pool)
{
    return pool->threads;
}
