/* SPDX-License-Identifier: MIT */
/* stream.h - a curve model beside a run that is under way.
 *
 *     sample ─► curve ─► every 5 samples a view (view.h) ─► rollout when a forecast is asked for
 *                                 └─► the view 55 samples back knows its future: one lesson
 *
 * A forecast is that of dm_dynamics_curve_forecast_create at the last view, shifted by the samples since
 * then. The cost of a sample does not grow with the run: views are kept only as long as lessons need
 * them, and of a long run only the later part is kept. */
#ifndef DM_DYNAMICS_CURVE_STREAM_H
#define DM_DYNAMICS_CURVE_STREAM_H

#include "dynamics/curve/forecast.h"

enum {
    DM_STREAM_SAMPLES = 4096, /* kept at most; then the later half */
    DM_STREAM_VIEWS = 36,
    DM_STREAM_LEAST = 15 /* losses before a forecast */
};

typedef struct dm_curve_stream dm_curve_stream;

/* `trainer` is the model's, NULL: it does not learn. Both must outlive the stream. */
dm_status dm_curve_stream_create(dm_dynamics *model, dm_dynamics_trainer *trainer,
                                 dm_curve_stream **out, dm_error *err);
void dm_curve_stream_destroy(dm_curve_stream *stream);
/* A sample of the run; one whose loss has no logarithm is passed over. */
dm_status dm_curve_stream_add(dm_curve_stream *stream, const dm_dynamics_sample *sample,
                              dm_error *err);
/* The run went back: forget the samples after this step. What was learnt stays. */
void dm_curve_stream_back(dm_curve_stream *stream, uint64_t step);
bool dm_curve_stream_ready(const dm_curve_stream *stream);
/* How many lessons the model had. */
uint64_t dm_curve_stream_lessons(const dm_curve_stream *stream);
/* Losses 1 .. steps samples ahead; the deviation of a single loss by the band; how far the members'
 * forecasts spread. DM_EINVAL when not ready. */
dm_status dm_curve_stream_forecast(dm_curve_stream *stream, uint32_t steps, float *mean,
                                   float *deviation, float *spread, dm_error *err);

/* All of it but model and trainer as bytes of a fixed size, for checkpoints. */
size_t dm_curve_stream_state_size(void);
void dm_curve_stream_state_get(const dm_curve_stream *stream, void *bytes);
dm_status dm_curve_stream_state_set(dm_curve_stream *stream, const void *bytes, dm_error *err);

#endif
