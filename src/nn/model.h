/* SPDX-License-Identifier: MIT */
/* model.h - a model and the calls that differ between devices.
 *
 *     model.c       the public calls: checks, initial weights, which passes a step makes
 *     model_cpu.c   a pass: threads take shards
 *     model_cuda.c  a pass: one CUDA graph */
#ifndef DM_NN_MODEL_H
#define DM_NN_MODEL_H

#include "nn/muon.h"
#include "nn/optimiser.h"
#include "nn/run.h"

typedef struct dm_nn_runner {
    /* What a model of this plan takes. */
    void (*memory)(const dm_nn_model *m, dm_nn_memory *out);
    /* All memory; the exec is made already. Parameters may hold anything. */
    dm_status (*create)(dm_nn_model *m, dm_error *err);
    void (*destroy)(dm_nn_model *m);
    /* A microbatch forward, and backward when `learn`; its losses and gradients are added to those
     * of the microbatches before it, from number 0 on. */
    dm_status (*pass)(dm_nn_model *m, uint32_t number, const void *input, const void *target,
                      bool learn, dm_error *err);
    /* After all passes: the loss; with `learn` the optimiser steps, unless the loss or the norm is
     * no number. */
    dm_status (*finish)(dm_nn_model *m, bool learn, dm_error *err);
    /* Wait for finish. */
    dm_status (*results)(dm_nn_model *m, float *loss, float *norm, dm_error *err);
    /* The output of the last pass. */
    dm_status (*output)(dm_nn_model *m, float *to, dm_error *err);
    /* Whether layer i's output in the last pass has a number that is none. */
    dm_status (*is_finite)(dm_nn_model *m, size_t layer, bool *finite, dm_error *err);
    dm_status (*read)(dm_nn_model *m, size_t index, dm_nn_part part, float *to, dm_error *err);
    dm_status (*write)(dm_nn_model *m, size_t index, dm_nn_part part, const float *from,
                       dm_error *err);
    dm_status (*swap)(dm_nn_model *m, dm_error *err);
    /* A part of all parameters as it lies in the device's memory, plan.parameter_room floats, not the gradients; and
     * what must follow when the weights there were changed. */
    dm_device_buffer *(*arrays)(dm_nn_model *m, dm_nn_part part, size_t *at_byte);
    dm_status (*changed)(dm_nn_model *m, dm_error *err);
} dm_nn_runner;

extern const dm_nn_runner dm_nn_runner_cpu, dm_nn_runner_cuda;

struct dm_nn_model {
    const dm_nn_runner *runner;
    dm_device *device;
    dm_nn_exec exec; /* the CPU: of the first thread */
    dm_nn_plan plan;
    dm_nn_loss loss;
    dm_nn_optimiser optimiser;
    dm_nn_stepper *stepper;
    uint64_t steps;
    size_t counted;    /* rows of this batch that have a target */
    bool call_by_call; /* CUDA: without graphs, to measure kernels */
    void *state;       /* of the runner */
};

/* Whether the device's own Adam does all, so that no text is compiled. */
static inline bool dm_nn_steps_by_hand(const dm_nn_model *m)
{
    return m->exec.ops->adam &&
           (m->optimiser.kind == DM_NN_ADAM || m->optimiser.kind == DM_NN_ADAMW);
}

/* Make one of MUON's matrices orthogonal: the part of `updates` that belongs to parameter k. */
static inline dm_status dm_nn_model_orthogonalise(const dm_nn_model *m, dm_nn_exec *exec, size_t k,
                                                  float *updates, dm_error *err)
{
    const uint32_t *shape = m->plan.parameters[k].shape;
    return dm_nn_orthogonalise(exec, shape[0], shape[1], updates + m->plan.offsets[k],
                               (char *)exec->scratch + m->plan.scratch_bytes, err);
}

#endif
