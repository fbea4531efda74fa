/* SPDX-License-Identifier: MIT */
/* learner_update.c - the PPO update from a rollout: advantages, epochs of minibatches, the optimiser. */
#include "agent/learner_internal.h"

#include "base/philox.h"
#include "device/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Advantages ---- */

dm_status dm_agent_add_moments(dm_agent_learner *l, float *samples, uint64_t columns, float *state,
                               dm_error *err)
{
    uint64_t S = l->N * l->T, parts = S < DM_AGENT_MOMENT_PARTS ? S : DM_AGENT_MOMENT_PARTS;
    uint64_t rows = (S + parts - 1) / parts;
    dm_kernel_array sums = {.data = l->moment_parts,
                            .shape = {(int64_t)parts, (int64_t)columns, 3}};
    dm_agent_text_matrix(&l->part_sums, "x", samples, NULL, S, columns);
    dm_agent_text_vector(&l->part_sums, "weights", l->weights, NULL, S);
    dm_agent_text_number(&l->part_sums, "rows", (double)rows);
    dm_agent_text_array(&l->part_sums, "sums", &sums);
    dm_agent_text_array(&l->add_parts, "sums", &sums);
    dm_agent_text_matrix(&l->add_parts, "state", state, NULL, columns, 3);
    dm_status status = dm_agent_text_launch(&l->part_sums, DM_KERNEL_FORWARD, parts, columns, err);
    return status != DM_OK
               ? status
               : dm_agent_text_launch(&l->add_parts, DM_KERNEL_FORWARD, columns, 0, err);
}

/* Of one number per sample, this rollout's alone. */
static dm_status moments(dm_agent_learner *l, float *numbers, float *state, dm_error *err)
{
    dm_status status = dm_agent_clear(l, state, 3 * sizeof *state, err);
    return status == DM_OK ? dm_agent_add_moments(l, numbers, 1, state, err) : status;
}

/* Before each epoch with V-trace, else before the first. */
static dm_status advantages(dm_agent_learner *l, dm_error *err)
{
    dm_agent_text *k = l->config.vtrace ? &l->vtrace : &l->gae;
    dm_status status = DM_OK;
    if (l->config.vtrace) {
        status = dm_agent_look_again(l, err);
        dm_agent_text_matrix(k, "ratios", l->action_ratios, NULL, l->T, l->N);
        dm_agent_text_number(k, "ratio_max", 1);
        dm_agent_text_number(k, "trace_max", 1);
    }
    uint64_t S = l->N * l->T;
    dm_agent_text_matrix(k, "rewards", l->scaled, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "values", l->values, NULL, l->T + 1, l->N);
    dm_agent_text_matrix(k, "flags", l->flags, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "advantages", l->advantages, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "returns", l->returns, NULL, l->T, l->N);
    dm_agent_text_number(k, "gamma", l->config.gamma);
    dm_agent_text_number(k, "decay", l->config.lambda);
    if (status == DM_OK)
        status = dm_agent_text_launch(k, DM_KERNEL_FORWARD, l->N, 0, err);
    dm_agent_text_matrix(&l->lucky, "flags", l->flags, NULL, l->T, l->N);
    dm_agent_text_matrix(&l->lucky, "advantages", l->advantages, NULL, l->T, l->N);
    dm_agent_text_matrix(&l->lucky, "weights", l->weights, NULL, l->T, l->N);
    if (status == DM_OK && l->world->forced)
        status = dm_agent_text_launch(&l->lucky, DM_KERNEL_FORWARD, l->T, l->N, err);
    if (status == DM_OK)
        status = moments(l, l->advantages, l->numbers + DM_AGENT_AT_ADVANTAGES, err);
    if (status == DM_OK)
        status = moments(l, l->returns, l->numbers + DM_AGENT_AT_RETURNS, err);
    l->taught = l->config.standardise ? l->standard : l->advantages;
    if (status != DM_OK || !l->config.standardise)
        return status;
    k = &l->standardise;
    dm_agent_text_matrix(k, "x", l->advantages, NULL, S, 1);
    dm_agent_text_matrix(k, "state", l->numbers + DM_AGENT_AT_ADVANTAGES, NULL, 1, 3);
    dm_agent_text_matrix(k, "y", l->standard, NULL, S, 1);
    dm_agent_text_number(k, "limit", 0);
    return dm_agent_text_launch(k, DM_KERNEL_FORWARD, S, 1, err);
}

