/* SPDX-License-Identifier: MIT */
/* test_gpu_gru.c - batches of GRU steps and of encoders on a GPU against the float64 reference. */
#include "tests/device/gpu.h"
#include "tests/dynamics/dynamics_case.h"

#include "dynamics/device/model.h"

#include <math.h>
#include <stdlib.h>

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
                dyn_model((dm_dynamics_config){2, H, 1, I, (dm_dynamics_gru_kind)kind, false}, 3);
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

DM_TESTS("gpu/gru", DM_TEST(gru_batches), DM_TEST(encoders_on_the_gpu))
