/* SPDX-License-Identifier: MIT */
/* reset.h - put machines back to a snapshot, on the device; kernel text. */
#ifndef DM_SWARM_RESET_H
#define DM_SWARM_RESET_H

#include "gb/simt/lanes.h"

/* May this machine be reset to that snapshot? */
DM_FN bool dm_swarm_reset_check(const dm_swarm_args *args, uint64_t machine, uint32_t snapshot)
{
    if (snapshot < args->snapshot_count &&
        args->snapshot_roms[snapshot] == machine % args->rom_count)
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
        dm_warp_copy(args->machines + machine * args->machine_stride,
                     args->snapshot_machines + snapshot * args->machine_stride,
                     args->machine_stride);
        dm_warp_copy(args->memory + machine * args->memory_stride,
                     args->snapshot_memory + snapshot * args->memory_stride, args->memory_stride);
        if (args->frames != 0)
            dm_warp_copy(args->frames + machine * DM_SWARM_FRAMES,
                         args->snapshot_frames + snapshot * DM_SWARM_FRAMES, DM_SWARM_FRAMES);
    }
    dm_warp_sync();
}

#endif
