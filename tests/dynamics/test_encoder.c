/* SPDX-License-Identifier: MIT */
/* test_encoder.c - the incremental encoder against the features from scratch. */
#include "tests/dynamics/dynamics_case.h"

#include "base/philox.h"
#include "dynamics/encoder.h"
#include "dynamics/encoder_plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float uniform(uint64_t seed, uint64_t i)
{
    return dm_random_unit(dm_random4(seed, 5, i).v[0]);
}

static void assert_features(const float *got, const float *want, size_t sample)
{
    for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++) {
        /* Quotients of small differences magnify the last places. */
        double room = i == 40 || i == 41 || i == 53 ? 2e-4 : 2e-5;
        bool same = isnan(got[i]) && isnan(want[i]);
        if (!same &&
            !(fabs((double)got[i] - (double)want[i]) <= room * fmax(1, fabs((double)want[i]))))
            fail_msg("sample %zu, feature %d: %.9g, from scratch %.9g", sample, i, (double)got[i],
                     (double)want[i]);
    }
}

static void check_run(const dm_dynamics_sample *samples, size_t count, uint32_t losses,
                      uint32_t norms)
{
    dm_dynamics_encoder *encoder = NULL;
    assert_ok(dm_dynamics_encoder_create(losses, norms, &encoder, err));
    for (size_t i = 0; i < count; i++) {
        float got[64], want[64];
        memset(got, 0xFF, sizeof got);
        memset(want, 0xFF, sizeof want);
        dm_dynamics_encoder_update(encoder, &samples[i], got);
        dm_plain_encode(samples, i + 1, losses, norms, want);
        assert_features(got, want, i);
    }
    dm_dynamics_encoder_destroy(encoder);
}

static void same_as_from_scratch(void **state)
{
    (void)state;
    static dm_dynamics_sample samples[800];
    for (uint64_t i = 0; i < 800; i++)
        samples[i] = dyn_sample(1, i);
    check_run(samples, 800, 256, 64);
    check_run(samples, 300, 40, 7);
    check_run(samples, 100, 1, 1);
    check_run(samples, 100, 31, 2);
}

/* Falling and rising runs keep the queues full or empty; constant ones have no deviation. */
static void monotone_and_constant_runs(void **state)
{
    (void)state;
    static dm_dynamics_sample samples[600];
    for (int kind = 0; kind < 3; kind++) {
        for (uint64_t i = 0; i < 600; i++) {
            samples[i] = dyn_sample(2, i);
            float x = kind == 0 ? 5 - 0.005f * (float)i : kind == 1 ? 1 + 0.01f * (float)i : 2.5f;
            samples[i].loss = samples[i].gradient_norm = x;
        }
        check_run(samples, 600, 256, 64);
    }
}

/* Enormous values are right while they are there and leave no trace; those that are not finite are
 * passed over. */
static void outliers_leave_no_trace(void **state)
{
    (void)state;
    static dm_dynamics_sample samples[700];
    static const float values[] = {1e16f, 1e30f, -1e20f, 3e38f, INFINITY, -INFINITY, NAN, 0};
    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
        for (uint64_t i = 0; i < 700; i++)
            samples[i] = dyn_sample(3, i);
        samples[40].loss = samples[100].gradient_norm = values[v];
        dm_dynamics_encoder *encoder = NULL;
        assert_ok(dm_dynamics_encoder_create(256, 64, &encoder, err));
        float got[64], want[64];
        for (size_t i = 0; i < 700; i++) {
            dm_dynamics_encoder_update(encoder, &samples[i], got);
            dm_plain_encode(samples, i + 1, 256, 64, want);
            assert_features(got, want, i);
            for (int k = 0; k < 64; k++)
                assert_true(isfinite(got[k]));
        }
        assert_int_equal(dm_dynamics_encoder_passed(encoder), isfinite(values[v]) ? 0 : 2);
        dm_dynamics_encoder_destroy(encoder);
    }
}

/* In every field, from the first sample on or now and then. */
static void values_that_are_not_finite_are_passed_over(void **state)
{
    (void)state;
    static dm_dynamics_sample samples[300];
    static const float values[] = {NAN, INFINITY, -INFINITY};
    for (uint64_t kind = 0; kind < 6; kind++) {
        for (uint64_t i = 0; i < 300; i++) {
            samples[i] = dyn_sample(6, i);
            float *fields[] = {
                &samples[i].loss,          &samples[i].gradient_norm, &samples[i].first_mean,
                &samples[i].first_std,     &samples[i].second_mean,   &samples[i].second_std,
                &samples[i].learning_rate, &samples[i].beta1,         &samples[i].beta2};
            for (uint64_t k = 0; k < 9; k++)
                if (kind < 3 ? i < 3 : uniform(10 + k, i) < 0.2f)
                    *fields[k] = values[kind % 3];
        }
        check_run(samples, 300, 256, 64);
        check_run(samples, 300, 40, 7);
    }
    /* A window of losses around 0: the ratio of means is 1 where the older one is 0. */
    for (uint64_t i = 0; i < 40; i++) {
        samples[i] = dyn_sample(6, i);
        samples[i].loss = i < 20 ? 0 : 2;
    }
    check_run(samples, 40, 256, 64);
}