/* ---- A shard ---- */

/* Samples in a new order; with memory, machines, each with all its steps. */
static dm_status shuffle(dm_agent_learner *l, uint64_t epoch, dm_error *err)
{
    bool whole = l->policy.state > 0;
    uint64_t S = whole ? l->N : l->N * l->T;
    int half = 1;
    while (UINT64_C(1) << (2 * half) < S)
        half++;
    dm_agent_text_vector(&l->shuffle, "seeds", l->orders, NULL, l->config.epochs);
    dm_agent_text_number(&l->shuffle, "epoch", (double)epoch);
    dm_agent_text_number(&l->shuffle, "count", (double)S);
    dm_agent_text_number(&l->shuffle, "half", half);
    dm_agent_text_vector(&l->shuffle, "order", whole ? l->machine_order : l->order, NULL, S);
    dm_status status = dm_agent_text_launch(&l->shuffle, DM_KERNEL_FORWARD, S, 0, err);
    if (status != DM_OK || !whole)
        return status;
    dm_agent_text *k = &l->sequences;
    dm_agent_text_vector(k, "machines", l->machine_order, NULL, l->N);
    dm_agent_text_number(k, "steps", (double)l->T);
    dm_agent_text_vector(k, "order", l->order, NULL, l->N * l->T);
    return dm_agent_text_launch(k, DM_KERNEL_FORWARD, l->N, l->T, err);
}

/* The recurrent states at the start of a shard's sequences. */
static dm_status gather_memory(dm_agent_learner *l, dm_agent_worker *w, uint64_t first,
                               dm_agent_memory *before, dm_error *err)
{
    uint64_t rows = l->policy.learn_rows, S = l->N * l->T, H = l->policy.state;
    if (H == 0)
        return DM_OK;
    *before = (dm_agent_memory){.states = w->states, .starts = w->starts};
    dm_agent_text *k = &w->gather_starts;
    dm_agent_text_vector(k, "order", l->order, NULL, S);
    dm_agent_text_number(k, "first", (double)first);
    dm_agent_text_vector(k, "starts", l->starts, NULL, S + l->N);
    dm_agent_text_vector(k, "to_starts", w->starts, NULL, rows);
    dm_status status = dm_agent_text_launch(k, DM_KERNEL_FORWARD, rows, 0, err);
    return status != DM_OK ? status
                           : w->exec.ops->gather(&w->exec, (uint32_t)(rows / l->T), (uint32_t)H,
                                                 l->first_states, l->machine_order + first / l->T,
                                                 w->states, err);
}

static dm_status gather(dm_agent_learner *l, dm_agent_worker *w, uint64_t first,
                        dm_agent_sight *input, dm_error *err)
{
    uint64_t S = l->N * l->T, rows = l->policy.learn_rows;
    dm_agent_text *k = &w->gather;
    dm_agent_text_vector(k, "order", l->order, NULL, S);
    dm_agent_text_number(k, "first", (double)first);
    dm_agent_text_vector(k, "actions", l->actions, NULL, S);
    dm_agent_text_vector(k, "chances", l->chances, NULL, S);
    dm_agent_text_vector(k, "advantages", l->taught, NULL, S);
    dm_agent_text_vector(k, "returns", l->returns, NULL, S);
    dm_agent_text_vector(k, "values", l->values, NULL, S);
    dm_agent_text_vector(k, "weights", l->weights, NULL, S);
    dm_agent_text_vector(k, "to_actions", w->actions, NULL, rows);
    dm_agent_text_vector(k, "to_chances", w->chances, NULL, rows);
    dm_agent_text_vector(k, "to_advantages", w->advantages, NULL, rows);
    dm_agent_text_vector(k, "to_returns", w->returns, NULL, rows);
    dm_agent_text_vector(k, "to_values", w->values, NULL, rows);
    dm_agent_text_vector(k, "to_weights", w->weights, NULL, rows);
    dm_status status = dm_agent_text_launch(k, DM_KERNEL_FORWARD, rows, 0, err);
    return status != DM_OK ? status
                           : dm_agent_see(l, w, l->observations, l->order, first, rows, input, err);
}

