/* SPDX-License-Identifier: MIT */
/* learner.c - memory, rollouts and updates; see learner.h. */
#include "agent/learner_internal.h"

#include "base/philox.h"
#include "device/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory ---- */

static dm_status take(dm_agent_learner *l, uint64_t bytes, void *out, dm_error *err)
{
    if (l->buffer_count == DM_AGENT_BUFFERS)
        return dm_fail(err, DM_EINTERNAL, "agent: too many buffers");
    dm_device_buffer **buffer = &l->buffers[l->buffer_count];
    dm_status status = dm_device_buffer_create(l->device, bytes > 0 ? bytes : 1, buffer, err);
    if (status != DM_OK)
        return status;
    l->buffer_count++;
    *(void **)out = dm_device_buffer_address(*buffer);
    return dm_stream_fill(l->stream, *buffer, 0, 0, dm_device_buffer_size(*buffer), err);
}

/* The largest divisor of `count` that is at most `most`. */
static uint64_t divisor(uint64_t count, uint64_t most)
{
    uint64_t best = 1;
    for (uint64_t i = 1; i * i <= count; i++)
        if (count % i == 0) {
            if (i <= most && i > best)
                best = i;
            if (count / i <= most && count / i > best)
                best = count / i;
        }
    return best;
}

static dm_status take_rollout(dm_agent_learner *l, dm_error *err)
{
    uint64_t N = l->N, T = l->T, S = N * T;
    const struct {
        void *at;
        uint64_t numbers;
    } arrays[] = {
        {&l->observations, (T + 1) * N * l->policy.numbers},
        {&l->actions, S},
        {&l->chances, S},
        {&l->values, S + N},
        {&l->rewards, S},
        {&l->scaled, S},
        {&l->weights, S},
        {&l->advantages, S},
        {&l->standard, S},
        {&l->returns, S},
        {&l->flags, (S + 3) / 4},
        {&l->score, N},
        {&l->length, N},
        {&l->practice, N},
        {&l->game, S},
        {&l->ended, N * DM_AGENT_ENDED},
        {&l->bad, N},
        {&l->order, S},
        {&l->moments, DM_AGENT_MOMENTS},
        {&l->moment_parts, 3 * DM_AGENT_MOMENT_PARTS},
        {&l->parameters, l->policy.parameter_room},
        {&l->first, l->policy.parameter_room},
        {&l->second, l->policy.parameter_room},
        {&l->gradients, l->policy.parameter_room * l->shards},
        {&l->shard_parts, 3 * DM_AGENT_PARTS * l->shards},
        {&l->shard_counts, l->shards},
    };
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == DM_OK; i++)
        status = take(l, arrays[i].numbers * sizeof(float), arrays[i].at, err);
    return status;
}

/* ---- Workers ---- */

static dm_status take_worker(dm_agent_learner *l, dm_agent_worker *w, dm_error *err)
{
    uint64_t rows = l->policy.learn_rows, A = l->policy.actions;
    const struct {
        void *at;
        uint64_t numbers;
    } arrays[] = {
        {&w->input, rows * l->policy.numbers},
        {&w->actions, rows},
        {&w->chances, rows},
        {&w->advantages, rows},
        {&w->returns, rows},
        {&w->values, rows},
        {&w->weights, rows},
        {&w->losses, rows},
        {&w->slopes_of_losses, rows},
        {&w->parts, rows * DM_AGENT_PARTS},
        {&w->slopes[0], rows * (A + 1)},
        {&w->slopes[1], rows},
    };
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == DM_OK; i++)
        status = take(l, arrays[i].numbers * sizeof(float), arrays[i].at, err);
    for (uint32_t i = 0; i < l->policy.tower_count && status == DM_OK; i++)
        status = take(l, l->policy.shard_bytes[i], &w->memory[i], err);
    if (status == DM_OK && !l->cuda) {
        w->exec = (dm_nn_exec){.ops = dm_nn_cpu(), .type = DM_NN_F32};
        w->exec.scratch_size = l->policy.scratch_bytes;
        status = take(l, w->exec.scratch_size, &w->exec.scratch, err);
    }
    const struct {
        dm_agent_text *text;
        const char *path, *name;
    } texts[] = {
        {&w->sample, "kernels/agent/ppo.py", "sample"},
        {&w->greedy, "kernels/agent/ppo.py", "greedy"},
        {&w->ppo, "kernels/agent/ppo.py", "ppo"},
        {&w->gather, "kernels/agent/ppo.py", "gather"},
        {&w->part_sums, "kernels/agent/normalise.py", "part_sums"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == DM_OK; i++)
        status = dm_agent_text_open(w->device, texts[i].path, texts[i].name,
                                    strcmp(texts[i].name, "ppo") == 0, texts[i].text, err);
    return status;
}

