/* SPDX-License-Identifier: MIT */
/* optimiser.h - steps of optimisers, by the kernels of kernels/nn/optimisers.py. */
#ifndef DM_NN_OPTIMISER_H
#define DM_NN_OPTIMISER_H

#include <dotmatrix/nn.h>

typedef struct dm_nn_stepper dm_nn_stepper;

/* A range of the arrays of parameters, in the device's memory. */
typedef struct dm_nn_range {
    float *value, *gradient, *first, *second, *average; /* average: NULL for none */
    float *control;                                     /* see optimisers.py */
    float *update;                                      /* MUON's matrices */
    size_t count;
    bool decays;
} dm_nn_range;

/* Compiles the optimiser's kernels for the device (cached on disk); without Adam's when the device
 * has its own. */
dm_status dm_nn_stepper_create(dm_device *device, const dm_nn_optimiser *optimiser, bool own_adam,
                               dm_nn_stepper **out, dm_error *err);
void dm_nn_stepper_destroy(dm_nn_stepper *stepper);
/* Are parameters stepped by Adam's rule (MUON: those that are no matrices)? The compiler asks for each new kind. */
bool dm_nn_steps_as_adam(dm_nn_optimiser_kind kind);
/* Queue step number `step` (from 1 on) of a range. */
dm_status dm_nn_stepper_step(dm_nn_stepper *stepper, const dm_nn_optimiser *optimiser,
                             const dm_nn_range *range, uint64_t step, dm_error *err);
/* MUON's matrices: momentum into `update`; then, when that is orthogonal, the weights. */
dm_status dm_nn_stepper_momentum(dm_nn_stepper *stepper, const dm_nn_optimiser *optimiser,
                                 const dm_nn_range *range, dm_error *err);
dm_status dm_nn_stepper_update(dm_nn_stepper *stepper, const dm_nn_optimiser *optimiser,
                               const dm_nn_range *range, dm_error *err);

/* The rate of parameters that are stepped by Adam or AdamW. */
static inline float dm_nn_adam_rate(const dm_nn_optimiser *o)
{
    return o->kind != DM_NN_MUON ? o->rate : o->rate * (o->others > 0 ? o->others : 0.1f);
}

#endif