/* Every feature changes in some run. */
static void every_feature_is_live(void **state)
{
    (void)state;
    dm_dynamics_encoder *encoder = NULL;
    float low[64], high[64], f[64];
    assert_ok(dm_dynamics_encoder_create(256, 64, &encoder, err));
    for (uint64_t i = 0; i < 500; i++) {
        dm_dynamics_sample sample = dyn_sample(4, i);
        sample.first_std *= 1 + uniform(8, i);
        sample.second_std *= 1 + uniform(9, i);
        dm_dynamics_encoder_update(encoder, &sample, f);
        for (int k = 0; k < 64; k++) {
            low[k] = i == 0 ? f[k] : fminf(low[k], f[k]);
            high[k] = i == 0 ? f[k] : fmaxf(high[k], f[k]);
        }
    }
    for (int k = 0; k < 64; k++)
        if (!(high[k] > low[k]))
            fail_msg("feature %d is always %g", k, (double)low[k]);
    dm_dynamics_encoder_destroy(encoder);
}

static void reset_forgets(void **state)
{
    (void)state;
    dm_dynamics_encoder *encoder = NULL;
    float first[64], again[64];
    dm_dynamics_sample sample = dyn_sample(5, 0);
    assert_ok(dm_dynamics_encoder_create(256, 64, &encoder, err));
    dm_dynamics_encoder_update(encoder, &sample, first);
    for (uint64_t i = 1; i < 40; i++) {
        dm_dynamics_sample other = dyn_sample(5, i);
        dm_dynamics_encoder_update(encoder, &other, again);
    }
    dm_dynamics_encoder_reset(encoder);
    dm_dynamics_encoder_update(encoder, &sample, again);
    assert_memory_equal(first, again, sizeof first);
    dm_dynamics_encoder_destroy(encoder);
}

static void windows_longer_than_the_rings_are_refused(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{257, 64}, {256, 65}, {0, 64}, {256, 0}, {UINT32_MAX, 1}};
    for (size_t i = 0; i < 5; i++) {
        dm_dynamics_encoder *encoder = NULL;
        assert_int_equal(dm_dynamics_encoder_create(sizes[i][0], sizes[i][1], &encoder, NULL),
                         DM_EINVAL);
        assert_null(encoder);
    }
    dm_dynamics_encoder_destroy(NULL);
}

/* On the CPU as a device. */
static void many_at_once(void **state)
{
    (void)state;
    dm_device *device = NULL;
    dm_dynamics_encoders *encoders = NULL;
    assert_ok(dm_device_open("cpu:2", &device, err));
    dyn_check_encoders(device, 37, 300);
    assert_int_equal(dm_dynamics_encoders_create(device, 0, 256, 64, &encoders, NULL), DM_EINVAL);
    assert_int_equal(dm_dynamics_encoders_create(device, 1, 257, 64, &encoders, NULL), DM_EINVAL);
    dm_dynamics_encoders_destroy(NULL);
    dm_device_close(device);
}

static void scaling_gives_mean_0_and_deviation_1(void **state)
{
    (void)state;
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){1, 2, 1, 3, DM_DYNAMICS_GRU_RESET_FIRST, false}, 1);
    const float rows[4][3] = {{1, 5, 1e6f}, {3, 5, 1e6f + 2}, {NAN, 1, 1}, {5, 5, 1e6f + 4}};
    assert_ok(dm_dynamics_fit_scaling(model, rows[0], 4, err));
    assert_true(fabsf(model->shift[0] - 3) < 1e-6f && fabsf(model->scale[0] - 0.6123724f) < 1e-6f);
    assert_true(model->shift[1] == 5 && model->scale[1] == 1);
    assert_true(model->shift[2] == 1e6f + 2);
    assert_int_equal(dm_dynamics_fit_scaling(model, rows[2], 1, NULL), DM_EINVAL);
    dm_dynamics_destroy(model);
}

DM_TESTS("dynamics/encoder", DM_TEST(same_as_from_scratch), DM_TEST(monotone_and_constant_runs),
         DM_TEST(outliers_leave_no_trace), DM_TEST(values_that_are_not_finite_are_passed_over),
         DM_TEST(every_feature_is_live), DM_TEST(reset_forgets),
         DM_TEST(windows_longer_than_the_rings_are_refused), DM_TEST(many_at_once),
         DM_TEST(scaling_gives_mean_0_and_deviation_1))
