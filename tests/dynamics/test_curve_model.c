/* SPDX-License-Identifier: MIT */
/* test_curve_model.c - ensembles that learn to forecast curves, and the one that is shipped. */
#include "base/file.h"
#include "dynamics/curve/evaluate.h"
#include "dynamics/curve/family.h"
#include "dynamics/curve/learn.h"
#include "tests/dynamics/curve_case.h"
#include "tests/support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dm_dynamics *learn(const dm_curve *curves, size_t count, const dm_curve_learning *how,
                          dm_curve_learnt *learnt)
{
    dm_dynamics *model = NULL;
    assert_ok(dm_curve_learn(curves, count, how, &model, learnt, err));
    assert_true(dm_dynamics_forecasts_curves(model));
    return model;
}

static void same_forecast(const dm_dynamics *a, const dm_dynamics *b, const dm_curve *curve)
{
    dm_dynamics_curve_forecast *fa, *fb;
    assert_ok(dm_dynamics_curve_forecast_create(a, curve->samples, 120, 70, &fa, err));
    assert_ok(dm_dynamics_curve_forecast_create(b, curve->samples, 120, 70, &fb, err));
    assert_memory_equal(fa->mean, fb->mean, 70 * sizeof(float));
    assert_memory_equal(fa->low, fb->low, 70 * sizeof(float));
    assert_memory_equal(fa->high, fb->high, 70 * sizeof(float));
    dm_dynamics_curve_forecast_destroy(fa);
    dm_dynamics_curve_forecast_destroy(fb);
}

/* Better than the combination alone on curves that only calibrated, a band that holds there, the
 * same bits with any number of threads, and the same forecasts from its file. */
static void learning_helps_and_repeats(void **state)
{
    const char *path = dm_test_path(state, "m.safetensors");
    dm_curve *curves = curve_make(1, CURVE_COUNT);
    dm_curve_learning how = curve_small;
    dm_curve_learnt learnt;
    dm_dynamics *one = learn(curves, CURVE_COUNT, &how, &learnt), *three, *loaded;
    assert_true(learnt.error < learnt.combination_error);
    assert_true(learnt.coverage > 0.85 && learnt.coverage < 0.97);
    assert_true(learnt.calibration_curves > 4 && learnt.calibration_examples > 100);
    how.device = "cpu:3";
    three = learn(curves, CURVE_COUNT, &how, &learnt);
    for (uint32_t e = 0; e < how.members; e++) {
        size_t count;
        const float *a = dm_dynamics_weights(one, e, DM_DYNAMICS_U, &count);
        assert_memory_equal(a, dm_dynamics_weights(three, e, DM_DYNAMICS_U, NULL),
                            count * sizeof *a);
    }
    assert_ok(dm_dynamics_save(one, path, err));
    assert_ok(dm_dynamics_load(path, &loaded, err));
    same_forecast(one, three, &curves[7]);
    same_forecast(one, loaded, &curves[7]);
    dm_dynamics_destroy(one);
    dm_dynamics_destroy(three);
    dm_dynamics_destroy(loaded);
    curve_free(curves, CURVE_COUNT);
}

/* The way of a GPU, on the CPU device. */
static void batches_on_a_device_learn_too(void **state)
{
    (void)state;
    curve_check_batches("cpu");
}

static void too_little_is_refused(void **state)
{
    (void)state;
    dm_error error = {0};
    dm_dynamics *model = NULL, *other = NULL;
    dm_curve_learnt learnt;
    dm_curve short_one = {.name = "short"};
    dm_dynamics_sample s = {.loss = 1};
    for (s.step = 1; s.step < DM_CURVE_LEAST; s.step++)
        assert_ok(dm_curve_append(&short_one, &s, err));
    assert_int_equal(dm_curve_learn(NULL, 0, &curve_small, &model, &learnt, &error), DM_EINVAL);
    assert_int_equal(dm_curve_learn(&short_one, 1, &curve_small, &model, &learnt, &error),
                     DM_EINVAL);
    assert_non_null(strstr(error.message, "short: 69 losses"));
    assert_null(model);
    /* An ensemble over the encoder's features is no curve model. */
    dm_dynamics_config config = {1, 8, 2, 64, DM_DYNAMICS_GRU_RESET_FIRST, false};
    dm_dynamics_curve_forecast *f = NULL;
    assert_ok(dm_dynamics_create(&config, 1, &other, err));
    assert_false(dm_dynamics_forecasts_curves(other));
    assert_int_equal(dm_dynamics_curve_forecast_create(other, short_one.samples, short_one.count,
                                                       10, &f, &error),
                     DM_EINVAL);
    assert_null(f);
    dm_dynamics_destroy(other);
    dm_curve_deinit(&short_one);
}

