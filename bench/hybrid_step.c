/* SPDX-License-Identifier: MIT */
/* hybrid_step.c - what a turn of the predictive trainer costs, per phase and part, beside a step of
 * plain training, for the three models.
 *
 *     dm-bench-hybrid-step [--only TASK] [--text FILE] [--device ID] [--steps N] [--rounds N] [--json FILE]
 *                          [NAME=VALUE ...]
 *
 * Three kinds of run in turns, `rounds` times: plain; plain with the average of the weights that a predictive run
 * keeps too; predictive. The overhead is that of the time between the ends of two FULL turns that follow each other
 * over a plain step, means and medians over all rounds; the least and the largest of the rounds show how steady the
 * machine was. With --device cpu:1 the time is processor time, which other programs change little. Parts come from the
 * trainer's own spans (trace.h). So that all phases occur, the warm-up has 20 steps and any confidence is enough.
 * NAME=VALUE sets fields, preset=NAME before all others. */
#include "base/file.h"
#include "base/json.h"
#include "base/median.h"
#include "base/temp.h"
#include "base/thread.h"
#include "cli/places.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 24, TURNS_MAX = 100000 };

typedef struct options {
    const char *only, *text, *device, *json;
    uint64_t steps, rounds;
    const char *const *settings;
    size_t setting_count;
} options;

/* A part within a phase: "step" within "full". */
typedef struct part {
    char name[32];
    uint64_t count;
    double microseconds;
} part;

typedef struct phase {
    char name[32];
    uint64_t turns;
    double microseconds;
    part parts[PARTS_MAX];
    size_t part_count;
} phase;

/* ---- Runs ---- */

enum {
    PLAIN,
    AVERAGED,
    PREDICTIVE,
    KINDS,
    ROUNDS_MAX = 64,
    SKIPPED = 5 /* steps of a run that warm it up */
};
static const char *const kind_names[KINDS] = {"plain", "plain with average", "predictive, FULL"};

/* Seconds from one step's end to the next's, of all rounds. */
typedef struct times {
    double *seconds;
    size_t count;
    double round_means[ROUNDS_MAX];
    size_t rounds;
} times;

typedef struct clock_watch {
    times *times;
    bool busy; /* processor time */
    double last;
    bool was_full;
    size_t seen, first; /* of this run */
} clock_watch;

static void watch(void *user, const dm_training_state *state)
{
    clock_watch *w = user;
    double now = w->busy ? state->busy : (double)dm_time_ns() * 1e-9;
    bool full = state->turn == NULL || state->turn->phase == DM_PHASE_FULL;
    if (w->last != 0 && w->times->count < TURNS_MAX && state->metric_count == 0 && full &&
        w->was_full && w->seen++ >= SKIPPED)
        w->times->seconds[w->times->count++] = now - w->last;
    w->last = now;
    w->was_full = full;
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i] / (double)count;
    return sum;
}

static dm_status train(const options *o, const dm_train_config *config, const char *trace, times *t,
                       dm_error *err)
{
    clock_watch w = {.times = t, .first = t->count, .busy = strcmp(o->device, "cpu:1") == 0};
    dm_training *training = NULL;
    dm_training_options run = {
        .device = o->device, .trace = trace, .watch = watch, .user = &w, .count_busy = w.busy};
    char forecaster[DM_PATH_MAX];
    const char *data[] = {o->text};
    if (config->task == DM_TRAIN_GPT && o->text != NULL) {
        run.data = data;
        run.data_count = 1;
    }
    if (dm_place_curve_model(forecaster))
        run.forecaster = forecaster;
    dm_status status = dm_training_create(config, &run, &training, err);
    if (status == DM_OK)
        status = dm_training_run(training, err);
    dm_training_destroy(training);
    if (status == DM_OK && t->rounds < ROUNDS_MAX)
        t->round_means[t->rounds++] = mean_of(t->seconds + w.first, t->count - w.first);
    return status;
}

/* ---- A predictive run ---- */

static bool is_phase(const char *name)
{
    for (int i = 0; i < DM_PHASES; i++)
        if (strcmp(name, dm_predict_phase_names[i]) == 0)
            return true;
    return false;
}

