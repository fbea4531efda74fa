/* SPDX-License-Identifier: MIT */
/* learner.c - a learner's memory; see learner.h and learner_internal.h. */
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
        {&l->observations, ((T + 1) * N * l->row_bytes + 3) / 4},
        {&l->actions, S},
        {&l->chances, S},
        {&l->values, S + N},
        {&l->rewards, S},
        {&l->scaled, S},
        {&l->weights, S},
        {&l->advantages, S},
        {&l->standard, S},
        {&l->returns, S},
        {&l->action_ratios, l->config.vtrace ? S : 1},
        {&l->flags, (S + 3) / 4},
        {&l->score, N},
        {&l->length, N},
        {&l->practice, N},
        {&l->game, S},
        {&l->ended, N * DM_AGENT_ENDED},
        {&l->bad, N},
        {&l->order, S},
        {&l->states, N * l->policy.state},
        {&l->first_states, N * l->policy.state},
        {&l->starts, (S + N + 3) / 4 + 1},
        {&l->machine_order, N},
        {&l->seen, l->config.normalise_obs ? 3 * l->policy.numbers : 0},
        {&l->gains, 3},
        {&l->running, N},
        {&l->totals, l->config.normalise_rewards ? S : 0},
        {&l->numbers, DM_AGENT_NUMBERS},
        {&l->tallies, DM_AGENT_TALLY * DM_AGENT_MOMENT_PARTS},
        {&l->square_sums, 2},
        {&l->seeds, T},
        {&l->orders, l->config.epochs},
        {&l->schedule, 1 + 3 * l->config.epochs * l->config.minibatches},
        {&l->moment_parts,
         3 * DM_AGENT_MOMENT_PARTS * (l->config.normalise_obs ? l->policy.numbers : 1)},
        {&l->parameters, l->policy.parameter_room},
        {&l->first, l->policy.parameter_room},
        {&l->second, l->policy.parameter_room},
        {&l->gradients, l->policy.parameter_room * (l->cuda ? 1 : l->shards)},
        {&l->shard_parts, 3 * DM_AGENT_PARTS * l->shards * l->report_parts},
        {&l->shard_counts, 2 * l->shards},
    };
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == DM_OK; i++)
        status = take(l, arrays[i].numbers * sizeof(float), arrays[i].at, err);
    return status;
}

/* ---- Workers ---- */

static const char running[] = "kernels/agent/running.py";

static dm_status ones(dm_agent_learner *l, float *at, uint64_t count, dm_error *err)
{
    float *values = malloc(count * sizeof *values);
    if (!values)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t i = 0; i < count; i++)
        values[i] = 1;
    dm_status status = dm_agent_learner_copy(l, at, values, count * sizeof *values, true, err);
    free(values);
    return status;
}

static dm_status take_worker(dm_agent_learner *l, dm_agent_worker *w, dm_error *err)
{
    uint64_t rows = l->policy.learn_rows, A = l->policy.actions;
    uint64_t most = rows > l->policy.act_rows ? rows : l->policy.act_rows;
    const struct {
        void *at;
        uint64_t numbers;
    } arrays[] = {
        {&w->input, most * l->policy.numbers},
        {&w->actions, rows},
        {&w->chances, rows},
        {&w->advantages, rows},
        {&w->returns, rows},
        {&w->values, rows},
        {&w->weights, rows},
        {&w->losses, rows},
        {&w->slopes_of_losses, rows},
        {&w->ones, rows},
        {&w->states, rows / l->policy.steps * l->policy.state},
        {&w->starts, (rows + 3) / 4},
        {&w->parts, rows * DM_AGENT_PARTS},
        {&w->slopes[0], rows * (A + 4)},
        {&w->slopes[1], rows * 4},
    };
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == DM_OK; i++)
        status = take(l, arrays[i].numbers * sizeof(float), arrays[i].at, err);
    for (uint32_t i = 0; i < l->policy.tower_count && status == DM_OK; i++)
        status = take(l, l->policy.shard_bytes[i], &w->memory[i], err);
    if (status == DM_OK) {
        w->exec.scratch_size = l->policy.scratch_bytes;
        status = take(l, w->exec.scratch_size, &w->exec.scratch, err);
    }
    if (status == DM_OK)
        status = ones(l, w->ones, rows, err);
    if (status == DM_OK && l->config.normalise_obs)
        status = dm_agent_text_open(w->device, running, "see", false, &w->see, err);
    const struct {
        dm_agent_text *text;
        const char *path, *name;
    } texts[] = {
        {&w->sample, "kernels/agent/ppo.py", "sample"},
        {&w->look, "kernels/agent/ppo.py", "look"},
        {&w->ratios, "kernels/agent/ppo.py", "ratios"},
        {&w->greedy, "kernels/agent/ppo.py", "greedy"},
        {&w->unpack, "kernels/agent/pixels.py", "unpack"},
        {&w->gather_starts, "kernels/agent/sequences.py", "gather_starts"},
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
    dm_agent_text *const texts[] = {&w->sample, &w->look,   &w->greedy,    &w->ppo,
                                    &w->gather, &w->unpack, &w->part_sums, &w->gather_starts,
                                    &w->ratios, &w->see};
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
    if (config->normalise_obs && world->packed)
        return dm_fail(err, DM_EINVAL,
                       "agent: normalise_obs is for numbers; pictures are from 0 to 1 as they are");
    if (world->actions < 2)
        return dm_fail(err, DM_EINVAL, "agent: %u action; a choice needs two", world->actions);
    return DM_OK;
}

