/* SPDX-License-Identifier: MIT */
/* learner_rollout.c - T steps of all machines, and the rollout's figures (returns, lengths, times). */
#include "agent/learner_internal.h"

#include "device/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- What a network sees ---- */

dm_status dm_agent_see(dm_agent_learner *l, dm_agent_worker *w, const uint8_t *observations,
                       const int32_t *order, uint64_t first, uint64_t rows, dm_agent_sight *sight,
                       dm_error *err)
{
    uint64_t bytes = l->row_bytes, S = l->N * (l->T + 1);
    *sight = (dm_agent_sight){.at = w->input};
    if (l->policy.packed && order != NULL) {
        *sight = (dm_agent_sight){.at = observations, .rows = order + first};
        return DM_OK;
    }
    if (l->config.normalise_obs)
        return dm_agent_see_normalised(l, w, observations, order, first, rows, err);
    if ((!l->world->packed || l->policy.packed) && order == NULL) {
        sight->at = observations + first * bytes;
        return DM_OK;
    }
    if (!l->world->packed)
        return w->exec.ops->gather(&w->exec, (uint32_t)rows, (uint32_t)l->policy.numbers,
                                   observations, order + first, w->input, err);
    dm_agent_text *k = &w->unpack;
    dm_agent_text_matrix(k, "packed", (void *)(uintptr_t)observations, NULL, S, bytes);
    dm_agent_text_vector(k, "order", order ? (void *)(uintptr_t)order : l->order, NULL,
                         l->N * l->T);
    dm_agent_text_number(k, "first", (double)first);
    dm_agent_text_number(k, "in_order", order != NULL);
    dm_agent_text_matrix(k, "pixels", w->input, NULL, rows, l->policy.numbers);
    return dm_agent_text_launch(k, DM_KERNEL_FORWARD, rows, bytes, err);
}

void dm_agent_logits(dm_agent_text *text, dm_agent_rows rows, float *slopes, uint64_t count,
                     uint64_t columns)
{
    int64_t pitch = (int64_t)(rows.pitch * sizeof(float));
    dm_kernel_array array = {.data = rows.at,
                             .grad = slopes,
                             .shape = {(int64_t)count, (int64_t)columns},
                             .strides = {pitch, sizeof(float)}};
    dm_agent_text_array(text, "logits", &array);
}

void dm_agent_column(dm_agent_text *text, const char *name, dm_agent_rows rows, float *slopes,
                     uint64_t count)
{
    dm_kernel_array array = {.data = rows.at,
                             .grad = slopes,
                             .shape = {(int64_t)count},
                             .strides = {(int64_t)(rows.pitch * sizeof(float))}};
    dm_agent_text_array(text, name, &array);
}

/* ---- Acting ---- */

