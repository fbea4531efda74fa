/* SPDX-License-Identifier: MIT */
/* cmd_dynamics.c - `dotmatrix dynamics`: forecasts of a run's losses, values and speed of the
 * kernels.
 *
 *   forecast  how a run goes on, with a band, by the model that comes with the program or another
 *   learn     makes such a model from curves and synthetic families
 *   evaluate  its errors beside those of plain forecasts
 *   rollout   an ensemble over the encoder's features; with --losses it first follows that run
 *   check     values of all kernels against the float64 reference
 *   bench     times over the grids of sizes; with --out an artifact and plots */
#include "base/file.h"
#include "base/json.h"
#include "cli/dynamics/dynamics_bench.h"
#include "cli/dynamics/dynamics_options.h"
#include "cli/dynamics/dynamics_plot.h"
#include "cli/outputs.h"
#include "cli/places.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {"reset-first", "reset-last", NULL};
/* Options of a model that is made. */
enum { OF_NEW = 5 };
static const char *const of_new[OF_NEW] = {"members", "hidden", "stochastic", "kind", "seed"};
static const char *const learn_names[] = {"auto", "on", "off", NULL};

#define OPTIONS dm_dynamics_options
static const dm_option rows[] = {
    DM_OPTION_STRING(OPTIONS, device, "device", "ID", "cpu:1",
                     "cpu:1, cuda:0 ...; learn: cpu (all cores) unless it is given"),
    DM_OPTION_STRING(OPTIONS, model, "model", "FILE", NULL,
                     "a saved model (.safetensors); otherwise the one that comes with the program, "
                     "or a new one"),
    DM_OPTION_INT(OPTIONS, members, "members", "N", 1, DM_DYNAMICS_MEMBERS_MAX, "5",
                  "of a new model's ensemble"),
    DM_OPTION_INT(OPTIONS, hidden, "hidden", "N", 1, DM_DYNAMICS_SIZE_MAX, "256",
                  "hidden units of a new model; learn: 32 unless it is given"),
    DM_OPTION_INT(OPTIONS, stochastic, "stochastic", "N", 1, DM_DYNAMICS_SIZE_MAX, "32",
                  "stochastic values of a new model; learn: 8 unless it is given"),
    DM_OPTION_CHOICE(OPTIONS, kind, "kind", kind_names, "reset-first",
                     "the cell of a new model; reset-last is PyTorch's"),
    DM_OPTION_INT(OPTIONS, seed, "seed", "N", 0, INT64_MAX, "0",
                  "of a new model's weights and of synthetic curves"),
    DM_OPTION_STRING(OPTIONS, losses, "losses", "FILE", NULL,
                     "the run so far: one loss a line; for a curve model also as for forecast"),
    DM_OPTION_CHOICE(OPTIONS, learn, "learn", learn_names, "auto",
                     "learn from the run's past first (auto: a curve model does not, another "
                     "does)"),
    DM_OPTION_INT(OPTIONS, passes, "passes", "N", 1, 1000, "20",
                  "how often to learn from that past"),
    DM_OPTION_INT(OPTIONS, steps, "steps", "N", 1, 1000000, "50", "steps ahead"),
    DM_OPTION_INT(OPTIONS, synthetic, "synthetic", "N", 0, 1000, "0",
                  "so many curves of every synthetic family"),
    DM_OPTION_STRINGS(OPTIONS, families, "family", "NAME", "only this family; repeatable"),
    DM_OPTION_STRINGS(OPTIONS, hold_out, "hold-out", "NAME", "not this family; repeatable"),
    DM_OPTION_INT(OPTIONS, updates, "updates", "N", 1, 100000000, "30000",
                  "of every member, one example each"),
    DM_OPTION_DOUBLE(OPTIONS, rate, "rate", "X", "0.001", "learning rate"),
    DM_OPTION_STRING(OPTIONS, save, "save", "FILE", NULL,
                     "write the model, with what it has learnt"),
    DM_OPTION_STRING(OPTIONS, plot, "plot", "FILE", NULL, "a .png or .svg of the forecast"),
    DM_OPTION_STRING(OPTIONS, only, "only", "PARTS", NULL,
                     "of rollout,batch,gru,train,encoder,memory"),
    DM_OPTION_STRING(OPTIONS, out, "out", "PATH", NULL,
                     "learn: the model's file; bench: where dynamics.json and the plots go"),
    DM_OPTION_FLAG(OPTIONS, quick, "quick", "fewer sizes"),
    DM_OPTION_FLAG(OPTIONS, json, "json", "write JSON for programs"),
    DM_OPTION_GIVEN(OPTIONS, given),
};

