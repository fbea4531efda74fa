/* SPDX-License-Identifier: MIT */
/* spec.h - a sweep's file: what is trained, with which configurations, and how long.
 *
 *     {"task": "cnn", "set": {"channels": 8}, "data": ["mnist"],
 *      "search": "sobol", "count": 64, "seed": 1,
 *      "parameters": {"rate": {"low": 1e-4, "high": 1e-1, "log": true}, "batch": [16, 32, 64]},
 *      "metric": "val_loss", "steps": 400, "rule": "halving", "rules": {"eta": 3}}
 *
 * Instead of a task any program: "command": ["python3", "train.py", "--rate", "{rate}", "--until",
 * "{until}", "--folder", "{folder}"]. It prints lines of JSON with "step" and the metric, goes on
 * from what it left in its folder, and ends once step {until} is done. */
#ifndef DM_TRAIN_SWEEP_SPEC_H
#define DM_TRAIN_SWEEP_SPEC_H

#include "train/config.h"
#include "train/sweep/rules.h"
#include "train/sweep/space.h"

typedef struct dm_sweep_spec {
    json_t *object;         /* the file; the members below borrow from it */
    const char *task;       /* NULL: a command */
    const json_t *set;      /* fields of all runs; may be NULL */
    const json_t *command;  /* an array of words */
    const json_t *data;     /* an array of paths; may be NULL */
    const char *metric;     /* "val_loss" */
    uint64_t steps, stride; /* of a run; between two checks */
    size_t checks;
    dm_sweep_rule rule;
    dm_sweep_rules rules;
    dm_sweep_space space;
} dm_sweep_spec;

/* Takes the object over, also on failure. Every configuration of a task is checked. */
dm_status dm_sweep_spec_read(json_t *object, const char *name, dm_sweep_spec *out, dm_error *err);
void dm_sweep_spec_deinit(dm_sweep_spec *spec);
/* The fields of one run as a JSON file for `train --config`. */
dm_status dm_sweep_spec_config(const dm_sweep_spec *spec, const json_t *parameters, json_t **out,
                               dm_error *err);

#endif