static void leave_worker(dm_agent_learner *l, dm_agent_worker *w)
{
    dm_agent_text *const texts[] = {&w->sample, &w->greedy, &w->ppo, &w->gather, &w->part_sums};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        dm_agent_text_close(texts[i]);
    if (w->device != l->device)
        dm_device_close(w->device);
}

/* ---- Creation ---- */

static dm_status check(const dm_agent_config *config, const dm_agent_world *world, dm_error *err)
{
    uint64_t samples = world->count * config->horizon;
    if (world->count != config->machines)
        return dm_fail(err, DM_EINTERNAL, "agent: a world of another number of machines");
    if (samples >= UINT64_C(1) << 31)
        return dm_fail(err, DM_EINVAL,
                       "agent: machines times horizon is %llu; at most 2147483647 samples",
                       (unsigned long long)samples);
    if (samples % config->minibatches != 0)
        return dm_fail(err, DM_EINVAL,
                       "agent: minibatches is %llu, which does not divide the %llu samples of "
                       "machines x horizon",
                       (unsigned long long)config->minibatches, (unsigned long long)samples);
    if (world->actions < 2)
        return dm_fail(err, DM_EINVAL, "agent: %u action; a choice needs two", world->actions);
    return DM_OK;
}

static dm_status create(dm_agent_learner *l, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    l->minibatch = l->N * l->T / c->minibatches;
    uint32_t act_rows = (uint32_t)(l->cuda ? l->N : divisor(l->N, c->act_rows));
    uint32_t learn_rows = (uint32_t)(l->cuda ? l->minibatch : divisor(l->minibatch, c->learn_rows));
    dm_nn_exec exec = {.ops = dm_nn_cpu(), .type = DM_NN_F32};
    dm_status status = DM_OK;
    if (l->cuda)
        return dm_fail(err, DM_EUNSUPPORTED, "agent: learning on CUDA is not there yet");
    status = dm_agent_policy_init(c, l->world, act_rows, learn_rows, &exec, &l->policy, err);
    if (status != DM_OK)
        return status;
    l->act_shards = l->N / act_rows;
    l->shards = l->minibatch / learn_rows;
    status = take_rollout(l, err);
    int threads = l->cuda ? 1 : dm_device_get_properties(l->device)->multiprocessors;
    l->workers = calloc((size_t)threads, sizeof *l->workers);
    if (status == DM_OK && !l->workers)
        status = dm_fail(err, DM_ENOMEM, "agent: no memory");
    if (status == DM_OK && !l->cuda)
        status = dm_pool_create(threads, &l->pool, err);
    for (int i = 0; i < threads && status == DM_OK; i++) {
        dm_agent_worker *w = &l->workers[l->worker_count++];
        w->device = l->device;
        if (!l->cuda)
            status = dm_device_open("cpu:1", &w->device, err);
        if (status == DM_OK)
            status = take_worker(l, w, err);
    }
    const struct {
        dm_agent_text *text;
        const char *path, *name;
    } texts[] = {
        {&l->account, "kernels/agent/normalise.py", "account"},
        {&l->part_sums, "kernels/agent/normalise.py", "part_sums"},
        {&l->add_parts, "kernels/agent/normalise.py", "add_parts"},
        {&l->standardise, "kernels/agent/normalise.py", "standardise"},
        {&l->gae, "kernels/agent/advantages.py", "gae"},
        {&l->shuffle, "kernels/agent/ppo.py", "shuffle"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == DM_OK; i++)
        status = dm_agent_text_open(l->device, texts[i].path, texts[i].name,
                                    strcmp(texts[i].name, "ppo") == 0, texts[i].text, err);
    if (status == DM_OK)
        dm_agent_policy_first_weights(&l->policy, c->seed, l->parameters);
    if (status == DM_OK)
        status = l->world->reset(l->world, l->observations + l->T * l->row, err);
    return status;
}

dm_status dm_agent_learner_create(dm_device *device, dm_agent_world *world,
                                  const dm_agent_config *config, dm_agent_learner **out,
                                  dm_error *err)
{
    dm_status status = check(config, world, err);
    if (status != DM_OK)
        return status;
    dm_agent_learner *l = calloc(1, sizeof *l);
    if (!l)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    l->device = device;
    l->stream = dm_device_stream(device);
    l->cuda = dm_device_get_properties(device)->kind == DM_DEVICE_CUDA;
    l->world = world;
    l->config = *config;
    l->N = world->count;
    l->T = config->horizon;
    l->row = l->N * dm_agent_world_numbers(world);
    status = create(l, err);
    if (status != DM_OK) {
        dm_agent_learner_destroy(l);
        return status;
    }
    *out = l;
    return DM_OK;
}

void dm_agent_learner_destroy(dm_agent_learner *l)
{
    if (!l)
        return;
    dm_agent_text *const texts[] = {&l->account,     &l->part_sums, &l->add_parts,
                                    &l->standardise, &l->gae,       &l->shuffle};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        dm_agent_text_close(texts[i]);
    for (int i = 0; i < l->worker_count; i++)
        leave_worker(l, &l->workers[i]);
    free(l->workers);
    dm_pool_destroy(l->pool);
    for (size_t i = 0; i < l->buffer_count; i++)
        dm_device_buffer_destroy(l->buffers[i]);
    dm_agent_policy_deinit(&l->policy);
    free(l);
}

/* ---- Shards ---- */

typedef dm_status (*shard_task)(dm_agent_learner *l, dm_agent_worker *w, uint64_t shard,
                                dm_error *err);

typedef struct shard_run {
    dm_agent_learner *l;
    shard_task task;
} shard_run;

static void run_range(void *user, uint64_t begin, uint64_t end, int worker)
{
    shard_run *run = user;
    dm_agent_worker *w = &run->l->workers[worker];
    for (uint64_t i = begin; i < end && w->failed == DM_OK; i++)
        w->failed = run->task(run->l, w, i, &w->error);
}

static dm_status run_shards(dm_agent_learner *l, uint64_t count, shard_task task, dm_error *err)
{
    shard_run run = {l, task};
    if (l->pool)
        dm_pool_run(l->pool, count, 1, run_range, &run);
    else
        run_range(&run, 0, count, 0);
    dm_status status = DM_OK;
    for (int i = 0; i < l->worker_count; i++) {
        if (l->workers[i].failed != DM_OK && status == DM_OK)
            status = dm_fail(err, l->workers[i].failed, "%s", l->workers[i].error.message);
        l->workers[i].failed = DM_OK;
    }
    return status;
}

/* A number for a kernel that seeds its generator with an int. */
static double seed_number(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)(int32_t)dm_random4(seed, stream, index).v[0];
}

