/* SPDX-License-Identifier: MIT */
/* model.c - the public calls of models; what differs between devices is behind model.h. */
#include "nn/model.h"
#include "base/file.h"
#include "base/require.h"
#include "base/thread.h"
#include "device/cublaslt.h"

#include "base/philox.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The first weights ---- */

/* Which values a parameter begins with: a pure function of the index, so that any number of threads gives the same. */
typedef struct first_values {
    float *values;
    const dm_nn_layer *layer;
    bool is_weight;
    uint32_t inputs;
    uint64_t seed, stream;
} first_values;

/* Uniform in +-1/sqrt(inputs) as PyTorch's layers begin, or normal with the deviation that the
 * layer asks for. */
static void init_values(void *user, uint64_t begin, uint64_t end, int worker)
{
    const first_values *f = user;
    (void)worker;
    bool norm = f->layer->kind == DM_NN_LAYER_NORM, embed = f->layer->kind == DM_NN_LAYER_EMBED;
    float deviation = f->layer->init > 0 ? f->layer->init : embed ? 0.02f : 0;
    float bound = 1 / sqrtf((float)f->inputs);
    for (uint64_t i = begin; i < end; i++) {
        if (norm || (deviation > 0 && !f->is_weight && !embed)) {
            f->values[i] = norm && f->is_weight ? 1 : 0;
            continue;
        }
        dm_philox4 r = dm_random4(f->seed, f->stream, i);
        float u = dm_random_unit(r.v[0]), v = dm_random_unit(r.v[1]);
        if (deviation > 0)
            f->values[i] = deviation * sqrtf(-2 * logf(1 - u)) * cosf(6.2831853f * v);
        else
            f->values[i] = (2 * u - 1) * bound;
    }
}

static dm_status init_parameter(dm_nn_model *m, int index, size_t layer, bool is_weight,
                                uint32_t inputs, uint64_t seed, dm_pool *pool, dm_error *err)
{
    const dm_nn_parameter *p = &m->plan.parameters[index];
    float *values = malloc(p->count * sizeof *values);
    if (!values)
        return dm_fail(err, DM_ENOMEM, "nn: no memory for the first weights of %s", p->name);
    first_values first = {.values = values,
                          .layer = &m->plan.layers[layer].layer,
                          .is_weight = is_weight,
                          .inputs = inputs,
                          .seed = seed,
                          .stream = 2 * layer + !is_weight};
    if (pool != NULL)
        dm_pool_run(pool, p->count, 1 << 16, init_values, &first);
    else
        init_values(&first, 0, p->count, 0);
    dm_status status = m->runner->write(m, (size_t)index, DM_NN_VALUE, values, err);
    if (status == DM_OK && m->optimiser.average > 0)
        status = m->runner->write(m, (size_t)index, DM_NN_AVERAGE, values, err);
    free(values);
    return status;
}

static dm_status init_parameters(dm_nn_model *m, uint64_t seed, dm_error *err)
{
    enum { MANY = 10000000 }; /* numbers that are worth threads: seconds for GPT-2 */
    dm_pool *pool = NULL;
    dm_status status = dm_nn_model_size(m) >= MANY ? dm_pool_create(0, &pool, err) : DM_OK;
    for (size_t i = 0; i < m->plan.layer_count && status == DM_OK; i++) {
        const dm_nn_planned *l = &m->plan.layers[i];
        uint32_t inputs = l->layer.kind == DM_NN_LAYER_CONV
                              ? l->in.C * l->layer.kernel * l->layer.kernel
                          : l->layer.kind == DM_NN_LAYER_GRU ? l->layer.size
                                                             : l->in.C * l->in.H * l->in.W;
        if (l->weight != DM_NN_NONE && !l->layer.tied)
            status = init_parameter(m, l->weight, i, true, inputs, seed, pool, err);
        if (l->bias != DM_NN_NONE && status == DM_OK)
            status = init_parameter(m, l->bias, i, false, inputs, seed, pool, err);
    }
    dm_pool_destroy(pool);
    return status;
}

/* ---- Creation ---- */

