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

/* False when a sample does not fit in `shared_bytes`. places 0: whichever keeps threads busier. */
bool dm_nn_conv_plan(const dm_nn_conv *s, nn_conv_pass pass, uint32_t places,
                     uint32_t multiprocessors, uint64_t shared_bytes, nn_conv_plan *out);

#endif
