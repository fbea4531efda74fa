/* SPDX-License-Identifier: MIT */
/* plan.h - a list of layers with all sizes known: what plan.c makes and run.c runs.
 *
 * A value is the output of a layer for one shard. Each layer reads the value before it. Offsets of
 * values, their gradients and what layers keep for the backward pass are bytes in a shard's memory;
 * those of parameters are elements, the same in every array of parameters.
 *
 * Memory that is shared:
 *   - a residual's sum overwrites its input, unless that is needed later;
 *   - both terms of a sum have the same gradient, which is one array until one of the two changes;
 *   - other gradients reuse the place of gradients that have been read;
 *   - the loss overwrites the last output with its gradient. */
#ifndef DM_NN_PLAN_H
#define DM_NN_PLAN_H

#include "nn/ops.h"

enum { DM_NN_LAYERS_MAX = 1024, DM_NN_NONE = -1 };

/* The shape of a value in a shard: images [B][C][H][W], or rows [N][C]. */
typedef struct dm_nn_shape {
    uint32_t B, rows; /* samples; rows of each: T with tokens, 1 otherwise */
    uint32_t C, H, W; /* H = W = 1 unless it is an image */
} dm_nn_shape;

/* How a term of a residual gets the sum's gradient. */
typedef enum dm_nn_pass_on { DM_NN_SAME_PLACE, DM_NN_COPY, DM_NN_ADD } dm_nn_pass_on;

typedef struct dm_nn_planned {
    dm_nn_layer layer;
    dm_nn_shape in, out;
    uint32_t pitch;     /* numbers in a row of the output: out.C, or more when it is padded */
    size_t value, grad; /* of the output */
    size_t kept[2];     /* GELU's sums; mean and rstd; log-sum-exp; pooling's choice; GRU's tape */
    int weight, bias;   /* indices of parameters; DM_NN_NONE */
    bool add_dx;        /* the gradient of the input has something in it already */
    bool slope_after;   /* LINEAR with GELU, CUDA: the next layer's backward pass makes its slope */
    bool in_norm;       /* RESIDUAL: the norm that follows makes the sum */
    dm_nn_pass_on before, from; /* RESIDUAL */
} dm_nn_planned;

typedef struct dm_nn_plan {
    dm_nn_planned *layers;
    size_t layer_count;
    dm_nn_parameter *parameters; /* the addresses are set by the model */
    size_t *offsets;             /* of parameters, in elements */
    size_t parameter_count;
    size_t parameter_room;     /* elements of an array of parameters */
    size_t decayed_room;       /* the first so many are those that decay */
    size_t muon_room;          /* and of these the first so many are matrices that MUON steps */
    dm_nn_shape input, output; /* of a shard */
    size_t element;            /* bytes of an activation */
    size_t shard_bytes;        /* memory of a shard, without parameters' gradients */
    size_t scratch_bytes;      /* of operations */
    size_t muon_bytes;         /* behind it: what MUON needs for its largest matrix */
    uint32_t microbatches, shards;
    bool pads;     /* large vocabularies */
    bool in_place; /* the last output becomes its gradient */
} dm_nn_plan;

static inline size_t dm_nn_shape_count(dm_nn_shape s)
{
    return (size_t)s.B * s.rows * s.C * s.H * s.W;
}

/* The size, in floats, of one number of gradients of parameters, losses and statistics: 1, or 2 where
 * everything is double. */
static inline size_t dm_nn_wide(const dm_nn_plan *plan)
{
    return plan->element == sizeof(double) ? 2 : 1;
}

static inline size_t dm_nn_shape_rows(dm_nn_shape s)
{
    return (size_t)s.B * s.rows;
}

/* Check the description and size everything for the exec's device and type; DM_EINVAL names the
 * layer that does not fit. */
dm_status dm_nn_plan_init(const dm_nn_model_desc *desc, const dm_nn_exec *exec, dm_nn_plan *out,
                          dm_error *err);
void dm_nn_plan_deinit(dm_nn_plan *plan);

#endif
