/* SPDX-License-Identifier: MIT */
/* service.h - services for all machines of a block at once, and compaction; kernel text for many lanes.
 *
 * A service is long and its code is large. When each warp services its own lanes, two or three lanes are busy in it at
 * a time, and the four warps of a scheduler, each in another part of it, wait for instructions most of the time. So the
 * block is serviced together: a machine that trapped leaves its registers in its lane context in global memory and its
 * number in a queue, sorted by the kind of trap; then each warp services 32 machines of the queue, whichever lanes they
 * belong to, on staged copies that lie side by side, and the owners load their registers again.
 *
 * As machines reach the end of their runs, warps would go on with few lanes each. So when the survivors fit into fewer
 * warps they are compacted, by way of their lane contexts.
 *
 * All threads of the block call dm_simt_service_block and dm_simt_compact together. What happens to a machine does not
 * depend on the lane that runs it, the lane that services it, or the time. */
#ifndef DM_SIMT_SERVICE_H
#define DM_SIMT_SERVICE_H

#include "gb/simt/lanes.h"

typedef struct dm_simt_lane_context {
    dm_gb_context context;
    dm_gb_hot hot;
    uint32_t trap;     /* enum dm_gb_trap, after a service or while it moves */
    dm_simt_cost cost; /* when the machine has no thread */
    dm_gb_cold cold;
    dm_gb_line_log line_log;
} dm_simt_lane_context;

DM_STATIC_ASSERT(sizeof(dm_simt_lane_context) <= DM_SIMT_LANE_CONTEXT_BYTES,
                 "the host makes room for lane contexts");

DM_FN dm_simt_lane_context *dm_simt_lane_context_of(const dm_gb_batch *batch, uint32_t machine)
{
    return (dm_simt_lane_context *)(void *)(batch->lane_contexts +
                                            (uint64_t)machine * DM_SIMT_LANE_CONTEXT_BYTES);
}

#if DM_SIMT_LANES > 1

#define DM_SIMT_TRAPS 7u /* enum dm_gb_trap: from DM_GB_TRAP_EVENT on services */
#define DM_SIMT_NO_MACHINE 0xFFFFFFFFu
#define DM_SIMT_TRAP_SHIFT 28u /* above the machine's number */

/* The part of each kind of trap in the queue begins with a new warp. */
#define DM_SIMT_SERVICE_QUEUE (DM_SIMT_THREADS + DM_SIMT_TRAPS * 32u)

/* Shared memory for the queue of machines to be serviced, or for the list of survivors. */
DM_FN uint32_t *dm_simt_list(void)
{
    static DM_SHARED uint32_t list[DM_SIMT_SERVICE_QUEUE];
    return list;
}

/* This thread's rank among those of the block with the same trap. All of them count themselves in `counts`. */
DM_FN uint32_t dm_simt_rank(uint32_t *counts, uint32_t trap)
{
    uint32_t rank = 0;
    for (uint32_t kind = DM_GB_TRAP_EVENT; kind < DM_SIMT_TRAPS; kind++) {
        uint32_t same = dm_ballot(trap == kind);
        if (same == 0)
            continue;
        uint32_t first = dm_ffs_u32(same) - 1u, base = 0;
        if (dm_lane() == first)
            base = dm_atomic_add_u32(&counts[kind], dm_popcount_u32(same));
        base = dm_from_lane(base, first);
        if (trap == kind)
            rank = base + dm_popcount_u32(same & ((1u << dm_lane()) - 1u));
    }
    return rank;
}

/* A service of the machine, on a staged copy. */
DM_FN enum dm_gb_trap dm_simt_service_staged(dm_gb_context *context, dm_gb_hot *hot,
                                             enum dm_gb_trap trap)
{
    dm_gb_staged staged;
    dm_gb_staged_begin(&staged, context);
    trap = dm_gb_service_mapped(&staged.context, hot, trap);
    dm_gb_staged_end(&staged, context);
    return trap;
}

/* A service of the machine with that lane context. */
DM_FN void dm_simt_service_at(dm_simt_lane_context *saved, enum dm_gb_trap trap)
{
    dm_gb_hot hot = saved->hot;
    saved->trap = (uint32_t)dm_simt_service_staged(&saved->context, &hot, trap);
    saved->hot = hot;
}

