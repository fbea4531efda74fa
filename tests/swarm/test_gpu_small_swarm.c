/* SPDX-License-Identifier: MIT */
/* A small swarm with every output, for compute-sanitizer. */
#include "tests/device/gpu.h"
#include "tests/swarm/swarm_case.h"

static void everything_with(uint32_t lanes)
{
    static const dm_swarm_region region = {0xC000, 100};
    dm_test_gpu();
    dm_swarm_rom_source roms[] = {dm_case_rom("STARFALL"), dm_case_rom("MBC1_RAM"),
                                  dm_case_rom("PPU_SPRITES")};
    dm_swarm_desc desc = {.roms = roms,
                          .rom_count = 3,
                          .count = 37,
                          .frames_per_step = 3,
                          .release_after_frames = 2,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .step_limit = 2,
                          .autoreset = DM_SWARM_SAME_STEP,
                          .snapshots = 1,
                          .observations =
                              DM_SWARM_OBS_VECTOR | DM_SWARM_OBS_PIXELS | DM_SWARM_OBS_REGIONS,
                          .regions = &region,
                          .region_count = 1,
                          .frame_stack = 2,
                          .lanes_per_warp = lanes};
    dm_swarm *swarm = dm_case_swarm(dm_test_gpu_device, &desc);
    dm_case_step(swarm, 1);
    assert_ok(dm_swarm_snapshot(swarm, 36, 3, err));
    const uint32_t machines[] = {0, 36}, slots[] = {3, 3};
    assert_ok(dm_swarm_reset_host(swarm, machines, slots, 2, err));
    dm_case_step(swarm, 3);
    dm_swarm_faults faults;
    assert_ok(dm_swarm_get_faults(swarm, &faults, err));
    assert_int_equal(faults.actions + faults.resets, 0);
    dm_swarm_destroy(swarm);
}

static void everything_once(void **state)
{
    (void)state;
    everything_with(32);
}

/* Machines are copies in shared memory then (gb/simt/staging.h). */
static void everything_alone(void **state)
{
    (void)state;
    everything_with(1);
}

DM_TESTS("gpu/small-swarm", DM_TEST(everything_once), DM_TEST(everything_alone));
