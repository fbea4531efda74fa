/* SPDX-License-Identifier: MIT */
/* Indices that leave their arrays end `kernel run` with a message; NULLs in the kernel API. */
#include "base/file.h"
#include "cli/command.h"
#include "device/nvrtc.h"
#include "kernel/npy.h"
#include "tests/lang/gradient_cases.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <dotmatrix/kernel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "import warp as wp\n"
    "@wp.kernel\n"
    "def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
    "    i = wp.tid()\n"
    "    y[i] = 2.0 * x[i]\n"
    "@wp.kernel\n"
    "def gather(x: wp.array(dtype=float), at: wp.array(dtype=int), y: wp.array(dtype=float)):\n"
    "    i = wp.tid()\n"
    "    y[i] = 2.0 * x[at[i]]\n"
    "@wp.kernel\n"
    "def plane(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):\n"
    "    i = wp.tid()\n"
    "    row = x[i + 1]\n"
    "    y[i] = row[0]\n"
    "@wp.kernel\n"
    "def component(n: int, y: wp.array(dtype=float)):\n"
    "    v = wp.vec3(1.0, 2.0, 3.0)\n"
    "    y[0] = v[n]\n"
    "@wp.kernel\n"
    "def names(tid0: wp.array(dtype=float), fault: wp.array(dtype=float)):\n"
    "    i, j = wp.tid()\n"
    "    tid1 = tid0[i] + float(j)\n"
    "    bounds_fail = tid1 + 1.0\n"
    "    bounds_record = bounds_fail + 1.0\n"
    "    fault[i] = bounds_record\n";

#define ARGS_MAX 12

static const struct row {
    const char *args[ARGS_MAX], *message; /* NULL: runs */
} rows[] = {
    {{"--kernel", "twice", "--dim", "4", "--arg", "x=zeros:4", "--arg", "y=zeros:4"}, NULL},
    {{"--kernel", "twice", "--dim", "4", "--arg", "x=zeros:3", "--arg", "y=zeros:4"},
     "twice: line 5: x[3] is out of bounds, its shape is (3)"},
    {{"--kernel", "twice", "--dim", "4", "--arg", "x=zeros:4", "--arg", "y=zeros:3"},
     "twice: line 5: y[3] is out of bounds, its shape is (3)"},
    {{"--kernel", "twice", "--dim", "4", "--arg", "x=zeros:0", "--arg", "y=zeros:4"},
     "is out of bounds, its shape is (0)"},
    {{"--kernel", "plane", "--dim", "1", "--arg", "x=zeros:1x2", "--arg", "y=zeros:1"},
     "plane: line 13: x[1] is out of bounds, its shape is (1, 2)"},
    {{"--kernel", "component", "--dim", "1", "--arg", "n=2", "--arg", "y=zeros:1"}, NULL},
    {{"--kernel", "component", "--dim", "1", "--arg", "n=3", "--arg", "y=zeros:1"},
     "[3] is out of bounds, its shape is (3)"},
    {{"--kernel", "names", "--dim", "2,2", "--arg", "tid0=zeros:2", "--arg", "fault=zeros:2"},
     NULL},
    {{"--kernel", "names", "--dim", "2,2", "--arg", "tid0=zeros:1", "--arg", "fault=zeros:2"},
     "names: line 22: tid0[1] is out of bounds, its shape is (1)"},
};

static void run_file(const char *source, const char *const *args, const char *message)
{
    const char *argv[ARGS_MAX + 4] = {"kernel", "run", source};
    dm_test_result r;
    for (int i = 0; i < ARGS_MAX && args[i] != NULL; i++)
        argv[3 + i] = args[i];
    dm_test_run_dotmatrix(NULL, argv, &r);
    dm_test_expect_exit(&r, message == NULL ? DM_EXIT_OK : DM_EXIT_USAGE);
    if (message != NULL && strstr(r.err, message) == NULL)
        fail_msg("'%s' does not say '%s'", r.err, message);
    dm_test_result_free(&r);
}

static const char *put_source(void **state)
{
    const char *source = dm_test_path(state, "k.py");
    assert_ok(dm_file_write(source, text, sizeof text - 1, err));
    return source;
}

static void run_tells_the_access(void **state)
{
    const char *source = put_source(state);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run_file(source, rows[i].args, rows[i].message);
}

static void index_arrays(void **state)
{
    int at[3] = {0, -3, 1000000};
    dm_npy npy = {.scalar = DM_KERNEL_INT32,
                  .ndim = 1,
                  .shape = {3},
                  .count = 3,
                  .bytes = sizeof at,
                  .data = at};
    const char *source = put_source(state), *path = dm_test_path(state, "at.npy");
    char arg[DM_PATH_MAX + 8];
    snprintf(arg, sizeof arg, "at=%s", path);
    const char *args[ARGS_MAX] = {"--kernel", "gather",    "--dim",  "2",
                                  "--arg",    arg,         "--arg",  "x=zeros:3",
                                  "--arg",    "y=zeros:3", "--grad", "y=ones"};
    assert_ok(dm_npy_write(path, &npy, err));
    run_file(source, args, NULL); /* -3 is the first of three */
    args[3] = "3";
    static const char told[] = "gather: line 9: x[1000000] is out of bounds, its shape is (3)";
    run_file(source, args, told);
    args[10] = NULL;
    run_file(source, args, told);
}