/* ---- Answers as JSON ---- */

void dm_dynamics_write_array(dm_json *json, const char *key, const float *values, size_t count)
{
    dm_json_begin_array(json, key);
    for (size_t i = 0; i < count; i++)
        dm_json_double(json, NULL, (double)values[i]);
    dm_json_end_array(json);
}

dm_status dm_dynamics_print_json(dm_json *json, dm_buffer *text, dm_error *err)
{
    dm_json_finish(json);
    dm_status status = dm_buffer_check(text, err);
    if (status == DM_OK)
        fwrite(text->data, 1, text->size, stdout);
    dm_buffer_deinit(text);
    return status;
}

/* ---- The model that comes with the program ---- */

dm_status dm_dynamics_curve_model_path(const dm_dynamics_options *o, char *out, dm_error *err)
{
    if (o->model != NULL) {
        snprintf(out, DM_PATH_MAX, "%s", o->model);
        return DM_OK;
    }
    if (dm_place_curve_model(out))
        return DM_OK;
    return dm_fail(err, DM_EUNAVAILABLE,
                   "the model that comes with the program is not there; name one with --model, or "
                   "make one: dotmatrix dynamics learn --synthetic 40 --out FILE");
}

dm_status dm_dynamics_load_curve_model(const dm_dynamics_options *o, dm_dynamics **out,
                                       dm_error *err)
{
    char path[DM_PATH_MAX];
    dm_status status = dm_dynamics_curve_model_path(o, path, err);
    if (status == DM_OK)
        status = dm_dynamics_load(path, out, err);
    if (status == DM_OK && !dm_dynamics_forecasts_curves(*out))
        status = dm_fail_at(err, DM_EFORMAT, path, 0,
                            "a model of `dynamics rollout`; one that forecasts curves is made by "
                            "`dotmatrix dynamics learn`");
    return status;
}

/* Does `rollout` use a curve model? It does if --model is one, or no option asks for a new ensemble. */
static dm_status rollout_of_curve(const dm_dynamics_options *o, bool *curve, dm_error *err)
{
    *curve = o->model == NULL && o->losses != NULL;
    for (size_t i = 0; i < OF_NEW; i++)
        *curve = *curve && !dm_options_is_given(&o->given, of_new[i]);
    if (o->model == NULL)
        return DM_OK;
    dm_dynamics *model = NULL;
    dm_status status = dm_dynamics_load(o->model, &model, err);
    *curve = dm_dynamics_forecasts_curves(model);
    dm_dynamics_destroy(model);
    return status;
}

/* ---- check and bench ---- */

static dm_status run_bench(const dm_dynamics_options *o, const char *parts, bool *negative,
                           dm_error *err)
{
    dm_dyn_bench bench = {.device_id = o->device, .only = parts, .quick = o->quick};
    dm_buffer text = DM_BUFFER_EMPTY;
    char path[DM_PATH_MAX];
    json_t *artifact = NULL;
    dm_status status = dm_dyn_bench_check_parts(parts, err);
    if (status == DM_OK && o->out != NULL)
        status = dm_dir_create(o->out, err);
    if (status == DM_OK)
        status = dm_dyn_bench_run(&bench, &text, err);
    if (status == DM_OK && o->out != NULL)
        status = dm_path_join(path, o->out, "dynamics.json", err);
    if (status == DM_OK && o->out != NULL)
        status = dm_file_write(path, text.data, text.size, err);
    if (status == DM_OK && o->out != NULL)
        status = dm_json_parse(text.data, text.size, path, &artifact, err);
    if (status == DM_OK && o->out != NULL)
        status = dm_dyn_plot_bench(artifact, o->out, err);
    if (status == DM_OK && bench.wrong > 0) {
        printf("%d values are outside the tolerance\n", bench.wrong);
        *negative = true;
    }
    json_decref(artifact);
    dm_buffer_deinit(&text);
    return status;
}

