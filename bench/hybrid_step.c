/* SPDX-License-Identifier: MIT */
/* hybrid_step.c - what a turn of the predictive trainer costs, per phase and part, beside a step of
 * plain training, for the three models.
 *
 *     dm-bench-hybrid-step [--text FILE] [--device ID] [--steps N] [--json FILE] [NAME=VALUE ...]
 *
 * The parts come from the trainer's own spans (trace.h), so a FULL turn and the step within it are
 * measured together; plain runs before and after it show how steady the machine is. So that all
 * phases occur, the warm-up has 20 steps and any confidence is enough. NAME=VALUE sets fields. */
#include "base/file.h"
#include "base/json.h"
#include "base/temp.h"
#include "base/thread.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 24, TURNS_MAX = 100000 };

typedef struct options {
    const char *text, *device, *json;
    uint64_t steps;
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

/* ---- A plain run ---- */

typedef struct clock_watch {
    uint64_t last;
    double seconds[TURNS_MAX];
    size_t count;
} clock_watch;

static void watch(void *user, const dm_training_state *state)
{
    clock_watch *w = user;
    uint64_t now = dm_time_ns();
    if (w->last != 0 && w->count < TURNS_MAX && state->metric_count == 0)
        w->seconds[w->count++] = (double)(now - w->last) * 1e-9;
    w->last = now;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static dm_status train(const options *o, const dm_train_config *config, const char *trace,
                       clock_watch *w, dm_error *err)
{
    dm_training *training = NULL;
    dm_training_options run = {.device = o->device, .trace = trace, .watch = watch, .user = w};
    const char *data[] = {o->text};
    if (config->task == DM_TRAIN_GPT && o->text != NULL) {
        run.data = data;
        run.data_count = 1;
    }
    *w = (clock_watch){0};
    dm_status status = dm_training_create(config, &run, &training, err);
    if (status == DM_OK)
        status = dm_training_run(training, err);
    dm_training_destroy(training);
    return status;
}

static double median(clock_watch *w)
{
    qsort(w->seconds, w->count, sizeof *w->seconds, by_value);
    return w->count > 0 ? w->seconds[w->count / 2] : 0;
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

static double step_time(const phase *p)
{
    for (size_t j = 0; j < p->part_count; j++)
        if (strcmp(p->parts[j].name, "step") == 0)
            return p->parts[j].microseconds;
    return 0;
}

static void tell(const char *task, const phase phases[DM_PHASES], double before, double after,
                 dm_json *json)
{
    dm_json_begin_object(json, task);
    dm_json_double(json, "plain_ms_before", before * 1e3);
    dm_json_double(json, "plain_ms_after", after * 1e3);
    printf("%s: a plain step %.3f ms before, %.3f ms after (medians)\n", task, before * 1e3,
           after * 1e3);
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
        if (step_time(p) > 0) {
            double overhead = (p->microseconds - step_time(p)) / step_time(p);
            printf("; overhead %.2f%%", 100 * overhead);
            dm_json_double(json, "overhead", overhead);
        }
        printf("\n");
        dm_json_end_object(json);
    }
    dm_json_end_object(json);
}

static dm_status configure(const options *o, dm_train_task task, uint64_t steps,
                           dm_train_config *config, dm_error *err)
{
    dm_status status = dm_train_config_preset(task, NULL, config, err);
    config->steps = steps;
    config->eval_every = config->checkpoint_every = 0;
    config->rules.warmup_steps = 20;
    config->rules.confidence_needed = 0;
    if (task == DM_TRAIN_GPT)
        config->eval_windows = 16;
    for (size_t i = 0; i < o->setting_count && status == DM_OK; i++)
        status = dm_train_config_set(config, o->settings[i], err);
    return status;
}

static dm_status measure(const options *o, dm_train_task task, uint64_t steps, const char *folder,
                         dm_json *json, dm_error *err)
{
    char trace[DM_PATH_MAX];
    dm_train_config config;
    clock_watch *w = calloc(1, sizeof *w);
    phase phases[DM_PHASES];
    double before = 0, after = 0;
    memset(phases, 0, sizeof phases);
    if (w == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = configure(o, task, steps, &config, err);
    if (status == DM_OK)
        status = dm_path_join(trace, folder, "trace.json", err);
    if (status == DM_OK)
        status = train(o, &config, NULL, w, err);
    before = median(w);
    config.predict = 1;
    if (status == DM_OK)
        status = train(o, &config, trace, w, err);
    config.predict = 0;
    if (status == DM_OK)
        status = train(o, &config, NULL, w, err);
    after = median(w);
    if (status == DM_OK)
        status = read_trace(trace, phases, err);
    if (status == DM_OK)
        tell(dm_train_task_names[task], phases, before, after, json);
    free(w);
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
    options o = {.device = "cpu"};
    dm_error err = {0};
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--text") == 0)
            o.text = argv[at + 1];
        else if (strcmp(argv[at], "--device") == 0)
            o.device = argv[at + 1];
        else if (strcmp(argv[at], "--json") == 0)
            o.json = argv[at + 1];
        else if (strcmp(argv[at], "--steps") == 0)
            o.steps = strtoull(argv[at + 1], NULL, 10);
        else
            break;
    }
    if (at < argc && strncmp(argv[at], "--", 2) == 0) {
        fprintf(stderr, "usage: dm-bench-hybrid-step [--text FILE] [--device ID] [--steps N] "
                        "[--json FILE] [NAME=VALUE ...]\n");
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
