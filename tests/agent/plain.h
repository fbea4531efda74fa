/* SPDX-License-Identifier: MIT */
/* plain.h - what the texts of kernels/agent mean: the same formulas as plain loops in double, with
 * gradients written by hand. Arrays are [T][N], values [T + 1][N]. */
#ifndef DM_TESTS_AGENT_PLAIN_H
#define DM_TESTS_AGENT_PLAIN_H

#include "agent/world.h"

typedef struct dm_agent_plain_rollout {
    size_t T, N;
    const double *rewards, *values, *ratios; /* ratios: V-trace's; NULL: GAE */
    const uint8_t *flags;
    double gamma, decay, ratio_max, trace_max;
} dm_agent_plain_rollout;

/* By the definition: each advantage is a sum over all later steps of its episode. */
void dm_agent_plain_advantages(const dm_agent_plain_rollout *r, double *advantages,
                               double *returns);

/* One sample of the loss of PPO. */
typedef struct dm_agent_plain_sample {
    const double *logits;
    size_t actions;
    size_t action;
    double value, chance, advantage, target, old_value;
    double clip, value_clip, value_scale, entropy_scale;
} dm_agent_plain_sample;

/* The loss; parts as kernels/agent/ppo.py has them, and the gradients of logits and value. */
double dm_agent_plain_ppo(const dm_agent_plain_sample *s, double parts[5], double *dlogits,
                          double *dvalue);

#endif
