/* SPDX-License-Identifier: MIT */
/* test_gpu_dynamics.c - the CUDA kernels against the float64 reference, on every road, small enough
 * for compute-sanitizer. */
#include "tests/device/gpu.h"
#include "tests/dynamics/bptt_case.h"

#include "dynamics/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct road_case {
    dm_dynamics_config config;
    uint32_t rollouts, steps;
    dm_dyn_road road;
    uint32_t cluster_blocks, tile;
} road_case;

#define FIRST DM_GRU_RESET_FIRST
#define LAST DM_GRU_RESET_LAST

static const road_case cases[] = {
    {{2, 256, 32, 64, FIRST, false}, 1, 10, DM_DYN_ROAD_CLUSTER, 8, 0},
    {{2, 256, 32, 64, FIRST, false}, 1, 10, DM_DYN_ROAD_CLUSTER, 16, 0},
    {{2, 256, 32, 64, LAST, false}, 1, 11, DM_DYN_ROAD_CLUSTER, 8, 0},
    {{2, 100, 40, 70, FIRST, false}, 2, 5, DM_DYN_ROAD_CLUSTER, 8, 0},
    {{1, 300, 7, 5, LAST, false}, 1, 5, DM_DYN_ROAD_CLUSTER, 16, 0},
    {{1, 512, 32, 1100, FIRST, false}, 1, 5, DM_DYN_ROAD_CLUSTER, 16, 0},
    {{1, 600, 32, 20, FIRST, false}, 2, 3, DM_DYN_ROAD_CLUSTER, 0, 0},
    {{1, 1024, 7, 5, LAST, false}, 1, 4, DM_DYN_ROAD_CLUSTER, 0, 0},
    {{1, 1, 1, 1, FIRST, false}, 1, 1, DM_DYN_ROAD_CLUSTER, 8, 0},
    {{1, 1, 1, 1, FIRST, false}, 20, 2, DM_DYN_ROAD_CLUSTER, 8, 0},
    {{1, 1, 1, 1, FIRST, false}, 20, 2, DM_DYN_ROAD_BATCH, 0, 2},
    {{2, 256, 32, 64, FIRST, false}, 43, 4, DM_DYN_ROAD_BATCH, 0, 10},
    {{1, 200, 19, 3, LAST, false}, 23, 4, DM_DYN_ROAD_BATCH, 0, 5},
    {{2, 50, 9, 64, FIRST, false}, 9, 4, DM_DYN_ROAD_BATCH, 0, 2},
    {{1, 500, 32, 7, FIRST, false}, 5, 3, DM_DYN_ROAD_BATCH, 0, 5},
    {{2, 60, 32, 64, FIRST, true}, 2, 5, DM_DYN_ROAD_STREAM, 0, 0},
    {{2, 130, 32, 64, LAST, true}, 2, 5, DM_DYN_ROAD_STREAM, 0, 0},
    {{2, 256, 32, 64, FIRST, false}, 3, 5, DM_DYN_ROAD_AUTO, 0, 0},
};

static void check_case(const road_case *k)
{
    dm_dynamics *model = dyn_model(k->config, 5);
    dm_dynamics_device *on = NULL;
    dm_rollout *got = NULL;
    dm_reference_results want = {0};
    size_t cells = (size_t)k->rollouts * k->config.members;
    float *features = dyn_random((size_t)k->rollouts * k->config.input, 1, 1);
    float *hidden = dyn_random(cells * k->config.hidden, 2, 1);
    model->shift[0] = 0.25f;
    model->scale[0] = 0.5f;
    assert_ok(dm_dynamics_device_create(dm_test_gpu_device, model, &on, err));
    assert_ok(dm_rollout_create(model, k->rollouts, k->steps, &got, err));
    on->road = k->road;
    on->cluster_blocks = k->cluster_blocks;
    on->tile_rollouts = k->tile;
    for (int with_hidden = 0; with_hidden < 2; with_hidden++) {
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
    assert_ok(dm_dynamics_device_rollout(on, features, hidden, got, err));
    for (uint32_t i = 0; i < k->config.members * k->steps; i++)
        assert_true(isnan(got->loss[i]));
    free(features);
    free(hidden);
    dm_rollout_destroy(got);
    dm_dynamics_device_destroy(on);
    dm_dynamics_destroy(model);
}

static void rollouts_on_every_road(void **state)
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
    dm_rollout *got = NULL;
    dm_reference_results want = {0};
    float *features = dyn_random(4 * 64, 1, 1), *hidden = dyn_random(128 * 64, 2, 500);
    assert_ok(dm_dynamics_device_create(dm_test_gpu_device, model, &on, err));
    assert_ok(dm_rollout_create(model, 64, 3, &got, err));
    assert_ok(dm_dynamics_device_rollout(on, features, hidden, got, err));
    assert_ok(dm_reference_rollout(model, features, hidden, 64, 3, &want, err));
    assert_true(dm_reference_rollout_distance(got, &want) <= DM_DYNAMICS_TOLERANCE);
    dm_reference_results_deinit(&want);
    free(features);
    free(hidden);
    dm_rollout_destroy(got);
    dm_dynamics_device_destroy(on);
    dm_dynamics_destroy(model);
}

