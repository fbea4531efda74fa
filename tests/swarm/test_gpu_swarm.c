/* SPDX-License-Identifier: MIT */
/* The swarm on a GPU: equal to the CPU's and to machines played alone, asynchronous, replayable. */
#include "base/thread.h"
#include "tests/device/gpu.h"
#include "tests/support/rom_cases.h"
#include "tests/swarm/episode_case.h"
#include "tests/swarm/hook_case.h"

#include <stdlib.h>
#include <string.h>

#define ALL_OBS (DM_SWARM_OBS_VECTOR | DM_SWARM_OBS_PIXELS | DM_SWARM_OBS_REGIONS)
static const dm_swarm_region regions[] = {{0xC000, 32}, {0xFE00, 160}};

/* Every output of two swarms is the same, floats to the bit. */
static void same_outputs(dm_swarm *a, dm_swarm *b)
{
    for (int kind = 0; kind < DM_SWARM_OUTPUTS; kind++) {
        size_t size = a->desc.count * dm_swarm_output_size(a, (dm_swarm_output_kind)kind);
        if (size == 0)
            continue;
        uint8_t *x = malloc(size), *y = malloc(size);
        assert_ok(dm_swarm_download(a, (dm_swarm_output_kind)kind, x, size, err));
        assert_ok(dm_swarm_download(b, (dm_swarm_output_kind)kind, y, size, err));
        for (size_t i = 0; i < size; i++)
            if (x[i] != y[i])
                fail_msg("output %d differs at byte %zu of machine %zu", kind,
                         i % (size / a->desc.count), i / (size / a->desc.count));
        free(x);
        free(y);
    }
}

static void as_on_the_cpu(const dm_swarm_desc *desc, uint32_t steps)
{
    dm_device *cpu = NULL;
    assert_ok(dm_device_open("cpu", &cpu, err));
    dm_swarm *here = dm_case_swarm(cpu, desc);
    dm_swarm *there = dm_case_swarm(dm_test_gpu_device, desc);
    dm_case_step(here, steps);
    dm_case_step(there, steps);
    for (uint32_t i = 0; i < desc->count; i++)
        if (dm_case_machine_hash(here, i) != dm_case_machine_hash(there, i)) {
            dm_gb *alone = dm_case_alone(desc, i, steps);
            dm_case_same(there, i, alone); /* names the difference */
            fail_msg("machine %u differs", i);
        }
    same_outputs(here, there);
    dm_swarm_destroy(here);
    dm_swarm_destroy(there);
    dm_device_close(cpu);
}

/* Hundreds of machines of all ROMs together, thousands of frames, all outputs. */
static void all_roms(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_swarm_rom_source roms[32];
    for (size_t i = 0; i < dm_case_rom_count; i++)
        roms[i] = dm_case_rom(dm_case_rom_names[i]);
    dm_swarm_desc desc = {.roms = roms,
                          .rom_count = dm_case_rom_count,
                          .count = 801,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .seed = 3,
                          .observations = ALL_OBS,
                          .regions = regions,
                          .region_count = 2,
                          .frame_stack = 3,
                          .step_limit = 31};
    as_on_the_cpu(&desc, 60);
}

static void the_game(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    for (int mode = 0; mode < DM_SWARM_AUTORESETS; mode++) {
        dm_swarm_desc desc = {.roms = &rom,
                              .rom_count = 1,
                              .count = 500,
                              .generator = DM_SWARM_SEEDED_RANDOM,
                              .seed = 11,
                              .observations = ALL_OBS,
                              .regions = regions,
                              .region_count = 2,
                              .frame_stack = 2,
                              .autoreset = (dm_swarm_autoreset)mode,
                              .step_limit = 17};
        as_on_the_cpu(&desc, 50);
    }
}

/* Packed pixels made while pictures are drawn, which is where only one is kept, by warps of every
 * shape: all machines of a warp, half of them, one; steps of one launch and of two, and those whose
 * first part draws as well. */
static void packed_pixels(void **state)
{
    static const uint32_t lanes[] = {32, 16, 1, 32, 32}, blocks[] = {128, 128, 128, 256, 256};
    (void)state;
    dm_test_gpu();
    dm_swarm_rom_source roms[32];
    for (size_t i = 0; i < dm_case_rom_count; i++)
        roms[i] = dm_case_rom(dm_case_rom_names[i]);
    for (int i = 0; i < 5; i++) {
        dm_swarm_desc desc = {.roms = roms,
                              .rom_count = dm_case_rom_count,
                              .count = 300,
                              .generator = DM_SWARM_SEEDED_RANDOM,
                              .seed = (uint64_t)i,
                              .observations = DM_SWARM_OBS_PACKED | DM_SWARM_OBS_SHADES,
                              .frame_stack = 1,
                              .frames_per_step = i == 4 ? 3 : 8,
                              .release_after_frames = 2,
                              .step_limit = 13,
                              .lanes_per_warp = lanes[i],
                              .block_threads = blocks[i]};
        as_on_the_cpu(&desc, 40);
    }
}

