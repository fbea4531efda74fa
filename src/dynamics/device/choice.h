/* SPDX-License-Identifier: MIT */
/* choice.h - chooses the kernel for a rollout or a step of a batch, by estimates of its cost on the
 * GPU at hand. Nothing here calls a device, so that tests run on any machine. */
#ifndef DM_DYNAMICS_CHOICE_H
#define DM_DYNAMICS_CHOICE_H

#include "dynamics/internal.h"

/* What of a GPU matters. */
typedef struct dm_dyn_gpu {
    uint32_t multiprocessors;
    uint64_t shared_bytes; /* that a block may have */
    uint64_t l2_bytes;
    bool clusters; /* compute capability 9.0 */
    bool matrix;   /* 8.0: products of bfloat16 numbers */
} dm_dyn_gpu;

dm_dyn_gpu dm_dyn_gpu_of(const dm_device_properties *properties);

/* ---- Rollouts ---- */

typedef enum dm_dyn_variant {
    DM_DYN_VARIANT_AUTO,
    DM_DYN_VARIANT_CLUSTER, /* a cluster of blocks per rollout and member */
    DM_DYN_VARIANT_BATCH,   /* a block per tile of rollouts */
    DM_DYN_VARIANT_STREAM,  /* a block per rollout and member */
} dm_dyn_variant;

#define DM_DYN_RESIDENT_MAX 512 /* hidden units whose weights fit into a cluster's registers */
#define DM_DYN_CLUSTER_MAX 4096 /* whose states fit into the shared memory of its blocks */

/* Blocks of a cluster. */
uint32_t dm_dyn_choose_cluster(const dm_dyn_gpu *gpu, const dm_dynamics_config *config,
                               uint32_t rollouts);
/* Rollouts per thread of kernel_batch.h; 0: no tile fits. */
uint32_t dm_dyn_choose_tile(const dm_dyn_gpu *gpu, const dm_dynamics_config *config,
                            uint32_t rollouts);
/* `tame`: the hidden state stays so small that its softmax needs no maximum subtracted. */
dm_dyn_variant dm_dyn_choose_variant(const dm_dyn_gpu *gpu, const dm_dynamics_config *config,
                                     uint32_t rollouts, bool tame);

/* P of kernel_batch.h, and the shared memory of its blocks for M rollouts a thread. */
uint32_t dm_dyn_batch_padding(uint32_t hidden);
size_t dm_dyn_batch_shared_bytes(size_t P, size_t M, bool reset_last);

/* ---- One step of a batch ---- */

#define DM_DYN_SMALL_VECTORS 8 /* that one warp of the small kernel takes */
#define DM_DYN_SMALL_WARPS 8   /* hidden units of a block of it */

/* A shape of the matrix kernel: vectors and rows of weights in a block, its threads, and the chunks
 * of 32 columns that are on their way at once. */
typedef struct dm_dyn_shape {
    uint32_t vectors, rows, threads, stages;
    /* Measured on an H200: microseconds of a launch besides its chunks, and of a chunk when a
     * multiprocessor has 1, 2 or 3 blocks; more than `together` take turns. */
    uint32_t together;
    double fixed_us, chunk_us[3];
} dm_dyn_shape;

#define DM_DYN_SHAPES 3
extern const dm_dyn_shape dm_dyn_shapes[DM_DYN_SHAPES];

uint32_t dm_dyn_shape_shared_bytes(const dm_dyn_shape *shape);
uint32_t dm_dyn_shape_blocks(const dm_dyn_shape *shape, uint32_t batch, uint32_t hidden,
                             uint32_t gates);
/* NULL: the small kernel. */
const dm_dyn_shape *dm_dyn_choose_gru(const dm_dyn_gpu *gpu, const dm_dynamics_config *config,
                                      uint32_t batch);

#endif
