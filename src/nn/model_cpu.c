/* SPDX-License-Identifier: MIT */
/* model_cpu.c - a model on the CPU: threads take shards, gradients are summed in the shards' order,
 * the optimiser steps.
 *
 *     batch ──► shard 0 ─► forward, loss, backward ─► gradients 0 ─┐
 *          ├──► shard 1 ─► forward, loss, backward ─► gradients 1 ─┼─► sum ─► clip ─► optimiser
 *          └──► ...                                                ┘ */
#include "base/thread.h"
#include "nn/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ARRAYS = 4 }; /* value, first, second, average */

typedef struct cpu_state {
    dm_pool *pool;
    float *arrays[ARRAYS]; /* in one piece of memory; the last NULL when there are no averages */
    dm_device_buffer *imported; /* that piece as the device's */
    char *memory;               /* of all shards */
    dm_nn_shard *shards;
    dm_nn_exec *execs; /* one per thread */
    float scale;       /* of the gradient in this pass; 0: evaluate */
    bool first_pass;
    double total;   /* of the rows' losses */
    float *squares; /* of the gradients, for each chunk of parameters */
    float *updates; /* MUON: of its matrices */
    float loss, norm, control[2];
} cpu_state;

/* Chunks of parameters. Their size does not depend on the threads, so that sums over chunks are the
 * same for any number of them. */
enum { CHUNK = 4096 };

static size_t chunks_of(const dm_nn_plan *plan)
{
    return (plan->parameter_room + CHUNK - 1) / CHUNK;
}

static size_t arrays_of(const dm_nn_model *m)
{
    return m->optimiser.average > 0 ? ARRAYS : ARRAYS - 1;
}

static size_t losses_bytes(const dm_nn_plan *plan)
{
    return (dm_nn_shape_rows(plan->output) * sizeof(float) + 255) / 256 * 256;
}

static size_t bytes_of_shard(const dm_nn_plan *plan)
{
    return plan->shard_bytes + plan->parameter_room * sizeof(float) + losses_bytes(plan);
}

static void cpu_memory(const dm_nn_model *m, dm_nn_memory *out)
{
    const dm_nn_plan *plan = &m->plan;
    uint64_t threads = (uint64_t)dm_device_get_properties(m->device)->multiprocessors;
    uint64_t array = plan->parameter_room * sizeof(float);
    *out = (dm_nn_memory){.parameters = (arrays_of(m) + plan->shards) * array,
                          .activations = plan->shards * (bytes_of_shard(plan) - array),
                          .scratch = threads * (plan->scratch_bytes + plan->muon_bytes) +
                                     plan->muon_room * sizeof(float)};
    out->total = out->parameters + out->activations + out->scratch;
}

/* Zeroed memory, in large pages where it is big: rows of a product lie far apart, and each would
 * take a TLB entry of its own. */
static void *aligned(size_t bytes)
{
    enum { LINE = 256, LARGE = 2 << 20 };
    size_t to = bytes >= 4 * (size_t)LARGE ? LARGE : LINE, whole = (bytes + to - 1) / to * to + to;
    void *memory = aligned_alloc(to, whole);
#ifdef MADV_HUGEPAGE
    if (memory && to == LARGE)
        (void)madvise(memory, whole, MADV_HUGEPAGE); /* without it, just slower */
#endif
    if (memory)
        memset(memory, 0, whole);
    return memory;
}

