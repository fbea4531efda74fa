/* SPDX-License-Identifier: MIT */
/* replay.c - see replay.h. */
#include "train/sweep/replay.h"

#include <math.h>

const dm_replay_trial dm_replay_trials[DM_REPLAY_TRIALS] = {
    {"all to the end", DM_SWEEP_ALL, 0.2, 2},
    {"halving, first cut at 20%", DM_SWEEP_HALVING, 0.2, 2},
    {"halving, first cut at 10%", DM_SWEEP_HALVING, 0.1, 2},
    {"halving, first cut at 3%", DM_SWEEP_HALVING, 0.03, 2},
    {"forecast, z = 2", DM_SWEEP_FORECAST, 0.2, 2},
    {"forecast, z = 1", DM_SWEEP_FORECAST, 0.2, 1},
};

/* The smallest final value of all. */
static double best_of(const dm_sweep_curves *pool)
{
    double best = INFINITY;
    for (size_t i = 0; i < pool->count; i++) {
        const dm_sweep_curve *c = &pool->items[i];
        if (c->complete && c->values[c->count - 1] > 0 && c->values[c->count - 1] < best)
            best = c->values[c->count - 1];
    }
    return best;
}

static dm_status check(const dm_sweep_curves *pool, dm_error *err)
{
    for (size_t i = 1; i < pool->count; i++)
        if (pool->items[i].checks != pool->items[0].checks)
            return dm_fail(err, DM_EFORMAT, "a pool's curves have as many checks each");
    return isfinite(best_of(pool)) ? DM_OK
                                   : dm_fail(err, DM_EFORMAT, "a pool without a complete run");
}

static dm_status play(dm_decider *d, const dm_sweep_curves *pool, dm_replay_result *out,
                      dm_error *err)
{
    dm_sweep_action action;
    dm_status status = dm_decider_next(d, &action, err);
    while (status == DM_OK && action.kind != DM_SWEEP_END) {
        if (action.kind == DM_SWEEP_RUN) {
            const dm_sweep_curve *c = &pool->items[action.run];
            out->cost += (double)(action.until - d->runs[action.run].reached) / (double)d->checks;
            if (c->count < action.until)
                dm_decider_failed(d, action.run, "the recorded run ends here");
            else
                status = dm_decider_reached(d, action.run, c->values, err);
        }
        if (status == DM_OK)
            status = dm_decider_next(d, &action, err);
    }
    return status;
}

dm_status dm_sweep_replay(const dm_sweep_curves *pool, dm_sweep_rule rule,
                          const dm_sweep_rules *rules, const dm_sweep_curves *history,
                          dm_replay_result *out, dm_error *err)
{
    dm_decider *d = NULL;
    *out = (dm_replay_result){.regret = INFINITY};
    dm_status status = check(pool, err);
    if (status == DM_OK)
        status =
            dm_decider_create(rule, rules, pool->count, pool->items[0].checks, history, &d, err);
    if (status == DM_OK)
        status = play(d, pool, out, err);
    if (status == DM_OK) {
        size_t winner = dm_decider_winner(d);
        if (winner < d->count)
            out->regret = d->runs[winner].values[d->checks - 1] / best_of(pool) - 1;
        out->share = out->cost / (double)pool->count;
        out->forecasts = d->forecasts;
        out->calibration = d->calibration;
    }
    dm_decider_destroy(d);
    return status;
}
