/* SPDX-License-Identifier: MIT */
/* train_run.c - dotmatrix train xor|cnn|gpt, eval, sample and export. */
#include "base/file.h"
#include "base/terminal/log.h"
#include "base/terminal/progress.h"
#include "cli/outputs.h"
#include "cli/places.h"
#include "cli/train/train.h"
#include "lab/provenance.h"
#include "train/data/tokens.h"
#include "train/sample.h"
#include "train/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Watching ---- */

typedef struct watcher {
    dm_progress *progress;
    const char *task;
    uint64_t units;
} watcher;

/* "val_loss 1.8123, accuracy 0.9712" */
static void format_metrics(char *out, size_t size, const dm_metric *metrics, size_t count)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s %.4f", i > 0 ? ", " : "",
                                 metrics[i].name, metrics[i].value);
}

static void watch(void *user, const dm_training_state *s)
{
    watcher *w = user;
    char label[64], line[256], metrics[160];
    snprintf(label, sizeof label, "%s  step %" PRIu64 "/%" PRIu64 "  loss %.4f", w->task,
             s->progress, s->steps, s->loss);
    dm_progress_label(w->progress, label);
    dm_progress_add(w->progress, s->units - w->units);
    w->units = s->units;
    if (s->metric_count == 0 || s->progress >= s->steps)
        return;
    format_metrics(metrics, sizeof metrics, s->metrics, s->metric_count);
    snprintf(line, sizeof line, "step %" PRIu64 ": loss %.4f, %s", s->step, s->loss, metrics);
    if (w->progress != NULL)
        dm_log_line(line);
}

static void say_begin(dm_training *training, const char *device)
{
    const dm_task *task = dm_training_task(training);
    dm_nn_model *model = dm_training_model(training);
    printf("%s: %s; %zu weights; on %s by %s\n", task->kind->name, task->about,
           dm_nn_model_size(model), device, dm_nn_model_products(model));
    fflush(stdout);
}

/* ---- What a run leaves: run.json ---- */

static dm_status write_run(dm_training *training, const char *device, const char *folder,
                           dm_error *err)
{
    const dm_training_state *s = dm_training_where(training);
    const dm_task *task = dm_training_task(training);
    char path[DM_PATH_MAX], key[32];
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_begin_object(&json, "config");
    dm_train_config_write(&task->config, &json);
    dm_json_end_object(&json);
    dm_json_string(&json, "data_hash", task->hash);
    dm_json_begin_object(&json, "result");
    dm_json_uint(&json, "step", s->step);
    dm_json_uint(&json, "weights", dm_nn_model_size(dm_training_model(training)));
    dm_json_double(&json, "loss", s->loss);
    for (size_t i = 0; i < s->metric_count; i++)
        dm_json_double(&json, s->metrics[i].name, s->metrics[i].value);
    dm_json_double(&json, "seconds", s->seconds);
    snprintf(key, sizeof key, "%s_per_second", task->kind->unit);
    dm_json_double(&json, key, s->seconds > 0 ? (double)s->units / s->seconds : 0);
    dm_json_string(&json, "device", device);
    dm_json_string(&json, "products", dm_nn_model_products(dm_training_model(training)));
    dm_json_end_object(&json);
    dm_lab_provenance(&json, NULL, 0);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    dm_status status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        status = dm_path_join(path, folder, "run.json", err);
    if (status == DM_OK)
        status = dm_file_write(path, text.data, text.size, err);
    dm_buffer_deinit(&text);
    return status;
}

/* ---- Training ---- */

dm_status dm_train_choose_folder(const char *task, char *out, dm_error *err)
{
    for (int i = 1; i < 1000000; i++) {
        snprintf(out, DM_PATH_MAX, "runs/%s-%d", task, i);
        if (!dm_dir_exists(out) && !dm_file_exists(out))
            return DM_OK;
    }
    return dm_fail(err, DM_EIO, "runs has too many folders; --out names one");
}

static dm_status print_fields(const dm_train_config *config, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_train_config_help(config, &text);
    dm_status status = dm_buffer_check(&text, err);
    if (status == DM_OK)
        fputs(dm_buffer_text(&text), stdout);
    dm_buffer_deinit(&text);
    return status;
}

