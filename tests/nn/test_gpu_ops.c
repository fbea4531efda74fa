/* SPDX-License-Identifier: MIT */
/* test_gpu_ops.c - the same list of operations on CUDA, in float32 and bfloat16, against the plain
 * ones in double; activations and losses against their texts. */
#include "tests/device/gpu.h"
#include "tests/nn/op_case.h"
#include "tests/nn/text_case.h"

static void check_all(dm_nn_type type, double tolerance)
{
    dm_nn_exec exec;
    assert_ok(dm_nn_cuda_create(dm_test_gpu_device, type, &exec, err));
    for (size_t i = 0; i < op_case_count(); i++)
        for (uint64_t seed = 1; seed <= 2; seed++)
            op_case_compare(op_case_get(i), &exec, dm_test_gpu_device, seed, tolerance);
    dm_nn_cuda_destroy(&exec);
}

static void floats_follow_doubles(void **state)
{
    (void)state;
    dm_test_gpu();
    check_all(DM_NN_F32, 5e-6);
}

/* An operation keeps 8 bits of each number that it gives. */
static void bfloat16_follows_doubles(void **state)
{
    (void)state;
    dm_test_gpu();
    check_all(DM_NN_BF16, 2e-2);
}

static void hand_written_equals_texts(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_nn_exec exec;
    assert_ok(dm_nn_cuda_create(dm_test_gpu_device, DM_NN_F32, &exec, err));
    text_case_activations(dm_test_gpu_device, &exec);
    text_case_losses(dm_test_gpu_device, &exec);
    dm_nn_cuda_destroy(&exec);
}

DM_TESTS("gpu/nn_ops", DM_TEST(floats_follow_doubles), DM_TEST(bfloat16_follows_doubles),
         DM_TEST(hand_written_equals_texts));
