/* SPDX-License-Identifier: MIT */
/* model.c - a model on the CPU: threads take shards, gradients are summed in the shards' order, the
 * optimiser steps.
 *
 *     batch ──► shard 0 ─► forward, loss, backward ─► gradients 0 ─┐
 *          ├──► shard 1 ─► forward, loss, backward ─► gradients 1 ─┼─► sum ─► clip ─► optimiser
 *          └──► ...                                                ┘ */
#include "base/philox.h"
#include "base/thread.h"
#include "nn/optimiser.h"
#include "nn/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct dm_nn_model {
    dm_device *device;
    dm_pool *pool;
    dm_nn_plan plan;
    dm_nn_loss loss;
    dm_nn_optimiser optimiser;
    dm_nn_stepper *stepper;
    uint64_t steps;
    size_t *offsets; /* of each parameter in the four arrays below */
    float *values;   /* also owns moments: [3][parameter_floats] */
    float *memory;   /* of all shards */
    uint8_t *bytes;
    dm_nn_shard *shards;
    dm_nn_exec *execs; /* one per thread */
    float scale;       /* of the gradient in this step; 0: evaluate */
};

static void *aligned(size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
    if (memory)
        memset(memory, 0, (bytes + 255) / 256 * 256 + 256);
    return memory;
}

/* Uniform in +-1/sqrt(inputs) as PyTorch's layers begin, or normal with the deviation that the
 * layer asks for. */
static void init_parameter(dm_nn_parameter *p, const dm_nn_layer *layer, bool is_weight,
                           uint32_t inputs, uint64_t seed, uint64_t stream)
{
    bool norm = layer->kind == DM_NN_LAYER_NORM, embed = layer->kind == DM_NN_LAYER_EMBED;
    float deviation = layer->init > 0 ? layer->init : embed ? 0.02f : 0;
    float bound = 1 / sqrtf((float)inputs);
    for (size_t i = 0; i < p->count; i++) {
        dm_philox4 r = dm_random4(seed, stream, i);
        float u = dm_random_unit(r.v[0]), v = dm_random_unit(r.v[1]);
        if (norm || (deviation > 0 && !is_weight && !embed))
            p->value[i] = norm && is_weight ? 1 : 0;
        else if (deviation > 0)
            p->value[i] = deviation * sqrtf(-2 * logf(1 - u)) * cosf(6.2831853f * v);
        else
            p->value[i] = (2 * u - 1) * bound;
    }
}

static void init_parameters(dm_nn_model *m, uint64_t seed)
{
    size_t at = 0;
    for (size_t k = 0; k < m->plan.parameter_count; k++) {
        dm_nn_parameter *p = &m->plan.parameters[k];
        m->offsets[k] = at;
        p->value = m->values + at;
        p->first = p->value + m->plan.parameter_floats;
        p->second = p->first + m->plan.parameter_floats;
        at += (p->count + 15) / 16 * 16;
    }
    for (size_t i = 0; i < m->plan.layer_count; i++) {
        const dm_nn_planned *l = &m->plan.layers[i];
        uint32_t inputs =
            l->in.C * (l->layer.kind == DM_NN_LAYER_CONV ? l->layer.kernel * l->layer.kernel
                                                         : l->in.H * l->in.W);
        if (l->weight != DM_NN_NONE && !l->layer.tied)
            init_parameter(&m->plan.parameters[l->weight], &l->layer, true, inputs, seed, 2 * i);
        if (l->bias != DM_NN_NONE)
            init_parameter(&m->plan.parameters[l->bias], &l->layer, false, inputs, seed, 2 * i + 1);
    }
}

