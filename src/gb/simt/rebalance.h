/* SPDX-License-Identifier: MIT */
/* rebalance.h - machines sorted by load and action before a launch; kernel text.
 *
 * A warp is as slow as its busiest machine, and a block that is serviced together (service.h) is fast when its machines
 * reach the same code at the same time, as after a service for VBlank. The number of instructions that a machine
 * executed in the last step predicts the next one well, and machines with the same action execute similar code. So
 * before each launch the machines are sorted by both, the busiest first, so that the long warps begin early. `order`
 * holds the machine of each slot; nothing else knows about slots, so that results do not depend on them. */
#ifndef DM_SIMT_REBALANCE_H
#define DM_SIMT_REBALANCE_H

#include "base/port.h"
#include "gb/batch_args.h"
#include "gb/simt/limits.h"

/* Buckets: octaves of loads with 2^DM_SIMT_LOADS_LOG2 classes each, times classes of actions. */
#define DM_SIMT_OCTAVES 8u
#define DM_SIMT_LOADS_LOG2 6u
#define DM_SIMT_ACTIONS 16u
#define DM_SIMT_LEAST_LOAD 2048.0f
#define DM_SIMT_BUCKETS ((DM_SIMT_OCTAVES << DM_SIMT_LOADS_LOG2) * DM_SIMT_ACTIONS)
#define DM_SIMT_BUCKETS_EACH (DM_SIMT_BUCKETS / DM_SIMT_SORTERS)

/* Of each bucket: how many machines it has, then where its next machine goes. */
static DM_SHARED uint32_t dm_simt_buckets[DM_SIMT_BUCKETS];

/* The class of a load: its logarithm, from the exponent and the first bits. */
DM_FN uint32_t dm_simt_load_class(uint32_t load)
{
    const uint32_t bits = dm_f32_bits((float)load);
    const uint32_t least = dm_f32_bits(DM_SIMT_LEAST_LOAD);
    return bits < least ? 0u : (bits - least) >> (23u - DM_SIMT_LOADS_LOG2);
}

DM_FN uint32_t dm_simt_bucket(const dm_gb_batch *batch, uint32_t machine, uint32_t action)
{
    const uint32_t last = (DM_SIMT_OCTAVES << DM_SIMT_LOADS_LOG2) - 1u;
    const uint32_t load = dm_simt_load_class(batch->loads[machine]);
    return (last - (load < last ? load : last)) * DM_SIMT_ACTIONS + action % DM_SIMT_ACTIONS;
}

/* All threads of the block: begin, then count each machine once with its next action, scan, and place each machine once
 * with the same action. */
DM_FN void dm_simt_sort_begin(void)
{
    for (uint32_t i = DM_BLOCK_THREAD; i < DM_SIMT_BUCKETS; i += DM_SIMT_SORTERS)
        dm_simt_buckets[i] = 0;
    dm_block_sync();
}

DM_FN void dm_simt_sort_count(const dm_gb_batch *batch, uint32_t machine, uint32_t action)
{
    dm_atomic_add_u32(&dm_simt_buckets[dm_simt_bucket(batch, machine, action)], 1u);
}

/* Where each bucket begins: this thread's buckets, after those of all threads before it. */
DM_FN void dm_simt_sort_scan(void)
{
    static DM_SHARED uint32_t sums[DM_SIMT_SORTERS];
    const uint32_t t = DM_BLOCK_THREAD;
    uint32_t *own = dm_simt_buckets + t * DM_SIMT_BUCKETS_EACH, sum = 0;
    dm_block_sync();
    for (uint32_t i = 0; i < DM_SIMT_BUCKETS_EACH; i++)
        sum += own[i];
    sums[t] = sum;
    dm_block_sync();
    for (uint32_t step = 1; step < DM_SIMT_SORTERS; step *= 2u) {
        uint32_t before = t >= step ? sums[t - step] : 0u;
        dm_block_sync();
        sums[t] += before;
        dm_block_sync();
    }
    uint32_t first = sums[t] - sum;
    for (uint32_t i = 0; i < DM_SIMT_BUCKETS_EACH; i++) {
        uint32_t count = own[i];
        own[i] = first;
        first += count;
    }
    dm_block_sync();
}

DM_FN void dm_simt_sort_place(const dm_gb_batch *batch, uint32_t machine, uint32_t action)
{
    const uint32_t bucket = dm_simt_bucket(batch, machine, action);
    batch->order[dm_atomic_add_u32(&dm_simt_buckets[bucket], 1u)] = machine;
}

#endif
