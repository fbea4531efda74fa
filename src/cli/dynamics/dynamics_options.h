/* SPDX-License-Identifier: MIT */
/* dynamics_options.h - the options of `dotmatrix dynamics`, and its actions (dynamics_*.c). */
#ifndef DM_CLI_DYNAMICS_OPTIONS_H
#define DM_CLI_DYNAMICS_OPTIONS_H

#include "base/json.h"
#include "cli/command.h"

#include <dotmatrix/dynamics.h>

enum { DM_DYNAMICS_LEARN_AUTO, DM_DYNAMICS_LEARN_ON, DM_DYNAMICS_LEARN_OFF };

typedef struct dm_dynamics_options {
    const char *device, *model, *save, *losses, *only, *out, *plot;
    int64_t members, hidden, stochastic, seed, steps, passes, synthetic, updates;
    double rate;
    int kind, learn;
    bool json, quick;
    dm_strings families, hold_out;
    dm_strings given;
} dm_dynamics_options;

/* The ensemble over the encoder's features. */
dm_status dm_dynamics_run_rollout(const dm_dynamics_options *options, dm_error *err);
/* A curve model's forecast of the run in a file. */
dm_status dm_dynamics_run_forecast(const dm_dynamics_options *options, const char *path,
                                   dm_error *err);
/* From files and synthetic families. */
dm_status dm_dynamics_run_learn(const dm_dynamics_options *options, const char *const *paths,
                                size_t count, dm_error *err);
dm_status dm_dynamics_run_evaluate(const dm_dynamics_options *options, const char *const *paths,
                                   size_t count, dm_error *err);

void dm_dynamics_write_array(dm_json *json, const char *key, const float *values, size_t count);
/* Finish the text of a JSON answer, print and release it. */
dm_status dm_dynamics_print_json(dm_json *json, dm_buffer *text, dm_error *err);

/* --model, or the model that comes with the program; DM_EUNAVAILABLE where it is missing. */
dm_status dm_dynamics_curve_model_path(const dm_dynamics_options *options, char *out,
                                       dm_error *err);
/* Loads that; DM_EINVAL with the file's name when it is another kind of model. */
dm_status dm_dynamics_load_curve_model(const dm_dynamics_options *options, dm_dynamics **out,
                                       dm_error *err);

#endif