enum { STREAM_SAMPLE = 1 << 20, STREAM_ORDER }; /* of dm_random4, beside those of the weights */

/* ---- Acting ---- */

static void copy_rows(dm_agent_rows from, uint64_t rows, float *to)
{
    for (uint64_t i = 0; i < rows; i++)
        to[i] = from.at[i * from.pitch];
}

static void logits_array(dm_agent_text *text, dm_agent_rows rows, float *slopes, uint64_t count,
                         uint64_t columns)
{
    int64_t pitch = (int64_t)(rows.pitch * sizeof(float));
    dm_kernel_array array = {.data = rows.at,
                             .grad = slopes,
                             .shape = {(int64_t)count, (int64_t)columns},
                             .strides = {pitch, sizeof(float)}};
    dm_agent_text_array(text, "logits", &array);
}

static dm_status act_shard(dm_agent_learner *l, dm_agent_worker *w, uint64_t shard, dm_error *err)
{
    uint64_t rows = l->policy.act_rows, first = shard * rows, at = l->t * l->N + first;
    const float *input = l->looked_at + first * l->policy.numbers;
    dm_agent_rows logits = {0}, values = {0};
    dm_status status = dm_agent_policy_forward(&l->policy, false, &w->exec, w->memory,
                                               l->parameters, input, &logits, &values, err);
    if (status != DM_OK)
        return status;
    if (l->chosen) { /* greedy */
        logits_array(&w->greedy, logits, NULL, rows, l->policy.actions);
        dm_agent_text_vector(&w->greedy, "actions", l->chosen + first, NULL, rows);
        return dm_agent_text_launch(&w->greedy, DM_KERNEL_FORWARD, rows, 0, err);
    }
    copy_rows(values, rows, l->values + at);
    if (l->t == l->T) /* the value of the last observation is all that is wanted */
        return DM_OK;
    logits_array(&w->sample, logits, NULL, rows, l->policy.actions);
    dm_agent_text_number(&w->sample, "seed",
                         seed_number(l->config.seed, STREAM_SAMPLE, l->updates * l->T + l->t));
    dm_agent_text_number(&w->sample, "first", (double)first);
    dm_agent_text_vector(&w->sample, "actions", l->actions + at, NULL, rows);
    dm_agent_text_vector(&w->sample, "chances", l->chances + at, NULL, rows);
    return dm_agent_text_launch(&w->sample, DM_KERNEL_FORWARD, rows, 0, err);
}