static void gru_batches(void **state)
{
    (void)state;
    dm_test_gpu();
    static const struct {
        uint32_t hidden, input;
        size_t batch;
        int block;
    } sizes[] = {{256, 64, 1, 0},  {65, 7, 3, 0},    {64, 64, 13, -1}, {1, 1, 1, 0},
                 {64, 64, 70, 32}, {99, 33, 65, 64}, {70, 5, 130, 128}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int kind = 0; kind < 2; kind++) {
            uint32_t H = sizes[i].hidden, I = sizes[i].input;
            size_t batch = sizes[i].batch;
            dm_dynamics *model =
                dyn_model((dm_dynamics_config){2, H, 1, I, (dm_gru_kind)kind, false}, 3);
            dm_dynamics_device *on = NULL;
            float *x = dyn_random(batch * I, 1, 2), *h = dyn_random(batch * H, 2, 1),
                  *got = dyn_random(batch * H, 3, 1e9f);
            double *want = malloc(batch * H * sizeof *want);
            assert_non_null(want);
            assert_ok(dm_dynamics_device_create(dm_test_gpu_device, model, &on, err));
            on->gru_block = sizes[i].block;
            assert_ok(dm_dynamics_device_gru(on, 1, batch, x, h, got, err));
            assert_ok(dm_reference_gru(model, 1, batch, x, h, want, err));
            double distance = dm_reference_distance(got, want, batch * H);
            if (!(distance <= DM_DYNAMICS_TOLERANCE))
                fail_msg("hidden %u, input %u, batch %zu, kind %d: %g", H, I, batch, kind,
                         distance);
            x[0] = INFINITY;
            assert_ok(dm_dynamics_device_gru(on, 1, batch, x, h, got, err));
            for (uint32_t k = 0; k < H; k++)
                assert_true(isfinite(got[k]));
            x[0] = NAN;
            assert_ok(dm_dynamics_device_gru(on, 1, batch, x, h, got, err));
            assert_true(isnan(got[0]) && isnan(got[H - 1]) && (batch == 1 || !isnan(got[H])));
            free(x);
            free(h);
            free(got);
            free(want);
            dm_dynamics_device_destroy(on);
            dm_dynamics_destroy(model);
        }
    }
}

static void encoders_on_the_gpu(void **state)
{
    (void)state;
    dm_test_gpu();
    dyn_check_encoders(dm_test_gpu_device, 70, 70);
}

static void gradients_on_the_gpu(void **state)
{
    (void)state;
    dm_test_gpu();
    for (int kind = 0; kind < 2; kind++) {
        dm_gru_kind k = (dm_gru_kind)kind;
        dm_device *gpu = dm_test_gpu_device;
        bptt_check_sequences(gpu, (dm_dynamics_config){2, 37, 9, 11, k, true}, 3, 4, 9, true);
        bptt_check_sequences(gpu, (dm_dynamics_config){3, 70, 32, 65, k, false}, 5, 1, 6, true);
        bptt_check_sequences(gpu, (dm_dynamics_config){1, 5, 70, 3, k, false}, 2, 3, 3, false);
        bptt_check_sequences(gpu, (dm_dynamics_config){2, 1, 1, 1, k, kind == 1}, 70, 2, 3, true);
        bptt_check_sequences(gpu, (dm_dynamics_config){2, 256, 32, 64, k, false}, 2, 2, 5, true);
        bptt_check_cell(gpu, (dm_dynamics_config){1, 7, 3, 5, k, false}, 4);
    }
}

static void updates_on_the_gpu(void **state)
{
    (void)state;
    dm_test_gpu();
    bptt_check_updates(dm_test_gpu_device, (dm_dynamics_config){2, 24, 6, 10, FIRST, false});
    bptt_check_updates(dm_test_gpu_device, (dm_dynamics_config){2, 70, 30, 10, LAST, true});
    bptt_check_online(dm_test_gpu_device);
}

DM_TESTS("gpu/dynamics", DM_TEST(rollouts_on_every_road), DM_TEST(wide_hidden_states),
         DM_TEST(gru_batches), DM_TEST(encoders_on_the_gpu), DM_TEST(gradients_on_the_gpu),
         DM_TEST(updates_on_the_gpu))