static dm_status open_texts(dm_agent_learner *l, dm_error *err)
{
    const struct {
        dm_agent_text *text;
        const char *path, *name;
    } texts[] = {
        {&l->account, "kernels/agent/normalise.py", "account"},
        {&l->tally, "kernels/agent/normalise.py", "tally"},
        {&l->part_sums, "kernels/agent/normalise.py", "part_sums"},
        {&l->add_parts, "kernels/agent/normalise.py", "add_parts"},
        {&l->standardise, "kernels/agent/normalise.py", "standardise"},
        {&l->gae, "kernels/agent/advantages.py", "gae"},
        {&l->lucky, "kernels/agent/advantages.py", "lucky"},
        {&l->vtrace, "kernels/agent/advantages.py", "vtrace"},
        {&l->shuffle, "kernels/agent/ppo.py", "shuffle"},
        {&l->control, "kernels/agent/optimise.py", "control"},
        {&l->starts_of, "kernels/agent/sequences.py", "starts_of"},
        {&l->sequences, "kernels/agent/sequences.py", "sequences"},
        {&l->adam, "kernels/agent/optimise.py", "adam"},
    };
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == DM_OK; i++)
        status =
            dm_agent_text_open(l->device, texts[i].path, texts[i].name, false, texts[i].text, err);
    if (status == DM_OK && l->config.normalise_rewards)
        status = dm_agent_text_open(l->device, running, "discounted", false, &l->discounted, err);
    if (status == DM_OK && l->config.normalise_rewards)
        status = dm_agent_text_open(l->device, running, "divide", false, &l->divide, err);
    return status;
}

/* Device memory of the rollout and the update for each machine, and the rest. */
static void sizes(const dm_agent_learner *l, uint64_t *each, uint64_t *rest)
{
    uint64_t samples = (13 + l->config.normalise_rewards) * sizeof(float);
    *each = (l->T + 1) * (l->row_bytes + samples) + (3 + DM_AGENT_ENDED + 1) * sizeof(float);
    *rest = l->policy.parameter_room * 4 * sizeof(float) + l->policy.scratch_bytes;
    for (uint32_t i = 0; i < l->policy.tower_count; i++)
        *rest += l->policy.shard_bytes[i];
    uint64_t rows =
        l->policy.learn_rows > l->policy.act_rows ? l->policy.learn_rows : l->policy.act_rows;
    *rest += rows * (l->policy.numbers + 20 + 2u * l->policy.actions) * sizeof(float);
}

/* More machines than fit: says how many would. */
static dm_status check_room(const dm_agent_learner *l, dm_error *err)
{
    uint64_t each, rest, left = 0;
    sizes(l, &each, &rest);
    dm_status status = dm_device_memory_free(l->device, &left, err);
    if (status != DM_OK || rest + each * l->N <= left)
        return status;
    uint64_t fit = left > rest ? (left - rest) / each : 0;
    return dm_fail(
        err, DM_ENOMEM,
        "agent: %llu machines with a horizon of %llu need %.1f GiB, and %.1f are free: %llu "
        "machines would fit, or a horizon of %llu",
        (unsigned long long)l->N, (unsigned long long)l->T,
        (double)(rest + each * l->N) / 1073741824.0, (double)left / 1073741824.0,
        (unsigned long long)fit, (unsigned long long)(l->T * fit / l->N));
}

