/* SPDX-License-Identifier: MIT */
/* worker.h - one stretch of a run, by a process of its own.
 *
 * A run's folder has config.json (a task's fields, or a command's parameters), metrics.jsonl and
 * log.txt. The process is killed when this one ends, however that happens; an unfinished stretch is
 * trained again from the run's last checkpoint. */
#ifndef DM_TRAIN_SWEEP_WORKER_H
#define DM_TRAIN_SWEEP_WORKER_H

#include "train/sweep/spec.h"

#include <sys/types.h>

typedef struct dm_worker {
    pid_t pid; /* 0: none */
    size_t run, until;
} dm_worker;

typedef struct dm_worker_options {
    const char *program; /* dotmatrix */
    const char *device;
} dm_worker_options;

/* Train the run in `folder` until its check `until`. */
dm_status dm_worker_start(const dm_sweep_spec *spec, const dm_worker_options *options,
                          const json_t *parameters, const char *folder, size_t until,
                          dm_worker *worker, dm_error *err);
/* Has it ended? Does not wait. *code: its exit code, or 128 + the signal. */
bool dm_worker_ended(dm_worker *worker, int *code);
void dm_worker_kill(dm_worker *worker);

/* The metric at the first `until` checks, from the run's metrics.jsonl: the last one that was told
 * between two checks. NaN where there is none. */
dm_status dm_worker_values(const dm_sweep_spec *spec, const char *folder, size_t until,
                           double *values, dm_error *err);
/* The last line of its log.txt, for a message. */
void dm_worker_last_words(const char *folder, char *out, size_t size);

#endif
