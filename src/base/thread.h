/* SPDX-License-Identifier: MIT */
/* thread.h - a thread pool that runs index ranges, and the clock.
 *
 * dm_pool_run splits [0, count) into chunks of `grain` indices; threads take chunks from a shared
 * counter until none is left, so that uneven work balances itself. The caller's thread takes part.
 * A pool of one thread runs everything in the caller. One run at a time per pool; a second caller
 * waits. A task must not call dm_pool_run on the same pool (asserted). */
#ifndef DM_BASE_THREAD_H
#define DM_BASE_THREAD_H

#include <dotmatrix/base.h>

typedef struct dm_pool dm_pool;

/* `worker` is 0 .. threads-1, and only one task runs under a given number at a time. */
typedef void (*dm_pool_task)(void *user, uint64_t begin, uint64_t end, int worker);

/* threads = 0: $DM_THREADS, else one per CPU this process may use. */
dm_status dm_pool_create(int threads, dm_pool **out, dm_error *err);
void dm_pool_destroy(dm_pool *pool); /* joins its threads; NULL is fine */
int dm_pool_threads(const dm_pool *pool);
/* grain = 0: about eight chunks per thread. */
void dm_pool_run(dm_pool *pool, uint64_t count, uint64_t grain, dm_pool_task task, void *user);

int dm_cpu_count(void);    /* CPUs this process may use */
uint64_t dm_time_ns(void); /* monotonic */

#endif
