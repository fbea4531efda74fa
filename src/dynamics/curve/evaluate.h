/* SPDX-License-Identifier: MIT */
/* evaluate.h - forecasts beside what came true: errors of every method and coverage of the band.
 *
 * A curve of N samples is forecast from up to 8 early starts, evenly in the first third (32 samples
 * at least), and up to 8 late ones, evenly in the second half; every start leaves 50 samples to come
 * true. The error of a method on a curve is the root mean square over the starts of the difference
 * between forecast and recorded log loss, that single step's. */
#ifndef DM_DYNAMICS_CURVE_EVALUATE_H
#define DM_DYNAMICS_CURVE_EVALUATE_H

#include "dynamics/curve/forecast.h"

enum {
    DM_EVALUATE_OURS = DM_DYNAMICS_CURVE_BASELINES, /* methods: the baselines, then these */
    DM_EVALUATE_COMBINATION,
    DM_EVALUATE_METHODS,
    DM_EVALUATE_CASES = 4, /* early 25, early 50, late 25, late 50 */
    DM_EVALUATE_LEAST = 90 /* losses of a curve */
};

extern const char *const dm_evaluate_methods[DM_EVALUATE_METHODS];
extern const char *const dm_evaluate_cases[DM_EVALUATE_CASES];

typedef struct dm_evaluation {
    char name[96];
    uint32_t starts[DM_EVALUATE_CASES];
    double error[DM_EVALUATE_METHODS][DM_EVALUATE_CASES];
    double all[DM_EVALUATE_METHODS]; /* over the four cases: root of the mean square */
    uint32_t inside, outside;        /* of the band, over the steps 1 to 50 of every start */
} dm_evaluation;

dm_status dm_curve_evaluate(const dm_dynamics *model, const dm_curve *curve, dm_evaluation *out,
                            dm_error *err);

/* Over curves: the mean of their errors, and on how many ours is below each method. */
typedef struct dm_evaluation_total {
    size_t curves;
    double error[DM_EVALUATE_METHODS][DM_EVALUATE_CASES];
    double all[DM_EVALUATE_METHODS];
    size_t below[DM_EVALUATE_METHODS];
    double coverage;
} dm_evaluation_total;

void dm_evaluation_sum(const dm_evaluation *evaluations, size_t count, dm_evaluation_total *out);

#endif
