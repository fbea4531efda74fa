/* SPDX-License-Identifier: MIT */
/* forecast.h - a run's final metric, from its beginning and from the complete curves of other runs.
 *
 * All metrics are logarithms. At check c of K a curve has three features: its value, its fall since
 * check c/2, its fall since the first check. What is still to come, final minus current value, is a
 * ridge regression on them over the nearest curves, weighted by distance (tricube). The deviation comes
 * from the errors of the same forecast for those nearest curves, each made without its own final value.
 * It is scaled so that 90% of all such errors fall within the 90% band, and widened for a run that is
 * far from every curve. dm_final_calibrate measures on runs of a new task whether the band holds there. */
#ifndef DM_TRAIN_SWEEP_FORECAST_H
#define DM_TRAIN_SWEEP_FORECAST_H

#include <dotmatrix/base.h>

#include <stdbool.h>
#include <stddef.h>

#define DM_FINAL_BAND 1.6448536269514722 /* deviations of a 90% band */

typedef struct dm_final_forecaster dm_final_forecaster;

dm_status dm_final_forecaster_create(size_t checks, dm_final_forecaster **out, dm_error *err);
void dm_final_forecaster_destroy(dm_final_forecaster *f);
/* A complete curve of `checks` logarithms; `own`: of the sweep that decisions are about. */
dm_status dm_final_forecaster_add(dm_final_forecaster *f, const double *logs, bool own,
                                  dm_error *err);
size_t dm_final_forecaster_count(const dm_final_forecaster *f);

/* The final value of a run whose first `check` values are `logs`. Needs 8 curves. */
dm_status dm_final_forecast(dm_final_forecaster *f, const double *logs, size_t check, double *mean,
                            double *deviation, dm_error *err);

/* How well forecasts for own curves held, each made without that curve, at every `every`th check of
 * the first 60%. Coverage alone does not show that the other curves are of another task: far from
 * them the bands are wide enough to hold anything. `apart` shows it. */
typedef struct dm_final_calibration {
    size_t runs, forecasts;
    double coverage;    /* share of final values within the 90% band */
    double far;         /* share of forecasts for which the curves are twice as far as usual */
    double width;       /* median deviation over the median change that is still to come */
    double apart;       /* how far own curves keep apart from the others: 0 not at all, 1 all */
    double error, last; /* root mean square of the error; of "the last value stays" */
} dm_final_calibration;
dm_status dm_final_calibrate(dm_final_forecaster *f, size_t every, dm_final_calibration *out,
                             dm_error *err);

#endif
