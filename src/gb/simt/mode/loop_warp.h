/* SPDX-License-Identifier: MIT */
/* loop_warp.h - the loop of warps that service their own lanes; kernel text for many lanes. */
#ifndef DM_SIMT_MODE_LOOP_WARP_H
#define DM_SIMT_MODE_LOOP_WARP_H

#include "gb/simt/service.h"

/* The context of a machine, ready for dm_gb_map: `spare`, since no other lane needs it. */
DM_FN dm_gb_context *dm_simt_context(const dm_gb_batch *batch, uint32_t machine,
                                     dm_gb_context *spare)
{
    dm_simt_context_fill(spare, batch, machine);
    return spare;
}

/* Is the block serviced together? */
DM_FN bool dm_simt_block_service(const dm_gb_batch *batch, uint32_t machine, bool valid)
{
    (void)batch;
    (void)machine;
    (void)valid;
    return false;
}

/* Run the machines of the warp to their targets; each lane services its own. */
DM_FN void dm_simt_loop(const dm_gb_batch *batch, uint32_t own, dm_gb_context *context,
                        const dm_gb_smem *smem, const bool valid, bool block_service,
                        dm_simt_cost *total)
{
    dm_gb_machine *m = dm_simt_machine(context);
    dm_gb_hot hot = {0};
    dm_simt_cost cost = *total;
    enum dm_gb_trap trap = valid ? DM_GB_TRAP_NONE : DM_GB_TRAP_OVER;
    (void)batch;
    (void)own;
    (void)block_service;
    if (valid) {
        context->smem = *smem;
        dm_gb_service_begin(context, m, &hot);
    }
    /* Idle lanes wait outside the loop, so that the compiler sees uniform branches. */
    for (bool on = (DM_SIMT_MEMBERS >> dm_lane() & 1u) != 0; on;) {
        trap = dm_simt_rounds(m, &hot, smem, trap, &cost.instructions);
        on = dm_simt_service_warp(context, &hot, &trap, &cost);
    }
    *total = cost;
    dm_warp_sync();
}

#endif
