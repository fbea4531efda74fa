/* SPDX-License-Identifier: MIT */
/* forecast.h - curve models: an ensemble, and rules that turn its outputs into a forecast with a band.
 *
 * The ensemble reads 12 origins of a view (view.h) and rolls out over 10 knots. Its output at a knot
 * is the distance of the log loss from the combination of the baselines, in the run's own units:
 *
 *     log loss(h) = combination(h) + shrink(h) * unit * mean over members of log(output) / gain
 *
 * The band is scale(h) * [low(h), high(h)] around it; the scale is a product of powers of the run's
 * noise, the track record, the spread of the baselines and that of the members, fitted on curves;
 * low and high are the 5% and 95% quantiles of what came true there. */
#ifndef DM_DYNAMICS_CURVE_FORECAST_H
#define DM_DYNAMICS_CURVE_FORECAST_H

#include "dynamics/curve/view.h"
#include "dynamics/internal.h"

enum { DM_BAND_TERMS = 6 };
#define DM_BAND_MAX 1000.0f /* quantiles, in scales */

/* What a curve model's file holds besides the ensemble, as floats. */
typedef struct dm_curve_rules {
    dm_view_rules view;
    float shrink[DM_VIEW_KNOTS];
    float band[DM_VIEW_KNOTS][DM_BAND_TERMS]; /* of the logarithm of the scale */
    float low[DM_VIEW_KNOTS], high[DM_VIEW_KNOTS];
} dm_curve_rules;

/* The rules of a curve model; DM_EINVAL for another model. */
dm_status dm_curve_rules_get(const dm_dynamics *model, dm_curve_rules *out, dm_error *err);
/* Makes the model a curve model; its input must be DM_VIEW_FEATURES. */
dm_status dm_curve_rules_set(dm_dynamics *model, const dm_curve_rules *rules, dm_error *err);

/* The members' outputs units[count][E][DM_VIEW_KNOTS] for sequences[count][DM_VIEW_PAST][FEATURES]. */
dm_status dm_curve_units(const dm_dynamics *model, size_t count, const float *sequences,
                         float *units, dm_error *err);

/* A point forecast in log loss at the knots, and the scale of its band. members[E][KNOTS]. */
typedef struct dm_knots {
    double correction[DM_VIEW_KNOTS]; /* to the combination */
    double scale[DM_VIEW_KNOTS];
} dm_knots;
void dm_curve_knots(const dm_view *view, const dm_curve_rules *rules, size_t members,
                    const float *units, dm_knots *out);
/* The terms of the logarithm of the scale. */
void dm_curve_band_terms(const dm_view *view, size_t members, const float *units, size_t knot,
                         double out[DM_BAND_TERMS]);
/* Log loss and band any number of samples ahead. */
typedef struct dm_curve_band {
    double mean, low, high;
} dm_curve_band;
dm_curve_band dm_curve_at(const dm_view *view, const dm_curve_rules *rules, const dm_knots *knots,
                          double ahead);

#endif
