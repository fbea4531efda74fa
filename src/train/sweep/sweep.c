/* SPDX-License-Identifier: MIT */
/* sweep.c - see sweep.h. */
#include "train/sweep/sweep.h"
#include "base/file.h"
#include "base/terminal/log.h"
#include "base/terminal/stop.h"
#include "train/sweep/page.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MAX = 256, LOCK_TRIES = 100 };

struct dm_sweep {
    dm_sweep_options options;
    char *folder;
    dm_sweep_spec spec;
    dm_sweep_curves history;
    dm_decider *decider;
    json_t **parameters; /* of each run */
    FILE *log;
    dm_worker workers[WORKERS_MAX];
    bool ended;
};

/* ---- The log ---- */

static dm_status path_of(const dm_sweep *s, const char *name, char path[DM_PATH_MAX], dm_error *err)
{
    return dm_path_join(path, s->folder, name, err);
}

static void run_folder(const dm_sweep *s, size_t run, char path[DM_PATH_MAX])
{
    snprintf(path, DM_PATH_MAX, "%.4000s/runs/%04zu", s->folder, run);
}

static dm_status put_line(dm_sweep *s, dm_buffer *line, dm_error *err)
{
    dm_status status = dm_buffer_check(line, err);
    if (status == DM_OK &&
        (fwrite(line->data, 1, line->size, s->log) != line->size || fflush(s->log) != 0))
        status = dm_fail(err, DM_EIO, "%.900s/sweep.jsonl: %s", s->folder, strerror(errno));
    dm_buffer_deinit(line);
    return status;
}

/* {"event": ..., "run": ..., "check": ..., "reason": ...} */
static dm_status log_action(dm_sweep *s, const char *event, const dm_sweep_action *a, dm_error *err)
{
    dm_buffer line = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &line, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "event", event);
    if (a->kind == DM_SWEEP_RUN || a->kind == DM_SWEEP_STOP) {
        dm_json_uint(&json, "run", a->run);
        dm_json_uint(&json, "from", s->decider->runs[a->run].reached);
    }
    if (a->kind == DM_SWEEP_RUN)
        dm_json_uint(&json, "until", a->until);
    if (a->kind == DM_SWEEP_SWITCH) {
        dm_json_bool(&json, "forecasts", a->forecasts);
        dm_json_uint(&json, "complete", a->complete);
    }
    dm_json_string(&json, "reason", a->reason);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    return put_line(s, &line, err);
}

/* The result of a run's stretch: its values from check `from` on, or why it failed. */
static dm_status log_result(dm_sweep *s, size_t run, size_t from, const double *values,
                            const char *failed, dm_error *err)
{
    dm_buffer line = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &line, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "event", failed != NULL ? "failed" : "reached");
    dm_json_uint(&json, "run", run);
    if (failed != NULL) {
        dm_json_string(&json, "reason", failed);
    } else {
        dm_json_uint(&json, "check", s->decider->runs[run].until);
        dm_json_begin_array(&json, "values");
        for (size_t i = from; i < s->decider->runs[run].until; i++)
            dm_json_double(&json, NULL, values[i]);
        dm_json_end_array(&json);
    }
    dm_json_end_object(&json);
    dm_json_finish(&json);
    return put_line(s, &line, err);
}

/* ---- Making one ---- */