static dm_status act(dm_agent_learner *l, uint64_t t, dm_error *err)
{
    uint64_t begin = dm_time_ns();
    l->t = t;
    l->looked_at = l->observations + t * l->row;
    l->chosen = NULL;
    dm_status status = run_shards(l, l->act_shards, act_shard, err);
    l->ns_act += dm_time_ns() - begin;
    return status;
}

dm_status dm_agent_learner_greedy(dm_agent_learner *l, const float *observations, uint64_t count,
                                  int32_t *actions, dm_error *err)
{
    l->looked_at = observations;
    l->chosen = actions;
    return run_shards(l, count / l->policy.act_rows, act_shard, err);
}

uint64_t dm_agent_learner_rows(const dm_agent_learner *l)
{
    return l->policy.act_rows;
}

uint64_t dm_agent_learner_updates(const dm_agent_learner *l)
{
    return l->updates;
}

dm_status dm_agent_learner_copy(dm_agent_learner *l, void *to, const void *from, size_t bytes,
                                bool to_device, dm_error *err)
{
    const dm_device_ops *ops = l->device->ops;
    dm_status status = to_device ? ops->upload(l->stream, to, from, bytes, err)
                                 : ops->download(l->stream, to, from, bytes, err);
    return status == DM_OK ? dm_stream_synchronize(l->stream, err) : status;
}

static dm_status rollout(dm_agent_learner *l, dm_error *err)
{
    dm_status status = DM_OK;
    memcpy(l->observations, l->observations + l->T * l->row, l->row * sizeof(float));
    for (uint64_t t = 0; t < l->T && status == DM_OK; t++) {
        status = act(l, t, err);
        uint64_t begin = dm_time_ns(), at = t * l->N;
        if (status == DM_OK)
            status = l->world->step(l->world, l->actions + at, l->observations + (t + 1) * l->row,
                                    l->rewards + at, l->game + at, l->flags + at, err);
        l->ns_world += dm_time_ns() - begin;
    }
    return status == DM_OK ? act(l, l->T, err) : status;
}

/* ---- What the rollout came to ---- */

static dm_status account(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
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
    dm_status status = dm_agent_text_launch(k, DM_KERNEL_FORWARD, l->N, 0, err);
    if (status != DM_OK)
        return status;
    double sums[DM_AGENT_ENDED] = {0};
    for (uint64_t n = 0; n < l->N; n++) {
        if (l->bad[n] >= 0)
            return dm_fail(err, DM_EINVAL,
                           "agent: the reward of machine %llu in step %llu is no number",
                           (unsigned long long)n,
                           (unsigned long long)(l->updates * l->T + (uint64_t)l->bad[n]));
        for (int i = 0; i < DM_AGENT_ENDED; i++)
            sums[i] += l->ended[n * DM_AGENT_ENDED + (uint64_t)i];
    }
    f->episodes = (uint64_t)sums[0];
    f->score = sums[0] > 0 ? sums[1] / sums[0] : NAN;
    f->length = sums[0] > 0 ? sums[2] / sums[0] : NAN;
    f->reward = sums[4] > 0 ? sums[3] / sums[4] : NAN;
    return DM_OK;
}

