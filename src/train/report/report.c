/* SPDX-License-Identifier: MIT */
/* report.c - see report.h. */
#include "train/report/report.h"
#include "base/file.h"
#include "base/median.h"
#include "base/terminal/progress.h"
#include "base/terminal/stop.h"
#include "base/thread.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Runs ---- */

typedef struct job {
    size_t task, method;
    double rate;
    uint64_t seed;
    dm_report_run *run;
} job;

typedef struct work {
    dm_report *report;
    const job *jobs;
    const char *device;
    dm_progress *progress;
    atomic_bool failed;
    dm_error error;
    dm_status status;
} work;

/* Folders are for images, files for text. */
static size_t data_of(const dm_report_options *o, dm_train_task task, const char **out, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < o->data_count && count < room; i++)
        if (task != DM_TRAIN_XOR && dm_dir_exists(o->data[i]) == (task == DM_TRAIN_CNN))
            out[count++] = o->data[i];
    return count;
}

static dm_status make_run(const work *w, const job *j, dm_error *err)
{
    const dm_report *r = w->report;
    const dm_report_options *o = r->options;
    const dm_report_task *task = &r->plan.tasks[j->task];
    const char *data[8];
    char name[160], path[DM_PATH_MAX];
    dm_train_config config;
    dm_training_options options = {.device = w->device, .data = data, .forecaster = o->forecaster};
    options.data_count = data_of(o, task->task, data, sizeof data / sizeof data[0]);
    snprintf(name, sizeof name, "runs/%s-%zu-rate%g-seed%llu.json", task->key, j->method, j->rate,
             (unsigned long long)j->seed);
    dm_status status = dm_path_join(path, o->folder, name, err);
    if (status == DM_OK)
        status = dm_report_config(&r->plan, j->task, j->method, j->rate, j->seed, &config, err);
    /* One that was made on a GPU may be read anywhere. */
    if (status == DM_OK && task->device != NULL && !dm_file_exists(path) &&
        strncmp(w->device, task->device, strlen(task->device)) != 0)
        return dm_fail(err, DM_EINVAL, "report: %s needs --device %s: %s is not there", task->key,
                       task->device, path);
    if (status == DM_OK)
        status = dm_report_run_make(&config, &options, path, j->run, err);
    if (status != DM_OK)
        dm_error_prefix(err, "report: %s, %s, rate %g, seed %llu", task->key,
                        r->plan.methods[j->method].name, j->rate, (unsigned long long)j->seed);
    return status;
}

static void make_runs(void *user, uint64_t begin, uint64_t end, int worker)
{
    work *w = user;
    (void)worker;
    for (uint64_t i = begin; i < end && !dm_stop_requested() && !atomic_load(&w->failed); i++) {
        dm_error err = {0};
        dm_status status = make_run(w, &w->jobs[i], &err);
        if (status != DM_OK && !atomic_exchange(&w->failed, true)) {
            w->status = status;
            w->error = err;
        }
        dm_progress_add(w->progress, 1);
    }
}

static dm_status run_jobs(dm_report *report, const job *jobs, size_t count, dm_pool *pool,
                          const char *device, dm_progress *progress, dm_error *err)
{
    work w = {.report = report, .jobs = jobs, .device = device, .progress = progress};
    dm_pool_run(pool, count, 1, make_runs, &w);
    if (atomic_load(&w.failed)) {
        if (err != NULL)
            *err = w.error;
        return w.status;
    }
    return DM_OK;
}

/* ---- Figures ---- */

dm_report_spread dm_report_spread_of(double *values, size_t count)
{
    if (count == 0)
        return (dm_report_spread){(double)NAN, (double)NAN, (double)NAN, 0};
    double median = dm_median(values, count); /* sorts */
    return (dm_report_spread){median, values[0], values[count - 1], count};
}

