/* SPDX-License-Identifier: MIT */
/* test_rollout.c - the vectorised cell and rollouts against the float64 reference, with every set
 * of instructions that this machine has; extremes; what is derived from the losses. */
#include "tests/dynamics/dynamics_case.h"

#include "dynamics/simd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sets[] = {"portable", "avx2", "avx512"};
#define SETS (sizeof sets / sizeof sets[0])

static void check_gru(uint32_t hidden, uint32_t input, size_t batch, dm_dynamics_gru_kind kind)
{
    dm_dynamics_config config = {1, hidden, 1, input, kind, false};
    dm_dynamics *model = dyn_model(config, hidden + input);
    float *x = dyn_random(batch * input, 1, 2), *h = dyn_random(batch * hidden, 2, 1);
    float *got = malloc(batch * hidden * sizeof *got);
    double *want = malloc(batch * hidden * sizeof *want);
    assert_true(got != NULL && want != NULL);
    assert_ok(dm_reference_gru(model, 0, batch, x, h, want, err));
    memset(got, 0xFF, batch * hidden * sizeof *got);
    assert_ok(dm_dynamics_gru(model, 0, batch, x, h, got, err));
    double distance = dm_reference_distance(got, want, batch * hidden);
    if (!(distance <= 1e-5)) /* ten times better than asked for */
        fail_msg("hidden %u, input %u, batch %zu, kind %d: %g", hidden, input, batch, (int)kind,
                 distance);
    /* In place, and once more: the same bits. */
    assert_ok(dm_dynamics_gru(model, 0, batch, x, h, h, err));
    assert_memory_equal(h, got, batch * hidden * sizeof *got);
    free(x);
    free(h);
    free(got);
    free(want);
    dm_dynamics_destroy(model);
}

static void with_each_set(void (*check)(void))
{
    size_t run = 0;
    for (size_t i = 0; i < SETS; i++) {
        if (dm_simd_named(sets[i]) == NULL)
            continue;
        setenv("DM_SIMD", sets[i], 1);
        assert_string_equal(dm_simd_best()->name, sets[i]);
        check();
        run++;
    }
    unsetenv("DM_SIMD");
    assert_true(run > 0);
}

static void gru_sizes(void)
{
    static const uint32_t hidden[] = {1, 3, 8, 17, 64, 100, 256}, input[] = {1, 5, 64};
    static const size_t batch[] = {1, 2, 7, 33};
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < 3; j++)
            for (size_t k = 0; k < 4; k++)
                for (int kind = 0; kind < 2; kind++)
                    check_gru(hidden[i], input[j], batch[k], (dm_dynamics_gru_kind)kind);
    check_gru(1500, 1030, 2, DM_DYNAMICS_GRU_RESET_FIRST);
    check_gru(1025, 3, 1, DM_DYNAMICS_GRU_RESET_LAST);
}

static void gru_of_all_sizes(void **state)
{
    (void)state;
    with_each_set(gru_sizes);
    check_gru(4100, 2, 1, DM_DYNAMICS_GRU_RESET_FIRST);
    check_gru(2, 2, 65536, DM_DYNAMICS_GRU_RESET_FIRST);
}

static void check_rollout(dm_dynamics_config config, uint32_t rollouts, uint32_t steps,
                          bool with_hidden)
{
    dm_dynamics *model = dyn_model(config, 9);
    dm_dynamics_forecast *got = NULL;
    dm_reference_results want;
    model->shift[0] = 0.25f;
    model->scale[0] = 0.5f;
    size_t cells = (size_t)rollouts * config.members;
    float *features = dyn_random((size_t)rollouts * config.input, 4, 1);
    float *hidden = with_hidden ? dyn_random(cells * config.hidden, 5, 1) : NULL;
    assert_ok(dm_dynamics_forecast_create(model, rollouts, steps, &got, err));
    assert_ok(dm_dynamics_rollout(model, features, hidden, got, err));
    assert_ok(dm_reference_rollout(model, features, hidden, rollouts, steps, &want, err));
    assert_true(dm_reference_rollout_distance(got, &want) <= DM_DYNAMICS_TOLERANCE);
    /* Twice the same bits. */
    float *first = malloc(cells * steps * sizeof *first);
    assert_non_null(first);
    memcpy(first, got->loss, cells * steps * sizeof *first);
    assert_ok(dm_dynamics_rollout(model, features, hidden, got, err));
    assert_memory_equal(first, got->loss, cells * steps * sizeof *first);
    free(first);
    free(features);
    free(hidden);
    dm_reference_results_deinit(&want);
    dm_dynamics_forecast_destroy(got);
    dm_dynamics_destroy(model);
}

