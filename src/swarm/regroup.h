/* SPDX-License-Identifier: MIT */
/* regroup.h - put machines with equal work into the same warps; kernel text.
 *
 * A warp is as slow as its busiest machine. How many instructions a machine executed in the last
 * step says well how many it will execute in the next, so after each step the machines are sorted
 * by that, the busiest first, so that the long warps begin early. `order` holds the machine of each
 * place; nothing else knows about places, so that results do not depend on it. */
#ifndef DM_SWARM_REGROUP_H
#define DM_SWARM_REGROUP_H

#include "swarm/args.h"

#define DM_SWARM_BUCKETS 1024u

#if DM_ON_CUDA

#define DM_SWARM_BUCKET_SHIFT 9u /* instructions of one bucket, as a power of two */

DM_FN uint32_t dm_swarm_bucket(uint32_t load)
{
    uint32_t bucket = load >> DM_SWARM_BUCKET_SHIFT;
    return DM_SWARM_BUCKETS - 1u - (bucket < DM_SWARM_BUCKETS ? bucket : DM_SWARM_BUCKETS - 1u);
}

/* One block with a thread for each bucket sorts all machines. */
DM_FN void dm_swarm_sort(const dm_swarm_args *args)
{
    __shared__ uint32_t next[DM_SWARM_BUCKETS];
    const uint32_t t = threadIdx.x;
    next[t] = 0;
    __syncthreads();
    for (uint32_t i = t; i < args->count; i += DM_SWARM_BUCKETS)
        atomicAdd(&next[dm_swarm_bucket(args->loads[i])], 1u);
    __syncthreads();
    uint32_t mine = next[t];
    for (uint32_t step = 1; step < DM_SWARM_BUCKETS; step *= 2u) {
        uint32_t before = t >= step ? next[t - step] : 0u;
        __syncthreads();
        next[t] += before;
        __syncthreads();
    }
    uint32_t first = next[t] - mine;
    __syncthreads();
    next[t] = first;
    __syncthreads();
    for (uint32_t i = t; i < args->count; i += DM_SWARM_BUCKETS)
        args->order[atomicAdd(&next[dm_swarm_bucket(args->loads[i])], 1u)] = i;
}

#else

DM_FN void dm_swarm_sort(const dm_swarm_args *args)
{
    (void)args;
}

#endif
#endif
