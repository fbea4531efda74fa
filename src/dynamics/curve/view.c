/* SPDX-License-Identifier: MIT */
/* view.c - see view.h. */
#include "dynamics/curve/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    K = DM_BASELINE_COUNT,
    J = DM_VIEW_KNOTS,
    S = DM_VIEW_STRIDE,
    RECORD = 20,
    NEAR = 2,
    FIT_ROUNDS = 3
};
#define AGE 0.9          /* an older origin's errors count so much less */
#define FAR 2.0          /* baselines leave the recent mean by at most so much */
#define NOISE_PRIOR 0.05 /* before there are samples to tell */

static double limited(double x, double limit)
{
    return x > limit ? limit : x < -limit ? -limit : x; /* NaN does not occur: inputs are finite */
}

/* ---- What does not depend on rules ---- */

/* Mean of the log losses within NEAR samples of the 1-based time `at`, none later than `end`. */
static double around(const dm_history *h, size_t at, size_t end)
{
    size_t from = at > NEAR + 1 ? at - NEAR - 1 : 0, to = at + NEAR < end ? at + NEAR : end;
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += h->y[i];
    return sum / (double)(to - from);
}

static double noise_of(const double *y, size_t n)
{
    size_t first = n > 32 ? n - 32 : 0;
    dm_line line = dm_line_fit(y, first, n);
    double degrees = n - first > 2 ? (double)(n - first) - 2 : 0;
    return sqrt((line.deviation * line.deviation * degrees + NOISE_PRIOR * NOISE_PRIOR) /
                (degrees + 1));
}

static double baseline_within(const dm_baselines *fits, dm_baseline k, double ahead)
{
    return fits->mean + limited(dm_baseline_at(fits, k, ahead) - fits->mean, FAR);
}

/* How far earlier forecasts were off by now. */
static void keep_record(dm_history *h, size_t i)
{
    dm_view *v = &h->views[i];
    for (size_t back = 1; back <= RECORD && back <= i; back++) {
        const dm_view *past = &h->views[i - back];
        for (size_t j = 1; j <= back && j <= J; j++) {
            double weight = pow(AGE, (double)(back - j));
            double truth = around(h, past->n + j * S, v->n);
            for (size_t k = 0; k < K; k++) {
                double away = past->forecast[k][j - 1] - truth;
                v->squares[k] += weight * away * away;
            }
            v->weight += weight;
        }
    }
}

/* View i, of the first n samples. */
static void look(dm_history *h, size_t i, size_t n)
{
    dm_view *v = &h->views[i];
    v->n = n;
    dm_baselines_fit(&v->fits, h->y, n);
    v->noise = noise_of(h->y, n);
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < J; j++)
            v->forecast[k][j] = baseline_within(&v->fits, (dm_baseline)k, (double)((j + 1) * S));
    keep_record(h, i);
}

dm_status dm_history_init(dm_history *h, const dm_curve *curve, size_t end, size_t origins,
                          dm_error *err)
{
    size_t count = (end - 1) / S + 1;
    count = count < origins ? count : origins;
    *h = (dm_history){.curve = curve, .count = count};
    h->y = malloc(curve->count * sizeof *h->y);
    h->peak = malloc(curve->count * sizeof *h->peak);
    h->views = calloc(count, sizeof *h->views);
    if (h->y == NULL || h->peak == NULL || h->views == NULL) {
        dm_history_deinit(h);
        return dm_fail(err, DM_ENOMEM, "no memory for a curve of %zu samples", curve->count);
    }
    for (size_t i = 0; i < curve->count; i++) {
        float rate = curve->samples[i].learning_rate;
        h->y[i] = log((double)curve->samples[i].loss);
        h->peak[i] = fmaxf(rate, i > 0 ? h->peak[i - 1] : 0);
    }
    for (size_t i = 0; i < count; i++)
        look(h, i, end - (count - 1 - i) * S);
    return DM_OK;
}

void dm_history_deinit(dm_history *h)
{
    free(h->y);
    free(h->peak);
    free(h->views);
    *h = (dm_history){0};
}

bool dm_history_truth(const dm_history *h, size_t i, size_t knot, double *out)
{
    size_t at = h->views[i].n + knot * S;
    if (at + NEAR > h->curve->count)
        return false;
    *out = around(h, at, h->curve->count);
    return true;
}

/* ---- The combination ---- */

static void combine(dm_view *v, const dm_view_rules *rules)
{
    double alike = 0, total = 0, floor = 0.1 * v->noise * v->noise + 1e-8;
    for (size_t k = 0; k < K; k++)
        alike += log(v->squares[k] / fmax(v->weight, 1e-9) + floor) / K;
    alike = v->weight > 0 ? exp(alike) : v->noise * v->noise + 1e-8;
    for (size_t k = 0; k < K; k++) {
        double error =
            (v->squares[k] + (double)rules->doubt * alike) / (v->weight + (double)rules->doubt) +
            floor;
        v->share[k] = (double)rules->prior[k] * pow(error / alike, -(double)rules->sharpness);
        total += v->share[k];
    }
    for (size_t k = 0; k < K; k++)
        v->share[k] /= total;
    for (size_t j = 0; j < J; j++) {
        v->mean[j] = 0;
        for (size_t k = 0; k < K; k++)
            v->mean[j] += v->share[k] * v->forecast[k][j];
    }
}

