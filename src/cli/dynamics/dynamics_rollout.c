/* SPDX-License-Identifier: MIT */
/* dynamics_rollout.c - `dotmatrix dynamics rollout` of an ensemble over the encoder's 64 features:
 * with --losses it first follows that run, learning from it unless --learn off. */
#include "base/file.h"
#include "base/json.h"
#include "base/terminal/color.h"
#include "cli/dynamics/dynamics_options.h"
#include "cli/dynamics/dynamics_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOSSES_MAX (64u << 20) /* bytes of a file of losses */

/* ---- A run's losses ---- */

typedef struct run_losses {
    float *values;
    size_t count;
} run_losses;

static dm_status read_losses(const char *path, run_losses *out, dm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, LOSSES_MAX, &text, &size, err);
    if (status != DM_OK)
        return status;
    out->values = malloc((size / 2 + 1) * sizeof *out->values);
    if (out->values == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    int line = 1;
    for (char *p = text; status == DM_OK && *p != 0; line++) {
        char *end = p + strcspn(p, "\n"), *after;
        float value = strtof(p, &after);
        bool empty = strspn(p, " \t\r") >= (size_t)(end - p);
        if (!empty && (after == p || after > end || strspn(after, " \t\r") < (size_t)(end - after)))
            status = dm_fail_at(err, DM_EFORMAT, path, line, "a line holds one number");
        if (!empty && status == DM_OK)
            out->values[out->count++] = value;
        p = *end == 0 ? end : end + 1;
    }
    if (status == DM_OK && out->count < 2)
        status =
            dm_fail_at(err, DM_EFORMAT, path, 0, "%zu losses; at least 2 are needed", out->count);
    free(text);
    return status;
}

/* ---- rollout ---- */

/* Everything that a forecast holds. */
typedef struct forecast {
    const dm_dynamics_options *options;
    dm_dynamics *model;
    dm_device *device;
    dm_dynamics_device *on;
    dm_dynamics_encoder *encoder;
    dm_dynamics_trainer *trainer;
    dm_dynamics_forecast *rollout;
    run_losses losses;
    size_t skipped;  /* losses of the file that are not finite */
    size_t count;    /* the others */
    float *features; /* [count][64] */
    double objective;
} forecast;

static void forecast_deinit(forecast *f)
{
    dm_dynamics_device_destroy(f->on);
    dm_dynamics_forecast_destroy(f->rollout);
    dm_dynamics_trainer_destroy(f->trainer);
    dm_dynamics_encoder_destroy(f->encoder);
    dm_dynamics_destroy(f->model);
    dm_device_close(f->device);
    free(f->losses.values);
    free(f->features);
}

static dm_status make_model(forecast *f, dm_error *err)
{
    const dm_dynamics_options *o = f->options;
    if (o->model != NULL) {
        dm_status status = dm_dynamics_load(o->model, &f->model, err);
        if (status == DM_OK &&
            dm_dynamics_get_config(f->model)->input != DM_DYNAMICS_ENCODER_FEATURES)
            status = dm_fail_at(
                err, DM_EFORMAT, o->model, 0, "this model takes %u features, the encoder gives %d",
                dm_dynamics_get_config(f->model)->input, DM_DYNAMICS_ENCODER_FEATURES);
        return status;
    }
    dm_dynamics_config config = {(uint32_t)o->members,          (uint32_t)o->hidden,
                                 (uint32_t)o->stochastic,       DM_DYNAMICS_ENCODER_FEATURES,
                                 (dm_dynamics_gru_kind)o->kind, false};
    return dm_dynamics_create(&config, (uint64_t)o->seed, &f->model, err);
}

static int learning_threads(const forecast *f)
{
    const dm_device_properties *p = dm_device_get_properties(f->device);
    bool chosen = dm_options_is_given(&f->options->given, "device") && p->kind == DM_DEVICE_CPU;
    return chosen ? p->multiprocessors : 0;
}