/* Count, mean and sum of squares off it, of one number per sample, into moments[3 * slot ..]. */
static dm_status moments(dm_agent_learner *l, float *numbers, int slot, dm_error *err)
{
    uint64_t S = l->N * l->T, parts = S < DM_AGENT_MOMENT_PARTS ? S : DM_AGENT_MOMENT_PARTS;
    uint64_t rows = (S + parts - 1) / parts;
    float *state = l->moments + 3 * slot;
    dm_kernel_array sums = {.data = l->moment_parts, .shape = {(int64_t)parts, 1, 3}};
    dm_agent_text_matrix(&l->part_sums, "x", numbers, NULL, S, 1);
    dm_agent_text_vector(&l->part_sums, "weights", l->weights, NULL, S);
    dm_agent_text_number(&l->part_sums, "rows", (double)rows);
    dm_agent_text_array(&l->part_sums, "sums", &sums);
    dm_status status = dm_agent_text_launch(&l->part_sums, DM_KERNEL_FORWARD, parts, 1, err);
    memset(state, 0, 3 * sizeof *state);
    dm_agent_text_array(&l->add_parts, "sums", &sums);
    dm_agent_text_matrix(&l->add_parts, "state", state, NULL, 1, 3);
    return status != DM_OK ? status
                           : dm_agent_text_launch(&l->add_parts, DM_KERNEL_FORWARD, 1, 0, err);
}

static dm_status advantages(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    dm_agent_text *k = &l->gae;
    dm_agent_text_matrix(k, "rewards", l->scaled, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "values", l->values, NULL, l->T + 1, l->N);
    dm_agent_text_matrix(k, "flags", l->flags, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "advantages", l->advantages, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "returns", l->returns, NULL, l->T, l->N);
    dm_agent_text_number(k, "gamma", l->config.gamma);
    dm_agent_text_number(k, "decay", l->config.lambda);
    dm_status status = dm_agent_text_launch(k, DM_KERNEL_FORWARD, l->N, 0, err);
    if (status == DM_OK)
        status = moments(l, l->advantages, 0, err);
    if (status == DM_OK)
        status = moments(l, l->returns, 1, err);
    if (status != DM_OK)
        return status;
    /* Advantages are returns less values, so this is one minus the share left unexplained. */
    double left = l->moments[2], all = l->moments[5];
    f->explained = all > 0 ? 1 - left / all : NAN;
    l->taught = l->config.standardise ? l->standard : l->advantages;
    if (!l->config.standardise)
        return DM_OK;
    k = &l->standardise;
    dm_agent_text_matrix(k, "x", l->advantages, NULL, l->N * l->T, 1);
    dm_agent_text_matrix(k, "state", l->moments, NULL, 1, 3);
    dm_agent_text_matrix(k, "y", l->standard, NULL, l->N * l->T, 1);
    dm_agent_text_number(k, "limit", 0);
    return dm_agent_text_launch(k, DM_KERNEL_FORWARD, l->N * l->T, 1, err);
}

/* ---- Learning ---- */

static dm_status shuffle(dm_agent_learner *l, uint64_t epoch, dm_error *err)
{
    uint64_t S = l->N * l->T;
    int half = 1;
    while (UINT64_C(1) << (2 * half) < S)
        half++;
    dm_agent_text_number(
        &l->shuffle, "seed",
        dm_random4(l->config.seed, STREAM_ORDER, l->updates * l->config.epochs + epoch).v[0]);
    dm_agent_text_number(&l->shuffle, "count", (double)S);
    dm_agent_text_number(&l->shuffle, "half", half);
    dm_agent_text_vector(&l->shuffle, "order", l->order, NULL, S);
    return dm_agent_text_launch(&l->shuffle, DM_KERNEL_FORWARD, S, 0, err);
}

static dm_status gather(dm_agent_learner *l, dm_agent_worker *w, uint64_t first, dm_error *err)
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
    if (status == DM_OK)
        status = w->exec.ops->gather(&w->exec, (uint32_t)rows, (uint32_t)l->policy.numbers,
                                     l->observations, l->order + first, w->input, err);
    return status;
}

