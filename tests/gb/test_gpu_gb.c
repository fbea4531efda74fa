/* SPDX-License-Identifier: MIT */
/* The Game Boy on a real GPU: every vector, and every ROM of ours on 64 machines against the core
 * on the host. */
#include "tests/device/gpu.h"
#include "tests/gb/device/cases.h"

static void resources(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_case_gb_resources(dm_test_gpu_device);
}

static void vectors(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_case_gb_vectors(dm_test_gpu_device, NULL);
}

static void roms(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_case_gb_roms(dm_test_gpu_device, &(dm_gb_case){.machines = 64, .steps = 12});
}

DM_TESTS("gpu/gb", DM_TEST(resources), DM_TEST(vectors), DM_TEST(roms))