/* Byte pairs have GPT-2's vocabulary, so that its plan needs no text. */
static dm_status describe_task(const dm_train_options *o, dm_task *task, dm_error *err)
{
    if (task->config.task == DM_TRAIN_GPT && o->data.count == 0 &&
        task->config.tokenizer == DM_TOKENIZER_BPE) {
        task->vocabulary = DM_TOKENS_GPT2_VOCABULARY;
        return task->kind->describe(task, err);
    }
    dm_status status = task->kind->load(task, o->data.items, o->data.count, err);
    return status == DM_OK ? task->kind->describe(task, err) : status;
}

static dm_status print_plan(const dm_train_options *o, const dm_train_config *config, dm_error *err)
{
    const double MiB = 1 << 20;
    dm_task task;
    dm_device *device = NULL;
    dm_nn_memory memory = {0};
    dm_task_init(&task, config);
    dm_status status = dm_device_open(o->device, &device, err);
    if (status == DM_OK)
        status = describe_task(o, &task, err);
    if (status == DM_OK) {
        dm_nn_model_desc desc = dm_task_model(&task, 0);
        status = dm_nn_model_memory(device, &desc, &memory, err);
    }
    if (status == DM_OK)
        printf("%" PRIu64 " weights in %zu layers; %.1f MiB for weights, gradients and moments, "
               "%.1f MiB for activations, %.1f MiB of scratch\n",
               memory.numbers, task.layer_count, (double)memory.parameters / MiB,
               (double)memory.activations / MiB, (double)memory.scratch / MiB);
    dm_task_deinit(&task);
    dm_device_close(device);
    return status;
}

/* Options that what was asked for has no use for. */
static dm_status check_use(const dm_train_options *o, dm_error *err)
{
    static const char *const fixed[] = {"set", "config", "seed", "out", "import", "predict", NULL};
    static const char *const shown[] = {"plan", "fields", NULL};
    static const char *const of_a_run[] = {"out", "until", "import", "trace", NULL};
    dm_status status = DM_OK;
    if (o->resume != NULL)
        status = dm_train_refuse(o, fixed, "is the run's own with --resume", err);
    if (status == DM_OK && o->resume != NULL)
        status = dm_train_refuse(o, shown, "is for a run that begins: leave --resume out", err);
    if (status == DM_OK && (o->plan || o->fields))
        status = dm_train_refuse(o, of_a_run, "does nothing where nothing is trained", err);
    return status;
}

static dm_status open_training(const dm_train_options *o, dm_train_task task,
                               const dm_train_config *config, const dm_training_options *options,
                               dm_training **out, dm_error *err)
{
    if (o->resume == NULL)
        return dm_training_create(config, options, out, err);
    return dm_training_resume(options, (int)task,
                              dm_train_given(o, "steps") ? (uint64_t)o->steps : 0, out, err);
}

static void print_result(const dm_training *training, const char *folder)
{
    const dm_training_state *s = dm_training_where(training);
    const char *unit = dm_training_task(training)->kind->unit;
    char metrics[160];
    format_metrics(metrics, sizeof metrics, s->metrics, s->metric_count);
    printf("%s: %" PRIu64 " steps, loss %.4f%s%s", folder, s->step, s->loss,
           s->metric_count > 0 ? ", " : "", metrics);
    if (s->seconds > 0)
        printf("; %.1f s, %.0f %s/s", s->seconds, (double)s->units / s->seconds, unit);
    printf("\n");
}

