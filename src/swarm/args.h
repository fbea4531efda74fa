/* SPDX-License-Identifier: MIT */
/* args.h - the argument block that all kernels of a swarm share; kernel text.
 *
 * Everything is an array with one element per machine, or one per snapshot, at a fixed stride.
 * Pointers are device addresses; NULL where the swarm was not asked for that part. The block is
 * filled once by create.c; a step changes only the fields under "this call" and the batch's "this launch". What changes
 * from step to step lives in device memory, so that a captured graph can be replayed. */
#ifndef DM_SWARM_ARGS_H
#define DM_SWARM_ARGS_H

#include "gb/batch_args.h"
#include "gb/half_size.h"

/* Bytes of a picture as an observation: shades, small, packed. */
#define DM_SWARM_PICTURE DM_GB_PICTURE_SIZE
#define DM_SWARM_SMALL DM_GB_SMALL_SIZE
#define DM_SWARM_PACKED DM_GB_PACKED_SIZE
#define DM_SWARM_REGIONS 16u
#define DM_SWARM_NO_SNAPSHOT 0xFFFFFFFFu
#define DM_SWARM_RANDOM_BYTES 64u

/* Is this text compiled with final observations? On a CPU they are there in any case. */
#ifndef DM_SWARM_FINALS
#define DM_SWARM_FINALS (!DM_MANY_LANES)
#endif

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

/* A reward program's answer for a machine's step (src/program); with a program the epilog is not run. */
typedef struct dm_swarm_answer {
    float reward;
    uint8_t terminated, truncated, pad[2];
} dm_swarm_answer;

/* What the program's next launch does for a machine. */
enum { DM_SWARM_TURN_STEP, DM_SWARM_TURN_FRESH, DM_SWARM_TURN_SKIP };

/* A metric of one machine; sums over the episodes that ended. */
typedef struct dm_swarm_metric {
    float value, sum;         /* in this step, and in the episode so far */
    double last_sum, sum_sum; /* of the value in an episode's last step, of the episode's sum */
} dm_swarm_metric;

/* The public enums, for kernel text. */
enum { DM_SWARM_GEN_NOOP, DM_SWARM_GEN_RANDOM, DM_SWARM_GEN_STRIPED };
enum { DM_SWARM_RESET_NEXT_STEP, DM_SWARM_RESET_SAME_STEP, DM_SWARM_RESET_DISABLED };

/* Bytes address .. address + size - 1 of the machine's memory. */
typedef struct dm_swarm_span {
    uint16_t address, size;
} dm_swarm_span;

typedef struct dm_swarm_args {
    dm_gb_batch batch; /* the machines, for their executor */
    dm_swarm_progress *progress;
    uint32_t *starts; /* the snapshot that a machine was last reset to */
    dm_swarm_fault_counts *faults;
    /* Snapshots: the same three arrays, and of which ROM each is. */
    uint8_t *snapshot_machines, *snapshot_memory, *snapshot_frames;
    const uint32_t *snapshot_roms; /* DM_SWARM_NO_SNAPSHOT: empty */
    /* The set of starts (reset.h), sorted by ROM; those of ROM i begin at start_first[i]. NULL: there is none. */
    const uint32_t *start_first, *start_snapshots, *start_limits;
    const uint32_t *start_choices; /* of each machine; DM_SWARM_NO_SNAPSHOT: drawn */
    uint32_t *start_draws;         /* how often each machine was reset */
    /* Outputs, by what they are; a stage touches only its own. */
    float *rewards;
    uint8_t *terminated, *truncated;
    float *vectors;   /* vector_size floats */
    uint8_t *shades;  /* stack x DM_SWARM_PICTURE */
    uint8_t *small;   /* stack x DM_SWARM_SMALL */
    uint8_t *packed;  /* stack x DM_SWARM_PACKED */
    uint8_t *regions; /* region_bytes */
    /* The same before same-step autoreset put the machine back (finish.h): final observations. */
    float *final_vectors;
    uint8_t *final_shades, *final_small, *final_packed, *final_regions;
    float *returns; /* of episodes, this step included */
    uint32_t *lengths;
    uint64_t seed, first_machine;
    uint32_t snapshot_count;
    uint32_t step_limit; /* 0: none */
    uint32_t vector_size, stack, region_count, region_bytes;
    dm_swarm_span spans[DM_SWARM_REGIONS];
    uint32_t action_count;
    uint8_t keys[256];     /* of each action; meaningless for raw masks */
    uint32_t random_count; /* bytes of machine memory that are random at each reset */
    uint16_t random_offsets[DM_SWARM_RANDOM_BYTES];
    uint8_t raw_keys, generator, autoreset;
    uint8_t finals; /* some final observations are wanted */
    /* A reward program; all NULL and 0 without one. */
    const dm_swarm_answer *answers;
    uint32_t *turns, *turn_actions;
    uint8_t *program_memory, *snapshot_program_memory; /* program_stride bytes each */
    dm_swarm_metric *metrics;                          /* metric_count each */
    uint32_t *episodes;                                /* that ended */
    uint32_t program_stride, metric_count;
    /* This call. */
    const uint8_t *actions;          /* NULL: the generator's */
    const uint8_t *reset_mask;       /* NULL: every machine */
    const uint32_t *reset_snapshots; /* NULL: each to its own start */
} dm_swarm_args;

/* Names of the functions of one stage: dm_swarm_step_full_step ... */
#define DM_SWARM_PASTE_(part, stage) dm_swarm_##part##_##stage
#define DM_SWARM_PASTE(part, stage) DM_SWARM_PASTE_(part, stage)
#define DM_SWARM_NAME(part) DM_SWARM_PASTE(part, DM_SWARM_STAGE)
/* One more level, so that the name is pasted before DM_KERNEL pastes to it. */
#define DM_SWARM_KERNEL(name, block, blocks) DM_KERNEL_BOUNDS(name, dm_swarm_args, block, blocks)

#endif
