/* SPDX-License-Identifier: MIT */
#include "base/thread.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N 5000
#define WORKERS_MAX 16

/* What a task saw: how often each index, and whether a worker number was in use twice. */
typedef struct record {
    atomic_int seen[N];
    atomic_int busy[WORKERS_MAX];
    atomic_int clashes;
    atomic_int bad_ranges;
    atomic_ullong chunks;
    int threads;
    uint64_t count, grain;
} record;

static void note(void *user, uint64_t begin, uint64_t end, int worker)
{
    record *r = user;
    if (worker < 0 || worker >= r->threads || atomic_fetch_add(&r->busy[worker], 1) != 0)
        atomic_fetch_add(&r->clashes, 1);
    if (begin >= end || end > r->count || (r->grain > 0 && end - begin > r->grain))
        atomic_fetch_add(&r->bad_ranges, 1);
    for (uint64_t i = begin; i < end; i++)
        atomic_fetch_add_explicit(&r->seen[i], 1, memory_order_relaxed);
    atomic_fetch_add(&r->chunks, 1);
    atomic_fetch_sub(&r->busy[worker], 1);
}

static void check_run(dm_pool *pool, uint64_t count, uint64_t grain)
{
    record *r = calloc(1, sizeof *r);
    r->threads = dm_pool_threads(pool);
    r->count = count;
    r->grain = grain;
    dm_pool_run(pool, count, grain, note, r);
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(r->seen[i], i < count);
    assert_int_equal(r->clashes, 0);
    assert_int_equal(r->bad_ranges, 0);
    if (grain > 0)
        assert_int_equal(r->chunks, count / grain + (count % grain != 0));
    free(r);
}

static void every_index_once(void **state)
{
    (void)state;
    static const uint64_t counts[] = {0, 1, 2, 3, 63, 64, 65, 1000, N};
    static const uint64_t grains[] = {0, 1, 2, 7, 64, N, UINT64_MAX};
    for (int threads = 1; threads <= 9; threads += 2) {
        dm_pool *pool = NULL;
        assert_ok(dm_pool_create(threads, &pool, err));
        assert_int_equal(dm_pool_threads(pool), threads);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (size_t g = 0; g < sizeof grains / sizeof grains[0]; g++)
                check_run(pool, counts[c], grains[g]);
        dm_pool_destroy(pool);
    }
}

static void sum_plain(void *user, uint64_t begin, uint64_t end, int worker)
{
    (void)worker;
    uint64_t *values = user;
    for (uint64_t i = begin; i < end; i++)
        values[i] += i;
}

/* Plain memory written by one run is read by the next, on other threads: what TSan looks at. Pauses
 * in between let the workers fall asleep. */
static void runs_see_each_others_writes(void **state)
{
    (void)state;
    dm_pool *pool = NULL;
    assert_ok(dm_pool_create(4, &pool, err));
    uint64_t *values = calloc(N, sizeof *values);
    for (int run = 0; run < 300; run++) {
        dm_pool_run(pool, N, 16, sum_plain, values);
        if (run % 50 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(values[i], 300 * i);
    free(values);
    dm_pool_destroy(pool);
}

static void sleep_long_first(void *user, uint64_t begin, uint64_t end, int worker)
{
    (void)end;
    atomic_int *by_worker = user;
    atomic_fetch_add(&by_worker[worker], 1);
    nanosleep(&(struct timespec){.tv_nsec = begin == 0 ? 200000000 : 1000000}, NULL);
}

typedef struct slow_workers {
    atomic_int joined;         /* chunks begun by workers other than the caller */
    int finished[WORKERS_MAX]; /* plain: dm_pool_run has to make it visible */
} slow_workers;

/* The caller takes its time until a worker is in; the worker then takes longer than the caller. */
static void worker_is_last(void *user, uint64_t begin, uint64_t end, int worker)
{
    (void)begin, (void)end;
    slow_workers *s = user;
    if (worker == 0) {
        for (int i = 0; i < 2000 && atomic_load(&s->joined) == 0; i++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    } else {
        atomic_fetch_add(&s->joined, 1);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        s->finished[worker]++;
    }
}

/* Also shows that sleeping workers are woken: nobody joins otherwise. */
static void a_run_wakes_workers_and_waits_for_them(void **state)
{
    (void)state;
    dm_pool *pool = NULL;
    assert_ok(dm_pool_create(3, &pool, err));
    for (int run = 0; run < 5; run++) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); /* let them fall asleep */
        slow_workers s = {0};
        dm_pool_run(pool, 3, 1, worker_is_last, &s);
        assert_true(s.joined > 0);
        assert_int_equal(s.finished[1] + s.finished[2], s.joined);
    }
    dm_pool_destroy(pool);
}

/* One chunk takes 200 ms and the other 99 take 1 ms: whoever has the long one does nearly nothing
 * else, and the rest is done meanwhile. */
static void uneven_work_balances(void **state)
{
    (void)state;
    dm_pool *pool = NULL;
    assert_ok(dm_pool_create(2, &pool, err));
    atomic_int by_worker[2] = {0};
    dm_pool_run(pool, 100, 1, sleep_long_first, by_worker);
    assert_int_equal(by_worker[0] + by_worker[1], 100);
    assert_true(by_worker[0] > 0 && by_worker[1] > 0);
    assert_true(by_worker[0] > 60 || by_worker[1] > 60);
    dm_pool_destroy(pool);
}

static void leave_mark(void *user, uint64_t begin, uint64_t end, int worker)
{
    (void)worker;
    atomic_ullong *total = user;
    atomic_fetch_add(total, end - begin);
}

static void *run_on_own(void *argument)
{
    dm_pool *pool = argument;
    atomic_ullong total = 0;
    for (int i = 1; i <= 500; i++) {
        dm_pool_run(pool, 40, 1, leave_mark, &total);
        if (atomic_load(&total) != 40ull * (unsigned long long)i)
            return argument; /* a run returned before its work was done */
    }
    return NULL;
}

static void second_caller_waits(void **state)
{
    (void)state;
    dm_pool *pool = NULL;
    assert_ok(dm_pool_create(3, &pool, err));
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_on_own, pool), 0);
    for (int i = 0; i < 3; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    dm_pool_destroy(pool);
}

