/* SPDX-License-Identifier: MIT */
/* What a swarm says at the end of episodes, on a CPU; test_block.c and test_gpu_swarm.c have it on GPUs. */
#include "tests/swarm/episode_case.h"

#include <dotmatrix/program.h>

#include <string.h>

static dm_device *device;

static int open_device(void **state)
{
    (void)state;
    return dm_device_open("cpu:2", &device, NULL) == DM_OK ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    dm_device_close(device);
    return 0;
}

static const dm_swarm_region regions[] = {{0xC000, 64}, {0xFF80, 20}};

static dm_swarm_desc desc_of(const dm_swarm_rom_source *rom, uint32_t stack)
{
    return (dm_swarm_desc){.roms = rom,
                           .rom_count = 1,
                           .count = 21,
                           .frames_per_step = 5,
                           .release_after_frames = 2,
                           .generator = DM_SWARM_SEEDED_RANDOM,
                           .step_limit = 7,
                           .frame_stack = stack,
                           .observations =
                               DM_SWARM_OBS_VECTOR | DM_SWARM_OBS_PIXELS | DM_SWARM_OBS_REGIONS,
                           .regions = regions,
                           .region_count = 2};
}

static void limits_and_resets_by_hand(void **state)
{
    (void)state;
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    for (uint32_t stack = 1; stack <= 3; stack += 2) {
        const dm_swarm_desc desc = desc_of(&rom, stack);
        dm_case_episodes(device, &desc, 30);
    }
}

/* Ends that a reward program sees, which has memory and observes itself. */
static void programs(void **state)
{
    (void)state;
    static const char text[] = "import dotmatrix as dm\n"
                               "@dm.memory\n"
                               "class Memory:\n"
                               "    steps: int\n"
                               "@dm.program\n"
                               "def step(m: dm.Machine, mem: Memory, out: dm.Out):\n"
                               "    mem.steps = mem.steps + 1\n"
                               "    out.obs[0] = float(mem.steps)\n"
                               "    out.obs[1] = float(dm.u8(m, 0xFF80))\n"
                               "    out.reward = 0.1 * float(dm.u8(m, 0xC000)) + 0.3\n"
                               "    out.terminated = (m.number + mem.steps) % 9 == 0\n";
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_program *program = NULL;
    dm_error err = {0};
    if (dm_program_create("reward.py", text, strlen(text), NULL, &program, &err) != DM_OK)
        fail_msg("%s\n%s", err.message, dm_program_messages(program));
    dm_swarm_desc desc = desc_of(&rom, 2);
    desc.program = program;
    desc.step_limit = 0;
    dm_case_episodes(device, &desc, 30);
    dm_program_destroy(program);
}

static void finals_are_for_same_step(void **state)
{
    (void)state;
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = desc_of(&rom, 1);
    dm_swarm *swarm = NULL;
    dm_error err = {0};
    desc.finals = true;
    assert_int_equal(dm_swarm_create(device, &desc, &swarm, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "same_step"));
    desc.finals = false;
    swarm = dm_case_swarm(device, &desc);
    assert_true(dm_swarm_output(swarm, DM_SWARM_FINAL_VECTORS) == NULL);
    assert_true(dm_swarm_output(swarm, DM_SWARM_RETURNS) == NULL);
    dm_swarm_destroy(swarm);
}

#define EPISODE_TEST(function) cmocka_unit_test_setup_teardown(function, open_device, close_device)
DM_TESTS("swarm/episodes", EPISODE_TEST(limits_and_resets_by_hand), EPISODE_TEST(programs),
         EPISODE_TEST(finals_are_for_same_step))