static dm_status allocate(dm_nn_model *m, dm_error *err)
{
    const dm_nn_plan *plan = &m->plan;
    int threads = dm_pool_threads(m->pool);
    size_t rows = dm_nn_shape_rows(plan->output);
    size_t each = plan->shard_floats + plan->parameter_floats + (rows + 15) / 16 * 16;
    m->offsets = calloc(plan->parameter_count + 1, sizeof *m->offsets);
    m->values = aligned(3 * plan->parameter_floats * sizeof(float));
    m->memory = aligned(plan->shards * each * sizeof(float));
    m->bytes = aligned(plan->shards * plan->shard_bytes);
    m->shards = calloc(plan->shards, sizeof *m->shards);
    m->execs = calloc((size_t)threads, sizeof *m->execs);
    bool whole = m->offsets && m->values && m->memory && m->bytes && m->shards && m->execs;
    for (int t = 0; whole && t < threads; t++) {
        m->execs[t] = (dm_nn_exec){.ops = dm_nn_cpu(), .scratch_size = plan->scratch_bytes};
        whole = (m->execs[t].scratch = aligned(plan->scratch_bytes)) != NULL;
    }
    if (!whole)
        return dm_fail(
            err, DM_ENOMEM,
            "nn: no memory: %.1f MiB for %zu parameters, %.1f MiB for each of %u shards; a "
            "smaller batch needs less",
            3.0 * (double)plan->parameter_floats * 4 / 1048576, plan->parameter_floats,
            (double)each * 4 / 1048576, plan->shards);
    for (size_t s = 0; s < plan->shards; s++) {
        float *memory = m->memory + s * each;
        m->shards[s] =
            (dm_nn_shard){.floats = memory,
                          .bytes = m->bytes + s * plan->shard_bytes,
                          .gradients = memory + plan->shard_floats,
                          .losses = memory + plan->shard_floats + plan->parameter_floats};
    }
    return DM_OK;
}

dm_status dm_nn_model_create(dm_device *device, const dm_nn_model_desc *desc, dm_nn_model **out,
                             dm_error *err)
{
    if (!device || !desc || !out)
        return dm_fail(err, DM_EINVAL, "nn: a model needs a device and a description");
    const dm_device_properties *properties = dm_device_get_properties(device);
    if (properties->kind != DM_DEVICE_CPU)
        return dm_fail(err, DM_EUNSUPPORTED, "nn: models run on the CPU, not on %s",
                       properties->id);
    dm_nn_model *m = calloc(1, sizeof *m);
    if (!m)
        return dm_fail(err, DM_ENOMEM, "nn: no memory for a model");
    dm_nn_exec exec = {.ops = dm_nn_cpu()};
    m->device = device;
    m->loss = desc->loss;
    m->optimiser = desc->optimiser;
    dm_status status = dm_nn_plan_init(desc, &exec, &m->plan, err);
    if (status == DM_OK)
        status = dm_pool_create(properties->multiprocessors, &m->pool, err);
    if (status == DM_OK)
        status = allocate(m, err);
    if (status == DM_OK)
        status = dm_nn_stepper_create(device, desc->optimiser.kind, &m->stepper, err);
    if (status != DM_OK) {
        dm_nn_model_destroy(m);
        return status;
    }
    init_parameters(m, desc->seed);
    *out = m;
    return DM_OK;
}

void dm_nn_model_destroy(dm_nn_model *m)
{
    if (!m)
        return;
    for (int t = 0; m->execs && t < dm_pool_threads(m->pool); t++)
        free(m->execs[t].scratch);
    dm_nn_stepper_destroy(m->stepper);
    free(m->execs);
    free(m->shards);
    free(m->bytes);
    free(m->memory);
    free(m->values);
    free(m->offsets);
    dm_pool_destroy(m->pool);
    dm_nn_plan_deinit(&m->plan);
    free(m);
}

/* ---- A step ---- */

