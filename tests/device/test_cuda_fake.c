/* SPDX-License-Identifier: MIT */
/* The CUDA code against a stand-in driver (fake_cuda.h): the calls it makes, the contexts it keeps,
 * how it passes failures on. Nothing here needs or tests a GPU; test_gpu.c does. */
#include "base/file.h"
#include "device/nvrtc.h"
#include "device/selftest.h"
#include "tests/device/cases.h"
#include "tests/device/fake_cuda.h"
#include "tests/support/tmpdir.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const fake_cuda *fake;
static dm_device *device;

static int setup(void **state)
{
    if (dm_test_dir_setup(state) != 0)
        return -1;
    setenv("DM_CACHE_DIR", dm_test_dir(state), 1);
    if (fake == NULL) {
        fake = dm_test_fake_cuda();
        if (fake == NULL)
            return -1;
        for (int i = 0; i < DM_SELFTEST_KERNELS; i++)
            fake->add_kernel(dm_selftest_builtins[i].name, dm_selftest_builtins[i].loop,
                             dm_selftest_builtins[i].args_size);
    }
    return dm_device_open("cuda:0", &device, NULL) == DM_OK ? 0 : -1;
}

static int teardown(void **state)
{
    dm_device_close(device);
    if (fake->live() != 0 || fake->errors() != 0 || fake->retained() != 0) {
        print_error("left behind: %d objects, %d misuses, %d context references\n", fake->live(),
                    fake->errors(), fake->retained());
        return -1;
    }
    return dm_test_dir_teardown(state);
}

#define CASE(name)                                                                                 \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        dm_case_##name(device);                                                                    \
    }
/* These compile the real text first, as on a GPU. */
#define NVRTC_CASE(name)                                                                           \
    static void name(void **state)                                                                 \
    {                                                                                              \
        char path[DM_PATH_MAX];                                                                    \
        dm_error err = {0};                                                                        \
        (void)state;                                                                               \
        if (dm_nvrtc_find(path, &err) != DM_OK)                                                    \
            dm_test_skip("%s", err.message);                                                       \
        dm_case_##name(device);                                                                    \
    }
NVRTC_CASE(saxpy)
NVRTC_CASE(philox)
NVRTC_CASE(hash)
NVRTC_CASE(selftest)
CASE(slices)
CASE(ranges)
CASE(import_buffer)
CASE(host_memory)
NVRTC_CASE(streams)
CASE(events)
NVRTC_CASE(bad_text)
NVRTC_CASE(bad_header)
NVRTC_CASE(unknown_names)
NVRTC_CASE(bad_launch)
NVRTC_CASE(cache)

static void object_outlives_close(void **state)
{
    (void)state;
    dm_case_object_outlives_close("cuda:1");
}

static void properties(void **state)
{
    (void)state;
    const dm_device_properties *p = dm_device_get_properties(device);
    assert_string_equal(p->id, "cuda:0");
    assert_string_equal(p->name, "Fake GPU 0");
    assert_string_equal(p->arch, "sm_90");
    assert_int_equal(p->multiprocessors, 132);
    assert_int_equal(p->lanes, 32);
    dm_device_properties all[4];
    assert_int_equal(dm_device_list(all, 4), 3);
    assert_string_equal(all[2].name, "Fake GPU 1");
    uint64_t bytes = 0;
    assert_ok(dm_device_memory_free(device, &bytes, err));
    assert_int_equal(bytes, 1000);
    dm_device *d;
    dm_error err = {0};
    assert_int_equal(dm_device_open("cuda:2", &d, &err), DM_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "only 2"));
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    assert_true(tools.cuda);
    assert_int_equal(tools.cuda_version, 13000);
    assert_non_null(strstr(tools.driver_path, "fake-cuda"));
}

