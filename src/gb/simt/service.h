/* SPDX-License-Identifier: MIT */
/* service.h - turns for all machines of a block at once; kernel text, CUDA only.
 *
 * A turn (gb/cpu/run.h) is long and its code is large. When each warp takes its own turns, two or three
 * lanes are busy in it at a time, and four warps on a scheduler that are all somewhere else wait
 * for instructions most of the time. So the block takes turns together: a waiting machine leaves
 * its registers at its desk in global memory and its number in a queue, sorted by what it needs;
 * then each warp serves 32 of the queue, whoever's they are, on copies that lie side by side, and
 * the owners take their registers back.
 *
 * As machines reach the end of their runs, warps would go on with a lane here and a lane there. So
 * when those that are left fit into fewer warps they move together, by way of their desks.
 *
 * All threads of the block call dm_swarm_serve and dm_swarm_reseat together; what happens to a
 * machine does not depend on who serves or runs it, or when. */
#ifndef DM_SIMT_SERVICE_H
#define DM_SIMT_SERVICE_H

#include "gb/simt/lanes.h"

/* What a step has cost so far (CUDA): instructions, by rounds, and turns. */
typedef struct dm_swarm_cost {
    uint32_t instructions, turns;
} dm_swarm_cost;

#if DM_ON_CUDA

typedef struct dm_swarm_desk {
    dm_gb_lane lane;
    dm_gb_hot hot;
    uint32_t need;      /* enum dm_gb_need, after a turn or while it moves */
    dm_swarm_cost cost; /* when the machine has no thread */
    dm_gb_slate slate;
    dm_gb_kept kept;
} dm_swarm_desk;

DM_STATIC_ASSERT(sizeof(dm_swarm_desk) <= DM_SWARM_DESK_BYTES, "the host makes room for desks");

DM_FN dm_swarm_desk *dm_swarm_desk_of(const dm_swarm_args *args, uint32_t machine)
{
    return (dm_swarm_desk *)(void *)(args->desks + (uint64_t)machine * DM_SWARM_DESK_BYTES);
}

#if DM_SWARM_LANES > 1

#define DM_SWARM_NEEDS 7u /* enum dm_gb_need: from DM_GB_NEED_EVENT on turns */
#define DM_SWARM_NOBODY 0xFFFFFFFFu
#define DM_SWARM_NEED_SHIFT 28u /* above the machine's number */

/* Each need's part of the queue begins with a new warp. */
#define DM_SWARM_QUEUE (DM_SWARM_BLOCK + DM_SWARM_NEEDS * 32u)

/* Shared memory for who is served, or moves. */
DM_FN uint32_t *dm_swarm_list(void)
{
    __shared__ uint32_t list[DM_SWARM_QUEUE];
    return list;
}

/* This thread's place among those of the same need; `counts` grow. */
DM_FN uint32_t dm_swarm_rank(uint32_t *counts, uint32_t need)
{
    uint32_t rank = 0;
    for (uint32_t kind = DM_GB_NEED_EVENT; kind < DM_SWARM_NEEDS; kind++) {
        uint32_t same = __ballot_sync(0xFFFFFFFFu, need == kind);
        if (same == 0)
            continue;
        uint32_t first = (uint32_t)__ffs((int)same) - 1u, base = 0;
        if (dm_lane() == first)
            base = atomicAdd(&counts[kind], (uint32_t)__popc(same));
        base = __shfl_sync(0xFFFFFFFFu, base, (int)first);
        if (need == kind)
            rank = base + (uint32_t)__popc(same & ((1u << dm_lane()) - 1u));
    }
    return rank;
}

/* A turn of the lane's machine, on a copy. */
DM_FN enum dm_gb_need dm_swarm_visit(dm_gb_lane *lane, dm_gb_hot *hot, enum dm_gb_need need)
{
    dm_gb_visit visit;
    dm_gb_visit_begin(&visit, lane);
    need = dm_gb_mapped_turn(&visit.lane, hot, need);
    dm_gb_visit_end(&visit, lane);
    return need;
}

/* A turn of the machine at that desk. */
DM_FN void dm_swarm_turn_at(dm_swarm_desk *desk, enum dm_gb_need need)
{
    dm_gb_hot hot = desk->hot;
    desk->need = (uint32_t)dm_swarm_visit(&desk->lane, &hot, need);
    desk->hot = hot;
}

