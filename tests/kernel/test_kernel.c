/* SPDX-License-Identifier: MIT */
/* The public kernel API: arguments, launches, mistakes; .npy files; the example. */
#include "base/file.h"
#include "kernel/npy.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "import warp as wp\n"
                           "@wp.kernel\n"
                           "def mix(a: wp.array2d(dtype=float), n: wp.uint8, v: wp.vec3, h: "
                           "wp.float16, out: wp.array2d(dtype=float)):\n"
                           "    i, j = wp.tid()\n"
                           "    out[i, j] = a[i, j] * float(n) + v[1] + float(h)\n"
                           "@wp.kernel\n"
                           "def count(n: wp.array(dtype=int)):\n"
                           "    i = wp.tid()\n"
                           "    wp.atomic_add(n, i, 1)\n"
                           "@wp.kernel\n"
                           "def broken(n: wp.array(dtype=int)):\n"
                           "    n[0] = 1.0\n"
                           "@wp.kernel\n"
                           "def slices(x: wp.array(dtype=int), out: wp.array(dtype=int)):\n"
                           "    far = x[::2147483647]\n"
                           "    early = x[-100:2]\n"
                           "    third = x[1::3]\n"
                           "    out[0] = far.shape[0]\n"
                           "    out[1] = early.shape[0]\n"
                           "    out[2] = early[0] + 10 * early[1]\n"
                           "    out[3] = third.shape[0]\n"
                           "    out[4] = third[-1]\n"
                           "@wp.kernel\n"
                           "def quotients(a: wp.array(dtype=int), out: wp.array2d(dtype=int)):\n"
                           "    i = wp.tid()\n"
                           "    out[i, 0] = a[i] // 3\n"
                           "    out[i, 1] = a[i] // -3\n"
                           "    out[i, 2] = int(wp.int64(a[i]) // wp.int64(3))\n"
                           "    out[i, 3] = int(wp.uint32(a[i] + 8) // wp.uint32(3))\n"
                           "    out[i, 4] = a[i] / 3\n"
                           "    out[i, 5] = -7 // 2 + 10 * (7 // -2) + 100 * (-7 // -2)\n"
                           "from typing import Any\n"
                           "@wp.func\n"
                           "def which(a: float):\n"
                           "    return 1\n"
                           "@wp.func\n"
                           "def which(a: Any):\n"
                           "    return 2\n"
                           "@wp.kernel\n"
                           "def overloads(out: wp.array(dtype=int)):\n"
                           "    out[0] = which(1.0)\n"
                           "    out[1] = which(1)\n"
                           "@wp.kernel\n"
                           "def wide(out: wp.array(dtype=wp.int64)):\n"
                           "    out[0] = wp.int64(0xFFFFFFFF)\n"
                           "    out[1] = wp.int64(wp.uint64(2147483648))\n"
                           "    out[2] = wp.int64(wp.float64(4294967295))\n"
                           "    out[3] = wp.int64(wp.uint32(0xFFFFFFFF))\n"
                           "    out[4] = wp.int64(int(0xFFFFFFFF))\n";

typedef struct opened {
    dm_kernel_file *file;
    dm_device *device;
    dm_kernel *kernel;
    dm_kernel_program *program;
    dm_kernel_args *args;
} opened;

static void open_kernel(opened *o, const char *name)
{
    assert_ok(dm_device_open("cpu:2", &o->device, err));
    assert_ok(dm_kernel_file_create("t.py", text, sizeof text - 1, NULL, &o->file, err));
    o->kernel = dm_kernel_file_find(o->file, name);
    assert_non_null(o->kernel);
    assert_ok(dm_kernel_program_create(o->kernel, o->device, &o->program, err));
    assert_ok(dm_kernel_args_create(o->kernel, &o->args, err));
}

static void close_kernel(opened *o)
{
    dm_kernel_file_destroy(o->file); /* programs and arguments live on */
    dm_kernel_args_destroy(o->args);
    dm_kernel_program_destroy(o->program);
    dm_device_close(o->device);
}