/* Encode the losses, learn from them, and leave the trainer where the run stands. */
static dm_status follow(forecast *f, dm_error *err)
{
    size_t all = f->losses.count, count = 0;
    f->features = calloc(all, DM_DYNAMICS_ENCODER_FEATURES * sizeof *f->features);
    if (f->features == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = dm_dynamics_encoder_create(DM_DYNAMICS_ENCODER_LOSSES,
                                                  DM_DYNAMICS_ENCODER_NORMS, &f->encoder, err);
    for (size_t i = 0; i < all && status == DM_OK; i++) {
        dm_dynamics_sample sample = {
            .step = i + 1, .loss = f->losses.values[i], .phase = 1, .phase_step = (uint32_t)i};
        if (!isfinite(sample.loss))
            continue;
        dm_dynamics_encoder_update(f->encoder, &sample,
                                   f->features + count++ * DM_DYNAMICS_ENCODER_FEATURES);
    }
    f->count = count;
    f->skipped = all - count;
    if (status == DM_OK && count < 2)
        status = dm_fail_at(err, DM_EFORMAT, f->options->losses, 0,
                            "%zu of %zu losses are finite; at least 2 are needed", count, all);
    if (status == DM_OK && f->options->model == NULL)
        status = dm_dynamics_fit_scaling(f->model, f->features, count, err);
    if (status == DM_OK)
        status = dm_dynamics_trainer_create(
            f->model, &(dm_dynamics_trainer_config)DM_DYNAMICS_TRAINER_DEFAULT, &f->trainer, err);
    if (status == DM_OK) /* members side by side, on all cores unless --device says how many */
        status = dm_dynamics_trainer_set_threads(f->trainer, learning_threads(f), err);
    int64_t passes = f->options->passes;
    if (f->options->learn == DM_DYNAMICS_LEARN_OFF) { /* hidden states only: a rate of 0 */
        passes = 1;
        if (status == DM_OK)
            status = dm_dynamics_trainer_set_learning_rate(f->trainer, 0, err);
    }
    for (int64_t pass = 0; pass < passes && status == DM_OK; pass++) {
        f->objective = 0;
        dm_dynamics_trainer_restart(f->trainer);
        for (size_t i = 0; i < count && status == DM_OK; i++) {
            float objective = 0;
            status = dm_dynamics_trainer_observe(
                f->trainer, f->features + i * DM_DYNAMICS_ENCODER_FEATURES, &objective, err);
            f->objective += (double)objective / (double)(count - 1);
        }
    }
    return status;
}

static void write_metrics(dm_json *json, const dm_dynamics_metrics *m)
{
    dm_json_double(json, "loss_variance", (double)m->loss_variance);
    dm_json_double(json, "trajectory_smoothness", (double)m->trajectory_smoothness);
    dm_json_double(json, "step_delta_mean", (double)m->step_delta_mean);
}

static dm_status print_json(const forecast *f, dm_error *err)
{
    const dm_dynamics_forecast *r = f->rollout;
    size_t Y = r->steps;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "device", f->options->device);
    dm_json_uint(&json, "members", r->members);
    dm_json_uint(&json, "hidden", r->hidden);
    dm_json_uint(&json, "steps", r->steps);
    dm_json_uint(&json, "losses_seen", f->count);
    dm_json_uint(&json, "losses_skipped", f->skipped);
    dm_dynamics_write_array(&json, "mean", r->mean, Y);
    dm_dynamics_write_array(&json, "deviation", r->deviation, Y);
    dm_dynamics_write_array(&json, "total", r->total, Y);
    dm_dynamics_write_array(&json, "confidence", r->confidence, Y);
    dm_dynamics_write_array(&json, "step_deltas", r->step_deltas, Y - 1);
    dm_json_begin_object(&json, "metrics");
    write_metrics(&json, &r->metrics[0]);
    dm_json_end_object(&json);
    dm_json_begin_array(&json, "trajectories");
    for (size_t e = 0; e < r->members; e++) {
        dm_json_begin_object(&json, NULL);
        dm_dynamics_write_array(&json, "loss", r->loss + e * Y, Y);
        dm_dynamics_write_array(&json, "entropy", r->entropy + e * Y, Y);
        dm_dynamics_write_array(&json, "hidden_norms", r->hidden_norm + e * Y, Y);
        write_metrics(&json, &r->member_metrics[e]);
        dm_json_end_object(&json);
    }
    dm_json_end_array(&json);
    dm_json_end_object(&json);
    return dm_dynamics_print_json(&json, &text, err);
}

