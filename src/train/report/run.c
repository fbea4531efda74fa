/* SPDX-License-Identifier: MIT */
/* run.c - see run.h. */
#include "train/report/run.h"
#include "base/file.h"
#include "base/host/build.h"
#include "base/terminal/stop.h"
#include "train/report/flops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double dm_report_run_flops(const dm_report_run *run, const dm_report_point *point)
{
    return run->forward_flops * (3 * (double)point->backward + point->forward) +
           run->optimiser_flops * (double)point->backward;
}

double dm_report_run_final(const dm_report_run *run)
{
    bool whole = run->there && run->failed[0] == 0 && run->count > 0;
    return whole ? run->points[run->count - 1].loss : INFINITY;
}

const dm_report_point *dm_report_run_reached(const dm_report_run *run, double target)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->points[i].loss <= target)
            return &run->points[i];
    return NULL;
}

void dm_report_run_deinit(dm_report_run *run)
{
    free(run->points);
    *run = (dm_report_run){0};
}

/* ---- Training ---- */

typedef struct watcher {
    dm_training *training;
    dm_report_run *run;
    size_t room;
    bool busy; /* count processor time */
    bool full; /* no memory for another point */
} watcher;

static void watch(void *user, const dm_training_state *state)
{
    watcher *w = user;
    dm_report_run *run = w->run;
    for (size_t i = 0; i < state->metric_count; i++) {
        if (strcmp(state->metrics[i].name, "val_loss") != 0)
            continue;
        if (run->count == w->room) {
            size_t room = 2 * w->room + 32;
            dm_report_point *points = realloc(run->points, room * sizeof *points);
            w->full = w->full || points == NULL;
            if (points == NULL)
                return;
            run->points = points;
            w->room = room;
        }
        const dm_predictive *p = dm_training_predictive(w->training);
        run->points[run->count++] = (dm_report_point){
            .backward = p != NULL ? dm_predictive_counts(p)->backward : state->step,
            .forward = p != NULL ? dm_predictive_counts(p)->forward : 0,
            .seconds = w->busy ? state->busy : state->seconds,
            .loss = state->metrics[i].value};
    }
}

