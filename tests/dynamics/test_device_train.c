/* SPDX-License-Identifier: MIT */
/* test_device_train.c - learning on a device, with the CPU as the device: the kernels are those
 * that a GPU runs. */
#include "tests/dynamics/bptt_case.h"

#include "dynamics/device/bptt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST DM_DYNAMICS_GRU_RESET_FIRST
#define LAST DM_DYNAMICS_GRU_RESET_LAST

static dm_device *open_cpu(void)
{
    dm_device *device = NULL;
    assert_ok(dm_device_open("cpu:2", &device, err));
    return device;
}

/* Sizes around a tile and a chunk, every way that a matrix may lie, with and without adding. */
static void products_of_all_shapes(void **state)
{
    (void)state;
    dm_device *device = open_cpu();
    dm_dynamics *model = dyn_model((dm_dynamics_config){1, 2, 1, 1, FIRST, false}, 1);
    dm_bptt bptt;
    assert_ok(dm_bptt_init(&bptt, device, model, err));
    static const uint64_t sizes[][3] = {{1, 1, 1},    {64, 64, 16}, {65, 63, 17},
                                        {3, 130, 15}, {129, 2, 33}, {20, 70, 64},
                                        {64, 1, 100}, {1, 200, 5},  {8, 65, 40}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int way = 0; way < 8; way++) {
            uint64_t M = sizes[i][0], N = sizes[i][1], K = sizes[i][2], E = 2;
            bool a_turned = way & 1, b_turned = way & 2, add = way & 4;
            float *a = dyn_random(E * (M * K + 3), 1, 1), *b = dyn_random(E * (K * N + 5), 2, 1),
                  *c = dyn_random(E * (M * (N + 2) + 1), 3, 1),
                  *start = dyn_random(E * (M * (N + 2) + 1), 3, 1);
            double *want = dyn_to_double(c, E * (M * (N + 2) + 1));
            dm_product_args p = {.members = (uint32_t)E,
                                 .accumulate = add,
                                 .M = M,
                                 .N = N,
                                 .K = K,
                                 .a = a,
                                 .a_member = M * K + 3,
                                 .a_m = a_turned ? 1 : K,
                                 .a_k = a_turned ? M : 1,
                                 .b = b,
                                 .b_member = K * N + 5,
                                 .b_k = b_turned ? 1 : N,
                                 .b_n = b_turned ? K : 1,
                                 .c = c,
                                 .c_member = M * (N + 2) + 1,
                                 .c_m = N + 2};
            for (uint64_t e = 0; e < E; e++)
                for (uint64_t m = 0; m < M; m++)
                    for (uint64_t n = 0; n < N; n++) {
                        double *to = want + e * p.c_member + m * p.c_m + n, sum = add ? *to : 0;
                        for (uint64_t k = 0; k < K; k++)
                            sum += (double)a[e * p.a_member + m * p.a_m + k * p.a_k] *
                                   (double)b[e * p.b_member + k * p.b_k + n * p.b_n];
                        *to = sum;
                    }
            /* What lies between the rows is still there, too. */
            for (int few = 0; few <= (M <= DM_PRODUCT_FEW); few++) {
                memcpy(c, start, E * p.c_member * sizeof *c);
                assert_ok(dm_bptt_multiply(&bptt, &p, few == 1, err));
                if (!(dm_reference_distance(c, want, E * p.c_member) < 1e-5))
                    fail_msg("%u x %u x %u, way %d, few %d", (unsigned)M, (unsigned)N, (unsigned)K,
                             way, few);
            }
            free(start);
            free(a);
            free(b);
            free(c);
            free(want);
        }
    }
    dm_bptt_deinit(&bptt);
    dm_dynamics_destroy(model);
    dm_device_close(device);
}

