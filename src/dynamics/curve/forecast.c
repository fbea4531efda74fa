/* SPDX-License-Identifier: MIT */
/* forecast.c - see forecast.h and dynamics.h. */
#include "dynamics/curve/forecast.h"
#include "base/require.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { J = DM_VIEW_KNOTS, I = DM_VIEW_FEATURES, PAST = DM_VIEW_PAST, S = DM_VIEW_STRIDE };
#define TINY 1e-3 /* of what enters a logarithm */

/* ---- Rules ---- */

size_t dm_dynamics_curve_count(void)
{
    return sizeof(dm_curve_rules) / sizeof(float);
}

dm_status dm_dynamics_curve_reserve(dm_dynamics *model, dm_error *err)
{
    if (model->config.input != I)
        return dm_fail(err, DM_EFORMAT, "a curve model takes %d features, this one %u", I,
                       model->config.input);
    if (model->curve == NULL)
        model->curve = dm_dynamics_alloc(dm_dynamics_curve_count(), sizeof(float));
    return model->curve != NULL ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
}

static bool within(const float *values, size_t count, float low, float high)
{
    for (size_t i = 0; i < count; i++)
        if (!(values[i] >= low && values[i] <= high))
            return false;
    return true;
}

/* Rules with which every forecast is finite and the band holds it. */
dm_status dm_dynamics_curve_check(const dm_dynamics *model, dm_error *err)
{
    dm_curve_rules r;
    memcpy(&r, model->curve, sizeof r);
    if (!within(&r.view.sharpness, 1, 0, DM_RULES_SHARPNESS_MAX) ||
        !within(&r.view.doubt, 1, DM_RULES_LEAST, DM_RULES_MOST) ||
        !within(r.view.prior, DM_BASELINE_COUNT, DM_RULES_LEAST, DM_RULES_MOST) ||
        !within(r.shrink, J, 0, 2) ||
        !within(&r.band[0][0], (size_t)J * DM_BAND_TERMS, -1e3f, 1e3f) ||
        !within(r.low, J, -DM_BAND_MAX, 0) || !within(r.high, J, 0, DM_BAND_MAX))
        return dm_fail(err, DM_EFORMAT, "the rules of a curve model are out of bounds");
    return DM_OK;
}

bool dm_dynamics_forecasts_curves(const dm_dynamics *model)
{
    return model != NULL && model->curve != NULL;
}

dm_status dm_curve_rules_get(const dm_dynamics *model, dm_curve_rules *out, dm_error *err)
{
    if (model->curve == NULL)
        return dm_fail(err, DM_EINVAL,
                       "this model does not forecast curves; `dotmatrix dynamics learn` makes one "
                       "that does");
    memcpy(out, model->curve, sizeof *out);
    return DM_OK;
}

dm_status dm_curve_rules_set(dm_dynamics *model, const dm_curve_rules *rules, dm_error *err)
{
    dm_status status = dm_dynamics_curve_reserve(model, err);
    if (status == DM_OK)
        memcpy(model->curve, rules, sizeof *rules);
    return status;
}

/* ---- What the ensemble says ---- */

/* Hidden states before the last of the features: hidden[count][E][H]. */
static dm_status warm_up(const dm_dynamics *model, size_t count, const float *sequences,
                         float *hidden, dm_error *err)
{
    size_t H = model->config.hidden, E = model->config.members;
    float *x = dm_dynamics_alloc(count * I, sizeof(float));
    float *h = dm_dynamics_alloc(count * H, sizeof(float));
    dm_status status = x != NULL && h != NULL ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
    for (uint32_t e = 0; e < E && status == DM_OK; e++) {
        memset(h, 0, count * H * sizeof(float));
        for (size_t p = 0; p + 1 < PAST && status == DM_OK; p++) {
            for (size_t c = 0; c < count; c++)
                for (size_t i = 0; i < I; i++)
                    x[c * I + i] =
                        (sequences[(c * PAST + p) * I + i] - model->shift[i]) * model->scale[i];
            status = dm_dynamics_gru(model, e, count, x, h, h, err);
        }
        for (size_t c = 0; c < count; c++)
            memcpy(hidden + (c * E + e) * H, h + c * H, H * sizeof(float));
    }
    free(x);
    free(h);
    return status;
}