/* Turns for the machines in the queue, by all threads of the block. */
DM_FN_SLOW void dm_swarm_serve_queue(const dm_swarm_args *args, const uint32_t *queue,
                                     uint32_t length)
{
    DM_NO_UNROLL
    for (uint32_t i = threadIdx.x; i < length; i += DM_SWARM_BLOCK) {
        const uint32_t entry = queue[i];
        if (entry != DM_SWARM_NOBODY)
            dm_swarm_turn_at(dm_swarm_desk_of(args, entry & ((1u << DM_SWARM_NEED_SHIFT) - 1u)),
                             (enum dm_gb_need)(entry >> DM_SWARM_NEED_SHIFT));
        __syncwarp();
    }
}

/* Serve every machine of the block that waits for a turn. Returns what this thread's machine needs
 * after that. */
DM_FN_SLOW enum dm_gb_need dm_swarm_serve(const dm_swarm_args *args, uint32_t machine,
                                          dm_gb_hot *hot, enum dm_gb_need need)
{
    __shared__ uint32_t counts[DM_SWARM_NEEDS];
    uint32_t *queue = dm_swarm_list();
    dm_swarm_desk *desk = dm_swarm_desk_of(args, machine);
    if (threadIdx.x < DM_SWARM_NEEDS)
        counts[threadIdx.x] = 0;
    for (uint32_t i = threadIdx.x; i < DM_SWARM_QUEUE; i += DM_SWARM_BLOCK)
        queue[i] = DM_SWARM_NOBODY;
    __syncthreads();
    const bool waits = dm_gb_need_turn(need);
    const uint32_t rank = dm_swarm_rank(counts, (uint32_t)need);
    if (waits)
        desk->hot = *hot;
    __syncthreads();
    uint32_t length = 0, at = 0;
    for (uint32_t kind = DM_GB_NEED_EVENT; kind < DM_SWARM_NEEDS; kind++) {
        at = kind == (uint32_t)need ? length + rank : at;
        length += (counts[kind] + 31u) & ~31u;
    }
    if (waits)
        queue[at] = machine | ((uint32_t)need << DM_SWARM_NEED_SHIFT);
    __syncthreads();
    dm_swarm_serve_queue(args, queue, length);
    __syncthreads();
    if (!waits)
        return need;
    *hot = desk->hot;
    return (enum dm_gb_need)desk->need;
}

/* Do `left` machines need fewer warps than `before`? */
DM_FN bool dm_swarm_fewer_warps(int before, int left)
{
    return (left + DM_SWARM_LANES - 1) / DM_SWARM_LANES <
           (before + DM_SWARM_LANES - 1) / DM_SWARM_LANES;
}

/* The `left` machines that are still running move to the first threads of the block. Returns what
 * this thread's needs now, DM_GB_NEED_OVER if it has none; the others are that machine's. */
DM_FN_SLOW enum dm_gb_need dm_swarm_reseat(const dm_swarm_args *args, uint32_t *machine,
                                           dm_gb_quick_place place, dm_gb_hot *hot,
                                           dm_swarm_cost *cost, enum dm_gb_need need, int left)
{
    uint32_t *roster = dm_swarm_list();
    __shared__ uint32_t length;
    if (threadIdx.x == 0)
        length = 0;
    __syncthreads();
    const bool running = need != DM_GB_NEED_OVER;
    const uint32_t here = __ballot_sync(0xFFFFFFFFu, running);
    uint32_t first = 0;
    if (dm_lane() == 0 && here != 0)
        first = atomicAdd(&length, (uint32_t)__popc(here));
    first = __shfl_sync(0xFFFFFFFFu, first, 0);
    if (running) {
        dm_swarm_desk *desk = dm_swarm_desk_of(args, *machine);
        desk->hot = *hot;
        desk->need = (uint32_t)need;
        desk->cost = *cost;
        roster[first + (uint32_t)__popc(here & ((1u << dm_lane()) - 1u))] = *machine;
    }
    __syncthreads();
    const uint32_t seat = threadIdx.x / DM_LANES * DM_SWARM_LANES + dm_lane();
    if (dm_lane() >= DM_SWARM_LANES || seat >= (uint32_t)left)
        return DM_GB_NEED_OVER;
    *machine = roster[seat];
    dm_swarm_desk *desk = dm_swarm_desk_of(args, *machine);
    *hot = desk->hot;
    *cost = desk->cost;
    desk->lane.place = place;
    dm_gb_quick_map(&desk->lane, desk->lane.home, &place);
    return (enum dm_gb_need)desk->need;
}

#endif
#endif
#endif
