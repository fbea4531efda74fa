/* SPDX-License-Identifier: MIT */
/* The GPU tests' host side against the stand-in driver: NVRTC compiles the real text, the stand-in
 * runs it in blocks of lanes on the host. What is left for a GPU to prove is the GPU's code. */
#include "device/nvrtc.h"
#include "tests/device/fake_cuda.h"
#include "tests/gb/block/kernels.h"
#include "tests/gb/device/cases.h"

static const fake_cuda *fake;
static dm_device *device;

static void add(const dm_builtin_kernel *kernel)
{
    fake->add_kernel(kernel->name, kernel->loop, kernel->args_size);
}

static int setup(void **state)
{
    (void)state;
    if (fake == NULL) {
        fake = dm_test_fake_cuda();
        if (fake == NULL)
            return -1;
        add(&dm_gb_block_vectors);
        add(&dm_gb_block_run[0]);
        add(&dm_gb_block_run[1]);
    }
    return dm_device_open("cuda:0", &device, NULL) == DM_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    dm_device_close(device);
    return fake->live() == 0 && fake->errors() == 0 ? 0 : -1;
}

static void need_nvrtc(void)
{
    char path[DM_PATH_MAX];
    dm_error err = {0};
    if (dm_nvrtc_find(path, &err) != DM_OK)
        dm_test_skip("%s", err.message);
}

static void vectors(void **state)
{
    (void)state;
    need_nvrtc();
    dm_case_gb_vectors(device, NULL);
}

static void roms(void **state)
{
    (void)state;
    need_nvrtc();
    dm_case_gb_roms(device, &(dm_gb_case){.only = "STARFALL MBC3_RAM", .machines = 3, .steps = 3});
}

static void resources(void **state)
{
    (void)state;
    need_nvrtc();
    dm_case_gb_resources(device);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
DM_TESTS("gb/device-fake", T(vectors), T(roms), T(resources))
