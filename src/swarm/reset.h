/* SPDX-License-Identifier: MIT */
/* reset.h - put machines back to a snapshot, on the device; kernel text. */
#ifndef DM_SWARM_RESET_H
#define DM_SWARM_RESET_H

#include "gb/batch.h"
#include "swarm/args.h"

/* May this machine be reset to that snapshot? */
DM_FN bool dm_swarm_reset_check(const dm_swarm_args *args, uint64_t machine, uint32_t snapshot)
{
    if (snapshot < args->snapshot_count &&
        args->snapshot_roms[snapshot] == machine % args->batch.rom_count)
        return true;
    dm_atomic_add_u32(&args->faults->resets, 1);
    return false;
}

/* Copy the snapshots of all lanes that are `wanted`, each with the help of the whole warp. */
DM_FN void dm_swarm_restore(const dm_swarm_args *args, const dm_simt_slot *slot, bool wanted)
{
    uint32_t lanes = dm_ballot(wanted);
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
}

#endif
