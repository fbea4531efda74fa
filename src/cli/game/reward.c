/* SPDX-License-Identifier: MIT */
/* reward.c - see reward.h. */
#include "cli/game/reward.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 200 /* of rewards and ends of one machine */

dm_status dm_reward_load(const char *path, const char *symbols, dm_program **out, dm_error *err)
{
    const dm_program_options options = {.symbols = symbols};
    dm_status status = dm_program_load(path, &options, out, err);
    if (*out != NULL)
        fputs(dm_program_messages(*out), stderr);
    if (status != DM_OK) {
        dm_program_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* ---- Sums ---- */

dm_status dm_reward_tally_init(dm_reward_tally *tally, uint64_t machines, dm_error *err)
{
    memset(tally, 0, sizeof *tally);
    tally->machines = machines;
    tally->low = tally->return_low = INFINITY;
    tally->high = tally->return_high = -INFINITY;
    tally->returns = calloc(machines, sizeof *tally->returns);
    return tally->returns != NULL ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
}

void dm_reward_tally_deinit(dm_reward_tally *tally)
{
    free(tally->returns);
}

static void end_episode(dm_reward_tally *t, double *sum)
{
    t->return_sum += *sum;
    t->return_low = fmin(t->return_low, *sum);
    t->return_high = fmax(t->return_high, *sum);
    *sum = 0;
}

void dm_reward_tally_add(dm_reward_tally *t, const float *rewards, const uint8_t *terminated,
                         const uint8_t *truncated)
{
    for (uint64_t i = 0; i < t->machines; i++) {
        const double reward = (double)rewards[i];
        t->paid += reward != 0;
        t->sum += reward;
        t->low = fmin(t->low, reward);
        t->high = fmax(t->high, reward);
        t->returns[i] += reward;
        t->terminated += terminated[i] != 0;
        t->truncated += truncated[i] != 0 && terminated[i] == 0;
        if (terminated[i] != 0 || truncated[i] != 0)
            end_episode(t, &t->returns[i]);
    }
    t->steps += t->machines;
}

static uint64_t episodes(const dm_reward_tally *t)
{
    return t->terminated + t->truncated;
}

void dm_reward_tally_print(const dm_reward_tally *t, const dm_swarm_metric_sums *metrics,
                           size_t count)
{
    if (t->steps == 0) {
        printf("no step was made: nothing was rewarded\n");
        return;
    }
    printf("reward     %" PRIu64 " of %" PRIu64 " steps rewarded, mean %.6g, %.6g to %.6g\n",
           t->paid, t->steps, t->sum / (double)t->steps, t->low, t->high);
    printf("episodes   %" PRIu64 " terminated, %" PRIu64 " truncated", t->terminated, t->truncated);
    if (episodes(t) != 0)
        printf("; return: mean %.6g, %.6g to %.6g", t->return_sum / (double)episodes(t),
               t->return_low, t->return_high);
    printf("\n");
    for (size_t i = 0; i < count; i++) {
        printf("metric     %s: %.6g in the last step", metrics[i].name, metrics[i].step);
        if (metrics[i].episodes != 0)
            printf("; at an episode's end %.6g, summed over one %.6g", metrics[i].last,
                   metrics[i].sum);
        printf("\n");
    }
}

void dm_reward_tally_json(const dm_reward_tally *t, const dm_swarm_metric_sums *metrics,
                          size_t count, dm_json *json)
{
    const uint64_t ended = episodes(t);
    dm_json_begin_object(json, "reward");
    dm_json_uint(json, "machine_steps", t->steps);
    dm_json_uint(json, "rewarded_steps", t->paid);
    if (t->steps != 0) {
        dm_json_double(json, "mean", t->sum / (double)t->steps);
        dm_json_double(json, "lowest", t->low);
        dm_json_double(json, "highest", t->high);
    }
    dm_json_uint(json, "terminated", t->terminated);
    dm_json_uint(json, "truncated", t->truncated);
    if (ended != 0) {
        dm_json_double(json, "mean_return", t->return_sum / (double)ended);
        dm_json_double(json, "lowest_return", t->return_low);
        dm_json_double(json, "highest_return", t->return_high);
    }
    dm_json_begin_object(json, "metrics");
    for (size_t i = 0; i < count; i++) {
        dm_json_begin_object(json, metrics[i].name);
        dm_json_double(json, "step", metrics[i].step);
        dm_json_uint(json, "episodes", metrics[i].episodes);
        dm_json_double(json, "episode_last", metrics[i].last);
        dm_json_double(json, "episode_sum", metrics[i].sum);
        dm_json_end_object(json);
    }
    dm_json_end_object(json);
    dm_json_end_object(json);
}

/* ---- Swarms ---- */

dm_status dm_reward_watch_init(dm_reward_watch *watch, uint64_t machines, dm_error *err)
{
    watch->rewards = malloc(machines * sizeof *watch->rewards);
    watch->terminated = malloc(machines);
    watch->truncated = malloc(machines);
    if (watch->rewards == NULL || watch->terminated == NULL || watch->truncated == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    return dm_reward_tally_init(&watch->tally, machines, err);
}

void dm_reward_watch_deinit(dm_reward_watch *watch)
{
    dm_reward_tally_deinit(&watch->tally);
    free(watch->rewards);
    free(watch->terminated);
    free(watch->truncated);
}

dm_status dm_reward_watch_step(dm_reward_watch *watch, dm_swarm *swarm, dm_error *err)
{
    const size_t n = watch->tally.machines;
    dm_status status =
        dm_swarm_download(swarm, DM_SWARM_REWARDS, watch->rewards, n * sizeof(float), err);
    if (status == DM_OK)
        status = dm_swarm_download(swarm, DM_SWARM_TERMINATED, watch->terminated, n, err);
    if (status == DM_OK)
        status = dm_swarm_download(swarm, DM_SWARM_TRUNCATED, watch->truncated, n, err);
    if (status == DM_OK)
        dm_reward_tally_add(&watch->tally, watch->rewards, watch->terminated, watch->truncated);
    return status;
}

/* ---- One machine ---- */

dm_status dm_reward_single_init(dm_reward_single *one, const dm_program *program, dm_gb *gb,
                                uint32_t frames, dm_error *err)
{
    one->info = dm_program_get_info(program);
    one->frames = frames;
    for (size_t i = 0; i < one->info.metric_count; i++)
        one->metrics[i].name = one->info.metrics[i];
    dm_status status = dm_reward_tally_init(&one->tally, 1, err);
    return status == DM_OK ? dm_program_single_create(program, gb, 0, 0, &one->single, err)
                           : status;
}

void dm_reward_single_deinit(dm_reward_single *one)
{
    dm_program_single_destroy(one->single);
    dm_reward_tally_deinit(&one->tally);
}

static void count_metrics(dm_reward_single *one, bool ended)
{
    for (size_t i = 0; i < one->info.metric_count; i++) {
        dm_swarm_metric_sums *m = &one->metrics[i];
        m->step = (double)dm_program_single_metric(one->single, i);
        m->sum += m->step;
        if (ended)
            m->last = m->step;
        m->episodes = ended;
    }
}

dm_status dm_reward_single_step(dm_reward_single *one, uint8_t keys, dm_error *err)
{
    dm_program_outcome o;
    const uint64_t step = one->tally.steps;
    dm_status status = dm_program_single_step(one->single, keys, &o, err);
    if (status != DM_OK)
        return status;
    const uint8_t terminated = o.terminated, truncated = o.truncated;
    const double sum = one->tally.returns[0] + (double)o.reward;
    dm_reward_tally_add(&one->tally, &o.reward, &terminated, &truncated);
    count_metrics(one, terminated || truncated);
    if (one->says && one->said < LINES_MAX && (o.reward != 0 || terminated || truncated)) {
        printf("step %-6" PRIu64 " reward %-10.6g return %-10.6g%s%s\n", step, (double)o.reward,
               sum, terminated ? " terminated" : "", truncated ? " truncated" : "");
        if (++one->said == LINES_MAX)
            printf("... and so on\n");
    }
    one->over = terminated || truncated;
    return DM_OK;
}