static void inner_run(void *user, uint64_t begin, uint64_t end, int worker)
{
    (void)worker;
    dm_pool *inner = user;
    for (uint64_t i = begin; i < end; i++) {
        atomic_ullong total = 0;
        dm_pool_run(inner, 10, 1, leave_mark, &total);
        if (atomic_load(&total) != 10)
            abort();
    }
}

static void a_task_may_use_another_pool(void **state)
{
    (void)state;
    dm_pool *outer = NULL, *inner = NULL;
    assert_ok(dm_pool_create(2, &outer, err));
    assert_ok(dm_pool_create(2, &inner, err));
    dm_pool_run(outer, 50, 1, inner_run, inner);
    dm_pool_destroy(outer);
    dm_pool_destroy(inner);
}

/* The header promises an assertion, not a hang. */
static void running_inside_itself_asserts(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(99);
        signal(SIGABRT, SIG_DFL);
        alarm(20);
        dm_pool *pool = NULL;
        if (dm_pool_create(1, &pool, NULL) == DM_OK)
            dm_pool_run(pool, 1, 1, inner_run, pool);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void thread_count_comes_from_the_environment(void **state)
{
    (void)state;
    dm_pool *pool = NULL;
    setenv("DM_THREADS", "3", 1);
    assert_ok(dm_pool_create(0, &pool, err));
    assert_int_equal(dm_pool_threads(pool), 3);
    dm_pool_destroy(pool);
    assert_ok(dm_pool_create(2, &pool, err)); /* asking is stronger */
    assert_int_equal(dm_pool_threads(pool), 2);
    dm_pool_destroy(pool);
    setenv("DM_THREADS", "", 1);
    assert_ok(dm_pool_create(0, &pool, err));
    assert_int_equal(dm_pool_threads(pool), dm_cpu_count());
    dm_pool_destroy(pool);
    unsetenv("DM_THREADS");
}

static void bad_thread_counts_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "0", "-1", "x", "3x", "2.5", "100000", "99999999999999999999"};
    dm_pool *pool = NULL;
    dm_error err;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv("DM_THREADS", bad[i], 1);
        assert_int_equal(dm_pool_create(0, &pool, &err), DM_EINVAL);
        assert_non_null(strstr(err.message, "DM_THREADS"));
        assert_null(pool);
    }
    unsetenv("DM_THREADS");
    assert_int_equal(dm_pool_create(-1, &pool, &err), DM_EINVAL);
    assert_int_equal(dm_pool_create(1000000, &pool, &err), DM_EINVAL);
    dm_pool_destroy(NULL);
}

static void create_and_destroy_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        dm_pool *pool = NULL;
        assert_ok(dm_pool_create(1 + i % 8, &pool, err));
        dm_pool_destroy(pool);
    }
}

static void clock_goes_forward(void **state)
{
    (void)state;
    uint64_t before = dm_time_ns();
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    uint64_t passed = dm_time_ns() - before;
    assert_true(passed >= 3000000 && passed < UINT64_C(60000000000));
    assert_true(dm_cpu_count() >= 1);
}

DM_TESTS("base/thread", DM_TEST(every_index_once), DM_TEST(runs_see_each_others_writes),
         DM_TEST(a_run_wakes_workers_and_waits_for_them), DM_TEST(uneven_work_balances),
         DM_TEST(second_caller_waits), DM_TEST(a_task_may_use_another_pool),
         DM_TEST(running_inside_itself_asserts), DM_TEST(thread_count_comes_from_the_environment),
         DM_TEST(bad_thread_counts_are_refused), DM_TEST(create_and_destroy_at_once),
         DM_TEST(clock_goes_forward))