static dm_status act_shard(dm_agent_learner *l, dm_agent_worker *w, uint64_t shard, dm_error *err)
{
    uint64_t rows = l->policy.act_rows, first = shard * rows, at = l->t * l->N + first;
    dm_agent_sight input = {0};
    dm_agent_rows logits = {0}, values = {0};
    uint64_t H = l->policy.state;
    float *states = (l->chosen ? l->remembered : l->states) + first * H;
    const dm_agent_memory before = {.states = H > 0 ? states : NULL,
                                    .starts = H > 0 && !l->chosen ? l->starts + at : NULL};
    dm_status status = dm_agent_see(l, w, l->looked_at, NULL, first, rows, &input, err);
    if (status == DM_OK)
        status = dm_agent_policy_forward(&l->policy, false, &w->exec, w->memory, l->parameters,
                                         input, &before, &logits, &values, err);
    /* The last observation is seen again: by the next rollout's first step. */
    if (status == DM_OK && H > 0 && (l->chosen || l->t < l->T))
        status = dm_agent_copy(l, states, dm_agent_policy_states(&l->policy, w->memory),
                               rows * H * sizeof(float), err);
    if (status != DM_OK)
        return status;
    if (l->chosen) { /* greedy */
        dm_agent_logits(&w->greedy, logits, NULL, rows, l->policy.actions);
        dm_agent_text_vector(&w->greedy, "actions", l->chosen + first, NULL, rows);
        return dm_agent_text_launch(&w->greedy, DM_KERNEL_FORWARD, rows, 0, err);
    }
    if (l->again && l->t < l->T) {
        dm_agent_logits(&w->ratios, logits, NULL, rows, l->policy.actions);
        dm_agent_column(&w->ratios, "values", values, NULL, rows);
        dm_agent_text_vector(&w->ratios, "actions", l->actions + at, NULL, rows);
        dm_agent_text_vector(&w->ratios, "chances", l->chances + at, NULL, rows);
        dm_agent_text_vector(&w->ratios, "to_ratios", l->action_ratios + at, NULL, rows);
        dm_agent_text_vector(&w->ratios, "to_values", l->values + at, NULL, rows);
        return dm_agent_text_launch(&w->ratios, DM_KERNEL_FORWARD, rows, 0, err);
    }
    if (l->t == l->T) { /* the value of the last observation is all that is wanted */
        dm_agent_column(&w->look, "values", values, NULL, rows);
        dm_agent_text_vector(&w->look, "to_values", l->values + at, NULL, rows);
        return dm_agent_text_launch(&w->look, DM_KERNEL_FORWARD, rows, 0, err);
    }
    dm_agent_text *k = &w->sample;
    dm_agent_logits(k, logits, NULL, rows, l->policy.actions);
    dm_agent_column(k, "values", values, NULL, rows);
    dm_agent_text_vector(k, "seeds", l->seeds, NULL, l->T);
    dm_agent_text_number(k, "step", (double)l->t);
    dm_agent_text_number(k, "first", (double)first);
    const int32_t *forced = l->world->forced ? l->world->forced + first : l->actions + at;
    dm_agent_text_vector(k, "forced", (void *)(uintptr_t)forced, NULL, rows);
    dm_agent_text_number(k, "has_forced", l->world->forced != NULL);
    dm_agent_text_vector(k, "actions", l->actions + at, NULL, rows);
    dm_agent_text_vector(k, "chances", l->chances + at, NULL, rows);
    dm_agent_text_vector(k, "to_values", l->values + at, NULL, rows);
    return dm_agent_text_launch(k, DM_KERNEL_FORWARD, rows, 0, err);
}

size_t dm_agent_learner_state_bytes(const dm_agent_learner *l)
{
    return l->policy.state * sizeof(float);
}

dm_status dm_agent_learner_greedy(dm_agent_learner *l, const void *observations, uint64_t count,
                                  float *states, int32_t *actions, dm_error *err)
{
    l->remembered = states;
    l->t = 0;
    l->looked_at = observations;
    l->chosen = actions;
    return dm_agent_run_shards(l, count / l->policy.act_rows, act_shard, err);
}

/* The CPU adds up the clock; on CUDA marks are left on the stream. */
static dm_status mark(dm_agent_learner *l, uint64_t *clock, int span, uint64_t event, dm_error *err)
{
    uint64_t now = dm_time_ns();
    if (span >= 0)
        l->ns[span] += now - *clock;
    *clock = now;
    return l->cuda ? dm_event_record(l->events[event], l->stream, err) : DM_OK;
}

static dm_status read_marks(dm_agent_learner *l, dm_error *err)
{
    dm_status status = DM_OK;
    double ms = 0;
    if (!l->cuda)
        return DM_OK;
    l->ns[0] = l->ns[1] = 0;
    for (uint64_t i = 0; i + 1 < 2 * l->T + 2 && status == DM_OK; i++) {
        status = dm_event_elapsed(l->events[i], l->events[i + 1], &ms, err);
        l->ns[i % 2 == 0 ? DM_AGENT_SPAN_ACT : DM_AGENT_SPAN_WORLD] += (uint64_t)(ms * 1e6);
    }
    return status;
}

/* A piece of the rollout (learner_graphs.c). */
static dm_status act(dm_agent_learner *l, uint64_t t, dm_error *err)
{
    l->t = t;
    l->looked_at = l->observations + t * l->N * l->row_bytes;
    l->chosen = NULL;
    return dm_agent_run_shards(l, l->act_shards, act_shard, err);
}

dm_status dm_agent_look_again(dm_agent_learner *l, dm_error *err)
{
    dm_status status = DM_OK;
    l->again = true;
    for (uint64_t t = 0; t <= l->T && status == DM_OK; t++)
        status = act(l, t, err);
    l->again = false;
    return status;
}