static void arguments_reach_the_kernel(void **state)
{
    (void)state;
    opened o;
    float a[3][4], out[3][4] = {{0}}, v[3] = {10, 20, 30};
    for (int i = 0; i < 12; i++)
        a[i / 4][i % 4] = (float)i;
    open_kernel(&o, "mix");
    assert_int_equal(dm_kernel_dimensions(o.kernel), 2);
    assert_int_equal(dm_kernel_param_count(o.kernel), 5);
    assert_string_equal(dm_kernel_param_get(o.kernel, 2)->type, "vec3f");
    assert_true(dm_kernel_has_backward(o.kernel));
    dm_kernel_array in = {.data = a, .shape = {3, 4}};
    /* The result transposed: strides are the caller's. */
    dm_kernel_array to = {.data = out, .shape = {3, 4}, .strides = {4, 12}};
    assert_ok(dm_kernel_args_array(o.args, "a", &in, err));
    assert_ok(dm_kernel_args_array(o.args, "out", &to, err));
    assert_ok(dm_kernel_args_number(o.args, "n", 200, err));
    assert_ok(dm_kernel_args_number(o.args, "h", 0.25, err));
    assert_ok(dm_kernel_args_bytes(o.args, "v", v, sizeof v, err));
    assert_ok(dm_kernel_launch(o.program, dm_device_stream(o.device), DM_KERNEL_FORWARD,
                               (const int[]){3, 4}, 2, o.args, err));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            assert_true(((float *)out)[j * 3 + i] == a[i][j] * 200 + 20 + 0.25f);
    close_kernel(&o);
}

/* More dimensions than tid() asks for: the leading coordinate, as often as the others say. */
static void launches_have_leading_coordinates(void **state)
{
    (void)state;
    opened o;
    int n[5] = {0};
    open_kernel(&o, "count");
    assert_false(dm_kernel_has_backward(o.kernel));
    dm_kernel_array array = {.data = n, .shape = {5}};
    assert_ok(dm_kernel_args_array(o.args, "n", &array, err));
    assert_ok(dm_kernel_launch(o.program, dm_device_stream(o.device), DM_KERNEL_FORWARD,
                               (const int[]){5, 2, 3}, 3, o.args, err));
    assert_ok(dm_kernel_launch(o.program, dm_device_stream(o.device), DM_KERNEL_FORWARD,
                               (const int[]){0}, 1, o.args, err));
    for (int i = 0; i < 5; i++)
        assert_int_equal(n[i], 6);
    close_kernel(&o);
}

/* Slices that begin before the array, and that step over its end. */
static void slices_stay_within(void **state)
{
    (void)state;
    opened o;
    int x[6] = {3, 1, 4, 1, 5, 9}, out[5] = {0};
    const int expected[5] = {1, 2, 13, 2, 5};
    open_kernel(&o, "slices");
    dm_kernel_array from = {.data = x, .shape = {6}}, to = {.data = out, .shape = {5}};
    assert_ok(dm_kernel_args_array(o.args, "x", &from, err));
    assert_ok(dm_kernel_args_array(o.args, "out", &to, err));
    assert_ok(dm_kernel_launch(o.program, dm_device_stream(o.device), DM_KERNEL_FORWARD,
                               (const int[]){1}, 1, o.args, err));
    for (int i = 0; i < 5; i++)
        assert_int_equal(out[i], expected[i]);
    close_kernel(&o);
}

/* // rounds down, whatever the signs; / towards 0. */
static void floor_division(void **state)
{
    (void)state;
    enum { COUNT = 5, KINDS = 6 };
    static const int expected[COUNT][KINDS] = {{-3, 2, -3, 0, -2, 256},
                                               {-1, 0, -1, 2, 0, 256},
                                               {0, 0, 0, 2, 0, 256},
                                               {0, -1, 0, 3, 0, 256},
                                               {2, -3, 2, 5, 2, 256}};
    opened o;
    int a[COUNT] = {-8, -1, 0, 1, 8}, out[COUNT][KINDS] = {{0}};
    open_kernel(&o, "quotients");
    assert_ok(
        dm_kernel_args_array(o.args, "a", &(dm_kernel_array){.data = a, .shape = {COUNT}}, err));
    assert_ok(dm_kernel_args_array(o.args, "out",
                                   &(dm_kernel_array){.data = out, .shape = {COUNT, KINDS}}, err));
    assert_ok(dm_kernel_launch(o.program, dm_device_stream(o.device), DM_KERNEL_FORWARD,
                               (const int[]){COUNT}, 1, o.args, err));
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < KINDS; j++)
            assert_int_equal(out[i][j], expected[i][j]);
    close_kernel(&o);
}

