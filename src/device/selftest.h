/* SPDX-License-Identifier: MIT */
/* selftest.h - the self-test's parts, for tests and benchmarks. */
#ifndef DM_DEVICE_SELFTEST_H
#define DM_DEVICE_SELFTEST_H

#include <dotmatrix/device.h>

#define DM_SELFTEST_TEXT "device/selftest_kernels.h"
#define DM_SELFTEST_KERNELS 4

/* The kernels of that text, compiled into the library. */
extern const dm_builtin_kernel dm_selftest_builtins[DM_SELFTEST_KERNELS];

/* As dm_device_selftest, with the kernels taken from another description. */
dm_status dm_selftest_run(dm_device *device, const dm_module_desc *desc, dm_selftest_report *report,
                          dm_error *err);

/* How many floats lie between two; NaN equals NaN only. */
uint32_t dm_selftest_ulp(float a, float b);

#endif