/* Where the policy's memory is empty when it looks at the observation after step t. */
static dm_status note_starts(dm_agent_learner *l, uint64_t t, dm_error *err)
{
    if (l->policy.state == 0)
        return DM_OK;
    dm_agent_text_vector(&l->starts_of, "flags", l->flags + t * l->N, NULL, l->N);
    dm_agent_text_vector(&l->starts_of, "starts", l->starts + (t + 1) * l->N, NULL, l->N);
    return dm_agent_text_launch(&l->starts_of, DM_KERNEL_FORWARD, l->N, 0, err);
}

/* Likewise. */
static dm_status step_world(dm_agent_learner *l, uint64_t t, dm_error *err)
{
    uint64_t at = t * l->N, row = l->N * l->row_bytes;
    dm_status status = l->world->step(l->world, l->actions + at, l->observations + (t + 1) * row,
                                      l->rewards + at, l->game + at, l->flags + at, err);
    return status == DM_OK ? note_starts(l, t, err) : status;
}

/* What the rollout's steps take from the host. */
static dm_status prepare(dm_agent_learner *l, dm_error *err)
{
    int32_t *seeds = malloc(l->T * sizeof *seeds);
    if (!seeds)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t t = 0; t < l->T; t++)
        seeds[t] =
            dm_agent_seed_number(l->config.seed, DM_AGENT_STREAM_SAMPLE, l->updates * l->T + t);
    dm_status status =
        l->device->ops->upload(l->stream, l->seeds, seeds, l->T * sizeof *seeds, err);
    free(seeds);
    return status == DM_OK && l->world->prepare ? l->world->prepare(l->world, l->T, err) : status;
}

static dm_status play(dm_agent_learner *l, dm_error *err)
{
    uint64_t row = l->N * l->row_bytes, clock = 0;
    dm_status status = prepare(l, err);
    if (status == DM_OK)
        status = l->device->ops->copy(l->stream, l->observations, l->observations + l->T * row, row,
                                      err);
    if (status == DM_OK)
        status = dm_agent_copy(l, l->starts, l->starts + l->T * l->N, l->N, err);
    if (status == DM_OK)
        status = dm_agent_copy(l, l->first_states, l->states,
                               l->N * l->policy.state * sizeof(float), err);
    if (status == DM_OK)
        status = mark(l, &clock, -1, 0, err);
    for (uint64_t t = 0; t < l->T && status == DM_OK; t++) {
        status = dm_agent_queue(l, 2 * t, act, t, err);
        if (status == DM_OK)
            status = mark(l, &clock, DM_AGENT_SPAN_ACT, 2 * t + 1, err);
        if (status == DM_OK)
            status = l->world->watched ? step_world(l, t, err)
                                       : dm_agent_queue(l, 2 * t + 1, step_world, t, err);
        if (status == DM_OK)
            status = mark(l, &clock, DM_AGENT_SPAN_WORLD, 2 * t + 2, err);
    }
    if (status == DM_OK)
        status = dm_agent_queue(l, 2 * l->T, act, l->T, err);
    return status == DM_OK ? mark(l, &clock, DM_AGENT_SPAN_ACT, 2 * l->T + 1, err) : status;
}

/* ---- What the rollout came to ---- */

static dm_status queue_account(dm_agent_learner *l, dm_error *err)
{
    dm_agent_text *k = &l->account;
    dm_agent_text_matrix(k, "rewards", l->rewards, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "flags", l->flags, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "scaled", l->scaled, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "weights", l->weights, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "ended", l->ended, NULL, l->N, DM_AGENT_ENDED);
    dm_agent_text_vector(k, "score", l->score, NULL, l->N);
    dm_agent_text_vector(k, "length", l->length, NULL, l->N);
    dm_agent_text_vector(k, "practice", l->practice, NULL, l->N);
    dm_agent_text_matrix(k, "game", l->game, NULL, l->T, l->N);
    dm_agent_text_number(k, "has_scores", l->world->has_scores);
    dm_agent_text_vector(k, "bad", l->bad, NULL, l->N);
    dm_agent_text_number(k, "scale", l->config.reward_scale);
    return dm_agent_text_launch(k, DM_KERNEL_FORWARD, l->N, 0, err);
}

