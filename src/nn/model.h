/* SPDX-License-Identifier: MIT */
/* model.h - a model (include/dotmatrix/nn.h) and the calls that differ between devices.
 *
 *     list of layers ─► plan.c: sizes, offsets ─► run.c: a shard through the layers, by ops.h
 *                                                    ▲ for each shard of a microbatch
 *     model.c       the public calls: checks, initial weights, which passes a step makes
 *     model_cpu.c   a pass: threads take shards
 *     model_cuda.c  a pass: one shard, one CUDA graph
 *     optimiser.c   steps of optimisers, by dialect texts; muon.c: orthogonal updates
 *     store.c       copies of weights and moments beside a model; profile.c: times of kernels */
#ifndef DM_NN_MODEL_H
#define DM_NN_MODEL_H

#include "nn/muon.h"
#include "nn/optimiser.h"
#include "nn/run.h"

typedef struct dm_nn_runner {
    /* The memory that a model of this plan takes. */
    void (*memory)(const dm_nn_model *m, dm_nn_memory *out);
    /* Allocate all memory. The exec exists already; parameters are left uninitialised. */
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
    /* Is layer i's output of the last pass free of NaN and infinity? */
    dm_status (*is_finite)(dm_nn_model *m, size_t layer, bool *finite, dm_error *err);
    dm_status (*read)(dm_nn_model *m, size_t index, dm_nn_part part, float *to, dm_error *err);
    dm_status (*write)(dm_nn_model *m, size_t index, dm_nn_part part, const float *from,
                       dm_error *err);
    dm_status (*swap)(dm_nn_model *m, dm_error *err);
    /* A part (not the gradients) of all parameters as it lies in the device's memory: plan.parameter_room floats.
     * `changed` must be called after the weights there were written. */
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

/* Does the device's own Adam (ops->adam) make every step? Then no optimiser text is compiled. */
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
