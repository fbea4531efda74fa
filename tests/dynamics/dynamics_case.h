/* SPDX-License-Identifier: MIT */
/* dynamics_case.h - random inputs for the dynamics tests, and members in float64. */
#ifndef DM_TESTS_DYNAMICS_CASE_H
#define DM_TESTS_DYNAMICS_CASE_H

#include "dynamics/reference_model.h"
#include "tests/support/test.h"

/* n floats, uniform within +-bound. The caller frees. */
float *dyn_random(size_t n, uint64_t seed, float bound);
double *dyn_to_double(const float *from, size_t n);
/* A model whose biases are not 0. */
dm_dynamics *dyn_model(dm_dynamics_config config, uint64_t seed);

/* Sample `i` of a run like those of training: a noisy power law, gradient norms with spikes, a
 * schedule. */
dm_dynamics_sample dyn_sample(uint64_t seed, uint64_t i);
/* Many encoders, and forecasts from them, against one at a time; for any device. */
void dyn_check_encoders(dm_device *device, size_t count, uint32_t samples);

/* A member in double; deinit frees. */
typedef struct dyn_member64 {
    double *weights;
    dm_ref64_member member;
} dyn_member64;
void dyn_member64_init(dyn_member64 *m, const dm_dynamics *model, uint32_t member);
void dyn_member64_deinit(dyn_member64 *m);

#endif