double dm_view_mean_at(const dm_view *v, double ahead)
{
    double sum = 0;
    for (size_t k = 0; k < K; k++)
        sum += v->share[k] * baseline_within(&v->fits, (dm_baseline)k, ahead);
    return sum;
}

/* Error of the combination so far, and its bias, from views that are combined already. */
static void judge(dm_history *h, size_t i, double *bias)
{
    dm_view *v = &h->views[i];
    double squares = 0, sum = 0, weights = 0, spread = 0;
    for (size_t back = 1; back <= RECORD && back <= i; back++)
        for (size_t j = 1; j <= back && j <= J; j++) {
            const dm_view *past = &h->views[i - back];
            double weight = pow(AGE, (double)(back - j));
            double away = around(h, past->n + j * S, v->n) - past->mean[j - 1];
            squares += weight * away * away;
            sum += weight * away;
            weights += weight;
        }
    for (size_t k = 0; k < K; k++)
        spread += v->share[k] * pow(v->forecast[k][4] - v->mean[4], 2);
    v->spread = sqrt(spread);
    v->track = sqrt((squares + 4 * (v->noise * v->noise / 4 + spread)) / (weights + 4));
    v->unit = sqrt(v->noise * v->noise / 4 + v->track * v->track + spread / 4 + 1e-6);
    *bias = weights > 0 ? sum / (weights + 4) : 0;
}

/* ---- Features ---- */

static double log_ratio(double a, double b)
{
    return a > 0 && b > 0 && isfinite(a) && isfinite(b) ? limited(log(a / b), 10) : 0;
}

static double mean_norm(const dm_dynamics_sample *s, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += fabs((double)s[i].gradient_norm);
    return to > from ? sum / (double)(to - from) : 0;
}

/* Of the residuals around the recent trend: correlation of neighbours. */
static double correlation(const double *y, size_t first, size_t n)
{
    dm_line line = dm_line_fit(y, first, n);
    double before = 0, with = 0, squares = 1e-12;
    for (size_t i = first; i < n; i++) {
        double away = y[i] - line.end + line.slope * (double)(n - 1 - i);
        with += i > first ? away * before : 0;
        squares += away * away;
        before = away;
    }
    return with / squares;
}

static void describe_rate(const dm_dynamics_sample *s, size_t n, double most, float *f)
{
    double now = (double)s[n - 1].learning_rate;
    size_t ago25 = n > 25 ? n - 26 : 0, ago50 = n > 50 ? n - 51 : 0;
    f[0] = (float)log_ratio(now, most);
    f[1] = (float)log_ratio(now, (double)s[ago25].learning_rate);
    f[2] = (float)log_ratio((double)s[ago25].learning_rate, (double)s[ago50].learning_rate);
    /* Linear changes end in 0: how much of the largest rate is left after as many samples again. */
    f[3] = (float)limited(most > 0 ? (now - (double)s[ago25].learning_rate) / most : 0, 10);
    size_t half = n > 32 ? n - 16 : n / 2, quarter = n > 32 ? n - 32 : 0;
    f[4] = (float)log_ratio(mean_norm(s, half, n), mean_norm(s, quarter, half));
    f[5] = (float)log_ratio((double)s[n - 1].gradient_norm, mean_norm(s, quarter, n));
}

static void describe(dm_history *h, size_t i, double bias)
{
    dm_view *v = &h->views[i];
    const double *y = h->y;
    size_t n = v->n, f = 0, near = n > 16 ? n - 16 : 0, mid = n > 25 ? n - 25 : 0;
    size_t far = n > 50 ? n - 50 : 0, window = n > 64 ? n - 64 : 0;
    double least = y[window], most = y[window], unit = v->unit, surprise = 0;
    float *x = v->features;
    for (size_t k = window; k < n; k++) {
        least = fmin(least, y[k]);
        most = fmax(most, y[k]);
    }
    if (i > 0)
        surprise = (around(h, n, n) - h->views[i - 1].mean[0]) / h->views[i - 1].unit;
    x[f++] = (float)exp(DM_VIEW_GAIN * limited(surprise, DM_VIEW_LIMIT));
    for (size_t k = 0; k < K; k++) {
        x[f++] = (float)limited((v->forecast[k][4] - v->mean[4]) / unit, DM_VIEW_LIMIT);
        x[f++] = (float)limited((v->forecast[k][9] - v->mean[9]) / unit, DM_VIEW_LIMIT);
    }
    dm_line quick = dm_line_fit(y, near, n), slow = dm_line_fit(y, mid, n);
    dm_line before = dm_line_fit(y, far, mid > far ? mid : n);
    x[f++] = (float)limited(quick.slope * 25 / unit, DM_VIEW_LIMIT);
    x[f++] = (float)limited(slow.slope * 25 / unit, DM_VIEW_LIMIT);
    x[f++] = (float)limited((slow.slope - before.slope) * 25 / unit, DM_VIEW_LIMIT);
    x[f++] = (float)limited((v->mean[4] - v->fits.mean) / unit, DM_VIEW_LIMIT);
    x[f++] = (float)limited((v->mean[9] - v->mean[4]) / unit, DM_VIEW_LIMIT);
    x[f++] = (float)limited(bias / unit, DM_VIEW_LIMIT);
    x[f++] = (float)limited((least - v->fits.mean) / unit, DM_VIEW_LIMIT);
    x[f++] = (float)limited((most - v->fits.mean) / unit, DM_VIEW_LIMIT);
    x[f++] = (float)limited((v->fits.last - v->fits.mean) / unit, DM_VIEW_LIMIT);
    x[f++] = (float)limited((y[0] - v->fits.mean) / (0.5 + fabs(y[0] - v->fits.mean)), 1);
    x[f++] = (float)log(v->noise + 1e-4);
    x[f++] = (float)log(v->track + 1e-4);
    x[f++] = (float)log(unit / (v->noise + 1e-3));
    x[f++] = (float)correlation(y, near, n);
    x[f++] = (float)log1p((double)n);
    describe_rate(h->curve->samples, n, (double)h->peak[n - 1], x + f);
}

