/* SPDX-License-Identifier: MIT */
/* predictive_case.h - a small regression trained with predictions, and what must hold for it on every device. */
#ifndef DM_TESTS_TRAIN_PREDICTIVE_CASE_H
#define DM_TESTS_TRAIN_PREDICTIVE_CASE_H

#include "train/predict/predictive.h"

typedef struct bed {
    dm_device *device;
    dm_nn_model *model;
    dm_predictive *predictive;
    double rate;
    uint64_t planted;       /* progress at which the rate is 30 times too high; 0: never */
    bool spoiled;           /* it is now */
    uint64_t strange;       /* progress of a batch with targets far away; 0: none */
    uint64_t strange_count; /* so many of them; 0: one */
    bool lie;               /* the held-out loss falls with every proposal, by half or by `gain` */
    double gain;
    double told;
    uint64_t looks;
} bed;

/* The curve model that comes with the program; in a static array. */
const char *predictive_shipped(void);
/* Rules for a run of some hundred steps of noisy batches. */
dm_predict_rules bed_rules(void);
void bed_open_on(bed *t, const char *device, const dm_predict_rules *rules, double rate,
                 const char *forecaster);
/* On the CPU; at a rate of 0.003; without a forecaster of the program's. */
void bed_open_with(bed *t, const dm_predict_rules *rules, double rate, const char *forecaster);
void bed_open_at(bed *t, const dm_predict_rules *rules, double rate);
void bed_open(bed *t, const dm_predict_rules *rules);
void bed_close(bed *t);
dm_predict_turn bed_turn(bed *t, uint64_t steps);
void bed_run_to(bed *t, uint64_t steps);
/* Run to this step; the held-out loss of the average. */
double bed_final_loss(bed *t, uint64_t steps);

/* Everything that a step changes, on the host. */
enum { BED_PARTS = DM_MODEL_STATE_PARTS };
typedef struct host_state {
    size_t count;
    float *values; /* [BED_PARTS][count] */
    uint64_t steps, progress;
} host_state;
host_state bed_state(bed *t);
void host_state_free(host_state *state);
bool host_state_same(const host_state *a, const host_state *b);

/* So many proposals are checked and rejected: every bit is as before, also beside a run without any. */
void predictive_rejects(const char *device, uint64_t count);
/* Accepted ones move weights and average, leave moments and steps, and stand for steps. */
void predictive_accepts(const char *device);
/* Each one that is refused doubles the FULL steps until the next, up to the rule's limit. */
void predictive_refuses_rarer(const char *device);
/* One batch with a loss ten times that of the others costs one forward pass, and no rollback. */
void predictive_looks_again(const char *device);
/* A jump that the check let through is undone to the bit by its verdict. */
void predictive_undoes(const char *device);
/* The rate is 30 times too high from a random step on, until the monitor goes back before it: the run ends within 2%
 * of one that was not disturbed. */
void predictive_rolls_back(const char *device, uint64_t seeds);
/* A run that goes on from a checkpoint's parts makes the same bits. */
void predictive_resumes(const char *device);

#endif
