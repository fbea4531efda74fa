/* SPDX-License-Identifier: MIT */
/* sweep.h - many runs of one model with different settings; runs that cannot win are stopped early.
 *
 * A sweep's folder:
 *     spec.json      what was asked for; a sweep that was killed goes on with it
 *     history.jsonl  complete curves of earlier sweeps, where some were given
 *     sweep.jsonl    every decision with its reason, and every metric that was reached; with one
 *                    worker the same bytes every time
 *     runs/0007/     a run's own folder (trainer.h, worker.h)
 *     curves.jsonl   at the end: all curves, the history of later sweeps and what replay.h reads
 *     index.html     at the end: curves, what was stopped when and why, the winner
 *
 * A stretch of a run is a process of its own (worker.h) that ends with a checkpoint. When the sweep
 * is killed, sweep.jsonl says what was reached; only stretches that were under way are done again. */
#ifndef DM_TRAIN_SWEEP_SWEEP_H
#define DM_TRAIN_SWEEP_SWEEP_H

#include "train/sweep/decide.h"
#include "train/sweep/spec.h"
#include "train/sweep/worker.h"

typedef struct dm_sweep_state {
    size_t runs, complete, stopped, failed, running;
    double best; /* the smallest final metric; NaN while there is none */
} dm_sweep_state;

typedef struct dm_sweep_options {
    const char *folder;
    const char *program, *device; /* of the runs: dotmatrix, "cpu:1" */
    int workers;
    const char *const *history; /* files or folders; only for a new sweep */
    size_t history_count;
    /* Called after each change; may be NULL. */
    void (*watch)(void *user, const dm_sweep_state *state);
    void *user;
} dm_sweep_options;

typedef struct dm_sweep dm_sweep;

/* A new sweep; takes the spec over, also on failure. A folder that has a sweep is DM_EINVAL. */
dm_status dm_sweep_create(dm_sweep_spec *spec, const dm_sweep_options *options, dm_sweep **out,
                          dm_error *err);
/* The sweep in the folder, where its sweep.jsonl ends. */
dm_status dm_sweep_resume(const dm_sweep_options *options, dm_sweep **out, dm_error *err);
/* To the end, or until dm_stop_requested. DM_EINVAL when no run is complete in the end. */
dm_status dm_sweep_work(dm_sweep *sweep, dm_error *err);
void dm_sweep_destroy(dm_sweep *sweep);

const dm_decider *dm_sweep_decider(const dm_sweep *sweep);
const dm_sweep_spec *dm_sweep_spec_of(const dm_sweep *sweep);
bool dm_sweep_ended(const dm_sweep *sweep);
/* Checks that were trained, in full runs. */
double dm_sweep_cost(const dm_sweep *sweep);

#endif