/* The slopes by the CPU's own operation. */
static dm_status loss_on_cpu(dm_agent_learner *l, dm_agent_worker *w, dm_agent_rows logits,
                             dm_agent_rows values, float *dvalues, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    const dm_nn_ppo ppo = {.count = l->policy.learn_rows,
                           .logits_pitch = logits.pitch,
                           .values_pitch = values.pitch,
                           .actions = l->policy.actions,
                           .clip = (float)c->clip,
                           .value_clip = (float)c->value_clip,
                           .value_scale = (float)c->value_scale,
                           .entropy_scale = (float)l->entropy,
                           .logits = logits.at,
                           .values = values.at,
                           .taken = w->actions,
                           .chances = w->chances,
                           .advantages = w->advantages,
                           .returns = w->returns,
                           .old_values = w->values,
                           .weights = w->weights,
                           .dlogits = w->slopes[0],
                           .dvalues = dvalues,
                           .parts = l->reports ? w->parts : NULL};
    return w->exec.ops->ppo(&ppo, err);
}

/* The loss, and the gradients of the networks' outputs. */
static dm_status loss(dm_agent_learner *l, dm_agent_worker *w, dm_agent_rows logits,
                      dm_agent_rows values, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    uint64_t rows = l->policy.learn_rows, A = l->policy.actions;
    float *dvalues = l->policy.tower_count == 1 ? w->slopes[0] + A : w->slopes[1];
    if (w->exec.ops->ppo) /* padding stays 0 */
        return loss_on_cpu(l, w, logits, values, dvalues, err);
    dm_status status = dm_agent_clear(l, w->slopes[0], rows * logits.pitch * sizeof(float), err);
    if (status == DM_OK)
        status = dm_agent_clear(l, w->slopes[1], rows * 4 * sizeof(float), err);
    if (status == DM_OK) /* the backward pass takes them away */
        status = dm_agent_copy(l, w->slopes_of_losses, w->ones, rows * sizeof(float), err);
    dm_agent_text *k = &w->ppo;
    dm_agent_logits(k, logits, w->slopes[0], rows, A);
    dm_agent_column(k, "values", values, dvalues, rows);
    dm_agent_text_vector(k, "actions", w->actions, NULL, rows);
    dm_agent_text_vector(k, "chances", w->chances, NULL, rows);
    dm_agent_text_vector(k, "advantages", w->advantages, NULL, rows);
    dm_agent_text_vector(k, "returns", w->returns, NULL, rows);
    dm_agent_text_vector(k, "old_values", w->values, NULL, rows);
    dm_agent_text_vector(k, "weights", w->weights, NULL, rows);
    dm_agent_text_vector(k, "losses", w->losses, w->slopes_of_losses, rows);
    dm_agent_text_matrix(k, "parts", w->parts, NULL, rows, DM_AGENT_PARTS);
    dm_agent_text_number(k, "clip", c->clip);
    dm_agent_text_number(k, "value_clip", c->value_clip);
    dm_agent_text_number(k, "value_scale", c->value_scale);
    dm_agent_text_vector(k, "schedule", l->schedule, NULL, 1);
    if (status == DM_OK && l->reports)
        status = dm_agent_text_launch(k, DM_KERNEL_FORWARD, rows, 0, err);
    return status != DM_OK ? status : dm_agent_text_launch(k, DM_KERNEL_BACKWARD, rows, 0, err);
}

