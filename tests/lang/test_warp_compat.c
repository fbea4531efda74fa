/* SPDX-License-Identifier: MIT */
/* --warp-compat: gradients that are wrong in Warp, and equal to Warp's. The numbers are those of
 * Warp 1.19 on the CPU, with x = 2, 3, 5 and the gradient 1 for each output; without the option the
 * same kernels are right. tests/lang/warp_compare.py --compat asks Warp itself. */
#include "tests/support/test.h"

#include <dotmatrix/kernel.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct compat_case {
    const char *name; /* of the kernel */
    float warp[3], right[3];
    const char *body; /* of a kernel (x, n = 3, y) that one thread runs */
} compat_case;

static const compat_case cases[] = {
    {"product",
     {450, 75, 5},
     {15, 10, 6},
     "    p = float(1.0)\n"
     "    for j in range(n):\n"
     "        p = p * x[j]\n"
     "    y[i] = p\n"},
    {"square_of_product",
     {900, 150, 10},
     {900, 600, 360}, /* the product counts as 1 */
     "    p = float(1.0)\n"
     "    for j in range(n):\n"
     "        p = p * x[j]\n"
     "    y[i] = p * p\n"},
    {"two_carried",
     {2207126.25f, 819.75f, 3.25f},
     {0, 0, 0},
     "    s = float(1.0)\n"
     "    t = float(0.5)\n"
     "    for j in range(n):\n"
     "        u = s * t\n"
     "        s = s * x[j] + t\n"
     "        t = t + u * x[j]\n"
     "    y[i] = s * t\n"},
    {"branch_in_a_loop",
     {0, 75, 5},
     {0, 5, 3},
     "    s = float(1.0)\n"
     "    for j in range(n):\n"
     "        if j > 0:\n"
     "            s = s * x[j]\n"
     "    y[i] = s\n"},
    {"sum",
     {4, 6, 10},
     {4, 6, 10}, /* needs no old value: right in both */
     "    s = float(0.0)\n"
     "    for j in range(n):\n"
     "        s += x[j] * x[j]\n"
     "    y[i] = s\n"},
    {"component_set",
     {65, 20, 12},
     {60, 20, 12},
     "    v = wp.vec3(x[0], x[1], x[2])\n"
     "    a = v[0] * v[1]\n"
     "    v[0] = a * v[0]\n"
     "    y[i] = v[0] * v[2]\n"},
    {"component_multiplied",
     {60, 36, 0},
     {45, 36, 0},
     "    v = wp.vec3(x[0], x[1], x[2])\n"
     "    v[0] *= v[1]\n"
     "    v[1] += v[0]\n"
     "    y[i] = v[0] * v[1]\n"},
    {"matrix_element_set",
     {101, 20, 40},
     {101, 0, 40},
     "    m = wp.mat22(x[0], x[1], x[2], x[0])\n"
     "    m[0, 1] = m[0, 0] * m[1, 0]\n"
     "    y[i] = m[0, 1] * m[0, 1] + m[1, 1]\n"},
    {"root_of_zero", {INFINITY, 0, 0}, {0, 0, 0}, "    y[i] = wp.sqrt(x[0] - 2.0)\n"},
    {"cube_root_of_zero", {INFINITY, 0, 0}, {0, 0, 0}, "    y[i] = wp.cbrt(x[0] - 2.0)\n"},
    {"power_of_zero", {0, NAN, 0}, {0, 0, 0}, "    y[i] = wp.pow(x[0] - 2.0, x[1])\n"},
    {"rest", {0, 0, 1}, {-2, 0, 1}, "    y[i] = x[2] % x[0]\n"},
    {"fraction", {0, 0, 0}, {1, 0, 0}, "    y[i] = wp.frac(x[0] + 0.5)\n"},
    {"not_a_root", {0.25f, 0, 0}, {0.25f, 0, 0}, "    y[i] = wp.sqrt(x[0] + 2.0)\n"},
};

static void run(const compat_case *c, bool warp_compat, float grad[3])
{
    char text[1024];
    float x[3] = {2, 3, 5}, y[1] = {0}, y_grad[1] = {1};
    dm_kernel_file *file;
    dm_device *device;
    dm_kernel_program *program;
    dm_kernel_args *args;
    dm_kernel_options options = {.warp_compat = warp_compat};
    snprintf(text, sizeof text,
             "import warp as wp\n@wp.kernel\n"
             "def %s(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):\n"
             "    i = wp.tid()\n%s",
             c->name, c->body);
    memset(grad, 0, 3 * sizeof *grad);
    assert_ok(dm_kernel_file_create(c->name, text, strlen(text), &options, &file, err));
    dm_kernel *kernel = dm_kernel_file_get(file, 0);
    assert_ok(dm_device_open("cpu:1", &device, err));
    assert_ok(dm_kernel_program_create(kernel, device, &program, err));
    assert_ok(dm_kernel_args_create(kernel, &args, err));
    assert_ok(dm_kernel_args_number(args, "n", 3, err));
    dm_kernel_array in = {.data = x, .grad = grad, .shape = {3}};
    dm_kernel_array out = {.data = y, .grad = y_grad, .shape = {1}};
    assert_ok(dm_kernel_args_array(args, "x", &in, err));
    assert_ok(dm_kernel_args_array(args, "y", &out, err));
    dm_stream *stream = dm_device_stream(device);
    for (int pass = 0; pass < 2; pass++)
        assert_ok(dm_kernel_launch(program, stream,
                                   pass == 0 ? DM_KERNEL_FORWARD : DM_KERNEL_BACKWARD,
                                   (const int[]){1}, 1, args, err));
    assert_ok(dm_stream_synchronize(stream, err));
    dm_kernel_args_destroy(args);
    dm_kernel_program_destroy(program);
    dm_device_close(device);
    dm_kernel_file_destroy(file);
}

static bool is_near(float a, float b)
{
    return a == b || (isnan(a) && isnan(b)) || fabsf(a - b) <= 1e-5f * fabsf(b);
}

static void gradients_are_warps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float warp[3], ours[3];
        run(&cases[i], true, warp);
        run(&cases[i], false, ours);
        const float *right = cases[i].right;
        bool known = right[0] != 0 || right[1] != 0 || right[2] != 0;
        for (int k = 0; k < 3; k++) {
            if (!is_near(warp[k], cases[i].warp[k]))
                fail_msg("%s: %g at %d, Warp has %g", cases[i].name, (double)warp[k], k,
                         (double)cases[i].warp[k]);
            if (known && !is_near(ours[k], right[k]))
                fail_msg("%s: without the option %g at %d, not %g", cases[i].name, (double)ours[k],
                         k, (double)right[k]);
            if (!isfinite(ours[k]))
                fail_msg("%s: without the option %g at %d", cases[i].name, (double)ours[k], k);
        }
    }
}

DM_TESTS("lang/warp_compat", DM_TEST(gradients_are_warps))
