/* SPDX-License-Identifier: MIT */
/* test_gpu_train.c - gradients and updates of the batch trainer on a GPU, as test_device_train.c on
 * the CPU. */
#include "tests/device/gpu.h"
#include "tests/dynamics/bptt_case.h"
#include "tests/dynamics/curve_case.h"

#define FIRST DM_DYNAMICS_GRU_RESET_FIRST
#define LAST DM_DYNAMICS_GRU_RESET_LAST

static void gradients_on_the_gpu(void **state)
{
    (void)state;
    dm_test_gpu();
    for (int kind = 0; kind < 2; kind++) {
        dm_dynamics_gru_kind k = (dm_dynamics_gru_kind)kind;
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

static void curves_on_the_gpu(void **state)
{
    (void)state;
    dm_test_gpu();
    curve_check_batches(dm_device_get_properties(dm_test_gpu_device)->id);
}

DM_TESTS("gpu/train", DM_TEST(gradients_on_the_gpu), DM_TEST(updates_on_the_gpu),
         DM_TEST(curves_on_the_gpu))