static dm_status report_shard(dm_agent_learner *l, dm_agent_worker *w, uint64_t shard,
                              dm_error *err)
{
    uint64_t rows = l->policy.learn_rows, parts = l->report_parts;
    float *to = l->shard_parts + shard * parts * 3 * DM_AGENT_PARTS;
    dm_kernel_array sums = {.data = to, .shape = {(int64_t)parts, DM_AGENT_PARTS, 3}};
    dm_agent_text *k = &w->part_sums;
    dm_agent_text_matrix(k, "x", w->parts, NULL, rows, DM_AGENT_PARTS);
    dm_agent_text_vector(k, "weights", w->weights, NULL, rows);
    dm_agent_text_number(k, "rows", (double)(l->cuda ? DM_AGENT_REPORT_ROWS : rows));
    dm_agent_text_array(k, "sums", &sums);
    return dm_agent_text_launch(k, DM_KERNEL_FORWARD, parts, DM_AGENT_PARTS, err);
}

static dm_status learn_shard(dm_agent_learner *l, dm_agent_worker *w, uint64_t shard, dm_error *err)
{
    uint64_t rows = l->policy.learn_rows;
    float *gradients = l->gradients + (l->cuda ? 0 : shard * l->policy.parameter_room);
    dm_agent_sight input = {0};
    dm_agent_rows logits = {0}, values = {0};
    dm_agent_memory before = {0};
    dm_status status = gather(l, w, l->batch_first + shard * rows, &input, err);
    if (status == DM_OK)
        status = gather_memory(l, w, l->batch_first + shard * rows, &before, err);
    if (status == DM_OK)
        status = dm_agent_policy_forward(&l->policy, true, &w->exec, w->memory, l->parameters,
                                         input, &before, &logits, &values, err);
    if (status == DM_OK)
        status = loss(l, w, logits, values, err);
    if (status == DM_OK)
        status = w->exec.ops->sums(&w->exec, rows, w->weights, l->shard_counts + 2 * shard, err);
    if (status == DM_OK && l->reports)
        status = report_shard(l, w, shard, err);
    if (status == DM_OK && (!l->cuda || shard == 0))
        status = dm_agent_clear(l, gradients, l->policy.parameter_room * sizeof(float), err);
    return status != DM_OK
               ? status
               : dm_agent_policy_backward(&l->policy, &w->exec, w->memory, l->parameters, input,
                                          &before, w->slopes, gradients, err);
}

/* ---- The optimiser ---- */

enum { CHUNK = 4096 };

/* All shards' gradients into the first's, and the squares of each chunk. */
static dm_status sum_chunk(dm_agent_learner *l, dm_agent_worker *w, uint64_t chunk, dm_error *err)
{
    uint64_t room = l->policy.parameter_room, i = chunk * CHUNK;
    uint64_t count = room - i < CHUNK ? room - i : CHUNK;
    float *sum = l->gradients + i, sums[2] = {0, 0};
    dm_status status = DM_OK;
    for (uint64_t s = 1; s < l->shards && status == DM_OK; s++)
        status = w->exec.ops->add(&w->exec, count, sum, sum + s * room, sum, err);
    if (status == DM_OK)
        status = w->exec.ops->sums(&w->exec, count, sum, sums, err);
    l->squares[chunk] = sums[1];
    return status;
}

static dm_status bad_gradients(const dm_agent_learner *l, dm_error *err)
{
    return dm_fail(err, DM_EINVAL,
                   "agent: the gradients of update %llu are no numbers; a "
                   "smaller rate or reward_scale may help, or an observation is none",
                   (unsigned long long)l->updates);
}