dm_report_spread dm_report_finals(const dm_report *report, size_t task, size_t method)
{
    double values[DM_REPORT_SEEDS_MAX];
    size_t seeds = report->plan.tasks[task].seeds;
    for (size_t i = 0; i < seeds; i++)
        values[i] = dm_report_run_final(&report->results[task][method].runs[i]);
    return dm_report_spread_of(values, seeds);
}

dm_report_spread dm_report_cost(const dm_report *report, size_t task, size_t method, int cost)
{
    double values[DM_REPORT_SEEDS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < report->plan.tasks[task].seeds; i++) {
        const dm_report_run *run = &report->results[task][method].runs[i];
        const dm_report_point *p = dm_report_run_reached(run, report->target[task]);
        if (p != NULL)
            values[count++] = cost == DM_REPORT_BACKWARD ? (double)p->backward
                              : cost == DM_REPORT_FLOPS  ? dm_report_run_flops(run, p)
                                                         : p->seconds;
    }
    return dm_report_spread_of(values, count);
}

dm_report_spread dm_report_passes(const dm_report *report, size_t task, size_t method)
{
    double values[DM_REPORT_SEEDS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < report->plan.tasks[task].seeds; i++) {
        const dm_report_run *run = &report->results[task][method].runs[i];
        if (run->count > 0 && run->failed[0] == 0)
            values[count++] = (double)run->points[run->count - 1].backward;
    }
    return dm_report_spread_of(values, count);
}

static void choose_rates(dm_report *report, size_t task)
{
    for (size_t m = 0; m < report->plan.method_count; m++) {
        dm_report_result *r = &report->results[task][m];
        for (size_t i = 1; i < report->plan.tries; i++)
            if (dm_report_run_final(&r->tries[i]) < dm_report_run_final(&r->tries[r->best]))
                r->best = i;
    }
}

/* "linear decay" */
static size_t reference_method(const dm_report_plan *plan)
{
    size_t m = 0;
    while (m + 1 < plan->method_count && strcmp(plan->methods[m].name, "linear decay") != 0)
        m++;
    return m;
}

static dm_status make_task(dm_report *report, size_t task, dm_pool *pool, const char *device,
                           dm_progress *progress, dm_error *err)
{
    const dm_report_plan *plan = &report->plan;
    size_t seeds = plan->tasks[task].seeds, count = 0;
    job *jobs = calloc(plan->method_count * (plan->tries + seeds), sizeof *jobs);
    dm_status status = jobs != NULL ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t m = 0; m < plan->method_count && status == DM_OK; m++)
        for (size_t i = 0; i < plan->tries; i++)
            jobs[count++] = (job){task, m, dm_report_rate(plan, task, m, i), 1,
                                  &report->results[task][m].tries[i]};
    if (status == DM_OK)
        status = run_jobs(report, jobs, count, pool, device, progress, err);
    if (status != DM_OK || dm_stop_requested()) {
        free(jobs);
        return status;
    }
    choose_rates(report, task);
    count = 0;
    for (size_t i = 0; i < seeds;
         i++) /* the methods in turns, so that a slow hour hits all of them */
        for (size_t m = 0; m < plan->method_count; m++) {
            dm_report_result *r = &report->results[task][m];
            jobs[count++] =
                (job){task, m, dm_report_rate(plan, task, m, r->best), i + 2, &r->runs[i]};
        }
    status = run_jobs(report, jobs, count, pool, device, progress, err);
    free(jobs);
    if (status == DM_OK && !dm_stop_requested())
        report->target[task] = 1.01 * dm_report_finals(report, task, reference_method(plan)).median;
    return status;
}

/* ---- The whole ---- */

