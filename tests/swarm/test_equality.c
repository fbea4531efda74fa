/* SPDX-License-Identifier: MIT */
/* Every machine of a swarm does what it does alone, and does not care about the others, the
 * threads, the stage or what is observed. */
#include "tests/swarm/hook_case.h"

static dm_device *device;

static int open_device(void **state)
{
    (void)state;
    return dm_device_open("cpu:3", &device, NULL) == DM_OK ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    dm_device_close(device);
    return 0;
}

static void every_rom_with_pictures(void **state)
{
    (void)state;
    for (size_t i = 0; i < dm_case_rom_count; i++) {
        dm_swarm_rom_source rom = dm_case_rom(dm_case_rom_names[i]);
        dm_swarm_desc desc = {.roms = &rom,
                              .rom_count = 1,
                              .count = 12,
                              .frames_per_step = 7,
                              .release_after_frames = 3,
                              .generator = DM_SWARM_SEEDED_RANDOM,
                              .seed = 5 + i,
                              .observations = DM_SWARM_OBS_PACKED};
        dm_case_equality(device, &desc, 11, 4);
    }
}

static void all_roms_in_one_swarm(void **state)
{
    (void)state;
    dm_swarm_rom_source roms[32];
    for (size_t i = 0; i < dm_case_rom_count; i++)
        roms[i] = dm_case_rom(dm_case_rom_names[i]);
    dm_swarm_desc desc = {.roms = roms,
                          .rom_count = dm_case_rom_count,
                          .count = 301,
                          .generator = DM_SWARM_STRIPED,
                          .observations = DM_SWARM_OBS_VECTOR};
    dm_case_equality(device, &desc, 6, 7);
}

/* How the runs of a step are cut must not show, not in the picture either. */
static void step_shapes(void **state)
{
    static const uint32_t shapes[][2] = {{1, 1}, {2, 1}, {2, 2}, {3, 2}, {4, 1}, {24, 8}, {5, 5}};
    (void)state;
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        dm_swarm_desc desc = {.roms = &rom,
                              .rom_count = 1,
                              .count = 8,
                              .frames_per_step = shapes[i][0],
                              .release_after_frames = shapes[i][1],
                              .codec = DM_SWARM_POKEMON_V1,
                              .generator = DM_SWARM_SEEDED_RANDOM,
                              .seed = 77,
                              .observations = DM_SWARM_OBS_SHADES};
        dm_case_equality(device, &desc, 150 / shapes[i][0], 3);
    }
}

static void the_game_for_long(void **state)
{
    (void)state;
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = {.roms = &rom,
                          .rom_count = 1,
                          .count = 200,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .seed = 123456789012345,
                          .observations = DM_SWARM_OBS_SMALL};
    dm_case_equality(device, &desc, 40, 23);
}

static uint64_t fingerprint(const char *id, const dm_swarm_desc *desc, uint32_t steps)
{
    dm_device *other = NULL;
    assert_ok(dm_device_open(id, &other, err));
    dm_swarm *swarm = dm_case_swarm(other, desc);
    dm_case_step(swarm, steps);
    uint64_t hash = dm_case_fingerprint(swarm);
    dm_swarm_destroy(swarm);
    dm_device_close(other);
    return hash;
}

static void threads_and_stages_do_not_show(void **state)
{
    (void)state;
    dm_swarm_rom_source roms[] = {dm_case_rom("STARFALL"), dm_case_rom("JOY_DIVERGE_PERSIST")};
    dm_swarm_desc desc = {.roms = roms,
                          .rom_count = 2,
                          .count = 64,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .step_limit = 5,
                          .observations = DM_SWARM_OBS_VECTOR};
    uint64_t first = fingerprint("cpu:1", &desc, 8);
    assert_true(fingerprint("cpu:4", &desc, 8) == first);
    for (int stage = 0; stage < DM_SWARM_STAGES; stage++) {
        desc.stage = (dm_swarm_stage)stage;
        desc.observations = stage % 2 == 0 ? 0 : DM_SWARM_OBS_SHADES | DM_SWARM_OBS_PACKED;
        assert_true(fingerprint("cpu:2", &desc, 8) == first);
    }
    desc.seed = 1;
    assert_true(fingerprint("cpu:2", &desc, 8) != first);
}

/* A part of a larger swarm is those machines of it. */
static void the_count_does_not_show(void **state)
{
    (void)state;
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = {
        .roms = &rom, .rom_count = 1, .count = 40, .generator = DM_SWARM_SEEDED_RANDOM};
    dm_swarm *large = dm_case_swarm(device, &desc);
    desc.count = 10;
    desc.first_machine = 20;
    dm_swarm *part = dm_case_swarm(device, &desc);
    dm_case_step(large, 10);
    dm_case_step(part, 10);
    for (uint32_t i = 0; i < 10; i++)
        assert_true(dm_case_machine_hash(large, 20 + i) == dm_case_machine_hash(part, i));
    assert_true(dm_case_machine_hash(large, 20) != dm_case_machine_hash(large, 21));
    dm_swarm_destroy(large);
    dm_swarm_destroy(part);
}

/* Bits of places that the program meets, of machines in banks and with interrupts. */
static void hooks_are_as_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"STARFALL", "MBC1_SWITCH", "TIMER_IRQ_HALT",
                                        "DMA_OAM_COPY"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const dm_swarm_rom_source rom = dm_case_rom(names[i]);
        dm_gb_hook places[DM_GB_HOOK_COUNT_MAX];
        const dm_swarm_desc desc = {.roms = &rom,
                                    .rom_count = 1,
                                    .count = 9,
                                    .generator = DM_SWARM_SEEDED_RANDOM,
                                    .frames_per_step = 5,
                                    .release_after_frames = 2,
                                    .stage = DM_SWARM_EMULATE_ONLY,
                                    .hooks = places,
                                    .hook_count = dm_case_places(rom.bytes, rom.size, 40, places)};
        dm_case_hooks(device, &desc, 12, 1);
    }
}

#define SWARM_TEST(function) cmocka_unit_test_setup_teardown(function, open_device, close_device)
DM_TESTS("swarm/equality", SWARM_TEST(hooks_are_as_alone), SWARM_TEST(every_rom_with_pictures),
         SWARM_TEST(all_roms_in_one_swarm), SWARM_TEST(step_shapes), SWARM_TEST(the_game_for_long),
         SWARM_TEST(threads_and_stages_do_not_show), SWARM_TEST(the_count_does_not_show));