static void failures_have_text(void **state)
{
    (void)state;
    dm_error err = {0};
    dm_device_buffer *buffer;
    dm_stream *stream = dm_device_stream(device);
    assert_int_equal(dm_device_buffer_create(device, (size_t)1 << 40, &buffer, &err), DM_ENOMEM);
    assert_non_null(strstr(err.message, "FAKE_OUT_OF_MEMORY"));
    assert_non_null(strstr(err.message, "1099511627776 bytes"));
    assert_null(buffer);
    buffer = dm_case_buffer(device, 16);
    fake->fail_next("cuMemsetD8Async", 700);
    assert_int_equal(dm_stream_fill(stream, buffer, 0, 0, 16, &err), DM_EDEVICE);
    assert_non_null(strstr(err.message, "illegal memory access"));
    assert_non_null(strstr(err.message, "context is lost"));
    fake->fail_next("cuStreamSynchronize", 12345);
    assert_int_equal(dm_stream_synchronize(stream, &err), DM_EDEVICE);
    assert_non_null(strstr(err.message, "unknown CUDA error"));
    fake->fail_next("cuEventCreate", 2);
    dm_event *event;
    assert_int_equal(dm_event_create(device, &event, &err), DM_ENOMEM);
    fake->fail_next("cuStreamCreate", 2);
    dm_stream *other;
    assert_int_equal(dm_stream_create(device, &other, &err), DM_ENOMEM);
    assert_null(other);
    dm_device *d;
    fake->fail_next("cuDevicePrimaryCtxRetain", 2);
    assert_int_equal(dm_device_open("cuda:1", &d, &err), DM_ENOMEM);
    fake->fail_next("cuStreamCreate", 2);
    assert_int_equal(dm_device_open("cuda:1", &d, &err), DM_ENOMEM);
    dm_device_buffer_destroy(buffer);
}

static void need_nvrtc(void)
{
    char path[DM_PATH_MAX];
    dm_error reason = {0};
    if (dm_nvrtc_find(path, &reason) != DM_OK)
        dm_test_skip("%s", reason.message);
}

static void load_and_launch_failures(void **state)
{
    dm_error err = {0};
    (void)state;
    need_nvrtc();
    dm_module *module;
    dm_function *function;
    dm_module_desc desc = {.name = DM_SELFTEST_TEXT};
    fake->fail_next("cuModuleLoadData", 218);
    assert_int_equal(dm_module_create(device, &desc, &module, &err), DM_EDEVICE);
    assert_non_null(strstr(err.message, "sm_90"));
    assert_ok(dm_module_create(device, &desc, &module, err));
    assert_ok(dm_module_function(module, "dm_selftest_empty", &function, err));
    uint64_t args = 0;
    fake->fail_next("cuLaunchKernel", 701);
    assert_int_equal(dm_function_launch(function, dm_device_stream(device), (dm_grid){7, 96, 0},
                                        &args, sizeof args, &err),
                     DM_EDEVICE);
    assert_non_null(strstr(err.message, "dm_selftest_empty on 7 blocks of 96 threads"));
    assert_null(strstr(err.message, "context is lost"));
    /* One driver call per launch besides asking for the context, however many launches. */
    int launches = fake->calls("cuLaunchKernel"), sets = fake->calls("cuCtxSetCurrent");
    int waits = fake->calls("cuStreamSynchronize");
    for (int i = 0; i < 100; i++)
        assert_ok(dm_function_launch(function, dm_device_stream(device), (dm_grid){1, 1, 0}, &args,
                                     sizeof args, err));
    assert_int_equal(fake->calls("cuLaunchKernel"), launches + 100);
    assert_int_equal(fake->calls("cuCtxSetCurrent"), sets);
    assert_int_equal(fake->calls("cuStreamSynchronize"), waits);
    /* Much shared memory is enabled once; too much is the driver's error. */
    int enabled = fake->calls("cuFuncSetAttribute");
    for (int i = 0; i < 3; i++)
        assert_ok(dm_function_launch(function, dm_device_stream(device), (dm_grid){1, 1, 100000},
                                     &args, sizeof args, err));
    assert_int_equal(fake->calls("cuFuncSetAttribute"), enabled + 1);
    assert_int_equal(dm_function_launch(function, dm_device_stream(device),
                                        (dm_grid){1, 1, 1 << 20}, &args, sizeof args, &err),
                     DM_EDEVICE);
    dm_module_destroy(module);
}

