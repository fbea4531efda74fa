/* SPDX-License-Identifier: MIT */
/* The device layer on a real GPU: the cases that every device passes, and what only CUDA has. */
#include "base/thread.h"
#include "device/cuda_api.h"
#include "device/selftest.h"
#include "tests/device/cases.h"
#include "tests/device/gpu.h"

#include <stdio.h>
#include <string.h>

#define CASE(name)                                                                                 \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        dm_test_gpu();                                                                             \
        dm_case_##name(dm_test_gpu_device);                                                        \
    }
DM_DEVICE_CASES(CASE)

static void object_outlives_close(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_case_object_outlives_close("cuda:0");
}

static void properties(void **state)
{
    (void)state;
    dm_test_gpu();
    const dm_device_properties *p = dm_device_get_properties(dm_test_gpu_device);
    print_message("%s: %s, %s, %d multiprocessors, %llu MiB, L2 %llu KiB, shared %llu KiB\n", p->id,
                  p->name, p->arch, p->multiprocessors, (unsigned long long)(p->memory_bytes >> 20),
                  (unsigned long long)(p->l2_bytes >> 10),
                  (unsigned long long)(p->shared_bytes_max >> 10));
    assert_true(strncmp(p->arch, "sm_", 3) == 0 && p->multiprocessors > 0);
    assert_int_equal(p->lanes, 32);
    assert_true(p->block_threads_max >= 1024 && p->shared_bytes_max >= 48 << 10);
    uint64_t bytes = 0;
    assert_ok(dm_device_memory_free(dm_test_gpu_device, &bytes, err));
    assert_true(bytes > 0 && bytes <= p->memory_bytes);
    dm_device_properties listed[2];
    assert_true(dm_device_list(listed, 2) >= 2);
    assert_string_equal(listed[1].name, p->name);
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    print_message("driver %s (CUDA %d), NVRTC %d at %s\n", tools.driver_version, tools.cuda_version,
                  tools.nvrtc_version, tools.nvrtc_path);
    assert_true(tools.cuda && tools.nvrtc);
}

/* counter += 1, by one thread: the order of launches shows in the result. */
static const char counter_text[] =
    "#include \"base/port.h\"\n"
    "typedef struct count_args { uint32_t *at; uint32_t factor, term; } count_args;\n"
    "DM_KERNEL(count, count_args)\n"
    "{\n"
    "    if (dm_thread_index() == 0)\n"
    "        args.at[0] = args.at[0] * args.factor + args.term;\n"
    "}\n"
    "DM_KERNEL(votes, count_args)\n"
    "{\n"
    "    uint32_t lane = dm_lane();\n"
    "    bool odd = (lane & 1u) != 0;\n"
    "    uint32_t ballot = dm_ballot(odd);\n"
    "    bool any = dm_any(lane == 5), none = dm_any(false), all = dm_all(lane < 32);\n"
    "    if (lane == 0) {\n"
    "        args.at[0] = ballot;\n"
    "        args.at[1] = (any ? 1u : 0u) | (none ? 2u : 0u) | (all ? 4u : 0u);\n"
    "    }\n"
    "}\n";

typedef struct count_args {
    void *at;
    uint32_t factor, term;
} count_args;

static dm_function *counter(const char *name, dm_module **module)
{
    dm_function *function;
    dm_module_desc desc = {.name = "counter", .text = counter_text};
    assert_ok(dm_module_create(dm_test_gpu_device, &desc, module, err));
    assert_ok(dm_module_function(*module, name, &function, err));
    return function;
}