/* The loss, and the gradients of the networks' outputs. */
static dm_status loss(dm_agent_learner *l, dm_agent_worker *w, dm_agent_rows logits,
                      dm_agent_rows values, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    uint64_t rows = l->policy.learn_rows, A = l->policy.actions;
    bool one = l->policy.tower_count == 1;
    float *dvalues = one ? w->slopes[0] + A : w->slopes[1];
    int64_t pitch = (int64_t)(values.pitch * sizeof(float));
    dm_kernel_array value_rows = {
        .data = values.at, .grad = dvalues, .shape = {(int64_t)rows}, .strides = {pitch}};
    for (uint64_t i = 0; i < rows; i++)
        w->slopes_of_losses[i] = 1;
    memset(w->slopes[0], 0, rows * logits.pitch * sizeof(float));
    memset(w->slopes[1], 0, rows * sizeof(float));
    dm_agent_text *k = &w->ppo;
    logits_array(k, logits, w->slopes[0], rows, A);
    dm_agent_text_array(k, "values", &value_rows);
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
    dm_agent_text_number(k, "entropy_scale", l->entropy);
    dm_status status = DM_OK;
    if (l->reports)
        status = dm_agent_text_launch(k, DM_KERNEL_FORWARD, rows, 0, err);
    return status != DM_OK ? status : dm_agent_text_launch(k, DM_KERNEL_BACKWARD, rows, 0, err);
}

static dm_status learn_shard(dm_agent_learner *l, dm_agent_worker *w, uint64_t shard, dm_error *err)
{
    uint64_t rows = l->policy.learn_rows;
    float *gradients = l->gradients + shard * l->policy.parameter_room;
    dm_agent_rows logits = {0}, values = {0};
    dm_status status = gather(l, w, l->batch_first + shard * rows, err);
    if (status == DM_OK)
        status = dm_agent_policy_forward(&l->policy, true, &w->exec, w->memory, l->parameters,
                                         w->input, &logits, &values, err);
    if (status == DM_OK)
        status = loss(l, w, logits, values, err);
    float count = 0;
    for (uint64_t i = 0; i < rows; i++)
        count += w->weights[i];
    l->shard_counts[shard] = count;
    if (l->reports && status == DM_OK) {
        dm_kernel_array sums = {.data = l->shard_parts + shard * 3 * DM_AGENT_PARTS,
                                .shape = {1, DM_AGENT_PARTS, 3}};
        dm_agent_text_matrix(&w->part_sums, "x", w->parts, NULL, rows, DM_AGENT_PARTS);
        dm_agent_text_vector(&w->part_sums, "weights", w->weights, NULL, rows);
        dm_agent_text_number(&w->part_sums, "rows", (double)rows);
        dm_agent_text_array(&w->part_sums, "sums", &sums);
        status = dm_agent_text_launch(&w->part_sums, DM_KERNEL_FORWARD, 1, DM_AGENT_PARTS, err);
    }
    memset(gradients, 0, l->policy.parameter_room * sizeof(float));
    return status != DM_OK
               ? status
               : dm_agent_policy_backward(&l->policy, &w->exec, w->memory, l->parameters, w->input,
                                          w->slopes, gradients, err);
}

/* ---- The optimiser ---- */

enum { CHUNK = 4096 };

/* All shards' gradients into the first's, and the squares of each chunk. */
static dm_status sum_chunk(dm_agent_learner *l, dm_agent_worker *w, uint64_t chunk, dm_error *err)
{
    uint64_t room = l->policy.parameter_room, i = chunk * CHUNK;
    uint64_t count = room - i < CHUNK ? room - i : CHUNK;
    float *sum = l->gradients + i, sums[2];
    dm_status status = DM_OK;
    for (uint64_t s = 1; s < l->shards && status == DM_OK; s++)
        status = w->exec.ops->add(&w->exec, count, sum, sum + s * room, sum, err);
    if (status == DM_OK)
        status = w->exec.ops->sums(&w->exec, count, sum, sums, err);
    l->squares[chunk] = sums[1];
    return status;
}

static dm_status step_optimiser(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    uint64_t room = l->policy.parameter_room, chunks = (room + CHUNK - 1) / CHUNK;
    double squares = 0, count = 0;
    if (chunks > DM_AGENT_CHUNKS)
        return dm_fail(err, DM_EINVAL, "agent: %llu weights are too many on the CPU",
                       (unsigned long long)room);
    dm_status status = run_shards(l, chunks, sum_chunk, err);
    for (uint64_t i = 0; i < chunks; i++)
        squares += l->squares[i];
    for (uint64_t i = 0; i < l->shards; i++)
        count += l->shard_counts[i];
    if (status != DM_OK || count == 0)
        return status;
    double norm = sqrt(squares) / count;
    if (!isfinite(norm))
        return dm_fail(err, DM_EINVAL,
                       "agent: the gradients of update %llu are no numbers; a "
                       "smaller rate or reward_scale may help",
                       (unsigned long long)l->updates);
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
    l->workers[0].exec.ops->adam(&adam, room, l->parameters, l->gradients, l->first, l->second,
                                 NULL);
    return DM_OK;
}