/* Rules that would give no finite forecast are refused when a model is read. */
static void rules_out_of_bounds_are_refused(void **state)
{
    const char *path = dm_test_path(state, "m.safetensors");
    static const float values[] = {NAN, INFINITY, -1e4f, 1e6f};
    const size_t count = dm_dynamics_curve_count();
    dm_dynamics_config config = {1, 4, 2, DM_VIEW_FEATURES, DM_DYNAMICS_GRU_RESET_FIRST, false};
    dm_curve_rules rules = {.view = dm_view_rules_default()};
    dm_dynamics *model = NULL, *loaded = NULL;
    assert_ok(dm_dynamics_create(&config, 1, &model, err));
    assert_ok(dm_curve_rules_set(model, &rules, err));
    assert_ok(dm_dynamics_save(model, path, err));
    assert_ok(dm_dynamics_load(path, &loaded, err));
    dm_dynamics_destroy(loaded);
    loaded = NULL;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < 4; k++) {
            dm_error error = {0};
            float kept = model->curve[i];
            model->curve[i] = values[k];
            assert_ok(dm_dynamics_save(model, path, err));
            assert_int_equal(dm_dynamics_load(path, &loaded, &error), DM_EFORMAT);
            assert_non_null(strstr(error.message, "m.safetensors"));
            model->curve[i] = kept;
        }
    dm_dynamics_destroy(model);
    /* Another ensemble has no room for them. */
    config.input = 64;
    assert_ok(dm_dynamics_create(&config, 1, &model, err));
    assert_int_equal(dm_curve_rules_set(model, &rules, NULL), DM_EFORMAT);
    dm_dynamics_destroy(model);
}

/* ---- The model that is shipped ---- */

static dm_dynamics *shipped(void)
{
    char path[DM_PATH_MAX];
    dm_dynamics *model = NULL;
    assert_ok(dm_path_join(path, dm_test_source_root(), "share/dynamics/curves.safetensors", err));
    assert_ok(dm_dynamics_load(path, &model, err));
    return model;
}

static void forecasts_of_hostile_runs_are_finite(void **state)
{
    (void)state;
    static const float values[] = {1e-30f, 1e30f, 1, 3e-5f, 1e38f, NAN, 0, -1, INFINITY};
    dm_dynamics *model = shipped();
    for (uint64_t seed = 0; seed < 12; seed++) {
        dm_dynamics_sample samples[150] = {{0}};
        dm_dynamics_curve_forecast *f = NULL;
        size_t usable = 0, count = seed < 8 ? 2 + seed : 150;
        for (size_t i = 0; i < count; i++) {
            samples[i].step = i + 1;
            samples[i].loss = values[(i * 7 + seed * 5 + i * i * seed) % 9];
            samples[i].gradient_norm = values[(i + seed) % 9];
            samples[i].learning_rate = values[(i * 2 + seed) % 9];
            usable += samples[i].loss >= 1e-30f && samples[i].loss <= 1e30f;
        }
        dm_status status = dm_dynamics_curve_forecast_create(model, samples, count, 120, &f, NULL);
        assert_int_equal(status, usable < 2 ? DM_EINVAL : DM_OK);
        for (size_t t = 0; f != NULL && t < 120; t++) {
            assert_true(isfinite(f->mean[t]) && f->mean[t] > 0);
            assert_true(isfinite(f->low[t]) && isfinite(f->high[t]));
            assert_true(f->low[t] <= f->mean[t] && f->mean[t] <= f->high[t]);
            for (size_t k = 0; k < DM_DYNAMICS_CURVE_BASELINES; k++)
                assert_true(isfinite(f->baseline[k][t]));
        }
        dm_dynamics_curve_forecast_destroy(f);
    }
    dm_dynamics_destroy(model);
}