static dm_status cpu_create(dm_nn_model *m, dm_error *err)
{
    const dm_nn_plan *plan = &m->plan;
    cpu_state *s = m->state = calloc(1, sizeof *s);
    if (!s)
        return dm_fail(err, DM_ENOMEM, "nn: no memory");
    dm_status status =
        dm_pool_create(dm_device_get_properties(m->device)->multiprocessors, &s->pool, err);
    if (status != DM_OK)
        return status;
    int threads = dm_pool_threads(s->pool);
    s->arrays[0] = aligned(arrays_of(m) * plan->parameter_room * sizeof(float));
    for (size_t k = 1; s->arrays[0] && k < arrays_of(m); k++)
        s->arrays[k] = s->arrays[k - 1] + plan->parameter_room;
    s->memory = aligned(plan->shards * bytes_of_shard(plan));
    s->shards = calloc(plan->shards, sizeof *s->shards);
    s->execs = calloc((size_t)threads, sizeof *s->execs);
    s->squares = calloc(chunks_of(plan), sizeof *s->squares);
    s->updates = plan->muon_room > 0 ? aligned(plan->muon_room * sizeof(float)) : NULL;
    bool whole = s->arrays[0] && s->memory && s->shards && s->execs && s->squares &&
                 (s->updates || plan->muon_room == 0);
    for (int t = 0; whole && t < threads; t++) {
        s->execs[t] = (dm_nn_exec){.ops = m->exec.ops, .scratch_size = plan->scratch_bytes};
        whole = (s->execs[t].scratch = aligned(plan->scratch_bytes + plan->muon_bytes)) != NULL;
    }
    if (!whole)
        return dm_fail(err, DM_ENOMEM, "nn: no memory");
    status = dm_device_buffer_import(m->device, s->arrays[0],
                                     arrays_of(m) * plan->parameter_room * sizeof(float),
                                     &s->imported, err);
    if (status != DM_OK)
        return status;
    for (size_t n = 0; n < plan->shards; n++) {
        char *memory = s->memory + n * bytes_of_shard(plan);
        float *gradients = (float *)(void *)(memory + plan->shard_bytes);
        s->shards[n] = (dm_nn_shard){.memory = memory,
                                     .gradients = gradients,
                                     .losses = gradients + plan->parameter_room,
                                     .weights = s->arrays[0]};
    }
    for (size_t k = 0; k < plan->parameter_count; k++) {
        dm_nn_parameter *p = &plan->parameters[k];
        p->value = s->arrays[0] + plan->offsets[k];
        p->first = s->arrays[1] + plan->offsets[k];
        p->second = s->arrays[2] + plan->offsets[k];
    }
    return DM_OK;
}

static void cpu_destroy(dm_nn_model *m)
{
    cpu_state *s = m->state;
    for (int t = 0; s->execs && t < dm_pool_threads(s->pool); t++)
        free(s->execs[t].scratch);
    free(s->execs);
    free(s->squares);
    free(s->updates);
    free(s->shards);
    free(s->memory);
    dm_device_buffer_destroy(s->imported);
    free(s->arrays[0]);
    dm_pool_destroy(s->pool);
    free(s);
}

/* ---- A step ---- */

static void run_shards(void *user, uint64_t begin, uint64_t end, int worker)
{
    const dm_nn_model *m = user;
    const cpu_state *s = m->state;
    dm_nn_exec *exec = &s->execs[worker];
    for (uint64_t n = begin; n < end; n++) {
        dm_nn_shard *shard = &s->shards[n];
        /* Operations on the CPU cannot fail. */
        (void)dm_nn_shard_forward(&m->plan, exec, shard, NULL);
        if (shard->target)
            (void)dm_nn_shard_loss(&m->plan, exec, m->loss, shard, s->scale, NULL);
        if (s->scale == 0)
            continue;
        if (s->first_pass)
            memset(shard->gradients, 0, m->plan.parameter_room * sizeof(float));
        (void)dm_nn_shard_backward(&m->plan, exec, shard, NULL);
    }
}

/* The gradients of all shards into those of the first, and the squares of each chunk. */
static void sum_gradients(void *user, uint64_t begin, uint64_t end, int worker)
{
    const dm_nn_model *m = user;
    const cpu_state *s = m->state;
    dm_nn_exec *exec = &s->execs[worker];
    for (uint64_t i = begin; i < end; i += CHUNK) {
        uint64_t count = end - i < CHUNK ? end - i : CHUNK;
        float *sum = s->shards[0].gradients + i, sums[2];
        for (uint32_t n = 1; n < m->plan.shards; n++)
            (void)exec->ops->add(exec, count, sum, s->shards[n].gradients + i, sum, NULL);
        (void)exec->ops->sums(exec, count, sum, sums, NULL);
        s->squares[i / CHUNK] = sums[1];
    }
}

/* Matrices of MUON, one at a time by a thread: their bits do not depend on how many there are. */
static void orthogonalise(void *user, uint64_t begin, uint64_t end, int worker)
{
    const dm_nn_model *m = user;
    const cpu_state *s = m->state;
    for (uint64_t k = begin; k < end; k++)
        if (m->plan.offsets[k] < m->plan.muon_room)
            (void)dm_nn_model_orthogonalise(m, &s->execs[worker], k, s->updates, NULL);
}

