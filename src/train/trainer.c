/* SPDX-License-Identifier: MIT */
/* trainer.c - see trainer.h. */
#include "train/trainer.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/thread.h"
#include "train/plot.h"
#include "train/record.h"
#include "train/tensorboard.h"
#include "train/weights.h"

#include <inttypes.h>
#include <stdlib.h>

struct dm_training {
    dm_training_options options;
    char *folder; /* NULL: nothing is written */
    dm_task task;
    dm_run_record record; /* what a checkpoint says of the run besides numbers */
    dm_device *device;
    dm_nn_model *model;
    dm_metrics *metrics;
    dm_tensorboard *board;
    char *input, *target; /* a batch */
    uint64_t first;       /* step that this process began at */
    uint64_t saved;       /* step of the checkpoint in the folder; 0: none */
    dm_metric values[DM_TASK_METRICS_MAX];
    dm_training_state state;
};

/* ---- Making one ---- */

static dm_status path_of(const dm_training *t, const char *name, char path[DM_PATH_MAX],
                         dm_error *err)
{
    return dm_path_join(path, t->folder, name, err);
}

static dm_status make_model(dm_training *t, dm_error *err)
{
    const dm_train_config *c = &t->task.config;
    dm_nn_model_desc desc = dm_task_model(&t->task, 0);
    dm_status status = dm_device_open(t->options.device, &t->device, err);
    if (status == DM_OK)
        status = dm_nn_model_create(t->device, &desc, &t->model, err);
    t->input = calloc(c->batch, t->task.input_size);
    t->target = calloc(c->batch, t->task.target_size);
    if (status == DM_OK && (t->input == NULL || t->target == NULL))
        status = dm_fail(err, DM_ENOMEM, "out of memory for a batch of %" PRIu64, c->batch);
    return status;
}

static dm_status open_files(dm_training *t, dm_error *err)
{
    char path[DM_PATH_MAX];
    if (t->folder == NULL)
        return DM_OK;
    dm_status status = dm_dir_create(t->folder, err);
    if (status == DM_OK)
        status = path_of(t, "metrics.jsonl", path, err);
    if (status == DM_OK)
        status = dm_metrics_open(path, t->state.step, &t->metrics, err);
    return status == DM_OK ? dm_tensorboard_open(t->folder, &t->board, err) : status;
}