static void graph_replay(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_module *module;
    dm_function *function = counter("count", &module);
    dm_stream *stream = dm_device_stream(dm_test_gpu_device);
    dm_device_buffer *at = dm_case_buffer(dm_test_gpu_device, 4);
    dm_graph *graph;
    uint32_t expected = 0, got = 77;
    count_args args = {dm_device_buffer_address(at), 3, 1};
    assert_ok(dm_stream_fill(stream, at, 0, 0, 4, err));
    assert_ok(dm_stream_synchronize(stream, err));
    assert_ok(dm_graph_capture_begin(stream, err));
    for (uint32_t i = 0; i < 20; i++) {
        args.term = i; /* the block is copied at each launch */
        assert_ok(
            dm_function_launch(function, stream, (dm_grid){1, 32, 0}, &args, sizeof args, err));
    }
    assert_ok(dm_graph_capture_end(stream, &graph, err));
    dm_case_download(dm_test_gpu_device, at, &got, 4);
    assert_int_equal(got, 0); /* captured, not run */
    for (int replay = 0; replay < 50; replay++) {
        assert_ok(dm_graph_launch(graph, stream, err));
        for (uint32_t i = 0; i < 20; i++)
            expected = expected * 3 + i;
    }
    dm_case_download(dm_test_gpu_device, at, &got, 4);
    assert_int_equal(got, expected);
    dm_graph_destroy(graph);
    dm_device_buffer_destroy(at);
    dm_module_destroy(module);
}

static void imported_stream_and_pointer(void **state)
{
    (void)state;
    dm_test_gpu();
    /* As another library in this process would have made them: in the primary context. */
    const dm_cuda_api *cu;
    void *native = NULL, *context = NULL;
    void *address = NULL;
    int handle;
    assert_ok(dm_cuda_api_get(&cu, err));
    assert_int_equal(cu->device_get(&handle, 0), 0);
    assert_int_equal(cu->primary_retain(&context, handle), 0);
    assert_int_equal(cu->context_set(context), 0);
    assert_int_equal(cu->stream_create(&native, CU_STREAM_NON_BLOCKING), 0);
    assert_int_equal(cu->memory_alloc(&address, 8), 0);

    dm_stream *streams[2];
    dm_device_buffer *at;
    dm_module *module;
    dm_function *function = counter("count", &module);
    assert_ok(dm_stream_import(dm_test_gpu_device, native, &streams[0], err));
    assert_ok(
        dm_stream_import(dm_test_gpu_device, NULL, &streams[1], err)); /* the default stream */
    assert_ptr_equal(dm_stream_native(streams[0]), native);
    assert_ok(dm_device_buffer_import(dm_test_gpu_device, address, 8, &at, err));
    for (int i = 0; i < 2; i++) {
        uint32_t got = 0;
        count_args args = {address, 2, 5};
        assert_ok(dm_stream_fill(streams[i], at, 0, 1, 4, err));
        assert_ok(
            dm_function_launch(function, streams[i], (dm_grid){1, 1, 0}, &args, sizeof args, err));
        assert_int_equal(cu->stream_synchronize(i == 0 ? native : NULL), 0);
        assert_ok(dm_stream_download(streams[i], at, 0, &got, 4, err));
        assert_ok(dm_stream_synchronize(streams[i], err));
        assert_int_equal(got, 0x01010101u * 2 + 5);
        dm_stream_destroy(streams[i]);
    }
    dm_device_buffer_destroy(at);
    dm_module_destroy(module);
    /* Still the caller's. */
    assert_int_equal(cu->context_set(context), 0);
    assert_int_equal(cu->stream_synchronize(native), 0);
    assert_int_equal(cu->stream_destroy(native), 0);
    assert_int_equal(cu->memory_free(address), 0);
    assert_int_equal(cu->primary_release(handle), 0);
}

static void warp_votes(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_module *module;
    dm_function *function = counter("votes", &module);
    dm_device_buffer *at = dm_case_buffer(dm_test_gpu_device, 8);
    count_args args = {dm_device_buffer_address(at), 0, 0};
    uint32_t got[2] = {0};
    assert_ok(dm_function_launch(function, dm_device_stream(dm_test_gpu_device),
                                 (dm_grid){1, 32, 0}, &args, sizeof args, err));
    dm_case_download(dm_test_gpu_device, at, got, 8);
    assert_int_equal(got[0], 0xAAAAAAAAu);
    assert_int_equal(got[1], 1 | 4);
    /* Fewer threads than lanes: the missing ones do not vote. */
    assert_ok(dm_function_launch(function, dm_device_stream(dm_test_gpu_device), (dm_grid){1, 6, 0},
                                 &args, sizeof args, err));
    dm_case_download(dm_test_gpu_device, at, got, 8);
    assert_int_equal(got[0], 0x2Au);
    assert_int_equal(got[1], 1 | 4);
    dm_device_buffer_destroy(at);
    dm_module_destroy(module);
}

