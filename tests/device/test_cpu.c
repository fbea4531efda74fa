/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "tests/device/cases.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dm_device *device;

/* A fresh cache for every test. */
static int setup(void **state)
{
    if (dm_test_dir_setup(state) != 0)
        return -1;
    setenv("DM_CACHE_DIR", dm_test_dir(state), 1);
    return dm_device_open("cpu", &device, NULL) == DM_OK ? 0 : -1;
}

static int teardown(void **state)
{
    dm_device_close(device);
    unsetenv("DM_CACHE_DIR");
    return dm_test_dir_teardown(state);
}

#define CASE(name)                                                                                 \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        dm_case_##name(device);                                                                    \
    }
DM_DEVICE_CASES(CASE)

static void object_outlives_close(void **state)
{
    (void)state;
    dm_case_object_outlives_close("cpu");
}

static void ids(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "gpu",    "cpu:",  "cpu:0",     "cpu:x",
                                      "cpu:1x",  "cpu:-1", "cuda:", "cuda0",     "cuda:a",
                                      "cuda:-1", "CPU",    "cpu ",  "cuda:99999"};
    dm_device *d;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        dm_error err = {0};
        assert_int_equal(dm_device_open(bad[i], &d, &err), DM_EINVAL);
        assert_null(d);
        assert_non_null(strstr(err.message, "expected cpu"));
    }
    assert_int_equal(dm_device_open("cpu:9999", &d, NULL), DM_EINVAL);
    assert_ok(dm_device_open("cpu:3", &d, err));
    const dm_device_properties *p = dm_device_get_properties(d);
    assert_int_equal(p->multiprocessors, 3);
    assert_int_equal(p->kind, DM_DEVICE_CPU);
    assert_int_equal(p->lanes, 1);
    assert_true(p->memory_bytes > 0 && p->name[0] != '\0' && p->arch[0] != '\0');
    uint64_t bytes = 0;
    assert_ok(dm_device_memory_free(d, &bytes, err));
    assert_true(bytes > 0 && bytes <= p->memory_bytes);
    dm_device_close(d);
}

/* With CUDA absent one line says so; with a GPU beyond the last likewise. */
static void missing_gpu(void **state)
{
    (void)state;
    dm_device *d;
    dm_error err = {0};
    assert_int_equal(dm_device_open("cuda:9999", &d, &err), DM_EUNAVAILABLE);
    assert_true(err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
    size_t count = dm_device_list(NULL, 0);
    assert_int_equal(count, 1 + dm_device_count(DM_DEVICE_CUDA));
    dm_device_properties first;
    dm_device_list(&first, 1);
    assert_string_equal(first.id, "cpu");
}

static void tools(void **state)
{
    (void)state;
    dm_device_tools found;
    dm_device_tools_find(&found);
    assert_true(found.cuda == (found.cuda_reason[0] == '\0'));
    assert_true(found.nvrtc == (found.nvrtc_reason[0] == '\0'));
    assert_true(found.cc == (found.cc_reason[0] == '\0'));
    if (found.nvrtc)
        assert_true(found.nvrtc_version >= 11000 && strstr(found.nvrtc_path, "nvrtc") != NULL);
    if (found.cc)
        assert_true(found.cc_path[0] == '/' && found.cc_version[0] != '\0');
    assert_non_null(strstr(found.cache_path, dm_test_dir(state)));
}

static void no_compiler(void **state)
{
    (void)state;
    dm_module *module;
    dm_error err = {0};
    dm_selftest_report report;
    const char *now = getenv("CC");
    char *old = now == NULL ? NULL : strdup(now);
    setenv("CC", "no-such-compiler -x", 1);
    dm_module_desc desc = {.name = "k", .text = "\n"};
    assert_int_equal(dm_module_create(device, &desc, &module, &err), DM_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "no-such-compiler"));
    assert_null(strchr(err.message, '\n'));
    /* The self-test falls back on what the library was built with. */
    assert_ok(dm_device_selftest(device, &report, err));
    assert_true(report.passed);
    dm_device_tools found;
    dm_device_tools_find(&found);
    assert_false(found.cc);
    assert_true(found.cc_reason[0] != '\0');
    unsetenv("CC");
    now = getenv("PATH");
    char *path = strdup(now == NULL ? "" : now);
    setenv("PATH", "/nowhere", 1);
    dm_status status = dm_module_create(device, &desc, &module, &err);
    setenv("PATH", path, 1);
    if (old != NULL)
        setenv("CC", old, 1);
    free(path);
    free(old);
    assert_int_equal(status, DM_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "apt install gcc"));
}