static part *find_part(part *parts, size_t *count, const char *name)
{
    size_t i = 0;
    while (i < *count && strcmp(parts[i].name, name) != 0)
        i++;
    if (i == *count && *count < PARTS_MAX) {
        parts[i] = (part){.count = 0};
        snprintf(parts[i].name, sizeof parts[i].name, "%.31s", name);
        (*count)++;
    }
    return i < PARTS_MAX ? &parts[i] : &parts[PARTS_MAX - 1];
}

/* Spans are written as they end, so what lies within a turn comes before it. */
static dm_status read_trace(const char *path, phase phases[DM_PHASES], dm_error *err)
{
    json_t *spans = NULL;
    part open[PARTS_MAX];
    size_t open_count = 0;
    dm_status status = dm_json_load(path, &spans, err);
    for (size_t i = 0; status == DM_OK && i < json_array_size(spans); i++) {
        const json_t *span = json_array_get(spans, i);
        const char *name = json_string_value(json_object_get(span, "name"));
        double length = json_number_value(json_object_get(span, "dur"));
        if (name == NULL || strcmp(name, "evaluation") == 0 || strcmp(name, "checkpoint") == 0)
            continue;
        if (!is_phase(name)) {
            part *p = find_part(open, &open_count, name);
            p->count++;
            p->microseconds += length;
            continue;
        }
        int k = 0;
        while (strcmp(dm_predict_phase_names[k], name) != 0)
            k++;
        phases[k].turns++;
        phases[k].microseconds += length;
        for (size_t j = 0; j < open_count; j++) {
            part *p = find_part(phases[k].parts, &phases[k].part_count, open[j].name);
            p->count += open[j].count;
            p->microseconds += open[j].microseconds;
        }
        open_count = 0;
    }
    json_decref(spans);
    return status;
}

/* ---- Telling ---- */

static void tell_times(times all[KINDS], dm_json *json)
{
    double means[KINDS], medians[KINDS];
    for (int k = 0; k < KINDS; k++) {
        times *t = &all[k];
        means[k] = mean_of(t->seconds, t->count);
        medians[k] = dm_median(t->seconds, t->count);
        dm_sort_values(t->round_means, t->rounds);
        double low = t->rounds > 0 ? t->round_means[0] : 0;
        double high = t->rounds > 0 ? t->round_means[t->rounds - 1] : 0;
        printf("  %-20s %6zu steps: mean %9.4f ms (rounds %.4f to %.4f), median %9.4f ms",
               kind_names[k], t->count, means[k] * 1e3, low * 1e3, high * 1e3, medians[k] * 1e3);
        dm_json_begin_object(json, kind_names[k]);
        dm_json_uint(json, "steps", t->count);
        dm_json_double(json, "mean_ms", means[k] * 1e3);
        dm_json_double(json, "round_least_ms", low * 1e3);
        dm_json_double(json, "round_largest_ms", high * 1e3);
        dm_json_double(json, "median_ms", medians[k] * 1e3);
        if (k != PLAIN) {
            double mean = means[k] / means[PLAIN] - 1, middle = medians[k] / medians[PLAIN] - 1;
            printf("; over plain: mean %+.2f%%, median %+.2f%%", 100 * mean, 100 * middle);
            dm_json_double(json, "over_plain_mean", mean);
            dm_json_double(json, "over_plain_median", middle);
        }
        printf("\n");
        dm_json_end_object(json);
    }
}

static void tell_phases(const phase phases[DM_PHASES], dm_json *json)
{
    for (int k = 0; k < DM_PHASES; k++) {
        const phase *p = &phases[k];
        if (p->turns == 0)
            continue;
        double turns = (double)p->turns;
        printf("  %-8s %5" PRIu64 " turns of %9.3f ms:", dm_predict_phase_names[k], p->turns,
               p->microseconds / turns * 1e-3);
        dm_json_begin_object(json, dm_predict_phase_names[k]);
        dm_json_uint(json, "turns", p->turns);
        dm_json_double(json, "ms", p->microseconds / turns * 1e-3);
        for (size_t j = 0; j < p->part_count; j++) {
            printf(" %s %.3f", p->parts[j].name, p->parts[j].microseconds / turns * 1e-3);
            dm_json_double(json, p->parts[j].name, p->parts[j].microseconds / turns * 1e-3);
        }
        printf("\n");
        dm_json_end_object(json);
    }
}

