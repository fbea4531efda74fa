/* SPDX-License-Identifier: MIT */
/* stream.c - see stream.h. */
#include "dynamics/curve/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { S = DM_VIEW_STRIDE, J = DM_VIEW_KNOTS, PAST = DM_VIEW_PAST, I = DM_VIEW_FEATURES };
#define BAND 1.6448536269514722 /* deviations of a 90% band */

/* Plain numbers: the first part of the state. */
typedef struct core {
    uint64_t samples, views;
    uint64_t taught; /* samples of the last view that was a lesson */
    uint64_t lessons;
    float dropped_peak; /* largest rate of the samples that are not kept any more */
} core;

struct dm_curve_stream {
    dm_dynamics *model;
    dm_dynamics_trainer *trainer;
    dm_curve_rules rules;
    core c;
    dm_curve curve;
    dm_history history;
    float *units;      /* [E][J] of the last view */
    dm_knots *members; /* [E] of each member alone */
    bool rolled;       /* both are made */
};

dm_status dm_curve_stream_create(dm_dynamics *model, dm_dynamics_trainer *trainer,
                                 dm_curve_stream **out, dm_error *err)
{
    dm_curve_rules rules;
    dm_status status = dm_curve_rules_get(model, &rules, err);
    if (status != DM_OK)
        return status;
    dm_curve_stream *s = calloc(1, sizeof *s);
    if (s == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    *s = (dm_curve_stream){.model = model, .trainer = trainer, .rules = rules};
    s->curve.samples = calloc(DM_STREAM_SAMPLES, sizeof *s->curve.samples);
    s->curve.room = DM_STREAM_SAMPLES;
    s->history.curve = &s->curve;
    s->history.y = calloc(DM_STREAM_SAMPLES, sizeof *s->history.y);
    s->history.peak = calloc(DM_STREAM_SAMPLES, sizeof *s->history.peak);
    s->history.views = calloc(DM_STREAM_VIEWS, sizeof *s->history.views);
    s->units = calloc((size_t)model->config.members * J, sizeof *s->units);
    s->members = calloc(model->config.members, sizeof *s->members);
    if (s->curve.samples == NULL || s->history.y == NULL || s->history.peak == NULL ||
        s->history.views == NULL || s->units == NULL || s->members == NULL) {
        dm_curve_stream_destroy(s);
        return dm_fail(err, DM_ENOMEM, "no memory for a curve of %d samples", DM_STREAM_SAMPLES);
    }
    *out = s;
    return DM_OK;
}

void dm_curve_stream_destroy(dm_curve_stream *s)
{
    if (s == NULL)
        return;
    dm_curve_deinit(&s->curve);
    dm_history_deinit(&s->history);
    free(s->units);
    free(s->members);
    free(s);
}

bool dm_curve_stream_ready(const dm_curve_stream *s)
{
    return s->history.count > 0 && s->history.views[s->history.count - 1].n >= DM_STREAM_LEAST;
}

uint64_t dm_curve_stream_lessons(const dm_curve_stream *s)
{
    return s->c.lessons;
}

/* ---- Samples ---- */

static void derive(dm_curve_stream *s, size_t i)
{
    float rate = s->curve.samples[i].learning_rate;
    s->history.y[i] = log((double)s->curve.samples[i].loss);
    s->history.peak[i] = fmaxf(rate, i > 0 ? s->history.peak[i - 1] : s->c.dropped_peak);
}

/* Keep the later half; all views are of it. */
static void drop_half(dm_curve_stream *s)
{
    dm_history *h = &s->history;
    size_t kept = DM_STREAM_SAMPLES / 2, dropped = s->curve.count - kept;
    s->c.dropped_peak = h->peak[dropped - 1];
    memmove(s->curve.samples, s->curve.samples + dropped, kept * sizeof *s->curve.samples);
    memmove(h->y, h->y + dropped, kept * sizeof *h->y);
    memmove(h->peak, h->peak + dropped, kept * sizeof *h->peak);
    s->curve.count = kept;
    for (size_t i = 0; i < h->count; i++)
        h->views[i].n -= dropped;
    s->c.taught = s->c.taught > dropped ? s->c.taught - dropped : 0;
}

/* One lesson from the oldest view that knows its future and was none yet. */
static dm_status learn(dm_curve_stream *s, dm_error *err)
{
    const dm_history *h = &s->history;
    double truth;
    for (size_t i = 0; i < h->count; i++) {
        if (h->views[i].n <= s->c.taught || h->views[i].n < DM_STREAM_LEAST)
            continue;
        if (!dm_history_truth(h, i, J, &truth))
            return DM_OK;
        float features[PAST * I], targets[DM_VIEW_STEPS];
        dm_history_example(h, i, features, targets);
        s->c.taught = h->views[i].n;
        s->c.lessons++;
        return dm_dynamics_trainer_sequence(s->trainer, features, PAST, DM_VIEW_STEPS, PAST - 1,
                                            targets, NULL, err);
    }
    return DM_OK;
}

dm_status dm_curve_stream_add(dm_curve_stream *s, const dm_dynamics_sample *sample, dm_error *err)
{
    dm_history *h = &s->history;
    size_t before = s->curve.count;
    dm_status status = dm_curve_append(&s->curve, sample, err);
    if (status != DM_OK || s->curve.count == before)
        return status;
    derive(s, before);
    if (s->curve.count == DM_STREAM_SAMPLES)
        drop_half(s);
    size_t last = h->count > 0 ? h->views[h->count - 1].n : 0;
    if (s->curve.count < last + S)
        return DM_OK;
    if (h->count == DM_STREAM_VIEWS)
        memmove(h->views, h->views + 1, --h->count * sizeof *h->views);
    dm_history_look(h, s->curve.count, &s->rules.view);
    s->rolled = false;
    return s->trainer != NULL ? learn(s, err) : DM_OK;
}

void dm_curve_stream_back(dm_curve_stream *s, uint64_t step)
{
    dm_history *h = &s->history;
    while (s->curve.count > 0 && s->curve.samples[s->curve.count - 1].step > step)
        s->curve.count--;
    while (h->count > 0 && h->views[h->count - 1].n > s->curve.count)
        h->count--;
    s->rolled = false;
}

/* ---- Forecasts ---- */

static float loss_of(double log_loss)
{
    return (float)exp(fmin(fmax(log_loss, -85), 88));
}

/* Deviation of the members' forecasts, one by one, from each other. */
static double spread_at(const dm_curve_stream *s, const dm_view *v, const dm_knots *members,
                        double ahead)
{
    uint32_t E = s->model->config.members;
    double sum = 0, squares = 0;
    for (uint32_t e = 0; e < E; e++) {
        double loss = (double)loss_of(dm_curve_at(v, &s->rules, &members[e], ahead).mean);
        sum += loss / E;
        squares += loss * loss / E;
    }
    return sqrt(fmax(squares - sum * sum, 0));
}

dm_status dm_curve_stream_forecast(dm_curve_stream *s, uint32_t steps, float *mean,
                                   float *deviation, float *spread, dm_error *err)
{
    const dm_history *h = &s->history;
    dm_knots knots;
    dm_status status = DM_OK;
    if (!dm_curve_stream_ready(s))
        return dm_fail(err, DM_EINVAL, "a forecast needs %d losses, there are %zu", DM_STREAM_LEAST,
                       s->curve.count);
    if (!s->rolled) {
        float sequence[PAST * I];
        dm_history_sequence(h, h->count - 1, sequence);
        status = dm_curve_units(s->model, 1, sequence, s->units, err);
        for (uint32_t e = 0; e < s->model->config.members && status == DM_OK; e++)
            dm_curve_knots(&h->views[h->count - 1], &s->rules, 1, s->units + e * J, &s->members[e]);
        s->rolled = status == DM_OK;
    }
    if (status != DM_OK)
        return status;
    const dm_view *v = &h->views[h->count - 1];
    dm_curve_knots(v, &s->rules, s->model->config.members, s->units, &knots);
    size_t since = s->curve.count - v->n;
    for (uint32_t t = 0; t < steps; t++) {
        dm_curve_band at = dm_curve_at(v, &s->rules, &knots, (double)(since + t + 1));
        mean[t] = loss_of(at.mean);
        spread[t] = (float)spread_at(s, v, s->members, (double)(since + t + 1));
        deviation[t] = (float)((double)(loss_of(at.high) - loss_of(at.low)) / (2 * BAND));
    }
    return DM_OK;
}

/* ---- State ---- */

size_t dm_curve_stream_state_size(void)
{
    return sizeof(core) + DM_STREAM_SAMPLES * sizeof(dm_dynamics_sample) +
           DM_STREAM_VIEWS * sizeof(dm_view);
}

void dm_curve_stream_state_get(const dm_curve_stream *s, void *bytes)
{
    char *to = bytes;
    core c = s->c;
    c.samples = s->curve.count;
    c.views = s->history.count;
    memset(to, 0, dm_curve_stream_state_size()); /* what is forgotten is not told */
    memcpy(to, &c, sizeof c);
    to += sizeof c;
    memcpy(to, s->curve.samples, s->curve.count * sizeof *s->curve.samples);
    to += DM_STREAM_SAMPLES * sizeof(dm_dynamics_sample);
    memcpy(to, s->history.views, s->history.count * sizeof *s->history.views);
}

static bool sound(const core *c, const char *samples, const char *views)
{
    if (c->samples >= DM_STREAM_SAMPLES || c->views > DM_STREAM_VIEWS)
        return false;
    for (uint64_t i = 0; i < c->samples; i++) {
        dm_dynamics_sample one;
        memcpy(&one, samples + i * sizeof one, sizeof one);
        if (!(one.loss >= DM_CURVE_LOSS_MIN && one.loss <= DM_CURVE_LOSS_MAX))
            return false;
    }
    size_t last = 0;
    for (uint64_t i = 0; i < c->views; i++) {
        dm_view one;
        memcpy(&one, views + i * sizeof one, sizeof one);
        if (one.n <= last || one.n > c->samples)
            return false;
        last = one.n;
    }
    return true;
}

dm_status dm_curve_stream_state_set(dm_curve_stream *s, const void *bytes, dm_error *err)
{
    const char *samples = (const char *)bytes + sizeof(core);
    const char *views = samples + DM_STREAM_SAMPLES * sizeof(dm_dynamics_sample);
    core c;
    memcpy(&c, bytes, sizeof c);
    if (!sound(&c, samples, views))
        return dm_fail(err, DM_EFORMAT, "a damaged state of a curve that is followed");
    s->c = c;
    s->curve.count = (size_t)c.samples;
    s->history.count = (size_t)c.views;
    memcpy(s->curve.samples, samples, s->curve.count * sizeof *s->curve.samples);
    memcpy(s->history.views, views, s->history.count * sizeof *s->history.views);
    for (size_t i = 0; i < s->curve.count; i++)
        derive(s, i);
    s->rolled = false;
    return DM_OK;
}
