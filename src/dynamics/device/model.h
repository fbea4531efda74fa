/* SPDX-License-Identifier: MIT */
/* model.h - a model on a device.
 *
 *   model.c     weights in the layouts that kernels read; kernels; memory
 *   choice.c    which kernel runs a rollout or a step
 *   rollout.c   rollouts: their memory and launch
 *   gru.c       the same for one step of a batch
 *   encode.c    many encoders, and rollouts from their features
 *   train.c     learning from a batch of sequences, with the gradients of bptt.c
 *
 * A call is: stage the inputs (one copy), launch, fetch the results (one copy, into page-locked
 * memory). Staging and launching are apart so that benchmarks can time the launch alone. */
#ifndef DM_DYNAMICS_DEVICE_MODEL_H
#define DM_DYNAMICS_DEVICE_MODEL_H

#include "dynamics/device/choice.h"
#include "dynamics/device/gru_args.h"
#include "dynamics/device/rollout_args.h"
#include "dynamics/internal.h"

/* Forms of the weights; made when a kernel first asks for one. */
typedef enum dm_dyn_form {
    DM_DYN_FORM_PLAIN,   /* all members, as on the host */
    DM_DYN_FORM_ROWS,    /* U with rows and columns padded to P: kernel_cluster.h */
    DM_DYN_FORM_COLUMNS, /* U by columns, in the order of the threads: kernel_batch.h */
    DM_DYN_FORM_SPLIT,   /* W and U as pairs of bfloat16: kernel_gru_matrix.h */
    DM_DYN_FORM_COUNT
} dm_dyn_form;

/* A compiled kernel, found by its text, defines and name. */
typedef struct dm_dyn_kernel {
    char key[160];
    dm_module *module; /* NULL: belongs to another kernel of the same text and defines */
    dm_function *function;
} dm_dyn_kernel;

#define DM_DYN_KERNELS_MAX 64

struct dm_dynamics_device {
    dm_device *device;
    dm_stream *stream;
    const dm_dynamics *model;
    dm_device_buffer *forms[DM_DYN_FORM_COUNT];
    uint32_t form_padding[DM_DYN_FORM_COUNT]; /* P of each */
    dm_device_buffer *scaling;                /* [2][I]: shift, scale */
    dm_device_buffer *input, *output, *scratch;
    void *host_input, *host_output; /* page-locked */
    size_t host_input_size, host_output_size;
    dm_dyn_kernel kernels[DM_DYN_KERNELS_MAX];
    size_t kernel_count;
    /* Choices that tests and benchmarks may force; 0: by size. */
    dm_dyn_variant variant;
    uint32_t cluster_blocks, tile_rollouts;
    bool head_each; /* every warp of a cluster computes the loss, instead of one warp per block */
    bool profile;   /* of the cluster kernel, to `scratch` */
    int gru_block;  /* vectors of a block of the matrix kernel; -1: the small kernel */
};

/* A kernel launch that is ready to go. */
typedef struct dm_dyn_launch {
    const dm_function *function;
    dm_grid grid;
    uint32_t cluster_blocks;
} dm_dyn_launch;

/* A form of the weights with this padding, made or found. */
dm_status dm_dyn_form_get(dm_dynamics_device *on, dm_dyn_form form, uint32_t padding, void **out,
                          dm_error *err);
/* `defines` are separated by spaces. */
dm_status dm_dyn_kernel_get(dm_dynamics_device *on, const char *text, const char *defines,
                            const char *name, const dm_function **out, dm_error *err);
/* Make a buffer at least so large (bytes); its contents are lost when it grows. */
dm_status dm_dyn_reserve(dm_dynamics_device *on, dm_device_buffer **buffer, size_t size,
                         dm_error *err);
dm_status dm_dyn_reserve_host(dm_dynamics_device *on, void **memory, size_t *capacity, size_t size,
                              dm_error *err);

/* A prepared rollout: dm_dyn_rollout_stage, then launch any number of times. */
typedef struct dm_dyn_rollout {
    dm_dyn_launch launch;
    dm_rollout_args args;
    dm_dyn_variant variant;
} dm_dyn_rollout;
/* `features` are the host's, or NULL when `on_device` is where they are already. */
dm_status dm_dyn_rollout_stage(dm_dynamics_device *on, const float *features,
                               const float *on_device, const float *hidden,
                               const dm_dynamics_forecast *shape, dm_dyn_rollout *out,
                               dm_error *err);
dm_status dm_dyn_rollout_launch(dm_dynamics_device *on, const dm_dyn_rollout *rollout,
                                dm_error *err);
/* All of it: from features (as stage takes them) to the aggregated forecast. */
dm_status dm_dyn_rollout_run(dm_dynamics_device *on, const float *features, const float *on_device,
                             const float *hidden, dm_dynamics_forecast *out, dm_error *err);

/* The same for one step of a batch: one or two launches. */
typedef struct dm_dyn_gru {
    dm_dyn_launch launches[2];
    int count;
    dm_gru_args args;
} dm_dyn_gru;
dm_status dm_dyn_gru_stage(dm_dynamics_device *on, uint32_t member, size_t batch, const float *x,
                           const float *h, dm_dyn_gru *out, dm_error *err);
dm_status dm_dyn_gru_launch(dm_dynamics_device *on, const dm_dyn_gru *gru, dm_error *err);
dm_status dm_dyn_gru_fetch(dm_dynamics_device *on, const dm_dyn_gru *gru, float *out,
                           dm_error *err);

#endif
