/* SPDX-License-Identifier: MIT */
/* run.h - one run of the report: trained once, then read from its file. */
#ifndef DM_TRAIN_REPORT_RUN_H
#define DM_TRAIN_REPORT_RUN_H

#include "train/trainer.h"

/* A validation loss, and the cost of training until it was measured; evaluations are not counted. */
typedef struct dm_report_point {
    uint64_t backward; /* passes of a batch */
    double forward;    /* further forward passes of a batch: checks and CORRECT */
    double
        seconds; /* of steps and checks: processor time of the one thread; on CUDA of the clock */
    double loss;
} dm_report_point;

/* Where a run comes from; it may be read long after it was trained, and elsewhere. */
typedef struct dm_report_origin {
    char device[128]; /* "NVIDIA H200" */
    char commit[64];  /* dm_build_commit of the program */
    char time[32];    /* of its end: "2026-01-31T12:00:00Z" */
} dm_report_origin;

typedef struct dm_report_run {
    bool there;
    dm_report_origin made;
    char failed[240]; /* why it has no end; empty: it has */
    dm_report_point *points;
    size_t count;
    double forward_flops, optimiser_flops; /* flops.h, of a batch and of a step */
    uint64_t proposed, accepted, undone, rollbacks, plain_from;
} dm_report_run;

/* FLOPs of a point. */
double dm_report_run_flops(const dm_report_run *run, const dm_report_point *point);
/* The last validation loss; infinite for a run that failed. */
double dm_report_run_final(const dm_report_run *run);
/* The first point at or below the target; NULL: none. */
const dm_report_point *dm_report_run_reached(const dm_report_run *run, double target);

/* Train `config`, or read the run from `path` where that has one of the same configuration; another
 * configuration there is DM_EINVAL. After dm_stop_requested `there` may be false. A run that diverges is no error. */
dm_status dm_report_run_make(const dm_train_config *config, const dm_training_options *options,
                             const char *path, dm_report_run *out, dm_error *err);
void dm_report_run_deinit(dm_report_run *run);

#endif