/* The device's operations and the plan for them. */
static dm_status prepare(dm_device *device, const dm_nn_model_desc *desc, dm_nn_model *m,
                         dm_error *err)
{
    if (!device || !desc)
        return dm_fail(err, DM_EINVAL, "nn: a model needs a device and a description");
    const dm_device_properties *properties = dm_device_get_properties(device);
    bool cuda = properties->kind == DM_DEVICE_CUDA;
    *m = (dm_nn_model){.runner = &dm_nn_runner_cpu,
                       .device = device,
                       .loss = desc->loss,
                       .optimiser = desc->optimiser};
    bool bf16 = desc->precision == DM_NN_BFLOAT16;
    if (cuda) {
        m->runner = &dm_nn_runner_cuda;
        dm_status status = dm_nn_cuda_create(device, bf16 ? DM_NN_BF16 : DM_NN_F32, &m->exec, err);
        if (status != DM_OK)
            return status;
    } else if (bf16) {
        return dm_fail(err, DM_EUNSUPPORTED, "nn: models on the CPU compute in float32");
    } else {
        m->exec = (dm_nn_exec){.ops = dm_nn_cpu()};
    }
    return dm_nn_plan_init(desc, &m->exec, &m->plan, err);
}

static void unprepare(dm_nn_model *m)
{
    dm_nn_plan_deinit(&m->plan);
    if (m->exec.stream)
        dm_nn_cuda_destroy(&m->exec);
}

dm_status dm_nn_model_memory(dm_device *device, const dm_nn_model_desc *desc, dm_nn_memory *out,
                             dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, desc);
    DM_REQUIRE(err, out);
    dm_nn_model m = {0};
    dm_status status = prepare(device, desc, &m, err);
    if (status == DM_OK) {
        m.runner->memory(&m, out);
        out->numbers = dm_nn_model_size(&m);
    }
    unprepare(&m);
    return status;
}

/* "...; it would fit with 8 microbatches" */
static dm_status does_not_fit(dm_device *device, const dm_nn_model_desc *desc, dm_nn_model *m,
                              dm_error *err)
{
    dm_nn_memory all;
    uint64_t available = 0;
    m->runner->memory(m, &all);
    m->runner->destroy(m); /* what it did get is free again */
    m->state = NULL;
    (void)dm_device_memory_free(device, &available, NULL);
    uint32_t now = m->plan.microbatches, fits = 0;
    uint64_t fixed = all.parameters + all.scratch;
    for (uint32_t n = now + 1; n <= desc->batch && fits == 0; n++)
        if (desc->batch % n == 0 && fixed + all.activations / n * now <= available)
            fits = n;
    const double MiB = 1 << 20;
    char advice[80] = "a smaller model or batch is needed";
    if (fits > 0)
        snprintf(advice, sizeof advice, "it would fit with %u microbatches", fits);
    return dm_fail(err, DM_ENOMEM,
                   "nn: no memory on %s: %.0f MiB for parameters, %.0f MiB for activations of one "
                   "of %u microbatches, %.0f MiB of scratch; %.0f MiB are free: %s",
                   dm_device_get_properties(device)->id, (double)all.parameters / MiB,
                   (double)all.activations / MiB, now, (double)all.scratch / MiB,
                   (double)available / MiB, advice);
}

dm_status dm_nn_model_create(dm_device *device, const dm_nn_model_desc *desc, dm_nn_model **out,
                             dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, desc);
    DM_REQUIRE(err, out);
    dm_nn_model *m = calloc(1, sizeof *m);
    if (!m)
        return dm_fail(err, DM_ENOMEM, "nn: no memory for a model");
    dm_status status = prepare(device, desc, m, err);
    if (status == DM_OK && !dm_nn_steps_by_hand(m))
        status = dm_nn_stepper_create(device, &desc->optimiser, m->exec.ops->adam != NULL,
                                      &m->stepper, err);
    if (status == DM_OK && (status = m->runner->create(m, err)) == DM_ENOMEM)
        status = does_not_fit(device, desc, m, err);
    if (status == DM_OK)
        status = init_parameters(m, desc->seed, err);
    if (status != DM_OK) {
        dm_nn_model_destroy(m);
        return status;
    }
    *out = m;
    return DM_OK;
}

