/* SPDX-License-Identifier: MIT */
/* lanes.h - who works on which machine; kernel text.
 *
 * A warp has `lanes_per_warp` machines, one for each of its first lanes; all 32 lanes go through
 * the kernel together and share the copying of pictures and snapshots. On the CPU a "warp" is one
 * lane with one machine. */
#ifndef DM_SWARM_LANES_H
#define DM_SWARM_LANES_H

#include "gb/run.h"
#include "swarm/args.h"

typedef struct dm_swarm_place {
    uint64_t first;   /* machine of the warp's lane 0 */
    uint64_t machine; /* this lane's */
    bool valid;       /* there is one */
} dm_swarm_place;

DM_FN dm_swarm_place dm_swarm_place_of(const dm_swarm_args *args, uint64_t thread)
{
    dm_swarm_place place;
    place.first = thread / DM_LANES * args->lanes_per_warp;
    place.machine = place.first + dm_lane();
    place.valid = dm_lane() < args->lanes_per_warp && place.machine < args->count;
    return place;
}

DM_FN void dm_swarm_lane_init(dm_gb_lane *lane, const dm_swarm_args *args, uint64_t machine)
{
    const dm_swarm_rom *rom = args->roms + machine % args->rom_count;
    lane->m = dm_swarm_machine(args, machine);
    lane->ram = args->memory + machine * args->memory_stride;
    lane->rom = rom->bytes;
    lane->rom_words = rom->words;
    lane->boot = args->boot;
    lane->frames = args->frames == 0 ? 0 : args->frames + machine * DM_SWARM_FRAMES;
    lane->skip_polls = args->skip_polls;
}

#endif