_Static_assert(1 + 2 * DM_BASELINE_COUNT + 15 + 6 == DM_VIEW_FEATURES, "all features are set");

static void combine_one(dm_history *h, size_t i, const dm_view_rules *rules)
{
    double bias;
    combine(&h->views[i], rules);
    judge(h, i, &bias);
    describe(h, i, bias);
}

void dm_history_combine(dm_history *h, const dm_view_rules *rules)
{
    for (size_t i = 0; i < h->count; i++)
        combine_one(h, i, rules);
}

void dm_history_look(dm_history *h, size_t n, const dm_view_rules *rules)
{
    h->views[h->count] = (dm_view){0};
    look(h, h->count, n);
    combine_one(h, h->count++, rules);
}

void dm_history_sequence(const dm_history *h, size_t i, float *out)
{
    for (size_t p = 0; p < DM_VIEW_PAST; p++) {
        size_t back = DM_VIEW_PAST - 1 - p;
        memcpy(out + p * DM_VIEW_FEATURES, h->views[i > back ? i - back : 0].features,
               sizeof h->views[i].features);
    }
}

void dm_history_example(const dm_history *h, size_t i, float *features, float *targets)
{
    const dm_view *v = &h->views[i];
    dm_history_sequence(h, i, features);
    for (size_t t = 0; t + 1 < DM_VIEW_PAST; t++)
        targets[t] = 1;
    for (size_t j = 0; j < J; j++) {
        double truth = 0;
        dm_history_truth(h, i, j + 1, &truth);
        double units = limited((truth - v->mean[j]) / v->unit, DM_VIEW_LIMIT);
        targets[DM_VIEW_PAST - 1 + j] = (float)exp(DM_VIEW_GAIN * units);
    }
}

/* ---- Fitting the rules ---- */

dm_view_rules dm_view_rules_default(void)
{
    dm_view_rules rules = {.sharpness = 1, .doubt = 4};
    for (size_t k = 0; k < K; k++)
        rules.prior[k] = 1;
    return rules;
}

static double combination_error(dm_history *histories, size_t count, const dm_view_rules *rules)
{
    double total = 0;
    for (size_t c = 0; c < count; c++) {
        dm_history *h = &histories[c];
        double squares = 0, truths = 0;
        for (size_t i = 0; i < h->count; i++) {
            double truth;
            if (h->views[i].n < 16)
                continue;
            combine(&h->views[i], rules);
            for (size_t j = 5; j <= J; j += 5)
                if (dm_history_truth(h, i, j, &truth)) {
                    double away = limited(truth - h->views[i].mean[j - 1], FAR);
                    squares += away * away;
                    truths++;
                }
        }
        total += truths > 0 ? sqrt(squares / truths) : 0;
    }
    return total / (double)(count > 0 ? count : 1);
}

void dm_view_rules_fit(dm_view_rules *rules, dm_history *histories, size_t count)
{
    float *numbers[2 + K] = {&rules->sharpness, &rules->doubt};
    double best = combination_error(histories, count, rules);
    for (size_t k = 0; k < K; k++)
        numbers[2 + k] = &rules->prior[k];
    double factor = 2;
    for (int round = 0; round < FIT_ROUNDS; round++) {
        for (size_t p = 0; p < 2 + K; p++)
            for (int direction = 0; direction < 2; direction++) {
                float kept = *numbers[p];
                *numbers[p] = (float)((double)kept * (direction == 0 ? factor : 1 / factor));
                double error = combination_error(histories, count, rules);
                bool allowed = *numbers[p] >= DM_RULES_LEAST &&
                               *numbers[p] <= (p == 0 ? DM_RULES_SHARPNESS_MAX : DM_RULES_MOST);
                if (allowed && error < best - 1e-9)
                    best = error;
                else
                    *numbers[p] = kept;
            }
        factor = sqrt(factor);
    }
}
