/* SPDX-License-Identifier: MIT */
/* lanes.h - what a kernel for many machines is compiled for, and which lane has which machine; kernel text.
 *
 * A warp has DM_SIMT_LANES slots, one for each of its first lanes; `order` (rebalance.h) says which machine is in
 * a slot. All 32 lanes go through the kernel together and share the copying of pictures and snapshots.
 *
 * A kernel is compiled with these macros (swarm/builder.c):
 *
 *   DM_SIMT_LANES     machines of a warp; the batch's lanes_per_warp
 *   DM_SIMT_THREADS   threads of a block at most
 *   DM_SIMT_BLOCKS    blocks of a multiprocessor at least, which limits registers */
#ifndef DM_SIMT_LANES_H
#define DM_SIMT_LANES_H

/* context.h depends on DM_GB_STAGE_*, below. */
#ifdef DM_SIMT_CONTEXT_H
#error "lanes.h comes before context.h"
#endif

#ifndef DM_SIMT_THREADS
#define DM_SIMT_THREADS 256
#endif
#ifndef DM_SIMT_LANES
#define DM_SIMT_LANES 32
#endif
#ifndef DM_SIMT_BLOCKS
#define DM_SIMT_BLOCKS (DM_SIMT_THREADS < 512 ? 512 / DM_SIMT_THREADS : 1)
#endif

/* Machines of a block, and their numbers in it (smem.h). */
#if DM_SIMT_LANES == 1
#define DM_GB_BLOCK_MACHINES (DM_SIMT_THREADS / 32)
#define DM_GB_BLOCK_SLOT (DM_BLOCK_THREAD / 32u)
#define DM_GB_STAGE_SHARED 1
#else
#define DM_GB_BLOCK_MACHINES DM_SIMT_THREADS
#define DM_GB_STAGE_LOCAL 1
#endif

/* A warp may execute a simple instruction together with another (fast.h) where it has many machines. */
#ifndef DM_GB_FAST_MORE
#define DM_GB_FAST_MORE (DM_SIMT_LANES >= 16 ? 1 : 0)
#endif

#include "gb/batch_context.h"
#include "gb/run.h"
#include "gb/simt/staging_local.h"

DM_FN dm_simt_slot dm_simt_slot_of(const dm_gb_batch *batch, uint64_t thread)
{
    dm_simt_slot slot = {0, false};
    const uint32_t block = (uint32_t)(thread / DM_SIMT_THREADS);
    const uint32_t warp = (uint32_t)(thread % DM_SIMT_THREADS) / DM_LANES;
    const uint32_t at = dm_simt_first_slot(batch, block) + warp * batch->lanes_per_warp + dm_lane();
    const uint32_t end = dm_simt_first_slot(batch, block + 1u);
    slot.valid = dm_lane() < batch->lanes_per_warp && at < end && at < batch->count;
    if (slot.valid)
        slot.machine = batch->order == 0 ? at : batch->order[at];
    return slot;
}

/* The load of a machine counts a service as this many instructions. */
#define DM_SIMT_SERVICE_ROUNDS 8u

/* Store what a launch has cost a machine, for the next one (rebalance.h), scaled to a whole step. */
DM_FN void dm_simt_cost_store(const dm_gb_batch *batch, uint32_t machine, const dm_simt_cost *cost)
{
    if (batch->loads == 0)
        return;
    uint32_t cycles = 0;
    for (uint32_t part = batch->part_begin; part < batch->part_end; part++)
        cycles += batch->cycles[part];
    const float whole = (float)(batch->cycles[0] + batch->cycles[1]) / (float)cycles;
    const uint32_t load = cost->instructions + DM_SIMT_SERVICE_ROUNDS * cost->services;
    batch->loads[machine] = (uint32_t)((float)load * whole);
    batch->services[machine] = (uint32_t)((float)cost->services * whole);
}

#endif
