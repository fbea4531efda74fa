/* SPDX-License-Identifier: MIT */
/* optimiser.c - the dialect's texts as optimisers: compile once, then set arguments and launch. */
#include "nn/optimiser.h"

#include "device/sources.h"

#include <dotmatrix/kernel.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct compiled {
    dm_kernel_program *program;
    dm_kernel_args *args;
} compiled;

struct dm_nn_stepper {
    dm_device *device;
    compiled step, average, momentum, update;
};

static dm_status compile(dm_kernel_file *file, const char *name, dm_device *device, compiled *out,
                         dm_error *err)
{
    dm_kernel *kernel = dm_kernel_file_find(file, name);
    dm_status status = dm_kernel_compile(kernel, err);
    if (status == DM_OK)
        status = dm_kernel_program_create(kernel, device, &out->program, err);
    return status != DM_OK ? status : dm_kernel_args_create(kernel, &out->args, err);
}

dm_status dm_nn_stepper_create(dm_device *device, const dm_nn_optimiser *o, bool own_adam,
                               dm_nn_stepper **out, dm_error *err)
{
    static const char *const names[] = {[DM_NN_SGD] = "sgd",
                                        [DM_NN_ADAM] = "adam",
                                        [DM_NN_ADAMW] = "adamw",
                                        [DM_NN_MUON] = "adamw"};
    const char *text = dm_embedded_text("kernels/nn/optimisers.py");
    if ((int)o->kind < 0 || o->kind > DM_NN_MUON)
        return dm_fail(err, DM_EUNSUPPORTED, "nn: there is no optimiser %d", (int)o->kind);
    dm_nn_stepper *stepper = calloc(1, sizeof *stepper);
    dm_kernel_file *file = NULL;
    if (!stepper)
        return dm_fail(err, DM_ENOMEM, "nn: no memory for an optimiser");
    stepper->device = device;
    dm_kernel_options options = {.no_backward = true};
    dm_status status =
        dm_kernel_file_create("optimisers.py", text, strlen(text), &options, &file, err);
    if (status == DM_OK && (!dm_nn_steps_as_adam(o->kind) || !own_adam))
        status = compile(file, names[o->kind], device, &stepper->step, err);
    if (status == DM_OK && o->kind == DM_NN_MUON)
        status = compile(file, "muon_momentum", device, &stepper->momentum, err);
    if (status == DM_OK && o->kind == DM_NN_MUON)
        status = compile(file, "muon_update", device, &stepper->update, err);
    if (status == DM_OK && o->average > 0)
        status = compile(file, "average", device, &stepper->average, err);
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
    compiled *const all[] = {&stepper->step, &stepper->average, &stepper->momentum,
                             &stepper->update};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        dm_kernel_args_destroy(all[i]->args);
        dm_kernel_program_destroy(all[i]->program);
    }
    free(stepper);
}

typedef struct argument {
    const char *name; /* NULL: the last */
    double value;
    float *array; /* NULL: a number */
} argument;

static dm_status launch(dm_nn_stepper *stepper, const compiled *kernel, const argument *arguments,
                        const dm_nn_range *range, dm_error *err)
{
    dm_status status = DM_OK;
    for (const argument *a = arguments; a->name && status == DM_OK; a++) {
        int64_t count = a->array == range->control ? 2 : (int64_t)range->count;
        status =
            a->array
                ? dm_kernel_args_array(kernel->args, a->name,
                                       &(dm_kernel_array){.data = a->array, .shape = {count}}, err)
                : dm_kernel_args_number(kernel->args, a->name, a->value, err);
    }
    if (status != DM_OK)
        return status;
    return dm_kernel_launch(kernel->program, dm_device_stream(stepper->device), DM_KERNEL_FORWARD,
                            (int[]){(int)range->count}, 1, kernel->args, err);
}

