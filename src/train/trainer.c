/* SPDX-License-Identifier: MIT */
/* trainer.c - see trainer.h. */
#include "train/trainer.h"
#include "base/file.h"
#include "base/terminal/log.h"
#include "base/terminal/stop.h"
#include "base/thread.h"
#include "train/plot.h"
#include "train/record.h"
#include "train/tensorboard.h"
#include "train/weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

struct dm_training {
    dm_training_options options;
    char *folder; /* NULL: nothing is written */
    dm_task task;
    dm_run_record record; /* what a checkpoint says of the run besides numbers */
    dm_device *device;
    dm_nn_model *model;
    dm_metrics *metrics;
    dm_tensorboard *board;
    dm_predictive *predictive; /* NULL without predict */
    dm_predict_turn turn;
    dm_trace *trace;
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

/* ---- What the predictive trainer asks for ---- */

static double planned_rate(const dm_train_config *c, uint64_t step)
{
    const dm_nn_schedule schedule = {.kind = (dm_nn_schedule_kind)c->schedule,
                                     .rate = (float)c->rate,
                                     .last = (float)(c->rate * c->rate_end),
                                     .warmup = c->warmup,
                                     .steps = c->steps};
    return (double)dm_nn_schedule_rate(&schedule, step);
}

static void fill_batch(dm_training *t, uint64_t step)
{
    const dm_task *task = &t->task;
    uint64_t batch = task->config.batch;
    for (uint64_t b = 0; b < batch; b++)
        task->kind->sample(task, step * batch + b, t->input + b * task->input_size,
                           t->target + b * task->target_size);
}

/* A loss of NaN is no error here: the monitor judges it. */
static dm_status predict_step(void *user, uint64_t progress, double factor, double *loss,
                              double *norm, double *rate, dm_error *err)
{
    dm_training *t = user;
    float got = 0, length = 0;
    *rate = planned_rate(&t->task.config, progress) * factor;
    fill_batch(t, progress);
    dm_nn_model_set_rate(t->model, (float)*rate);
    dm_status status = dm_nn_model_step(t->model, t->input, t->target, NULL, err);
    if (status == DM_OK || status == DM_EINVAL)
        status = dm_nn_model_loss(t->model, &got, &length, err);
    *loss = (double)got;
    *norm = (double)length;
    bool finite = isfinite(got) && isfinite(length);
    t->state.units += t->task.config.batch * t->task.units;
    return status == DM_EINVAL && !finite ? DM_OK : status;
}

static dm_status predict_peek(void *user, uint64_t progress, double *loss, dm_error *err)
{
    dm_training *t = user;
    float got = NAN;
    fill_batch(t, progress);
    dm_status status = dm_nn_model_evaluate(t->model, t->input, t->target, NULL, &got, err);
    *loss = (double)got;
    return status == DM_EINVAL && !isfinite(got) ? DM_OK : status;
}

static dm_status predict_held_out(void *user, double *loss, dm_error *err)
{
    dm_training *t = user;
    dm_error reason = {0};
    *loss = NAN;
    dm_status status = t->task.kind->held_out(&t->task, t->model, loss, &reason);
    if (status == DM_EINVAL) { /* weights that give no number: as bad as can be */
        *loss = NAN;
        return DM_OK;
    }
    return status == DM_OK ? DM_OK : dm_fail(err, status, "%s", reason.message);
}

static dm_status make_predictive(dm_training *t, dm_error *err)
{
    const dm_train_config *c = &t->task.config;
    dm_predict_run run = {.user = t,
                          .device = t->device,
                          .model = t->model,
                          .step = predict_step,
                          .peek = predict_peek,
                          .held_out = predict_held_out,
                          .beta1 = c->optimiser == DM_NN_SGD ? c->momentum : c->beta1,
                          .beta2 = c->beta2,
                          .trace = t->trace,
                          .held_batches = ceil((double)t->task.held / (double)c->batch)};
    return dm_predictive_create(&c->rules, &run, t->options.forecaster, c->seed, &t->predictive,
                                err);
}

static dm_status make_model(dm_training *t, dm_error *err)
{
    const dm_train_config *c = &t->task.config;
    if (c->predict && c->average == 0) /* proposals move the average */
        t->task.config.average = c->rules.proposal_average;
    dm_nn_model_desc desc = dm_task_model(&t->task, 0);
    dm_status status = dm_device_open(t->options.device, &t->device, err);
    if (status == DM_OK)
        status = dm_nn_model_create(t->device, &desc, &t->model, err);
    t->input = calloc(c->batch, t->task.input_size);
    t->target = calloc(c->batch, t->task.target_size);
    if (status == DM_OK && (t->input == NULL || t->target == NULL))
        status = dm_fail(err, DM_ENOMEM, "out of memory for a batch of %" PRIu64, c->batch);
    return status == DM_OK && c->predict ? make_predictive(t, err) : status;
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
    if (options->trace != NULL) {
        dm_status status = dm_trace_open(options->trace, &t->trace, err);
        if (status != DM_OK)
            return status;
    }
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

/* The tensors "predict.…" of a checkpoint; predict/run/parts.c says what they are. */
static dm_status restore_predictive(dm_training *t, const dm_safetensors *file, dm_error *err)
{
    dm_predict_part parts[DM_PREDICT_PARTS_MAX];
    size_t count = 0;
    dm_status status = dm_predictive_parts(t->predictive, parts, &count, err);
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        const dm_safetensor *s = dm_safetensors_find(file, parts[i].name);
        if (s == NULL || s->type != DM_SAFETENSORS_U8 || s->dimensions != 1 ||
            s->shape[0] != parts[i].size)
            status = dm_fail(err, DM_EFORMAT, "%.400s: there is no %s of %zu bytes", t->folder,
                             parts[i].name, parts[i].size);
        else
            memcpy(parts[i].data, s->data, parts[i].size);
    }
    if (status == DM_OK)
        status = dm_predictive_loaded(t->predictive, err);
    if (status == DM_OK) {
        t->state.progress = dm_predictive_progress(t->predictive);
        dm_nn_model_set_steps(t->model, dm_predictive_model_steps(t->predictive));
    }
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
    t->first = t->saved = t->state.step = t->state.progress = where.step;
    if (status == DM_OK && t->predictive != NULL)
        status = restore_predictive(t, file, err);
    dm_safetensors_close(file);
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
    dm_predictive_destroy(t->predictive);
    dm_trace_close(t->trace, NULL);
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
    uint64_t begun = dm_trace_now(t->trace);
    t->state.metrics = t->values;
    dm_status status = dm_training_evaluate(t, t->values, &t->state.metric_count, err);
    dm_trace_span(t->trace, "evaluation", begun);
    return status;
}

static dm_status save(dm_training *t, dm_error *err)
{
    const dm_task *task = &t->task;
    char path[DM_PATH_MAX];
    dm_buffer record = DM_BUFFER_EMPTY;
    uint64_t position = t->state.progress * task->config.batch;
    dm_predict_part parts[DM_PREDICT_PARTS_MAX];
    dm_safetensor more[DM_PREDICT_PARTS_MAX];
    size_t count = 0;
    uint64_t begun = dm_trace_now(t->trace);
    dm_run_record_write(&t->record, task, &record);
    dm_status status = dm_buffer_check(&record, err);
    if (status == DM_OK && t->predictive != NULL)
        status = dm_predictive_parts(t->predictive, parts, &count, err);
    for (size_t i = 0; i < count && status == DM_OK; i++)
        more[i] =
            (dm_safetensor){parts[i].name, DM_SAFETENSORS_U8, 1, {parts[i].size}, parts[i].data};
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
                                       task, t->model, more, count, err);
    dm_buffer_deinit(&record);
    dm_trace_span(t->trace, "checkpoint", begun);
    if (status != DM_OK)
        return status;
    t->saved = t->state.step;
    t->state.saved = true;
    dm_stop_kept("the checkpoint of step %" PRIu64 " of %" PRIu64 " is saved; go on with: "
                 "dotmatrix train %s --resume %s",
                 t->saved, t->state.steps, task->kind->name, t->folder);
    return DM_OK;
}

