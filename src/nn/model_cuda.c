/* SPDX-License-Identifier: MIT */
/* model_cuda.c - a model on a CUDA device: a microbatch is one shard and one graph.
 *
 *     host ─► page-locked, two turns ─► input, target ─► graph: forward, loss, backward ─► gradients
 *     all microbatches ─► sums ─► control ─► optimiser ─► (bfloat16) copies of the weights
 *
 * The host waits for the device only when the loss is asked for. The device itself computes
 * `control`: a loss or norm that is no number stops this and all later updates until the host has
 * read the results. */
#include "nn/cuda/internal.h"
#include "nn/model.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 2, ARRAYS = 5 }; /* value, first, second, average, gradient: as dm_nn_part */

typedef struct cuda_state {
    dm_device_buffer *parameters; /* float [arrays][room] */
    dm_device_buffer *copies;     /* of the weights, in bfloat16 */
    dm_device_buffer *memory;     /* the shard, losses, input, target */
    dm_device_buffer *scratch, *control;
    dm_device_buffer *updates; /* MUON: of its matrices, float */
    dm_nn_shard shard;
    size_t room[ARRAYS]; /* where each array begins, in floats */
    size_t input_at, target_at, raw_at, input_bytes, target_bytes;
    dm_graph *graph;
    bool warm;     /* one pass was made without a graph: products chose their algorithms */
    bool no_graph; /* the driver cannot record it */
    void *host[TURNS];
    dm_event *copied[TURNS], *done;
    unsigned turn;
    nn_control *result; /* page-locked */
    bool has_result;
} cuda_state;

/* ---- Sizes ---- */