static dm_status make(dm_sweep *s, dm_error *err)
{
    size_t count = s->spec.space.count;
    s->parameters = calloc(count, sizeof(void *));
    if (s->parameters == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        if ((s->parameters[i] = dm_sweep_space_draw(&s->spec.space, i)) == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
    return dm_decider_create(s->spec.rule, &s->spec.rules, count, s->spec.checks, &s->history,
                             &s->decider, err);
}

static dm_status begin(const dm_sweep_options *options, dm_sweep **out, dm_error *err)
{
    dm_sweep *s = calloc(1, sizeof *s);
    if (s == NULL || (s->folder = strdup(options->folder)) == NULL) {
        free(s);
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    s->options = *options;
    *out = s;
    if (options->workers < 1 || options->workers > WORKERS_MAX)
        return dm_fail(err, DM_EINVAL, "a sweep has 1 to %d workers", WORKERS_MAX);
    return DM_OK;
}

/* One process at a time may work on a sweep: the lock ends with the process. A run that was forked
 * when its sweep was killed holds it until exec, which takes a while on a busy machine. */
static bool lock(FILE *log)
{
    for (int tries = 0; flock(fileno(log), LOCK_EX | LOCK_NB) != 0; tries++) {
        if (tries == LOCK_TRIES)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return true;
}

static dm_status open_log(dm_sweep *s, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = path_of(s, "sweep.jsonl", path, err);
    if (status != DM_OK)
        return status;
    s->log = fopen(path, "ae");
    if (s->log == NULL)
        return dm_fail(err, DM_EIO, "%s: %s", path, strerror(errno));
    if (!lock(s->log))
        return dm_fail(err, DM_EINVAL, "%.900s: another process works on this sweep", s->folder);
    return DM_OK;
}

static dm_status write_spec(const dm_sweep *s, dm_error *err)
{
    char path[DM_PATH_MAX];
    char *text = json_dumps(s->spec.object, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    dm_status status = text == NULL ? dm_fail(err, DM_ENOMEM, "out of memory")
                                    : path_of(s, "spec.json", path, err);
    if (status == DM_OK)
        status = dm_file_write(path, text, strlen(text), err);
    free(text);
    return status;
}

static dm_status read_history(dm_sweep *s, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < s->options.history_count && status == DM_OK; i++)
        status = dm_sweep_curves_read(s->options.history[i], &s->history, err);
    return status;
}

static dm_status write_history(const dm_sweep *s, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = path_of(s, "history.jsonl", path, err);
    return status == DM_OK ? dm_sweep_curves_write(path, &s->history, err) : status;
}

static dm_status start(dm_sweep *s, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = path_of(s, "spec.json", path, err);
    if (status == DM_OK && dm_file_exists(path))
        return dm_fail(err, DM_EINVAL,
                       "%.400s has a sweep: --resume %.400s goes on with it, another --out begins "
                       "anew",
                       s->folder, s->folder);
    if (status == DM_OK)
        status = read_history(s, err);
    if (status == DM_OK)
        status = dm_dir_create(s->folder, err);
    if (status == DM_OK && s->history.count > 0)
        status = write_history(s, err);
    if (status == DM_OK)
        status = make(s, err);
    if (status == DM_OK)
        status = open_log(s, err);
    /* Last: from now on there is something to go on with. */
    return status == DM_OK ? write_spec(s, err) : status;
}

dm_status dm_sweep_create(dm_sweep_spec *spec, const dm_sweep_options *options, dm_sweep **out,
                          dm_error *err)
{
    dm_sweep *s = NULL;
    dm_status status = begin(options, &s, err);
    if (s != NULL) {
        s->spec = *spec;
        *spec = (dm_sweep_spec){0};
    } else {
        dm_sweep_spec_deinit(spec);
    }
    if (status == DM_OK)
        status = start(s, err);
    if (status != DM_OK)
        dm_sweep_destroy(s);
    else
        *out = s;
    return status;
}

void dm_sweep_destroy(dm_sweep *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < WORKERS_MAX; i++)
        dm_worker_kill(&s->workers[i]);
    for (size_t i = 0; s->parameters != NULL && i < s->spec.space.count; i++)
        json_decref(s->parameters[i]);
    free(s->parameters);
    dm_decider_destroy(s->decider);
    dm_sweep_curves_deinit(&s->history);
    dm_sweep_spec_deinit(&s->spec);
    if (s->log != NULL)
        fclose(s->log);
    free(s->folder);
    free(s);
}

/* ---- Going on ---- */

static bool read_count(const json_t *line, const char *key, size_t limit, size_t *out)
{
    const json_t *value = json_object_get(line, key);
    *out = (size_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0 && *out <= limit;
}

static dm_status redo_result(dm_sweep *s, const json_t *line, size_t run, dm_error *err)
{
    dm_sweep_run *r = &s->decider->runs[run];
    const json_t *values = json_object_get(line, "values");
    double *all = calloc(s->decider->checks, sizeof *all);
    if (all == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < r->until; i++) {
        const json_t *value = i < r->reached ? NULL : json_array_get(values, i - r->reached);
        all[i] = i < r->reached          ? r->values[i]
                 : json_is_number(value) ? json_number_value(value)
                                         : NAN;
    }
    dm_status status = dm_decider_reached(s->decider, run, all, err);
    free(all);
    return status;
}

/* One line of the log. False: it does not fit those before it. */
static bool redo(dm_sweep *s, const json_t *line, dm_status *status, dm_error *err)
{
    dm_decider *d = s->decider;
    dm_sweep_action a = {0};
    const char *event = json_string_value(json_object_get(line, "event"));
    const char *reason = json_string_value(json_object_get(line, "reason"));
    if (event == NULL || reason == NULL)
        reason = "";
    snprintf(a.reason, sizeof a.reason, "%s", reason);
    if (event != NULL && strcmp(event, "switch") == 0) {
        a.kind = DM_SWEEP_SWITCH;
        a.forecasts = json_is_true(json_object_get(line, "forecasts"));
        bool good = read_count(line, "complete", d->count, &a.complete);
        dm_decider_redo(d, &a);
        return good;
    }
    if (event == NULL || !read_count(line, "run", d->count - 1, &a.run))
        return false;
    dm_sweep_run *r = &d->runs[a.run];
    if (strcmp(event, "run") == 0) {
        a.kind = DM_SWEEP_RUN;
        bool good = read_count(line, "until", d->checks, &a.until) && a.until > r->reached &&
                    (r->state == DM_SWEEP_WAITING || r->state == DM_SWEEP_RUNNING);
        if (good)
            dm_decider_redo(d, &a);
        return good;
    }
    if (strcmp(event, "stop") == 0) {
        a.kind = DM_SWEEP_STOP;
        dm_decider_redo(d, &a);
        return r->reached > 0;
    }
    if (strcmp(event, "winner") == 0)
        return s->ended = true;
    if (r->state != DM_SWEEP_RUNNING)
        return false;
    if (strcmp(event, "reached") == 0)
        *status = redo_result(s, line, a.run, err);
    else
        dm_decider_failed(d, a.run, reason);
    return strcmp(event, "reached") == 0 || strcmp(event, "failed") == 0;
}

/* Every line, and how many bytes of them stay: stretches that the log ends with are decided again,
 * and so is what a kill left unfinished. */
static dm_status redo_all(dm_sweep *s, const char *text, size_t size, const char *path,
                          size_t *kept, dm_error *err)
{
    dm_status status = DM_OK;
    const char *at = text, *end;
    *kept = 0;
    for (int number = 1; status == DM_OK && at < text + size &&
                         (end = memchr(at, '\n', (size_t)(text + size - at))) != NULL;
         number++) {
        json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL);
        const char *event = json_string_value(json_object_get(line, "event"));
        if (!redo(s, line, &status, err))
            status = dm_fail_at(err, DM_EFORMAT, path, number, "not a line of this sweep");
        at = end + 1;
        if (event == NULL || strcmp(event, "run") != 0)
            *kept = (size_t)(at - text);
        json_decref(line);
    }
    dm_decider_release(s->decider);
    return status;
}

static dm_status go_on(dm_sweep *s, dm_error *err)
{
    char path[DM_PATH_MAX], *text = NULL;
    size_t size = 0, kept = 0;
    json_t *object = NULL;
    dm_status status = path_of(s, "spec.json", path, err);
    if (status == DM_OK && !dm_file_exists(path))
        return dm_fail(err, DM_ENOENT, "%.900s has no sweep", s->folder);
    if (status == DM_OK)
        status = dm_json_load(path, &object, err);
    if (status == DM_OK)
        status = dm_sweep_spec_read(object, path, &s->spec, err);
    if (status == DM_OK)
        status = path_of(s, "history.jsonl", path, err);
    if (status == DM_OK && dm_file_exists(path))
        status = dm_sweep_curves_read(path, &s->history, err);
    if (status == DM_OK)
        status = make(s, err);
    if (status == DM_OK) /* the lock first */
        status = open_log(s, err);
    if (status == DM_OK)
        status = path_of(s, "sweep.jsonl", path, err);
    if (status == DM_OK)
        status = dm_file_read(path, (size_t)1 << 30, &text, &size, err);
    if (status == DM_OK)
        status = redo_all(s, text, size, path, &kept, err);
    free(text);
    if (status == DM_OK && ftruncate(fileno(s->log), (off_t)kept) != 0)
        status = dm_fail(err, DM_EIO, "%s: %s", path, strerror(errno));
    return status;
}

dm_status dm_sweep_resume(const dm_sweep_options *options, dm_sweep **out, dm_error *err)
{
    dm_sweep *s = NULL;
    dm_status status = begin(options, &s, err);
    if (status == DM_OK)
        status = go_on(s, err);
    if (status != DM_OK)
        dm_sweep_destroy(s);
    else
        *out = s;
    return status;
}

/* ---- Work ---- */

static void tell(const dm_sweep *s)
{
    dm_sweep_state state = {.runs = s->decider->count, .best = NAN};
    size_t winner = dm_decider_winner(s->decider);
    for (size_t i = 0; i < s->decider->count; i++) {
        dm_sweep_run_state is = s->decider->runs[i].state;
        state.complete += is == DM_SWEEP_DONE;
        state.stopped += is == DM_SWEEP_STOPPED;
        state.failed += is == DM_SWEEP_FAILED;
        state.running += is == DM_SWEEP_RUNNING;
    }
    if (winner < s->decider->count)
        state.best = s->decider->runs[winner].values[s->decider->checks - 1];
    if (s->options.watch != NULL)
        s->options.watch(s->options.user, &state);
}

static dm_worker *idle_worker(dm_sweep *s)
{
    for (int i = 0; i < s->options.workers; i++)
        if (s->workers[i].pid == 0)
            return &s->workers[i];
    return NULL;
}

static dm_status start_run(dm_sweep *s, const dm_sweep_action *a, dm_error *err)
{
    char folder[DM_PATH_MAX];
    dm_worker *worker = idle_worker(s);
    const dm_worker_options options = {s->options.program, s->options.device};
    run_folder(s, a->run, folder);
    worker->run = a->run;
    worker->until = a->until;
    return dm_worker_start(&s->spec, &options, s->parameters[a->run], folder, a->until, worker,
                           err);
}

/* Work for all idle workers. *more: something runs or is still to be decided. */
static dm_status hand_out(dm_sweep *s, bool *more, dm_error *err)
{
    dm_status status = DM_OK;
    dm_sweep_action a = {.kind = DM_SWEEP_RUN};
    while (status == DM_OK && idle_worker(s) != NULL) {
        status = dm_decider_next(s->decider, &a, err);
        if (status != DM_OK || a.kind == DM_SWEEP_WAIT || a.kind == DM_SWEEP_END)
            break;
        static const char *const events[] = {"run", "stop", "switch"};
        status = log_action(s, events[a.kind], &a, err);
        if (status == DM_OK && a.kind == DM_SWEEP_RUN)
            status = start_run(s, &a, err);
        tell(s);
    }
    *more = a.kind != DM_SWEEP_END;
    return status;
}

/* A process ended: its metrics, or its failure. */
static dm_status take_result(dm_sweep *s, const dm_worker *w, int code, dm_error *err)
{
    char folder[DM_PATH_MAX], words[160], why[240] = "";
    double *values = calloc(s->spec.checks, sizeof *values);
    if (values == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    size_t from = s->decider->runs[w->run].reached;
    run_folder(s, w->run, folder);
    dm_status status = DM_OK;
    if (code == 0)
        status = dm_worker_values(&s->spec, folder, w->until, values, err);
    if (code != 0) {
        dm_worker_last_words(folder, words, sizeof words);
        snprintf(why, sizeof why, "exit code %d: %s", code, words);
    } else {
        for (size_t i = from; i < w->until && why[0] == 0; i++)
            if (!(values[i] > 0) || !isfinite(values[i]))
                snprintf(why, sizeof why, "no positive number \"%.64s\" up to check %zu of %zu",
                         s->spec.metric, i + 1, s->spec.checks);
    }
    if (status == DM_OK)
        status = log_result(s, w->run, from, values, why[0] != 0 ? why : NULL, err);
    if (status == DM_OK && why[0] != 0)
        dm_decider_failed(s->decider, w->run, why);
    else if (status == DM_OK)
        status = dm_decider_reached(s->decider, w->run, values, err);
    free(values);
    tell(s);
    return status;
}

static dm_status collect(dm_sweep *s, dm_error *err)
{
    dm_status status = DM_OK;
    bool any = false;
    for (int i = 0; i < s->options.workers && status == DM_OK; i++) {
        int code;
        if (!dm_worker_ended(&s->workers[i], &code))
            continue;
        any = true;
        if (!dm_stop_requested()) /* killed, not failed */
            status = take_result(s, &s->workers[i], code, err);
    }
    if (!any)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return status;
}

/* The curves, and the page. */
static dm_status finish(dm_sweep *s, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_sweep_curves curves = {0};
    dm_error page = {0};
    dm_status status = DM_OK;
    const dm_decider *d = s->decider;
    for (size_t i = 0; i < d->count && status == DM_OK; i++)
        status =
            dm_sweep_curves_add(&curves,
                                &(dm_sweep_curve){.run = i,
                                                  .checks = d->checks,
                                                  .count = d->runs[i].reached,
                                                  .complete = d->runs[i].state == DM_SWEEP_DONE,
                                                  .values = d->runs[i].values,
                                                  .parameters = s->parameters[i]},
                                err);
    if (status == DM_OK)
        status = path_of(s, DM_SWEEP_CURVES, path, err);
    if (status == DM_OK)
        status = dm_sweep_curves_write(path, &curves, err);
    if (status == DM_OK && dm_sweep_page(s, s->parameters, s->folder, &page) != DM_OK)
        dm_log(DM_LOG_WARN, "no index.html: %s", page.message);
    dm_sweep_curves_deinit(&curves);
    return status;
}

/* The last line of the log: who won. */
static dm_status log_winner(dm_sweep *s, dm_error *err)
{
    size_t winner = dm_decider_winner(s->decider);
    dm_buffer line = DM_BUFFER_EMPTY;
    dm_json json;
    if (winner == s->decider->count) {
        const dm_sweep_run *r = &s->decider->runs[0];
        return dm_fail(err, DM_EINVAL, "no run of the sweep is complete; run 0: %s",
                       r->reason[0] != 0 ? r->reason : "stopped");
    }
    if (s->ended)
        return DM_OK;
    s->ended = true;
    dm_json_init(&json, &line, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "event", "winner");
    dm_json_uint(&json, "run", winner);
    dm_json_double(&json, "value", s->decider->runs[winner].values[s->decider->checks - 1]);
    dm_json_double(&json, "cost", dm_sweep_cost(s));
    dm_json_end_object(&json);
    dm_json_finish(&json);
    return put_line(s, &line, err);
}

dm_status dm_sweep_work(dm_sweep *s, dm_error *err)
{
    dm_status status = DM_OK;
    bool more = true;
    while (status == DM_OK && !dm_stop_requested()) {
        status = hand_out(s, &more, err);
        if (!more)
            break;
        if (status == DM_OK)
            status = collect(s, err);
    }
    for (int i = 0; i < s->options.workers; i++)
        dm_worker_kill(&s->workers[i]);
    if (status == DM_OK && more) {
        dm_stop_kept("the sweep goes on with: dotmatrix train sweep --resume %s", s->folder);
        return DM_OK;
    }
    if (status == DM_OK)
        status = log_winner(s, err);
    return status == DM_OK ? finish(s, err) : status;
}

/* ---- Questions ---- */

const dm_decider *dm_sweep_decider(const dm_sweep *s)
{
    return s->decider;
}

const dm_sweep_spec *dm_sweep_spec_of(const dm_sweep *s)
{
    return &s->spec;
}

bool dm_sweep_ended(const dm_sweep *s)
{
    return s->ended;
}

double dm_sweep_cost(const dm_sweep *s)
{
    double checks = 0;
    for (size_t i = 0; i < s->decider->count; i++)
        checks += (double)s->decider->runs[i].reached;
    return checks / (double)s->decider->checks;
}
