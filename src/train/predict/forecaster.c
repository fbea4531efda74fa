/* SPDX-License-Identifier: MIT */
/* forecaster.c - see forecaster.h. */
#include "train/predict/forecaster.h"
#include "dynamics/curve/stream.h"

#include <stdlib.h>
#include <string.h>

enum { FEATURES = DM_DYNAMICS_ENCODER_FEATURES };

struct dm_forecaster {
    dm_dynamics *model;
    dm_dynamics_trainer *trainer;
    dm_dynamics_encoder *encoder;
    dm_curve_stream *stream;       /* of a curve model; NULL: the model takes the 64 features */
    dm_dynamics_forecast *rollout; /* of `rollout_steps` */
    uint32_t rollout_steps;
    uint64_t fit;      /* features to be gathered before the ensemble is scaled; 0: it is */
    uint64_t gathered; /* so far */
    float *first;      /* [fit][64] */
    float last[FEATURES];
};

static dm_status create_model(dm_forecaster *f, const dm_predict_rules *rules, const char *model,
                              uint64_t seed, dm_error *err)
{
    dm_dynamics_config config = DM_DYNAMICS_DEFAULT;
    config.members = (uint32_t)rules->ensemble_members;
    config.hidden = (uint32_t)rules->ensemble_hidden;
    config.stochastic = config.hidden < config.stochastic ? config.hidden : config.stochastic;
    dm_status status = model != NULL ? dm_dynamics_load(model, &f->model, err)
                                     : dm_dynamics_create(&config, seed, &f->model, err);
    if (status == DM_OK && !dm_dynamics_forecasts_curves(f->model) &&
        dm_dynamics_get_config(f->model)->input != FEATURES)
        return dm_fail(err, DM_EINVAL, "%.400s: a model of %u inputs, not of the 64 features",
                       model, dm_dynamics_get_config(f->model)->input);
    return status;
}

static dm_status create_parts(dm_forecaster *f, const dm_predict_rules *rules, const char *model,
                              uint64_t seed, dm_error *err)
{
    dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
    model = rules->ensemble_pretrained ? model : NULL;
    dm_status status = create_model(f, rules, model, seed, err);
    bool curves = status == DM_OK && dm_dynamics_forecasts_curves(f->model);
    how.learning_rate = (float)(curves ? rules->ensemble_follow : rules->ensemble_rate);
    if (curves)
        how.clip = 1;
    if (status == DM_OK)
        status = dm_dynamics_trainer_create(f->model, &how, &f->trainer, err);
    if (status == DM_OK && curves)
        status = dm_curve_stream_create(f->model, f->trainer, &f->stream, err);
    if (status == DM_OK)
        status = dm_dynamics_encoder_create(DM_DYNAMICS_ENCODER_LOSSES, DM_DYNAMICS_ENCODER_NORMS,
                                            &f->encoder, err);
    f->fit = model != NULL ? 0 : rules->ensemble_fit;
    f->first = calloc(f->fit + 1, FEATURES * sizeof *f->first);
    if (status == DM_OK && f->first == NULL)
        status =
            dm_fail(err, DM_ENOMEM, "out of memory for %llu features", (unsigned long long)f->fit);
    return status;
}

