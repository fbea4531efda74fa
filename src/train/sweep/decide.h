/* SPDX-License-Identifier: MIT */
/* decide.h - what a sweep does next, as a function of the metrics that its runs have reached.
 *
 *     all        every run goes to its end
 *     halving    new runs first, to the first cut; then, from the lowest cut up, the best of those
 *                that wait there. While runs are still on their way to a cut, floor(n / eta) of
 *                the n that reached it may go on, so that no worker waits; ceil(n / eta) at the end
 *     forecast   `calibrate` runs go to their end; when the forecasts of their final metrics held
 *                (forecast.h), the other runs advance, the one with the best forecast first, and one that
 *                would lose to another by z deviations is stopped. Otherwise halving
 *
 * One process decides, several workers train. The same order of results gives the same decisions, so
 * with one worker a sweep is reproducible, and replay.h can try rules without training. */
#ifndef DM_TRAIN_SWEEP_DECIDE_H
#define DM_TRAIN_SWEEP_DECIDE_H

#include "train/sweep/curves.h"
#include "train/sweep/forecast.h"
#include "train/sweep/rules.h"

typedef enum dm_sweep_run_state {
    DM_SWEEP_WAITING, /* at its check, or not begun */
    DM_SWEEP_RUNNING, /* towards `until` */
    DM_SWEEP_STOPPED,
    DM_SWEEP_FAILED, /* its program failed, or the metric is no positive number */
    DM_SWEEP_DONE
} dm_sweep_run_state;

typedef struct dm_sweep_run {
    dm_sweep_run_state state;
    size_t reached, until; /* checks */
    double *values;        /* [checks]: the metric; smaller is better */
    double *logs;
    char reason[240]; /* why it was stopped or failed */
} dm_sweep_run;

typedef struct dm_sweep_action {
    enum { DM_SWEEP_RUN, DM_SWEEP_STOP, DM_SWEEP_SWITCH, DM_SWEEP_WAIT, DM_SWEEP_END } kind;
    size_t run, until;
    bool forecasts;  /* SWITCH: used from now on? */
    size_t complete; /* SWITCH: runs that were complete */
    char reason[240];
} dm_sweep_action;

typedef struct dm_decider {
    dm_sweep_rule rule;
    dm_sweep_rules rules;
    size_t count, checks;
    dm_sweep_run *runs;
    dm_final_forecaster *forecaster;
    /* forecast: are forecasts used now, and was that told? */
    bool forecasts, told;
    size_t calibrated; /* runs that were complete at the last calibration */
    dm_final_calibration calibration;
    size_t *cuts, cut_count; /* halving: checks of the cuts; the last is the end */
} dm_decider;

/* `history`: complete curves of earlier sweeps, may be NULL. */
dm_status dm_decider_create(dm_sweep_rule rule, const dm_sweep_rules *rules, size_t count,
                            size_t checks, const dm_sweep_curves *history, dm_decider **out,
                            dm_error *err);
void dm_decider_destroy(dm_decider *d);
/* The next action. RUN: the run is RUNNING from now on; STOP: it is STOPPED. SWITCH tells that
 * forecasts are used from now on, or no longer. END: nothing runs and nothing is to be done. */
dm_status dm_decider_next(dm_decider *d, dm_sweep_action *out, dm_error *err);
/* A run came to its `until` with these values of all its checks up to there. */
dm_status dm_decider_reached(dm_decider *d, size_t run, const double *values, dm_error *err);
void dm_decider_failed(dm_decider *d, size_t run, const char *reason);
/* An action that was decided earlier, from a log; a run that is to go on has to be WAITING. */
void dm_decider_redo(dm_decider *d, const dm_sweep_action *action);
/* No run is under way any more: they wait where they were. */
void dm_decider_release(dm_decider *d);
/* The run that is complete with the smallest final value; `count` when there is none. */
size_t dm_decider_winner(const dm_decider *d);

#endif