/* A literal beyond int32 inside of a cast is the number that is written. */
static void wide_literals(void **state)
{
    (void)state;
    opened o;
    int64_t out[5] = {0};
    open_kernel(&o, "wide");
    assert_ok(
        dm_kernel_args_array(o.args, "out", &(dm_kernel_array){.data = out, .shape = {5}}, err));
    assert_ok(dm_kernel_launch(o.program, dm_device_stream(o.device), DM_KERNEL_FORWARD,
                               (const int[]){1}, 1, o.args, err));
    assert_true(out[0] == 4294967295 && out[1] == 2147483648 && out[2] == 4294967295);
    assert_true(out[3] == 4294967295 && out[4] == -1);
    close_kernel(&o);
}

/* An overload that names the types wins, wherever it stands. */
static void exact_overloads_win(void **state)
{
    (void)state;
    opened o;
    int out[2] = {0};
    open_kernel(&o, "overloads");
    assert_ok(
        dm_kernel_args_array(o.args, "out", &(dm_kernel_array){.data = out, .shape = {2}}, err));
    assert_ok(dm_kernel_launch(o.program, dm_device_stream(o.device), DM_KERNEL_FORWARD,
                               (const int[]){1}, 1, o.args, err));
    assert_int_equal(out[0], 1);
    assert_int_equal(out[1], 2);
    close_kernel(&o);
}

static void mistakes_are_told(void **state)
{
    (void)state;
    opened o;
    dm_error err = {0};
    open_kernel(&o, "mix");
    dm_kernel_array array = {.data = &o, .shape = {-1, 1}};
    assert_int_equal(dm_kernel_args_array(o.args, "a", &array, &err), DM_EINVAL);
    assert_int_equal(dm_kernel_args_array(o.args, "n", &array, &err), DM_EINVAL);
    assert_int_equal(dm_kernel_args_array(o.args, "q", &array, &err), DM_ENOENT);
    assert_int_equal(dm_kernel_args_number(o.args, "n", 256, &err), DM_EINVAL);
    assert_int_equal(dm_kernel_args_number(o.args, "n", -1, &err), DM_EINVAL);
    assert_int_equal(dm_kernel_args_number(o.args, "v", 1, &err), DM_EINVAL);
    assert_int_equal(dm_kernel_args_bytes(o.args, "v", &o, 8, &err), DM_EINVAL);
    dm_stream *stream = dm_device_stream(o.device);
    assert_int_equal(
        dm_kernel_launch(o.program, stream, DM_KERNEL_FORWARD, (const int[]){4}, 1, o.args, &err),
        DM_EINVAL);
    assert_int_equal(dm_kernel_launch(o.program, stream, DM_KERNEL_FORWARD, (const int[]){4, -4}, 2,
                                      o.args, &err),
                     DM_EINVAL);
    dm_kernel *broken = dm_kernel_file_find(o.file, "broken");
    assert_int_equal(dm_kernel_compile(broken, &err), DM_ECOMPILE);
    assert_int_equal(err.line, 12);
    assert_non_null(strstr(dm_kernel_file_messages(o.file), "t.py:12:12: error: "));
    assert_null(dm_kernel_file_find(o.file, "none"));
    close_kernel(&o);
    dm_kernel_file *file;
    assert_int_equal(dm_kernel_file_create("t.py", "x = (", 5, NULL, &file, &err), DM_ECOMPILE);
    assert_non_null(strstr(dm_kernel_file_messages(file), "t.py:1:"));
    dm_kernel_file_destroy(file);
}

static void npy_files_round_trip(void **state)
{
    char path[DM_PATH_MAX];
    int16_t numbers[6] = {1, -2, 3, -4, 5, -6};
    dm_npy out = {.scalar = DM_KERNEL_INT16,
                  .ndim = 2,
                  .shape = {2, 3},
                  .count = 6,
                  .bytes = 12,
                  .data = numbers};
    dm_npy in;
    assert_ok(dm_path_join(path, dm_test_dir(state), "a.npy", err));
    assert_ok(dm_npy_write(path, &out, err));
    assert_ok(dm_npy_read(path, &in, err));
    assert_int_equal(in.scalar, DM_KERNEL_INT16);
    assert_int_equal(in.ndim, 2);
    assert_int_equal(in.shape[1], 3);
    assert_memory_equal(in.data, numbers, sizeof numbers);
    dm_npy_deinit(&in);
    /* Cut, foreign and lying files are refused. */
    char *bytes;
    size_t size;
    dm_error err = {0};
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    for (size_t length = 0; length < size; length += 7) {
        assert_ok(dm_file_write(path, bytes, length, err));
        assert_int_equal(dm_npy_read(path, &in, &err), DM_EFORMAT);
    }
    memcpy(strstr(bytes + 10, "(2, 3)"), "(9, 3)", 6);
    assert_ok(dm_file_write(path, bytes, size, err));
    assert_int_equal(dm_npy_read(path, &in, &err), DM_EFORMAT);
    free(bytes);
    /* A header that ends where the type should be; the sanitizer sees reads behind it. */
    static const char cut[] = "\x93NUMPY\x01\x00\x2F\x00{'fortran_order': False, 'shape': (2,), "
                              "'descr'";
    assert_ok(dm_file_write(path, cut, sizeof cut - 1, err));
    assert_int_equal(dm_npy_read(path, &in, &err), DM_EUNSUPPORTED);
}

