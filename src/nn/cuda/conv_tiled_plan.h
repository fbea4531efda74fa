/* SPDX-License-Identifier: MIT */
/* conv_tiled_plan.h - how a convolution is cut for conv_tiled.h: samples at a time, blocks, shared memory. */
#ifndef DM_NN_CUDA_CONV_TILED_PLAN_H
#define DM_NN_CUDA_CONV_TILED_PLAN_H

#include "nn/cuda/args.h"
#include "nn/ops.h"

typedef enum nn_conv_pass { NN_CONV_FORWARD, NN_CONV_DX, NN_CONV_DW } nn_conv_pass;

typedef struct nn_conv_plan {
    nn_conv_tiled_args args; /* without addresses */
    dm_grid grid;
    uint32_t places; /* of a thread: 2 or 4 */
} nn_conv_plan;

/* The arguments but for addresses, `group`, `groups` and `item_blocks`; false when numbers are too large. */
bool dm_nn_conv_args(const dm_nn_conv *s, nn_conv_pass pass, nn_conv_tiled_args *out);
/* Columns of a step `Wp` words apart, and the divisors for that. */
void dm_nn_conv_set_row(nn_conv_tiled_args *a, uint32_t Wp);
/* Samples of a chunk whose weights' gradients are summed by themselves, and how many chunks. */
void dm_nn_conv_chunks(nn_conv_tiled_args *a);

/* conv_mma.c: the same for conv_mma.h; false where that does not take it. */
bool dm_nn_conv_mma_plan(const dm_nn_conv *s, nn_conv_pass pass, uint32_t multiprocessors,
                         uint64_t shared_bytes, nn_conv_plan *out);

/* False when a sample does not fit in `shared_bytes`. places 0: whichever keeps threads busier. */
bool dm_nn_conv_plan(const dm_nn_conv *s, nn_conv_pass pass, uint32_t places,
                     uint32_t multiprocessors, uint64_t shared_bytes, nn_conv_plan *out);

#endif