static dm_status take_workers(dm_agent_learner *l, const dm_nn_exec *exec, dm_error *err)
{
    int threads = l->cuda ? 1 : dm_device_get_properties(l->device)->multiprocessors;
    dm_status status = DM_OK;
    l->workers = calloc((size_t)threads, sizeof *l->workers);
    if (!l->workers)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    if (!l->cuda)
        status = dm_pool_create(threads, &l->pool, err);
    for (int i = 0; i < threads && status == DM_OK; i++) {
        dm_agent_worker *w = &l->workers[l->worker_count++];
        w->device = l->device;
        w->exec = *exec;
        if (!l->cuda)
            status = dm_device_open("cpu:1", &w->device, err);
        if (status == DM_OK)
            status = take_worker(l, w, err);
    }
    return status;
}

static dm_status take_events(dm_agent_learner *l, dm_error *err)
{
    if (!l->cuda)
        return DM_OK;
    dm_status status = DM_OK;
    l->events = calloc(2 * l->T + 2, sizeof(dm_event *));
    if (!l->events)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    for (uint64_t i = 0; i < 2 * l->T + 2 && status == DM_OK; i++)
        status = dm_event_create(l->device, &l->events[i], err);
    if (status != DM_OK || !l->config.graphs)
        return status;
    l->graphs = calloc(dm_agent_graph_count(l), sizeof(dm_graph *));
    return l->graphs ? DM_OK : dm_fail(err, DM_ENOMEM, "agent: no memory");
}