/* Parameters begin .. end behind MUON's, of which those before decayed_room decay. */
static void step_parameters(void *user, uint64_t begin, uint64_t end, int worker)
{
    (void)worker;
    const dm_nn_model *m = user;
    const cpu_state *s = m->state;
    const dm_nn_optimiser *o = &m->optimiser;
    double beta1 = o->beta1 > 0 ? o->beta1 : 0.9, beta2 = o->beta2 > 0 ? o->beta2 : 0.999;
    dm_nn_adam adam = {.scale = s->control[0],
                       .rate = dm_nn_adam_rate(o),
                       .beta1 = (float)beta1,
                       .beta2 = (float)beta2,
                       .epsilon = o->epsilon > 0 ? o->epsilon : 1e-8f,
                       .correct1 = (float)(1 - pow(beta1, (double)m->steps)),
                       .correct2 = (float)(1 - pow(beta2, (double)m->steps)),
                       .keep = o->average,
                       .shrinks = o->kind != DM_NN_ADAM};
    begin += m->plan.muon_room;
    end += m->plan.muon_room;
    for (uint64_t i = begin, to; i < end; i = to) {
        bool decays = i < m->plan.decayed_room;
        to = decays && end > m->plan.decayed_room ? m->plan.decayed_room : end;
        adam.decay = decays ? o->decay : 0;
        m->exec.ops->adam(&adam, to - i, s->arrays[0] + i, s->shards[0].gradients + i,
                          s->arrays[1] + i, s->arrays[2] + i,
                          s->arrays[3] ? s->arrays[3] + i : NULL);
    }
}

/* Parameters from .. to of the stepper's arrays. */
static dm_nn_range range_of(const dm_nn_model *m, size_t from, size_t to)
{
    cpu_state *s = m->state;
    return (dm_nn_range){.value = s->arrays[0] + from,
                         .gradient = s->shards[0].gradients + from,
                         .first = s->arrays[1] + from,
                         .second = s->arrays[2] + from,
                         .average = s->arrays[3] ? s->arrays[3] + from : NULL,
                         .control = s->control,
                         .update = s->updates,
                         .count = to - from,
                         .decays = from < m->plan.decayed_room};
}

/* Each kind of parameters in turn. */
static dm_status step_all(dm_nn_model *m, dm_error *err)
{
    const cpu_state *s = m->state;
    const dm_nn_plan *plan = &m->plan;
    const dm_nn_optimiser *o = &m->optimiser;
    dm_status status = DM_OK;
    if (plan->muon_room > 0) {
        dm_nn_range range = range_of(m, 0, plan->muon_room);
        status = dm_nn_stepper_momentum(m->stepper, o, &range, err);
        if (status == DM_OK)
            dm_pool_run(s->pool, plan->parameter_count, 1, orthogonalise, m);
        if (status == DM_OK)
            status = dm_nn_stepper_update(m->stepper, o, &range, err);
    }
    if (status == DM_OK && m->exec.ops->adam && dm_nn_steps_as_adam(o->kind)) {
        dm_pool_run(s->pool, plan->parameter_room - plan->muon_room, CHUNK, step_parameters, m);
        return DM_OK;
    }
    const size_t ends[] = {plan->muon_room, plan->decayed_room, plan->parameter_room};
    for (int i = 0; i < 2 && status == DM_OK; i++) {
        dm_nn_range range = range_of(m, ends[i], ends[i + 1]);
        status = dm_nn_stepper_step(m->stepper, o, &range, m->steps, err);
    }
    return status;
}

static dm_status cpu_pass(dm_nn_model *m, uint32_t number, const void *input, const void *target,
                          bool learn, dm_error *err)
{
    (void)err;
    cpu_state *s = m->state;
    const dm_nn_plan *plan = &m->plan;
    size_t rows = dm_nn_shape_rows(plan->output);
    size_t targets = m->loss == DM_NN_LOSS_SOFTMAX ? rows : dm_nn_shape_count(plan->output);
    for (size_t n = 0; n < plan->shards; n++) {
        s->shards[n].input = (const float *)input + n * dm_nn_shape_count(plan->input);
        s->shards[n].target = target ? (const float *)target + n * targets : NULL;
    }
    s->scale = learn ? 1 / (float)m->counted : 0;
    s->first_pass = number == 0;
    dm_pool_run(s->pool, plan->shards, 1, run_shards, m);
    s->total = number == 0 ? 0 : s->total;
    for (size_t n = 0; target && n < plan->shards; n++)
        for (size_t i = 0; i < rows; i++)
            s->total += s->shards[n].losses[i];
    return DM_OK;
}