static void run_shards(void *user, uint64_t begin, uint64_t end, int worker)
{
    dm_nn_model *m = user;
    dm_nn_exec *exec = &m->execs[worker];
    dm_nn_weights weights = {m->values, m->offsets};
    for (uint64_t s = begin; s < end; s++) {
        dm_nn_shard *shard = &m->shards[s];
        /* Operations on the CPU cannot fail. */
        (void)dm_nn_shard_forward(&m->plan, exec, &weights, shard, NULL);
        if (shard->target)
            (void)dm_nn_shard_loss(&m->plan, exec, m->loss, shard, m->scale, NULL);
        if (m->scale == 0)
            continue;
        memset(shard->gradients, 0, m->plan.parameter_floats * sizeof(float));
        (void)dm_nn_shard_backward(&m->plan, exec, &weights, shard, NULL);
    }
}

static void sum_gradients(void *user, uint64_t begin, uint64_t end, int worker)
{
    (void)worker;
    dm_nn_model *m = user;
    float *sum = m->shards[0].gradients;
    for (uint32_t s = 1; s < m->plan.shards; s++)
        for (uint64_t i = begin; i < end; i++)
            sum[i] += m->shards[s].gradients[i];
}

/* Rows of the batch that count towards the loss. */
static size_t rows_that_count(const dm_nn_model *m, const void *target)
{
    size_t rows = dm_nn_model_rows(m), count = 0;
    if (m->loss != DM_NN_LOSS_SOFTMAX || !target)
        return rows;
    for (size_t i = 0; i < rows; i++)
        count += ((const int32_t *)target)[i] >= 0;
    return count;
}

static dm_status check_input(const dm_nn_model *m, const void *input, const void *target,
                             dm_error *err)
{
    const dm_nn_planned *first = &m->plan.layers[0];
    size_t tokens = dm_nn_shape_count(m->plan.input) * m->plan.shards;
    if (!input)
        return dm_fail(err, DM_EINVAL, "nn: there is no input");
    for (size_t i = 0; first->layer.kind == DM_NN_LAYER_EMBED && i < tokens; i++)
        if (((const uint32_t *)input)[i] >= first->layer.size)
            return dm_fail(err, DM_EINVAL, "nn: token %zu is %d, outside of 0..%u", i,
                           ((const int32_t *)input)[i], first->layer.size - 1);
    for (size_t i = 0; m->loss == DM_NN_LOSS_SOFTMAX && target && i < dm_nn_model_rows(m); i++)
        if (((const int32_t *)target)[i] >= (int32_t)m->plan.output.C)
            return dm_fail(err, DM_EINVAL, "nn: target %zu is %d, outside of 0..%u", i,
                           ((const int32_t *)target)[i], m->plan.output.C - 1);
    return DM_OK;
}

/* Which layer's output is the first with a number that is none. */
static dm_status not_a_number(const dm_nn_model *m, dm_error *err)
{
    for (size_t i = 0; i < m->plan.layer_count; i++)
        for (uint32_t s = 0; s < m->plan.shards; s++) {
            const dm_nn_planned *p = &m->plan.layers[i];
            for (size_t k = 0; k < dm_nn_shape_count(p->out); k++)
                if (!isfinite(m->shards[s].floats[p->value + k]))
                    return dm_fail(
                        err, DM_EINVAL,
                        "nn: the loss of step %llu is not a number; the first such output is "
                        "layer %zu's",
                        (unsigned long long)m->steps + 1, i);
        }
    return dm_fail(err, DM_EINVAL, "nn: the loss of step %llu is not a number",
                   (unsigned long long)m->steps + 1);
}

