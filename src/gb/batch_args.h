/* SPDX-License-Identifier: MIT */
/* batch_args.h - the argument block with which an executor runs a batch of machines (batch.h); kernel text.
 *
 * Everything is an array with one element per machine, at a fixed stride; pointers are device addresses. A caller
 * (src/swarm) fills the block and launches kernels that call the functions of batch.h. Macros that such a kernel is
 * compiled with for a GPU are in simt/lanes.h. */
#ifndef DM_GB_BATCH_ARGS_H
#define DM_GB_BATCH_ARGS_H

#include "gb/hooks.h"
#include "gb/machine/machine.h"

#define DM_GB_PICTURE_SIZE (DM_GB_SCREEN_W * DM_GB_SCREEN_H) /* bytes, one shade each */
#define DM_GB_FRAMES_SIZE (2u * DM_GB_PICTURE_SIZE)          /* the two that a machine draws to */
/* Bytes of a machine's lane context on a GPU (simt/service.h), in kernels without hooks and with them. */
#define DM_SIMT_LANE_CONTEXT_PLAIN 528u
#define DM_SIMT_LANE_CONTEXT_HOOKED 576u
#define DM_SIMT_LANE_CONTEXT_BYTES                                                                 \
    (DM_GB_HOOKS ? DM_SIMT_LANE_CONTEXT_HOOKED : DM_SIMT_LANE_CONTEXT_PLAIN)

typedef struct dm_gb_batch_rom {
    const uint8_t *bytes;
    const uint32_t *predecoded;    /* GPU: its instructions (simt/predecode.h) */
    const dm_gb_hook_table *hooks; /* NULL: none */
} dm_gb_batch_rom;

typedef struct dm_gb_batch {
    uint8_t *machines;           /* dm_gb_machine at machine_stride */
    uint8_t *memory;             /* machine memory at memory_stride */
    uint8_t *frames;             /* DM_GB_FRAMES_SIZE each; NULL: nothing is drawn */
    const dm_gb_batch_rom *roms; /* machine i runs ROM i % rom_count */
    const uint8_t *boot;
    uint64_t *
        hook_bits; /* of each machine, bit i for hook i: it was met since the bits were cleared; NULL: no hooks */
    /* GPU. */
    uint32_t *order; /* the machine of each slot (simt/rebalance.h) */
    /* What a machine's last launch cost, as if it had been a whole step. */
    uint32_t *loads;              /* in instructions (simt/rebalance.h), */
    uint32_t *services;           /* in services (simt/service.h) */
    uint8_t *lane_contexts;       /* DM_SIMT_LANE_CONTEXT_BYTES each (simt/service.h) */
    const struct dm_gb_uop *uops; /* all of them (simt/uop.h) */
    uint64_t lowest; /* of the addresses of memory, ROMs and predecoded ROMs (simt/smem.h) */
    uint64_t machine_stride, memory_stride;
    uint32_t count, rom_count;
    uint32_t lanes_per_warp; /* machines per warp; the CPU: 1 */
    uint32_t block_machines; /* GPU: of the first `short_blocks` blocks; then one more */
    uint32_t short_blocks;
    uint8_t skip_idle;
    /* A step is two runs, the parts; 0 cycles: that part is missing. */
    uint8_t draw[2], single_frame[2]; /* of the context (machine/context.h) */
    uint32_t cycles[2];
    /* This launch. */
    uint32_t part_begin, part_end; /* which of the two parts it makes */
} dm_gb_batch;

DM_FN dm_gb_machine *dm_gb_batch_machine(const dm_gb_batch *batch, uint64_t machine)
{
    return (dm_gb_machine *)(void *)(batch->machines + machine * batch->machine_stride);
}

/* The first of the slots of machines (simt/lanes.h) that a block has. */
DM_FN uint32_t dm_simt_first_slot(const dm_gb_batch *batch, uint32_t block)
{
    return block * batch->block_machines +
           (block > batch->short_blocks ? block - batch->short_blocks : 0u);
}

#endif
