/* SPDX-License-Identifier: MIT */
/* phase.h - what the predictive trainer does next.
 *
 *     WARMUP ──100 steps──► FULL ◄───────────────┐
 *                            │ │ not confident    │ too little confidence, or five in a row
 *                            └─┘                  │
 *                 confident: │                    │
 *                            ▼                    │
 *                         PREDICT ──always──► CORRECT ──confident, the proposal was accepted──► PREDICT
 *
 * A check costs some forward passes, so refused proposals make the next ones rarer: a FULL follows each, twice as long
 * for each refusal in a row (`full_doubles` times at most).
 *
 * A decision fixes a phase and its number of steps; the next decision is made when they are used up.
 * Lengths and conditions are rows of rules.def, whose defaults the drawing shows. The state is a few
 * numbers without pointers: a checkpoint holds its bytes. */
#ifndef DM_TRAIN_PREDICT_PHASE_H
#define DM_TRAIN_PREDICT_PHASE_H

#include "train/predict/rules.h"

/* As in dm_dynamics_sample.phase. */
typedef enum dm_predict_phase {
    DM_PHASE_WARMUP,
    DM_PHASE_FULL,
    DM_PHASE_PREDICT,
    DM_PHASE_CORRECT,
    DM_PHASES
} dm_predict_phase;

extern const char *const dm_predict_phase_names[DM_PHASES];

typedef struct dm_predict_decision {
    dm_predict_phase phase;
    uint64_t steps;
    const char *reason; /* a constant text, for metrics.jsonl */
} dm_predict_decision;

typedef struct dm_predict_phases {
    uint64_t phase; /* dm_predict_phase */
    uint64_t left;  /* steps of it that are still to be done */
    uint64_t length;
    uint64_t in_row;           /* PREDICT phases since the last FULL */
    uint64_t decisions;        /* made so far; the first one, WARMUP, counts */
    uint64_t refused;          /* proposals in a row that were refused */
    uint64_t refused_now;      /* 1: one was since the last FULL */
    uint64_t first_full;       /* 1: the decision after the warm-up was made */
    uint64_t steps[DM_PHASES]; /* done in each phase */
} dm_predict_phases;

/* What the decision may look at. */
typedef struct dm_predict_view {
    double confidence;
    bool warned;     /* the monitor forbids predictions and asks for a FULL twice as long */
    uint64_t length; /* the bandit's length of a prediction; 0: the rule's own */
} dm_predict_view;

void dm_predict_phases_init(dm_predict_phases *phases);
/* One step of the phase was done. */
void dm_predict_phases_step(dm_predict_phases *phases);
/* The next phase and its length, once `left` is 0. */
dm_predict_decision dm_predict_decide(dm_predict_phases *phases, const dm_predict_rules *rules,
                                      const dm_predict_view *view);
/* End the current phase now: the monitor found something, or a prediction was refused. */
void dm_predict_phases_cut(dm_predict_phases *phases);
/* Whether the proposal of this PREDICT was accepted. */
void dm_predict_phases_answer(dm_predict_phases *phases, bool accepted);
/* The rule's length of a prediction after `in_row` others. */
uint64_t dm_predict_length(const dm_predict_rules *rules, double confidence, uint64_t in_row);

#endif
