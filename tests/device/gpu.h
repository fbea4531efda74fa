/* SPDX-License-Identifier: MIT */
/* gpu.h - for tests that need a GPU. Their groups are called "gpu/...", so that tools/gpu-check
 * finds them; elsewhere each says in one line why it is skipped. */
#ifndef DM_TESTS_DEVICE_GPU_H
#define DM_TESTS_DEVICE_GPU_H

#include "tests/support/test.h"

#include <dotmatrix/device.h>

#include <stdlib.h>

/* The group's device, opened by its first test and kept: a context costs a fifth of a second. With
 * DM_TEST_REQUIRE_GPU=1 a missing GPU is a failure. */
static dm_device *dm_test_gpu_device;

#define dm_test_gpu()                                                                              \
    do {                                                                                           \
        dm_error gpu_err_ = {0};                                                                   \
        if (dm_test_gpu_device == NULL &&                                                          \
            dm_device_open("cuda:0", &dm_test_gpu_device, &gpu_err_) != DM_OK) {                   \
            if (getenv("DM_TEST_REQUIRE_GPU") != NULL)                                             \
                fail_msg("%s", gpu_err_.message);                                                  \
            dm_test_skip("%s", gpu_err_.message);                                                  \
        }                                                                                          \
    } while (0)

#endif