static dm_status run_batch(dm_nn_model *m, const void *input, const void *target, bool learn,
                           float *loss, dm_error *err)
{
    dm_status status = check_input(m, input, target, err);
    if (status != DM_OK)
        return status;
    size_t counted = rows_that_count(m, target), rows = dm_nn_shape_rows(m->plan.output);
    size_t targets = m->loss == DM_NN_LOSS_SOFTMAX ? rows : dm_nn_shape_count(m->plan.output);
    if (learn && counted == 0)
        return dm_fail(err, DM_EINVAL, "nn: no row of the batch has a target");
    for (size_t s = 0; s < m->plan.shards; s++) {
        m->shards[s].input = (const float *)input + s * dm_nn_shape_count(m->plan.input);
        m->shards[s].target = target ? (const float *)target + s * targets : NULL;
    }
    m->scale = learn ? 1 / (float)counted : 0;
    dm_pool_run(m->pool, m->plan.shards, 1, run_shards, m);
    double total = 0;
    for (size_t s = 0; target && s < m->plan.shards; s++)
        for (size_t i = 0; i < rows; i++)
            total += m->shards[s].losses[i];
    if (loss)
        *loss = counted > 0 ? (float)(total / (double)counted) : 0;
    return target && !isfinite(total) ? not_a_number(m, err) : DM_OK;
}

dm_status dm_nn_model_step(dm_nn_model *m, const void *input, const void *target, float *loss,
                           dm_error *err)
{
    if (!m || !target)
        return dm_fail(err, DM_EINVAL, "nn: a step needs a model and targets");
    dm_status status = run_batch(m, input, target, true, loss, err);
    if (status != DM_OK)
        return status;
    dm_pool_run(m->pool, m->plan.parameter_floats, 4096, sum_gradients, m);
    float *gradients = m->shards[0].gradients, sums[2] = {0, 0}, scale = 1;
    if (m->optimiser.clip > 0) {
        m->execs[0].ops->sums(&m->execs[0], m->plan.parameter_floats, gradients, sums, NULL);
        float norm = sqrtf(sums[1]);
        scale = norm > m->optimiser.clip ? m->optimiser.clip / norm : 1;
    }
    m->steps++;
    for (size_t k = 0; k < m->plan.parameter_count && status == DM_OK; k++)
        status = dm_nn_stepper_step(m->stepper, &m->optimiser, &m->plan.parameters[k],
                                    gradients + m->offsets[k], scale, m->steps, err);
    return status;
}

dm_status dm_nn_model_evaluate(dm_nn_model *m, const void *input, const void *target, float *output,
                               float *loss, dm_error *err)
{
    if (!m)
        return dm_fail(err, DM_EINVAL, "nn: there is no model");
    dm_status status = run_batch(m, input, target, false, loss, err);
    size_t count = dm_nn_shape_count(m->plan.output);
    const dm_nn_planned *last = &m->plan.layers[m->plan.layer_count - 1];
    for (size_t s = 0; status == DM_OK && output && s < m->plan.shards; s++)
        memcpy(output + s * count, m->shards[s].floats + last->value, count * sizeof(float));
    return status;
}

/* ---- Questions ---- */

void dm_nn_model_set_rate(dm_nn_model *m, float rate)
{
    m->optimiser.rate = rate;
}

size_t dm_nn_model_parameter_count(const dm_nn_model *m)
{
    return m->plan.parameter_count;
}

const dm_nn_parameter *dm_nn_model_parameter(dm_nn_model *m, size_t index)
{
    return index < m->plan.parameter_count ? &m->plan.parameters[index] : NULL;
}

size_t dm_nn_model_size(const dm_nn_model *m)
{
    size_t total = 0;
    for (size_t k = 0; k < m->plan.parameter_count; k++)
        total += m->plan.parameters[k].count;
    return total;
}

uint64_t dm_nn_model_steps(const dm_nn_model *m)
{
    return m->steps;
}

void dm_nn_model_set_steps(dm_nn_model *m, uint64_t steps)
{
    m->steps = steps;
}

size_t dm_nn_model_rows(const dm_nn_model *m)
{
    return dm_nn_shape_rows(m->plan.output) * m->plan.shards;
}

size_t dm_nn_model_outputs(const dm_nn_model *m)
{
    return (size_t)m->plan.output.C * m->plan.output.H * m->plan.output.W;
}
