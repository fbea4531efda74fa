/* SPDX-License-Identifier: MIT */
/* plan.c - from a list of layers to sizes and offsets; everything that can be wrong with it is
 * found here. */
#include "nn/plan.h"
#include "nn/muon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t take(size_t *total, size_t bytes)
{
    size_t at = *total;
    *total += (bytes + 255) / 256 * 256;
    return at;
}

/* Rows of a large vocabulary are filled up to whole tiles of the matrix units. */
static uint32_t padded(const dm_nn_plan *plan, uint32_t vocabulary)
{
    return plan->pads && vocabulary > 1024 ? (vocabulary + 127) / 128 * 128 : vocabulary;
}

static int add_parameter(dm_nn_plan *plan, size_t layer, const char *what, const uint32_t *shape,
                         int dims, uint32_t rows)
{
    dm_nn_parameter *p = &plan->parameters[plan->parameter_count];
    *p = (dm_nn_parameter){.count = 1};
    snprintf(p->name, sizeof p->name, "%zu.%s", layer, what);
    for (int i = 0; i < dims; i++) {
        p->shape[i] = shape[i];
        p->count *= shape[i];
    }
    /* For now the room it takes; place_parameters makes it a place. */
    plan->offsets[plan->parameter_count] = (p->count / shape[0] * rows + 63) / 64 * 64;
    return (int)plan->parameter_count++;
}

static void need_scratch(dm_nn_plan *plan, size_t bytes)
{
    if (bytes > plan->scratch_bytes)
        plan->scratch_bytes = bytes;
}

/* How the optimiser steps a parameter. Parameters lie in memory in this order. */
typedef enum parameter_kind { BY_MUON, DECAYS, STAYS, KINDS } parameter_kind;

static parameter_kind kind_of(const dm_nn_plan *plan, bool muon, size_t k)
{
    for (size_t i = 0; muon && i < plan->layer_count; i++) {
        const dm_nn_planned *p = &plan->layers[i];
        if (p->layer.kind == DM_NN_LAYER_LINEAR && !p->layer.tied && p->weight == (int)k)
            return BY_MUON;
    }
    return plan->parameters[k].shape[1] != 0 ? DECAYS : STAYS;
}

/* Those of a kind together, so that an optimiser's step is one launch for each kind. */
static void place_parameters(dm_nn_plan *plan, const dm_nn_exec *exec, bool muon)
{
    size_t ends[KINDS];
    for (parameter_kind kind = BY_MUON; kind < KINDS; kind++) {
        for (size_t k = 0; k < plan->parameter_count; k++) {
            const uint32_t *shape = plan->parameters[k].shape;
            if (kind_of(plan, muon, k) != kind)
                continue;
            size_t room = plan->offsets[k];
            plan->offsets[k] = plan->parameter_room;
            plan->parameter_room += room;
            if (kind != BY_MUON)
                continue;
            size_t bytes = dm_nn_orthogonalise_bytes(exec->type, shape[0], shape[1]);
            plan->muon_bytes = bytes > plan->muon_bytes ? bytes : plan->muon_bytes;
            need_scratch(plan, dm_nn_orthogonalise_scratch(exec, shape[0], shape[1]));
        }
        ends[kind] = plan->parameter_room;
    }
    plan->muon_room = ends[BY_MUON];
    plan->decayed_room = ends[DECAYS];
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
    p->weight = l->tied
                    ? plan->layers[0].weight
                    : add_parameter(plan, i, "weight", (uint32_t[]){l->size, inputs}, 2, l->size);
    if (!l->tied)
        p->bias = add_parameter(plan, i, "bias", &l->size, 1, l->size);
    else if (i + 1 == plan->layer_count)
        p->pitch = padded(plan, l->size);
    if (l->activation == DM_NN_GELU)
        p->kept[0] = take(&plan->shard_bytes, dm_nn_shape_count(p->out) * plan->element);
    uint32_t outputs = p->pitch ? p->pitch : l->size;
    dm_nn_linear op = {.N = (uint32_t)dm_nn_shape_rows(p->in),
                       .C = inputs,
                       .O = outputs,
                       .activation = l->activation};
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
    p->weight = add_parameter(plan, i, "weight",
                              (uint32_t[]){l->size, p->in.C, l->kernel, l->kernel}, 4, l->size);
    p->bias = add_parameter(plan, i, "bias", &l->size, 1, l->size);
    dm_nn_conv op = {.B = p->in.B,
                     .I = p->in.C,
                     .H = p->in.H,
                     .W = p->in.W,
                     .O = l->size,
                     .K = l->kernel,
                     .stride = l->stride,
                     .activation = l->activation};
    if (exec->ops->conv_scratch)
        need_scratch(plan, exec->ops->conv_scratch(exec, &op));
    return DM_OK;
}