static size_t rounded(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static bool has_tokens(const dm_nn_model *m)
{
    return m->plan.layers[0].layer.kind == DM_NN_LAYER_EMBED;
}

static size_t input_bytes(const dm_nn_model *m)
{
    return dm_nn_shape_count(m->plan.input) * sizeof(float);
}

static size_t target_bytes(const dm_nn_model *m)
{
    return (m->loss == DM_NN_LOSS_SOFTMAX ? dm_nn_shape_rows(m->plan.output)
                                          : dm_nn_shape_count(m->plan.output)) *
           sizeof(float);
}

static size_t losses_bytes(const dm_nn_model *m)
{
    return rounded(dm_nn_shape_rows(m->plan.output) * sizeof(float));
}

/* The shard, its losses, input and target; floats that become bfloat16 are kept twice. */
static size_t memory_bytes(const dm_nn_model *m)
{
    return m->plan.shard_bytes + losses_bytes(m) + 2 * rounded(input_bytes(m)) +
           rounded(target_bytes(m));
}

static size_t array_count(const dm_nn_model *m)
{
    return m->optimiser.average > 0 ? ARRAYS : ARRAYS - 1;
}

static size_t copies_bytes(const dm_nn_model *m)
{
    return m->exec.type == DM_NN_BF16 ? m->plan.parameter_room * 2 : 0;
}

static size_t control_bytes(const dm_nn_model *m)
{
    return sizeof(nn_control) + (size_t)(2 * m->plan.microbatches + 2) * sizeof(float);
}

static size_t scratch_bytes(const dm_nn_model *m)
{
    return m->plan.scratch_bytes + m->plan.muon_bytes;
}

static size_t updates_bytes(const dm_nn_model *m)
{
    return m->plan.muon_room * sizeof(float);
}

static void cuda_memory(const dm_nn_model *m, dm_nn_memory *out)
{
    *out = (dm_nn_memory){.parameters = array_count(m) * m->plan.parameter_room * sizeof(float) +
                                        copies_bytes(m),
                          .activations = memory_bytes(m),
                          .scratch = scratch_bytes(m) + updates_bytes(m) + control_bytes(m)};
    out->total = out->parameters + out->activations + out->scratch;
}

/* ---- Creation ---- */

static dm_status take(dm_nn_model *m, size_t bytes, dm_device_buffer **out, dm_error *err)
{
    if (bytes == 0)
        return DM_OK;
    dm_status status = dm_device_buffer_create(m->device, bytes, out, err);
    return status != DM_OK ? status : dm_stream_fill(m->exec.stream, *out, 0, 0, bytes, err);
}

static void *address(const dm_device_buffer *buffer, size_t at)
{
    return (char *)dm_device_buffer_address(buffer) + at;
}

static void lay_out(dm_nn_model *m)
{
    cuda_state *s = m->state;
    const dm_nn_plan *plan = &m->plan;
    size_t room = 0;
    for (int part = 0; part < ARRAYS; part++) {
        s->room[part] = room;
        if (part != DM_NN_AVERAGE || m->optimiser.average > 0)
            room += plan->parameter_room;
    }
    s->input_bytes = input_bytes(m);
    s->target_bytes = target_bytes(m);
    s->raw_at = plan->shard_bytes + losses_bytes(m);
    s->target_at = s->raw_at + rounded(s->input_bytes);
    bool converted = m->exec.type == DM_NN_BF16 && !has_tokens(m);
    s->input_at = converted ? s->target_at + rounded(s->target_bytes) : s->raw_at;
    float *values = dm_device_buffer_address(s->parameters);
    s->shard = (dm_nn_shard){.memory = address(s->memory, 0),
                             .gradients = values + s->room[DM_NN_GRADIENT],
                             .losses = address(s->memory, plan->shard_bytes),
                             .weights = s->copies ? address(s->copies, 0) : values,
                             .input = address(s->memory, s->input_at),
                             .target = address(s->memory, s->target_at)};
    m->exec.scratch = s->scratch ? address(s->scratch, 0) : NULL;
    m->exec.scratch_size = plan->scratch_bytes;
}

static dm_status cuda_create(dm_nn_model *m, dm_error *err)
{
    cuda_state *s = m->state = calloc(1, sizeof *s);
    if (!s)
        return dm_fail(err, DM_ENOMEM, "nn: no memory");
    dm_status status =
        take(m, array_count(m) * m->plan.parameter_room * sizeof(float), &s->parameters, err);
    if (status == DM_OK)
        status = take(m, copies_bytes(m), &s->copies, err);
    if (status == DM_OK)
        status = take(m, memory_bytes(m), &s->memory, err);
    if (status == DM_OK)
        status = take(m, scratch_bytes(m), &s->scratch, err);
    if (status == DM_OK)
        status = take(m, updates_bytes(m), &s->updates, err);
    if (status == DM_OK)
        status = take(m, control_bytes(m), &s->control, err);
    void *result = NULL;
    if (status == DM_OK)
        status = dm_device_host_alloc(m->device, sizeof *s->result, &result, err);
    s->result = result;
    if (status == DM_OK)
        status = dm_event_create(m->device, &s->done, err);
    for (int i = 0; i < TURNS && status == DM_OK; i++) {
        status =
            dm_device_host_alloc(m->device, input_bytes(m) + target_bytes(m), &s->host[i], err);
        if (status == DM_OK)
            status = dm_event_create(m->device, &s->copied[i], err);
        if (status == DM_OK)
            status = dm_event_record(s->copied[i], m->exec.stream, err);
    }
    if (status == DM_OK)
        lay_out(m);
    return status;
}

static void cuda_destroy(dm_nn_model *m)
{
    cuda_state *s = m->state;
    (void)dm_stream_synchronize(m->exec.stream, NULL);
    dm_graph_destroy(s->graph);
    for (int i = 0; i < TURNS; i++) {
        dm_event_destroy(s->copied[i]);
        dm_device_host_free(m->device, s->host[i]);
    }
    dm_event_destroy(s->done);
    dm_device_host_free(m->device, s->result);
    dm_device_buffer *buffers[] = {s->parameters, s->copies,  s->memory,
                                   s->scratch,    s->control, s->updates};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        dm_device_buffer_destroy(buffers[i]);
    free(s);
}

/* ---- A step ---- */

static nn_control *control_of(const cuda_state *s)
{
    return dm_device_buffer_address(s->control);
}

/* Sums of the losses of microbatches, two floats each, then those of the gradients. */
static float *sums_of(const cuda_state *s, size_t index)
{
    return (float *)address(s->control, sizeof(nn_control)) + 2 * index;
}

static dm_status send(dm_nn_model *m, const void *input, const void *target, dm_error *err)
{
    cuda_state *s = m->state;
    unsigned turn = s->turn++ % TURNS;
    char *host = s->host[turn];
    dm_status status = dm_event_synchronize(s->copied[turn], err);
    if (status != DM_OK)
        return status;
    memcpy(host, input, s->input_bytes);
    status = dm_stream_upload(m->exec.stream, s->memory, s->raw_at, host, s->input_bytes, err);
    if (status == DM_OK && target) {
        memcpy(host + s->input_bytes, target, s->target_bytes);
        status = dm_stream_upload(m->exec.stream, s->memory, s->target_at, host + s->input_bytes,
                                  s->target_bytes, err);
    }
    return status != DM_OK ? status : dm_event_record(s->copied[turn], m->exec.stream, err);
}

/* Everything of a pass that has the same addresses every time. */
static dm_status queue_pass(dm_nn_model *m, bool has_target, bool learn, dm_error *err)
{
    cuda_state *s = m->state;
    dm_status status = DM_OK;
    if (s->input_at != s->raw_at) {
        nn_rows_args convert = {.a = address(s->memory, s->raw_at),
                                .y = address(s->memory, s->input_at),
                                .n = s->input_bytes / sizeof(float)};
        status = NN_LAUNCH(&m->exec, convert, dm_nn_cuda_loop(convert.n), &convert, err);
    }
    if (status == DM_OK)
        status = dm_nn_shard_forward(&m->plan, &m->exec, &s->shard, err);
    /* The gradient is that of the sum over rows; the optimiser divides. */
    if (status == DM_OK && has_target)
        status = dm_nn_shard_loss(&m->plan, &m->exec, m->loss, &s->shard, learn ? 1.0f : 0.0f, err);
    return status != DM_OK || !learn ? status
                                     : dm_nn_shard_backward(&m->plan, &m->exec, &s->shard, err);
}

/* Record the pass; where the driver cannot, passes go on being queued call by call. */
static void record(dm_nn_model *m)
{
    cuda_state *s = m->state;
    s->no_graph = true;
    if (dm_graph_capture_begin(m->exec.stream, NULL) != DM_OK)
        return;
    dm_status queued = queue_pass(m, true, true, NULL);
    dm_status ended = dm_graph_capture_end(m->exec.stream, &s->graph, NULL);
    if (queued == DM_OK && ended == DM_OK) {
        s->no_graph = false;
        return;
    }
    dm_graph_destroy(s->graph);
    s->graph = NULL;
}

static dm_status cuda_pass(dm_nn_model *m, uint32_t number, const void *input, const void *target,
                           bool learn, dm_error *err)
{
    cuda_state *s = m->state;
    dm_status status = send(m, input, target, err);
    if (status == DM_OK && learn && number == 0)
        status =
            dm_stream_fill(m->exec.stream, s->parameters, s->room[DM_NN_GRADIENT] * sizeof(float),
                           0, m->plan.parameter_room * sizeof(float), err);
    if (learn && s->warm && !s->graph && !s->no_graph && !m->call_by_call)
        record(m);
    if (status == DM_OK && learn && s->graph && !m->call_by_call)
        status = dm_graph_launch(s->graph, m->exec.stream, err);
    else if (status == DM_OK)
        status = queue_pass(m, target != NULL, learn, err);
    s->warm = s->warm || learn;
    if (status == DM_OK && target)
        status = m->exec.ops->sums(&m->exec, dm_nn_shape_rows(m->plan.output), s->shard.losses,
                                   sums_of(s, number), err);
    return status;
}

static dm_status refresh(dm_nn_model *m, size_t at, size_t count, dm_error *err)
{
    const cuda_state *s = m->state;
    if (!s->copies)
        return DM_OK;
    nn_rows_args args = {.a = address(s->parameters, at * sizeof(float)),
                         .y = address(s->copies, at * 2),
                         .n = count};
    return NN_LAUNCH(&m->exec, convert, dm_nn_cuda_loop((count + 7) / 8), &args, err);
}

/* MUON's, one after the other. */
static dm_status step_matrices(dm_nn_model *m, const dm_nn_range *range, dm_error *err)
{
    dm_status status = dm_nn_stepper_momentum(m->stepper, &m->optimiser, range, err);
    for (size_t k = 0; k < m->plan.parameter_count && status == DM_OK; k++)
        if (m->plan.offsets[k] < m->plan.muon_room)
            status = dm_nn_model_orthogonalise(m, &m->exec, k, range->update, err);
    return status != DM_OK ? status : dm_nn_stepper_update(m->stepper, &m->optimiser, range, err);
}

static dm_status update(dm_nn_model *m, dm_error *err)
{
    cuda_state *s = m->state;
    const dm_nn_plan *plan = &m->plan;
    dm_status status = DM_OK;
    float *arrays[ARRAYS];
    for (int part = 0; part < ARRAYS; part++)
        arrays[part] = (float *)dm_device_buffer_address(s->parameters) + s->room[part];
    const size_t ends[] = {0, plan->muon_room, plan->decayed_room, plan->parameter_room};
    for (int i = 0; i < 3 && status == DM_OK; i++) {
        size_t at = ends[i];
        dm_nn_range range = {.value = arrays[DM_NN_VALUE] + at,
                             .gradient = arrays[DM_NN_GRADIENT] + at,
                             .first = arrays[DM_NN_FIRST] + at,
                             .second = arrays[DM_NN_SECOND] + at,
                             .average =
                                 m->optimiser.average > 0 ? arrays[DM_NN_AVERAGE] + at : NULL,
                             .control = (float *)(void *)control_of(s),
                             .update = s->updates ? address(s->updates, 0) : NULL,
                             .count = ends[i + 1] - at,
                             .decays = i < 2};
        status = i == 0 ? step_matrices(m, &range, err)
                        : dm_nn_stepper_step(m->stepper, &m->optimiser, &range, m->steps, err);
    }
    return status != DM_OK ? status : refresh(m, 0, plan->parameter_room, err);
}

static dm_status cuda_finish(dm_nn_model *m, bool learn, dm_error *err)
{
    cuda_state *s = m->state;
    dm_status status = DM_OK;
    m->steps += learn;
    if (learn)
        status = m->exec.ops->sums(&m->exec, m->plan.parameter_room, s->shard.gradients,
                                   sums_of(s, m->plan.microbatches), err);
    nn_control_args args = {.control = control_of(s),
                            .losses = sums_of(s, 0),
                            .gradients = sums_of(s, m->plan.microbatches),
                            .clip = m->optimiser.clip,
                            .counted = (float)(m->counted > 0 ? m->counted : 1),
                            .microbatches = m->plan.microbatches,
                            .step = m->steps,
                            .learn = learn};
    if (status == DM_OK)
        status = NN_LAUNCH(&m->exec, step_control, ((dm_grid){1, 32, 0}), &args, err);
    if (status == DM_OK && learn)
        status = update(m, err);
    if (status == DM_OK)
        status =
            dm_stream_download(m->exec.stream, s->control, 0, s->result, sizeof *s->result, err);
    s->has_result = status == DM_OK;
    return status != DM_OK ? status : dm_event_record(s->done, m->exec.stream, err);
}

static dm_status cuda_results(dm_nn_model *m, float *loss, float *norm, dm_error *err)
{
    cuda_state *s = m->state;
    if (!s->has_result)
        return DM_OK;
    dm_status status = dm_event_synchronize(s->done, err);
    if (status != DM_OK)
        return status;
    *loss = s->result->loss;
    *norm = s->result->norm;
    if (s->result->bad_step == 0)
        return DM_OK;
    /* That step and those after it changed nothing. */
    *loss = s->result->bad_loss;
    *norm = s->result->bad_norm;
    m->steps = s->result->bad_step - 1;
    s->has_result = false;
    return dm_stream_fill(m->exec.stream, s->control, 0, 0, sizeof(nn_control), err);
}

/* ---- What the host may see ---- */

static float from_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

/* Rows of the last output, some at a time, without what they are padded with. */
static dm_status cuda_output(dm_nn_model *m, float *to, dm_error *err)
{
    const cuda_state *s = m->state;
    const dm_nn_planned *last = &m->plan.layers[m->plan.layer_count - 1];
    size_t spread = (size_t)last->out.H * last->out.W, width = last->pitch * spread;
    size_t rows = dm_nn_shape_rows(last->out), wanted = last->out.C * spread;
    size_t at_once = (size_t)(4 << 20) / width + 1;
    char *memory = malloc(at_once * width * m->plan.element);
    dm_status status = memory ? DM_OK : dm_fail(err, DM_ENOMEM, "nn: no memory for outputs");
    for (size_t row = 0; row < rows && status == DM_OK; row += at_once) {
        size_t count = rows - row < at_once ? rows - row : at_once;
        status = dm_stream_download(m->exec.stream, s->memory,
                                    last->value + row * width * m->plan.element, memory,
                                    count * width * m->plan.element, err);
        if (status == DM_OK)
            status = dm_stream_synchronize(m->exec.stream, err);
        for (size_t r = 0; r < count && status == DM_OK; r++)
            for (size_t c = 0; c < wanted; c++)
                to[(row + r) * wanted + c] =
                    m->plan.element == 2
                        ? from_bf16(((const uint16_t *)(void *)memory)[r * width + c])
                        : ((const float *)(void *)memory)[r * width + c];
    }
    free(memory);
    return status;
}

static dm_status cuda_is_finite(dm_nn_model *m, size_t layer, bool *finite, dm_error *err)
{
    cuda_state *s = m->state;
    const dm_nn_planned *p = &m->plan.layers[layer];
    uint32_t bad = 0;
    nn_rows_args args = {.a = address(s->memory, p->value),
                         .y = &control_of(s)->not_finite,
                         .n = dm_nn_shape_rows(p->out) * p->pitch * p->out.H * p->out.W};
    dm_status status = NN_LAUNCH(&m->exec, finite, dm_nn_cuda_loop(args.n), &args, err);
    size_t at = offsetof(nn_control, not_finite);
    if (status == DM_OK)
        status = dm_stream_download(m->exec.stream, s->control, at, &bad, sizeof bad, err);
    if (status == DM_OK)
        status = dm_stream_fill(m->exec.stream, s->control, at, 0, sizeof bad, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(m->exec.stream, err);
    *finite = bad == 0;
    return status;
}

static size_t part_at(const dm_nn_model *m, size_t index, dm_nn_part part)
{
    const cuda_state *s = m->state;
    return (s->room[part] + m->plan.offsets[index]) * sizeof(float);
}

static dm_status cuda_read(dm_nn_model *m, size_t index, dm_nn_part part, float *to, dm_error *err)
{
    const cuda_state *s = m->state;
    size_t count = m->plan.parameters[index].count;
    dm_status status = dm_stream_download(m->exec.stream, s->parameters, part_at(m, index, part),
                                          to, count * sizeof(float), err);
    if (status == DM_OK)
        status = dm_stream_synchronize(m->exec.stream, err);
    for (size_t i = 0; part == DM_NN_GRADIENT && i < count && m->counted > 0; i++)
        to[i] /= (float)m->counted;
    return status;
}

static dm_status cuda_write(dm_nn_model *m, size_t index, dm_nn_part part, const float *from,
                            dm_error *err)
{
    const cuda_state *s = m->state;
    size_t count = m->plan.parameters[index].count;
    dm_status status = dm_stream_upload(m->exec.stream, s->parameters, part_at(m, index, part),
                                        from, count * sizeof(float), err);
    if (status == DM_OK && part == DM_NN_VALUE)
        status = refresh(m, m->plan.offsets[index], count, err);
    return status != DM_OK ? status : dm_stream_synchronize(m->exec.stream, err);
}

static dm_status cuda_swap(dm_nn_model *m, dm_error *err)
{
    const cuda_state *s = m->state;
    nn_rows_args args = {.a = address(s->parameters, s->room[DM_NN_VALUE] * sizeof(float)),
                         .y = address(s->parameters, s->room[DM_NN_AVERAGE] * sizeof(float)),
                         .n = m->plan.parameter_room};
    dm_status status = NN_LAUNCH(&m->exec, swap, dm_nn_cuda_loop(args.n), &args, err);
    return status != DM_OK ? status : refresh(m, 0, m->plan.parameter_room, err);
}

static dm_device_buffer *cuda_arrays(dm_nn_model *m, dm_nn_part part, size_t *at)
{
    const cuda_state *s = m->state;
    *at = s->room[part] * sizeof(float);
    return s->parameters;
}

static dm_status cuda_changed(dm_nn_model *m, dm_error *err)
{
    return refresh(m, 0, m->plan.parameter_room, err);
}

const dm_nn_runner dm_nn_runner_cuda = {
    .memory = cuda_memory,
    .create = cuda_create,
    .destroy = cuda_destroy,
    .pass = cuda_pass,
    .finish = cuda_finish,
    .results = cuda_results,
    .output = cuda_output,
    .is_finite = cuda_is_finite,
    .read = cuda_read,
    .write = cuda_write,
    .swap = cuda_swap,
    .arrays = cuda_arrays,
    .changed = cuda_changed,
};