/* Learning from one run changes the model a little, and the next forecast of that run. */
static void it_may_go_on_learning(void **state)
{
    (void)state;
    dm_dynamics *model = shipped(), *kept = shipped();
    dm_curve curve;
    dm_dynamics_curve_forecast *before, *after;
    assert_ok(dm_family_draw((size_t)dm_family_find("two-phase"), 77, 1, &curve, err));
    assert_ok(
        dm_dynamics_curve_forecast_create(model, curve.samples, curve.count, 50, &before, err));
    same_forecast(model, kept, &curve); /* forecasting alone changes nothing */
    assert_ok(dm_curve_follow(model, &curve, 5, 1e-4f, err));
    assert_ok(
        dm_dynamics_curve_forecast_create(model, curve.samples, curve.count, 50, &after, err));
    assert_memory_not_equal(before->mean, after->mean, 50 * sizeof(float));
    for (size_t t = 0; t < 50; t++)
        assert_true(fabsf(logf(before->mean[t] / after->mean[t])) < 0.5f);
    dm_dynamics_curve_forecast_destroy(before);
    dm_dynamics_curve_forecast_destroy(after);
    dm_curve_deinit(&curve);
    dm_dynamics_destroy(model);
    dm_dynamics_destroy(kept);
}

typedef struct gathered {
    const dm_dynamics *model;
    dm_evaluation results[64];
    size_t count;
} gathered;

static dm_status evaluate_file(const char *root, const dm_dir_entry *entry, void *user,
                               dm_error *error)
{
    gathered *g = user;
    char path[DM_PATH_MAX];
    dm_curve curve;
    dm_status status = dm_path_join(path, root, entry->path, error);
    if (status == DM_OK)
        status = dm_curve_read(path, DM_EVALUATE_LEAST, &curve, error);
    if (status == DM_OK) {
        status = dm_curve_evaluate(g->model, &curve, &g->results[g->count++], error);
        dm_curve_deinit(&curve);
    }
    return status;
}

/* Better than each plain forecast, on the mean and on at least half of the curves, with a band that
 * holds 85 to 95%. */
static void expect_better(const gathered *g, const char *what)
{
    dm_evaluation_total t;
    dm_evaluation_sum(g->results, g->count, &t);
    printf("    %s, %zu curves: ours %.4f, last %.4f, mean %.4f, linear %.4f, power %.4f, "
           "combination %.4f; band holds %.1f%%\n",
           what, t.curves, t.all[DM_EVALUATE_OURS], t.all[0], t.all[1], t.all[2], t.all[3],
           t.all[DM_EVALUATE_COMBINATION], 100 * t.coverage);
    for (int m = 0; m < DM_DYNAMICS_CURVE_BASELINES; m++) {
        assert_true(t.all[DM_EVALUATE_OURS] < t.all[m]);
        assert_true(2 * t.below[m] >= t.curves);
    }
    assert_true(t.coverage >= 0.85 && t.coverage <= 0.95);
}

/* Runs of settings and families of curves that the shipped model was not taught on. */
static void the_shipped_model_beats_plain_forecasts(void **state)
{
    (void)state;
    static const char *const families[] = {"two-phase", "step-decay", "noisy", "log-linear",
                                           "rise-fall"};
    char folder[DM_PATH_MAX];
    dm_dynamics *model = shipped();
    gathered real = {.model = model}, synthetic = {.model = model};
    assert_ok(dm_path_join(folder, dm_test_source_root(), "share/dynamics/curves/held-out", err));
    assert_ok(dm_dir_walk(folder, evaluate_file, &real, err));
    assert_true(real.count >= 10);
    for (uint64_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 5; k++) {
            dm_curve curve;
            assert_ok(dm_family_draw((size_t)dm_family_find(families[k]), 1, i, &curve, err));
            assert_ok(dm_curve_evaluate(model, &curve, &synthetic.results[synthetic.count++], err));
            dm_curve_deinit(&curve);
        }
    expect_better(&real, "runs of other settings");
    expect_better(&synthetic, "families it has not seen");
    dm_dynamics_destroy(model);
}

DM_TESTS("dynamics/curve_model", DM_TEST_IN_DIR(learning_helps_and_repeats),
         DM_TEST(batches_on_a_device_learn_too), DM_TEST(too_little_is_refused),
         DM_TEST_IN_DIR(rules_out_of_bounds_are_refused),
         DM_TEST(forecasts_of_hostile_runs_are_finite), DM_TEST(it_may_go_on_learning),
         DM_TEST(the_shipped_model_beats_plain_forecasts))