static void other_architecture(void **state)
{
    (void)state;
    dm_test_gpu();
    const dm_device_properties *p = dm_device_get_properties(dm_test_gpu_device);
    if (strcmp(p->arch, "sm_90") != 0)
        dm_test_skip("sm_90a code needs an sm_90 GPU, this is %s", p->arch);
    /* An instruction that only the exact architecture has. */
    static const char text[] = "#include \"base/port.h\"\n"
                               "typedef struct a { uint32_t *out; } a;\n"
                               "DM_KERNEL(k, a)\n{\n"
                               "    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
                               "    if (dm_thread_index() == 0) args.out[0] = 901;\n"
                               "}\n";
    dm_module *module = NULL;
    dm_function *function;
    dm_error reason = {0};
    dm_module_desc desc = {.name = "arch", .text = text};
    assert_int_not_equal(dm_module_create(dm_test_gpu_device, &desc, &module, &reason), DM_OK);
    assert_non_null(strstr(reason.message, "wgmma"));
    desc.arch = "sm_90a";
    dm_device_buffer *out = dm_case_buffer(dm_test_gpu_device, 4);
    void *args = dm_device_buffer_address(out);
    uint32_t got = 0;
    assert_ok(dm_module_create(dm_test_gpu_device, &desc, &module, err));
    assert_ok(dm_module_function(module, "k", &function, err));
    assert_ok(dm_function_launch(function, dm_device_stream(dm_test_gpu_device),
                                 (dm_grid){1, 128, 0}, &args, sizeof args, err));
    dm_case_download(dm_test_gpu_device, out, &got, 4);
    assert_int_equal(got, 901);
    dm_function_properties properties_;
    assert_ok(dm_function_get_properties(function, &properties_, err));
    assert_true(properties_.registers > 0 && properties_.block_threads_max == 1024);
    dm_device_buffer_destroy(out);
    dm_module_destroy(module);
}

/* Load from the cache, find, launch, wait: what a second run of a program pays. */
static void warm_start(void **state)
{
    (void)state;
    dm_test_gpu();
    double best = 1e9;
    for (int round = 0; round < 6; round++) {
        dm_module *module;
        dm_function *function;
        uint64_t args = 0, start = dm_time_ns();
        dm_module_desc desc = {.name = DM_SELFTEST_TEXT};
        assert_ok(dm_module_create(dm_test_gpu_device, &desc, &module, err));
        assert_ok(dm_module_function(module, "dm_selftest_empty", &function, err));
        assert_ok(dm_function_launch(function, dm_device_stream(dm_test_gpu_device),
                                     (dm_grid){1, 1, 0}, &args, sizeof args, err));
        assert_ok(dm_stream_synchronize(dm_device_stream(dm_test_gpu_device), err));
        double ms = 1e-6 * (double)(dm_time_ns() - start);
        print_message("start %d: %.3f ms%s\n", round, ms,
                      dm_module_was_cached(module) ? " (cached)" : "");
        assert_true(round == 0 || dm_module_was_cached(module));
        if (round > 0 && ms < best)
            best = ms;
        dm_module_destroy(module);
    }
    if (getenv("DM_TEST_NO_TIMING") == NULL) /* set where a checker slows everything down */
        assert_true(best < 5.0);
}

static void close_device(void **state)
{
    (void)state;
    dm_test_gpu();
    dm_device_close(dm_test_gpu_device);
    dm_test_gpu_device = NULL;
}

#define LISTED(name) DM_TEST(name),
DM_TESTS("gpu/device", DM_TEST(properties), DM_DEVICE_CASES(LISTED) DM_TEST(object_outlives_close),
         DM_TEST(graph_replay), DM_TEST(imported_stream_and_pointer), DM_TEST(warp_votes),
         DM_TEST(other_architecture), DM_TEST(warm_start), DM_TEST(close_device))
