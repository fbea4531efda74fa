/* SPDX-License-Identifier: MIT */
/* cases.h - the Game Boy's kernels, to be run on any device: test_device.c does it on the
 * CPU and on the stand-in driver, test_gpu_gb.c on a GPU. Each fails by cmocka's assertions. */
#ifndef DM_TESTS_GB_DEVICE_CASES_H
#define DM_TESTS_GB_DEVICE_CASES_H

#include "tests/support/test.h"

#include <dotmatrix/device.h>

/* All public single-instruction vectors (test_sm83.c); skipped where there is no file of them.
 * `defines` for the module, or NULL. */
void dm_case_gb_vectors(dm_device *device, const char *const *defines);

typedef struct dm_gb_case {
    const char *const *defines; /* for the module, or NULL */
    const char *only;           /* names of ROMs, separated by spaces; NULL: all there are */
    uint32_t machines, steps;   /* a step is a run of one to twenty frames */
} dm_gb_case;

/* Every ROM of ours on the device, idle loop skipped and not, against the core on the host:
 * machines, memory and pictures are equal byte for byte after every step. The ROMs are those of the
 * folder $DM_TEST_BUILT_ROMS, else of the build folder that the test program lies in. */
void dm_case_gb_roms(dm_device *device, const dm_gb_case *gb_case);

/* Registers and stack of the kernels, printed and held to limits. */
void dm_case_gb_resources(dm_device *device);

#endif