static void print_text(const forecast *f)
{
    const dm_dynamics_forecast *r = f->rollout;
    printf("%u members of %u units, %u steps ahead", r->members, r->hidden, r->steps);
    if (f->losses.count > 0)
        printf(", after %zu losses (mean error of log loss %.4f)", f->count,
               sqrt(2 * f->objective));
    if (f->skipped > 0)
        printf("; %zu that %s not finite skipped", f->skipped, f->skipped == 1 ? "is" : "are");
    printf("\n%s  step        mean       total  confidence%s\n",
           dm_color(STDOUT_FILENO, DM_COLOR_BOLD), dm_color(STDOUT_FILENO, DM_COLOR_OFF));
    for (uint32_t t = 0; t < r->steps; t++)
        if (t < 3 || (t + 1) % 10 == 0 || t + 1 == r->steps)
            printf("  %4u  %10.5g  %10.5g  %10.4f\n", t + 1, (double)r->mean[t],
                   (double)r->total[t], (double)r->confidence[t]);
    printf("loss variance %.5g, smoothness %.5g, mean step %.5g\n",
           (double)r->metrics[0].loss_variance, (double)r->metrics[0].trajectory_smoothness,
           (double)r->metrics[0].step_delta_mean);
}

static dm_status check_finite(const dm_dynamics_forecast *r, dm_error *err)
{
    for (uint32_t t = 0; t < r->steps; t++)
        if (!isfinite(r->mean[t]) || !isfinite(r->total[t]))
            return dm_fail(
                err, DM_EFORMAT,
                "the forecast of step %u is not finite: the model's weights or scale are "
                "too large for this run",
                t + 1);
    return DM_OK;
}

static dm_status run_forecast(forecast *f, dm_error *err)
{
    const dm_dynamics_options *o = f->options;
    static const float nothing[DM_DYNAMICS_ENCODER_FEATURES];
    dm_status status = dm_device_open(o->device, &f->device, err);
    if (status == DM_OK && o->losses != NULL)
        status = read_losses(o->losses, &f->losses, err);
    if (status == DM_OK)
        status = make_model(f, err);
    if (status == DM_OK && o->losses != NULL)
        status = follow(f, err);
    if (status == DM_OK)
        status = dm_dynamics_device_create(f->device, f->model, &f->on, err);
    if (status == DM_OK)
        status = dm_dynamics_forecast_create(f->model, 1, (uint32_t)o->steps, &f->rollout, err);
    if (status == DM_OK)
        status = dm_dynamics_device_rollout(
            f->on,
            f->features == NULL ? nothing
                                : f->features + (f->count - 1) * DM_DYNAMICS_ENCODER_FEATURES,
            f->trainer == NULL ? NULL : dm_dynamics_trainer_hidden(f->trainer), f->rollout, err);
    if (status == DM_OK)
        status = check_finite(f->rollout, err);
    if (status == DM_OK && o->save != NULL)
        status = dm_dynamics_save(f->model, o->save, err);
    if (status == DM_OK && o->plot != NULL)
        status = dm_dyn_plot_rollout(f->rollout, f->losses.values, f->losses.count, o->plot, err);
    if (status == DM_OK && o->json)
        return print_json(f, err);
    if (status == DM_OK)
        print_text(f);
    return status;
}

dm_status dm_dynamics_run_rollout(const dm_dynamics_options *o, dm_error *err)
{
    forecast f = {.options = o};
    dm_status status = run_forecast(&f, err);
    forecast_deinit(&f);
    return status;
}