static void write_text(void **state, const char *name, const char *content)
{
    char path[DM_PATH_MAX];
    assert_ok(dm_path_join(path, dm_test_dir(state), name, err));
    assert_ok(dm_file_write(path, content, strlen(content), err));
}

/* Functions, structs and constants of files beside the kernel's, when that is asked for. */
static void modules_beside_the_file(void **state)
{
    const char *kernel = "import warp as wp\n"
                         "from helpers import twice, SCALE\n"
                         "from .parts import shapes as s\n"
                         "from more import *\n"
                         "from missing import nothing\n"
                         "@wp.kernel\n"
                         "def k(x: wp.array(dtype=float), b: s.Box):\n"
                         "    i = wp.tid()\n"
                         "    x[i] = twice(x[i]) * SCALE + s.area(b) + starred(x[i])\n";
    char path[DM_PATH_MAX], folder[DM_PATH_MAX];
    dm_error err = {0};
    assert_ok(dm_path_join(path, dm_test_dir(state), "k.py", err));
    assert_ok(dm_path_join(folder, dm_test_dir(state), "parts", err));
    assert_ok(dm_dir_create(folder, err));
    write_text(state, "helpers.py",
               "import warp as wp\nSCALE = 3.0\n"
               "@wp.func\ndef twice(x: float):\n    return x * 2.0\n"
               "@wp.kernel\ndef other(x: float):\n    pass\n"
               "from k import k\n"); /* a circle */
    write_text(state, "parts/shapes.py",
               "import warp as wp\n@wp.struct\nclass Box:\n    w: float\n    h: float\n"
               "@wp.func\ndef area(b: Box):\n    return b.w * b.h\n");
    write_text(state, "more.py", "import warp\n@warp.func\ndef starred(x: float):\n    return x\n");
    for (int imports = 0; imports < 2; imports++) {
        dm_kernel_options options = {.imports = imports != 0};
        dm_kernel_file *file;
        assert_ok(dm_kernel_file_create(path, kernel, strlen(kernel), &options, &file, err));
        assert_int_equal(dm_kernel_file_count(file), 1);
        dm_status status = dm_kernel_compile(dm_kernel_file_get(file, 0), &err);
        if (status != (imports ? DM_OK : DM_ECOMPILE))
            fail_msg("imports %d: %s", imports, err.message);
        dm_kernel_file_destroy(file);
    }
}

static void example_runs(void **state)
{
    (void)state;
    const char *program = DM_TEST_BUILD_ROOT "/examples/example-kernel";
    if (!dm_file_exists(program))
        dm_test_skip("%s is not built here", program);
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = (const char *const[]){program, NULL}}, &r);
    assert_string_equal(r.err, "");
    assert_string_equal(r.out, "y[0] = 0.5, dy/dx = 1\ny[1] = 2, dy/dx = 2\n"
                               "y[2] = 4.5, dy/dx = 3\ny[3] = 8, dy/dx = 4\n");
    dm_test_result_free(&r);
}

DM_TESTS("kernel/kernel", DM_TEST(arguments_reach_the_kernel),
         DM_TEST(launches_have_leading_coordinates), DM_TEST(slices_stay_within),
         DM_TEST(floor_division), DM_TEST(wide_literals), DM_TEST(exact_overloads_win),
         DM_TEST(mistakes_are_told), DM_TEST_IN_DIR(npy_files_round_trip),
         DM_TEST_IN_DIR(modules_beside_the_file), DM_TEST(example_runs))
