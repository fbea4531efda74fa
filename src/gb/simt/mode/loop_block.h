/* SPDX-License-Identifier: MIT */
/* loop_block.h - the loop of blocks that service and compact together (service.h); kernel text for many lanes.
 *
 * Blocks with a machine that takes many services a frame service by warp instead, since its own warp services such a
 * machine sooner. Both ways are one loop: a second copy of the fast path would not fit into the instruction cache
 * beside the first. */
#ifndef DM_SIMT_MODE_LOOP_BLOCK_H
#define DM_SIMT_MODE_LOOP_BLOCK_H

#include "gb/simt/service.h"

/* The context of a machine, ready for dm_gb_map: in its lane context, where other lanes find it. */
DM_FN dm_gb_context *dm_simt_context(const dm_gb_batch *batch, uint32_t machine,
                                     dm_gb_context *spare)
{
    dm_gb_context *context = &dm_simt_lane_context_of(batch, machine)->context;
    *context = *spare;
    dm_simt_context_fill(context, batch, machine);
    return context;
}

/* Is the block serviced together? All its threads ask. */
DM_FN bool dm_simt_block_service(const dm_gb_batch *batch, uint32_t machine, bool valid)
{
    const uint32_t frames = (batch->cycles[0] + batch->cycles[1]) / DM_GB_FRAME_CYCLES;
    return dm_block_count(valid &&
                          batch->services[machine] / DM_SIMT_BLOCK_SERVICE_MOST >= frames) == 0;
}

/* Run all machines of the block to their targets; with `block_service` any warp may service a machine. */
DM_FN void dm_simt_loop(const dm_gb_batch *batch, uint32_t own, dm_gb_context *context,
                        const dm_gb_smem *smem, const bool valid, bool block_service,
                        dm_simt_cost *total)
{
    dm_gb_machine *m = dm_simt_machine(context);
    dm_gb_hot hot = {0};
    dm_simt_cost cost = *total;
    enum dm_gb_trap trap = valid ? DM_GB_TRAP_NONE : DM_GB_TRAP_OVER;
    if (valid) {
        context->smem = *smem;
        dm_gb_service_begin(context, m, &hot);
    }
    uint32_t machine = own;
    int alive = block_service ? dm_block_count(valid) : 0;
    for (bool on = true; on;) {
        trap = dm_simt_rounds(m, &hot, smem, trap, &cost.instructions);
        if (!block_service) {
            on = dm_simt_service_warp(context, &hot, &trap, &cost);
            continue;
        }
        const bool waits = dm_gb_trap_waits(trap);
        const int waiting = dm_block_count(waits);
        if (alive == 0)
            break;
        if (waiting * DM_SIMT_PATIENCE_BLOCK < alive - waiting)
            continue;
        dm_gb_hot copy = hot;
        trap = dm_simt_service_block(batch, machine, &copy, trap);
        cost.services += waits ? 1u : 0u;
        if (waits && trap == DM_GB_TRAP_OVER)
            dm_simt_lane_context_of(batch, machine)->cost = cost;
        const int left = dm_block_count(trap != DM_GB_TRAP_OVER);
        if (dm_simt_fewer_warps(alive, left)) {
            trap = dm_simt_compact(batch, &machine, *smem, &copy, &cost, trap, left);
            m = dm_gb_batch_machine(batch, machine);
        }
        hot = copy;
        alive = left;
    }
    if (block_service && valid)
        cost = dm_simt_lane_context_of(batch, own)->cost;
    *total = cost;
    dm_warp_sync();
}

#endif
