/* SPDX-License-Identifier: MIT */
/* run.h - one shard through the layers, forward and backward. */
#ifndef DM_NN_RUN_H
#define DM_NN_RUN_H

#include "nn/plan.h"

/* The memory of a shard, all on the exec's device. With double, gradients and losses are double too. */
typedef struct dm_nn_shard {
    char *memory;        /* plan->shard_bytes */
    float *gradients;    /* plan->parameter_room, as the parameters lie */
    float *losses;       /* one per row of the output */
    const void *weights; /* plan->parameter_room elements of the exec's type */
    const void *input;   /* of this shard */
    const void *target;  /* NULL: no loss */
    /* For a recurrent layer, of which there is at most one: the state before the first step, [B][size] (NULL: zeros);
     * and a byte for each step, [B][T], not 0 where the state before it is zero (NULL: nowhere). */
    const void *state;
    const uint8_t *starts;
    /* The first layer is a convolution of packed pictures; see dm_nn_conv. */
    bool packed;
    const int32_t *rows;
} dm_nn_shard;

dm_status dm_nn_shard_forward(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_shard *shard,
                              dm_error *err);
/* The losses of the shard's rows; with scale != 0 also the gradient of the output, times scale. */
dm_status dm_nn_shard_loss(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_loss loss,
                           dm_nn_shard *shard, float scale, dm_error *err);
/* Adds to the shard's gradients. */
dm_status dm_nn_shard_backward(const dm_nn_plan *plan, dm_nn_exec *exec, dm_nn_shard *shard,
                               dm_error *err);

#endif
