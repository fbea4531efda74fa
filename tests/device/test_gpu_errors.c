/* SPDX-License-Identifier: MIT */
/* What the driver refuses on a real GPU. Apart from test_gpu.c, because compute-sanitizer reports
 * refused calls, and because the last test loses the context. */
#include "device/selftest.h"
#include "tests/device/cases.h"
#include "tests/device/gpu.h"

#include <string.h>

static void out_of_memory(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_device_buffer *buffer;
    dm_error err = {0};
    size_t size = (size_t)dm_device_get_properties(dm_test_gpu_device)->memory_bytes * 2;
    assert_int_equal(dm_device_buffer_create(dm_test_gpu_device, size, &buffer, &err), DM_ENOMEM);
    print_message("%s\n", err.message);
    assert_null(buffer);
    assert_non_null(strstr(err.message, "CUDA_ERROR_OUT_OF_MEMORY"));
    /* The device is none the worse. */
    buffer = dm_case_buffer(dm_test_gpu_device, 1 << 20);
    dm_device_buffer_destroy(buffer);
}

static void refused_launch(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_module *module;
    dm_function *function;
    dm_error err = {0};
    uint64_t args = 0;
    dm_stream *stream = dm_device_stream(dm_test_gpu_device);
    dm_module_desc desc = {.name = DM_SELFTEST_TEXT};
    assert_ok(dm_module_create(dm_test_gpu_device, &desc, &module, err));
    assert_ok(dm_module_function(module, "dm_selftest_empty", &function, err));
    assert_int_equal(
        dm_function_launch(function, stream, (dm_grid){1, 1, 1 << 20}, &args, sizeof args, &err),
        DM_EDEVICE);
    print_message("%s\n", err.message);
    assert_non_null(strstr(err.message, "CUDA_ERROR_"));
    assert_non_null(strstr(err.message, "dm_selftest_empty"));
    /* 100 KiB is more than the default and less than the limit. */
    assert_ok(
        dm_function_launch(function, stream, (dm_grid){1, 1, 100 << 10}, &args, sizeof args, err));
    assert_ok(dm_stream_synchronize(stream, err));
    dm_module_destroy(module);
}

static void wrong_architecture(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_module *module;
    dm_error err = {0};
    dm_module_desc desc = {.name = DM_SELFTEST_TEXT, .arch = "sm_100"};
    if (strcmp(dm_device_get_properties(dm_test_gpu_device)->arch, "sm_100") == 0)
        desc.arch = "sm_80";
    assert_int_equal(dm_module_create(dm_test_gpu_device, &desc, &module, &err), DM_EDEVICE);
    print_message("%s\n", err.message);
    assert_non_null(strstr(err.message, desc.arch));
}

static void unfinished_event(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_event *begin, *end;
    double ms;
    assert_ok(dm_event_create(dm_test_gpu_device, &begin, err));
    assert_ok(dm_event_create(dm_test_gpu_device, &end, err));
    assert_int_not_equal(dm_event_elapsed(begin, end, &ms, NULL), DM_OK);
    dm_event_destroy(begin);
    dm_event_destroy(end);
}

/* A kernel that writes where it must not: reported by the next wait, and by all calls after it. */
static void fault_loses_the_context(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_module *module;
    dm_function *function;
    dm_error err = {0};
    dm_stream *stream = dm_device_stream(dm_test_gpu_device);
    static const char text[] = "#include \"base/port.h\"\n"
                               "typedef struct a { uint32_t *out; } a;\n"
                               "DM_KERNEL(k, a) { args.out[dm_thread_index()] = 1; }\n";
    dm_module_desc desc = {.name = "fault", .text = text};
    assert_ok(dm_module_create(dm_test_gpu_device, &desc, &module, err));
    assert_ok(dm_module_function(module, "k", &function, err));
    void *nowhere = NULL;
    assert_ok(
        dm_function_launch(function, stream, (dm_grid){1, 1, 0}, &nowhere, sizeof nowhere, err));
    assert_int_equal(dm_stream_synchronize(stream, &err), DM_EDEVICE);
    print_message("%s\n", err.message);
    assert_non_null(strstr(err.message, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_non_null(strstr(err.message, "context is lost"));
    dm_device_buffer *buffer;
    assert_int_equal(dm_device_buffer_create(dm_test_gpu_device, 4, &buffer, &err), DM_EDEVICE);
    dm_module_destroy(module);
    dm_device_close(dm_test_gpu_device);
    dm_test_gpu_device = NULL;
}

DM_TESTS("gpu/errors", DM_TEST(out_of_memory), DM_TEST(refused_launch), DM_TEST(wrong_architecture),
         DM_TEST(unfinished_event), DM_TEST(fault_loses_the_context))