static dm_status step_on_cpu(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    uint64_t room = l->policy.parameter_room, chunks = (room + CHUNK - 1) / CHUNK;
    double squares = 0, count = 0;
    if (chunks > DM_AGENT_CHUNKS)
        return dm_fail(err, DM_EINVAL, "agent: %llu weights are too many on the CPU",
                       (unsigned long long)room);
    dm_status status = dm_agent_run_shards(l, chunks, sum_chunk, err);
    for (uint64_t i = 0; i < chunks; i++)
        squares += l->squares[i];
    for (uint64_t i = 0; i < l->shards; i++)
        count += (double)l->shard_counts[2 * i];
    if (status != DM_OK || count == 0)
        return status;
    double norm = sqrt(squares) / count;
    if (!isfinite(norm))
        return bad_gradients(l, err);
    double scale = c->norm_clip > 0 && norm > c->norm_clip ? c->norm_clip / norm : 1;
    l->optimiser_steps++;
    f->norm += norm / (double)(c->epochs * c->minibatches);
    dm_nn_adam adam = {.scale = (float)(scale / count),
                       .rate = (float)f->rate,
                       .beta1 = (float)c->beta1,
                       .beta2 = (float)c->beta2,
                       .epsilon = (float)c->epsilon,
                       .correct1 = (float)(1 - pow(c->beta1, (double)l->optimiser_steps)),
                       .correct2 = (float)(1 - pow(c->beta2, (double)l->optimiser_steps))};
    l->exec.ops->adam(&adam, room, l->parameters, l->gradients, l->first, l->second, NULL);
    return DM_OK;
}

/* `step`: of this update. */
static dm_status step_on_cuda(dm_agent_learner *l, uint64_t step, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    uint64_t room = l->policy.parameter_room;
    float *control = l->numbers + DM_AGENT_AT_CONTROL;
    dm_agent_text *k = &l->control;
    dm_status status = l->exec.ops->sums(&l->exec, room, l->gradients, l->square_sums, err);
    dm_agent_text_matrix(k, "counts", l->shard_counts, NULL, l->shards, 2);
    dm_agent_text_vector(k, "sums", l->square_sums, NULL, 2);
    dm_agent_text_number(k, "clip", c->norm_clip);
    dm_agent_text_vector(k, "state", control, NULL, 8);
    if (status == DM_OK)
        status = dm_agent_text_launch(k, DM_KERNEL_FORWARD, 1, 0, err);
    k = &l->adam;
    dm_agent_text_vector(k, "w", l->parameters, NULL, room);
    dm_agent_text_vector(k, "g", l->gradients, NULL, room);
    dm_agent_text_vector(k, "m", l->first, NULL, room);
    dm_agent_text_vector(k, "v", l->second, NULL, room);
    dm_agent_text_vector(k, "state", control, NULL, 8);
    dm_agent_text_vector(k, "schedule", l->schedule, NULL, 1 + 3 * c->epochs * c->minibatches);
    dm_agent_text_number(k, "first", (double)(1 + 3 * step));
    dm_agent_text_number(k, "beta1", c->beta1);
    dm_agent_text_number(k, "beta2", c->beta2);
    dm_agent_text_number(k, "epsilon", c->epsilon);
    return status == DM_OK ? dm_agent_text_launch(k, DM_KERNEL_FORWARD, room, 0, err) : status;
}

/* ---- An update ---- */

/* The parts of the loss of a minibatch, to those of the epoch. */
static dm_status add_reports(dm_agent_learner *l, dm_error *err)
{
    dm_kernel_array sums = {.data = l->shard_parts,
                            .shape = {(int64_t)(l->shards * l->report_parts), DM_AGENT_PARTS, 3}};
    dm_agent_text_array(&l->add_parts, "sums", &sums);
    dm_agent_text_matrix(&l->add_parts, "state", l->numbers + DM_AGENT_AT_REPORT, NULL,
                         DM_AGENT_PARTS, 3);
    return dm_agent_text_launch(&l->add_parts, DM_KERNEL_FORWARD, DM_AGENT_PARTS, 0, err);
}

/* Rates go down in a straight line over the run. */
static double share(const dm_agent_learner *l, double end)
{
    double done = (double)(l->updates * l->N * l->T) / (double)l->config.steps;
    return done >= 1 ? end : 1 + (end - 1) * done;
}

