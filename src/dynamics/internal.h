/* SPDX-License-Identifier: MIT */
/* internal.h - how the dynamics module is put together.
 *
 *   model.c       configuration, where weights lie, initialisation     model_file.c   safetensors
 *   reference.c   every formula as plain loops, in float and double (reference_text.h)
 *   simd.c        picks the vectorised loops: simd_text.h for portable vectors, AVX2 and AVX-512
 *   rollout.c     rollouts on the CPU; results over members and steps
 *   train.c       learning on the CPU, with the gradients of backward.c
 *   curve/        forecasts of runs by an ensemble that was taught on many (curve.h)
 *   device/       a model on a device (model.h): rollouts, steps of the cell, encoders, learning,
 * and the kernels' texts
 *
 * Letters: B batch, E members, R rollouts, Y steps of a rollout, I inputs, H hidden units, S
 * stochastic values. Start with reference_text.h: it is the definition, the rest is speed. */
#ifndef DM_DYNAMICS_INTERNAL_H
#define DM_DYNAMICS_INTERNAL_H

#include <dotmatrix/dynamics.h>

/* Where the parts of one member lie in its block of weights, in elements. A part that the model
 * does not have has its offset and a count of 0. */
typedef struct dm_dynamics_layout {
    size_t offset[DM_DYNAMICS_PART_COUNT];
    size_t count[DM_DYNAMICS_PART_COUNT];
    size_t total;  /* elements used */
    size_t stride; /* from one member to the next: a multiple of 16 */
} dm_dynamics_layout;

struct dm_dynamics {
    dm_dynamics_config config;
    dm_dynamics_layout layout;
    float *weights; /* [E][stride], 64-byte aligned */
    float *shift, *scale;
    /* A curve model's rules (curve/model.h); NULL for one that is not. */
    float *curve;
};

/* How many numbers those are. Makes room for them where there is none. */
size_t dm_dynamics_curve_count(void);
dm_status dm_dynamics_curve_reserve(dm_dynamics *model, dm_error *err);
dm_status dm_dynamics_curve_check(const dm_dynamics *model, dm_error *err);

/* Sizes of 0, or too large to count: DM_EINVAL. */
dm_status dm_dynamics_layout_make(const dm_dynamics_config *config, dm_dynamics_layout *out,
                                  dm_error *err);

extern const char *const dm_dynamics_part_names[DM_DYNAMICS_PART_COUNT];

static inline const float *dm_dynamics_member(const dm_dynamics *model, uint32_t member)
{
    return model->weights + member * model->layout.stride;
}

/* The index in h of stochastic value i. */
static inline uint32_t dm_dynamics_selected(const dm_dynamics_config *config, uint32_t i)
{
    return (uint32_t)((uint64_t)i * config->hidden / config->stochastic);
}

/* Fill what rollout.c derives from loss and hidden_norm: mean .. metrics. */
void dm_dynamics_forecast_aggregate(dm_dynamics_forecast *rollout);

/* Rates, betas, clipping and window within their bounds. */
dm_status dm_dynamics_trainer_config_check(const dm_dynamics_trainer_config *config, dm_error *err);
/* Another learning rate; one that cannot be leaves `config` as it is. */
dm_status dm_dynamics_trainer_config_set_rate(dm_dynamics_trainer_config *config, float rate,
                                              dm_error *err);

/* Memory aligned for vectors, to be freed with free(); NULL when there is none. Zeroed. */
void *dm_dynamics_alloc(size_t count, size_t size);

#endif
