/* SPDX-License-Identifier: MIT */
/* shared.h - where a machine is and which path executes it, with several machines a warp; kernel text for many lanes.
 *
 * Lanes execute a number of rounds by fast.h between votes. Machines stay in their own place; work on all devices (a
 * service, the end of a run) is done on a copy in the thread's local memory (staging_local.h). alone.h has the same
 * functions for one machine a warp. */
#ifndef DM_SIMT_MODE_SHARED_H
#define DM_SIMT_MODE_SHARED_H

#include "gb/simt/service.h"

/* Lanes that take part in the loop: those with machines, or all where the others help. (A constant, since
 * converging with another mask takes fourteen instructions.) */
#define DM_SIMT_MEMBERS                                                                            \
    (DM_SIMT_BLOCK_SERVICE || DM_SIMT_LANES == 32 ? 0xFFFFFFFFu : (1u << DM_SIMT_LANES % 32) - 1u)

/* Is there work for this lane? */
#define DM_SIMT_HAS_MACHINE(valid) (valid)

/* The machine; not in a service. */
DM_FN dm_gb_machine *dm_simt_machine(const dm_gb_context *context)
{
    return context->home;
}

/* Before a step, if `running`, and after it: nothing is copied. */
DM_FN void dm_simt_stage_in(dm_gb_context *context, bool running)
{
    if (running)
        dm_gb_map(context);
}

DM_FN void dm_simt_stage_out(dm_gb_context *context)
{
    (void)context;
}

/* DM_SIMT_ROUNDS instructions by the fast path for every lane that can; returns this lane's trap. */
DM_FN enum dm_gb_trap dm_simt_rounds(dm_gb_machine *m, dm_gb_hot *hot, const dm_gb_smem *smem,
                                     enum dm_gb_trap trap, uint32_t *executed)
{
    uint32_t count = 0;
    DM_NO_UNROLL
    for (uint32_t round = 0; round < DM_SIMT_ROUNDS; round++) {
        if (dm_gb_trap_runs(trap)) {
            trap = dm_gb_fast_next(m, hot, smem, trap);
            count++;
        }
        dm_warp_converge(DM_SIMT_MEMBERS);
    }
    *executed += count;
    return trap;
}

/* A service of this lane's machine. */
DM_FN_SLOW enum dm_gb_trap dm_simt_service_own(dm_gb_context *context, dm_gb_hot *hot,
                                               enum dm_gb_trap trap)
{
    return dm_simt_service_staged(context, hot, trap);
}

/* The end of a run. */
DM_FN_SLOW void dm_simt_sync_end(dm_gb_context *context, bool valid)
{
    if (!valid)
        return;
    dm_gb_staged staged;
    dm_gb_staged_begin(&staged, context);
    dm_gb_sync_end(&staged.context);
    dm_gb_staged_end(&staged, context);
}

/* The picture unit up to the machine's target. Mostly the last service has done it. */
DM_FN_SLOW void dm_simt_ppu_sync(dm_gb_context *context, bool valid)
{
    const dm_gb_machine *m = context->home;
    if (!valid || m->dma.active || !dm_gb_ppu_behind(&m->ppu, m->target))
        return;
    dm_gb_staged staged;
    dm_gb_staged_begin(&staged, context);
    dm_gb_ppu_sync(&staged.context, dm_gb_m(&staged.context)->target);
    dm_gb_staged_end(&staged, context);
}

#endif
