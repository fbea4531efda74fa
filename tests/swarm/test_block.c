/* SPDX-License-Identifier: MIT */
/* Swarms whose kernels run as on a GPU, in blocks of lanes on the host: the fast path, service by warps and by blocks,
 * staging, compaction, rebalancing and rendering. Machines, memory and pictures are those of machines alone, byte for
 * byte, in every mode (block_modes.h); gb/test_fast.c runs more kinds of programs, one machine at a time. */
#include "gb/simt/limits.h"
#include "tests/device/fake_cuda.h"
#include "tests/support/snippets.h"
#include "tests/support/tmpdir.h"
#include "tests/swarm/block_modes.h"
#include "tests/swarm/episode_case.h"
#include "tests/swarm/hook_case.h"
#include "tests/swarm/swarm_case.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static const fake_cuda *fake;

/* Lanes are fibers of one thread (base/block_host.h), where ThreadSanitizer has nothing to find; it takes their jumps
 * from stack to stack for a call depth without end. */
static void skip_under_thread_sanitizer(void)
{
#ifdef __SANITIZE_THREAD__
    dm_test_skip("ThreadSanitizer does not follow fibers");
#endif
}

static int setup(void **state)
{
    if (dm_test_dir_setup(state) != 0)
        return -1;
    setenv("DM_CACHE_DIR", dm_test_dir(state), 1);
    fake = dm_test_fake_cuda();
    if (fake == NULL || !dm_test_fake_nvrtc())
        return -1;
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30); /* large blocks want memory and ROMs near each other */
#endif
    fake->set_free((size_t)1 << 28);
    return 0;
}

/* A device whose kernels are those of a mode. */
static dm_device *open_mode(const dm_block_mode *mode)
{
    dm_device *device = NULL;
    for (int i = 0; i < DM_BLOCK_KERNELS; i++)
        fake->add_kernel(mode->kernels[i].name, mode->kernels[i].loop, mode->kernels[i].args_size);
    assert_ok(dm_device_open("cuda:0", &device, err));
    return device;
}

/* Blocks of many machines count places of memory in 32 bits (gb/simt/limits.h); the address sanitizer puts arrays
 * further apart than that, so they are left out under it. */
static bool too_far_apart(const dm_block_mode *mode)
{
#ifdef __SANITIZE_ADDRESS__
    return DM_GB_PAGE_NARROW_FOR(mode->threads / 32u * mode->lanes);
#else
    (void)mode;
    return false;
#endif
}

static void close_mode(dm_device *device)
{
    dm_device_close(device);
    assert_int_equal(fake->errors(), 0);
}

static dm_swarm_desc desc_of(const dm_block_mode *mode, const dm_swarm_rom_source *roms,
                             uint32_t rom_count, uint64_t count)
{
    return (dm_swarm_desc){.roms = roms,
                           .rom_count = rom_count,
                           .count = count,
                           .generator = DM_SWARM_SEEDED_RANDOM,
                           .observations = DM_SWARM_OBS_SHADES | DM_SWARM_OBS_PACKED,
                           .frames_per_step = 3,
                           .release_after_frames = 1,
                           .lanes_per_warp = mode->lanes,
                           .block_threads = mode->threads,
                           .blocks_per_multiprocessor = 1};
}

/* Machines of several ROMs, more than fill a block and not a whole number of warps. Machines of different ROMs finish
 * at different times, so that blocks compact. */
static void machines_are_as_alone(void **state)
{
    (void)state;
    skip_under_thread_sanitizer();
    const dm_swarm_rom_source roms[] = {dm_case_rom("STARFALL"), dm_case_rom("ALU_LOOP"),
                                        dm_case_rom("MBC3_RAM")};
    for (int i = 0; i < DM_BLOCK_MODES; i++) {
        const dm_block_mode *mode = &dm_block_modes[i];
        if (too_far_apart(mode))
            continue;
        const uint32_t machines = mode->threads / 32u * mode->lanes;
        dm_device *device = open_mode(mode);
        dm_swarm_desc desc = desc_of(mode, roms, 3, machines + machines / 2u + 1u);
        dm_case_equality(device, &desc, 6, (uint32_t)desc.count / 13u + 1u);
        close_mode(device);
    }
}

