/* SPDX-License-Identifier: MIT */
/* predictive.h - predictive training: some turns of a run are real steps, some replace steps by a
 * predicted change of the weights, some check such a change.
 *
 *     decide (phase.h) ─► WARMUP, FULL: a turn is a real step: backward pass, optimiser
 *                      ─► PREDICT: a turn is a proposal (proposal.h), checked on held-out samples,
 *                         average against average; accepted, it stands for `length` steps
 *                      ─► CORRECT: a turn is a forward pass, compared with the forecast
 *
 * After each real step the monitor judges it (monitor.h) and the ensemble learns from it
 * (forecaster.h). An accepted proposal ("jump") gets a verdict after `verdict_steps` more real steps:
 * when their mean loss is above the forecast made without the jump, weights, moments, averages and
 * the position in the data return to the state before it, and the bandit's arm gets a negative reward.
 *
 * A single critical loss is no divergence when the next batch's loss is as before, which takes one
 * forward pass to find out. The monitor may be wrong, and must not make a predictive run end worse
 * than a plain one. After `monitor_tries` rollbacks without progress the run goes back once more, to a
 * state without an open jump, and continues as a plain run: no predictions, no rollbacks, no
 * ensemble. Then only a loss that is no number ends it, as it ends a plain run.
 *
 * A turn depends on this state, the model and the data alone, so a checkpoint of the three continues
 * with the same bits. `progress` counts steps made and steps that proposals stand for; the run ends
 * when it reaches the configured steps. run/internal.h says which file does what. */
#ifndef DM_TRAIN_PREDICT_PREDICTIVE_H
#define DM_TRAIN_PREDICT_PREDICTIVE_H

#include "base/json.h"
#include "train/predict/confidence.h"
#include "train/predict/corrector.h"
#include "train/predict/forecaster.h"
#include "train/predict/model_state.h"
#include "train/predict/monitor.h"
#include "train/predict/pace.h"
#include "train/predict/phase.h"
#include "train/predict/proposal.h"
#include "train/trace.h"

/* Callbacks of the run that is trained. All are called from one thread. */
typedef struct dm_predict_run {
    void *user;
    dm_device *device;  /* the model's */
    dm_nn_model *model; /* with averages: optimiser.average > 0 */
    /* A real step at `progress`, with the rate times `factor`. A loss or norm that is no number is
     * no error: it is returned. */
    dm_status (*step)(void *user, uint64_t progress, double factor, double *loss, double *norm,
                      double *rate, dm_error *err);
    /* The loss of the batch at `progress` without learning; NAN is no error. */
    dm_status (*peek)(void *user, uint64_t progress, double *loss, dm_error *err);
    /* The mean loss of the held-out samples; NAN is no error. */
    dm_status (*held_out)(void *user, double *loss, dm_error *err);
    double beta1, beta2; /* for the features */
    double held_batches; /* forward passes of a batch that a check costs */
    dm_trace *trace;     /* may be NULL */
} dm_predict_run;

typedef struct dm_predictive dm_predictive;

/* What was done so far; plain numbers. */
typedef struct dm_predict_counts {
    uint64_t backward; /* passes of a batch, with their forward pass */
    double forward;    /* further forward passes of a batch: checks and CORRECT */
    uint64_t proposed, accepted, rejected, undone, rollbacks;
    uint64_t skipped;           /* steps that accepted proposals stood for, less those undone */
    uint64_t errors;            /* forecasts of one step that were compared */
    double error_sum;           /* of |actual - forecast| */
    uint64_t predicted_lengths; /* sum over proposals */
    uint64_t plain_from;        /* 1 + progress from which the run is a plain one; 0: it is not */
} dm_predict_counts;

typedef struct dm_predict_turn {
    dm_predict_phase phase;
    double loss, norm, rate; /* NAN where there is none */
    uint64_t progress;       /* after it */
    dm_monitor_level level;
    bool decided, proposed, judged, rolled_back; /* what happened; for `log` */
} dm_predict_turn;

dm_status dm_predictive_create(const dm_predict_rules *rules, const dm_predict_run *run,
                               const char *forecaster, uint64_t seed, dm_predictive **out,
                               dm_error *err);
void dm_predictive_destroy(dm_predictive *p);
/* One turn. `steps`: where the run ends; no proposal stands for steps beyond it. */
dm_status dm_predictive_turn(dm_predictive *p, uint64_t steps, dm_predict_turn *turn,
                             dm_error *err);
uint64_t dm_predictive_progress(const dm_predictive *p);
const dm_predict_counts *dm_predictive_counts(const dm_predictive *p);
const dm_predict_phases *dm_predictive_phases(const dm_predictive *p);
/* What the last turn decided and why, as members of the object that is open: "decision",
 * "proposal", "verdict", "monitor". Nothing where nothing happened. */
void dm_predictive_log(const dm_predictive *p, dm_json *json);

/* All of it for checkpoints, as named byte arrays in its own memory: `data` is read from for saving
 * and written to for loading, until the next turn. dm_predictive_loaded checks what was loaded and takes it over. */
typedef struct dm_predict_part {
    const char *name;
    void *data;
    size_t size;
} dm_predict_part;
enum { DM_PREDICT_PARTS_MAX = 16 };
dm_status dm_predictive_parts(dm_predictive *p, dm_predict_part parts[DM_PREDICT_PARTS_MAX],
                              size_t *count, dm_error *err);
dm_status dm_predictive_loaded(dm_predictive *p, dm_error *err);
/* The model's own count of steps when the parts were made. */
uint64_t dm_predictive_model_steps(const dm_predictive *p);

#endif
