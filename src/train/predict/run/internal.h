/* SPDX-License-Identifier: MIT */
/* internal.h - the state of a predictive run (predictive.h), and which file does what with it.
 *
 *     predictive.c   creating; a turn is one of those below
 *     decide.c       which phase comes next, with which arm: PREDICT, when the confidence is high enough
 *     step.c         WARMUP and FULL: a real step, what the monitor says of it, the copies that are kept
 *     propose.c      PREDICT: a proposal, its check on held-out samples, and what it is worth
 *     correct.c      CORRECT: a forward pass, compared with the forecast
 *     observe.c      the ensemble, the residuals and the corrector learn from a loss
 *     verdict.c      was an accepted proposal right?
 *     back.c         going back to a state: rollbacks, and on as a plain run
 *     log.c          what the last turn did, for metrics.jsonl
 *     parts.c        checkpoints
 */
#ifndef DM_TRAIN_PREDICT_INTERNAL_H
#define DM_TRAIN_PREDICT_INTERNAL_H

#include "train/predict/predictive.h"

/* A proposal from the moment it is made to its verdict. */
typedef struct dm_predict_pending {
    uint64_t arm, length; /* steps that it stands for */
    uint64_t made;        /* 1: accepted, its verdict is open */
    uint64_t seen;        /* real steps since then */
    double sum;           /* of their losses */
    double cost;          /* in steps: checks and CORRECT, a forward pass is a third of a step */
    double inputs[DM_BANDIT_INPUTS];
    dm_forecast forecast; /* without the jump, from before it on */
} dm_predict_pending;

/* Plain numbers: the first part of a checkpoint. */
typedef struct dm_predictive_core {
    uint64_t progress, model_steps;
    dm_predict_phases phases;
    dm_predict_confidence confidence;
    dm_monitor monitor;
    dm_monitor_rate rate;
    dm_corrector corrector;
    dm_bandit bandit;
    dm_predict_pending proposal;
    dm_pace pace;
    dm_predict_counts counts;
    uint64_t warned;          /* the monitor warned since the last decision */
    uint64_t real_steps;      /* made, whatever was undone later */
    uint64_t correct_at;      /* which step of CORRECT is next */
    uint64_t furthest, tries; /* progress of the last rollbacks, and how many were there */
    uint64_t blamed;          /* progress of the last rollback, and 1 */
    uint64_t stored, taken;   /* of the residual store and the snapshots */
    uint64_t states[3][3];    /* steps, progress, taken of the three model states */
    uint64_t newest;          /* which of the first two states is the newer */
    float features[DM_DYNAMICS_ENCODER_FEATURES];
    float moments[4];      /* mean and deviation of the first moments, then of the second */
    double confidence_now; /* at the last decision */
    uint64_t has_next;
    double next, next_raw; /* the forecast of the next real step: corrected, and as it came */
    dm_forecast outlook;   /* at the last decision */
} dm_predictive_core;

enum { DM_PREDICT_STATE_BEFORE = 2 }; /* the state before a jump; 0 and 1 are for rollbacks */

/* Slots of the store, on the model's device: the states, then those of a trial, then the snapshots. Checkpoints leave
 * out the trial's slots, since no trial lasts longer than its turn. */
enum {
    DM_PREDICT_SLOT_STATES = 0,
    DM_PREDICT_SLOT_AVERAGE =
        DM_PREDICT_SLOT_STATES + 3 * DM_MODEL_STATE_PARTS, /* as it was before the trial */
    DM_PREDICT_SLOT_TRIAL_AVERAGE,
    DM_PREDICT_SLOT_TRIAL_WEIGHTS,
    DM_PREDICT_SLOT_SNAPSHOTS
};

struct dm_predictive {
    dm_predict_rules rules;
    dm_predict_run run;
    uint64_t seed;
    dm_predictive_core c;
    dm_residual_store residuals;
    dm_snapshots snapshots;
    dm_model_state states[3];
    dm_forecaster *forecaster;
    void *forecaster_bytes; /* of the last dm_predictive_parts */
    dm_nn_store *store;
    float *told_states,
        *told_snapshots; /* for checkpoints, between dm_predictive_parts and the next turn */
    /* Of the last turn, for the log. */
    dm_predict_decision decision;
    dm_monitor_verdict verdict;
    dm_predict_turn turn;
    struct {
        dm_proposal_kind kind;
        uint64_t length;
        bool drawn, made;
        double before, after; /* held-out losses of the averages */
        const char *reason;
    } proposed;
    struct {
        bool undone;
        double loss, forecast, reward;
    } judged;
};

/* Turns. */
dm_status dm_predictive_decide(dm_predictive *p, uint64_t steps, dm_error *err);
dm_status dm_predictive_real_step(dm_predictive *p, dm_error *err);
dm_status dm_predictive_propose(dm_predictive *p, dm_error *err);
dm_status dm_predictive_correct(dm_predictive *p, dm_error *err);
/* After a real step. _remember: record a loss and its forecast. _compare: the same with the forecast made after the
 * step before. _observe: the ensemble learns, and forecasts the next loss. */
void dm_predictive_remember(dm_predictive *p, double actual, double predicted, uint32_t horizon,
                            double confidence);
void dm_predictive_compare(dm_predictive *p, double loss);
dm_status dm_predictive_observe(dm_predictive *p, double loss, double norm, double rate,
                                dm_error *err);
/* Two states for rollbacks, the older of which is replaced; none is taken while the monitor warns. */
dm_status dm_predictive_keep_state(dm_predictive *p, dm_error *err);
/* For an accepted proposal: record a loss since then, with the verdict after the last one; give the verdict now, when
 * the losses are far above the forecast several times in a row. */
dm_status dm_predictive_judge(dm_predictive *p, double loss, dm_error *err);
dm_status dm_predictive_judge_early(dm_predictive *p, double loss, dm_error *err);
/* The run's position and memory, not the model, to where this state was taken. */
void dm_predictive_go_back(dm_predictive *p, const dm_model_state *state);
/* The model and the run to the older state, at a lower rate; once the monitor has had its tries, on as a plain run. */
dm_status dm_predictive_roll_back(dm_predictive *p, dm_error *err);
/* The copies that were made for a checkpoint. */
void dm_predictive_forget_told(dm_predictive *p);

#endif
