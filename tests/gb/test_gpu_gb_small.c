/* SPDX-License-Identifier: MIT */
/* A little of test_gpu_gb.c, small enough for compute-sanitizer: the last block of machines is not
 * full. */
#include "tests/device/gpu.h"
#include "tests/gb/device/cases.h"

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
    dm_case_gb_roms(dm_test_gpu_device,
                    &(dm_gb_case){.only = "STARFALL MBC1_RAM DMA_OAM_COPY PPU_WINDOW",
                                  .machines = 33,
                                  .steps = 3});
}

DM_TESTS("gpu/small-gb", DM_TEST(vectors), DM_TEST(roms))
