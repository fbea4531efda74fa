/* SPDX-License-Identifier: MIT */
/* kernel.c - a kernel in Python syntax, run on the CPU with its gradient. */
#include <dotmatrix/kernel.h>

#include <stdio.h>
#include <string.h>

#define N 4

static const char text[] =
    "import warp as wp\n"
    "@wp.kernel\n"
    "def square(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):\n"
    "    i = wp.tid()\n"
    "    y[i] = x[i] * x[i] * s\n";

int main(void)
{
    float x[N] = {1, 2, 3, 4}, y[N] = {0}, x_grad[N] = {0}, y_grad[N] = {1, 1, 1, 1};
    dm_error err;
    dm_device *device = NULL;
    dm_kernel_file *file = NULL;
    dm_kernel_program *program = NULL;
    dm_kernel_args *args = NULL;
    dm_status status = dm_device_open("cpu", &device, &err);
    if (status == DM_OK)
        status = dm_kernel_file_create("square.py", text, strlen(text), NULL, &file, &err);
    if (status == DM_OK)
        status = dm_kernel_program_create(dm_kernel_file_get(file, 0), device, &program, &err);
    if (status == DM_OK)
        status = dm_kernel_args_create(dm_kernel_file_get(file, 0), &args, &err);
    dm_kernel_array x_array = {.data = x, .grad = x_grad, .shape = {N}};
    dm_kernel_array y_array = {.data = y, .grad = y_grad, .shape = {N}};
    if (status == DM_OK)
        status = dm_kernel_args_array(args, "x", &x_array, &err);
    if (status == DM_OK)
        status = dm_kernel_args_array(args, "y", &y_array, &err);
    if (status == DM_OK)
        status = dm_kernel_args_number(args, "s", 0.5, &err);
    for (int pass = DM_KERNEL_FORWARD; pass <= DM_KERNEL_BACKWARD && status == DM_OK; pass++)
        status = dm_kernel_launch(program, dm_device_stream(device), (dm_kernel_pass)pass,
                                  (const int[]){N}, 1, args, &err);
    for (int i = 0; i < N && status == DM_OK; i++)
        printf("y[%d] = %g, dy/dx = %g\n", i, (double)y[i], (double)x_grad[i]);
    if (status != DM_OK)
        fprintf(stderr, "%s\n", err.message);
    dm_kernel_args_destroy(args);
    dm_kernel_program_destroy(program);
    dm_kernel_file_destroy(file);
    dm_device_close(device);
    return status == DM_OK ? 0 : 1;
}