static void rollout_sizes(void)
{
    check_rollout((dm_dynamics_config)DM_DYNAMICS_DEFAULT, 1, 50, false);
    check_rollout((dm_dynamics_config){1, 1, 1, 1, DM_DYNAMICS_GRU_RESET_FIRST, false}, 1, 1,
                  false);
    check_rollout((dm_dynamics_config){10, 33, 7, 5, DM_DYNAMICS_GRU_RESET_LAST, true}, 3, 20,
                  true);
    check_rollout((dm_dynamics_config){2, 48, 60, 64, DM_DYNAMICS_GRU_RESET_FIRST, true}, 19, 10,
                  true);
    check_rollout((dm_dynamics_config){2, 20, 50, 3, DM_DYNAMICS_GRU_RESET_LAST, false}, 16, 5,
                  false);
}

static void rollouts_follow_the_reference(void **state)
{
    (void)state;
    with_each_set(rollout_sizes);
}

/* ---- Extremes ---- */

static void extremes(void)
{
    static const float values[] = {0,      -0.0f, 1e-42f, -1e-42f,  1e30f,
                                   -1e30f, 3e38f, -3e38f, INFINITY, -INFINITY};
    dm_dynamics_config config = {1, 19, 3, 2, DM_DYNAMICS_GRU_RESET_FIRST, false};
    for (int kind = 0; kind < 2; kind++) {
        config.kind = (dm_dynamics_gru_kind)kind;
        dm_dynamics *model = dyn_model(config, 3);
        float x[2] = {0.5f, 0}, *h = dyn_random(19, 8, 1), out[19];
        double want[19];
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            x[1] = values[i];
            assert_ok(dm_dynamics_gru(model, 0, 1, x, h, out, err));
            assert_ok(dm_reference_gru(model, 0, 1, x, h, want, err));
            for (int k = 0; k < 19; k++)
                assert_true(isfinite(out[k]) && fabs((double)out[k] - want[k]) < 1e-6);
        }
        /* NaN in, NaN out, in every unit; and the call comes back. */
        x[1] = NAN;
        assert_ok(dm_dynamics_gru(model, 0, 1, x, h, out, err));
        for (int k = 0; k < 19; k++)
            assert_true(isnan(out[k]));
        dm_dynamics_forecast *rollout = NULL;
        assert_ok(dm_dynamics_forecast_create(model, 1, 4, &rollout, err));
        assert_ok(dm_dynamics_rollout(model, x, NULL, rollout, err));
        for (int t = 0; t < 4; t++)
            assert_true(isnan(rollout->loss[t]) && isnan(rollout->entropy[t]) &&
                        isnan(rollout->mean[t]));
        dm_dynamics_forecast_destroy(rollout);
        free(h);
        dm_dynamics_destroy(model);
    }
}

static void extreme_inputs(void **state)
{
    (void)state;
    with_each_set(extremes);
}

/* The functions themselves, over their whole range, through a cell of one unit. */
static void sigmoid_and_tanh_everywhere(void **state)
{
    (void)state;
    for (size_t set = 0; set < SETS; set++) {
        const dm_simd *simd = dm_simd_named(sets[set]);
        if (simd == NULL)
            continue;
        for (int i = -3000; i <= 3000; i++) {
            float x = (float)i * 0.05f, z[17], r[17], h[17], q[17], n[17];
            for (int k = 0; k < 17; k++) {
                z[k] = r[k] = n[k] = x;
                h[k] = 1;
            }
            simd->gates(z, r, h, q, 17);
            simd->candidate(n, NULL, NULL, 17);
            double s = 1 / (1 + exp(-(double)x)), t = tanh((double)x);
            for (int k = 0; k < 17; k += 16) { /* in a whole vector and in what is left over */
                assert_true(fabs((double)z[k] - s) <= 4e-7 * s + 2e-38);
                assert_true(fabs((double)n[k] - t) <= 4e-7 * fabs(t));
                assert_true(q[k] == r[k] && r[k] == z[k]);
            }
        }
        float tiny[1] = {1e-20f};
        simd->candidate(tiny, NULL, NULL, 1);
        assert_true(fabs((double)tiny[0] / 1e-20 - 1) < 1e-6);
    }
}