static dm_status plan_gru(dm_nn_plan *plan, size_t i, dm_nn_planned *p, const dm_nn_exec *exec,
                          dm_error *err)
{
    const dm_nn_layer *l = &p->layer;
    bool full = l->kind == DM_NN_LAYER_GRU;
    uint32_t gates = full ? 3 : 2;
    if (i == 0 || l->size == 0 || p->in.C != gates * l->size || p->in.H != 1 || p->in.W != 1)
        WRONG("%zu: a recurrent layer of %u needs rows of %u numbers, not %u", i, l->size,
              gates * l->size, p->in.C);
    p->out.C = l->size;
    if (full) {
        p->weight =
            add_parameter(plan, i, "weight", (uint32_t[]){3 * l->size, l->size}, 2, 3 * l->size);
        p->kept[0] =
            take(&plan->shard_bytes, 3 * dm_nn_shape_rows(p->in) * l->size * plan->element);
    }
    if (exec->ops->gru_scratch)
        need_scratch(plan,
                     exec->ops->gru_scratch(exec, &(dm_nn_gru){p->in.B, p->in.rows, l->size}));
    return DM_OK;
}

/* Operations whose backward pass cannot add to a gradient. */
static bool writes_dx(const dm_nn_layer *l)
{
    return l->kind == DM_NN_LAYER_ATTENTION || l->kind == DM_NN_LAYER_GRU ||
           l->kind == DM_NN_LAYER_MINGRU;
}

static dm_status plan_layer(dm_nn_plan *plan, size_t i, dm_nn_planned *p, const dm_nn_exec *exec,
                            dm_error *err)
{
    const dm_nn_layer *l = &p->layer;
    const dm_nn_ops *ops = exec->ops;
    size_t rows = dm_nn_shape_rows(p->in);
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
        p->kept[0] = take(&plan->shard_bytes, dm_nn_shape_count(p->out));
        return DM_OK;
    case DM_NN_LAYER_EMBED:
        if (i != 0 || l->size == 0 || l->width == 0)
            WRONG("%zu: an embedding is the first layer and has a size and a width", i);
        p->out = (dm_nn_shape){p->in.B, p->in.C, l->width, 1, 1};
        p->weight = add_parameter(plan, i, "weight", (uint32_t[]){l->size, l->width}, 2,
                                  padded(plan, l->size));
        p->bias = add_parameter(plan, i, "position", (uint32_t[]){p->in.C, l->width}, 2, p->in.C);
        if (ops->embed_scratch)
            need_scratch(plan, ops->embed_scratch(
                                   exec, &(dm_nn_embed){p->in.B, p->in.C, l->width, l->size}));
        return DM_OK;
    case DM_NN_LAYER_NORM:
        p->weight = add_parameter(plan, i, "weight", &p->in.C, 1, p->in.C);
        p->bias = add_parameter(plan, i, "bias", &p->in.C, 1, p->in.C);
        p->kept[0] = take(&plan->shard_bytes, rows * dm_nn_wide(plan) * sizeof(float));
        p->kept[1] = take(&plan->shard_bytes, rows * dm_nn_wide(plan) * sizeof(float));
        if (ops->norm_scratch)
            need_scratch(plan,
                         ops->norm_scratch(exec, &(dm_nn_norm){(uint32_t)rows, p->in.C, false}));
        return p->in.H == 1 && p->in.W == 1
                   ? DM_OK
                   : dm_fail(err, DM_EINVAL, "nn: layer %zu: a norm is of rows, not images", i);
    case DM_NN_LAYER_ATTENTION:
        if (i == 0 || l->size == 0 || p->in.C % (3 * l->size) != 0 || p->in.H != 1)
            WRONG("%zu: attention of %u heads needs rows of 3 * %u * D numbers, not %u", i, l->size,
                  l->size, p->in.C);
        p->out.C = p->in.C / 3;
        p->kept[0] = take(&plan->shard_bytes, rows * l->size * dm_nn_wide(plan) * sizeof(float));
        if (ops->attention_scratch)
            need_scratch(plan, ops->attention_scratch(exec, &(dm_nn_attention){p->in.B, p->in.rows,
                                                                               p->out.C, l->size}));
        return DM_OK;
    case DM_NN_LAYER_GRU:
    case DM_NN_LAYER_MINGRU:
        return plan_gru(plan, i, p, exec, err);
    case DM_NN_LAYER_RESIDUAL:
        if (l->from >= i || memcmp(&plan->layers[l->from].out, &p->in, sizeof p->in) != 0)
            WRONG("%zu: layer %u is not an earlier one of the same shape", i, l->from);
        if (writes_dx(&plan->layers[l->from + 1].layer) && l->from + 1 != i)
            WRONG("%zu: the output of layer %u is for layer %u alone", i, l->from, l->from + 1);
        return DM_OK;
    default:
        WRONG("%zu: there is no kind %d", i, (int)l->kind);
    }
}

