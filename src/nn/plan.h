/* SPDX-License-Identifier: MIT */
/* plan.h - a list of layers with all sizes known: what plan.c makes and model.c runs.
 *
 * A value is the output of a layer for one shard (value 0 is the input, value i + 1 that of layer
 * i). Each layer reads the value before it. Offsets are in floats: of values, their gradients and
 * what layers keep for the backward pass in a shard's memory; of parameters in one array. */
#ifndef DM_NN_PLAN_H
#define DM_NN_PLAN_H

#include "nn/ops.h"

enum { DM_NN_LAYERS_MAX = 1024, DM_NN_NONE = -1 };

/* The shape of a value in a shard: images [B][C][H][W], or rows [N][C]. */
typedef struct dm_nn_shape {
    uint32_t B, rows; /* samples; rows of each: T with tokens, 1 otherwise */
    uint32_t C, H, W; /* H = W = 1 unless it is an image */
} dm_nn_shape;

typedef struct dm_nn_planned {
    dm_nn_layer layer;
    dm_nn_shape in, out;
    size_t value, grad; /* of the output */
    size_t
        kept[2]; /* floats that the backward pass needs: GELU's sums; mean and rstd; log-sum-exp; */
    size_t bytes;     /* pooling's bytes */
    int weight, bias; /* indices of parameters; DM_NN_NONE */
} dm_nn_planned;

typedef struct dm_nn_plan {
    dm_nn_planned *layers;
    size_t layer_count;
    dm_nn_parameter *parameters; /* `value` and the moments are set by the model */
    size_t parameter_count;
    size_t parameter_floats;
    dm_nn_shape input, output; /* of a shard */
    size_t shard_floats;       /* memory of a shard, without parameters' gradients */
    size_t shard_bytes;
    size_t scratch_bytes;
    uint32_t shards;
} dm_nn_plan;

static inline size_t dm_nn_shape_count(dm_nn_shape s)
{
    return (size_t)s.B * s.rows * s.C * s.H * s.W;
}

static inline size_t dm_nn_shape_rows(dm_nn_shape s)
{
    return (size_t)s.B * s.rows;
}

/* Check the description and size everything; DM_EINVAL names the layer that does not fit. */
dm_status dm_nn_plan_init(const dm_nn_model_desc *desc, const dm_nn_exec *exec, dm_nn_plan *out,
                          dm_error *err);
void dm_nn_plan_deinit(dm_nn_plan *plan);

#endif