static dm_status sgd(dm_nn_stepper *stepper, const dm_nn_optimiser *o, const dm_nn_range *r,
                     dm_error *err)
{
    const argument arguments[] = {{"w", 0, r->value},
                                  {"g", 0, r->gradient},
                                  {"velocity", 0, r->first},
                                  {"control", 0, r->control},
                                  {"rate", o->rate, NULL},
                                  {"momentum", o->momentum, NULL},
                                  {"decay", r->decays ? o->decay : 0, NULL},
                                  {NULL, 0, NULL}};
    return launch(stepper, &stepper->step, arguments, r, err);
}

static dm_status adam(dm_nn_stepper *stepper, const dm_nn_optimiser *o, const dm_nn_range *r,
                      uint64_t step, dm_error *err)
{
    double beta1 = o->beta1 > 0 ? o->beta1 : 0.9, beta2 = o->beta2 > 0 ? o->beta2 : 0.999;
    const argument arguments[] = {{"w", 0, r->value},
                                  {"g", 0, r->gradient},
                                  {"m", 0, r->first},
                                  {"v", 0, r->second},
                                  {"control", 0, r->control},
                                  {"rate", dm_nn_adam_rate(o), NULL},
                                  {"beta1", beta1, NULL},
                                  {"beta2", beta2, NULL},
                                  {"epsilon", o->epsilon > 0 ? o->epsilon : 1e-8, NULL},
                                  {"decay", r->decays ? o->decay : 0, NULL},
                                  {"correct1", 1 - pow(beta1, (double)step), NULL},
                                  {"correct2", 1 - pow(beta2, (double)step), NULL},
                                  {NULL, 0, NULL}};
    return launch(stepper, &stepper->step, arguments, r, err);
}

/* The running average of the weights, where there is one. */
static dm_status follow(dm_nn_stepper *stepper, const dm_nn_optimiser *o, const dm_nn_range *range,
                        dm_error *err)
{
    if (!range->average)
        return DM_OK;
    const argument arguments[] = {{"mean", 0, range->average},
                                  {"w", 0, range->value},
                                  {"control", 0, range->control},
                                  {"keep", o->average, NULL},
                                  {NULL, 0, NULL}};
    return launch(stepper, &stepper->average, arguments, range, err);
}

bool dm_nn_steps_as_adam(dm_nn_optimiser_kind kind)
{
    switch (kind) {
    case DM_NN_SGD:
        return false;
    case DM_NN_ADAM:
    case DM_NN_ADAMW:
    case DM_NN_MUON:
        return true;
    }
    return false;
}

dm_status dm_nn_stepper_step(dm_nn_stepper *stepper, const dm_nn_optimiser *o,
                             const dm_nn_range *range, uint64_t step, dm_error *err)
{
    if (range->count == 0)
        return DM_OK;
    dm_status status = dm_nn_steps_as_adam(o->kind) ? adam(stepper, o, range, step, err)
                                                    : sgd(stepper, o, range, err);
    return status != DM_OK ? status : follow(stepper, o, range, err);
}

dm_status dm_nn_stepper_momentum(dm_nn_stepper *stepper, const dm_nn_optimiser *o,
                                 const dm_nn_range *range, dm_error *err)
{
    const argument arguments[] = {{"u", 0, range->update},
                                  {"g", 0, range->gradient},
                                  {"velocity", 0, range->first},
                                  {"control", 0, range->control},
                                  {"momentum", o->momentum > 0 ? o->momentum : 0.95, NULL},
                                  {NULL, 0, NULL}};
    return range->count == 0 ? DM_OK : launch(stepper, &stepper->momentum, arguments, range, err);
}

dm_status dm_nn_stepper_update(dm_nn_stepper *stepper, const dm_nn_optimiser *o,
                               const dm_nn_range *range, dm_error *err)
{
    const argument arguments[] = {{"w", 0, range->value},
                                  {"u", 0, range->update},
                                  {"control", 0, range->control},
                                  {"rate", o->rate, NULL},
                                  {"decay", range->decays ? o->decay : 0, NULL},
                                  {NULL, 0, NULL}};
    if (range->count == 0)
        return DM_OK;
    dm_status status = launch(stepper, &stepper->update, arguments, range, err);
    return status != DM_OK ? status : follow(stepper, o, range, err);
}