static dm_status tell_origin(const char *device, dm_report_origin *out, dm_error *err)
{
    dm_device *opened = NULL;
    struct tm utc;
    time_t now = time(NULL);
    dm_status status = dm_device_open(device, &opened, err);
    if (status == DM_OK)
        snprintf(out->device, sizeof out->device, "%s", dm_device_get_properties(opened)->name);
    dm_device_close(opened);
    snprintf(out->commit, sizeof out->commit, "%s", dm_build_commit);
    gmtime_r(&now, &utc);
    strftime(out->time, sizeof out->time, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return status;
}

static dm_status train(const dm_train_config *config, const dm_training_options *options,
                       dm_report_run *run, dm_error *err)
{
    dm_training_options how = *options;
    dm_training *training = NULL;
    dm_error reason = {0};
    watcher w = {.run = run, .busy = strncmp(options->device, "cpu", 3) == 0};
    how.watch = watch;
    how.user = &w;
    how.count_busy = w.busy;
    dm_status status = dm_training_create(config, &how, &training, err);
    if (status != DM_OK)
        return status;
    w.training = training;
    run->forward_flops = dm_report_forward_flops(dm_training_model(training));
    run->optimiser_flops = dm_report_optimiser_flops(dm_training_model(training));
    status = dm_training_run(training, &reason);
    if (status == DM_EINVAL) { /* it diverged */
        snprintf(run->failed, sizeof run->failed, "%.200s", reason.message);
        status = DM_OK;
    }
    const dm_predictive *p = dm_training_predictive(training);
    if (p != NULL) {
        const dm_predict_counts *c = dm_predictive_counts(p);
        run->proposed = c->proposed;
        run->accepted = c->accepted;
        run->undone = c->undone;
        run->rollbacks = c->rollbacks;
        run->plain_from = c->plain_from;
    }
    dm_training_destroy(training);
    if (w.full)
        return dm_fail(err, DM_ENOMEM, "out of memory for the points of a run");
    if (status != DM_OK)
        return dm_fail(err, status, "%s", reason.message);
    run->there = !dm_stop_requested();
    return tell_origin(options->device, &run->made, err);
}

/* ---- Its file ---- */

static void config_text(const dm_train_config *config, dm_buffer *out)
{
    dm_json json;
    dm_json_init(&json, out, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_train_config_write(config, &json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
}

static dm_status save(const dm_report_run *run, const dm_train_config *config, const char *path,
                      dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_json_begin_object(&json, "config");
    dm_train_config_write(config, &json);
    dm_json_end_object(&json);
    dm_json_begin_object(&json, "made");
    dm_json_string(&json, "device", run->made.device);
    dm_json_string(&json, "commit", run->made.commit);
    dm_json_string(&json, "time", run->made.time);
    dm_json_end_object(&json);
    dm_json_string(&json, "failed", run->failed);
    dm_json_double(&json, "forward_flops", run->forward_flops);
    dm_json_double(&json, "optimiser_flops", run->optimiser_flops);
    dm_json_uint(&json, "proposed", run->proposed);
    dm_json_uint(&json, "accepted", run->accepted);
    dm_json_uint(&json, "undone", run->undone);
    dm_json_uint(&json, "rollbacks", run->rollbacks);
    dm_json_uint(&json, "plain_from", run->plain_from);
    dm_json_begin_array(&json, "points");
    for (size_t i = 0; i < run->count; i++) {
        const dm_report_point *p = &run->points[i];
        dm_json_begin_array(&json, NULL);
        dm_json_uint(&json, NULL, p->backward);
        dm_json_double(&json, NULL, p->forward);
        dm_json_double(&json, NULL, p->seconds);
        dm_json_double(&json, NULL, p->loss);
        dm_json_end_array(&json);
    }
    dm_json_end_array(&json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    return dm_file_write_buffer(path, &text, err);
}

/* The same fields with the same values. */
static bool same_config(const json_t *object, const dm_train_config *config)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    json_t *wanted = NULL;
    config_text(config, &text);
    dm_status status =
        dm_json_parse(dm_buffer_text(&text), text.size, "configuration", &wanted, NULL);
    bool same = status == DM_OK && json_equal((json_t *)(uintptr_t)object, wanted);
    json_decref(wanted);
    dm_buffer_deinit(&text);
    return same;
}

static uint64_t count_of(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));
    return value > 0 ? (uint64_t)value : 0;
}

static void read_origin(const json_t *made, dm_report_origin *out)
{
    const struct {
        const char *name;
        char *to;
        size_t size;
    } fields[] = {{"device", out->device, sizeof out->device},
                  {"commit", out->commit, sizeof out->commit},
                  {"time", out->time, sizeof out->time}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const char *text = json_string_value(json_object_get(made, fields[i].name));
        snprintf(fields[i].to, fields[i].size, "%s", text != NULL ? text : "unknown");
    }
}

static dm_status load(const char *path, const dm_train_config *config, dm_report_run *run,
                      dm_error *err)
{
    json_t *object = NULL;
    dm_status status = dm_json_load(path, &object, err);
    if (status == DM_OK && !same_config(json_object_get(object, "config"), config))
        status =
            dm_fail(err, DM_EINVAL,
                    "%.900s is a run of another configuration: another --out begins anew", path);
    const json_t *points = json_object_get(object, "points");
    const char *failed = json_string_value(json_object_get(object, "failed"));
    if (status == DM_OK && (!json_is_array(points) || failed == NULL))
        status = dm_fail(err, DM_EFORMAT, "%.900s: not a run of a report", path);
    size_t count = status == DM_OK ? json_array_size(points) : 0;
    if (status == DM_OK && (run->points = calloc(count + 1, sizeof *run->points)) == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    if (status == DM_OK) {
        read_origin(json_object_get(object, "made"), &run->made);
        snprintf(run->failed, sizeof run->failed, "%.239s", failed);
        run->forward_flops = json_number_value(json_object_get(object, "forward_flops"));
        run->optimiser_flops = json_number_value(json_object_get(object, "optimiser_flops"));
        run->proposed = count_of(object, "proposed");
        run->accepted = count_of(object, "accepted");
        run->undone = count_of(object, "undone");
        run->rollbacks = count_of(object, "rollbacks");
        run->plain_from = count_of(object, "plain_from");
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *p = json_array_get(points, i);
        double loss = json_is_number(json_array_get(p, 3)) ? json_number_value(json_array_get(p, 3))
                                                           : (double)NAN;
        run->points[run->count++] =
            (dm_report_point){.backward = (uint64_t)json_integer_value(json_array_get(p, 0)),
                              .forward = json_number_value(json_array_get(p, 1)),
                              .seconds = json_number_value(json_array_get(p, 2)),
                              .loss = loss};
    }
    run->there = status == DM_OK;
    json_decref(object);
    return status;
}

dm_status dm_report_run_make(const dm_train_config *config, const dm_training_options *options,
                             const char *path, dm_report_run *out, dm_error *err)
{
    *out = (dm_report_run){0};
    if (dm_file_exists(path))
        return load(path, config, out, err);
    dm_status status = train(config, options, out, err);
    return status == DM_OK && out->there ? save(out, config, path, err) : status;
}
