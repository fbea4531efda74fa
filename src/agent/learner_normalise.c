/* SPDX-License-Identifier: MIT */
/* learner_normalise.c - running means and deviations (kernels/agent/running.py), of a whole run.
 *
 *     rewards         divided by the deviation of their discounted sums, this rollout's included
 *     observations    minus their mean, divided by their deviation, both from before the rollout: the policy must learn
 *                     from the numbers it acted on. The rollout is added to the statistics after the update. */
#include "agent/learner_internal.h"

dm_status dm_agent_normalise_rewards(dm_agent_learner *l, dm_error *err)
{
    if (!l->config.normalise_rewards)
        return DM_OK;
    dm_agent_text *k = &l->discounted;
    dm_agent_text_matrix(k, "rewards", l->scaled, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "flags", l->flags, NULL, l->T, l->N);
    dm_agent_text_number(k, "gamma", l->config.gamma);
    dm_agent_text_vector(k, "running", l->running, NULL, l->N);
    dm_agent_text_matrix(k, "totals", l->totals, NULL, l->T, l->N);
    dm_status status = dm_agent_text_launch(k, DM_KERNEL_FORWARD, l->N, 0, err);
    if (status == DM_OK)
        status = dm_agent_add_moments(l, l->totals, 1, l->gains, err);
    k = &l->divide;
    dm_agent_text_matrix(k, "rewards", l->scaled, NULL, l->T, l->N);
    dm_agent_text_matrix(k, "state", l->gains, NULL, 1, 3);
    dm_agent_text_number(k, "limit", l->config.normalise_limit);
    return status == DM_OK ? dm_agent_text_launch(k, DM_KERNEL_FORWARD, l->T, l->N, err) : status;
}

dm_status dm_agent_count_observations(dm_agent_learner *l, dm_error *err)
{
    if (!l->config.normalise_obs)
        return DM_OK;
    return dm_agent_add_moments(l, (float *)(void *)l->observations, l->policy.numbers, l->seen,
                                err);
}

dm_status dm_agent_see_normalised(dm_agent_learner *l, dm_agent_worker *w,
                                  const uint8_t *observations, const int32_t *order, uint64_t first,
                                  uint64_t rows, dm_error *err)
{
    uint64_t S = l->N * l->T, C = l->policy.numbers;
    dm_agent_text *k = &w->see;
    dm_agent_text_matrix(k, "x", (void *)(uintptr_t)observations, NULL, order ? S : first + rows,
                         C);
    dm_agent_text_vector(k, "order", order ? (void *)(uintptr_t)order : l->order, NULL, S);
    dm_agent_text_number(k, "first", (double)first);
    dm_agent_text_number(k, "in_order", order != NULL);
    dm_agent_text_matrix(k, "state", l->seen, NULL, C, 3);
    dm_agent_text_number(k, "limit", l->config.normalise_limit);
    dm_agent_text_matrix(k, "y", w->input, NULL, rows, C);
    return dm_agent_text_launch(k, DM_KERNEL_FORWARD, rows, C, err);
}
