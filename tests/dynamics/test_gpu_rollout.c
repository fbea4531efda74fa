/* SPDX-License-Identifier: MIT */
/* test_gpu_rollout.c - rollouts on a GPU against the float64 reference, on every variant, small
 * enough for compute-sanitizer. */
#include "tests/device/gpu.h"
#include "tests/dynamics/dynamics_case.h"

#include "dynamics/device/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct variant_case {
    dm_dynamics_config config;
    uint32_t rollouts, steps;
    dm_dyn_variant variant;
    uint32_t cluster_blocks, tile;
} variant_case;

#define FIRST DM_DYNAMICS_GRU_RESET_FIRST
#define LAST DM_DYNAMICS_GRU_RESET_LAST

static const variant_case cases[] = {
    {{2, 256, 32, 64, FIRST, false}, 1, 10, DM_DYN_VARIANT_CLUSTER, 8, 0},
    {{2, 256, 32, 64, FIRST, false}, 1, 10, DM_DYN_VARIANT_CLUSTER, 16, 0},
    {{2, 256, 32, 64, LAST, false}, 1, 11, DM_DYN_VARIANT_CLUSTER, 8, 0},
    {{2, 100, 40, 70, FIRST, false}, 2, 5, DM_DYN_VARIANT_CLUSTER, 8, 0},
    {{1, 300, 7, 5, LAST, false}, 1, 5, DM_DYN_VARIANT_CLUSTER, 16, 0},
    {{1, 512, 32, 1100, FIRST, false}, 1, 5, DM_DYN_VARIANT_CLUSTER, 16, 0},
    {{1, 600, 32, 20, FIRST, false}, 2, 3, DM_DYN_VARIANT_CLUSTER, 0, 0},
    {{1, 1024, 7, 5, LAST, false}, 1, 4, DM_DYN_VARIANT_CLUSTER, 0, 0},
    {{1, 1, 1, 1, FIRST, false}, 1, 1, DM_DYN_VARIANT_CLUSTER, 8, 0},
    {{1, 1, 1, 1, FIRST, false}, 20, 2, DM_DYN_VARIANT_CLUSTER, 8, 0},
    {{1, 1, 1, 1, FIRST, false}, 20, 2, DM_DYN_VARIANT_BATCH, 0, 2},
    {{2, 256, 32, 64, FIRST, false}, 43, 4, DM_DYN_VARIANT_BATCH, 0, 10},
    {{1, 200, 19, 3, LAST, false}, 23, 4, DM_DYN_VARIANT_BATCH, 0, 5},
    {{2, 50, 9, 64, FIRST, false}, 9, 4, DM_DYN_VARIANT_BATCH, 0, 2},
    {{1, 500, 32, 7, FIRST, false}, 5, 3, DM_DYN_VARIANT_BATCH, 0, 5},
    {{2, 60, 32, 64, FIRST, true}, 2, 5, DM_DYN_VARIANT_STREAM, 0, 0},
    {{2, 130, 32, 64, LAST, true}, 2, 5, DM_DYN_VARIANT_STREAM, 0, 0},
    {{2, 256, 32, 64, FIRST, false}, 3, 5, DM_DYN_VARIANT_AUTO, 0, 0},
};

static void check_case(const variant_case *k)
{
    dm_dynamics *model = dyn_model(k->config, 5);
    dm_dynamics_device *on = NULL;
    dm_dynamics_forecast *got = NULL;
    dm_reference_results want = {0};
    size_t cells = (size_t)k->rollouts * k->config.members;
    float *features = dyn_random((size_t)k->rollouts * k->config.input, 1, 1);
    float *hidden = dyn_random(cells * k->config.hidden, 2, 1);
    model->shift[0] = 0.25f;
    model->scale[0] = 0.5f;
    assert_ok(dm_dynamics_device_create(dm_test_gpu_device, model, &on, err));
    assert_ok(dm_dynamics_forecast_create(model, k->rollouts, k->steps, &got, err));
    on->variant = k->variant;
    on->cluster_blocks = k->cluster_blocks;
    on->tile_rollouts = k->tile;
    /* Under compute-sanitizer a launch takes seconds: one of each is enough. */
    const bool brief = getenv("DM_TEST_NO_TIMING") != NULL;
    for (int with_hidden = brief ? 1 : 0; with_hidden < 2; with_hidden++) {
        const float *h0 = with_hidden ? hidden : NULL;
        assert_ok(dm_dynamics_device_rollout(on, features, h0, got, err));
        assert_ok(dm_reference_rollout(model, features, h0, k->rollouts, k->steps, &want, err));
        double distance = dm_reference_rollout_distance(got, &want);
        if (!(distance <= DM_DYNAMICS_TOLERANCE))
            fail_msg("case %td: %g", k - cases, distance);
        dm_reference_results_deinit(&want);
    }
    /* NaN in, NaN out; and the launch ends. */
    features[0] = NAN;
    if (!brief) {
        assert_ok(dm_dynamics_device_rollout(on, features, hidden, got, err));
        for (uint32_t i = 0; i < k->config.members * k->steps; i++)
            assert_true(isnan(got->loss[i]));
    }
    free(features);
    free(hidden);
    dm_dynamics_forecast_destroy(got);
    dm_dynamics_device_destroy(on);
    dm_dynamics_destroy(model);
}

static void rollouts_on_every_variant(void **state)
{
    (void)state;
    dm_test_gpu();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(&cases[i]);
}

/* Hidden states far outside [-1, 1], where the softmax needs its maximum. */
static void wide_hidden_states(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_dynamics *model = dyn_model((dm_dynamics_config){1, 128, 8, 4, FIRST, false}, 5);
    dm_dynamics_device *on = NULL;
    dm_dynamics_forecast *got = NULL;
    dm_reference_results want = {0};
    float *features = dyn_random(4 * 64, 1, 1), *hidden = dyn_random(128 * 64, 2, 500);
    assert_ok(dm_dynamics_device_create(dm_test_gpu_device, model, &on, err));
    assert_ok(dm_dynamics_forecast_create(model, 64, 3, &got, err));
    assert_ok(dm_dynamics_device_rollout(on, features, hidden, got, err));
    assert_ok(dm_reference_rollout(model, features, hidden, 64, 3, &want, err));
    assert_true(dm_reference_rollout_distance(got, &want) <= DM_DYNAMICS_TOLERANCE);
    dm_reference_results_deinit(&want);
    free(features);
    free(hidden);
    dm_dynamics_forecast_destroy(got);
    dm_dynamics_device_destroy(on);
    dm_dynamics_destroy(model);
}

DM_TESTS("gpu/rollout", DM_TEST(rollouts_on_every_variant), DM_TEST(wide_hidden_states))
