/* SPDX-License-Identifier: MIT */
/* baseline.h - forecasts of a curve without learning. A learnt forecast corrects their combination and
 * must beat it. All in the logarithm of the loss. */
#ifndef DM_DYNAMICS_BASELINE_H
#define DM_DYNAMICS_BASELINE_H

#include <stddef.h>

typedef enum dm_baseline {
    DM_BASELINE_LAST,     /* the last value */
    DM_BASELINE_MEAN,     /* mean of the last 16 */
    DM_BASELINE_LINEAR,   /* straight line through the last 50 */
    DM_BASELINE_POWER,    /* a (t + t0)^-b + c, fitted to the last 512 */
    DM_BASELINE_REPORTED, /* those above are shown in tables; the others serve the combination */
    DM_BASELINE_DRIFT = DM_BASELINE_REPORTED, /* mean of the last 16, moved as the power law does */
    DM_BASELINE_DAMPED, /* straight line through the last 50 whose slope fades */
    DM_BASELINE_HALF,   /* power law of the run's later half */
    DM_BASELINE_COUNT
} dm_baseline;

/* a (t + t0)^-b + c with a, c >= 0; t counts samples of the curve from 1. */
typedef struct dm_power_law {
    double a, b, c, t0;
} dm_power_law;

/* Least squares of relative errors over bins of y[first .. n), robust against outliers. */
dm_power_law dm_power_law_fit(const double *y, size_t first, size_t n);
double dm_power_law_at(const dm_power_law *law, double t);

/* Straight line through y[first .. n): its value at n - 1, slope, and deviation of the residuals. */
typedef struct dm_line {
    double end, slope, deviation;
} dm_line;
dm_line dm_line_fit(const double *y, size_t first, size_t n);

/* What the baselines know after y[0 .. n), n >= 1, n log losses. */
typedef struct dm_baselines {
    size_t n;
    double last, mean;
    dm_line line;
    dm_power_law power, half;
    double power_mean, half_mean; /* of their logarithm over the last 16 */
} dm_baselines;

void dm_baselines_fit(dm_baselines *out, const double *y, size_t n);
/* Log loss `ahead` samples after the last. */
double dm_baseline_at(const dm_baselines *b, dm_baseline which, double ahead);

#endif