void dm_nn_model_destroy(dm_nn_model *m)
{
    if (!m)
        return;
    if (m->state)
        m->runner->destroy(m);
    dm_nn_stepper_destroy(m->stepper);
    unprepare(m);
    free(m);
}

/* ---- A step ---- */

static size_t samples(const dm_nn_plan *plan) /* of a microbatch, in elements of the input */
{
    return dm_nn_shape_count(plan->input) * plan->shards;
}

/* Elements of a microbatch's targets: floats or int32. */
static size_t targets(const dm_nn_model *m)
{
    size_t each = m->loss == DM_NN_LOSS_SOFTMAX ? dm_nn_shape_rows(m->plan.output)
                                                : dm_nn_shape_count(m->plan.output);
    return each * m->plan.shards;
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

static dm_status check_batch(const dm_nn_model *m, const void *input, const void *target,
                             dm_error *err)
{
    const dm_nn_planned *first = &m->plan.layers[0];
    size_t tokens = samples(&m->plan) * m->plan.microbatches;
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

/* The first layer whose output in the last microbatch has NaN or infinity. */
static dm_status not_a_number(dm_nn_model *m, float loss, dm_error *err)
{
    unsigned long long step = m->steps + 1;
    if (isfinite(loss))
        return dm_fail(err, DM_EINVAL, "nn: the gradients of step %llu are not numbers", step);
    for (size_t i = 0; i < m->plan.layer_count; i++) {
        bool finite = true;
        dm_status status = m->runner->is_finite(m, i, &finite, err);
        if (status != DM_OK)
            return status;
        const char *name = m->plan.layers[i].layer.name;
        if (!finite)
            return dm_fail(err, DM_EINVAL,
                           "nn: the loss of step %llu is not a number; the first such output is "
                           "layer %zu's%s%s%s",
                           step, i, name ? " (" : "", name ? name : "", name ? ")" : "");
    }
    return dm_fail(err, DM_EINVAL, "nn: the loss of step %llu is not a number", step);
}

static dm_status run_batch(dm_nn_model *m, const void *input, const void *target, bool learn,
                           float *output, dm_error *err)
{
    dm_status status = check_batch(m, input, target, err);
    if (status != DM_OK)
        return status;
    m->counted = rows_that_count(m, target);
    if (learn && m->counted == 0)
        return dm_fail(err, DM_EINVAL, "nn: no row of the batch has a target");
    size_t outputs = dm_nn_shape_count(m->plan.output) * m->plan.shards;
    for (uint32_t n = 0; n < m->plan.microbatches && status == DM_OK; n++) {
        const float *x = (const float *)input + n * samples(&m->plan);
        const float *y = target ? (const float *)target + n * targets(m) : NULL;
        status = m->runner->pass(m, n, x, y, learn, err);
        if (status == DM_OK && output)
            status = m->runner->output(m, output + n * outputs, err);
    }
    return status != DM_OK || !target ? status : m->runner->finish(m, learn, err);
}

dm_status dm_nn_model_loss(dm_nn_model *model, float *loss, float *norm, dm_error *err)
{
    DM_REQUIRE(err, model);
    float values[2] = {0, 0};
    dm_status status = model->runner->results(model, &values[0], &values[1], err);
    if (loss)
        *loss = values[0];
    if (norm)
        *norm = values[1];
    if (status == DM_OK && !(isfinite(values[0]) && isfinite(values[1])))
        status = not_a_number(model, values[0], err);
    return status;
}

dm_status dm_nn_model_step(dm_nn_model *model, const void *input, const void *target, float *loss,
                           dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, input);
    DM_REQUIRE(err, target);
    dm_status status = run_batch(model, input, target, true, NULL, err);
    bool wait = loss || !model->exec.stream;
    return status != DM_OK || !wait ? status : dm_nn_model_loss(model, loss, NULL, err);
}

dm_status dm_nn_model_evaluate(dm_nn_model *model, const void *input, const void *target,
                               float *output, float *loss, dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, input);
    dm_status status = run_batch(model, input, target, false, output, err);
    return status != DM_OK || !target ? status : dm_nn_model_loss(model, loss, NULL, err);
}