static dm_status figures(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    float numbers[DM_AGENT_NUMBERS];
    const dm_agent_config *c = &l->config;
    dm_status status = dm_agent_read(l, numbers, l->numbers, sizeof numbers, err);
    if (status != DM_OK)
        return status;
    const float *report = numbers + DM_AGENT_AT_REPORT, *control = numbers + DM_AGENT_AT_CONTROL;
    if (l->cuda && control[4] > 0)
        return bad_gradients(l, err);
    if (l->cuda)
        f->norm = control[3] > 0 ? (double)(control[2] / control[3]) : 0;
    f->policy_loss = (double)report[1];
    f->value_loss = (double)report[4];
    f->entropy = (double)report[7];
    f->divergence = (double)report[10];
    f->clipped = (double)report[13];
    f->loss = f->policy_loss + c->value_scale * f->value_loss - l->entropy * f->entropy;
    /* Explained variance: advantages are returns minus values, the part that the values do not explain. */
    double left = (double)numbers[DM_AGENT_AT_ADVANTAGES + 2],
           all = (double)numbers[DM_AGENT_AT_RETURNS + 2];
    f->explained = all > 0 ? 1 - left / all : NAN;
    return DM_OK;
}

/* What this update takes from the host. */
static dm_status prepare(dm_agent_learner *l, const dm_agent_figures *f, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    uint64_t steps = c->epochs * c->minibatches;
    uint32_t *orders = malloc(c->epochs * sizeof *orders);
    float *schedule = malloc((1 + 3 * steps) * sizeof *schedule);
    dm_status status = orders && schedule ? DM_OK : dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t e = 0; e < c->epochs && status == DM_OK; e++)
        orders[e] = dm_random4(c->seed, DM_AGENT_STREAM_ORDER, l->updates * c->epochs + e).v[0];
    if (status == DM_OK)
        schedule[0] = (float)l->entropy;
    for (uint64_t i = 0; i < steps && status == DM_OK; i++) {
        double step = (double)(l->optimiser_steps + i + 1);
        schedule[3 * i + 1] = (float)f->rate;
        schedule[3 * i + 2] = (float)(1 - pow(c->beta1, step));
        schedule[3 * i + 3] = (float)(1 - pow(c->beta2, step));
    }
    const dm_device_ops *ops = l->device->ops;
    if (status == DM_OK)
        status = ops->upload(l->stream, l->orders, orders, c->epochs * sizeof *orders, err);
    if (status == DM_OK)
        status =
            ops->upload(l->stream, l->schedule, schedule, (1 + 3 * steps) * sizeof *schedule, err);
    free(orders);
    free(schedule);
    return status;
}

static dm_status learn(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    dm_status status = dm_agent_clear(l, l->numbers, DM_AGENT_NUMBERS * sizeof(float), err);
    if (status == DM_OK)
        status = advantages(l, err);
    for (uint64_t epoch = 0; epoch < c->epochs && status == DM_OK; epoch++) {
        l->reports = epoch + 1 == c->epochs;
        if (c->vtrace && epoch > 0)
            status = advantages(l, err);
        if (status == DM_OK)
            status = shuffle(l, epoch, err);
        for (uint64_t k = 0; k < c->minibatches && status == DM_OK; k++) {
            l->batch_first = k * l->minibatch;
            status = dm_agent_run_shards(l, l->shards, learn_shard, err);
            if (status == DM_OK && l->reports)
                status = add_reports(l, err);
            if (status == DM_OK)
                status = l->cuda ? step_on_cuda(l, epoch * c->minibatches + k, err)
                                 : step_on_cpu(l, f, err);
        }
    }
    return status;
}

/* A piece of learner_graphs.c. */
static dm_status learn_on_cuda(dm_agent_learner *l, uint64_t t, dm_error *err)
{
    (void)t;
    return learn(l, NULL, err);
}

dm_status dm_agent_update(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    l->entropy = c->entropy * share(l, c->entropy_end);
    f->rate = c->rate * share(l, c->rate_end);
    dm_status status = prepare(l, f, err);
    if (status == DM_OK)
        status =
            l->cuda ? dm_agent_queue(l, 2 * l->T + 1, learn_on_cuda, 0, err) : learn(l, f, err);
    if (l->cuda)
        l->optimiser_steps += c->epochs * c->minibatches;
    return status == DM_OK ? figures(l, f, err) : status;
}
