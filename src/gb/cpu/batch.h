/* SPDX-License-Identifier: MIT */
/* batch.h - a batch of machines on a CPU: a thread runs one machine after the other, alone; kernel text.
 *
 * The functions that the swarm's kernels call, as simt/simt.h has them for a GPU. There is one lane, no shared memory
 * and nothing to wait for. */
#ifndef DM_GB_CPU_BATCH_H
#define DM_GB_CPU_BATCH_H

#include "gb/simt/lanes.h"

typedef struct dm_gb_smem {
    uint32_t none;
} dm_gb_smem;

DM_FN dm_gb_context *dm_simt_context(const dm_swarm_args *args, uint32_t machine,
                                     dm_gb_context *spare)
{
    dm_simt_context_init(spare, args, machine);
    return spare;
}

DM_FN dm_gb_machine *dm_simt_machine(const dm_gb_context *context)
{
    return dm_gb_m(context);
}

DM_FN void dm_simt_stage_in(dm_gb_context *context, bool running)
{
    if (running)
        dm_gb_map(context);
}

DM_FN void dm_simt_stage_out(dm_gb_context *context)
{
    (void)context;
}

DM_FN bool dm_simt_block_service(const dm_swarm_args *args, uint32_t machine, bool valid)
{
    (void)args;
    (void)machine;
    (void)valid;
    return false;
}

DM_FN dm_gb_smem dm_simt_smem(const dm_swarm_args *args)
{
    const dm_gb_smem smem = {0};
    (void)args;
    return smem;
}

DM_FN void dm_simt_run(const dm_swarm_args *args, uint32_t machine, dm_gb_context *context,
                       const dm_gb_smem *smem, uint32_t cycles, bool valid, bool block_service,
                       bool draws, bool observes, dm_simt_cost *cost)
{
    (void)args;
    (void)machine;
    (void)smem;
    (void)block_service;
    (void)draws;
    (void)observes;
    (void)cost;
    if (valid)
        dm_gb_run(context, cycles);
}

#endif