/* Refuse options that have no effect beside the others, and files that cannot be written. */
static dm_status check_use(const dm_dynamics_options *o, const char *what, dm_error *err)
{
    static const dm_option_need needs[] = {{"passes", "losses"}, {"learn", "losses"}};
    bool learn = strcmp(what, "learn") == 0;
    dm_status status = DM_OK;
    if (strcmp(what, "rollout") == 0)
        status = dm_options_check_needs(&o->given, needs, 2, err);
    if (status == DM_OK && strcmp(what, "forecast") == 0 && o->learn != DM_DYNAMICS_LEARN_ON &&
        dm_options_is_given(&o->given, "passes"))
        status = dm_fail(err, DM_EINVAL, "--passes does nothing without --learn on");
    for (size_t i = 0; i < OF_NEW && status == DM_OK; i++)
        if (strcmp(what, "rollout") == 0 && o->model != NULL &&
            dm_options_is_given(&o->given, of_new[i]))
            status =
                dm_fail(err, DM_EINVAL, "--%s is of a new model, and --model loads one", of_new[i]);
    if (status == DM_OK && o->plot != NULL)
        status = dm_dyn_plot_check_name(o->plot, err);
    /* --save may go back to --model's file: that is how a model goes on learning. */
    const dm_output files[] = {{"losses", o->losses, true},
                               {"save", o->save, false},
                               {"plot", o->plot, false},
                               {"out", learn ? o->out : NULL, false}};
    return status == DM_OK ? dm_outputs_check(files, 4, err) : status;
}

enum { CURVES_MAX = 100000 }; /* files that are named */

static const dm_action actions[] = {
    {"forecast", "CURVE", 1, 1, "Forecast how a run goes on, with a 90% band",
     "model learn passes steps save plot json",
     "dotmatrix dynamics forecast runs/gpt-1/metrics.jsonl --steps 50 --plot forecast.png"},
    {"learn", "[CURVE...]", 0, CURVES_MAX, "Teach a model to forecast, on curves and drawn ones",
     "device members hidden stochastic seed synthetic family hold-out updates rate out",
     "dotmatrix dynamics learn runs/*/metrics.jsonl --synthetic 100 --out mine.safetensors"},
    {"evaluate", "[CURVE...]", 0, CURVES_MAX, "Measure a model's forecasts beside plain ones",
     "model seed synthetic family hold-out json",
     "dotmatrix dynamics evaluate runs/*/metrics.jsonl --json"},
    {"rollout", "", 0, 0, "Forecast a run's losses with an ensemble",
     "device model members hidden stochastic kind seed losses learn passes steps save plot json",
     "dotmatrix dynamics rollout --losses run.txt --hidden 64 --plot forecast.png"},
    {"check", "", 0, 0, "Compare all kernels with the float64 reference", "device",
     "dotmatrix dynamics check --device cuda:0"},
    {"bench", "", 0, 0, "Time the kernels over grids of sizes", "device only out quick",
     "dotmatrix dynamics bench --quick --out runs/dynamics"},
};

static dm_status run(const void *options, const dm_strings *arguments, bool *negative,
                     dm_error *err)
{
    const dm_dynamics_options *o = options;
    const char *what = arguments->items[0], *const *paths = arguments->items + 1;
    size_t count = arguments->count - 1;
    bool curve = false;
    dm_status status = check_use(o, what, err);
    if (status != DM_OK)
        return status;
    if (strcmp(what, "learn") == 0)
        return dm_dynamics_run_learn(o, paths, count, err);
    if (strcmp(what, "evaluate") == 0)
        return dm_dynamics_run_evaluate(o, paths, count, err);
    if (strcmp(what, "forecast") == 0)
        return dm_dynamics_run_forecast(o, paths[0], err);
    if (strcmp(what, "check") == 0)
        return run_bench(o, "check_gru,check_batch,check_cluster,check_train", negative, err);
    if (strcmp(what, "bench") == 0)
        return run_bench(o, o->only != NULL ? o->only : "rollout,batch,gru,train,encoder,memory",
                         negative, err);
    status = rollout_of_curve(o, &curve, err);
    if (status == DM_OK && curve && o->losses == NULL)
        status = dm_fail(err, DM_EINVAL, "a curve model forecasts a run: --losses FILE");
    if (status == DM_OK && curve && dm_options_is_given(&o->given, "device"))
        status = dm_fail(err, DM_EINVAL,
                         "--device is for a new ensemble; a curve model forecasts on the CPU");
    if (status == DM_OK)
        status =
            curve ? dm_dynamics_run_forecast(o, o->losses, err) : dm_dynamics_run_rollout(o, err);
    return status;
}

const dm_command dm_command_dynamics = {
    .name = "dynamics",
    .summary = "Forecast losses with recurrent models; check and time their kernels",
    .arguments = "forecast CURVE|learn CURVE...|evaluate CURVE...|rollout|check|bench",
    .arguments_min = 1,
    .arguments_max = 1 + CURVES_MAX,
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(dm_dynamics_options),
    .run = run,
};
