/* SPDX-License-Identifier: MIT */
/* dynamics_forecast.c - `dotmatrix dynamics forecast`: how a run goes on, by a curve model. */
#include "base/file.h"
#include "base/json.h"
#include "base/terminal/color.h"
#include "cli/dynamics/dynamics_options.h"
#include "cli/dynamics/dynamics_plot.h"
#include "dynamics/curve/learn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLLOW_RATE 1e-4f

/* Steps of the run between two of its samples: the median of the last ones. */
static uint64_t spacing(const dm_curve *curve)
{
    uint64_t last = curve->samples[curve->count - 1].step;
    size_t back = curve->count - 1 < 32 ? curve->count - 1 : 32;
    uint64_t first = curve->samples[curve->count - 1 - back].step;
    return back > 0 && last > first ? (last - first + back / 2) / back : 1;
}

static dm_status print_json(const dm_curve *curve, const dm_dynamics_curve_forecast *f,
                            const char *model, dm_error *err)
{
    static const char *const names[DM_DYNAMICS_CURVE_BASELINES] = {"last", "mean", "linear",
                                                                   "power"};
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "curve", curve->name);
    dm_json_string(&json, "model", model);
    dm_json_uint(&json, "members", f->members);
    dm_json_uint(&json, "steps", f->steps);
    dm_json_uint(&json, "losses_seen", f->seen);
    dm_json_uint(&json, "losses_skipped", curve->skipped);
    dm_json_uint(&json, "last_step", curve->samples[curve->count - 1].step);
    dm_json_uint(&json, "steps_between", spacing(curve));
    dm_dynamics_write_array(&json, "mean", f->mean, f->steps);
    dm_dynamics_write_array(&json, "low", f->low, f->steps);
    dm_dynamics_write_array(&json, "high", f->high, f->steps);
    dm_dynamics_write_array(&json, "combination", f->combination, f->steps);
    dm_json_begin_object(&json, "baselines");
    for (size_t k = 0; k < DM_DYNAMICS_CURVE_BASELINES; k++)
        dm_dynamics_write_array(&json, names[k], f->baseline[k], f->steps);
    dm_json_end_object(&json);
    dm_json_begin_array(&json, "trajectories");
    for (size_t e = 0; e < f->members; e++)
        dm_dynamics_write_array(&json, NULL, f->member + e * f->steps, f->steps);
    dm_json_end_array(&json);
    dm_json_end_object(&json);
    return dm_dynamics_print_json(&json, &text, err);
}

static void print_text(const dm_curve *curve, const dm_dynamics_curve_forecast *f)
{
    uint64_t last = curve->samples[curve->count - 1].step, apart = spacing(curve);
    printf("%s: %zu losses, the last of step %llu", curve->name, curve->count,
           (unsigned long long)last);
    if (curve->skipped > 0)
        printf("; %zu not between 1e-30 and 1e30 skipped", curve->skipped);
    printf(
        "\n   ahead      step    forecast        90%% band           last        mean      linear "
        "      power\n");
    for (uint32_t t = 0; t < f->steps; t++)
        if (t == 0 || t == 4 || (t + 1) % 10 == 0 || t + 1 == f->steps || t == 24) {
            if (t >= 100 && (t + 1) % 100 != 0 && t + 1 != f->steps)
                continue;
            printf("  %6u  %8llu  %10.5g  %9.4g %9.4g  %10.5g  %10.5g  %10.5g  %10.5g\n", t + 1,
                   (unsigned long long)last + (t + 1ull) * apart, (double)f->mean[t],
                   (double)f->low[t], (double)f->high[t], (double)f->baseline[0][t],
                   (double)f->baseline[1][t], (double)f->baseline[2][t], (double)f->baseline[3][t]);
        }
}

static dm_status forecast(const dm_dynamics_options *o, const char *path, dm_curve *curve,
                          dm_dynamics *model, dm_error *err)
{
    dm_dynamics_curve_forecast *f = NULL;
    char model_path[DM_PATH_MAX];
    dm_status status = dm_dynamics_curve_model_path(o, model_path, err);
    if (status == DM_OK && o->learn == DM_DYNAMICS_LEARN_ON)
        status = dm_curve_follow(model, curve, (uint32_t)o->passes, FOLLOW_RATE, err);
    if (status == DM_OK)
        status = dm_dynamics_curve_forecast_create(model, curve->samples, curve->count,
                                                   (uint32_t)o->steps, &f, err);
    if (status == DM_OK && o->save != NULL)
        status = dm_dynamics_save(model, o->save, err);
    if (status == DM_OK && o->plot != NULL)
        status = dm_dyn_plot_forecast(f, curve->samples, curve->count, curve->name, o->plot, err);
    if (status == DM_OK && o->json)
        status = print_json(curve, f, model_path, err);
    else if (status == DM_OK)
        print_text(curve, f);
    if (status == DM_EINVAL && f == NULL)
        dm_error_prefix(err, "%s", path);
    dm_dynamics_curve_forecast_destroy(f);
    return status;
}

dm_status dm_dynamics_run_forecast(const dm_dynamics_options *o, const char *path, dm_error *err)
{
    dm_curve curve = {0};
    dm_dynamics *model = NULL;
    dm_status status = dm_curve_read(path, 2, &curve, err);
    if (status == DM_OK)
        status = dm_dynamics_load_curve_model(o, &model, err);
    if (status == DM_OK)
        status = forecast(o, path, &curve, model, err);
    dm_dynamics_destroy(model);
    dm_curve_deinit(&curve);
    return status;
}