static void gradients_of_sequences(void **state)
{
    (void)state;
    dm_device *device = open_cpu();
    for (int kind = 0; kind < 2; kind++) {
        dm_dynamics_gru_kind k = (dm_dynamics_gru_kind)kind;
        bptt_check_sequences(device, (dm_dynamics_config){2, 37, 9, 11, k, true}, 3, 4, 9, true);
        bptt_check_sequences(device, (dm_dynamics_config){3, 70, 32, 65, k, false}, 5, 1, 6, true);
        bptt_check_sequences(device, (dm_dynamics_config){1, 5, 13, 3, k, false}, 2, 3, 3, false);
        bptt_check_sequences(device, (dm_dynamics_config){2, 1, 1, 1, k, kind == 1}, 70, 2, 3,
                             true);
        bptt_check_sequences(device, (dm_dynamics_config){1, 130, 7, 2, k, true}, 1, 1, 2, false);
    }
    dm_device_close(device);
}

static void gradients_of_the_cell(void **state)
{
    (void)state;
    dm_device *device = open_cpu();
    for (int kind = 0; kind < 2; kind++) {
        bptt_check_cell(device, (dm_dynamics_config){1, 7, 3, 5, (dm_dynamics_gru_kind)kind, false},
                        4);
        bptt_check_cell(device, (dm_dynamics_config){1, 17, 1, 1, (dm_dynamics_gru_kind)kind, true},
                        2);
    }
    dm_device_close(device);
}

static void updates_are_those_of_one_sequence(void **state)
{
    (void)state;
    dm_device *device = open_cpu();
    bptt_check_updates(device, (dm_dynamics_config){2, 24, 6, 10, FIRST, false});
    bptt_check_updates(device, (dm_dynamics_config){2, 19, 30, 10, LAST, true});
    dm_device_close(device);
}

static void runs_are_followed(void **state)
{
    (void)state;
    dm_device *device = open_cpu();
    bptt_check_online(device);
    dm_device_close(device);
}

static void a_batch_of_curves_is_learnt(void **state)
{
    (void)state;
    dm_device *device = open_cpu();
    bptt_check_learning(device);
    dm_device_close(device);
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    dm_device *device = open_cpu();
    dm_dynamics *model = dyn_model((dm_dynamics_config){1, 2, 1, 1, FIRST, false}, 1);
    dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
    dm_dynamics_batch_trainer *t = NULL;
    float x[4] = {0};
    how.beta2 = 1;
    assert_int_equal(dm_dynamics_batch_trainer_create(device, model, &how, &t, NULL), DM_EINVAL);
    how.beta2 = 0.9f;
    assert_ok(dm_dynamics_batch_trainer_create(device, model, &how, &t, err));
    static const uint32_t wrong[][4] = {
        {0, 1, 1, 0}, {1, 0, 1, 0}, {1, 2, 1, 0}, {1, 1, 1, 1}, {1u << 31, 1, 2, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(dm_dynamics_batch_trainer_sequences(t, wrong[i][0], x, wrong[i][1],
                                                             wrong[i][2], wrong[i][3], x, NULL,
                                                             NULL, NULL),
                         DM_EINVAL);
    assert_int_equal(dm_dynamics_batch_trainer_set_learning_rate(t, -1, NULL), DM_EINVAL);
    assert_int_equal(dm_dynamics_batch_trainer_set_learning_rate(t, NAN, NULL), DM_EINVAL);
    assert_ok(dm_dynamics_batch_trainer_set_learning_rate(t, 0.5f, err));
    dm_dynamics_batch_trainer_destroy(t);
    dm_dynamics_batch_trainer_destroy(NULL);
    dm_dynamics_destroy(model);
    dm_device_close(device);
}

DM_TESTS("dynamics/device-train", DM_TEST(products_of_all_shapes), DM_TEST(gradients_of_sequences),
         DM_TEST(gradients_of_the_cell), DM_TEST(updates_are_those_of_one_sequence),
         DM_TEST(runs_are_followed), DM_TEST(a_batch_of_curves_is_learnt),
         DM_TEST(wrong_calls_are_refused))
