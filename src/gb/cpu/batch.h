/* SPDX-License-Identifier: MIT */
/* batch.h - a batch of machines on a CPU: a thread runs one machine after the other, alone; kernel text.
 *
 * The functions that the swarm's kernels call; simt/simt.h and the files beside it define the same ones for a GPU. Here
 * there is one lane and no shared memory, so most of them do nothing but dm_simt_run. */
#ifndef DM_GB_CPU_BATCH_H
#define DM_GB_CPU_BATCH_H

#include "gb/batch_context.h"
#include "gb/run.h"

/* Bounds of a launch; a CPU has none. */
#define DM_SIMT_THREADS 1
#define DM_SIMT_BLOCKS 1

typedef struct dm_gb_smem {
    uint32_t none;
} dm_gb_smem;

DM_FN dm_simt_slot dm_simt_slot_of(const dm_gb_batch *batch, uint64_t thread)
{
    dm_simt_slot slot = {0, thread < batch->count};
    if (slot.valid)
        slot.machine = (uint32_t)thread;
    return slot;
}

DM_FN dm_gb_context *dm_simt_context(const dm_gb_batch *batch, uint32_t machine,
                                     dm_gb_context *spare)
{
    dm_simt_context_init(spare, batch, machine);
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

DM_FN bool dm_simt_block_service(const dm_gb_batch *batch, uint32_t machine, bool valid)
{
    (void)batch;
    (void)machine;
    (void)valid;
    return false;
}

DM_FN void dm_simt_cost_store(const dm_gb_batch *batch, uint32_t machine, const dm_simt_cost *cost)
{
    (void)batch;
    (void)machine;
    (void)cost;
}

DM_FN bool dm_simt_packed(const dm_gb_context *context, const dm_gb_machine *m)
{
    (void)context;
    (void)m;
    return false;
}

DM_FN dm_gb_smem dm_simt_smem(const dm_gb_batch *batch)
{
    const dm_gb_smem smem = {0};
    (void)batch;
    return smem;
}

DM_FN void dm_simt_run(const dm_gb_batch *batch, uint32_t machine, dm_gb_context *context,
                       const dm_gb_smem *smem, uint32_t cycles, bool valid, bool block_service,
                       bool draws, uint8_t *packed, dm_simt_cost *cost)
{
    (void)batch;
    (void)machine;
    (void)smem;
    (void)block_service;
    (void)draws;
    (void)packed;
    (void)cost;
    if (valid)
        dm_gb_run(context, cycles);
}

#endif