dm_status dm_forecaster_create(const dm_predict_rules *rules, const char *model, uint64_t seed,
                               dm_forecaster **out, dm_error *err)
{
    dm_forecaster *f = calloc(1, sizeof *f);
    if (f == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = create_parts(f, rules, model, seed, err);
    if (status != DM_OK)
        dm_forecaster_destroy(f);
    else
        *out = f;
    return status;
}

void dm_forecaster_destroy(dm_forecaster *f)
{
    if (f == NULL)
        return;
    dm_dynamics_forecast_destroy(f->rollout);
    dm_dynamics_encoder_destroy(f->encoder);
    dm_curve_stream_destroy(f->stream);
    dm_dynamics_trainer_destroy(f->trainer);
    dm_dynamics_destroy(f->model);
    free(f->first);
    free(f);
}

bool dm_forecaster_ready(const dm_forecaster *f)
{
    return f->stream != NULL ? dm_curve_stream_ready(f->stream)
                             : f->fit == 0 || f->gathered >= f->fit;
}

/* Scale by the first features, then learn from each of them in its order. */
static dm_status begin(dm_forecaster *f, dm_error *err)
{
    dm_status status = dm_dynamics_fit_scaling(f->model, f->first, (size_t)f->fit, err);
    for (uint64_t i = 0; i < f->fit && status == DM_OK; i++)
        status = dm_dynamics_trainer_observe(f->trainer, f->first + i * FEATURES, NULL, err);
    return status;
}

dm_status dm_forecaster_observe(dm_forecaster *f, const dm_dynamics_sample *sample, float *features,
                                dm_error *err)
{
    dm_status status = DM_OK;
    dm_dynamics_encoder_update(f->encoder, sample, f->last);
    memcpy(features, f->last, sizeof f->last);
    if (f->stream != NULL) {
        status = dm_curve_stream_add(f->stream, sample, err);
    } else if (dm_forecaster_ready(f)) {
        status = dm_dynamics_trainer_observe(f->trainer, f->last, NULL, err);
    } else {
        memcpy(f->first + f->gathered++ * FEATURES, f->last, sizeof f->last);
        if (f->gathered == f->fit)
            status = begin(f, err);
    }
    return status;
}

void dm_forecaster_back(dm_forecaster *f, uint64_t progress)
{
    if (f->stream != NULL)
        dm_curve_stream_back(f->stream, progress);
}

/* By rollouts from the last features. */
static dm_status roll_out(dm_forecaster *f, uint32_t steps, dm_forecast *out, dm_error *err)
{
    dm_status status = DM_OK;
    if (f->rollout_steps != steps) {
        dm_dynamics_forecast_destroy(f->rollout);
        f->rollout = NULL;
        f->rollout_steps = 0;
        status = dm_dynamics_forecast_create(f->model, 1, steps, &f->rollout, err);
    }
    if (status != DM_OK)
        return status;
    f->rollout_steps = steps;
    status = dm_dynamics_rollout(f->model, f->last, dm_dynamics_trainer_hidden(f->trainer),
                                 f->rollout, err);
    memcpy(out->mean, f->rollout->mean, steps * sizeof(float));
    memcpy(out->total, f->rollout->total, steps * sizeof(float));
    memcpy(out->band, f->rollout->total, steps * sizeof(float));
    return status;
}

dm_status dm_forecaster_forecast(dm_forecaster *f, uint32_t steps, dm_forecast *out, dm_error *err)
{
    dm_status status = DM_OK;
    if (!dm_forecaster_ready(f) || steps == 0 || steps > DM_FORECAST_MAX)
        return dm_fail(err, DM_EINVAL, "predict: a forecast of %u steps%s", steps,
                       dm_forecaster_ready(f) ? "" : " before the ensemble is ready");
    status = f->stream != NULL
                 ? dm_curve_stream_forecast(f->stream, steps, out->mean, out->band, out->total, err)
                 : roll_out(f, steps, out, err);
    out->steps = steps;
    return status;
}

/* ---- State ---- */

/* Parts one after the other: counts, last features, first features, weights, shift, scale, encoder,
 * trainer, stream. The walk is the same for reading and writing. */
typedef struct walk {
    char *to;         /* get */
    const char *from; /* set */
    size_t size;      /* passed so far */
} walk;

static void part(walk *w, void *at, size_t size)
{
    if (w->to != NULL)
        memcpy(w->to + w->size, at, size);
    if (w->from != NULL)
        memcpy(at, w->from + w->size, size);
    w->size += size;
}

static void walk_plain(dm_forecaster *f, walk *w)
{
    const dm_dynamics_config *c = dm_dynamics_get_config(f->model);
    part(w, &f->gathered, sizeof f->gathered);
    part(w, f->last, sizeof f->last);
    part(w, f->first, f->fit * FEATURES * sizeof(float));
    for (uint32_t m = 0; m < c->members; m++)
        for (int p = 0; p < DM_DYNAMICS_PART_COUNT; p++) {
            size_t count;
            float *weights = dm_dynamics_weights(f->model, m, (dm_dynamics_part)p, &count);
            if (count > 0)
                part(w, weights, count * sizeof(float));
        }
    part(w, dm_dynamics_shift(f->model), c->input * sizeof(float));
    part(w, dm_dynamics_scale(f->model), c->input * sizeof(float));
}

size_t dm_forecaster_state_size(const dm_forecaster *f)
{
    walk w = {0};
    walk_plain((dm_forecaster *)(uintptr_t)f, &w); /* changes nothing: there is nothing to read */
    return w.size + dm_dynamics_encoder_state_size(f->encoder) +
           dm_dynamics_trainer_state_size(f->trainer) +
           (f->stream != NULL ? dm_curve_stream_state_size() : 0);
}

void dm_forecaster_state_get(const dm_forecaster *f, void *bytes)
{
    walk w = {.to = bytes};
    walk_plain((dm_forecaster *)(uintptr_t)f, &w);
    dm_dynamics_encoder_state_get(f->encoder, w.to + w.size);
    char *at = w.to + w.size + dm_dynamics_encoder_state_size(f->encoder);
    dm_dynamics_trainer_state_get(f->trainer, at);
    if (f->stream != NULL)
        dm_curve_stream_state_get(f->stream, at + dm_dynamics_trainer_state_size(f->trainer));
}

dm_status dm_forecaster_state_set(dm_forecaster *f, const void *bytes, size_t size, dm_error *err)
{
    walk w = {.from = bytes};
    uint64_t gathered;
    if (size != dm_forecaster_state_size(f))
        return dm_fail(err, DM_EFORMAT, "predict: a forecaster's state of %zu bytes, not %zu", size,
                       dm_forecaster_state_size(f));
    memcpy(&gathered, bytes, sizeof gathered);
    if (gathered > f->fit)
        return dm_fail(err, DM_EFORMAT, "predict: a damaged state of the forecaster");
    size_t encoder = dm_dynamics_encoder_state_size(f->encoder),
           trainer = dm_dynamics_trainer_state_size(f->trainer);
    size_t stream = f->stream != NULL ? dm_curve_stream_state_size() : 0;
    const char *tail = (const char *)bytes + size - encoder - trainer - stream;
    dm_status status = dm_dynamics_encoder_state_set(f->encoder, tail, encoder, err);
    if (status == DM_OK)
        status = dm_dynamics_trainer_state_set(f->trainer, tail + encoder, trainer, err);
    if (status == DM_OK && f->stream != NULL)
        status = dm_curve_stream_state_set(f->stream, tail + encoder + trainer, err);
    if (status == DM_OK)
        walk_plain(f, &w);
    return status;
}
