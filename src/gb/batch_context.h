/* SPDX-License-Identifier: MIT */
/* batch_context.h - which machine of a batch a thread runs, and the context to run it with; kernel text.
 *
 * For both executors: gb/cpu/batch.h and gb/simt/lanes.h include it. */
#ifndef DM_GB_BATCH_CONTEXT_H
#define DM_GB_BATCH_CONTEXT_H

#include "gb/batch_args.h"
#include "gb/executor.h"

typedef struct dm_simt_slot {
    uint32_t machine; /* this lane's */
    bool valid;       /* there is one */
} dm_simt_slot;

/* What a step has cost so far. Instructions are counted as rounds of the fast path. */
typedef struct dm_simt_cost {
    uint32_t instructions, services;
} dm_simt_cost;

DM_FN void dm_simt_context_init(dm_gb_context *context, const dm_gb_batch *batch, uint32_t machine)
{
    const dm_gb_batch_rom *rom =
        batch->roms + (batch->rom_count == 1u ? 0u : machine % batch->rom_count);
    dm_gb_context_set(context, dm_gb_batch_machine(batch, machine));
    context->ram = batch->memory + machine * batch->memory_stride;
    dm_gb_context_set_rom(context, rom->bytes, rom->predecoded);
    context->boot = batch->boot;
    context->frames =
        batch->frames == 0 ? 0 : batch->frames + (uint64_t)machine * DM_GB_FRAMES_SIZE;
    context->skip_idle = batch->skip_idle;
#if DM_GB_HOOKS
    context->hooks = rom->hooks;
    context->hook_bits = batch->hook_bits == 0 ? 0 : batch->hook_bits + machine;
#endif
}

#endif