static dm_status prepare(dm_report *report, dm_error *err)
{
    const dm_report_plan *plan = &report->plan;
    const dm_report_options *o = report->options;
    char path[DM_PATH_MAX];
    for (size_t i = 0; i < o->data_count; i++)
        if (!dm_dir_exists(o->data[i]) && !dm_file_exists(o->data[i]))
            return dm_fail(err, DM_ENOENT, "report: --data %.900s: there is no such file or folder",
                           o->data[i]);
    for (size_t t = 0; t < plan->task_count; t++) {
        const char *data[1];
        if (plan->tasks[t].seeds > DM_REPORT_SEEDS_MAX || plan->tries > DM_REPORT_TRIES_MAX)
            return dm_fail(err, DM_EINVAL, "report: the plan of %s is too large",
                           plan->tasks[t].key);
        if (plan->tasks[t].task == DM_TRAIN_GPT && data_of(o, DM_TRAIN_GPT, data, 1) == 0)
            return dm_fail(err, DM_EINVAL,
                           "report: %s needs --data TEXT; --tasks xor,cnn does without",
                           plan->tasks[t].key);
        for (size_t m = 0; m < plan->method_count; m++) {
            dm_report_result *r = &report->results[t][m];
            if ((r->runs = calloc(plan->tasks[t].seeds, sizeof *r->runs)) == NULL)
                return dm_fail(err, DM_ENOMEM, "out of memory");
        }
    }
    dm_status status = dm_report_pools_check(o, err);
    if (status == DM_OK)
        status = dm_path_join(path, o->folder, "runs", err);
    return status == DM_OK ? dm_dir_create(path, err) : status;
}

static void release(dm_report *report)
{
    for (size_t t = 0; t < report->plan.task_count; t++)
        for (size_t m = 0; m < report->plan.method_count; m++) {
            dm_report_result *r = &report->results[t][m];
            for (size_t i = 0; i < report->plan.tries && i < DM_REPORT_TRIES_MAX; i++)
                dm_report_run_deinit(&r->tries[i]);
            for (size_t i = 0; r->runs != NULL && i < report->plan.tasks[t].seeds; i++)
                dm_report_run_deinit(&r->runs[i]);
            free(r->runs);
        }
    dm_report_plan_deinit(&report->plan);
}

static dm_status make_all(dm_report *report, bool cuda, dm_error *err)
{
    const dm_report_plan *plan = &report->plan;
    const dm_report_options *o = report->options;
    dm_pool *pool = NULL;
    uint64_t runs = 0;
    for (size_t t = 0; t < plan->task_count; t++)
        runs += plan->method_count * (plan->tries + plan->tasks[t].seeds);
    dm_status status = dm_pool_create(cuda ? 1 : o->workers, &pool, err);
    if (status != DM_OK)
        return status;
    dm_device *held = NULL; /* so that runs find its context and kernels made */
    if (cuda)
        status = dm_device_open(o->device, &held, err);
    dm_progress *progress = dm_progress_start("report", "runs", runs);
    for (size_t t = 0; t < plan->task_count && status == DM_OK && !dm_stop_requested(); t++)
        status = make_task(report, t, pool, cuda ? o->device : "cpu:1", progress, err);
    dm_progress_finish(progress);
    dm_device_close(held);
    dm_pool_destroy(pool);
    if (dm_stop_requested())
        dm_stop_kept("the runs that are done are in %s; the same command goes on with them",
                     o->folder);
    return status;
}

dm_status dm_report_make(const dm_report_options *options, dm_error *err)
{
    uint64_t begun = dm_time_ns();
    bool cuda = strncmp(options->device, "cuda", 4) == 0;
    dm_report *report = calloc(1, sizeof *report);
    if (report == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    report->options = options;
    dm_status status =
        dm_report_plan_init(options->tasks, options->quick, cuda, &report->plan, err);
    if (status == DM_OK)
        status = prepare(report, err);
    if (status == DM_OK)
        status = make_all(report, cuda, err);
    report->begun_seconds = (double)(dm_time_ns() - begun) * 1e-9;
    if (status == DM_OK && !dm_stop_requested())
        status = dm_report_write(report, err);
    release(report);
    free(report);
    return status;
}
