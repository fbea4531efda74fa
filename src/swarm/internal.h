/* SPDX-License-Identifier: MIT */
/* internal.h - the struct behind the public dm_swarm, and what the files of this folder share.
 *
 *   create.c     the description, arrays, first states;  roms.c  its ROMs on the device
 *   swarm.c      stepping, resetting, outputs
 *   layout.c     how much memory each array takes;  launch_config.c  how many threads take them
 *   program.c    a reward program beside the kernels (src/program)
 *   read.c       registers, memory and pictures of chosen machines
 *   bulk.c       many machines in one call;  states.c  save states of chosen machines in memory
 *   snapshot.c   start states;  starts.c  the set of starts;  save.c  the whole swarm as a file
 *   names.c      stages, codecs, generators by name
 *   builder.c compose.c skeleton.h  the kernels;  args.h  their arguments
 *
 * Start with swarm.c and skeleton.h. All arrays are allocated at creation. `args` is the argument block
 * of the next launch, complete but for the fields of one call. */
#ifndef DM_SWARM_INTERNAL_H
#define DM_SWARM_INTERNAL_H

#include "gb/host/core.h"
#include "program/internal.h"
#include "swarm/args.h"
#include "swarm/builder.h"

#define DM_SWARM_FRAMES_PER_STEP 24u
#define DM_SWARM_RELEASE 8u
#define DM_SWARM_STEP_FRAMES_MAX 1024u
#define DM_SWARM_STACK_MAX 64u

/* The device's arrays. */
enum dm_swarm_array {
    DM_SWARM_A_MACHINES,
    DM_SWARM_A_MEMORY,
    DM_SWARM_A_FRAMES,
    DM_SWARM_A_PROGRESS,
    DM_SWARM_A_STARTS,
    DM_SWARM_A_ORDER, /* CUDA, like the next three */
    DM_SWARM_A_LOADS,
    DM_SWARM_A_SERVICES,
    DM_SWARM_A_LANE_CONTEXTS,
    DM_SWARM_A_ACTIONS,         /* given from host memory */
    DM_SWARM_A_MASK,            /* likewise */
    DM_SWARM_A_RESET_SNAPSHOTS, /* likewise */
    DM_SWARM_A_ROM_BYTES,
    DM_SWARM_A_PREDECODED,
    DM_SWARM_A_ROMS,
    DM_SWARM_A_BOOT,
    DM_SWARM_A_HOOK_TABLES, /* with hooks, like the next two */
    DM_SWARM_A_MARKED_ROMS, /* the CPU's, of twice the ROMs' sizes */
    DM_SWARM_A_HOOK_BITS,
    DM_SWARM_A_FAULTS,
    DM_SWARM_A_SNAP_MACHINES,
    DM_SWARM_A_SNAP_MEMORY,
    DM_SWARM_A_SNAP_FRAMES,
    DM_SWARM_A_SNAP_ROMS,
    DM_SWARM_A_START_FIRST, /* the set of starts, as in args.h */
    DM_SWARM_A_START_SNAPSHOTS,
    DM_SWARM_A_START_LIMITS,
    DM_SWARM_A_START_CHOICES,
    DM_SWARM_A_START_DRAWS,
    DM_SWARM_A_ANSWERS, /* a reward program's, like the rest */
    DM_SWARM_A_TURNS,
    DM_SWARM_A_TURN_ACTIONS,
    DM_SWARM_A_METRICS,
    DM_SWARM_A_EPISODES,
    DM_SWARM_A_PROGRAM_MEMORY,
    DM_SWARM_A_PROGRAM_VECTORS, /* what it observes where that is no output */
    DM_SWARM_A_ROM_STARTS,
    DM_SWARM_A_SNAP_PROGRAM_MEMORY,
    DM_SWARM_ARRAYS
};

/* The kernels of bulk.c. */
enum {
    DM_SWARM_BULK_READ,
    DM_SWARM_BULK_POKE,
    DM_SWARM_BULK_GATHER,
    DM_SWARM_BULK_SCATTER,
    DM_SWARM_BULK_KERNELS
};

/* Bytes of each array: per machine, and in all that does not depend on their number. */
typedef struct dm_swarm_layout {
    uint64_t per_machine[DM_SWARM_ARRAYS], shared[DM_SWARM_ARRAYS];
    uint64_t output[DM_SWARM_OUTPUTS]; /* per machine */
    uint64_t machine_stride, memory_stride;
    uint64_t machine_total, shared_total; /* what the swarm allocates itself */
} dm_swarm_layout;