/* ---- Parameters ---- */

static dm_status check_part(const dm_nn_model *model, size_t index, dm_nn_part part,
                            const void *memory, dm_error *err)
{
    if (!model || !memory || index >= model->plan.parameter_count)
        return dm_fail(err, DM_EINVAL, "nn: there is no parameter %zu", index);
    if ((int)part < 0 || part > DM_NN_GRADIENT)
        return dm_fail(err, DM_EINVAL, "nn: a parameter has no part %d", (int)part);
    if (part == DM_NN_AVERAGE && !(model->optimiser.average > 0))
        return dm_fail(err, DM_EINVAL, "nn: the model was made without averages");
    return DM_OK;
}

dm_status dm_nn_model_read(dm_nn_model *model, size_t index, dm_nn_part part, float *to,
                           dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, to);
    dm_status status = check_part(model, index, part, to, err);
    return status != DM_OK ? status : model->runner->read(model, index, part, to, err);
}

dm_status dm_nn_model_write(dm_nn_model *model, size_t index, dm_nn_part part, const float *from,
                            dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, from);
    dm_status status = check_part(model, index, part, from, err);
    if (status == DM_OK && part == DM_NN_GRADIENT)
        return dm_fail(err, DM_EINVAL, "nn: gradients can only be read");
    return status != DM_OK ? status : model->runner->write(model, index, part, from, err);
}

dm_status dm_nn_model_swap_average(dm_nn_model *model, dm_error *err)
{
    DM_REQUIRE(err, model);
    if (!model || !(model->optimiser.average > 0))
        return dm_fail(err, DM_EINVAL, "nn: the model was made without averages");
    return model->runner->swap(model, err);
}

void dm_nn_model_set_rate(dm_nn_model *model, float rate)
{
    if (model == NULL)
        return;
    model->optimiser.rate = rate;
}

size_t dm_nn_model_parameter_count(const dm_nn_model *model)
{
    if (model == NULL)
        return 0;
    return model->plan.parameter_count;
}

const dm_nn_parameter *dm_nn_model_parameter(dm_nn_model *model, size_t index)
{
    return model != NULL && index < model->plan.parameter_count ? &model->plan.parameters[index]
                                                                : NULL;
}

size_t dm_nn_model_size(const dm_nn_model *model)
{
    if (model == NULL)
        return 0;
    size_t total = 0;
    for (size_t k = 0; k < model->plan.parameter_count; k++)
        total += model->plan.parameters[k].count;
    return total;
}

uint64_t dm_nn_model_steps(const dm_nn_model *model)
{
    if (model == NULL)
        return 0;
    return model->steps;
}

void dm_nn_model_set_steps(dm_nn_model *model, uint64_t steps)
{
    if (model == NULL)
        return;
    model->steps = steps;
}

size_t dm_nn_model_rows(const dm_nn_model *model)
{
    if (model == NULL)
        return 0;
    return dm_nn_shape_rows(model->plan.output) * model->plan.shards * model->plan.microbatches;
}

size_t dm_nn_model_outputs(const dm_nn_model *model)
{
    if (model == NULL)
        return 0;
    return (size_t)model->plan.output.C * model->plan.output.H * model->plan.output.W;
}

const char *dm_nn_model_products(const dm_nn_model *model)
{
    if (model == NULL)
        return "";
    return model->exec.stream ? dm_nn_cuda_products(&model->exec) : model->exec.ops->name;
}

dm_status dm_nn_products(const char *device, char *text, size_t size, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, text);
    char path[DM_PATH_MAX];
    dm_error reason = {0};
    if (strncmp(device, "cuda", 4) != 0)
        snprintf(text, size, "%s", dm_nn_cpu()->name);
    else if (dm_cublaslt_find(path, &reason) == DM_OK)
        snprintf(text, size, "cuBLASLt: %s", path);
    else
        snprintf(text, size, "own kernels (%s)", reason.message);
    return DM_OK;
}
