/* SPDX-License-Identifier: MIT */
/* plan.h - what the report trains: tasks, methods and the rates that each method tries. The numbers are in plan.json.
 *
 * Every method of a task has the same number of tries, on seed 1; the rate with the lowest final validation loss is
 * then trained with the seeds 2, 3 .. . */
#ifndef DM_TRAIN_REPORT_PLAN_H
#define DM_TRAIN_REPORT_PLAN_H

#include "train/config.h"

enum {
    DM_REPORT_METHODS_MAX = 8,
    DM_REPORT_TRIES_MAX = 8,
    DM_REPORT_TASKS_MAX = 8,
    DM_REPORT_SEEDS_MAX = 64
};

typedef struct dm_report_method {
    char name[48];
    const json_t *set;
    const char *rates; /* the member of a task that has them */
    bool predicts;
    bool averages; /* without predicting */
} dm_report_method;

typedef struct dm_report_task {
    char key[16]; /* "gpt2" */
    dm_train_task task;
    const char *title;
    const char *device; /* NULL: any; "cuda": only there */
    uint64_t every;     /* steps between evaluations */
    uint64_t seeds;
    double
        average; /* what averages of the weights keep, with prediction and without; the shorter the runs the less */
    const json_t *object;
} dm_report_task;

typedef struct dm_report_plan {
    json_t *all;
    dm_report_method methods[DM_REPORT_METHODS_MAX];
    size_t method_count;
    dm_report_task tasks[DM_REPORT_TASKS_MAX];
    size_t task_count;
    size_t tries; /* of every method */
} dm_report_plan;

/* The tasks named in `tasks` ("xor,cnn"); NULL: those that need no GPU on a CPU, those that need one on CUDA. */
dm_status dm_report_plan_init(const char *tasks, bool quick, bool cuda, dm_report_plan *out,
                              dm_error *err);
void dm_report_plan_deinit(dm_report_plan *plan);
double dm_report_rate(const dm_report_plan *plan, size_t task, size_t method, size_t try);
dm_status dm_report_config(const dm_report_plan *plan, size_t task, size_t method, double rate,
                           uint64_t seed, dm_train_config *out, dm_error *err);

#endif
