/* SPDX-License-Identifier: MIT */
/* The swarm's CUDA path against the stand-in driver: its text compiles for a GPU, a step is two
 * launches, or two for each of its parts, and nothing else, a captured one can be replayed. The
 * stand-in runs the CPU's kernels, so that the machines move too; it says nothing about GPUs
 * (test_gpu_swarm.c does). */
#include "base/file.h"
#include "base/hash.h"
#include "device/nvrtc.h"
#include "tests/device/fake_cuda.h"
#include "tests/swarm/swarm_case.h"

#include <stdlib.h>
#include <string.h>

static const fake_cuda *fake;

/* Machines stay in their places. */
static void no_rebalance(const void *args, uint64_t first, uint64_t last, uint64_t count)
{
    (void)args, (void)first, (void)last, (void)count;
}

/* The kernel's text is compiled for the GPU when it has changed: entries are found by content. */
static int setup(void **state)
{
    (void)state;
    setenv("DM_CACHE_DIR", DM_TEST_BUILD_ROOT "/kernel-cache", 1);
    fake = dm_test_fake_cuda();
    if (fake == NULL)
        return -1;
    fake->set_free((size_t)1 << 28);
    for (int i = 0; i < DM_SWARM_BUILTINS; i++)
        fake->add_kernel(dm_swarm_builtins[i].name, dm_swarm_builtins[i].loop,
                         dm_swarm_builtins[i].args_size);
    fake->add_kernel("dm_swarm_rebalance_full_step", no_rebalance, sizeof(dm_swarm_args));
    return 0;
}

/* Calls of the driver that a step may make: the launches, and the context around it. */
static int allowed_calls(void)
{
    return fake->calls("cuLaunchKernel") + fake->calls("cuCtxGetCurrent") +
           fake->calls("cuCtxSetCurrent") + fake->calls("cuCtxPushCurrent_v2") +
           fake->calls("cuCtxPopCurrent_v2");
}

/* One machine per warp: what the CPU's kernels make of a warp's lanes. And one warp per block: no
 * kernel has less room in shared memory. */
static dm_swarm_desc small_swarm(const dm_swarm_rom_source *rom)
{
    return (dm_swarm_desc){.roms = rom,
                           .rom_count = 1,
                           .count = 20,
                           .generator = DM_SWARM_SEEDED_RANDOM,
                           .observations = DM_SWARM_OBS_PACKED,
                           .frame_stack = 2,
                           .step_limit = 4,
                           .autoreset = DM_SWARM_SAME_STEP,
                           .lanes_per_warp = 1,
                           .block_threads = 32};
}

static void needs_nvrtc(void)
{
    char path[DM_PATH_MAX];
    dm_error err = {0};
    if (dm_nvrtc_find(path, &err) != DM_OK)
        dm_test_skip("%s", err.message);
}

static void no_leaks(void)
{
    assert_int_equal(fake->live(), 0);
    assert_int_equal(fake->errors(), 0);
    assert_int_equal(fake->retained(), 0);
}

static void a_step_is_two_launches(void **state)
{
    dm_error err = {0};
    (void)state;
    needs_nvrtc();
    dm_device *device = NULL;
    dm_swarm *swarm = NULL;
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = small_swarm(&rom);
    assert_ok(dm_device_open("cuda:0", &device, err));
    assert_ok(dm_swarm_create(device, &desc, &swarm, err));

    int launches = fake->calls("cuLaunchKernel"), others = fake->all_calls() - allowed_calls();
    dm_case_step(swarm, 6);
    assert_int_equal(fake->calls("cuLaunchKernel") - launches, 12);
    assert_int_equal(fake->all_calls() - allowed_calls(), others);
    assert_ok(dm_swarm_reset(swarm, NULL, NULL, err));
    assert_int_equal(fake->calls("cuLaunchKernel") - launches, 13);
    assert_int_equal(fake->all_calls() - allowed_calls(), others);

    dm_stream *stream = NULL;
    dm_graph *graph = NULL;
    assert_ok(dm_stream_create(device, &stream, err));
    assert_ok(dm_swarm_set_stream(swarm, stream, err));
    assert_ok(dm_graph_capture_begin(stream, err));
    dm_case_step(swarm, 1);
    assert_ok(dm_graph_capture_end(stream, &graph, err));
    for (int i = 0; i < 3; i++)
        assert_ok(dm_graph_launch(graph, stream, err));
    for (uint32_t i = 0; i < desc.count; i += 6) {
        dm_gb *alone = dm_case_alone(&desc, i, 3);
        dm_case_same(swarm, i, alone);
        dm_gb_destroy(alone);
    }
    dm_graph_destroy(graph);
    dm_swarm_destroy(swarm);
    dm_stream_destroy(stream);

    fake->set_free(3 << 20);
    desc.count = 1000;
    assert_int_equal(dm_swarm_create(device, &desc, &swarm, &err), DM_ENOMEM);
    assert_non_null(strstr(err.message, "3145728 are free on cuda:0, enough for"));
    dm_device_close(device);
    no_leaks();
}

/* What is left of a few steps, the last with an action out of range: machines, rewards, packed
 * pixels and the count of bad actions. */
static uint64_t after_steps(const dm_swarm_desc *desc, bool by_parts)
{
    enum { STEPS = 6, COUNT = 20 };
    dm_device *device = NULL;
    dm_swarm *swarm = NULL;
    dm_swarm_faults faults = {0};
    uint8_t actions[COUNT] = {0, 1, 2, 3, 99};
    float rewards[COUNT];
    static uint8_t packed[COUNT * 2 * DM_SWARM_PACKED];
    assert_int_equal(desc->count, COUNT);
    assert_ok(dm_device_open("cuda:0", &device, err));
    assert_ok(dm_swarm_create(device, desc, &swarm, err));
    swarm->by_parts = by_parts;
    const int launches = fake->calls("cuLaunchKernel");
    dm_case_step(swarm, STEPS);
    assert_ok(dm_swarm_step(swarm, actions, err));
    assert_int_equal(fake->calls("cuLaunchKernel") - launches, (STEPS + 1) * (by_parts ? 4 : 2));
    assert_ok(dm_swarm_get_faults(swarm, &faults, err));
    assert_int_equal(faults.actions, 1);
    assert_ok(dm_swarm_download(swarm, DM_SWARM_REWARDS, rewards, sizeof rewards, err));
    assert_ok(dm_swarm_download(swarm, DM_SWARM_PACKEDS, packed, sizeof packed, err));
    uint64_t hash = dm_case_fingerprint(swarm);
    hash = hash * 31 + dm_hash64(rewards, sizeof rewards);
    hash = hash * 31 + dm_hash64(packed, sizeof packed);
    dm_swarm_destroy(swarm);
    dm_device_close(device);
    return hash;
}

/* A step whose parts are launches of their own, with a sort before each, does the same. */
static void parts_are_launches(void **state)
{
    (void)state;
    needs_nvrtc();
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    dm_swarm_desc desc = small_swarm(&rom);
    for (int mode = DM_SWARM_NEXT_STEP; mode <= DM_SWARM_SAME_STEP; mode++) {
        desc.autoreset = (dm_swarm_autoreset)mode;
        assert_true(after_steps(&desc, false) == after_steps(&desc, true));
    }
    no_leaks();
}

DM_TESTS("swarm/cuda_fake", cmocka_unit_test_setup(a_step_is_two_launches, setup),
         cmocka_unit_test_setup(parts_are_launches, setup));
