/* SPDX-License-Identifier: MIT */
/* run.h - one shard through the layers, forward and backward. */
#ifndef DM_NN_RUN_H
#define DM_NN_RUN_H

#include "nn/plan.h"

/* The memory of a shard. */
typedef struct dm_nn_shard {
    float *floats;      /* plan->shard_floats */
    uint8_t *bytes;     /* plan->shard_bytes */
    float *gradients;   /* plan->parameter_floats, as the parameters lie */
    float *losses;      /* one per row of the output */
    const void *input;  /* of this shard */
    const void *target; /* NULL: no loss */
} dm_nn_shard;

/* `values` is the parameters' array, `offsets[k]` where parameter k begins in it. */
typedef struct dm_nn_weights {
    const float *values;
    const size_t *offsets;
} dm_nn_weights;

dm_status dm_nn_shard_forward(const dm_nn_plan *plan, dm_nn_exec *exec,
                              const dm_nn_weights *weights, dm_nn_shard *shard, dm_error *err);
/* The losses of the shard's rows; with scale != 0 also the gradient of the output, times scale. */
dm_status dm_nn_shard_loss(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_loss loss,
                           dm_nn_shard *shard, float scale, dm_error *err);
/* Adds to the shard's gradients. */
dm_status dm_nn_shard_backward(const dm_nn_plan *plan, dm_nn_exec *exec,
                               const dm_nn_weights *weights, dm_nn_shard *shard, dm_error *err);

#endif