typedef struct line {
    const dm_training *training;
    const dm_metric *values;
    size_t count;
} line;

/* The members of a line of metrics, the predictive trainer's among them. */
static void write_line(void *user, dm_json *json)
{
    const line *l = user;
    const dm_training *t = l->training;
    for (size_t i = 0; i < l->count; i++)
        if (t->predictive == NULL || isfinite(l->values[i].value))
            dm_json_double(json, l->values[i].name, l->values[i].value);
    if (t->predictive == NULL)
        return;
    dm_json_string(json, "phase", dm_predict_phase_names[t->turn.phase]);
    dm_json_uint(json, "progress", t->turn.progress);
    dm_json_uint(json, "backward", dm_predictive_counts(t->predictive)->backward);
    dm_json_double(json, "forward", dm_predictive_counts(t->predictive)->forward);
    dm_predictive_log(t->predictive, json);
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
    dm_status status =
        dm_metrics_write_with(t->metrics, s->step, write_line, &(line){t, values, count}, err);
    snprintf(speed, sizeof speed, "%s_per_second", t->task.kind->unit);
    values[count++] = (dm_metric){speed, s->seconds > 0 ? (double)s->units / s->seconds : 0};
    if (t->predictive != NULL && !isfinite(s->norm)) /* a turn without a step: nothing to plot */
        return status;
    return status == DM_OK ? dm_tensorboard_write(t->board, s->step, values, count, err) : status;
}

