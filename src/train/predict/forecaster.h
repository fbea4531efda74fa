/* SPDX-License-Identifier: MIT */
/* forecaster.h - the ensemble that observes a run and forecasts its loss.
 *
 *     sample ─► encoder ─► 64 features (for the bandit and the store of residuals)
 *        │                        └─► a new ensemble: one step of learning for each member ─► rollout
 *        └─► curve ─► view ─► a pretrained curve model, which goes on learning ─► rollout
 *
 * A curve model (dynamics/curve/stream.h) knows other runs and is ready after 15 losses. A new
 * ensemble gathers its first features, is scaled by them and taught them once; from then on it is
 * ready. */
#ifndef DM_TRAIN_PREDICT_FORECASTER_H
#define DM_TRAIN_PREDICT_FORECASTER_H

#include "train/predict/rules.h"

#include <dotmatrix/dynamics.h>

enum { DM_FORECAST_MAX = 256 }; /* steps ahead */

typedef struct dm_forecast {
    uint32_t steps;
    float mean[DM_FORECAST_MAX];  /* of the losses, 1 .. steps ahead */
    float total[DM_FORECAST_MAX]; /* the members' spread, the wider the further ahead */
    float
        band[DM_FORECAST_MAX]; /* deviation of a single loss: by a curve model's band, else total */
} dm_forecast;

typedef struct dm_forecaster dm_forecaster;

/* `model`: a file of `dotmatrix dynamics`, a curve model or one of the 64 features; NULL, or where
 * the rules ask for it, a new ensemble. */
dm_status dm_forecaster_create(const dm_predict_rules *rules, const char *model, uint64_t seed,
                               dm_forecaster **out, dm_error *err);
void dm_forecaster_destroy(dm_forecaster *forecaster);
/* A step of the run: its features go to features[64], and the ensemble learns from it. */
dm_status dm_forecaster_observe(dm_forecaster *forecaster, const dm_dynamics_sample *sample,
                                float *features, dm_error *err);
bool dm_forecaster_ready(const dm_forecaster *forecaster);
/* The run went back to this progress. */
void dm_forecaster_back(dm_forecaster *forecaster, uint64_t progress);
/* From the last features on. steps: 1 .. DM_FORECAST_MAX. */
dm_status dm_forecaster_forecast(dm_forecaster *forecaster, uint32_t steps, dm_forecast *out,
                                 dm_error *err);

/* All of it as bytes, for checkpoints. */
size_t dm_forecaster_state_size(const dm_forecaster *forecaster);
void dm_forecaster_state_get(const dm_forecaster *forecaster, void *bytes);
dm_status dm_forecaster_state_set(dm_forecaster *forecaster, const void *bytes, size_t size,
                                  dm_error *err);

#endif
