/* SPDX-License-Identifier: MIT */
/* replay.h - what a rule would have cost and found on runs that were all trained to their end. */
#ifndef DM_TRAIN_SWEEP_REPLAY_H
#define DM_TRAIN_SWEEP_REPLAY_H

#include "train/sweep/decide.h"

typedef struct dm_replay_result {
    double cost;    /* in full runs */
    double share;   /* of the cost of all */
    double regret;  /* final metric of the winner over the best of all, less 1 */
    bool forecasts; /* were used to the end */
    dm_final_calibration calibration;
} dm_replay_result;

/* The rules that a recorded pool is asked about. */
typedef struct dm_replay_trial {
    const char *name;
    dm_sweep_rule rule;
    double first, z; /* of the rules */
} dm_replay_trial;
enum { DM_REPLAY_TRIALS = 6, DM_REPLAY_FORECAST = 4 /* the default's */ };
extern const dm_replay_trial dm_replay_trials[DM_REPLAY_TRIALS];

/* One worker. Runs of the pool that are not complete count as failed where their values end. */
dm_status dm_sweep_replay(const dm_sweep_curves *pool, dm_sweep_rule rule,
                          const dm_sweep_rules *rules, const dm_sweep_curves *history,
                          dm_replay_result *out, dm_error *err);

#endif