dm_status dm_curve_units(const dm_dynamics *model, size_t count, const float *sequences,
                         float *units, dm_error *err)
{
    size_t H = model->config.hidden, E = model->config.members;
    float *hidden = dm_dynamics_alloc(count * E * H, sizeof(float));
    float *last = dm_dynamics_alloc(count * I, sizeof(float));
    dm_dynamics_forecast *rollout = NULL;
    dm_status status =
        hidden != NULL && last != NULL ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
    if (status == DM_OK)
        status = warm_up(model, count, sequences, hidden, err);
    if (status == DM_OK)
        status = dm_dynamics_forecast_create(model, (uint32_t)count, J, &rollout, err);
    if (status == DM_OK) {
        for (size_t c = 0; c < count; c++)
            memcpy(last + c * I, sequences + (c * PAST + PAST - 1) * I, I * sizeof(float));
        status = dm_dynamics_rollout(model, last, hidden, rollout, err);
    }
    for (size_t i = 0; i < count * E * J && status == DM_OK; i++) {
        units[i] = logf(rollout->loss[i]) / (float)DM_VIEW_GAIN;
        units[i] = fmaxf(fminf(units[i], DM_VIEW_LIMIT), -DM_VIEW_LIMIT);
        if (isnan(units[i]))
            status = dm_fail(err, DM_EFORMAT, "the model's weights give no finite forecast");
    }
    dm_dynamics_forecast_destroy(rollout);
    free(hidden);
    free(last);
    return status;
}

/* ---- From units to losses ---- */

static double mean_unit(size_t members, const float *units, size_t knot, double *deviation)
{
    double sum = 0, squares = 0;
    for (size_t e = 0; e < members; e++)
        sum += (double)units[e * J + knot] / (double)members;
    for (size_t e = 0; e < members; e++)
        squares += pow((double)units[e * J + knot] - sum, 2) / (double)members;
    *deviation = sqrt(squares);
    return sum;
}

void dm_curve_band_terms(const dm_view *v, size_t members, const float *units, size_t knot,
                         double out[DM_BAND_TERMS])
{
    double deviation, mean = mean_unit(members, units, knot, &deviation), apart = 0;
    for (size_t k = 0; k < DM_BASELINE_COUNT; k++)
        apart += v->share[k] * pow(v->forecast[k][knot] - v->mean[knot], 2);
    out[0] = 1;
    out[1] = log(v->noise + TINY);
    out[2] = log(v->track + TINY);
    out[3] = log(sqrt(apart) + TINY);
    out[4] = log(v->unit * deviation + TINY);
    out[5] = log(v->unit * fabs(mean) + TINY);
}

void dm_curve_knots(const dm_view *v, const dm_curve_rules *rules, size_t members,
                    const float *units, dm_knots *out)
{
    for (size_t j = 0; j < J; j++) {
        double terms[DM_BAND_TERMS], deviation, sum = 0;
        out->correction[j] =
            (double)rules->shrink[j] * v->unit * mean_unit(members, units, j, &deviation);
        dm_curve_band_terms(v, members, units, j, terms);
        for (size_t k = 0; k < DM_BAND_TERMS; k++)
            sum += (double)rules->band[j][k] * terms[k];
        out->scale[j] = exp(fmin(fmax(sum, -12), 3));
    }
}

/* Between the knots around `ahead`; `before` is the value at 0, the last knot's stays after it. */
static double between(const double *knots, double before, double ahead)
{
    double at = ahead / S;
    if (at >= J)
        return knots[J - 1];
    size_t right = (size_t)at;
    double left = right == 0 ? before : knots[right - 1];
    return left + (at - (double)right) * (knots[right] - left);
}

dm_curve_band dm_curve_at(const dm_view *v, const dm_curve_rules *rules, const dm_knots *knots,
                          double ahead)
{
    double low[J], high[J];
    for (size_t j = 0; j < J; j++) {
        low[j] = (double)rules->low[j] * knots->scale[j];
        high[j] = (double)rules->high[j] * knots->scale[j];
    }
    /* Beyond the last knot the band widens as a random walk does. */
    double wider = ahead > J * S ? sqrt(ahead / (J * S)) : 1;
    double mean = dm_view_mean_at(v, ahead) + between(knots->correction, 0, ahead);
    return (dm_curve_band){mean, mean + wider * between(low, low[0], ahead),
                           mean + wider * between(high, high[0], ahead)};
}

/* ---- The public call ---- */

static float loss_of(double log_loss)
{
    return (float)exp(fmin(fmax(log_loss, -85), 88));
}

