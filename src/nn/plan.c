/* SPDX-License-Identifier: MIT */
/* plan.c - from a list of layers to sizes and offsets; everything that can be wrong with it is
 * found here. */
#include "nn/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t take(size_t *total, size_t floats)
{
    size_t at = *total;
    *total += (floats + 15) / 16 * 16; /* whole cache lines */
    return at;
}

static int add_parameter(dm_nn_plan *plan, size_t layer, const char *what, const uint32_t *shape,
                         int dims)
{
    dm_nn_parameter *p = &plan->parameters[plan->parameter_count];
    *p = (dm_nn_parameter){.count = 1};
    snprintf(p->name, sizeof p->name, "%zu.%s", layer, what);
    for (int i = 0; i < dims; i++) {
        p->shape[i] = shape[i];
        p->count *= shape[i];
    }
    plan->parameter_floats += (p->count + 15) / 16 * 16;
    return (int)plan->parameter_count++;
}

static void need_scratch(dm_nn_plan *plan, size_t bytes)
{
    if (bytes > plan->scratch_bytes)
        plan->scratch_bytes = bytes;
}

#define WRONG(...) return dm_fail(err, DM_EINVAL, "nn: layer " __VA_ARGS__)

static dm_status plan_linear(dm_nn_plan *plan, size_t i, dm_nn_planned *p, const dm_nn_exec *exec,
                             dm_error *err)
{
    const dm_nn_layer *l = &p->layer;
    /* The rows of an image are its channels, one after the other. */
    uint32_t inputs = p->in.C * p->in.H * p->in.W;
    if (l->size == 0)
        WRONG("%zu: a linear layer needs a size", i);
    if (l->tied && (plan->layers[0].layer.kind != DM_NN_LAYER_EMBED ||
                    plan->layers[0].layer.size != l->size || plan->layers[0].layer.width != inputs))
        WRONG("%zu: tied weights need an embedding of %u times %u as the first layer", i, l->size,
              inputs);
    p->out = (dm_nn_shape){p->in.B, p->in.rows, l->size, 1, 1};
    p->weight = l->tied ? plan->layers[0].weight
                        : add_parameter(plan, i, "weight", (uint32_t[]){l->size, inputs}, 2);
    if (!l->tied)
        p->bias = add_parameter(plan, i, "bias", &l->size, 1);
    if (l->activation == DM_NN_GELU)
        p->kept[0] = take(&plan->shard_floats, dm_nn_shape_count(p->out));
    dm_nn_linear op = {(uint32_t)dm_nn_shape_rows(p->in), inputs, l->size, l->activation, false};
    if (exec->ops->linear_scratch)
        need_scratch(plan, exec->ops->linear_scratch(exec, &op));
    return DM_OK;
}

static dm_status plan_conv(dm_nn_plan *plan, size_t i, dm_nn_planned *p, const dm_nn_exec *exec,
                           dm_error *err)
{
    dm_nn_layer *l = &p->layer;
    l->stride = l->stride == 0 ? 1 : l->stride;
    if (l->size == 0 || l->kernel == 0 || l->kernel > p->in.H || l->kernel > p->in.W)
        WRONG("%zu: a convolution of %u channels, %u x %u, does not fit an image of %u x %u", i,
              l->size, l->kernel, l->kernel, p->in.H, p->in.W);
    if (l->activation == DM_NN_GELU)
        WRONG("%zu: a convolution has no GELU", i);
    p->out = (dm_nn_shape){p->in.B, 1, l->size, (p->in.H - l->kernel) / l->stride + 1,
                           (p->in.W - l->kernel) / l->stride + 1};
    p->weight =
        add_parameter(plan, i, "weight", (uint32_t[]){l->size, p->in.C, l->kernel, l->kernel}, 4);
    p->bias = add_parameter(plan, i, "bias", &l->size, 1);
    dm_nn_conv op = {p->in.B,   p->in.C,   p->in.H,       p->in.W, l->size,
                     l->kernel, l->stride, l->activation, false};
    if (exec->ops->conv_scratch)
        need_scratch(plan, exec->ops->conv_scratch(exec, &op));
    return DM_OK;
}

