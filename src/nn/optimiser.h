/* SPDX-License-Identifier: MIT */
/* optimiser.h - steps of optimisers, by the kernels of kernels/nn/optimisers.py. */
#ifndef DM_NN_OPTIMISER_H
#define DM_NN_OPTIMISER_H

#include <dotmatrix/nn.h>

typedef struct dm_nn_stepper dm_nn_stepper;

/* Compiles the optimiser's kernel for the device (cached on disk). */
dm_status dm_nn_stepper_create(dm_device *device, dm_nn_optimiser_kind kind, dm_nn_stepper **out,
                               dm_error *err);
void dm_nn_stepper_destroy(dm_nn_stepper *stepper);
/* Step number `step` (from 1 on) of one parameter; its gradient is multiplied by `scale` first. */
dm_status dm_nn_stepper_step(dm_nn_stepper *stepper, const dm_nn_optimiser *optimiser,
                             const dm_nn_parameter *parameter, float *gradient, float scale,
                             uint64_t step, dm_error *err);

#endif
