/* SPDX-License-Identifier: MIT */
/* learn.h - teaches an ensemble to forecast curves, and calibrates its band. */
#ifndef DM_DYNAMICS_CURVE_LEARN_H
#define DM_DYNAMICS_CURVE_LEARN_H

#include "dynamics/curve/forecast.h"

#define DM_CURVE_LEAST 70 /* losses of a curve that is learnt from: some to see, 52 to come true */

typedef struct dm_curve_learning {
    uint32_t members, hidden, stochastic;
    uint64_t seed;
    size_t recorded;  /* the first so many curves are of real runs and count a third of all, if
                         there are others */
    uint64_t updates; /* of each member, one curve each */
    float rate;
    const char *device; /* "cpu", "cpu:4": members side by side; "cuda:0": batches on the device */
    bool batches;       /* learn as on CUDA whatever the device is */
} dm_curve_learning;

/* What was measured on the curves that only served calibration. */
typedef struct dm_curve_learnt {
    size_t curves, examples, calibration_curves, calibration_examples;
    double error, combination_error; /* mean over curves of the RMS log error at 25 and 50 */
    double coverage;
    double seconds;
} dm_curve_learnt;

/* Every fifth curve serves calibration alone (all serve both where there are fewer than ten). The
 * same curves, configuration and kind of device give the same bits, whatever the threads. Stops
 * early, with DM_OK and *out NULL, when dm_stop_requested. */
dm_status dm_curve_learn(const dm_curve *curves, size_t count, const dm_curve_learning *how,
                         dm_dynamics **out, dm_curve_learnt *learnt, dm_error *err);

/* Go on learning from the past of one run: `passes` over its origins whose future is known. */
dm_status dm_curve_follow(dm_dynamics *model, const dm_curve *curve, uint32_t passes, float rate,
                          dm_error *err);

#endif