/* ---- What is derived ---- */

static void assert_close(float got, double want)
{
    assert_true(fabs((double)got - want) < 1e-6);
}

static void results_by_hand(void **state)
{
    (void)state;
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){2, 2, 1, 1, DM_DYNAMICS_GRU_RESET_FIRST, false}, 1);
    dm_dynamics_forecast *r = NULL;
    assert_ok(dm_dynamics_forecast_create(model, 1, 4, &r, err));
    const float loss[8] = {1, 2, 4, 4, 3, 4, 8, 6};
    memcpy(r->loss, loss, sizeof loss);
    dm_dynamics_forecast_aggregate(r);
    const float mean[4] = {2, 3, 6, 5}, deviation[4] = {1, 1, 2, 1}, deltas[3] = {1, 3, 1};
    assert_memory_equal(r->mean, mean, sizeof mean);
    assert_memory_equal(r->deviation, deviation, sizeof deviation);
    assert_memory_equal(r->step_deltas, deltas, sizeof deltas);
    for (int t = 0; t < 4; t++) {
        double total = (double)deviation[t] * (1 + 0.1 * sqrt(t + 1));
        assert_close(r->total[t], total);
        assert_close(r->confidence[t], 1 / (1 + total));
    }
    assert_close(r->metrics[0].loss_variance, 2.5);
    assert_close(r->metrics[0].trajectory_smoothness, (2 + 4) / 2.0);
    assert_close(r->metrics[0].step_delta_mean, 5 / 3.0);
    assert_close(r->member_metrics[0].loss_variance,
                 (1.75 * 1.75 + 0.75 * 0.75 + 2 * 1.25 * 1.25) / 4);
    assert_close(r->member_metrics[1].trajectory_smoothness, (3 + 6) / 2.0);
    dm_dynamics_forecast_destroy(r);
    dm_dynamics_destroy(model);
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){2, 2, 1, 1, DM_DYNAMICS_GRU_RESET_FIRST, false}, 1);
    dm_dynamics *other =
        dyn_model((dm_dynamics_config){3, 2, 1, 1, DM_DYNAMICS_GRU_RESET_FIRST, false}, 1);
    dm_dynamics_forecast *r = NULL;
    float x[1] = {0}, h[2] = {0};
    assert_int_equal(dm_dynamics_forecast_create(model, 0, 4, &r, NULL), DM_EINVAL);
    assert_int_equal(dm_dynamics_forecast_create(model, 1, 0, &r, NULL), DM_EINVAL);
    assert_int_equal(dm_dynamics_forecast_create(model, 1, UINT32_MAX, &r, NULL), DM_EINVAL);
    assert_int_equal(dm_dynamics_gru(model, 2, 1, x, h, h, NULL), DM_EINVAL);
    assert_int_equal(dm_dynamics_gru(model, 0, 0, x, h, h, NULL), DM_EINVAL);
    assert_ok(dm_dynamics_forecast_create(model, 1, 4, &r, err));
    assert_int_equal(dm_dynamics_rollout(other, x, NULL, r, NULL), DM_EINVAL);
    dm_dynamics_forecast_destroy(r);
    dm_dynamics_forecast_destroy(NULL);
    dm_dynamics_destroy(model);
    dm_dynamics_destroy(other);
}

DM_TESTS("dynamics/rollout", DM_TEST(gru_of_all_sizes), DM_TEST(rollouts_follow_the_reference),
         DM_TEST(extreme_inputs), DM_TEST(sigmoid_and_tanh_everywhere), DM_TEST(results_by_hand),
         DM_TEST(wrong_calls_are_refused))