static dm_status begin(const dm_training_options *options, dm_training **out, dm_error *err)
{
    dm_training *t = *out = calloc(1, sizeof *t);
    if (t == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    t->options = *options;
    if (options->folder != NULL && (t->folder = strdup(options->folder)) == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    return DM_OK;
}

static dm_status refuse_used_folder(const dm_training *t, dm_error *err)
{
    char path[DM_PATH_MAX];
    if (t->folder == NULL)
        return DM_OK;
    dm_status status = path_of(t, DM_TRAINING_CHECKPOINT, path, err);
    if (status == DM_OK && dm_file_exists(path))
        status = dm_fail(err, DM_EINVAL,
                         "%.400s has a checkpoint: --resume %.400s goes on with it, another --out "
                         "begins anew",
                         t->folder, t->folder);
    return status;
}

static dm_status start(dm_training *t, const dm_train_config *config, dm_error *err)
{
    const dm_training_options *o = &t->options;
    dm_task_init(&t->task, config);
    dm_status status = refuse_used_folder(t, err);
    if (status == DM_OK)
        status = dm_run_record_data(&t->record, o->data, o->data_count, err);
    if (status == DM_OK)
        status = t->task.kind->load(&t->task, (const char *const *)t->record.data,
                                    t->record.data_count, err);
    if (status == DM_OK)
        status = t->task.kind->describe(&t->task, err);
    if (status == DM_OK)
        status = make_model(t, err);
    if (status == DM_OK && o->import != NULL)
        status = dm_weights_load(o->import, &t->task, t->model, err);
    t->state.steps = config->steps;
    return status == DM_OK ? open_files(t, err) : status;
}

dm_status dm_training_create(const dm_train_config *config, const dm_training_options *options,
                             dm_training **out, dm_error *err)
{
    dm_training *t = NULL;
    dm_status status = begin(options, &t, err);
    if (status == DM_OK)
        status = start(t, config, err);
    if (status != DM_OK) {
        dm_training_destroy(t);
        return status;
    }
    *out = t;
    return DM_OK;
}

/* ---- Going on ---- */

static dm_status load_record(const char *folder, int task, dm_task *out, dm_run_record *record,
                             dm_checkpoint *where, dm_safetensors **file, dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_path_join(path, folder, DM_TRAINING_CHECKPOINT, err);
    if (status == DM_OK && !dm_file_exists(path))
        return dm_fail(err, DM_ENOENT, "%.900s has no checkpoint", folder);
    if (status == DM_OK)
        status =
            dm_checkpoint_load(path, task < 0 ? NULL : dm_train_task_names[task], where, file, err);
    if (status == DM_OK)
        status = dm_run_record_read(where->config, where->model, path, out, record, err);
    return status;
}

static dm_status go_on(dm_training *t, int task, uint64_t steps, dm_error *err)
{
    const dm_training_options *o = &t->options;
    dm_checkpoint where = {0};
    dm_safetensors *file = NULL;
    dm_status status = load_record(t->folder, task, &t->task, &t->record, &where, &file, err);
    if (status == DM_OK && steps > 0)
        t->task.config.steps = steps;
    if (status == DM_OK && o->data_count > 0)
        status = dm_run_record_data(&t->record, o->data, o->data_count, err);
    if (status == DM_OK)
        status = t->task.kind->load(&t->task, (const char *const *)t->record.data,
                                    t->record.data_count, err);
    if (status == DM_OK && strcmp(t->task.hash, t->record.hash) != 0)
        status = dm_fail(err, DM_EFORMAT,
                         "the data are not those of the run in %.400s: their hash is %s, its %s",
                         t->folder, t->task.hash, t->record.hash);
    if (status == DM_OK)
        status = t->task.kind->describe(&t->task, err);
    if (status == DM_OK)
        status = make_model(t, err);
    if (status == DM_OK)
        status = dm_weights_restore(file, t->folder, &t->task, t->model, where.step, err);
    dm_safetensors_close(file);
    t->first = t->saved = t->state.step = where.step;
    t->state.steps = t->task.config.steps;
    return status;
}

dm_status dm_training_resume(const dm_training_options *options, int task, uint64_t steps,
                             dm_training **out, dm_error *err)
{
    dm_training *t = NULL;
    dm_status status = begin(options, &t, err);
    if (status == DM_OK)
        status = go_on(t, task, steps, err);
    if (status != DM_OK) {
        dm_training_destroy(t);
        return status;
    }
    *out = t;
    return DM_OK;
}

dm_status dm_training_open(const char *folder, dm_task *task, dm_safetensors **file, uint64_t *step,
                           dm_error *err)
{
    dm_run_record record = {0};
    dm_checkpoint where = {0};
    *task = (dm_task){0};
    *file = NULL;
    dm_status status = load_record(folder, -1, task, &record, &where, file, err);
    if (status == DM_OK && task->kind != &dm_task_gpt)
        status = dm_fail(err, DM_EUNSUPPORTED, "%.400s has a model of %s; only gpt writes text",
                         folder, task->kind->name);
    if (status == DM_OK)
        status = task->kind->describe(task, err);
    *step = where.step;
    dm_run_record_deinit(&record);
    if (status != DM_OK) {
        dm_safetensors_close(*file);
        dm_task_deinit(task);
        *file = NULL;
    }
    return status;
}

void dm_training_destroy(dm_training *t)
{
    if (t == NULL)
        return;
    dm_metrics_close(t->metrics);
    dm_tensorboard_close(t->board);
    dm_nn_model_destroy(t->model);
    dm_device_close(t->device);
    dm_task_deinit(&t->task);
    dm_run_record_deinit(&t->record);
    free(t->input);
    free(t->target);
    free(t->folder);
    free(t);
}

/* ---- Steps ---- */

dm_status dm_training_evaluate(dm_training *t, dm_metric *metrics, size_t *count, dm_error *err)
{
    bool average = t->task.config.average > 0;
    dm_status status = average ? dm_nn_model_swap_average(t->model, err) : DM_OK;
    if (status == DM_OK)
        status = t->task.kind->evaluate(&t->task, t->model, metrics, count, err);
    if (status == DM_OK && average)
        status = dm_nn_model_swap_average(t->model, err);
    return status;
}

static dm_status evaluate_here(dm_training *t, dm_error *err)
{
    t->state.metrics = t->values;
    return dm_training_evaluate(t, t->values, &t->state.metric_count, err);
}

static dm_status save(dm_training *t, dm_error *err)
{
    const dm_task *task = &t->task;
    char path[DM_PATH_MAX];
    dm_buffer record = DM_BUFFER_EMPTY;
    uint64_t position = t->state.step * task->config.batch;
    dm_run_record_write(&t->record, task, &record);
    dm_status status = dm_buffer_check(&record, err);
    if (status == DM_OK)
        status = path_of(t, DM_TRAINING_CHECKPOINT, path, err);
    if (status == DM_OK)
        status = dm_weights_checkpoint(path,
                                       &(dm_checkpoint){.model = task->kind->name,
                                                        .config = dm_buffer_text(&record),
                                                        .step = t->state.step,
                                                        .seed = task->config.seed,
                                                        .epoch = position / task->samples,
                                                        .position = position % task->samples},
                                       task, t->model, err);
    dm_buffer_deinit(&record);
    if (status != DM_OK)
        return status;
    t->saved = t->state.step;
    t->state.saved = true;
    dm_stop_kept("the checkpoint of step %" PRIu64 " of %" PRIu64 " is saved; go on with: "
                 "dotmatrix train %s --resume %s",
                 t->saved, t->state.steps, task->kind->name, t->folder);
    return DM_OK;
}

/* A line of metrics; TensorBoard gets the speed too, which is never the same twice. */
static dm_status log_step(dm_training *t, dm_error *err)
{
    dm_training_state *s = &t->state;
    dm_metric values[4 + DM_TASK_METRICS_MAX] = {
        {"loss", s->loss}, {"rate", s->rate}, {"norm", s->norm}};
    char speed[32];
    size_t count = 3;
    for (size_t i = 0; i < s->metric_count; i++)
        values[count++] = s->metrics[i];
    dm_status status = dm_metrics_write(t->metrics, s->step, values, count, err);
    snprintf(speed, sizeof speed, "%s_per_second", t->task.kind->unit);
    values[count++] = (dm_metric){speed, s->seconds > 0 ? (double)s->units / s->seconds : 0};
    return status == DM_OK ? dm_tensorboard_write(t->board, s->step, values, count, err) : status;
}

static bool due(uint64_t step, uint64_t every, uint64_t last)
{
    return step == last || (every > 0 && step % every == 0);
}

static dm_status train_step(dm_training *t, bool wait, dm_error *err)
{
    const dm_task *task = &t->task;
    const dm_train_config *c = &task->config;
    uint64_t begun = dm_time_ns(), step = t->state.step;
    float loss = 0, norm = 0;
    for (uint64_t b = 0; b < c->batch; b++)
        task->kind->sample(task, step * c->batch + b, t->input + b * task->input_size,
                           t->target + b * task->target_size);
    const dm_nn_schedule schedule = {.kind = (dm_nn_schedule_kind)c->schedule,
                                     .rate = (float)c->rate,
                                     .last = (float)(c->rate * c->rate_end),
                                     .warmup = c->warmup,
                                     .steps = c->steps};
    float rate = dm_nn_schedule_rate(&schedule, step);
    dm_nn_model_set_rate(t->model, rate);
    dm_status status = dm_nn_model_step(t->model, t->input, t->target, NULL, err);
    if (status == DM_OK && wait)
        status = dm_nn_model_loss(t->model, &loss, &norm, err);
    if (status != DM_OK)
        return status;
    t->state.step++;
    t->state.units += c->batch * task->units;
    t->state.seconds += (double)(dm_time_ns() - begun) * 1e-9;
    t->state.rate = (double)rate;
    if (wait) {
        t->state.loss = (double)loss;
        t->state.norm = (double)norm;
    }
    return DM_OK;
}

/* The step, and what falls due after it. */
static dm_status advance(dm_training *t, dm_error *err)
{
    const dm_train_config *c = &t->task.config;
    uint64_t step = t->state.step + 1;
    bool log = due(step, c->log_every, c->steps), evaluates = due(step, c->eval_every, c->steps);
    bool saves = t->folder != NULL && due(step, c->checkpoint_every, c->steps);
    t->state.metric_count = 0;
    t->state.saved = false;
    dm_status status = train_step(t, log || evaluates || saves, err);
    if (status == DM_OK && evaluates)
        status = evaluate_here(t, err);
    if (status == DM_OK && t->folder != NULL && (log || evaluates))
        status = log_step(t, err);
    if (status == DM_OK && saves)
        status = save(t, err);
    if (status == DM_OK && t->options.watch != NULL)
        t->options.watch(t->options.user, &t->state);
    return status;
}

/* The error with where the run can be taken up again. */
static dm_status say_where(const dm_training *t, dm_status status, dm_error *err)
{
    if (err == NULL || t->saved == 0)
        return status;
    dm_error was = *err;
    return dm_fail(err, status, "%.700s; the checkpoint of step %" PRIu64 " is in %.200s",
                   was.message, t->saved, t->folder);
}

/* What a finished run has besides its checkpoint. */
static dm_status finish(dm_training *t, dm_error *err)
{
    char metrics[DM_PATH_MAX], path[DM_PATH_MAX];
    dm_error plot = {0};
    dm_status status = path_of(t, "model.safetensors", path, err);
    if (status == DM_OK)
        status = dm_weights_save(path, &t->task, t->model, t->task.config.average > 0, err);
    if (status == DM_OK)
        status = path_of(t, "metrics.jsonl", metrics, err);
    if (status == DM_OK)
        status = path_of(t, "loss.png", path, err);
    if (status == DM_OK && dm_plot_losses(metrics, path, &plot) != DM_OK)
        dm_log(DM_LOG_WARN, "no loss.png: %s", plot.message);
    return status;
}

dm_status dm_training_run(dm_training *t, dm_error *err)
{
    uint64_t steps = t->task.config.steps;
    dm_status status = DM_OK;
    if (t->metrics == NULL)
        status = open_files(t, err);
    /* Within a step the process is not ended by the clock after Ctrl-C. */
    dm_stop_hold();
    while (status == DM_OK && t->state.step < steps && !dm_stop_requested())
        status = advance(t, err);
    if (status != DM_OK)
        status = say_where(t, status, err);
    else if (t->state.step < steps && t->folder != NULL && t->saved != t->state.step)
        status = save(t, err);
    else if (t->state.step >= steps && t->state.metric_count == 0)
        status = evaluate_here(t, err);
    if (status == DM_OK && t->state.step >= steps && t->folder != NULL)
        status = finish(t, err);
    dm_stop_release();
    return status;
}

/* ---- Questions ---- */

const dm_task *dm_training_task(const dm_training *t)
{
    return &t->task;
}

dm_nn_model *dm_training_model(dm_training *t)
{
    return t->model;
}

const dm_training_state *dm_training_where(const dm_training *t)
{
    return &t->state;
}