/* Lanes, blocks and stages do not show in the machines. */
static void shapes(void **state)
{
    static const uint32_t lanes[] = {1, 3, 8, 32, 1, 32};
    static const uint32_t blocks[] = {32, 64, 128, 128, 1024, 256};
    (void)state;
    dm_test_gpu();
    dm_swarm_rom_source roms[] = {dm_case_rom("STARFALL"), dm_case_rom("JOY_DIVERGE_PERSIST")};
    uint64_t first = 0;
    for (int i = 0; i < 6; i++) {
        dm_swarm_desc desc = {.roms = roms,
                              .rom_count = 2,
                              .count = 333,
                              .stage = (dm_swarm_stage)(i % 4),
                              .generator = DM_SWARM_SEEDED_RANDOM,
                              .observations = i == 2 ? DM_SWARM_OBS_PACKED : 0,
                              .step_limit = 7,
                              .lanes_per_warp = lanes[i],
                              .block_threads = blocks[i]};
        dm_swarm *swarm = dm_case_swarm(dm_test_gpu_device, &desc);
        dm_case_step(swarm, 12);
        uint64_t hash = dm_case_fingerprint(swarm);
        first = i == 0 ? hash : first;
        assert_true(hash == first);
        dm_swarm_destroy(swarm);
    }
}

/* So many machines that the last one's memory lies more than 4 GiB behind the first one's: each has
 * the picture that its action makes. */
