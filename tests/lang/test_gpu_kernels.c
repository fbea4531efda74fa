/* SPDX-License-Identifier: MIT */
/* Kernels of the dialect on a GPU: both passes give what the CPU gives. */
#include "kernel/check.h"
#include "tests/device/gpu.h"
#include "tests/lang/gradient_cases.h"

#include <stdio.h>
#include <string.h>

/* float32 on both; sin, exp and the order of atomic additions differ in the last bits. */
#define TOLERANCE 1e-4

/* A race decides who takes which slot: the values differ from run to run. */
static bool is_racy(const char *name)
{
    return strcmp(name, "custom_replay") == 0;
}

static void same_as_cpu(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    if (!tools.cc)
        dm_test_skip("%s", tools.cc_reason);
    for (size_t i = 0; i < dm_gradient_case_count; i++) {
        const dm_gradient_case *c = &dm_gradient_cases[i];
        char text[4096];
        dm_check_result result;
        dm_check_options options = {.seed = 11, .other = dm_test_gpu_device};
        snprintf(text, sizeof text, "import warp as wp\n%s", c->text);
        assert_ok(dm_kernel_check(c->name, text, strlen(text), c->name, &options, &result, err));
        if (is_racy(c->name))
            continue;
        if (!(result.value_error < TOLERANCE))
            fail_msg("%s: values differ by %g", c->name, result.value_error);
        if (!(result.device_gradient_error < TOLERANCE))
            fail_msg("%s: gradients differ by %g", c->name, result.device_gradient_error);
    }
}

/* Against differences on the GPU itself, which needs no C compiler here. */
static void gradients(void **state)
{
    (void)state;
    dm_test_gpu();
    for (size_t i = 0; i < dm_gradient_case_count; i++) {
        const dm_gradient_case *c = &dm_gradient_cases[i];
        char text[4096];
        dm_check_result result;
        dm_check_options options = {.seed = 5, .elements_max = 12, .device = dm_test_gpu_device};
        snprintf(text, sizeof text, "import warp as wp\n%s", c->text);
        assert_ok(dm_kernel_check(c->name, text, strlen(text), c->name, &options, &result, err));
        if (!is_racy(c->name) && !(result.checked && result.gradient_error < 1e-5))
            fail_msg("%s: gradient is off by %g: %s", c->name, result.gradient_error, result.worst);
    }
}

static void close_device(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_device_close(dm_test_gpu_device);
    dm_test_gpu_device = NULL;
}

DM_TESTS("gpu/kernels", DM_TEST(same_as_cpu), DM_TEST(gradients), DM_TEST(close_device))
