/* SPDX-License-Identifier: MIT */
/* train_sweep.c - dotmatrix train sweep: a new sweep, one to go on with, rules on recorded pools. */
#include "base/file.h"
#include "base/terminal/progress.h"
#include "cli/train/train.h"
#include "train/sweep/replay.h"
#include "train/sweep/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rules on recorded pools ---- */

enum { POOLS_MAX = 64 };

static dm_status add_all(dm_sweep_curves *to, const dm_sweep_curves *from, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < from->count && status == DM_OK; i++)
        status = dm_sweep_curves_add(to, &from->items[i], err);
    return status;
}

static void print_result(const char *pool, const dm_replay_trial *t, const dm_replay_result *r,
                         bool json)
{
    if (json) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_json out;
        dm_json_init(&out, &text, DM_JSON_COMPACT);
        dm_json_begin_object(&out, NULL);
        dm_json_string(&out, "pool", pool);
        dm_json_string(&out, "rule", t->name);
        dm_json_double(&out, "cost", r->cost);
        dm_json_double(&out, "share", r->share);
        dm_json_double(&out, "regret", r->regret);
        if (t->rule == DM_SWEEP_FORECAST) {
            dm_json_bool(&out, "forecasts", r->forecasts);
            dm_json_double(&out, "coverage", r->calibration.coverage);
            dm_json_double(&out, "far", r->calibration.far);
            dm_json_double(&out, "width", r->calibration.width);
            dm_json_double(&out, "apart", r->calibration.apart);
            dm_json_double(&out, "error", r->calibration.error);
            dm_json_double(&out, "last", r->calibration.last);
        }
        dm_json_end_object(&out);
        dm_json_finish(&out);
        fputs(dm_buffer_text(&text), stdout);
        dm_buffer_deinit(&text);
        return;
    }
    printf("%-28s %-26s cost %5.1f (%3.0f%%)  regret %6.2f%%", pool, t->name, r->cost,
           100 * r->share, 100 * r->regret);
    if (t->rule == DM_SWEEP_FORECAST)
        printf("  %s: coverage %.0f%%, far %.0f%%, width %.2f, apart %.2f, error %.4f, last value "
               "%.4f",
               r->forecasts ? "forecasts" : "halving", 100 * r->calibration.coverage,
               100 * r->calibration.far, r->calibration.width, r->calibration.apart,
               r->calibration.error, r->calibration.last);
    printf("\n");
}

/* Each pool with the others, or with --history, as history. */
static dm_status replay_pools(const dm_train_options *o, const dm_sweep_curves *pools,
                              const dm_sweep_curves *given, dm_error *err)
{
    double share[DM_REPLAY_TRIALS] = {0};
    size_t good[DM_REPLAY_TRIALS] = {0}, count = o->replay.count;
    dm_status status = DM_OK;
    for (size_t p = 0; p < count && status == DM_OK; p++) {
        dm_sweep_curves history = {0};
        for (size_t q = 0; q < count && status == DM_OK && given->count == 0; q++)
            if (q != p)
                status = add_all(&history, &pools[q], err);
        if (given->count > 0)
            status = add_all(&history, given, err);
        for (size_t t = 0; t < DM_REPLAY_TRIALS && status == DM_OK; t++) {
            dm_sweep_rules rules = dm_sweep_rules_default;
            dm_replay_result r;
            rules.first = dm_replay_trials[t].first;
            rules.z = dm_replay_trials[t].z;
            status =
                dm_sweep_replay(&pools[p], dm_replay_trials[t].rule, &rules, &history, &r, err);
            if (status != DM_OK)
                break;
            share[t] += r.share / (double)count;
            good[t] += r.regret < 0.01;
            print_result(o->replay.items[p], &dm_replay_trials[t], &r, o->json);
        }
        dm_sweep_curves_deinit(&history);
    }
    for (size_t t = 0; t < DM_REPLAY_TRIALS && status == DM_OK && !o->json; t++)
        printf("%-26s %3.0f%% of the cost of all; regret below 1%% in %zu of %zu pools\n",
               dm_replay_trials[t].name, 100 * share[t], good[t], count);
    return status;
}

static dm_status replay(const dm_train_options *o, dm_error *err)
{
    dm_sweep_curves pools[POOLS_MAX] = {{0}}, given = {0};
    dm_status status = DM_OK;
    if (o->replay.count > POOLS_MAX)
        return dm_fail(err, DM_EINVAL, "--replay: at most %d pools", POOLS_MAX);
    for (size_t i = 0; i < o->replay.count && status == DM_OK; i++)
        status = dm_sweep_curves_read(o->replay.items[i], &pools[i], err);
    for (size_t i = 0; i < o->history.count && status == DM_OK; i++)
        status = dm_sweep_curves_read(o->history.items[i], &given, err);
    if (status == DM_OK)
        status = replay_pools(o, pools, &given, err);
    for (size_t i = 0; i < POOLS_MAX; i++)
        dm_sweep_curves_deinit(&pools[i]);
    dm_sweep_curves_deinit(&given);
    return status;
}

/* ---- A sweep ---- */

typedef struct watcher {
    dm_progress *progress;
    size_t settled;
} watcher;