struct dm_swarm {
    dm_device *device;
    dm_stream *stream;
    dm_swarm_desc desc; /* defaults filled in; its pointers may dangle */
    dm_swarm_layout layout;
    dm_swarm_kernels kernels;
    dm_swarm_args args;
    uint32_t blocks; /* of a launch */
    bool by_parts;   /* a step is a launch for each of its parts */
    dm_device_buffer *arrays[DM_SWARM_ARRAYS];
    dm_device_buffer *own[DM_SWARM_OUTPUTS]; /* NULL where the caller's is used from the start */
    dm_device_buffer *bound[DM_SWARM_OUTPUTS];
    dm_program *program; /* NULL: the epilog judges */
    dm_program_kernel *program_kernel;
    dm_program_places places;
    dm_gb_hook hooks[DM_GB_HOOK_COUNT_MAX]; /* the program's, then those of the description */
    dm_gb **views; /* one machine of each ROM on the host: start states, peek, poke */
    uint32_t snapshot_count;
    uint32_t *snapshot_roms; /* the host's copy */
    dm_module *bulk_module;  /* bulk.c; NULL before it is used */
    dm_function *bulk[DM_SWARM_BULK_KERNELS];
    uint8_t *host_mask; /* for dm_swarm_reset_host */
    uint32_t *host_snapshots;
};

/* layout.c */
void dm_swarm_layout_of(const dm_swarm *swarm, dm_swarm_layout *out);
/* DM_ENOMEM with how many would fit when there is not room for all of it. */
dm_status dm_swarm_check_room(const dm_swarm *swarm, dm_error *err);

/* launch_config.c: fill in lanes, threads and blocks that the caller left 0. The kernel is compiled for them. */
void dm_swarm_choose_threads(const dm_device *device, dm_swarm_desc *desc);
/* The same for a GPU with so many multiprocessors. */
void dm_swarm_launch_config_for(int multiprocessors, dm_swarm_desc *desc);
/* With threads chosen: the blocks of a launch (dm_gb_batch: the first `short_blocks` of them have
 * `block_machines` machines, the others one more). */
typedef struct dm_swarm_blocks {
    uint32_t count, block_machines, short_blocks;
} dm_swarm_blocks;
dm_swarm_blocks dm_swarm_blocks_over(int multiprocessors, const dm_swarm_desc *desc);
/* With threads chosen: is it better to sort machines again within a step? */
bool dm_swarm_sorts_often(const dm_swarm_desc *desc);

/* program.c: with a program, else nothing. */
dm_status dm_swarm_program_take(dm_swarm *swarm, dm_error *err); /* checks the description */
void dm_swarm_program_layout(const dm_swarm *swarm, dm_swarm_layout *layout);
dm_status dm_swarm_program_start(dm_swarm *swarm, dm_error *err); /* the arrays are there */
void dm_swarm_program_point(dm_swarm *swarm);                     /* outputs were bound */
dm_status dm_swarm_program_judge(dm_swarm *swarm,
                                 dm_error *err); /* a step was queued: the rest of it */
dm_status dm_swarm_program_begin(dm_swarm *swarm, dm_error *err); /* a reset was queued */
dm_status dm_swarm_program_check(dm_swarm *swarm, bool waits, dm_error *err);

/* roms.c: open a view of each ROM, with its start state; upload bytes, words and hooks once the arrays exist. */
dm_status dm_swarm_open_roms(dm_swarm *swarm, dm_error *err);
dm_status dm_swarm_upload_roms(dm_swarm *swarm, dm_error *err);

/* swarm.c: one launch of a kernel of the swarm's. */
dm_status dm_swarm_launch(dm_swarm *swarm, const dm_function *function, dm_error *err);
/* The output was asked for, and the buffer is as large as it. */
dm_status dm_swarm_check_output(const dm_swarm *swarm, dm_swarm_output_kind kind,
                                const dm_device_buffer *buffer, dm_error *err);
/* The kernels' arguments follow what is bound. */
void dm_swarm_point_outputs(dm_swarm *swarm);

/* NULL for none. */
static inline void *dm_swarm_address(const dm_device_buffer *buffer)
{
    return buffer == NULL ? NULL : dm_device_buffer_address(buffer);
}

/* read.c: a machine on the host, in the view of its ROM, and back. */
dm_status dm_swarm_fetch(dm_swarm *swarm, uint32_t machine, dm_gb **view, dm_error *err);
dm_status dm_swarm_check_machine(const dm_swarm *swarm, uint32_t machine, dm_error *err);

/* bulk.c: chosen machines as they lie on the device, in host memory: machine_stride, memory_stride and program_stride
 * bytes for each, one after the other. Scattering wants each machine once; its pictures become
 * shades of 0. */
typedef struct dm_swarm_whole {
    uint8_t *states, *memories, *kept;
} dm_swarm_whole;
dm_status dm_swarm_gather(dm_swarm *swarm, const uint32_t *machines, size_t count,
                          const dm_swarm_whole *to, dm_error *err);
dm_status dm_swarm_scatter(dm_swarm *swarm, const uint32_t *machines, size_t count,
                           const dm_swarm_whole *from, dm_error *err);

/* snapshot.c: there is such a snapshot, and it is not empty. */
dm_status dm_swarm_check_snapshot_used(const dm_swarm *swarm, uint32_t snapshot, dm_error *err);

/* snapshot.c: a view's machine into a snapshot; its pictures are blank, its program's memory zero. */
dm_status dm_swarm_snapshot_put(dm_swarm *swarm, uint32_t rom, uint32_t snapshot, dm_error *err);

#endif
