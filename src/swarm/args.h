/* SPDX-License-Identifier: MIT */
/* args.h - the argument block that all kernels of a swarm share; kernel text.
 *
 * Everything is an array with one element per machine, or one per snapshot, at a fixed stride.
 * Pointers are device addresses; NULL where the swarm was not asked for that part. The block is
 * filled once by swarm.c; a step changes only the fields under "this call". What changes from step
 * to step lives in device memory, so that a captured graph can be replayed. */
#ifndef DM_SWARM_ARGS_H
#define DM_SWARM_ARGS_H

#include "gb/machine/machine.h"

#define DM_SWARM_PICTURE (DM_GB_SCREEN_W * DM_GB_SCREEN_H) /* bytes, one shade each */
#define DM_SWARM_FRAMES (2u * DM_SWARM_PICTURE)            /* the two that a machine draws to */
#define DM_SWARM_SMALL_W 80u
#define DM_SWARM_SMALL_H 72u
#define DM_SWARM_SMALL (DM_SWARM_SMALL_W * DM_SWARM_SMALL_H)
#define DM_SWARM_PACKED (DM_SWARM_SMALL / 4u)
#define DM_SIMT_LANE_CONTEXT_BYTES 528u
#define DM_SWARM_REGIONS 16u
#define DM_SWARM_NO_SNAPSHOT 0xFFFFFFFFu

typedef struct dm_swarm_rom {
    const uint8_t *bytes;
    const uint32_t *words; /* CUDA: its instructions (gb/simt/predecode.h) */
} dm_swarm_rom;

/* Where a machine stands among its steps. */
typedef struct dm_swarm_progress {
    uint64_t steps;         /* since the whole swarm was reset: the index of random actions */
    uint32_t episode_steps; /* since the machine was reset */
    uint32_t done; /* DM_SWARM_WAS_TERMINATED and DM_SWARM_WAS_TRUNCATED of the last step */
} dm_swarm_progress;

#define DM_SWARM_WAS_TERMINATED 1u
#define DM_SWARM_WAS_TRUNCATED 2u

/* Sticky counts of what a kernel had to refuse. */
typedef struct dm_swarm_fault_counts {
    uint32_t actions;      /* out of the codec's range: taken as NOOP */
    uint32_t resets;       /* to a snapshot that is empty or of another ROM: not done */
    uint32_t observations; /* calls of an epilog that wrote outside of its observations (CPU) */
} dm_swarm_fault_counts;

/* The public enums, for kernel text. */
enum { DM_SWARM_GEN_NOOP, DM_SWARM_GEN_RANDOM, DM_SWARM_GEN_STRIPED };
enum { DM_SWARM_RESET_NEXT_STEP, DM_SWARM_RESET_SAME_STEP, DM_SWARM_RESET_DISABLED };

/* Bytes address .. address + size - 1 of the machine's memory. */
typedef struct dm_swarm_span {
    uint16_t address, size;
} dm_swarm_span;

typedef struct dm_swarm_args {
    /* Machines. */
    uint8_t *machines; /* dm_gb_machine at machine_stride */
    uint8_t *memory;   /* machine memory at memory_stride */
    uint8_t *frames;   /* DM_SWARM_FRAMES each */
    dm_swarm_progress *progress;
    uint32_t *starts; /* the snapshot that a machine was last reset to */
    const dm_swarm_rom *roms;
    const uint8_t *boot;
    dm_swarm_fault_counts *faults;
    /* CUDA only. */
    uint32_t *order; /* the machine of each slot (rebalance.h) */
    /* What a machine's last launch cost, as if it had been a whole step. */
    uint32_t *loads;        /* in instructions (rebalance.h), */
    uint32_t *services;     /* in services (gb/cpu/run.h) */
    uint8_t *lane_contexts; /* DM_SIMT_LANE_CONTEXT_BYTES each (service.h) */
    uint64_t lowest;        /* of the addresses of memory, ROMs and words (gb/simt/smem.h) */
    /* Snapshots: the same three arrays, and of which ROM each is. */
    uint8_t *snapshot_machines, *snapshot_memory, *snapshot_frames;
    const uint32_t *snapshot_roms; /* DM_SWARM_NO_SNAPSHOT: empty */
    /* Outputs, by what they are; a stage touches only its own. */
    float *rewards;
    uint8_t *terminated, *truncated;
    float *vectors;   /* vector_size floats */
    uint8_t *shades;  /* stack x DM_SWARM_PICTURE */
    uint8_t *small;   /* stack x DM_SWARM_SMALL */
    uint8_t *packed;  /* stack x DM_SWARM_PACKED */
    uint8_t *regions; /* region_bytes */
    uint64_t machine_stride, memory_stride;
    uint64_t seed, first_machine;
    uint32_t count, rom_count, snapshot_count;
    uint32_t lanes_per_warp; /* machines per warp; the CPU: 1 */
    uint32_t block_machines; /* CUDA: of the first `short_blocks` blocks; then one more */
    uint32_t short_blocks;
    uint32_t cycles[2];               /* with the key, then without; 0: that part is missing */
    uint8_t draw[2], single_frame[2]; /* of the lane, likewise */
    uint32_t step_limit;              /* 0: none */
    uint32_t vector_size, stack, region_count, region_bytes;
    dm_swarm_span spans[DM_SWARM_REGIONS];
    uint32_t action_count;
    uint8_t keys[16]; /* of each action; meaningless for raw masks */
    uint8_t raw_keys, generator, autoreset, skip_idle;
    /* This call. */
    uint32_t part_begin, part_end;   /* which of the two parts of a step it makes */
    const uint8_t *actions;          /* NULL: the generator's */
    const uint8_t *reset_mask;       /* NULL: every machine */
    const uint32_t *reset_snapshots; /* NULL: each to its own start */
} dm_swarm_args;

DM_FN dm_gb_machine *dm_swarm_machine(const dm_swarm_args *args, uint64_t machine)
{
    return (dm_gb_machine *)(void *)(args->machines + machine * args->machine_stride);
}

/* Of the slots of machines (lanes.h), the first that a block has. */
DM_FN uint32_t dm_simt_first_slot(const dm_swarm_args *args, uint32_t block)
{
    return block * args->block_machines +
           (block > args->short_blocks ? block - args->short_blocks : 0u);
}

/* Names of the functions of one stage: dm_swarm_step_full_step ... */
#define DM_SWARM_PASTE_(part, stage) dm_swarm_##part##_##stage
#define DM_SWARM_PASTE(part, stage) DM_SWARM_PASTE_(part, stage)
#define DM_SWARM_NAME(part) DM_SWARM_PASTE(part, DM_SWARM_STAGE)
/* One more level, so that the name is pasted before DM_KERNEL pastes to it. */
#define DM_SWARM_KERNEL(name, block, blocks) DM_KERNEL_BOUNDS(name, dm_swarm_args, block, blocks)

#endif