static void pictures_of_many(void **state)
{
    (void)state;
    dm_test_gpu();
    enum { COUNT = 100000, ACTIONS = 9 };
    uint64_t room = 0;
    assert_ok(dm_device_memory_free(dm_test_gpu_device, &room, err));
    if (room < (uint64_t)COUNT << 17)
        dm_test_skip("the GPU has no room for %d machines", COUNT);
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = {
        .roms = &rom, .rom_count = 1, .count = COUNT, .observations = DM_SWARM_OBS_PACKED};
    dm_swarm *swarm = dm_case_swarm(dm_test_gpu_device, &desc);
    uint8_t *actions = malloc(COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        actions[i] = (uint8_t)(i % ACTIONS);
    for (int step = 0; step < 3; step++)
        assert_ok(dm_swarm_step_host(swarm, actions, COUNT, err));
    const size_t each = dm_swarm_output_size(swarm, DM_SWARM_PACKEDS);
    uint8_t *packed = malloc(COUNT * each);
    assert_ok(dm_swarm_download(swarm, DM_SWARM_PACKEDS, packed, COUNT * each, err));
    assert_true(memcmp(packed, packed + 1, each - 1) != 0); /* there is something to see */
    for (size_t i = 0; i < COUNT; i++)
        if (memcmp(packed + i * each, packed + i % ACTIONS * each, each) != 0)
            fail_msg("machine %zu has another picture than machine %zu", i, i % ACTIONS);
    free(packed);
    free(actions);
    dm_swarm_destroy(swarm);
}

static void masked_reset(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = {.roms = &rom,
                          .rom_count = 1,
                          .count = 100,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .snapshots = 1,
                          .lanes_per_warp = 32,
                          .observations = DM_SWARM_OBS_PACKED};
    dm_swarm *swarm = dm_case_swarm(dm_test_gpu_device, &desc);
    dm_case_step(swarm, 20);
    assert_ok(dm_swarm_snapshot(swarm, 42, 1, err));
    dm_case_step(swarm, 5);
    uint64_t before[100];
    for (uint32_t i = 0; i < 100; i++)
        before[i] = dm_case_machine_hash(swarm, i);
    const uint32_t machines[] = {0, 31, 32, 99}, slots[] = {1, 0, 1, 1};
    assert_ok(dm_swarm_reset_host(swarm, machines, slots, 4, err));
    for (uint32_t i = 0; i < 100; i++) {
        bool reset = i == 0 || i == 31 || i == 32 || i == 99;
        assert_int_equal(dm_case_machine_hash(swarm, i) == before[i], !reset);
    }
    dm_swarm_destroy(swarm);
}

static void step_returns_before_the_work_is_done(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_swarm_rom_source rom = dm_case_rom("ALU_LOOP");
    dm_swarm_desc desc = {
        .roms = &rom, .rom_count = 1, .count = 2048, .stage = DM_SWARM_EMULATE_ONLY};
    dm_swarm *swarm = dm_case_swarm(dm_test_gpu_device, &desc);
    dm_case_step(swarm, 1);
    assert_ok(dm_stream_synchronize(dm_swarm_stream(swarm), err));
    uint64_t start = dm_time_ns();
    dm_case_step(swarm, 20);
    uint64_t queued = dm_time_ns();
    assert_ok(dm_stream_synchronize(dm_swarm_stream(swarm), err));
    uint64_t done = dm_time_ns();
    if (getenv("DM_TEST_NO_TIMING") == NULL)
        assert_true((queued - start) * 4 < done - start);
    dm_swarm_destroy(swarm);
}

static void graph_replays(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = {.roms = &rom,
                          .rom_count = 1,
                          .count = 64,
                          .generator = DM_SWARM_SEEDED_RANDOM,
                          .observations = DM_SWARM_OBS_PACKED};
    dm_swarm *plain = dm_case_swarm(dm_test_gpu_device, &desc);
    dm_swarm *swarm = dm_case_swarm(dm_test_gpu_device, &desc);
    dm_case_graph graph = dm_case_step_captured(dm_test_gpu_device, swarm, 2, 6);
    dm_case_step(plain, 12);
    assert_true(dm_case_fingerprint(swarm) == dm_case_fingerprint(plain));
    same_outputs(swarm, plain);
    dm_swarm_destroy(swarm);
    dm_swarm_destroy(plain);
    dm_case_graph_destroy(&graph);
}

static void too_many(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = {.roms = &rom, .rom_count = 1, .count = 100000000};
    dm_swarm *swarm = NULL;
    dm_error err = {0};
    assert_int_equal(dm_swarm_create(dm_test_gpu_device, &desc, &swarm, &err), DM_ENOMEM);
    assert_non_null(strstr(err.message, "enough for"));
}

/* Bits of hooks are those of machines alone, in each way in which machines share warps. */
static void hooks(void **state)
{
    (void)state;
    dm_test_gpu();
    static const struct {
        uint64_t count;
        uint32_t lanes, block, steps;
    } shapes_of[] = {{97, 1, 0, 40}, {500, 8, 64, 20}, {2500, 16, 128, 12}, {3000, 32, 256, 12}};
    dm_gb_hook places[DM_GB_HOOK_COUNT_MAX];
    for (size_t i = 0; i < sizeof shapes_of / sizeof shapes_of[0]; i++) {
        const dm_swarm_rom_source roms[] = {dm_case_rom("STARFALL"), dm_case_rom("MBC1_SWITCH")};
        for (size_t k = 0; k < 2; k++) {
            const dm_swarm_desc desc = {
                .roms = &roms[k],
                .rom_count = 1,
                .count = shapes_of[i].count,
                .lanes_per_warp = shapes_of[i].lanes,
                .block_threads = shapes_of[i].block,
                .generator = DM_SWARM_SEEDED_RANDOM,
                .frames_per_step = 8,
                .release_after_frames = 3,
                .stage = DM_SWARM_EMULATE_ONLY,
                .hooks = places,
                .hook_count = dm_case_places(roms[k].bytes, roms[k].size, 60, places)};
            dm_case_hooks(dm_test_gpu_device, &desc, shapes_of[i].steps,
                          (uint32_t)desc.count / 40u + 1u);
        }
    }
}

/* The same on generated programs, and on games, if there are some, in large blocks and in warps of one. */
static void check_game(const char *name, const void *bytes, size_t size, uint32_t frames,
                       uint64_t seed)
{
    const dm_swarm_rom_source rom = {.bytes = bytes, .size = size};
    dm_gb_hook places[DM_GB_HOOK_COUNT_MAX];
    for (uint32_t lanes = 1; lanes <= 32; lanes *= 32) {
        const dm_swarm_desc desc = {.roms = &rom,
                                    .rom_count = 1,
                                    .count = lanes == 1 ? 200 : 1500,
                                    .lanes_per_warp = lanes,
                                    .force_dmg = true,
                                    .seed = seed,
                                    .generator = DM_SWARM_SEEDED_RANDOM,
                                    .frames_per_step = 12,
                                    .release_after_frames = 5,
                                    .stage = DM_SWARM_EMULATE_ONLY,
                                    .hooks = places,
                                    .hook_count = dm_case_places(bytes, size, frames, places)};
        dm_case_hooks(dm_test_gpu_device, &desc, frames / 12, (uint32_t)desc.count / 10u + 1u);
    }
    (void)name;
}

static void hooks_of_programs(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_each_program(check_game, 96, 6);
}

static void hooks_of_games(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_each_game(check_game, 480);
}

/* Final observations, returns and lengths, in each way in which machines share warps. */
static void ends_of_episodes(void **state)
{
    (void)state;
    dm_test_gpu();
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    for (uint32_t lanes = 1; lanes <= 32; lanes *= 32)
        for (uint32_t stack = 1; stack <= 2; stack++) {
            const dm_swarm_desc desc = {.roms = &rom,
                                        .rom_count = 1,
                                        .count = lanes == 1 ? 77 : 700,
                                        .lanes_per_warp = lanes,
                                        .generator = DM_SWARM_SEEDED_RANDOM,
                                        .frames_per_step = 6,
                                        .release_after_frames = 2,
                                        .step_limit = 7,
                                        .frame_stack = stack,
                                        .observations = ALL_OBS,
                                        .regions = regions,
                                        .region_count = 2};
            dm_case_episodes(dm_test_gpu_device, &desc, 20);
        }
}

/* Starts that are drawn, random bytes, own actions: the same machines as on the CPU; and many read in one call. */
static void starts_as_on_the_cpu(void **state)
{
    (void)state;
    dm_test_gpu();
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    static const uint16_t random[] = {0xC009, 0xC00A};
    static const uint8_t keys[] = {0, DM_GB_KEY_LEFT, DM_GB_KEY_RIGHT | DM_GB_KEY_A,
                                   DM_GB_KEY_START};
    const uint32_t levels[] = {0, 1, 2};
    const float weights[] = {1, 2, 3};
    dm_device *cpu = NULL;
    assert_ok(dm_device_open("cpu", &cpu, err));
    for (uint32_t lanes = 1; lanes <= 32; lanes *= 32) {
        const dm_swarm_desc desc = {.roms = &rom,
                                    .rom_count = 1,
                                    .count = 150,
                                    .lanes_per_warp = lanes,
                                    .generator = DM_SWARM_SEEDED_RANDOM,
                                    .autoreset = DM_SWARM_SAME_STEP,
                                    .step_limit = 6,
                                    .frames_per_step = 8,
                                    .release_after_frames = 4,
                                    .observations = DM_SWARM_OBS_PACKED,
                                    .snapshots = 2,
                                    .action_keys = keys,
                                    .action_key_count = 4,
                                    .random_bytes = random,
                                    .random_count = 2};
        dm_swarm *swarms[2] = {dm_case_swarm(cpu, &desc), dm_case_swarm(dm_test_gpu_device, &desc)};
        uint8_t bytes[2][150 * 2];
        size_t different[2];
        for (int i = 0; i < 2; i++) {
            for (uint32_t level = 1; level <= 2; level++) {
                dm_case_step(swarms[i], 3);
                assert_ok(dm_swarm_snapshot(swarms[i], level, level, err));
            }
            assert_ok(dm_swarm_set_starts(swarms[i], levels, weights, 3, err));
            assert_ok(dm_swarm_reset(swarms[i], NULL, NULL, err));
            dm_case_step(swarms[i], 40);
            assert_ok(dm_swarm_read_many(swarms[i], NULL, 150, random, 2, bytes[i], err));
        }
        assert_memory_equal(bytes[0], bytes[1], sizeof bytes[0]);
        for (uint32_t i = 0; i < 150; i++)
            assert_true(dm_case_machine_hash(swarms[0], i) == dm_case_machine_hash(swarms[1], i));
        for (int i = 0; i < 2; i++)
            assert_ok(dm_swarm_count_starts(swarms[i], 8, &different[i], err));
        assert_int_equal(different[0], different[1]);
        dm_swarm_destroy(swarms[0]);
        dm_swarm_destroy(swarms[1]);
    }
    dm_device_close(cpu);
}

DM_TESTS("gpu/swarm", DM_TEST(starts_as_on_the_cpu), DM_TEST(ends_of_episodes), DM_TEST(hooks),
         DM_TEST(hooks_of_programs), DM_TEST(hooks_of_games), DM_TEST(shapes), DM_TEST(all_roms),
         DM_TEST(the_game), DM_TEST(packed_pixels), DM_TEST(pictures_of_many),
         DM_TEST(masked_reset), DM_TEST(step_returns_before_the_work_is_done),
         DM_TEST(graph_replays), DM_TEST(too_many));
