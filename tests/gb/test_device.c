/* SPDX-License-Identifier: MIT */
/* The Game Boy's kernels on the device "cpu", compiled from their embedded text. As GPUs run them:
 * test_device_fake.c. */
#include "device/cc.h"
#include "tests/gb/device/cases.h"

static dm_device *device;

/* Compiled kernels are kept in the user's cache: gcc takes a while over these. */
static int setup(void **state)
{
    (void)state;
    return dm_device_open("cpu", &device, NULL) == DM_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    dm_device_close(device);
    return 0;
}

static void need_compiler(void)
{
    dm_cc cc;
    dm_error err = {0};
    if (dm_cc_find(&cc, &err) != DM_OK)
        dm_test_skip("%s", err.message);
}

static void vectors(void **state)
{
    (void)state;
    need_compiler();
    dm_case_gb_vectors(device, NULL);
}

static void roms(void **state)
{
    (void)state;
    need_compiler();
    dm_case_gb_roms(device, &(dm_gb_case){.machines = 4, .steps = 6});
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
DM_TESTS("gb/device", T(vectors), T(roms))