static dm_status plan_layer(dm_nn_plan *plan, size_t i, dm_nn_planned *p, const dm_nn_exec *exec,
                            dm_error *err)
{
    const dm_nn_layer *l = &p->layer;
    p->out = p->in;
    switch (l->kind) {
    case DM_NN_LAYER_LINEAR:
        return plan_linear(plan, i, p, exec, err);
    case DM_NN_LAYER_CONV:
        return plan_conv(plan, i, p, exec, err);
    case DM_NN_LAYER_POOL:
        if (l->kernel == 0 || l->kernel > 16 || l->kernel > p->in.H || l->kernel > p->in.W)
            WRONG("%zu: pooling by %u does not fit an image of %u x %u (16 at most)", i, l->kernel,
                  p->in.H, p->in.W);
        p->out.H /= l->kernel;
        p->out.W /= l->kernel;
        p->bytes = plan->shard_bytes;
        plan->shard_bytes += dm_nn_shape_count(p->out);
        return DM_OK;
    case DM_NN_LAYER_EMBED:
        if (i != 0 || l->size == 0 || l->width == 0)
            WRONG("%zu: an embedding is the first layer and has a size and a width", i);
        p->out = (dm_nn_shape){p->in.B, p->in.C, l->width, 1, 1};
        p->weight = add_parameter(plan, i, "weight", (uint32_t[]){l->size, l->width}, 2);
        p->bias = add_parameter(plan, i, "position", (uint32_t[]){p->in.C, l->width}, 2);
        return DM_OK;
    case DM_NN_LAYER_NORM:
        p->weight = add_parameter(plan, i, "weight", &p->in.C, 1);
        p->bias = add_parameter(plan, i, "bias", &p->in.C, 1);
        p->kept[0] = take(&plan->shard_floats, dm_nn_shape_rows(p->in));
        p->kept[1] = take(&plan->shard_floats, dm_nn_shape_rows(p->in));
        return p->in.H == 1 && p->in.W == 1
                   ? DM_OK
                   : dm_fail(err, DM_EINVAL, "nn: layer %zu: a norm is of rows, not images", i);
    case DM_NN_LAYER_ATTENTION:
        if (l->size == 0 || p->in.C % (3 * l->size) != 0 || p->in.H != 1)
            WRONG("%zu: attention of %u heads needs rows of 3 * %u * D numbers, not %u", i, l->size,
                  l->size, p->in.C);
        p->out.C = p->in.C / 3;
        p->kept[0] = take(&plan->shard_floats, dm_nn_shape_rows(p->in) * l->size);
        if (exec->ops->attention_scratch)
            need_scratch(plan,
                         exec->ops->attention_scratch(
                             exec, &(dm_nn_attention){p->in.B, p->in.rows, p->out.C, l->size}));
        return DM_OK;
    case DM_NN_LAYER_RESIDUAL:
        if (l->from >= i || memcmp(&plan->layers[l->from].out, &p->in, sizeof p->in) != 0)
            WRONG("%zu: layer %u is not an earlier one of the same shape", i, l->from);
        return DM_OK;
    default:
        WRONG("%zu: there is no kind %d", i, (int)l->kind);
    }
}

static dm_status check(const dm_nn_model_desc *desc, uint32_t *shards, dm_error *err)
{
    if (desc->layers == NULL || desc->layer_count == 0 || desc->layer_count > DM_NN_LAYERS_MAX)
        return dm_fail(err, DM_EINVAL, "nn: a model has 1 to %d layers", DM_NN_LAYERS_MAX);
    if (desc->batch == 0 || desc->input[0] == 0)
        return dm_fail(err, DM_EINVAL, "nn: the batch and the input need a size");
    *shards = desc->shards;
    for (uint32_t n = 8; *shards == 0; n /= 2)
        if (desc->batch % n == 0)
            *shards = n;
    if (desc->batch % *shards != 0)
        return dm_fail(err, DM_EINVAL, "nn: %u shards do not divide a batch of %u", *shards,
                       desc->batch);
    return DM_OK;
}

dm_status dm_nn_plan_init(const dm_nn_model_desc *desc, const dm_nn_exec *exec, dm_nn_plan *plan,
                          dm_error *err)
{
    *plan = (dm_nn_plan){0};
    dm_status status = check(desc, &plan->shards, err);
    if (status != DM_OK)
        return status;
    plan->layer_count = desc->layer_count;
    plan->layers = calloc(desc->layer_count, sizeof *plan->layers);
    plan->parameters = calloc(2 * desc->layer_count, sizeof *plan->parameters);
    if (!plan->layers || !plan->parameters)
        return dm_fail(err, DM_ENOMEM, "nn: no memory for %zu layers", desc->layer_count);
    bool image = desc->input[1] != 0;
    plan->input = (dm_nn_shape){desc->batch / plan->shards, 1, desc->input[0],
                                image ? desc->input[1] : 1, image ? desc->input[2] : 1};
    if (dm_nn_shape_count(plan->input) == 0)
        return dm_fail(err, DM_EINVAL, "nn: the input %u x %u x %u has no elements", desc->input[0],
                       desc->input[1], desc->input[2]);
    dm_nn_shape shape = plan->input;
    for (size_t i = 0; i < desc->layer_count; i++) {
        dm_nn_planned *p = &plan->layers[i];
        *p = (dm_nn_planned){
            .layer = desc->layers[i], .in = shape, .weight = DM_NN_NONE, .bias = DM_NN_NONE};
        if ((status = plan_layer(plan, i, p, exec, err)) != DM_OK)
            return status;
        shape = p->out;
        p->value = take(&plan->shard_floats, dm_nn_shape_count(shape));
        p->grad = take(&plan->shard_floats, dm_nn_shape_count(shape));
    }
    plan->output = shape;
    if (desc->loss == DM_NN_LOSS_SOFTMAX && (shape.H != 1 || shape.W != 1))
        return dm_fail(err, DM_EINVAL, "nn: softmax is of rows: end with a linear layer");
    return DM_OK;
}

void dm_nn_plan_deinit(dm_nn_plan *plan)
{
    free(plan->layers);
    free(plan->parameters);
    *plan = (dm_nn_plan){0};
}
