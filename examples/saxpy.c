/* SPDX-License-Identifier: MIT */
/* saxpy.c - one kernel text, on any device: example-saxpy [cpu | cuda:0]. */
#include <dotmatrix/device.h>

#include <stdio.h>

#define N 1000

typedef struct saxpy_args {
    uint64_t n;
    float a;
    const float *x;
    float *y;
} saxpy_args;

static const char text[] =
    "#include \"base/port.h\"\n"
    "typedef struct saxpy_args { uint64_t n; float a; const float *x; float *y; } saxpy_args;\n"
    "DM_KERNEL(saxpy, saxpy_args)\n"
    "{\n"
    "    for (uint64_t i = dm_thread_index(); i < args.n; i += dm_thread_count())\n"
    "        args.y[i] = dm_fmaf(args.a, args.x[i], args.y[i]);\n"
    "}\n";

/* Stop at the first call that fails; its message is in `err`. */
#define TRY(call)                                                                                  \
    if ((call) != DM_OK)                                                                           \
    return fprintf(stderr, "%s\n", err->message), 1

int main(int argc, char **argv)
{
    dm_error error, *err = &error;
    dm_device *device;
    dm_module *module;
    dm_function *saxpy;
    dm_device_buffer *x, *y;
    const dm_module_desc desc = {.name = "saxpy", .text = text};
    float host[N], last;
    for (int i = 0; i < N; i++)
        host[i] = (float)i;

    TRY(dm_device_open(argc > 1 ? argv[1] : "cpu", &device, err));
    TRY(dm_module_create(device, &desc, &module, err));
    TRY(dm_module_function(module, "saxpy", &saxpy, err));
    TRY(dm_device_buffer_create(device, sizeof host, &x, err));
    TRY(dm_device_buffer_create(device, sizeof host, &y, err));
    dm_stream *stream = dm_device_stream(device);
    TRY(dm_stream_upload(stream, x, 0, host, sizeof host, err));
    TRY(dm_stream_upload(stream, y, 0, host, sizeof host, err));
    saxpy_args args = {N, 2.0f, (const float *)dm_device_buffer_address(x),
                       (float *)dm_device_buffer_address(y)};
    TRY(dm_function_launch(saxpy, stream, dm_grid_for(N, 256), &args, sizeof args, err));
    TRY(dm_stream_download(stream, y, (N - 1) * sizeof last, &last, sizeof last, err));
    TRY(dm_stream_synchronize(stream, err));
    printf("%s: 2 * 999 + 999 = %g\n", dm_device_get_properties(device)->id, (double)last);

    dm_device_buffer_destroy(x);
    dm_device_buffer_destroy(y);
    dm_module_destroy(module);
    dm_device_close(device);
    return last == 2997.0f ? 0 : 1;
}