static void clusters(void **state)
{
    dm_error err = {0};
    (void)state;
    need_nvrtc();
    dm_module *module;
    dm_function *function;
    dm_stream *stream = dm_device_stream(device);
    uint64_t args = 0;
    assert_ok(dm_module_create(device, &(dm_module_desc){.name = DM_SELFTEST_TEXT}, &module, err));
    assert_ok(dm_module_function(module, "dm_selftest_empty", &function, err));
    int sets = fake->calls("cuFuncSetAttribute"), launches = fake->calls("cuLaunchKernelEx");
    dm_grid grid = {32, 64, 0};
    assert_ok(dm_function_launch_clusters(function, stream, grid, 8, &args, sizeof args, err));
    assert_int_equal(fake->calls("cuFuncSetAttribute"), sets);
    /* More than 8 blocks are enabled, once. */
    for (int i = 0; i < 3; i++)
        assert_ok(dm_function_launch_clusters(function, stream, grid, 16, &args, sizeof args, err));
    assert_int_equal(fake->calls("cuFuncSetAttribute"), sets + 1);
    assert_int_equal(fake->calls("cuLaunchKernelEx"), launches + 4);
    /* Clusters of one block are no clusters. */
    assert_ok(dm_function_launch_clusters(function, stream, grid, 1, &args, sizeof args, err));
    assert_int_equal(fake->calls("cuLaunchKernelEx"), launches + 4);
    assert_int_equal(
        dm_function_launch_clusters(function, stream, grid, 5, &args, sizeof args, &err),
        DM_EINVAL);
    assert_non_null(strstr(err.message, "clusters of 5"));
    assert_int_equal(
        dm_function_launch_clusters(function, stream, grid, 0, &args, sizeof args, &err),
        DM_EINVAL);
    fake->fail_next("cuLaunchKernelEx", 1);
    assert_int_equal(
        dm_function_launch_clusters(function, stream, grid, 2, &args, sizeof args, &err),
        DM_EDEVICE);
    dm_module_destroy(module);
}

static void keeps_the_callers_context(void **state)
{
    (void)state;
    int (*get)(void **), (*set)(void *);
    void *library = dlopen(getenv("DM_LIBCUDA"), RTLD_NOW), *symbol, *now, *other = &now;
    symbol = dlsym(library, "cuCtxGetCurrent");
    memcpy(&get, &symbol, sizeof symbol);
    symbol = dlsym(library, "cuCtxSetCurrent");
    memcpy(&set, &symbol, sizeof symbol);
    set(other);
    dm_device_buffer *buffer = dm_case_buffer(device, 8);
    get(&now);
    assert_ptr_equal(now, other);
    fake->fail_next("cuMemsetD8Async", 1);
    assert_int_not_equal(dm_stream_fill(dm_device_stream(device), buffer, 0, 0, 8, NULL), DM_OK);
    get(&now);
    assert_ptr_equal(now, other);
    set(NULL);
    dm_device_buffer_destroy(buffer);
    dlclose(library);
}

static void graphs(void **state)
{
    (void)state;
    uint8_t byte = 9;
    dm_graph *graph;
    dm_error err = {0};
    dm_stream *stream = dm_device_stream(device);
    dm_device_buffer *a = dm_case_buffer(device, 1), *b = dm_case_buffer(device, 1);
    dm_case_upload(device, a, &byte, 1);
    assert_ok(dm_graph_capture_begin(stream, err));
    assert_ok(dm_stream_copy(stream, b, 0, a, 0, 1, err));
    assert_ok(dm_stream_fill(stream, a, 0, 4, 1, err));
    assert_ok(dm_graph_capture_end(stream, &graph, err));
    dm_case_download(device, a, &byte, 1);
    assert_int_equal(byte, 9); /* captured, not run */
    assert_ok(dm_graph_launch(graph, stream, err));
    assert_ok(dm_graph_launch(graph, stream, err));
    dm_case_download(device, b, &byte, 1);
    assert_int_equal(byte, 4);
    dm_graph_destroy(graph);
    assert_int_equal(dm_graph_capture_end(stream, &graph, &err), DM_EDEVICE);
    assert_null(graph);
    dm_device_buffer_destroy(a);
    dm_device_buffer_destroy(b);
}

static void objects_of_two_devices(void **state)
{
    (void)state;
    dm_device *other, *cpu;
    dm_error err = {0};
    assert_ok(dm_device_open("cuda:1", &other, err));
    assert_ok(dm_device_open("cpu:1", &cpu, err));
    dm_device_buffer *there = dm_case_buffer(other, 8), *host = dm_case_buffer(cpu, 8);
    assert_int_equal(dm_stream_fill(dm_device_stream(device), there, 0, 0, 8, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "cuda:1"));
    assert_int_equal(dm_stream_fill(dm_device_stream(device), host, 0, 0, 8, &err), DM_EINVAL);
    dm_device_buffer_destroy(there);
    dm_device_buffer_destroy(host);
    dm_device_close(other);
    dm_device_close(cpu);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
DM_TESTS("device/cuda-fake", T(saxpy), T(philox), T(hash), T(selftest), T(slices), T(ranges),
         T(import_buffer), T(host_memory), T(streams), T(events), T(bad_text), T(bad_header),
         T(unknown_names), T(bad_launch), T(cache), T(object_outlives_close), T(properties),
         T(failures_have_text), T(load_and_launch_failures), T(clusters),
         T(keeps_the_callers_context), T(graphs), T(objects_of_two_devices))