static dm_status account(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    float tallies[DM_AGENT_MOMENT_PARTS][DM_AGENT_TALLY];
    uint64_t parts = l->N < DM_AGENT_MOMENT_PARTS ? l->N : DM_AGENT_MOMENT_PARTS;
    uint64_t rows = (l->N + parts - 1) / parts;
    dm_status status = queue_account(l, err);
    dm_agent_text_matrix(&l->tally, "ended", l->ended, NULL, l->N, DM_AGENT_ENDED);
    dm_agent_text_vector(&l->tally, "bad", l->bad, NULL, l->N);
    dm_agent_text_number(&l->tally, "rows", (double)rows);
    dm_agent_text_matrix(&l->tally, "sums", l->tallies, NULL, parts, DM_AGENT_TALLY);
    if (status == DM_OK)
        status = dm_agent_text_launch(&l->tally, DM_KERNEL_FORWARD, parts, 0, err);
    if (status == DM_OK)
        status = dm_agent_read(l, tallies, l->tallies, parts * sizeof tallies[0], err);
    double sums[DM_AGENT_ENDED] = {0};
    for (uint64_t p = 0; p < parts && status == DM_OK; p++) {
        if (tallies[p][DM_AGENT_ENDED] > 0) {
            uint64_t n = (uint64_t)tallies[p][DM_AGENT_ENDED] - 1;
            int32_t t = 0;
            l->bad_machine = (int64_t)n;
            status = dm_agent_read(l, &t, l->bad + n, sizeof t, err);
            return status != DM_OK
                       ? status
                       : dm_fail(err, DM_EINVAL,
                                 "agent: the reward of machine %llu in step %llu is no number",
                                 (unsigned long long)n,
                                 (unsigned long long)(l->updates * l->T + (uint64_t)t));
        }
        for (int i = 0; i < DM_AGENT_ENDED; i++)
            sums[i] += (double)tallies[p][i];
    }
    f->episodes = (uint64_t)sums[0];
    f->score = sums[0] > 0 ? sums[1] / sums[0] : NAN;
    f->length = sums[0] > 0 ? sums[2] / sums[0] : NAN;
    f->reward = sums[4] > 0 ? sums[3] / sums[4] : NAN;
    return status;
}

dm_status dm_agent_rollout(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    memset(l->ns, 0, sizeof l->ns);
    dm_status status = play(l, err);
    if (status == DM_OK)
        status = account(l, f, err);
    if (status == DM_OK)
        status = dm_agent_normalise_rewards(l, err);
    if (status == DM_OK)
        status = read_marks(l, err);
    f->seconds_act = (double)l->ns[DM_AGENT_SPAN_ACT] / 1e9;
    f->seconds_world = (double)l->ns[DM_AGENT_SPAN_WORLD] / 1e9;
    return status;
}

/* ---- From outside ---- */

dm_status dm_agent_learner_look(dm_agent_learner *l, const float *observations, uint64_t count,
                                float *chances, float *values, dm_error *err)
{
    uint64_t rows = l->policy.act_rows, A = l->policy.actions, C = l->policy.numbers;
    dm_agent_worker *w = &l->workers[0];
    dm_status status = DM_OK;
    for (uint64_t i = 0; i < count && status == DM_OK; i += rows) {
        uint64_t some = count - i < rows ? count - i : rows;
        dm_agent_rows logits = {0}, found = {0};
        status = dm_agent_learner_copy(l, w->input, observations + i * C,
                                       some * C * sizeof *observations, true, err);
        if (status == DM_OK && l->config.normalise_obs) /* in place */
            status = dm_agent_see_normalised(l, w, (uint8_t *)w->input, NULL, 0, some, err);
        if (status == DM_OK)
            status = dm_agent_policy_forward(&l->policy, false, &w->exec, w->memory, l->parameters,
                                             (dm_agent_sight){.at = w->input}, NULL, &logits,
                                             &found, err);
        for (uint64_t r = 0; r < some && status == DM_OK; r++) {
            float row[64]; /* as many actions as there may be */
            double total = 0;
            status = dm_agent_read(l, row, logits.at + r * logits.pitch, A * sizeof *row, err);
            if (status == DM_OK)
                status = dm_agent_read(l, values + i + r, found.at + r * found.pitch,
                                       sizeof *values, err);
            for (uint64_t a = 0; a < A; a++)
                total += exp((double)(row[a] - row[0]));
            for (uint64_t a = 0; a < A; a++)
                chances[(i + r) * A + a] = (float)(exp((double)(row[a] - row[0])) / total);
        }
    }
    return status;
}
