/* SPDX-License-Identifier: MIT */
/* dynamics_plot.h - rollouts and benchmarks of the dynamics kernels as plots, by gnuplot. */
#ifndef DM_CLI_DYNAMICS_PLOT_H
#define DM_CLI_DYNAMICS_PLOT_H

#include "base/json.h"

#include <dotmatrix/dynamics.h>

/* DM_EINVAL unless a plot's name ends in .png or .svg. */
dm_status dm_dyn_plot_check_name(const char *path, dm_error *err);
/* The first rollout: every member, the mean, and the mean +- total; after `seen` losses of the run
 * (may be NULL). The form follows the name: .png or .svg. */
dm_status dm_dyn_plot_rollout(const dm_dynamics_forecast *rollout, const float *seen,
                              size_t seen_count, const char *path, dm_error *err);
/* A curve model's forecast: the end of the run, twice as long as the forecast, then mean, band and
 * the plain forecasts; the range of losses is that of the run's end, the forecast and its band. */
dm_status dm_dyn_plot_forecast(const dm_dynamics_curve_forecast *forecast,
                               const dm_dynamics_sample *seen, size_t seen_count, const char *title,
                               const char *path, dm_error *err);
/* The figures of an artifact of the benchmark, as dynamics_<what>.png and .svg in a folder; what
 * the artifact does not have is left out. */
dm_status dm_dyn_plot_bench(const json_t *artifact, const char *folder, dm_error *err);

#endif
