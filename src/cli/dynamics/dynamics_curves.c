/* SPDX-License-Identifier: MIT */
/* dynamics_curves.c - `dotmatrix dynamics learn` and `evaluate`: many curves. */
#include "base/closest.h"
#include "base/json.h"
#include "base/philox.h"
#include "base/terminal/progress.h"
#include "base/terminal/stop.h"
#include "base/thread.h"
#include "cli/dynamics/dynamics_options.h"
#include "dynamics/curve/evaluate.h"
#include "dynamics/curve/family.h"
#include "dynamics/curve/learn.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Curves from files and families ---- */

typedef struct curves {
    dm_curve *items;
    size_t count, recorded;
} curves;

static void curves_deinit(curves *c)
{
    for (size_t i = 0; i < c->count; i++)
        dm_curve_deinit(&c->items[i]);
    free(c->items);
}

static dm_status check_names(const dm_strings *names, dm_error *err)
{
    const char *known[DM_FAMILY_COUNT + 1] = {NULL};
    for (size_t i = 0; i < DM_FAMILY_COUNT; i++)
        known[i] = dm_family_name(i);
    for (size_t i = 0; i < names->count; i++)
        if (dm_family_find(names->items[i]) < 0) {
            char list[512] = "";
            for (size_t k = 0; k < DM_FAMILY_COUNT; k++) {
                size_t used = strlen(list);
                snprintf(list + used, sizeof list - used, "%s%s", k > 0 ? ", " : "", known[k]);
            }
            return dm_fail(err, DM_EINVAL, "there is no family '%s'; there are %s", names->items[i],
                           list);
        }
    return DM_OK;
}

static bool named(const dm_strings *names, size_t family)
{
    for (size_t i = 0; i < names->count; i++)
        if (dm_family_find(names->items[i]) == (int)family)
            return true;
    return false;
}

/* `seed` keeps the curves that are learnt from apart from those of evaluations. */
static dm_status gather(const dm_dynamics_options *o, const char *const *paths, size_t count,
                        size_t least, uint64_t seed, curves *out, dm_error *err)
{
    dm_status status = check_names(&o->families, err);
    if (status == DM_OK)
        status = check_names(&o->hold_out, err);
    out->items = calloc(count + (size_t)o->synthetic * DM_FAMILY_COUNT + 1, sizeof *out->items);
    if (status == DM_OK && out->items == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        status = dm_curve_read(paths[i], least, &out->items[out->count], err);
        out->count += status == DM_OK;
    }
    out->recorded = out->count;
    for (uint64_t i = 0; i < (uint64_t)o->synthetic && status == DM_OK; i++)
        for (size_t f = 0; f < DM_FAMILY_COUNT && status == DM_OK; f++) {
            if ((o->families.count > 0 && !named(&o->families, f)) || named(&o->hold_out, f))
                continue;
            status = dm_family_draw(f, seed, i, &out->items[out->count], err);
            out->count += status == DM_OK;
        }
    if (status == DM_OK && out->count == 0)
        status = dm_fail(err, DM_EINVAL,
                         "no curves; name files of them (dotmatrix dynamics %s "
                         "runs/*/metrics.jsonl) or add synthetic ones (--synthetic 40)",
                         seed % 2 == 0 ? "learn" : "evaluate");
    return status;
}

/* ---- learn ---- */

static void print_learnt(const dm_dynamics *model, const dm_curve_learnt *l, const char *path)
{
    const dm_dynamics_config *c = dm_dynamics_get_config(model);
    printf("%u members of %u units learnt from %zu curves (%zu examples) in %.0f s\n", c->members,
           c->hidden, l->curves, l->examples, l->seconds);
    printf("on the %zu curves of the calibration: RMS log error %.4f 25 and 50 steps ahead "
           "(combination alone %.4f), band holds %.1f%%\n",
           l->calibration_curves, l->error, l->combination_error, 100 * l->coverage);
    printf("%s\n", path);
}

dm_status dm_dynamics_run_learn(const dm_dynamics_options *o, const char *const *paths,
                                size_t count, dm_error *err)
{
    curves all = {0};
    dm_dynamics *model = NULL;
    dm_curve_learnt learnt;
    if (o->out == NULL)
        return dm_fail(err, DM_EINVAL, "learn needs --out FILE");
    if (!(o->rate > 0 && o->rate <= 1))
        return dm_fail(err, DM_EINVAL, "a learning rate of %g; it must be above 0 and at most 1",
                       o->rate);
    dm_status status = gather(o, paths, count, DM_CURVE_LEAST, 2 * (uint64_t)o->seed, &all, err);
    dm_curve_learning how = {
        .members = (uint32_t)o->members,
        .hidden = dm_options_is_given(&o->given, "hidden") ? (uint32_t)o->hidden : 32,
        .stochastic = dm_options_is_given(&o->given, "stochastic") ? (uint32_t)o->stochastic : 8,
        .seed = (uint64_t)o->seed,
        .recorded = all.recorded,
        .updates = (uint64_t)o->updates,
        .rate = (float)o->rate,
        .device = dm_options_is_given(&o->given, "device") ? o->device : "cpu",
    };
    if (status == DM_OK)
        status = dm_curve_learn(all.items, all.count, &how, &model, &learnt, err);
    if (status == DM_OK && model == NULL)
        dm_stop_kept("nothing was written");
    if (status == DM_OK && model != NULL)
        status = dm_dynamics_save(model, o->out, err);
    if (status == DM_OK && model != NULL)
        print_learnt(model, &learnt, o->out);
    dm_dynamics_destroy(model);
    curves_deinit(&all);
    return status;
}

