/* SPDX-License-Identifier: MIT */
/* optimiser.c - the dialect's texts as optimisers: compile once, then set arguments and launch. */
#include "nn/optimiser.h"

#include "device/sources.h"

#include <dotmatrix/kernel.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct dm_nn_stepper {
    dm_nn_optimiser_kind kind;
    dm_device *device;
    dm_kernel_program *program;
    dm_kernel_args *args;
};

dm_status dm_nn_stepper_create(dm_device *device, dm_nn_optimiser_kind kind, dm_nn_stepper **out,
                               dm_error *err)
{
    const char *text = dm_embedded_text("kernels/nn/optimisers.py");
    dm_nn_stepper *stepper = calloc(1, sizeof *stepper);
    dm_kernel_file *file = NULL;
    if (!stepper)
        return dm_fail(err, DM_ENOMEM, "nn: no memory for an optimiser");
    stepper->kind = kind;
    stepper->device = device;
    dm_kernel_options options = {.no_backward = true};
    dm_status status =
        dm_kernel_file_create("optimisers.py", text, strlen(text), &options, &file, err);
    dm_kernel *kernel =
        status == DM_OK ? dm_kernel_file_find(file, kind == DM_NN_SGD ? "sgd" : "adamw") : NULL;
    if (status == DM_OK)
        status = dm_kernel_compile(kernel, err);
    if (status == DM_OK)
        status = dm_kernel_program_create(kernel, device, &stepper->program, err);
    if (status == DM_OK)
        status = dm_kernel_args_create(kernel, &stepper->args, err);
    dm_kernel_file_destroy(file);
    if (status != DM_OK) {
        dm_nn_stepper_destroy(stepper);
        return status;
    }
    *out = stepper;
    return DM_OK;
}

void dm_nn_stepper_destroy(dm_nn_stepper *stepper)
{
    if (!stepper)
        return;
    dm_kernel_args_destroy(stepper->args);
    dm_kernel_program_destroy(stepper->program);
    free(stepper);
}

typedef struct argument {
    const char *name;
    double value;
} argument;

dm_status dm_nn_stepper_step(dm_nn_stepper *stepper, const dm_nn_optimiser *o,
                             const dm_nn_parameter *p, float *gradient, float scale, uint64_t step,
                             dm_error *err)
{
    bool sgd = stepper->kind == DM_NN_SGD;
    double beta1 = o->beta1 > 0 ? o->beta1 : 0.9, beta2 = o->beta2 > 0 ? o->beta2 : 0.999;
    double decay = p->shape[1] != 0 ? o->decay : 0; /* biases and gains have one dimension */
    argument numbers[] = {{"scale", scale},
                          {"rate", o->rate},
                          {"decay", decay},
                          {"momentum", o->momentum},
                          {"beta1", beta1},
                          {"beta2", beta2},
                          {"epsilon", o->epsilon > 0 ? o->epsilon : 1e-8},
                          {"correct1", 1 - pow(beta1, (double)step)},
                          {"correct2", 1 - pow(beta2, (double)step)}};
    const char *names[] = {"w", "g", sgd ? "velocity" : "m", "v"};
    float *arrays[] = {p->value, gradient, p->first, p->second};
    dm_status status = DM_OK;
    for (int i = 0; i < (sgd ? 3 : 4) && status == DM_OK; i++)
        status = dm_kernel_args_array(
            stepper->args, names[i],
            &(dm_kernel_array){.data = arrays[i], .shape = {(int64_t)p->count}}, err);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == DM_OK; i++)
        if (sgd ? i < 4 : i != 3)
            status = dm_kernel_args_number(stepper->args, numbers[i].name, numbers[i].value, err);
    if (status != DM_OK)
        return status;
    return dm_kernel_launch(stepper->program, dm_device_stream(stepper->device), DM_KERNEL_FORWARD,
                            (int[]){(int)p->count}, 1, stepper->args, err);
}