dm_status dm_train_run(const dm_train_options *o, dm_train_task task, dm_error *err)
{
    char folder[DM_PATH_MAX], forecaster[DM_PATH_MAX];
    dm_train_config config;
    dm_training *training = NULL;
    watcher w = {.task = dm_train_task_names[task]};
    dm_status status = check_use(o, err);
    if (status == DM_OK)
        status = dm_train_read_config(o, task, &config, err);
    if (status == DM_OK && o->fields)
        return print_fields(&config, err);
    if (status == DM_OK && o->plan)
        return print_plan(o, &config, err);
    if (status == DM_OK && o->resume == NULL && o->out == NULL)
        status = dm_train_choose_folder(w.task, folder, err);
    else if (status == DM_OK)
        status = dm_path_join(folder, "", o->resume != NULL ? o->resume : o->out, err);
    if (status != DM_OK)
        return status;
    dm_training_options options = {.device = o->device,
                                   .data = o->data.items,
                                   .data_count = o->data.count,
                                   .folder = folder,
                                   .import = o->import,
                                   .forecaster =
                                       dm_place_curve_model(forecaster) ? forecaster : NULL,
                                   .trace = o->trace,
                                   .until = (uint64_t)o->until,
                                   .watch = watch,
                                   .user = &w};
    status = open_training(o, task, &config, &options, &training, err);
    if (status != DM_OK)
        return status;
    const dm_training_state *s = dm_training_where(training);
    const dm_task *about = dm_training_task(training);
    say_begin(training, o->device);
    if (s->progress < s->steps)
        w.progress =
            dm_progress_start(w.task, about->kind->unit,
                              (s->steps - s->progress) * about->config.batch * about->units);
    status = dm_training_run(training, err);
    dm_progress_finish(w.progress);
    if (status == DM_OK && s->progress >= s->steps)
        status = write_run(training, o->device, folder, err);
    if (status == DM_OK && s->progress >= s->steps)
        print_result(training, folder);
    else if (status == DM_OK && !dm_stop_requested())
        printf("%s: the checkpoint of step %" PRIu64 " of %" PRIu64
               " is saved; --resume %s goes on\n",
               folder, s->step, s->steps, folder);
    dm_training_destroy(training);
    return status;
}

/* ---- Runs that are there ---- */

dm_status dm_train_eval(const dm_train_options *o, const char *folder, dm_error *err)
{
    char forecaster[DM_PATH_MAX];
    dm_training *training = NULL;
    dm_metric metrics[DM_TASK_METRICS_MAX];
    size_t count = 0;
    dm_training_options options = {.device = o->device,
                                   .data = o->data.items,
                                   .data_count = o->data.count,
                                   .folder = folder,
                                   .forecaster =
                                       dm_place_curve_model(forecaster) ? forecaster : NULL};
    dm_status status = dm_training_resume(&options, -1, 0, &training, err);
    if (status == DM_OK)
        status = dm_training_evaluate(training, metrics, &count, err);
    if (status == DM_OK && count == 0)
        status = dm_fail(err, DM_EUNSUPPORTED, "the run has no data to measure with");
    if (status == DM_OK && o->json) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_json json;
        dm_json_init(&json, &text, DM_JSON_PRETTY);
        dm_json_begin_object(&json, NULL);
        dm_json_uint(&json, "step", dm_training_where(training)->step);
        for (size_t i = 0; i < count; i++)
            dm_json_double(&json, metrics[i].name, metrics[i].value);
        dm_json_end_object(&json);
        dm_json_finish(&json);
        fputs(dm_buffer_text(&text), stdout);
        dm_buffer_deinit(&text);
    } else if (status == DM_OK) {
        char text[160];
        format_metrics(text, sizeof text, metrics, count);
        printf("%s: step %" PRIu64 ": %s\n", folder, dm_training_where(training)->step, text);
    }
    dm_training_destroy(training);
    return status;
}

static void write_text(void *user, const char *text, size_t size)
{
    (void)user;
    fwrite(text, 1, size, stdout);
    fflush(stdout);
}

dm_status dm_train_sample_text(const dm_train_options *o, const char *folder, dm_error *err)
{
    if (!(o->temperature >= 0))
        return dm_fail(err, DM_EINVAL, "--temperature: %g is below 0", o->temperature);
    const dm_sample_options options = {.device = o->device,
                                       .prompt = o->prompt,
                                       .tokens = (uint64_t)o->tokens,
                                       .temperature = o->temperature,
                                       .top_k = (uint64_t)o->top_k,
                                       .seed = (uint64_t)o->seed};
    dm_status status = dm_sample(folder, &options, write_text, NULL, err);
    if (status == DM_OK)
        printf("\n");
    return status;
}

dm_status dm_train_export(const dm_train_options *o, const char *folder, dm_error *err)
{
    char path[DM_PATH_MAX];
    if (o->out == NULL)
        return dm_fail(err, DM_EINVAL, "export needs --out FILE.safetensors");
    dm_status status = dm_outputs_check(&(dm_output){"out", o->out, false}, 1, err);
    if (status == DM_OK)
        status = dm_path_join(path, folder, DM_TRAINING_CHECKPOINT, err);
    if (status == DM_OK)
        status = dm_weights_export(path, o->average, o->out, err);
    if (status == DM_OK)
        printf("%s: written\n", o->out);
    return status;
}