/* ---- Where values and gradients lie ---- */

/* Whether the backward pass of layer i needs its output. */
static bool needs_output(const dm_nn_plan *plan, size_t i)
{
    const dm_nn_layer *l = &plan->layers[i].layer;
    return !(l->kind == DM_NN_LAYER_RESIDUAL ||
             (l->kind == DM_NN_LAYER_LINEAR && l->activation == DM_NN_LINEAR));
}

/* Whether a later residual reads the output of layer i. */
static bool is_source(const dm_nn_plan *plan, size_t i)
{
    for (size_t r = i + 1; r < plan->layer_count; r++)
        if (plan->layers[r].layer.kind == DM_NN_LAYER_RESIDUAL && plan->layers[r].layer.from == i)
            return true;
    return false;
}

static size_t value_bytes(const dm_nn_plan *plan, size_t i)
{
    const dm_nn_planned *p = &plan->layers[i];
    return dm_nn_shape_rows(p->out) * p->pitch * p->out.H * p->out.W * plan->element;
}

static void place_values(dm_nn_plan *plan)
{
    for (size_t i = 0; i < plan->layer_count; i++) {
        dm_nn_planned *p = &plan->layers[i];
        p->pitch = p->pitch ? p->pitch : p->out.C;
        bool residual = p->layer.kind == DM_NN_LAYER_RESIDUAL;
        p->in_norm = residual && i + 1 < plan->layer_count &&
                     plan->layers[i + 1].layer.kind == DM_NN_LAYER_NORM;
        if (residual && !needs_output(plan, i - 1) && !is_source(plan, i - 1))
            p->value = plan->layers[i - 1].value;
        else
            p->value = take(&plan->shard_bytes, value_bytes(plan, i));
    }
}

/* A place for gradients, and how many values' gradient it holds now. */
typedef struct place {
    size_t at, size;
    int users;
} place;

typedef struct places {
    place *all;
    size_t count;
    int *of; /* of each layer's output; DM_NN_NONE */
} places;

static void place_take(dm_nn_plan *plan, places *s, size_t layer)
{
    size_t size = value_bytes(plan, layer), best = s->count;
    for (size_t k = 0; k < s->count; k++)
        if (s->all[k].users == 0 && s->all[k].size >= size &&
            (best == s->count || s->all[k].size < s->all[best].size))
            best = k;
    if (best == s->count)
        s->all[s->count++] = (place){take(&plan->shard_bytes, size), size, 0};
    s->all[best].users = 1;
    s->of[layer] = (int)best;
}

static void place_share(places *s, size_t layer, size_t with)
{
    s->of[layer] = s->of[with];
    s->all[s->of[layer]].users++;
}

static bool keeps_dy(const dm_nn_layer *l)
{
    return l->kind == DM_NN_LAYER_NORM || l->kind == DM_NN_LAYER_ATTENTION ||
           l->kind == DM_NN_LAYER_POOL ||
           (l->kind == DM_NN_LAYER_LINEAR && l->activation == DM_NN_LINEAR);
}

/* Give the gradient of a sum to its two terms, which share its place. That is safe: the layer before
 * the sum runs next and only reads it, and later additions are for the other term alone. */
static void place_residual(dm_nn_plan *plan, places *s, size_t i)
{
    dm_nn_planned *p = &plan->layers[i];
    size_t from = p->layer.from, before = i - 1;
    p->from = s->of[from] != DM_NN_NONE ? DM_NN_ADD : DM_NN_COPY;
    if (p->from == DM_NN_COPY && from + 2 < i)
        p->from = DM_NN_SAME_PLACE;
    bool shared = p->from == DM_NN_SAME_PLACE;
    if (shared)
        place_share(s, from, i);
    else if (p->from == DM_NN_COPY)
        place_take(plan, s, from);
    if (s->of[before] != DM_NN_NONE)
        p->before = DM_NN_ADD; /* also when it is `from`: x + x */
    else if (!shared || keeps_dy(&plan->layers[before].layer)) {
        p->before = DM_NN_SAME_PLACE;
        place_share(s, before, i);
    } else {
        p->before = DM_NN_COPY;
        place_take(plan, s, before);
    }
}

