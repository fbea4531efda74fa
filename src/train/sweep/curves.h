/* SPDX-License-Identifier: MIT */
/* curves.h - the metric of a sweep's runs over their steps, and the file that keeps them.
 *
 *     {"run": 3, "checks": 20, "complete": true, "values": [2.31, ...], "parameters": {...}}
 *
 * A line per run; value i is the metric after the share (i + 1) / checks of the run's steps. */
#ifndef DM_TRAIN_SWEEP_CURVES_H
#define DM_TRAIN_SWEEP_CURVES_H

#include "base/json.h"

#define DM_SWEEP_CURVES "curves.jsonl"

typedef struct dm_sweep_curve {
    size_t run, checks; /* checks of the whole run */
    size_t count;       /* of the values; complete: as many as checks */
    bool complete;
    double *values;     /* NaN: no number */
    json_t *parameters; /* may be NULL */
} dm_sweep_curve;

typedef struct dm_sweep_curves {
    dm_sweep_curve *items;
    size_t count, capacity;
} dm_sweep_curves;

/* Add the curves of a file, or of the curves.jsonl in a folder. */
dm_status dm_sweep_curves_read(const char *path, dm_sweep_curves *curves, dm_error *err);
dm_status dm_sweep_curves_write(const char *path, const dm_sweep_curves *curves, dm_error *err);
/* A copy of it is added. */
dm_status dm_sweep_curves_add(dm_sweep_curves *curves, const dm_sweep_curve *curve, dm_error *err);
void dm_sweep_curves_deinit(dm_sweep_curves *curves);

/* The logarithms of a complete curve at `checks` points; false where it is not complete or has a
 * value that is no positive number. */
bool dm_sweep_curve_logs(const dm_sweep_curve *curve, size_t checks, double *logs);

#endif