static dm_status cpu_finish(dm_nn_model *m, bool learn, dm_error *err)
{
    cpu_state *s = m->state;
    const dm_nn_plan *plan = &m->plan;
    s->loss = m->counted > 0 ? (float)(s->total / (double)m->counted) : 0;
    s->norm = 0;
    if (!learn)
        return DM_OK;
    dm_pool_run(s->pool, plan->parameter_room, CHUNK, sum_gradients, m);
    float clip = m->optimiser.clip;
    double squares = 0;
    for (size_t i = 0; i < chunks_of(plan); i++)
        squares += s->squares[i];
    s->norm = (float)sqrt(squares);
    if (!isfinite(s->loss) || !isfinite(s->norm))
        return DM_OK; /* results says so */
    s->control[0] = clip > 0 && s->norm > clip ? clip / s->norm : 1;
    s->control[1] = 1;
    m->steps++;
    return step_all(m, err);
}

static dm_status cpu_results(dm_nn_model *m, float *loss, float *norm, dm_error *err)
{
    (void)err;
    const cpu_state *s = m->state;
    *loss = s->loss;
    *norm = s->norm;
    return DM_OK;
}

static dm_status cpu_output(dm_nn_model *m, float *to, dm_error *err)
{
    (void)err;
    const cpu_state *s = m->state;
    size_t count = dm_nn_shape_count(m->plan.output);
    size_t value = m->plan.layers[m->plan.layer_count - 1].value;
    for (size_t n = 0; n < m->plan.shards; n++)
        memcpy(to + n * count, s->shards[n].memory + value, count * sizeof(float));
    return DM_OK;
}

static dm_status cpu_is_finite(dm_nn_model *m, size_t layer, bool *finite, dm_error *err)
{
    (void)err;
    const cpu_state *s = m->state;
    const dm_nn_planned *p = &m->plan.layers[layer];
    *finite = true;
    for (uint32_t n = 0; n < m->plan.shards; n++) {
        const float *values = (const float *)(const void *)(s->shards[n].memory + p->value);
        for (size_t k = 0; k < dm_nn_shape_count(p->out); k++)
            *finite = *finite && isfinite(values[k]);
    }
    return DM_OK;
}

/* ---- Parameters ---- */

static float *part_of(const dm_nn_model *m, size_t index, dm_nn_part part)
{
    const cpu_state *s = m->state;
    float *array = part == DM_NN_GRADIENT ? s->shards[0].gradients : s->arrays[part];
    return array + m->plan.offsets[index];
}

static dm_status cpu_read(dm_nn_model *m, size_t index, dm_nn_part part, float *to, dm_error *err)
{
    (void)err;
    memcpy(to, part_of(m, index, part), m->plan.parameters[index].count * sizeof(float));
    return DM_OK;
}

static dm_status cpu_write(dm_nn_model *m, size_t index, dm_nn_part part, const float *from,
                           dm_error *err)
{
    (void)err;
    memcpy(part_of(m, index, part), from, m->plan.parameters[index].count * sizeof(float));
    return DM_OK;
}

static dm_status cpu_swap(dm_nn_model *m, dm_error *err)
{
    (void)err;
    const cpu_state *s = m->state;
    for (size_t i = 0; i < m->plan.parameter_room; i++) {
        float value = s->arrays[DM_NN_VALUE][i];
        s->arrays[DM_NN_VALUE][i] = s->arrays[DM_NN_AVERAGE][i];
        s->arrays[DM_NN_AVERAGE][i] = value;
    }
    return DM_OK;
}

static dm_device_buffer *cpu_arrays(dm_nn_model *m, dm_nn_part part, size_t *at)
{
    const cpu_state *s = m->state;
    *at = (size_t)part * m->plan.parameter_room * sizeof(float);
    return s->imported;
}

static dm_status cpu_changed(dm_nn_model *m, dm_error *err)
{
    (void)m;
    (void)err;
    return DM_OK;
}

const dm_nn_runner dm_nn_runner_cpu = {
    .memory = cpu_memory,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .pass = cpu_pass,
    .finish = cpu_finish,
    .results = cpu_results,
    .output = cpu_output,
    .is_finite = cpu_is_finite,
    .read = cpu_read,
    .write = cpu_write,
    .swap = cpu_swap,
    .arrays = cpu_arrays,
    .changed = cpu_changed,
};