static dm_status allocate(dm_dynamics_curve_forecast *f, dm_error *err)
{
    float **arrays[] = {&f->mean, &f->low, &f->high, &f->combination};
    bool good = true;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        good = (*arrays[i] = calloc(f->steps, sizeof(float))) != NULL && good;
    for (size_t k = 0; k < DM_DYNAMICS_CURVE_BASELINES; k++)
        good = (f->baseline[k] = calloc(f->steps, sizeof(float))) != NULL && good;
    good = (f->member = calloc((size_t)f->members * f->steps, sizeof(float))) != NULL && good;
    return good ? DM_OK : dm_fail(err, DM_ENOMEM, "no memory for %u steps", f->steps);
}

static void fill(dm_dynamics_curve_forecast *f, const dm_view *v, const dm_curve_rules *rules,
                 const float *units)
{
    dm_knots knots, one;
    dm_curve_knots(v, rules, f->members, units, &knots);
    for (uint32_t t = 0; t < f->steps; t++) {
        dm_curve_band at = dm_curve_at(v, rules, &knots, t + 1);
        f->mean[t] = loss_of(at.mean);
        f->low[t] = loss_of(at.low);
        f->high[t] = loss_of(at.high);
        f->combination[t] = loss_of(dm_view_mean_at(v, t + 1));
        for (size_t k = 0; k < DM_DYNAMICS_CURVE_BASELINES; k++)
            f->baseline[k][t] = loss_of(dm_baseline_at(&v->fits, (dm_baseline)k, t + 1));
    }
    for (size_t e = 0; e < f->members; e++) {
        dm_curve_knots(v, rules, 1, units + e * J, &one);
        for (uint32_t t = 0; t < f->steps; t++)
            f->member[e * f->steps + t] = loss_of(dm_curve_at(v, rules, &one, t + 1).mean);
    }
}

dm_status dm_dynamics_curve_forecast_create(const dm_dynamics *model,
                                            const dm_dynamics_sample *samples, size_t count,
                                            uint32_t steps, dm_dynamics_curve_forecast **out,
                                            dm_error *err)
{
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, samples);
    DM_REQUIRE(err, out);
    dm_curve_rules rules;
    dm_curve curve = {0};
    dm_history h = {0};
    float sequence[PAST * I], *units = NULL;
    dm_status status = dm_curve_rules_get(model, &rules, err);
    if (status == DM_OK && (steps < 1 || steps > DM_DYNAMICS_CURVE_STEPS_MAX))
        status = dm_fail(err, DM_EINVAL, "a forecast of %u steps; 1 to %d are possible", steps,
                         DM_DYNAMICS_CURVE_STEPS_MAX);
    if (status != DM_OK)
        return status;
    dm_dynamics_curve_forecast *f = calloc(1, sizeof *f);
    if (f == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    f->steps = steps;
    f->members = model->config.members;
    status = allocate(f, err);
    for (size_t i = 0; i < count && status == DM_OK; i++)
        status = dm_curve_append(&curve, &samples[i], err);
    if (status == DM_OK && curve.count < 2)
        status = dm_fail(err, DM_EINVAL,
                         "%zu of %zu losses are between 1e-30 and 1e30; at least 2 are needed",
                         curve.count, count);
    if (status == DM_OK)
        status = dm_history_init(&h, &curve, curve.count, DM_VIEW_ORIGINS, err);
    if (status == DM_OK && (units = calloc((size_t)f->members * J, sizeof *units)) == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    if (status == DM_OK) {
        dm_history_combine(&h, &rules.view);
        dm_history_sequence(&h, h.count - 1, sequence);
        status = dm_curve_units(model, 1, sequence, units, err);
    }
    if (status == DM_OK)
        fill(f, &h.views[h.count - 1], &rules, units);
    f->seen = curve.count;
    f->skipped = curve.skipped;
    free(units);
    dm_history_deinit(&h);
    dm_curve_deinit(&curve);
    if (status != DM_OK)
        dm_dynamics_curve_forecast_destroy(f);
    else
        *out = f;
    return status;
}

void dm_dynamics_curve_forecast_destroy(dm_dynamics_curve_forecast *f)
{
    if (f == NULL)
        return;
    free(f->mean);
    free(f->low);
    free(f->high);
    free(f->combination);
    for (size_t k = 0; k < DM_DYNAMICS_CURVE_BASELINES; k++)
        free(f->baseline[k]);
    free(f->member);
    free(f);
}
