/* SPDX-License-Identifier: MIT */
/* dynamics_case.c - see dynamics_case.h. */
#include "tests/dynamics/dynamics_case.h"

#include "base/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float *dyn_random(size_t n, uint64_t seed, float bound)
{
    float *out = malloc((n + 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        out[i] = (2 * dm_random_unit(dm_random4(seed, 77, i).v[0]) - 1) * bound;
    return out;
}

double *dyn_to_double(const float *from, size_t n)
{
    double *out = malloc((n + 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        out[i] = (double)from[i];
    return out;
}

dm_dynamics *dyn_model(dm_dynamics_config config, uint64_t seed)
{
    dm_dynamics *model = NULL;
    assert_ok(dm_dynamics_create(&config, seed, &model, err));
    size_t count;
    for (uint32_t e = 0; e < config.members; e++) {
        float *b = dm_dynamics_weights(model, e, DM_DYNAMICS_B, &count);
        for (size_t i = 0; i < count; i++)
            b[i] = 0.02f * (float)((int)(i % 11) - 5);
        float *c = dm_dynamics_weights(model, e, DM_DYNAMICS_C, &count);
        for (size_t i = 0; i < count; i++)
            c[i] = 0.03f * (float)((int)(i % 7) - 3);
    }
    return model;
}

void dyn_member64_init(dyn_member64 *m, const dm_dynamics *model, uint32_t member)
{
    m->weights = dyn_to_double(dm_dynamics_member(model, member), model->layout.total);
    m->member = (dm_ref64_member){&model->config, &model->layout, m->weights,
                                  (double)model->shift[0], (double)model->scale[0]};
}

void dyn_member64_deinit(dyn_member64 *m)
{
    free(m->weights);
}

/* ---- Encoders ---- */

static float uniform(uint64_t seed, uint64_t i)
{
    return dm_random_unit(dm_random4(seed, 5, i).v[0]);
}

dm_dynamics_sample dyn_sample(uint64_t seed, uint64_t i)
{
    float noise = 1 + 0.1f * (uniform(seed, 4 * i) - 0.5f);
    return (dm_dynamics_sample){
        .step = i + 1,
        .loss = (2.5f * powf((float)i + 1, -0.3f) + 0.2f) * noise,
        .gradient_norm =
            expf(2 * uniform(seed, 4 * i + 1)) * (uniform(seed, 4 * i + 2) > 0.97f ? 50 : 1),
        .first_mean = 1e-3f * (uniform(seed, 4 * i + 3) - 0.5f),
        .first_std = 2e-3f,
        .second_mean = 1e-6f * (1 + uniform(seed, 9 * i)),
        .second_std = 3e-6f,
        .learning_rate = i < 50 ? 1e-5f * (float)(i + 1) : 5e-4f * expf(-1e-3f * (float)i),
        .beta1 = 0.9f,
        .beta2 = 0.999f,
        .phase = (uint32_t)(i / 60 % 4),
        .phase_step = (uint32_t)(i % 60),
    };
}

void dyn_check_encoders(dm_device *device, size_t count, uint32_t steps)
{
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){2, 24, 4, 64, DM_DYNAMICS_GRU_RESET_FIRST, false}, 4);
    dm_dynamics_device *on = NULL;
    dm_dynamics_encoders *encoders = NULL;
    dm_dynamics_encoder *single = NULL;
    dm_dynamics_forecast *got = NULL;
    dm_reference_results want = {0};
    size_t one = count / 2;
    float *features = malloc(count * 64 * sizeof *features), wanted[64];
    dm_dynamics_sample *samples = malloc(count * sizeof *samples);
    assert_true(features != NULL && samples != NULL);
    for (size_t i = 0; i < 64; i++) /* nothing that saturates the cell */
        model->scale[i] = 0.01f;
    assert_ok(dm_dynamics_device_create(device, model, &on, err));
    assert_ok(dm_dynamics_encoders_create(device, count, 256, 64, &encoders, err));
    assert_ok(dm_dynamics_encoder_create(256, 64, &single, err));
    assert_ok(dm_dynamics_forecast_create(model, (uint32_t)count, 6, &got, err));
    for (uint64_t t = 0; t < steps; t++) {
        for (uint64_t i = 0; i < count; i++)
            samples[i] = dyn_sample(100 + i, t);
        bool last = t + 1 == steps;
        if (last)
            assert_ok(dm_dynamics_device_forecast(on, encoders, samples, NULL, got, err));
        else
            assert_ok(
                dm_dynamics_encoders_update(encoders, samples, t % 7 == 0 ? features : NULL, err));
        dm_dynamics_encoder_update(single, &samples[one], wanted);
        for (int k = 0; k < 64 && !last && t % 7 == 0; k++)
            assert_true(fabsf(features[one * 64 + (size_t)k] - wanted[k]) <=
                        1e-5f * fmaxf(1, fabsf(wanted[k])));
    }
    assert_ok(dm_reference_rollout(model, wanted, NULL, 1, 6, &want, err));
    assert_true(dm_reference_distance(got->loss + one * 2 * 6, want.loss, 2 * 6) <
                DM_DYNAMICS_TOLERANCE);
    dm_dynamics_forecast *other = NULL;
    assert_ok(dm_dynamics_forecast_create(model, (uint32_t)count + 1, 6, &other, err));
    assert_int_equal(dm_dynamics_device_forecast(on, encoders, samples, NULL, other, NULL),
                     DM_EINVAL);
    dm_dynamics_forecast_destroy(other);
    dm_reference_results_deinit(&want);
    dm_dynamics_forecast_destroy(got);
    dm_dynamics_encoder_destroy(single);
    dm_dynamics_encoders_destroy(encoders);
    dm_dynamics_device_destroy(on);
    dm_dynamics_destroy(model);
    free(features);
    free(samples);
}
