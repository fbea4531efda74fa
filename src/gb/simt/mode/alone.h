/* SPDX-License-Identifier: MIT */
/* alone.h - where a machine is and which path executes it, with one machine a warp; kernel text for many lanes.
 *
 * The warp's first lane runs its machine as a copy in shared memory for the whole step (staging.h). It waits for
 * nothing, so it goes on by fast_scalar.h until it traps, and services itself. shared.h has the same functions for
 * warps of several machines. */
#ifndef DM_SIMT_MODE_ALONE_H
#define DM_SIMT_MODE_ALONE_H

#include "gb/simt/service.h"

/* Lanes that take part in the loop. */
#define DM_SIMT_MEMBERS 1u

/* Is there work for this lane? The test is of the lane's number alone, and functions test `valid` themselves. So the
 * compiler sees that only one lane executes what follows and omits the code that joins divergent branches. */
#define DM_SIMT_HAS_MACHINE(valid) (dm_lane() == 0)

/* The machine's copy; not in a service. */
DM_FN dm_gb_machine *dm_simt_machine(const dm_gb_context *context)
{
    return dm_gb_m(context);
}

/* Before a step, if `running`, and after it: copy the machine in and out. */
DM_FN void dm_simt_stage_in(dm_gb_context *context, bool running)
{
    dm_gb_stage_slot(context);
    if (!running)
        return;
    dm_gb_stage_begin(context);
    dm_gb_map(context);
}

DM_FN void dm_simt_stage_out(dm_gb_context *context)
{
    dm_gb_stage_end(context);
}

/* Instructions by the fast path until one traps; returns the trap. */
DM_FN enum dm_gb_trap dm_simt_rounds(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_smem *smem,
                                     enum dm_gb_trap trap, uint32_t *executed)
{
    return dm_gb_fast_scalar(m, hot, smem, trap, executed);
}

/* A service of this lane's machine. */
DM_FN_SLOW enum dm_gb_trap dm_simt_service_own(dm_gb_context *context, dm_gb_hot *hot,
                                               enum dm_gb_trap trap)
{
    return dm_gb_service_mapped(context, hot, trap);
}

/* The end of a run. */
DM_FN_SLOW void dm_simt_sync_end(dm_gb_context *context, bool valid)
{
    if (valid)
        dm_gb_sync_end(context);
}

/* The picture unit up to the machine's target. Mostly the last service has done it. */
DM_FN_SLOW void dm_simt_ppu_sync(dm_gb_context *context, bool valid)
{
    const dm_gb_machine *m = dm_gb_m(context);
    if (valid && !m->dma.active && dm_gb_ppu_behind(&m->ppu, m->target))
        dm_gb_ppu_sync(context, m->target);
}

#endif