/* Services for the machines in the queue, by all threads of the block. */
DM_FN_SLOW void dm_simt_service_queue(const dm_gb_batch *batch, const uint32_t *queue,
                                      uint32_t length)
{
    DM_NO_UNROLL
    for (uint32_t i = DM_BLOCK_THREAD; i < length; i += DM_SIMT_THREADS) {
        const uint32_t entry = queue[i];
        if (entry != DM_SIMT_NO_MACHINE)
            dm_simt_service_at(
                dm_simt_lane_context_of(batch, entry & ((1u << DM_SIMT_TRAP_SHIFT) - 1u)),
                (enum dm_gb_trap)(entry >> DM_SIMT_TRAP_SHIFT));
        dm_warp_converge(0xFFFFFFFFu);
    }
}

/* Service every machine of the block that waits for it. Returns the trap of this thread's machine after that. */
DM_FN_SLOW enum dm_gb_trap dm_simt_service_block(const dm_gb_batch *batch, uint32_t machine,
                                                 dm_gb_hot *hot, enum dm_gb_trap trap)
{
    static DM_SHARED uint32_t counts[DM_SIMT_TRAPS];
    uint32_t *queue = dm_simt_list();
    dm_simt_lane_context *saved = dm_simt_lane_context_of(batch, machine);
    if (DM_BLOCK_THREAD < DM_SIMT_TRAPS)
        counts[DM_BLOCK_THREAD] = 0;
    for (uint32_t i = DM_BLOCK_THREAD; i < DM_SIMT_SERVICE_QUEUE; i += DM_SIMT_THREADS)
        queue[i] = DM_SIMT_NO_MACHINE;
    dm_block_sync();
    const bool waits = dm_gb_trap_waits(trap);
    const uint32_t rank = dm_simt_rank(counts, (uint32_t)trap);
    if (waits)
        saved->hot = *hot;
    dm_block_sync();
    uint32_t length = 0, at = 0;
    for (uint32_t kind = DM_GB_TRAP_EVENT; kind < DM_SIMT_TRAPS; kind++) {
        at = kind == (uint32_t)trap ? length + rank : at;
        length += (counts[kind] + 31u) & ~31u;
    }
    if (waits)
        queue[at] = machine | ((uint32_t)trap << DM_SIMT_TRAP_SHIFT);
    dm_block_sync();
    dm_simt_service_queue(batch, queue, length);
    dm_block_sync();
    if (!waits)
        return trap;
    *hot = saved->hot;
    return (enum dm_gb_trap)saved->trap;
}

/* Do `left` machines need fewer warps than `before`? */
DM_FN bool dm_simt_fewer_warps(int before, int left)
{
    return (left + DM_SIMT_LANES - 1) / DM_SIMT_LANES <
           (before + DM_SIMT_LANES - 1) / DM_SIMT_LANES;
}

/* The `left` machines that are still running move to the first warps of the block. Sets this thread's
 * machine, registers and cost to those of its new machine and returns the machine's trap;
 * DM_GB_TRAP_OVER: it has none. */
DM_FN_SLOW enum dm_gb_trap dm_simt_compact(const dm_gb_batch *batch, uint32_t *machine,
                                           dm_gb_smem smem, dm_gb_hot *hot, dm_simt_cost *cost,
                                           enum dm_gb_trap trap, int left)
{
    uint32_t *survivors = dm_simt_list();
    static DM_SHARED uint32_t length;
    if (DM_BLOCK_THREAD == 0)
        length = 0;
    dm_block_sync();
    const bool running = trap != DM_GB_TRAP_OVER;
    const uint32_t here = dm_ballot(running);
    uint32_t first = 0;
    if (dm_lane() == 0 && here != 0)
        first = dm_atomic_add_u32(&length, dm_popcount_u32(here));
    first = dm_from_lane(first, 0);
    if (running) {
        dm_simt_lane_context *saved = dm_simt_lane_context_of(batch, *machine);
        saved->hot = *hot;
        saved->trap = (uint32_t)trap;
        saved->cost = *cost;
        survivors[first + dm_popcount_u32(here & ((1u << dm_lane()) - 1u))] = *machine;
    }
    dm_block_sync();
    const uint32_t slot = DM_BLOCK_THREAD / DM_LANES * DM_SIMT_LANES + dm_lane();
    if (dm_lane() >= DM_SIMT_LANES || slot >= (uint32_t)left)
        return DM_GB_TRAP_OVER;
    *machine = survivors[slot];
    dm_simt_lane_context *saved = dm_simt_lane_context_of(batch, *machine);
    *hot = saved->hot;
    *cost = saved->cost;
    saved->context.smem = smem;
    dm_gb_page_table_fill(&saved->context, saved->context.home, &smem);
    return (enum dm_gb_trap)saved->trap;
}

#endif
#endif
