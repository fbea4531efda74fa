/* SPDX-License-Identifier: MIT */
/* reward.h - what a reward program gave in a run: `dotmatrix run --reward`, `dotmatrix reward check`. */
#ifndef DM_CLI_REWARD_H
#define DM_CLI_REWARD_H

#include "base/json.h"

#include <dotmatrix/swarm.h>

/* Load a program; what is wrong with it goes to stderr, line and caret. `symbols` may be NULL. */
dm_status dm_reward_load(const char *path, const char *symbols, dm_program **out, dm_error *err);

/* Sums over the steps of some machines. */
typedef struct dm_reward_tally {
    uint64_t machines, steps; /* steps of all machines together */
    uint64_t paid;            /* of them with a reward other than 0 */
    uint64_t terminated, truncated;
    double sum, low, high;                      /* of rewards */
    double return_sum, return_low, return_high; /* of episodes that ended */
    double *returns;                            /* of the running episodes, per machine */
} dm_reward_tally;

dm_status dm_reward_tally_init(dm_reward_tally *tally, uint64_t machines, dm_error *err);
void dm_reward_tally_deinit(dm_reward_tally *tally);
/* One step of every machine. */
void dm_reward_tally_add(dm_reward_tally *tally, const float *rewards, const uint8_t *terminated,
                         const uint8_t *truncated);
/* The metrics are the program's, or NULL. */
void dm_reward_tally_print(const dm_reward_tally *tally, const dm_swarm_metric_sums *metrics,
                           size_t count);
void dm_reward_tally_json(const dm_reward_tally *tally, const dm_swarm_metric_sums *metrics,
                          size_t count, dm_json *json);

/* A swarm's outputs of its last step into a tally; host memory is made once. */
typedef struct dm_reward_watch {
    dm_reward_tally tally;
    float *rewards;
    uint8_t *terminated, *truncated;
} dm_reward_watch;

dm_status dm_reward_watch_init(dm_reward_watch *watch, uint64_t machines, dm_error *err);
void dm_reward_watch_deinit(dm_reward_watch *watch);
dm_status dm_reward_watch_step(dm_reward_watch *watch, dm_swarm *swarm, dm_error *err);

/* A program beside one machine: a step each `frames` frames. */
typedef struct dm_reward_single {
    dm_program_single *single;
    dm_program_info info;
    uint32_t frames;
    dm_reward_tally tally;
    bool over; /* the episode has ended */
    bool says; /* a line for each reward and end, up to some */
    uint32_t said;
    dm_swarm_metric_sums metrics[DM_PROGRAM_METRICS_MAX];
} dm_reward_single;

dm_status dm_reward_single_init(dm_reward_single *one, const dm_program *program, dm_gb *gb,
                                uint32_t frames, dm_error *err);
void dm_reward_single_deinit(dm_reward_single *one);
dm_status dm_reward_single_step(dm_reward_single *one, uint8_t keys, dm_error *err);

#endif
