/* SPDX-License-Identifier: MIT */
/* monitor.h - does the run diverge? Each real step is judged by its loss, its gradient norm and how
 * well it was predicted.
 *
 *     what is looked at                            caution    warning    critical
 *     (loss - average) / deviation of the window     2.1        3          6
 *     norm / mean of the first 50 norms                         100        1000
 *     the same, below it, while the loss has not halved         0.01
 *     |loss - predicted| / |loss|                    0.2        0.5 (the loss is above it)
 *     share of turns of the loss in the window       0.5        0.8
 *     a loss or norm that is no number                                     always
 *     warnings in a row                                                    3
 *
 * A caution is only recorded. A warning doubles the next FULL and forbids predictions until it is
 * over. A critical state asks for a rollback. If all warnings in a row were about forecasts, the
 * forecast failed and not the run: only the jump that waits for its verdict is undone. A loss below
 * its forecast is a caution at most. The window holds 100 losses; deviations count from 20 losses
 * on, turns (changes of direction) from a full window on. Plain state without pointers. */
#ifndef DM_TRAIN_PREDICT_MONITOR_H
#define DM_TRAIN_PREDICT_MONITOR_H

#include "train/predict/rules.h"

#include <stdbool.h>

enum { DM_MONITOR_WINDOW = 100, DM_MONITOR_DEVIATION_FROM = 20 };

typedef enum dm_monitor_level {
    DM_MONITOR_FINE,
    DM_MONITOR_CAUTION,
    DM_MONITOR_WARNING,
    DM_MONITOR_CRITICAL,
    DM_MONITOR_LEVELS
} dm_monitor_level;

extern const char *const dm_monitor_level_names[DM_MONITOR_LEVELS];

typedef struct dm_monitor {
    double window[DM_MONITOR_WINDOW]; /* a ring of losses */
    uint64_t losses;                  /* so far */
    double loss_average, norm_average;
    double baseline;      /* the mean of the first norms */
    double baseline_loss; /* and of the losses beside them */
    uint64_t norms;
    uint64_t warnings; /* in a row */
    uint64_t own;      /* of these, warnings that no forecast had a part in */
    uint64_t counts[DM_MONITOR_LEVELS];
} dm_monitor;

typedef struct dm_monitor_sample {
    double loss, norm; /* norm: of all gradients; negative: there is none in this step */
    double predicted;  /* what was forecast for this step; NAN: nothing was */
} dm_monitor_sample;

typedef struct dm_monitor_verdict {
    dm_monitor_level level;
    const char *reason; /* a constant text, "" when all is fine */
    bool forecasts;     /* critical by warnings in a row, all of which were of forecasts */
} dm_monitor_verdict;

void dm_monitor_init(dm_monitor *monitor);
/* Judge a step, then take it into the averages; a critical one is not taken in. */
dm_monitor_verdict dm_monitor_step(dm_monitor *monitor, const dm_predict_rules *rules,
                                   const dm_monitor_sample *sample);
/* Take in a critical step that is known to be no divergence. Its loss and norm are finite. */
void dm_monitor_accept(dm_monitor *monitor, const dm_predict_rules *rules,
                       const dm_monitor_sample *sample);
/* After a rollback: warnings no longer count; the window and averages stay. */
void dm_monitor_calm(dm_monitor *monitor);

/* Would this loss alone raise no warning? Takes nothing in. */
bool dm_monitor_calms(const dm_monitor *monitor, const dm_predict_rules *rules, double loss);

double dm_monitor_deviation(const dm_monitor *monitor); /* of the window; 0 while it is short */
double dm_monitor_turns(const dm_monitor *monitor);     /* 0..1; 0 while the window is not full */

/* ---- What a critical state asks for ---- */

/* The factor on the learning rate: `monitor_rate` for each rollback, back to 1 in a straight line
 * over `monitor_recover` real steps. */
typedef struct dm_monitor_rate {
    double factor;  /* just after the last rollback */
    uint64_t since; /* real steps since then */
} dm_monitor_rate;

void dm_monitor_rate_init(dm_monitor_rate *rate);
void dm_monitor_rate_lower(dm_monitor_rate *rate, const dm_predict_rules *rules);
void dm_monitor_rate_step(dm_monitor_rate *rate);
double dm_monitor_rate_value(const dm_monitor_rate *rate, const dm_predict_rules *rules);

#endif
