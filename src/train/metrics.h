/* SPDX-License-Identifier: MIT */
/* metrics.h - metrics.jsonl: one JSON object a line, each with its "step".
 *
 * A run that resumes at step S opens the file with `keep` = S: lines of later steps, and a last
 * line that a kill left unfinished, are cut, so the file ends as that of an uninterrupted run. */
#ifndef DM_TRAIN_METRICS_H
#define DM_TRAIN_METRICS_H

#include "base/json.h"

#include <dotmatrix/base.h>

typedef struct dm_metrics dm_metrics;

typedef struct dm_metric {
    const char *name;
    double value; /* NaN and infinities are written as null */
} dm_metric;

/* keep = 0: begin anew. A complete line that is no JSON object with a step is refused. */
dm_status dm_metrics_open(const char *path, uint64_t keep, dm_metrics **out, dm_error *err);
/* One line, passed to the system at once: a kill of the process loses no line. */
dm_status dm_metrics_write(dm_metrics *metrics, uint64_t step, const dm_metric *values,
                           size_t count, dm_error *err);
/* A line whose members after "step" are those that `write` puts into the open object. */
dm_status dm_metrics_write_with(dm_metrics *metrics, uint64_t step,
                                void (*write)(void *user, dm_json *json), void *user,
                                dm_error *err);
void dm_metrics_close(dm_metrics *metrics);

#endif
