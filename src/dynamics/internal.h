/* SPDX-License-Identifier: MIT */
/* internal.h - how the dynamics module is put together. It forecasts training runs with an ensemble
 * of GRUs (include/dotmatrix/dynamics.h):
 *
 *   samples of a run ─► encoder: 64 features ─► members: GRU cell, head ─► losses of the next steps
 *                                                     └── predicted loss fed back as feature 0 ──┘
 *
 * Start with reference_text.h: it defines the model, and everything else computes the same faster.
 *
 *   model.c       configuration, where weights lie, initialisation     model_file.c   safetensors
 *   reference.c   every formula as plain loops, in float and double (reference_text.h)
 *   simd.c        picks the vectorised loops: simd_text.h for portable vectors, AVX2 and AVX-512
 *   encoder.c     features of a run (encoder_text.h)       cell.c   steps of the cell for a batch
 *   rollout.c     rollouts on the CPU; results over members and steps
 *   train.c       learning on the CPU, with the gradients of backward.c
 *   curve/        forecasts of runs by an ensemble that was taught on many (curve.h)
 *   device/       the same on a device (model.h), and the kernels' texts
 *
 * Letters: B batch, E members, R rollouts, Y steps of a rollout, I inputs, H hidden units, S
 * stochastic values. */
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
    /* A curve model's rules (curve/forecast.h); NULL: it is no curve model. */
    float *curve;
};

/* The number of floats in the rules; allocates them if there are none. */
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
/* Set another learning rate; an invalid one leaves `config` unchanged. */
dm_status dm_dynamics_trainer_config_set_rate(dm_dynamics_trainer_config *config, float rate,
                                              dm_error *err);

/* Memory aligned for vectors, to be freed with free(); NULL when there is none. Zeroed. */
void *dm_dynamics_alloc(size_t count, size_t size);

#endif