/* Generated programs that do little else than write to devices at all times of a line and read them back
 * (support/snippets.h): what is queued takes effect at its own time, which the registers, memory and pictures show. */
enum { GENERATED = 12 };
static dm_swarm_rom_source generated[GENERATED];
static uint32_t generated_count;

static void keep_program(const char *name, const void *rom, size_t size, uint32_t frames,
                         uint64_t seed)
{
    (void)name, (void)frames, (void)seed;
    assert_true(generated_count < GENERATED);
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    memcpy(bytes, rom, size);
    generated[generated_count++] = (dm_swarm_rom_source){.bytes = bytes, .size = size};
}

static void writes_have_their_times(void **state)
{
    (void)state;
    skip_under_thread_sanitizer();
    generated_count = 0;
    dm_each_device_program(keep_program, 0, GENERATED / 3);
    dm_each_picture_program(keep_program, 0, GENERATED / 3);
    dm_each_transfer_program(keep_program, 0, GENERATED / 3);
    for (int i = 0; i < DM_BLOCK_MODES; i++) {
        const dm_block_mode *mode = &dm_block_modes[i];
        if (too_far_apart(mode))
            continue;
        const uint32_t machines = mode->threads / 32u * mode->lanes;
        dm_device *device = open_mode(mode);
        dm_swarm_desc desc = desc_of(mode, generated, generated_count, machines + GENERATED);
        desc.frames_per_step = 1;
        dm_case_equality(device, &desc, 5, (uint32_t)desc.count / GENERATED);
        close_mode(device);
    }
    for (uint32_t i = 0; i < generated_count; i++)
        free((void *)(uintptr_t)generated[i].bytes);
}

/* The same with hooks, as kernels that have them find them. */
static void hooks_are_as_alone(void **state)
{
    (void)state;
    skip_under_thread_sanitizer();
    const dm_swarm_rom_source roms[] = {dm_case_rom("STARFALL"), dm_case_rom("MBC1_SWITCH")};
    dm_gb_hook places[DM_GB_HOOK_COUNT_MAX];
    for (int i = 0; i < DM_BLOCK_HOOK_MODES; i++) {
        const dm_block_mode *mode = &dm_block_hook_modes[i];
        if (too_far_apart(mode))
            continue;
        const uint32_t machines = mode->threads / 32u * mode->lanes;
        dm_device *device = open_mode(mode);
        dm_swarm_desc desc = desc_of(mode, &roms[i % 2], 1, machines + machines / 2u + 1u);
        desc.observations = 0;
        desc.hooks = places;
        desc.hook_count = dm_case_places(roms[i % 2].bytes, roms[i % 2].size, 40, places);
        dm_case_hooks(device, &desc, 10, (uint32_t)desc.count / 9u + 1u);
        close_mode(device);
    }
}

/* Final observations, returns and lengths. */
static void ends_of_episodes(void **state)
{
    (void)state;
    skip_under_thread_sanitizer();
    const dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    const dm_gb_hook hook = {0x150, 0}; /* or there is no room for what these kernels keep */
    for (int i = 0; i < DM_BLOCK_HOOK_MODES; i++) {
        const dm_block_mode *mode = &dm_block_hook_modes[i];
        if (too_far_apart(mode))
            continue;
        dm_device *device = open_mode(mode);
        dm_swarm_desc desc = desc_of(mode, &rom, 1, mode->threads / 32u * mode->lanes + 3u);
        desc.step_limit = 4;
        desc.hooks = &hook;
        desc.hook_count = 1;
        desc.observations |= DM_SWARM_OBS_VECTOR | DM_SWARM_OBS_SMALL;
        desc.frame_stack = i == 0 ? 2 : 1;
        dm_case_episodes(device, &desc, i == 2 ? 7 : 10);
        close_mode(device);
    }
}

DM_TESTS("swarm/block",
         cmocka_unit_test_setup_teardown(ends_of_episodes, setup, dm_test_dir_teardown),
         cmocka_unit_test_setup_teardown(hooks_are_as_alone, setup, dm_test_dir_teardown),
         cmocka_unit_test_setup_teardown(machines_are_as_alone, setup, dm_test_dir_teardown),
         cmocka_unit_test_setup_teardown(writes_have_their_times, setup, dm_test_dir_teardown));