static dm_status plain_step(dm_training *t, bool wait, dm_error *err)
{
    float loss = 0, norm = 0, rate = (float)planned_rate(&t->task.config, t->state.progress);
    fill_batch(t, t->state.progress);
    dm_nn_model_set_rate(t->model, rate);
    dm_status status = dm_nn_model_step(t->model, t->input, t->target, NULL, err);
    if (status == DM_OK && wait)
        status = dm_nn_model_loss(t->model, &loss, &norm, err);
    if (status != DM_OK)
        return status;
    t->state.progress++;
    t->state.units += t->task.config.batch * t->task.units;
    t->state.rate = (double)rate;
    if (wait) {
        t->state.loss = (double)loss;
        t->state.norm = (double)norm;
    }
    return DM_OK;
}

static dm_status predicted_turn(dm_training *t, dm_error *err)
{
    dm_status status = dm_predictive_turn(t->predictive, t->state.steps, &t->turn, err);
    t->state.turn = &t->turn;
    t->state.progress = t->turn.progress;
    t->state.loss = t->turn.loss;
    t->state.norm = t->turn.norm;
    t->state.rate = t->turn.rate;
    return status;
}

static double thread_seconds(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* `wait`: the loss of this step is needed now. */
static dm_status one_turn(dm_training *t, bool wait, dm_error *err)
{
    uint64_t begun = dm_time_ns();
    double busy = t->options.count_busy ? thread_seconds() : 0;
    uint64_t span = dm_trace_now(t->trace);
    dm_status status = t->predictive != NULL ? predicted_turn(t, err) : plain_step(t, wait, err);
    if (t->predictive == NULL)
        dm_trace_span(t->trace, "step", span);
    t->state.step += status == DM_OK;
    t->state.seconds += (double)(dm_time_ns() - begun) * 1e-9;
    if (t->options.count_busy)
        t->state.busy += thread_seconds() - busy;
    return status;
}

static bool due(uint64_t step, uint64_t every)
{
    return every > 0 && step % every == 0;
}

/* Something to be logged whatever the step. */
static bool eventful(const dm_predict_turn *turn)
{
    return turn->decided || turn->proposed || turn->judged || turn->rolled_back;
}

/* The turn, and what falls due after it. */
static dm_status advance(dm_training *t, dm_error *err)
{
    const dm_train_config *c = &t->task.config;
    uint64_t step = t->state.step + 1;
    bool log = due(step, c->log_every), evaluates = due(step, c->eval_every);
    bool saves = due(step, c->checkpoint_every), next_last = t->state.progress + 1 >= c->steps;
    t->state.metric_count = 0;
    t->state.saved = false;
    /* On the CPU the loss is known at once; on other devices reading it waits for the step. */
    bool waits = dm_device_get_properties(t->device)->kind == DM_DEVICE_CPU;
    dm_status status = one_turn(t, waits || log || evaluates || saves || next_last, err);
    bool last = t->state.progress >= c->steps;
    log = log || last || (t->predictive != NULL && eventful(&t->turn));
    if (status == DM_OK && (evaluates || last))
        status = evaluate_here(t, err);
    if (status == DM_OK && t->folder != NULL && (log || evaluates))
        status = log_step(t, err);
    if (status == DM_OK && t->folder != NULL && (saves || last))
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
    uint64_t until = t->options.until > 0 ? t->options.until : UINT64_MAX;
    /* After Ctrl-C a step is finished first: the timeout that ends the process is held. */
    dm_stop_hold();
    while (status == DM_OK && t->state.progress < steps && t->state.step < until &&
           !dm_stop_requested())
        status = advance(t, err);
    if (status != DM_OK)
        status = say_where(t, status, err);
    else if (t->state.progress < steps && t->folder != NULL && t->saved != t->state.step)
        status = save(t, err);
    else if (t->state.progress >= steps && t->state.metric_count == 0)
        status = evaluate_here(t, err);
    if (status == DM_OK && t->state.progress >= steps && t->folder != NULL)
        status = finish(t, err);
    dm_status traced = dm_trace_close(t->trace, status == DM_OK ? err : NULL);
    t->trace = NULL;
    status = status == DM_OK ? traced : status;
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

const dm_predictive *dm_training_predictive(const dm_training *t)
{
    return t->predictive;
}

const dm_training_state *dm_training_where(const dm_training *t)
{
    return &t->state;
}