static dm_status place_gradients(dm_nn_plan *plan, dm_error *err)
{
    size_t count = plan->layer_count;
    places s = {calloc(count, sizeof *s.all), 0, calloc(count, sizeof *s.of)};
    if (!s.all || !s.of) {
        free(s.all);
        free(s.of);
        return dm_fail(err, DM_ENOMEM, "nn: no memory for %zu layers", count);
    }
    for (size_t i = 0; i < count; i++)
        s.of[i] = DM_NN_NONE;
    plan->in_place = !needs_output(plan, count - 1) && !is_source(plan, count - 1);
    if (plan->in_place) {
        s.all[s.count++] = (place){plan->layers[count - 1].value, value_bytes(plan, count - 1), 1};
        s.of[count - 1] = 0;
    } else {
        place_take(plan, &s, count - 1);
    }
    for (size_t i = count; i-- > 0;) {
        dm_nn_planned *p = &plan->layers[i];
        p->grad = s.all[s.of[i]].at;
        if (i > 0 && p->layer.kind == DM_NN_LAYER_RESIDUAL)
            place_residual(plan, &s, i);
        else if (i > 0 && !(p->add_dx = s.of[i - 1] != DM_NN_NONE))
            place_take(plan, &s, i - 1);
        s.all[s.of[i]].users--;
        if (plan->in_place && i + 1 == count) /* never for another: outputs are read later */
            s.all[0].size = 0;
    }
    free(s.all);
    free(s.of);
    return DM_OK;
}

static dm_status check(const dm_nn_model_desc *desc, const dm_nn_exec *exec, dm_nn_plan *plan,
                       dm_error *err)
{
    if (desc->layers == NULL || desc->layer_count == 0 || desc->layer_count > DM_NN_LAYERS_MAX)
        return dm_fail(err, DM_EINVAL, "nn: a model has 1 to %d layers", DM_NN_LAYERS_MAX);
    if (desc->batch == 0 || desc->input[0] == 0)
        return dm_fail(err, DM_EINVAL, "nn: the batch and the input need a size");
    plan->microbatches = desc->microbatches == 0 ? 1 : desc->microbatches;
    if (desc->batch % plan->microbatches != 0)
        return dm_fail(err, DM_EINVAL, "nn: %u microbatches do not divide a batch of %u",
                       plan->microbatches, desc->batch);
    uint32_t each = desc->batch / plan->microbatches;
    plan->shards = exec->stream ? 1 : desc->shards;
    for (uint32_t n = 8; plan->shards == 0; n /= 2)
        if (each % n == 0)
            plan->shards = n;
    if (each % plan->shards != 0)
        return dm_fail(err, DM_EINVAL, "nn: %u shards do not divide a batch of %u", plan->shards,
                       each);
    plan->pads = exec->stream && desc->loss == DM_NN_LOSS_SOFTMAX;
    plan->element = exec->type == DM_NN_BF16 ? 2 : exec->type == DM_NN_F64 ? 8 : 4;
    return DM_OK;
}

dm_status dm_nn_plan_init(const dm_nn_model_desc *desc, const dm_nn_exec *exec, dm_nn_plan *plan,
                          dm_error *err)
{
    *plan = (dm_nn_plan){0};
    dm_status status = check(desc, exec, plan, err);
    if (status != DM_OK)
        return status;
    plan->layer_count = desc->layer_count;
    plan->layers = calloc(desc->layer_count, sizeof *plan->layers);
    plan->parameters = calloc(2 * desc->layer_count, sizeof *plan->parameters);
    plan->offsets = calloc(2 * desc->layer_count, sizeof *plan->offsets);
    if (!plan->layers || !plan->parameters || !plan->offsets)
        return dm_fail(err, DM_ENOMEM, "nn: no memory for %zu layers", desc->layer_count);
    uint32_t B = desc->batch / plan->microbatches / plan->shards;
    if (desc->input[1] != 0 && desc->input[2] == 0)
        plan->input = (dm_nn_shape){B, desc->input[1], desc->input[0], 1, 1};
    else
        plan->input = (dm_nn_shape){B, 1, desc->input[0], desc->input[1] ? desc->input[1] : 1,
                                    desc->input[1] ? desc->input[2] : 1};
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
    }
    plan->output = shape;
    if (desc->loss == DM_NN_LOSS_SOFTMAX && (shape.H != 1 || shape.W != 1))
        return dm_fail(err, DM_EINVAL, "nn: softmax is of rows: end with a linear layer");
    place_parameters(plan, exec, desc->optimiser.kind == DM_NN_MUON);
    place_values(plan);
    for (size_t i = 0; exec->stream && i + 1 < plan->layer_count; i++) {
        const dm_nn_layer *l = &plan->layers[i].layer;
        plan->layers[i].slope_after = l->kind == DM_NN_LAYER_LINEAR &&
                                      l->activation == DM_NN_GELU && !is_source(plan, i) &&
                                      plan->layers[i + 1].layer.kind == DM_NN_LAYER_LINEAR;
    }
    plan->scratch_bytes = (plan->scratch_bytes + 255) / 256 * 256; /* muon_bytes follow */
    return place_gradients(plan, err);
}

void dm_nn_plan_deinit(dm_nn_plan *plan)
{
    free(plan->layers);
    free(plan->parameters);
    free(plan->offsets);
    *plan = (dm_nn_plan){0};
}
