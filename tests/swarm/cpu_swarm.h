/* SPDX-License-Identifier: MIT */
/* cpu_swarm.h - what tests of swarms on the CPU share: a device, two games and a folder for each test case. */
#ifndef DM_TESTS_SWARM_CPU_SWARM_H
#define DM_TESTS_SWARM_CPU_SWARM_H

#include "tests/support/tmpdir.h"
#include "tests/swarm/swarm_case.h"

static dm_device *device;
static dm_swarm_rom_source game, joy;

static int setup(void **state)
{
    game = dm_case_rom("STARFALL");
    joy = dm_case_rom("JOY_DIVERGE_PERSIST");
    if (dm_device_open("cpu:2", &device, NULL) != DM_OK)
        return -1;
    return dm_test_dir_setup(state);
}

static int teardown(void **state)
{
    dm_device_close(device);
    return dm_test_dir_teardown(state);
}

#define GAME(...)                                                                                  \
    (dm_swarm_desc)                                                                                \
    {                                                                                              \
        .roms = &game, .rom_count = 1, .generator = DM_SWARM_SEEDED_RANDOM, __VA_ARGS__            \
    }

static inline uint8_t *bytes_of(dm_swarm *swarm, dm_swarm_output_kind kind)
{
    return dm_device_buffer_address(dm_swarm_output(swarm, kind));
}

#define SWARM_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
