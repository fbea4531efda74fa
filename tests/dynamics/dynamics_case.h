/* SPDX-License-Identifier: MIT */
/* dynamics_case.h - random models and inputs, and their results by the float64 reference.
 *
 * "Within 1e-4" means here: no element of an array is further from the reference than 1e-4 times
 * the largest magnitude in the reference's array. */
#ifndef DM_TESTS_DYNAMICS_CASE_H
#define DM_TESTS_DYNAMICS_CASE_H

#include "dynamics/reference.h"
#include "tests/support/test.h"

#define DYN_TOLERANCE 1e-4

/* n floats, uniform within +-bound. The caller frees. */
float *dyn_random(size_t n, uint64_t seed, float bound);
double *dyn_to_double(const float *from, size_t n);
/* The largest |got - want| over the largest |want|; infinity where one of the two alone is NaN. */
double dyn_distance(const float *got, const double *want, size_t n);

/* A member in double; deinit frees. */
typedef struct dyn_member64 {
    double *weights;
    dm_ref64_member member;
} dyn_member64;
void dyn_member64_init(dyn_member64 *m, const dm_dynamics *model, uint32_t member);
void dyn_member64_deinit(dyn_member64 *m);

/* out[batch][hidden] by the reference. */
void dyn_gru64(const dm_dynamics *model, uint32_t member, size_t batch, const float *x,
               const float *h, double *out);
/* Results of `rollouts` by the reference; arrays as in dm_rollout, the caller frees them. */
typedef struct dyn_rollout64 {
    double *loss, *entropy, *hidden_norm, *hidden_last;
} dyn_rollout64;
void dyn_rollout64_make(dyn_rollout64 *out, const dm_dynamics *model, const float *features,
                        const float *hidden, uint32_t rollouts, uint32_t steps);
void dyn_rollout64_deinit(dyn_rollout64 *out);
/* All arrays of `got` within the tolerance. */
void dyn_assert_rollout(const dm_rollout *got, const dyn_rollout64 *want);

#endif