static dm_status create(dm_agent_learner *l, dm_error *err)
{
    const dm_agent_config *c = &l->config;
    if (c->vtrace && c->policy == DM_AGENT_GRU)
        return dm_fail(err, DM_EUNSUPPORTED, "agent: vtrace=1 is not for policy gru");
    l->minibatch = l->N * l->T / c->minibatches;
    uint32_t act_rows = (uint32_t)divisor(l->N, l->cuda ? c->cuda_rows : c->act_rows);
    uint32_t most = (uint32_t)(l->cuda ? c->cuda_rows : c->learn_rows), learn_rows;
    if (c->policy == DM_AGENT_GRU && l->N % c->minibatches != 0)
        return dm_fail(
            err, DM_EINVAL,
            "agent: minibatches is %llu, which does not divide the %llu machines: a policy "
            "with memory learns from whole sequences",
            (unsigned long long)c->minibatches, (unsigned long long)l->N);
    if (c->policy == DM_AGENT_GRU)
        learn_rows = (uint32_t)(l->T * divisor(l->N / c->minibatches, most / l->T + (most < l->T)));
    else
        learn_rows = (uint32_t)divisor(l->minibatch, most);
    l->report_parts = l->cuda ? (learn_rows + DM_AGENT_REPORT_ROWS - 1) / DM_AGENT_REPORT_ROWS : 1;
    l->exec = (dm_nn_exec){.ops = dm_nn_cpu(), .type = DM_NN_F32};
    dm_status status = DM_OK;
    if (l->cuda)
        status = dm_nn_cuda_create(l->device, DM_NN_F32, &l->exec, err);
    if (status == DM_OK)
        status = dm_agent_policy_init(c, l->world, (uint32_t)l->T, act_rows, learn_rows, &l->exec,
                                      &l->policy, err);
    if (status != DM_OK)
        return status;
    l->act_shards = l->N / act_rows;
    l->shards = l->minibatch / learn_rows;
    status = check_room(l, err);
    if (status == DM_OK)
        status = take_rollout(l, err);
    if (status == DM_OK)
        status = take_workers(l, &l->exec, err);
    if (status == DM_OK)
        status = open_texts(l, err);
    if (status == DM_OK)
        status = take_events(l, err);
    float *weights = malloc(l->policy.parameter_room * sizeof *weights);
    if (status == DM_OK && !weights)
        status = dm_fail(err, DM_ENOMEM, "agent: no memory");
    if (status == DM_OK) {
        dm_agent_policy_first_weights(&l->policy, c->seed, weights);
        status = dm_agent_learner_copy(l, l->parameters, weights,
                                       l->policy.parameter_room * sizeof *weights, true, err);
    }
    free(weights);
    if (status == DM_OK)
        status = l->world->reset(l->world, l->observations + l->T * l->N * l->row_bytes, err);
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
    l->bad_machine = -1;
    l->stream = dm_device_stream(device);
    l->cuda = dm_device_get_properties(device)->kind == DM_DEVICE_CUDA;
    l->world = world;
    l->config = *config;
    l->N = world->count;
    l->T = config->horizon;
    l->row_bytes = dm_agent_world_row_bytes(world);
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
    dm_agent_text *const texts[] = {&l->account,   &l->lucky,      &l->vtrace,      &l->tally,
                                    &l->part_sums, &l->add_parts,  &l->standardise, &l->gae,
                                    &l->shuffle,   &l->control,    &l->adam,        &l->starts_of,
                                    &l->sequences, &l->discounted, &l->divide};
    if (l->cuda)
        (void)dm_stream_synchronize(l->stream, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        dm_agent_text_close(texts[i]);
    for (int i = 0; i < l->worker_count; i++)
        leave_worker(l, &l->workers[i]);
    free(l->workers);
    dm_pool_destroy(l->pool);
    for (uint64_t i = 0; l->events && i < 2 * l->T + 2; i++)
        dm_event_destroy(l->events[i]);
    free(l->events);
    dm_agent_graphs_destroy(l);
    if (l->cuda)
        dm_nn_cuda_destroy(&l->exec);
    for (size_t i = 0; i < l->buffer_count; i++)
        dm_device_buffer_destroy(l->buffers[i]);
    dm_agent_policy_deinit(&l->policy);
    free(l);
}

/* ---- Memory of the device ---- */

dm_status dm_agent_clear(dm_agent_learner *l, void *at, size_t bytes, dm_error *err)
{
    if (l->cuda)
        return l->device->ops->fill(l->stream, at, 0, bytes, err);
    memset(at, 0, bytes);
    return DM_OK;
}

dm_status dm_agent_copy(dm_agent_learner *l, void *to, const void *from, size_t bytes,
                        dm_error *err)
{
    if (l->cuda)
        return l->device->ops->copy(l->stream, to, from, bytes, err);
    memcpy(to, from, bytes);
    return DM_OK;
}

dm_status dm_agent_learner_copy(dm_agent_learner *l, void *to, const void *from, size_t bytes,
                                bool to_device, dm_error *err)
{
    const dm_device_ops *ops = l->device->ops;
    dm_status status = to_device ? ops->upload(l->stream, to, from, bytes, err)
                                 : ops->download(l->stream, to, from, bytes, err);
    return status == DM_OK ? dm_stream_synchronize(l->stream, err) : status;
}

dm_status dm_agent_read(dm_agent_learner *l, void *to, const void *from, size_t bytes,
                        dm_error *err)
{
    return dm_agent_learner_copy(l, to, from, bytes, false, err);
}

uint64_t dm_agent_learner_rows(const dm_agent_learner *l)
{
    return l->policy.act_rows;
}

int64_t dm_agent_learner_bad_machine(const dm_agent_learner *l)
{
    return l->bad_machine;
}

uint64_t dm_agent_learner_updates(const dm_agent_learner *l)
{
    return l->updates;
}

/* ---- Shards ---- */

typedef struct shard_run {
    dm_agent_learner *l;
    dm_agent_task task;
} shard_run;

static void run_range(void *user, uint64_t begin, uint64_t end, int worker)
{
    shard_run *run = user;
    dm_agent_worker *w = &run->l->workers[worker];
    for (uint64_t i = begin; i < end && w->failed == DM_OK; i++)
        w->failed = run->task(run->l, w, i, &w->error);
}

dm_status dm_agent_run_shards(dm_agent_learner *l, uint64_t count, dm_agent_task task,
                              dm_error *err)
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

int32_t dm_agent_seed_number(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (int32_t)dm_random4(seed, stream, index).v[0];
}

/* ---- A round ---- */

dm_status dm_agent_learner_round(dm_agent_learner *l, dm_agent_figures *f, dm_error *err)
{
    *f = (dm_agent_figures){0};
    dm_status status = dm_agent_rollout(l, f, err);
    uint64_t begin = dm_time_ns();
    if (status == DM_OK)
        status = dm_agent_update(l, f, err);
    if (status == DM_OK)
        status = dm_agent_count_observations(l, err);
    if (status != DM_OK)
        return status;
    l->updates++;
    l->warm = true;
    f->updates = l->updates;
    f->steps = l->updates * l->N * l->T;
    f->seconds_learn = (double)(dm_time_ns() - begin) / 1e9;
    return DM_OK;
}
