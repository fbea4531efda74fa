/* SPDX-License-Identifier: MIT */
/* reset.h - put machines back to a snapshot, on the device; kernel text.
 *
 * Where an episode starts: from the snapshot that the machine was last reset to (`starts`); or, where the swarm has a
 * set of starts, from the one that was chosen for the machine, else from one drawn by its weight. Then bytes of memory
 * may get random values. Draws are counter-based: they depend on (seed, machine, how often it was reset) alone. */
#ifndef DM_SWARM_RESET_H
#define DM_SWARM_RESET_H

#include "base/philox.h"
#include "gb/batch.h"
#include "swarm/args.h"

/* Streams of random numbers beside that of actions. */
#define DM_SWARM_SEED_STARTS 0x5374617274730001ull
#define DM_SWARM_SEED_BYTES 0x5374617274730002ull

/* May this machine be reset to that snapshot? */
DM_FN bool dm_swarm_fits(const dm_swarm_args *args, uint64_t machine, uint32_t snapshot)
{
    return snapshot < args->snapshot_count &&
           args->snapshot_roms[snapshot] == machine % args->batch.rom_count;
}

/* The same, counted as a fault if not. */
DM_FN bool dm_swarm_reset_check(const dm_swarm_args *args, uint64_t machine, uint32_t snapshot)
{
    if (dm_swarm_fits(args, machine, snapshot))
        return true;
    dm_atomic_add_u32(&args->faults->resets, 1);
    return false;
}

/* Choose the snapshot of the machine's next episode, where the swarm has a set of starts. */
DM_FN void dm_swarm_choose_start(const dm_swarm_args *args, uint64_t machine)
{
    if (args->start_first == 0)
        return;
    const uint32_t rom = (uint32_t)(machine % args->batch.rom_count);
    const uint32_t chosen = args->start_choices[machine];
    uint32_t low = args->start_first[rom], high = args->start_first[rom + 1u];
    if (chosen != DM_SWARM_NO_SNAPSHOT && dm_swarm_reset_check(args, machine, chosen)) {
        args->starts[machine] = chosen;
        return;
    }
    if (low == high)
        return;
    const uint32_t draw = dm_random4(args->seed ^ DM_SWARM_SEED_STARTS,
                                     args->first_machine + machine, args->start_draws[machine])
                              .v[0];
    high--;
    while (low < high) { /* the first whose limit is above */
        const uint32_t middle = (low + high) / 2u;
        if (draw < args->start_limits[middle])
            high = middle;
        else
            low = middle + 1u;
    }
    args->starts[machine] = args->start_snapshots[low];
}

/* After a reset: count it, and give the random bytes of memory their values. */
DM_FN void dm_swarm_randomise(const dm_swarm_args *args, uint64_t machine)
{
    uint8_t *memory = args->batch.memory + machine * args->batch.memory_stride;
    const uint64_t draw = args->start_draws[machine]++;
    for (uint32_t i = 0; i < args->random_count; i++) {
        const uint32_t word =
            dm_random4(args->seed ^ DM_SWARM_SEED_BYTES, args->first_machine + machine,
                       draw * DM_SWARM_RANDOM_BYTES + i)
                .v[0];
        memory[args->random_offsets[i]] = (uint8_t)(1u + dm_random_below(word, 255u));
    }
}

/* Reset the machines of all lanes with `wanted`; the whole warp copies each snapshot. `draws`: the caller names no
 * snapshot, so the set of starts is asked. */
DM_FN void dm_swarm_restore(const dm_swarm_args *args, const dm_simt_slot *slot, bool wanted,
                            bool draws)
{
    uint32_t lanes = dm_ballot(wanted);
    if (wanted && draws)
        dm_swarm_choose_start(args, slot->machine);
    dm_warp_sync();
    for (; lanes != 0; lanes &= lanes - 1u) {
        uint64_t machine = dm_from_lane(slot->machine, dm_ffs_u32(lanes) - 1u);
        uint64_t snapshot = args->starts[machine];
        dm_warp_copy(args->batch.machines + machine * args->batch.machine_stride,
                     args->snapshot_machines + snapshot * args->batch.machine_stride,
                     args->batch.machine_stride);
        dm_warp_copy(args->batch.memory + machine * args->batch.memory_stride,
                     args->snapshot_memory + snapshot * args->batch.memory_stride,
                     args->batch.memory_stride);
        if (args->program_stride != 0)
            dm_warp_copy(args->program_memory + machine * args->program_stride,
                         args->snapshot_program_memory + snapshot * args->program_stride,
                         args->program_stride);
        if (args->batch.frames != 0)
            dm_warp_copy(args->batch.frames + machine * DM_GB_FRAMES_SIZE,
                         args->snapshot_frames + snapshot * DM_GB_FRAMES_SIZE, DM_GB_FRAMES_SIZE);
    }
    dm_warp_sync();
    if (wanted)
        dm_swarm_randomise(args, slot->machine);
}

#endif