static void compilers_with_options(void **state)
{
    (void)state;
    dm_module *module;
    dm_module_desc desc = {
        .name = "k", .text = "#ifndef A\n#error no A\n#endif\n#ifndef B\n#error no B\n#endif\n"};
    dm_error err;
    assert_int_equal(dm_module_create(device, &desc, &module, &err), DM_ECOMPILE);
    dm_device_tools found;
    dm_device_tools_find(&found);
    const char *now = getenv("CC");
    char *old = now == NULL ? NULL : strdup(now);
    char with_option[DM_PATH_MAX + 8];
    snprintf(with_option, sizeof with_option, "%s -DA", found.cc_path);
    setenv("CC", with_option, 1);
    assert_int_equal(dm_module_create(device, &desc, &module, &err), DM_ECOMPILE);
    assert_int_equal(err.line, 5);
    setenv("DM_CFLAGS", " -DB  -DC ", 1);
    assert_ok(dm_module_create(device, &desc, &module, err));
    dm_module_destroy(module);
    unsetenv("DM_CFLAGS");
    if (old != NULL)
        setenv("CC", old, 1);
    else
        unsetenv("CC");
    free(old);
}

static dm_status spoil(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    char path[DM_PATH_MAX];
    char *bytes;
    size_t size;
    int *count = user;
    if (entry->is_dir)
        return DM_OK;
    assert_ok(dm_path_join(path, root, entry->path, err));
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    bytes[size / 2] ^= 0x10;
    /* In place, as a disk would. */
    (void)err;
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    free(bytes);
    ++*count;
    return DM_OK;
}

static void damaged_entry(void **state)
{
    dm_module *module;
    dm_function *function;
    dm_module_desc desc = {.name = "device/selftest_kernels.h"};
    assert_ok(dm_module_create(device, &desc, &module, err));
    dm_module_destroy(module);
    int count = 0;
    assert_ok(dm_dir_walk(dm_test_dir(state), spoil, &count, err));
    assert_int_equal(count, 1);
    for (int round = 0; round < 2; round++) {
        assert_ok(dm_module_create(device, &desc, &module, err));
        assert_int_equal(dm_module_was_cached(module), round > 0);
        assert_ok(dm_module_function(module, "dm_selftest_empty", &function, err));
        dm_module_destroy(module);
    }
}

static void unwritable_cache(void **state)
{
    /* A file where the folder should be: not even root can write there. */
    const char *path = dm_test_path(state, "file");
    assert_ok(dm_file_write(path, "x", 1, err));
    setenv("DM_CACHE_DIR", path, 1);
    for (int round = 0; round < 2; round++) {
        dm_module *module;
        dm_function *function;
        dm_module_desc desc = {.name = "device/selftest_kernels.h"};
        assert_ok(dm_module_create(device, &desc, &module, err));
        assert_false(dm_module_was_cached(module));
        assert_ok(dm_module_function(module, "dm_selftest_hash", &function, err));
        dm_module_destroy(module);
    }
}

/* The public header's example, as a program of its own. */
static void example_runs(void **state)
{
    (void)state;
    const char *program = DM_TEST_BUILD_ROOT "/examples/example-saxpy";
    if (!dm_file_exists(program))
        dm_test_skip("%s is not built here", program);
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = (const char *const[]){program, "cpu", NULL}}, &r);
    assert_string_equal(r.err, "");
    assert_string_equal(r.out, "cpu: 2 * 999 + 999 = 2997\n");
    assert_int_equal(r.exit_code, 0);
    dm_test_result_free(&r);
    dm_test_run(&(dm_test_command){.argv = (const char *const[]){program, "cuda:9999", NULL}}, &r);
    assert_int_equal(r.exit_code, 1);
    assert_true(strlen(r.err) > 10);
    dm_test_result_free(&r);
}

static void no_graphs(void **state)
{
    (void)state;
    dm_graph *graph;
    assert_int_equal(dm_graph_capture_begin(dm_device_stream(device), NULL), DM_EUNSUPPORTED);
    assert_int_equal(dm_graph_capture_end(dm_device_stream(device), &graph, NULL), DM_EUNSUPPORTED);
    assert_null(graph);
    dm_graph_destroy(NULL);
    dm_stream *stream;
    int x;
    assert_int_equal(dm_stream_import(device, &x, &stream, NULL), DM_EINVAL);
    assert_ok(dm_stream_import(device, NULL, &stream, err));
    dm_stream_destroy(stream);
}

static void out_of_memory(void **state)
{
    (void)state;
    dm_device_buffer *buffer;
    dm_error err = {0};
    assert_int_equal(dm_device_buffer_create(device, SIZE_MAX / 2, &buffer, &err), DM_ENOMEM);
    assert_null(buffer);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define LISTED(name) T(name),
DM_TESTS("device/cpu", DM_DEVICE_CASES(LISTED) T(object_outlives_close), T(ids), T(missing_gpu),
         T(tools), T(no_compiler), T(compilers_with_options), T(damaged_entry), T(unwritable_cache),
         T(no_graphs), T(example_runs), T(out_of_memory))
