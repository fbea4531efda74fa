/* SPDX-License-Identifier: MIT */
/* lanes.h - who works on which machine; kernel text.
 *
 * A warp has `lanes_per_warp` slots, one for each of its first lanes; `order` (rebalance.h) says which machine is in
 * a slot. All 32 lanes go through the kernel together and share the copying of pictures and snapshots. On the CPU a
 * warp is one lane with one machine. */
#ifndef DM_SIMT_LANES_H
#define DM_SIMT_LANES_H

#ifndef DM_SWARM_BLOCK
#define DM_SWARM_BLOCK 256 /* threads per block at most */
#endif
#ifndef DM_SWARM_LANES
#define DM_SWARM_LANES 32 /* machines per warp; dm_swarm_args.lanes_per_warp on CUDA */
#endif

/* Machines of a block, and their numbers in it (gb/simt/smem.h). */
#if DM_SWARM_LANES == 1
#define DM_GB_BLOCK_MACHINES (DM_SWARM_BLOCK / 32)
#define DM_GB_BLOCK_SLOT (DM_BLOCK_THREAD / 32u)
#define DM_GB_STAGE_SHARED DM_MANY_LANES
#else
#define DM_GB_BLOCK_MACHINES DM_SWARM_BLOCK
#define DM_GB_STAGE_LOCAL DM_MANY_LANES
#endif

/* A warp may execute a simple instruction together with another (gb/simt/fast.h) where it has many
 * machines. */
#ifndef DM_GB_FAST_MORE
#define DM_GB_FAST_MORE (DM_SWARM_LANES >= 16 ? 1 : 0)
#endif

#include "gb/run.h"
#if DM_MANY_LANES
#include "gb/simt/staging_local.h"
#endif
#include "swarm/args.h"

typedef struct dm_simt_slot {
    uint32_t machine; /* this lane's */
    bool valid;       /* there is one */
} dm_simt_slot;

DM_FN dm_simt_slot dm_simt_slot_of(const dm_swarm_args *args, uint64_t thread)
{
    dm_simt_slot slot = {0, false};
#if DM_MANY_LANES
    const uint32_t block = (uint32_t)(thread / DM_SWARM_BLOCK);
    const uint32_t warp = (uint32_t)(thread % DM_SWARM_BLOCK) / DM_LANES;
    const uint32_t at = dm_simt_first_slot(args, block) + warp * args->lanes_per_warp + dm_lane();
    const uint32_t end = dm_simt_first_slot(args, block + 1u);
    slot.valid = dm_lane() < args->lanes_per_warp && at < end && at < args->count;
#else
    const uint32_t at = (uint32_t)thread;
    slot.valid = thread < args->count;
#endif
    if (slot.valid)
        slot.machine = args->order == 0 ? at : args->order[at];
    return slot;
}

DM_FN void dm_simt_context_init(dm_gb_context *context, const dm_swarm_args *args, uint32_t machine)
{
    const dm_swarm_rom *rom = args->roms + (args->rom_count == 1u ? 0u : machine % args->rom_count);
    dm_gb_context_set(context, dm_swarm_machine(args, machine));
    context->ram = args->memory + machine * args->memory_stride;
    dm_gb_context_set_rom(context, rom->bytes, rom->words);
    context->boot = args->boot;
    context->frames = args->frames == 0 ? 0 : args->frames + (uint64_t)machine * DM_SWARM_FRAMES;
    context->skip_idle = args->skip_idle;
}

/* What a step has cost so far: instructions, by rounds, and services. */
typedef struct dm_simt_cost {
    uint32_t instructions, services;
} dm_simt_cost;

/* A service counts as this many rounds where machines are sorted by what they cost. */
#define DM_SIMT_SERVICE_ROUNDS 8u

/* How many times as long as the parts of this launch the whole step is. */
DM_FN float dm_simt_whole(const dm_swarm_args *args)
{
    uint32_t cycles = 0;
    for (uint32_t part = args->part_begin; part < args->part_end; part++)
        cycles += args->cycles[part];
    return (float)(args->cycles[0] + args->cycles[1]) / (float)cycles;
}

#endif