static void watch(void *user, const dm_sweep_state *s)
{
    watcher *w = user;
    char label[128];
    size_t settled = s->complete + s->stopped + s->failed;
    int used = snprintf(label, sizeof label, "sweep  %zu complete, %zu stopped, %zu failed",
                        s->complete, s->stopped, s->failed);
    if (isfinite(s->best))
        snprintf(label + used, sizeof label - (size_t)used, ", best %.5g", s->best);
    dm_progress_label(w->progress, label);
    if (settled > w->settled)
        dm_progress_add(w->progress, settled - w->settled);
    w->settled = settled;
}

static dm_status read_spec(const dm_train_options *o, const char *path, dm_sweep_spec *spec,
                           dm_error *err)
{
    json_t *object = NULL;
    dm_status status = dm_json_load(path, &object, err);
    if (status == DM_OK && o->rule != NULL && json_is_object(object) &&
        json_object_set_new(object, "rule", json_string(o->rule)) != 0)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    if (status == DM_OK && o->data.count > 0 && json_is_object(object)) {
        json_t *data = json_array();
        for (size_t i = 0; i < o->data.count; i++)
            json_array_append_new(data, json_string(o->data.items[i]));
        if (json_object_set_new(object, "data", data) != 0)
            status = dm_fail(err, DM_ENOMEM, "out of memory");
    }
    /* A sweep may be taken up again from another folder. */
    json_t *data = json_object_get(object, "data");
    for (size_t i = 0; status == DM_OK && i < json_array_size(data); i++) {
        const char *name = json_string_value(json_array_get(data, i));
        char *whole = name != NULL ? realpath(name, NULL) : NULL;
        if (name != NULL && whole == NULL)
            status = dm_fail(err, DM_ENOENT, "%s: data: %.900s: %s", path, name, strerror(errno));
        else if (name != NULL)
            json_array_set_new(data, i, json_string(whole));
        free(whole);
    }
    if (status != DM_OK) {
        json_decref(object);
        return status;
    }
    return dm_sweep_spec_read(object, path, spec, err);
}

static void print_winner(const dm_sweep *sweep, const char *folder)
{
    const dm_decider *d = dm_sweep_decider(sweep);
    const dm_sweep_spec *spec = dm_sweep_spec_of(sweep);
    size_t winner = dm_decider_winner(d);
    json_t *parameters = dm_sweep_space_draw(&spec->space, winner);
    char *text = json_dumps(parameters, JSON_REAL_PRECISION(6));
    printf("%s: the winner is run %zu with %s %.6g: %s\n", folder, winner, spec->metric,
           d->runs[winner].values[d->checks - 1], text != NULL ? text : "");
    printf("cost: %.1f full runs of %zu (%.0f%%); %s/index.html shows all\n", dm_sweep_cost(sweep),
           d->count, 100 * dm_sweep_cost(sweep) / (double)d->count, folder);
    free(text);
    json_decref(parameters);
}

static dm_status open_sweep(const dm_train_options *o, const char *path, dm_sweep_options *options,
                            char folder[DM_PATH_MAX], dm_sweep **sweep, dm_error *err)
{
    dm_sweep_spec spec = {0};
    dm_status status;
    options->folder = folder;
    if (o->resume != NULL) {
        if (path != NULL || o->out != NULL || o->rule != NULL || o->history.count > 0 ||
            o->data.count > 0)
            return dm_fail(err, DM_EINVAL,
                           "SPEC, --out, --rule, --history and --data are the sweep's own with "
                           "--resume");
        status = dm_path_join(folder, "", o->resume, err);
        return status == DM_OK ? dm_sweep_resume(options, sweep, err) : status;
    }
    if (path == NULL)
        return dm_fail(err, DM_EINVAL,
                       "sweep needs a file that says what is tried, --resume DIR or --replay POOL");
    status = o->out != NULL ? dm_path_join(folder, "", o->out, err)
                            : dm_train_choose_folder("sweep", folder, err);
    if (status == DM_OK)
        status = read_spec(o, path, &spec, err);
    return status == DM_OK ? dm_sweep_create(&spec, options, sweep, err) : status;
}

dm_status dm_train_sweep(const dm_train_options *o, const char *path, dm_error *err)
{
    char folder[DM_PATH_MAX];
    watcher w = {0};
    dm_sweep *sweep = NULL;
    if (o->replay.count > 0)
        return replay(o, err);
    if (dm_train_given(o, "device")) { /* said here, not by the first run */
        dm_device *device = NULL;
        dm_status opened = dm_device_open(o->device, &device, err);
        dm_device_close(device);
        if (opened != DM_OK)
            return opened;
    }
    dm_sweep_options options = {.program = "/proc/self/exe",
                                .device = dm_train_given(o, "device") ? o->device : "cpu:1",
                                .workers = (int)o->workers,
                                .history = o->history.items,
                                .history_count = o->history.count,
                                .watch = watch,
                                .user = &w};
    dm_status status = open_sweep(o, path, &options, folder, &sweep, err);
    if (status != DM_OK)
        return status;
    printf("%s: %zu configurations by %s, %d worker%s\n", folder, dm_sweep_decider(sweep)->count,
           dm_sweep_rule_names[dm_sweep_spec_of(sweep)->rule], options.workers,
           options.workers == 1 ? "" : "s");
    fflush(stdout);
    w.progress = dm_progress_start("sweep", "runs", dm_sweep_decider(sweep)->count);
    status = dm_sweep_work(sweep, err);
    dm_progress_finish(w.progress);
    if (status == DM_OK && dm_sweep_ended(sweep))
        print_winner(sweep, folder);
    dm_sweep_destroy(sweep);
    return status;
}
