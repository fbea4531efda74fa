/* SPDX-License-Identifier: MIT */
/* residual.h - the errors of the last 1,000 predictions, each with the features of its moment.
 *
 * A residual is the actual loss minus the predicted one. Residuals whose features have the largest
 * cosine with the present ones estimate the next prediction's error: corrector.h. */
#ifndef DM_TRAIN_PREDICT_RESIDUAL_H
#define DM_TRAIN_PREDICT_RESIDUAL_H

#include <dotmatrix/dynamics.h>

enum { DM_RESIDUALS_MAX = 1000, DM_RESIDUAL_NORMS = 16 };

typedef struct dm_residual {
    uint64_t step;
    uint32_t phase, horizon; /* dm_predict_phase; steps ahead */
    double residual, confidence;
    float features[DM_DYNAMICS_ENCODER_FEATURES];
    float
        norms[DM_RESIDUAL_NORMS]; /* gradient norms of the first layers with parameters; 0: none */
} dm_residual;

typedef struct dm_residual_store {
    uint64_t added;       /* so far; the ring's oldest is overwritten */
    dm_residual *entries; /* [DM_RESIDUALS_MAX] */
} dm_residual_store;

dm_status dm_residual_store_init(dm_residual_store *store, dm_error *err);
void dm_residual_store_deinit(dm_residual_store *store);
size_t dm_residual_store_count(const dm_residual_store *store);
/* One that is not finite is not taken: false. */
bool dm_residual_store_add(dm_residual_store *store, const dm_residual *residual);

typedef struct dm_residual_match {
    const dm_residual *residual;
    double cosine;
} dm_residual_match;

/* The `most` entries with the largest cosine to `features`, best first; of equal ones the newer
 * first. Returns how many there are. */
size_t dm_residual_store_nearest(const dm_residual_store *store,
                                 const float features[DM_DYNAMICS_ENCODER_FEATURES],
                                 dm_residual_match *matches, size_t most);

#endif