/* The backward pass alone: it reads the index itself. */
static void backward_tells_the_access(void **state)
{
    (void)state;
    dm_kernel_options options = {.bounds = true};
    dm_kernel_file *file;
    dm_kernel_program *program;
    dm_kernel_args *args;
    dm_device *device;
    dm_error error = {0};
    float x[3] = {0}, y[1] = {0}, gx[3] = {0}, gy[1] = {1};
    int at[1] = {5};
    assert_ok(dm_device_open("cpu:1", &device, err));
    assert_ok(dm_kernel_file_create("t.py", text, sizeof text - 1, &options, &file, err));
    dm_kernel *kernel = dm_kernel_file_find(file, "gather");
    assert_ok(dm_kernel_program_create(kernel, device, &program, err));
    assert_ok(dm_kernel_args_create(kernel, &args, err));
    const dm_kernel_array arrays[] = {{.data = x, .grad = gx, .shape = {3}},
                                      {.data = at, .shape = {1}},
                                      {.data = y, .grad = gy, .shape = {1}}};
    static const char *const names[] = {"x", "at", "y"};
    for (int i = 0; i < 3; i++)
        assert_ok(dm_kernel_args_array(args, names[i], &arrays[i], err));
    dm_stream *stream = dm_device_stream(device);
    assert_int_equal(
        dm_kernel_launch(program, stream, DM_KERNEL_BACKWARD, (const int[]){1}, 1, args, &error),
        DM_EINVAL);
    assert_non_null(strstr(error.message, "x[5] is out of bounds, its shape is (3)"));
    gy[0] = 1; /* the first one took it */
    at[0] = 2; /* the record is emptied before each launch */
    assert_ok(
        dm_kernel_launch(program, stream, DM_KERNEL_BACKWARD, (const int[]){1}, 1, args, err));
    assert_true(gx[2] == 2.0f);
    assert_int_equal(
        dm_kernel_launch(NULL, stream, DM_KERNEL_FORWARD, (const int[]){1}, 1, args, &error),
        DM_EINVAL);
    assert_int_equal(dm_kernel_launch(program, stream, DM_KERNEL_FORWARD, NULL, 1, args, &error),
                     DM_EINVAL);
    assert_int_equal(dm_kernel_args_array(args, "x", NULL, &error), DM_EINVAL);
    assert_int_equal(dm_kernel_args_array(args, NULL, &arrays[0], &error), DM_EINVAL);
    assert_int_equal(dm_kernel_args_create(NULL, &args, &error), DM_EINVAL);
    assert_int_equal(dm_kernel_program_create(NULL, device, &program, &error), DM_EINVAL);
    assert_int_equal(dm_kernel_file_create("t.py", NULL, 3, NULL, &file, &error), DM_EINVAL);
    assert_int_equal(dm_kernel_file_create(NULL, "", 0, NULL, &file, &error), DM_EINVAL);
    dm_kernel_args_destroy(args);
    dm_kernel_program_destroy(program);
    dm_kernel_file_destroy(file);
    dm_device_close(device);
}

static void compile_for_cuda(const char *source, const char *name)
{
    dm_kernel_options options = {.bounds = true};
    dm_kernel_file *file;
    assert_ok(dm_kernel_file_create("t", source, strlen(source), &options, &file, err));
    dm_kernel *kernel = dm_kernel_file_find(file, name);
    assert_ok(dm_kernel_compile(kernel, err));
    assert_ok(dm_nvrtc_check(name, dm_kernel_source(kernel, DM_KERNEL_CUDA, NULL),
                             (const char *const[]){"--gpu-architecture=compute_80", NULL}, err));
    dm_kernel_file_destroy(file);
}

static void checks_compile_for_cuda(void **state)
{
    (void)state;
    static const char *const names[] = {"twice", "gather", "plane", "component", "names"};
    char path[DM_PATH_MAX], source[4096];
    dm_error missing = {0};
    if (dm_nvrtc_find(path, &missing) != DM_OK)
        dm_test_skip("%s", missing.message);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        compile_for_cuda(text, names[i]);
    for (size_t i = 0; i < dm_gradient_case_count; i++) {
        snprintf(source, sizeof source, "import warp as wp\n%s", dm_gradient_cases[i].text);
        compile_for_cuda(source, dm_gradient_cases[i].name);
    }
}

DM_TESTS("kernel/bounds", DM_TEST_IN_DIR(run_tells_the_access), DM_TEST_IN_DIR(index_arrays),
         DM_TEST(backward_tells_the_access), DM_TEST(checks_compile_for_cuda))
