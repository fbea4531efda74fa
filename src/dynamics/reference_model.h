/* SPDX-License-Identifier: MIT */
/* reference_model.h - the plain versions for a whole model: what tests, benchmarks and `dotmatrix
 * dynamics check` compare with.
 *
 * "Within 1e-4" means here: no element of an array is further from the float64 reference than 1e-4
 * times the largest magnitude in the reference's array, or of DM_DYNAMICS_SMALL if that is larger
 * (the entropy of a single stochastic value is 0). */
#ifndef DM_DYNAMICS_REFERENCE_MODEL_H
#define DM_DYNAMICS_REFERENCE_MODEL_H

#include "dynamics/reference.h"

#define DM_DYNAMICS_TOLERANCE 1e-4
#define DM_DYNAMICS_SMALL 1e-3

/* The largest |got - want| over the largest |want|, as above; infinity where one alone is NaN. */
double dm_reference_distance(const float *got, const double *want, size_t n);

/* Results in float64, laid out as in dm_dynamics_forecast. */
typedef struct dm_reference_results {
    double *loss, *entropy, *hidden_norm, *hidden_last;
} dm_reference_results;

dm_status dm_reference_rollout(const dm_dynamics *model, const float *features, const float *hidden,
                               uint32_t rollouts, uint32_t steps, dm_reference_results *out,
                               dm_error *err);
void dm_reference_results_deinit(dm_reference_results *results);
/* The furthest of all arrays. */
double dm_reference_rollout_distance(const dm_dynamics_forecast *got,
                                     const dm_reference_results *want);

/* out[batch][hidden] in float64. */
dm_status dm_reference_gru(const dm_dynamics *model, uint32_t member, size_t batch, const float *x,
                           const float *h, double *out, dm_error *err);

/* Gradients of sums of dloss * loss over a batch of sequences, in float64: features[R][forced][I]
 * (shifted and scaled here), hidden[R][E][H] or NULL, dloss[E][steps][R]. Writes loss[E][steps][R]
 * and dh0[E][R][H], adds to grad[E][layout.total]. */
dm_status dm_reference_gradients(const dm_dynamics *model, uint32_t sequences, uint32_t forced,
                                 uint32_t steps, const float *features, const float *hidden,
                                 const float *dloss, double *loss, double *dh0, double *grad,
                                 dm_error *err);

/* The plain loops in float32: what the vectorised ones are timed against. Results in `out`. */
dm_status dm_plain_rollout(const dm_dynamics *model, const float *features, const float *hidden,
                           dm_dynamics_forecast *out, dm_error *err);
dm_status dm_plain_gru(const dm_dynamics *model, uint32_t member, size_t batch, const float *x,
                       const float *h, float *out, dm_error *err);

#endif