static void add_reports(dm_agent_learner *l, double sums[DM_AGENT_PARTS], double *count)
{
    for (uint64_t s = 0; s < l->shards; s++)
        for (int i = 0; i < DM_AGENT_PARTS; i++) {
            const float *part = l->shard_parts + (s * DM_AGENT_PARTS + (uint64_t)i) * 3;
            sums[i] += (double)part[0] * (double)part[1];
            *count += i == 0 ? (double)part[0] : 0;
        }
}

/* Rates go down in a straight line over the run. */
static double share(const dm_agent_learner *l, double end)
{
    double done = (double)(l->updates * l->N * l->T) / (double)l->config.steps;
    return done >= 1 ? end : 1 + (end - 1) * done;
}

static dm_status update(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    double sums[DM_AGENT_PARTS] = {0}, count = 0;
    dm_status status = advantages(l, f, err);
    l->entropy = c->entropy * share(l, c->entropy_end);
    f->rate = c->rate * share(l, c->rate_end);
    for (uint64_t epoch = 0; epoch < c->epochs && status == DM_OK; epoch++) {
        l->reports = epoch + 1 == c->epochs;
        status = shuffle(l, epoch, err);
        for (uint64_t k = 0; k < c->minibatches && status == DM_OK; k++) {
            l->batch_first = k * l->minibatch;
            status = run_shards(l, l->shards, learn_shard, err);
            if (status == DM_OK && l->reports)
                add_reports(l, sums, &count);
            if (status == DM_OK)
                status = step_optimiser(l, f, err);
        }
    }
    for (int i = 0; i < DM_AGENT_PARTS; i++)
        sums[i] /= count > 0 ? count : 1;
    f->policy_loss = sums[0];
    f->value_loss = sums[1];
    f->entropy = sums[2];
    f->divergence = sums[3];
    f->clipped = sums[4];
    f->loss = sums[0] + c->value_scale * sums[1] - l->entropy * sums[2];
    return status;
}

dm_status dm_agent_learner_round(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    *f = (dm_agent_figures){0};
    l->ns_act = l->ns_world = 0;
    dm_status status = rollout(l, err);
    uint64_t begin = dm_time_ns();
    if (status == DM_OK)
        status = account(l, f, err);
    if (status == DM_OK)
        status = update(l, f, err);
    if (status != DM_OK)
        return status;
    l->updates++;
    f->updates = l->updates;
    f->steps = l->updates * l->N * l->T;
    f->seconds_world = (double)l->ns_world / 1e9;
    f->seconds_act = (double)l->ns_act / 1e9;
    f->seconds_learn = (double)(dm_time_ns() - begin) / 1e9;
    return DM_OK;
}

dm_status dm_agent_learner_look(dm_agent_learner *l, const float *observations, uint64_t count,
                                float *chances, float *values, dm_error *err)
{
    uint64_t rows = l->policy.act_rows, A = l->policy.actions, C = l->policy.numbers;
    dm_agent_worker *w = &l->workers[0];
    float *input = calloc(rows * C, sizeof *input);
    dm_status status = input ? DM_OK : dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t i = 0; i < count && status == DM_OK; i += rows) {
        uint64_t some = count - i < rows ? count - i : rows;
        dm_agent_rows logits = {0}, found = {0};
        memcpy(input, observations + i * C, some * C * sizeof *input);
        status = dm_agent_policy_forward(&l->policy, false, &w->exec, w->memory, l->parameters,
                                         input, &logits, &found, err);
        for (uint64_t r = 0; r < some && status == DM_OK; r++) {
            const float *row = logits.at + r * logits.pitch;
            double total = 0;
            for (uint64_t a = 0; a < A; a++)
                total += exp((double)(row[a] - row[0]));
            for (uint64_t a = 0; a < A; a++)
                chances[(i + r) * A + a] = (float)(exp((double)(row[a] - row[0])) / total);
            values[i + r] = found.at[r * found.pitch];
        }
    }
    free(input);
    return status;
}