static dm_status configure(const options *o, dm_train_task task, uint64_t steps,
                           dm_train_config *config, dm_error *err)
{
    const char *preset = NULL;
    for (size_t i = 0; i < o->setting_count; i++)
        if (strncmp(o->settings[i], "preset=", 7) == 0)
            preset = o->settings[i] + 7;
    dm_status status = dm_train_config_preset(task, preset, config, err);
    config->steps = steps;
    config->eval_every = config->checkpoint_every = 0;
    config->rules.warmup_steps = 20;
    config->rules.confidence_needed = 0;
    if (task == DM_TRAIN_GPT)
        config->eval_windows = 16;
    for (size_t i = 0; i < o->setting_count && status == DM_OK; i++)
        if (strncmp(o->settings[i], "preset=", 7) != 0)
            status = dm_train_config_set(config, o->settings[i], err);
    return status;
}

static dm_status measure(const options *o, dm_train_task task, uint64_t steps, const char *folder,
                         dm_json *json, dm_error *err)
{
    char trace[DM_PATH_MAX];
    dm_train_config config;
    times all[KINDS] = {0};
    phase phases[DM_PHASES];
    memset(phases, 0, sizeof phases);
    dm_status status = configure(o, task, steps, &config, err);
    if (status == DM_OK)
        status = dm_path_join(trace, folder, "trace.json", err);
    for (int k = 0; k < KINDS && status == DM_OK; k++)
        if ((all[k].seconds = malloc(TURNS_MAX * sizeof(double))) == NULL)
            status = dm_fail(err, DM_ENOMEM, "out of memory");
    for (uint64_t round = 0; round < o->rounds && status == DM_OK; round++)
        for (int k = 0; k < KINDS && status == DM_OK; k++) {
            dm_train_config one = config;
            one.predict = k == PREDICTIVE;
            one.average = k == PLAIN ? config.average : config.rules.proposal_average;
            status = train(o, &one, k == PREDICTIVE ? trace : NULL, &all[k], err);
            if (status == DM_OK && k == PREDICTIVE)
                status = read_trace(trace, phases, err);
        }
    if (status == DM_OK) {
        printf("%s:\n", dm_train_task_names[task]);
        dm_json_begin_object(json, dm_train_task_names[task]);
        tell_times(all, json);
        tell_phases(phases, json);
        dm_json_end_object(json);
    }
    for (int k = 0; k < KINDS; k++)
        free(all[k].seconds);
    return status;
}

static dm_status run(const options *o, dm_error *err)
{
    static const uint64_t steps[DM_TRAIN_TASKS] = {1000, 400, 120};
    char folder[DM_PATH_MAX];
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_status status = dm_temp_folder(folder, NULL, err);
    if (status != DM_OK)
        return status;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    for (int task = 0; task < DM_TRAIN_TASKS && status == DM_OK; task++)
        if (o->only == NULL || strcmp(o->only, dm_train_task_names[task]) == 0)
            status = measure(o, (dm_train_task)task, o->steps > 0 ? o->steps : steps[task], folder,
                             &json, err);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    if (status == DM_OK && o->json != NULL)
        status = dm_file_write(o->json, dm_buffer_text(&text), text.size, err);
    dm_buffer_deinit(&text);
    dm_dir_remove(folder, NULL);
    return status;
}

int main(int argc, char **argv)
{
    options o = {.device = "cpu", .rounds = 3};
    dm_error err = {0};
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--text") == 0)
            o.text = argv[at + 1];
        else if (strcmp(argv[at], "--device") == 0)
            o.device = argv[at + 1];
        else if (strcmp(argv[at], "--only") == 0)
            o.only = argv[at + 1];
        else if (strcmp(argv[at], "--rounds") == 0)
            o.rounds = strtoull(argv[at + 1], NULL, 10);
        else if (strcmp(argv[at], "--json") == 0)
            o.json = argv[at + 1];
        else if (strcmp(argv[at], "--steps") == 0)
            o.steps = strtoull(argv[at + 1], NULL, 10);
        else
            break;
    }
    if (at < argc && strncmp(argv[at], "--", 2) == 0) {
        fprintf(stderr, "usage: dm-bench-hybrid-step [--only TASK] [--text FILE] [--device ID] "
                        "[--steps N] [--rounds N] [--json FILE] [NAME=VALUE ...]\n");
        return 2;
    }
    o.settings = (const char *const *)argv + at;
    o.setting_count = (size_t)(argc - at);
    if (run(&o, &err) != DM_OK) {
        fprintf(stderr, "dm-bench-hybrid-step: %s\n", err.message);
        return 1;
    }
    return 0;
}