/* ---- evaluate ---- */

typedef struct evaluation {
    const dm_dynamics *model;
    const curves *all;
    dm_evaluation *results;
    dm_progress *progress;
    dm_error error;
    atomic_flag failed;
} evaluation;

static void evaluate(void *user, uint64_t begin, uint64_t end, int worker)
{
    evaluation *e = user;
    (void)worker;
    for (uint64_t i = begin; i < end && !dm_stop_requested(); i++) {
        dm_error error = {0};
        if (dm_curve_evaluate(e->model, &e->all->items[i], &e->results[i], &error) != DM_OK &&
            !atomic_flag_test_and_set(&e->failed))
            e->error = error;
        dm_progress_add(e->progress, 1);
    }
}

static void write_errors(dm_json *json, double all, const double *cases)
{
    dm_json_double(json, "all", all);
    for (int c = 0; c < DM_EVALUATE_CASES; c++)
        dm_json_double(json, dm_evaluate_cases[c], cases[c]);
}

static dm_status print_json(const dm_evaluation *e, const dm_evaluation_total *total, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_uint(&json, "curves", total->curves);
    dm_json_double(&json, "coverage", total->coverage);
    dm_json_begin_object(&json, "mean");
    for (int m = 0; m < DM_EVALUATE_METHODS; m++) {
        dm_json_begin_object(&json, dm_evaluate_methods[m]);
        write_errors(&json, total->all[m], total->error[m]);
        dm_json_uint(&json, "ours_below", total->below[m]);
        dm_json_end_object(&json);
    }
    dm_json_end_object(&json);
    dm_json_begin_array(&json, "each");
    for (size_t i = 0; i < total->curves; i++) {
        dm_json_begin_object(&json, NULL);
        dm_json_string(&json, "curve", e[i].name);
        dm_json_double(&json, "coverage",
                       (double)e[i].inside / (double)(e[i].inside + e[i].outside));
        for (int m = 0; m < DM_EVALUATE_METHODS; m++) {
            dm_json_begin_object(&json, dm_evaluate_methods[m]);
            write_errors(&json, e[i].all[m], e[i].error[m]);
            dm_json_end_object(&json);
        }
        dm_json_end_object(&json);
    }
    dm_json_end_array(&json);
    dm_json_end_object(&json);
    return dm_dynamics_print_json(&json, &text, err);
}

static void print_table(const dm_evaluation *e, const dm_evaluation_total *total)
{
    printf("RMS of log(forecast / loss), 25 and 50 steps ahead from early and late starts\n%-28s",
           "curve");
    for (int m = 0; m < DM_EVALUATE_METHODS; m++)
        printf("%12s", dm_evaluate_methods[m]);
    printf("%8s\n", "band");
    for (size_t i = 0; i < total->curves; i++) {
        printf("%-28.27s", e[i].name);
        for (int m = 0; m < DM_EVALUATE_METHODS; m++)
            printf("%12.4f", e[i].all[m]);
        printf("%7.1f%%\n", 100.0 * e[i].inside / (double)(e[i].inside + e[i].outside));
    }
    printf("%-28s", "mean");
    for (int m = 0; m < DM_EVALUATE_METHODS; m++)
        printf("%12.4f", total->all[m]);
    printf("%7.1f%%\n", 100 * total->coverage);
    for (int c = 0; c < DM_EVALUATE_CASES; c++) {
        printf("  %-26s", dm_evaluate_cases[c]);
        for (int m = 0; m < DM_EVALUATE_METHODS; m++)
            printf("%12.4f", total->error[m][c]);
        printf("\n");
    }
    printf("%-28s", "ours is below on");
    for (int m = 0; m < DM_EVALUATE_METHODS; m++) {
        char text[32];
        snprintf(text, sizeof text, "%zu of %zu", total->below[m], total->curves);
        printf("%12s", m == DM_EVALUATE_OURS ? "" : text);
    }
    printf("\n");
}

dm_status dm_dynamics_run_evaluate(const dm_dynamics_options *o, const char *const *paths,
                                   size_t count, dm_error *err)
{
    curves all = {0};
    dm_dynamics *model = NULL;
    dm_pool *pool = NULL;
    dm_evaluation_total total;
    evaluation e = {.all = &all, .failed = ATOMIC_FLAG_INIT};
    dm_status status =
        gather(o, paths, count, DM_EVALUATE_LEAST, 2 * (uint64_t)o->seed + 1, &all, err);
    if (status == DM_OK)
        status = dm_dynamics_load_curve_model(o, &model, err);
    if (status == DM_OK)
        status = dm_pool_create(0, &pool, err);
    if (status == DM_OK && (e.results = calloc(all.count, sizeof *e.results)) == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    if (status == DM_OK) {
        e.model = model;
        e.progress = dm_progress_start("evaluating", "curves", all.count);
        dm_pool_run(pool, all.count, 1, evaluate, &e);
        dm_progress_finish(e.progress);
        status = e.error.status;
        if (status != DM_OK && err != NULL)
            *err = e.error;
    }
    if (status == DM_OK && !dm_stop_requested()) {
        dm_evaluation_sum(e.results, all.count, &total);
        if (o->json)
            status = print_json(e.results, &total, err);
        else
            print_table(e.results, &total);
    }
    free(e.results);
    dm_pool_destroy(pool);
    dm_dynamics_destroy(model);
    curves_deinit(&all);
    return status;
}
