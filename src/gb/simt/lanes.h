/* SPDX-License-Identifier: MIT */
/* lanes.h - who works on which machine; kernel text.
 *
 * A warp has `lanes_per_warp` places, one for each of its first lanes; which machine is in a place
 * says `order` (rebalance.h). All 32 lanes go through the kernel together and share the copying of
 * pictures and snapshots. On the CPU a "warp" is one lane with one machine. */
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
#define DM_GB_QUICK_LANES (DM_SWARM_BLOCK / 32)
#define DM_GB_QUICK_SEAT (threadIdx.x / 32u)
#define DM_GB_SHARED_COPIES DM_ON_CUDA
#else
#define DM_GB_QUICK_LANES DM_SWARM_BLOCK
#define DM_GB_LOCAL_COPIES DM_ON_CUDA
#endif

/* A warp may execute a simple instruction together with another (gb/simt/fast.h) where it has many
 * machines. */
#ifndef DM_GB_QUICK_MORE
#define DM_GB_QUICK_MORE (DM_SWARM_LANES >= 16 ? 1 : 0)
#endif

#include "gb/cpu/run.h"
#include "gb/simt/staging_local.h"
#include "swarm/args.h"

typedef struct dm_swarm_place {
    uint32_t machine; /* this lane's */
    bool valid;       /* there is one */
} dm_swarm_place;

DM_FN dm_swarm_place dm_swarm_place_of(const dm_swarm_args *args, uint64_t thread)
{
    dm_swarm_place place = {0, false};
#if DM_ON_CUDA
    const uint32_t block = (uint32_t)(thread / DM_SWARM_BLOCK);
    const uint32_t warp = (uint32_t)(thread % DM_SWARM_BLOCK) / DM_LANES;
    const uint32_t at = dm_swarm_first_place(args, block) + warp * args->lanes_per_warp + dm_lane();
    const uint32_t end = dm_swarm_first_place(args, block + 1u);
    place.valid = dm_lane() < args->lanes_per_warp && at < end && at < args->count;
#else
    const uint32_t at = (uint32_t)thread;
    place.valid = thread < args->count;
#endif
    if (place.valid)
        place.machine = args->order == 0 ? at : args->order[at];
    return place;
}

DM_FN void dm_swarm_lane_init(dm_gb_lane *lane, const dm_swarm_args *args, uint32_t machine)
{
    const dm_swarm_rom *rom = args->roms + (args->rom_count == 1u ? 0u : machine % args->rom_count);
    dm_gb_lane_set(lane, dm_swarm_machine(args, machine));
    lane->ram = args->memory + machine * args->memory_stride;
    lane->rom = rom->bytes;
    lane->rom_words = rom->words;
    lane->boot = args->boot;
    lane->frames = args->frames == 0 ? 0 : args->frames + (uint64_t)machine * DM_SWARM_FRAMES;
    lane->skip_polls = args->skip_polls;
}

#endif
