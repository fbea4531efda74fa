/* SPDX-License-Identifier: MIT */
/* report.h - the cost of training to a target loss, by every method, and what prediction gains.
 *
 *     plan.json ─► tries of every method on seed 1 ─► best rate ─► seeds 2, 3 .. ─► page.c: index.html, report.md
 *                        └── run.c: trained once, kept in OUT/runs ──┘               report.json, plots
 *                              gains.c: predictive beside plain ────────────────────────┤
 *     pools of sweeps ─► pools.c: cost and regret of each rule ──────────────────────────┘
 *
 * The target of a task is the median final validation loss of linear decay, plus 1%. A report that was interrupted
 * goes on where it was when it is asked for again: runs that are kept are not trained again. */
#ifndef DM_TRAIN_REPORT_REPORT_H
#define DM_TRAIN_REPORT_REPORT_H

#include "base/buffer.h"
#include "train/report/plan.h"
#include "train/report/run.h"

typedef struct dm_report_options {
    const char *folder;
    const char *device;      /* on a CPU every run has one thread */
    const char *const *data; /* folders of images, files of text or tokens */
    size_t data_count;
    const char *tasks;        /* "xor,cnn"; NULL: the device's */
    bool quick;               /* small sizes, two seeds: shows that all works, and nothing else */
    int workers;              /* runs at a time; CUDA: 1 */
    const char *forecaster;   /* as in dm_training_options */
    const char *const *pools; /* recorded sweeps by the rule all (train sweep --rule all) */
    size_t pool_count;
    void (*provenance)(dm_json *json); /* what report.json says of the machine; may be NULL */
} dm_report_options;

/* Of one method on one task. */
typedef struct dm_report_result {
    dm_report_run tries[DM_REPORT_TRIES_MAX];
    size_t best;         /* of the tries */
    dm_report_run *runs; /* [seeds] */
} dm_report_result;

typedef struct dm_report {
    const dm_report_options *options;
    dm_report_plan plan;
    dm_report_result results[DM_REPORT_TASKS_MAX][DM_REPORT_METHODS_MAX];
    double target[DM_REPORT_TASKS_MAX];
    double begun_seconds; /* that this call took */
} dm_report;

/* Train the missing runs and write the report. After dm_stop_requested it tells which runs are kept, and writes no
 * page. */
dm_status dm_report_make(const dm_report_options *options, dm_error *err);

/* page.c: index.html, report.md, report.json and the plots. */
dm_status dm_report_write(const dm_report *report, dm_error *err);
/* gains.c: the table of what prediction gained, as Markdown. */
void dm_report_put_gains(const dm_report *report, dm_buffer *markdown);
/* pools.c: tables of the sweeps' rules, as Markdown; nothing without pools. */
/* DM_OK when all pools can be read. */
dm_status dm_report_pools_check(const dm_report_options *options, dm_error *err);
dm_status dm_report_pools(const dm_report_options *options, dm_buffer *markdown, dm_error *err);

/* Median, least and largest of `count` values, which are sorted. */
typedef struct dm_report_spread {
    double median, low, high;
    size_t count;
} dm_report_spread;
dm_report_spread dm_report_spread_of(double *values, size_t count);
/* Of one method's seeds: final losses; and what was spent until the target by those that reached it. */
enum { DM_REPORT_BACKWARD, DM_REPORT_FLOPS, DM_REPORT_SECONDS, DM_REPORT_COSTS };
dm_report_spread dm_report_finals(const dm_report *report, size_t task, size_t method);
dm_report_spread dm_report_cost(const dm_report *report, size_t task, size_t method, int cost);
/* Backward passes of whole runs. */
dm_report_spread dm_report_passes(const dm_report *report, size_t task, size_t method);
/* A cell of a table: " median (low to high) |". */
void dm_report_put_spread(dm_buffer *out, dm_report_spread s, double scale);

/* A predictive method beside the plain one of its schedule. */
typedef struct dm_report_gain {
    size_t plain;          /* that method */
    dm_report_spread loss; /* the last one within as many backward passes as a plain run makes */
    double off;            /* its median over the plain run's median final loss, less 1 */
    bool holds;            /* off is at most 1% */
    dm_report_spread
        passes; /* until the loss is first within 1%, of the seeds where it is so in time */
    uint64_t proposed, accepted, undone, rollbacks, plainly; /* all seeds together */
} dm_report_gain;
dm_report_gain dm_report_gain_of(const dm_report *report, size_t task, size_t method);

#endif
