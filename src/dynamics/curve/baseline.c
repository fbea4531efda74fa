/* SPDX-License-Identifier: MIT */
/* baseline.c - see baseline.h. */
#include "dynamics/curve/baseline.h"
#include "base/median.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { RECENT = 16, TREND = 50, LAW = 512, BINS = 40, EXPONENTS = 10, OFFSETS = 6 };
#define FADE 0.97 /* of a damped slope, each step */

/* ---- Straight lines ---- */

dm_line dm_line_fit(const double *y, size_t first, size_t n)
{
    double count = (double)(n - first), middle = (count - 1) / 2, mean = 0, xx = 0, xy = 0,
           rest = 0;
    for (size_t i = first; i < n; i++)
        mean += y[i] / count;
    for (size_t i = first; i < n; i++) {
        double x = (double)(i - first) - middle;
        xx += x * x;
        xy += x * (y[i] - mean);
    }
    double slope = xx > 0 ? xy / xx : 0;
    for (size_t i = first; i < n; i++) {
        double away = y[i] - mean - slope * ((double)(i - first) - middle);
        rest += away * away;
    }
    return (dm_line){mean + slope * middle, slope, count > 2 ? sqrt(rest / (count - 2)) : 0};
}

/* ---- Power laws ---- */

/* Averages of neighbours: their middle in time, exp of their mean, and how much they count. */
typedef struct bins {
    size_t count;
    double t[BINS], value[BINS], weight[BINS];
    double basis[BINS];
} bins;

static void make_bins(bins *b, const double *y, size_t first, size_t n)
{
    size_t all = n - first;
    b->count = all < BINS ? all : BINS;
    for (size_t k = 0; k < b->count; k++) {
        size_t from = first + k * all / b->count, to = first + (k + 1) * all / b->count;
        double sum = 0;
        for (size_t i = from; i < to; i++)
            sum += y[i] - y[n - 1]; /* relative, so that any level is finite */
        b->t[k] = (double)(from + to + 1) / 2;
        b->value[k] = exp(fmin(sum / (double)(to - from), 60));
        b->weight[k] = 0.3 + 0.7 * (double)(k + 1) / (double)b->count; /* later ones count more */
    }
}

/* Least squares for a and c, both >= 0, given the basis; returns the weighted squared relative error. */
static double solve(const bins *b, const double *robust, double *a, double *c)
{
    double pp = 0, p1 = 0, one = 0, pv = 0, v1 = 0, error = 0;
    for (size_t k = 0; k < b->count; k++) {
        double w = robust[k] * b->weight[k] / (b->value[k] * b->value[k]), p = b->basis[k];
        pp += w * p * p;
        p1 += w * p;
        one += w;
        pv += w * p * b->value[k];
        v1 += w * b->value[k];
    }
    double det = pp * one - p1 * p1;
    bool good = det > 1e-9 * pp * one;
    *a = good ? (pv * one - v1 * p1) / det : 0;
    *c = good ? (pp * v1 - p1 * pv) / det : v1 / one;
    if (*a < 0) {
        *a = 0;
        *c = v1 / one;
    } else if (*c < 0) {
        *c = 0;
        *a = pv / pp;
    }
    for (size_t k = 0; k < b->count; k++) {
        double away = (*a * b->basis[k] + *c) / b->value[k] - 1;
        error += robust[k] * b->weight[k] * away * away;
    }
    return error;
}

/* The best of a grid of exponents and offsets. */
static dm_power_law search(bins *b, const double *robust, size_t n)
{
    static const double exponents[EXPONENTS] = {0.1, 0.2, 0.35, 0.5, 0.7, 1, 1.4, 2, 3, 5};
    static const double offsets[OFFSETS] = {0, 3, 12, 48, 192, 768};
    dm_power_law best = {0, 1, 1, 0};
    double least = INFINITY, logs[BINS];
    for (size_t i = 0; i < OFFSETS; i++) {
        for (size_t k = 0; k < b->count; k++)
            logs[k] = log((b->t[k] + offsets[i]) / ((double)n + offsets[i]));
        for (size_t j = 0; j < EXPONENTS; j++) {
            double a, c;
            for (size_t k = 0; k < b->count; k++)
                b->basis[k] = exp(fmin(-exponents[j] * logs[k], 60));
            double error = solve(b, robust, &a, &c);
            if (error < least * (1 - 1e-9)) {
                least = error;
                best = (dm_power_law){a, exponents[j], c, offsets[i]};
            }
        }
    }
    /* The basis is 1 at t = n. */
    best.a *= exp(fmin(best.b * log((double)n + best.t0), 600));
    return best;
}

dm_power_law dm_power_law_fit(const double *y, size_t first, size_t n)
{
    bins b;
    double robust[BINS] = {0}, away[BINS] = {0}, sorted[BINS] = {0};
    make_bins(&b, y, first, n);
    for (size_t k = 0; k < b.count; k++)
        robust[k] = 1;
    dm_power_law law = search(&b, robust, n);
    for (size_t k = 0; k < b.count; k++) {
        away[k] = fabs(dm_power_law_at(&law, b.t[k]) - log(b.value[k]));
        sorted[k] = away[k];
    }
    /* Once more with what is far off counting less (Huber). */
    dm_sort_values(sorted, b.count);
    double limit = 2.5 * sorted[b.count / 2] + 1e-6;
    for (size_t k = 0; k < b.count; k++)
        robust[k] = away[k] > limit ? limit / away[k] : 1;
    law = search(&b, robust, n);
    /* Values were relative to the last; a and c may be as large as those of the run. */
    law.a *= exp(y[n - 1]);
    law.c *= exp(y[n - 1]);
    return law;
}

double dm_power_law_at(const dm_power_law *law, double t)
{
    double value = law->a * exp(-law->b * log(t + law->t0)) + law->c;
    return log(fmin(fmax(value, 1e-300), 1e300));
}

/* ---- All of them ---- */

static size_t last_of(size_t n, size_t window)
{
    return n > window ? n - window : 0;
}

static double law_mean(const dm_power_law *law, size_t n)
{
    double sum = 0;
    size_t first = last_of(n, RECENT);
    for (size_t i = first; i < n; i++)
        sum += dm_power_law_at(law, (double)(i + 1));
    return sum / (double)(n - first);
}

void dm_baselines_fit(dm_baselines *out, const double *y, size_t n)
{
    size_t first = last_of(n, RECENT);
    *out = (dm_baselines){.n = n, .last = y[n - 1]};
    for (size_t i = first; i < n; i++)
        out->mean += y[i] / (double)(n - first);
    out->line = dm_line_fit(y, last_of(n, TREND), n);
    out->power = dm_power_law_fit(y, last_of(n, LAW), n);
    out->half = dm_power_law_fit(y, n > LAW ? last_of(n, LAW / 2) : n / 2, n);
    out->power_mean = law_mean(&out->power, n);
    out->half_mean = law_mean(&out->half, n);
}

double dm_baseline_at(const dm_baselines *b, dm_baseline which, double ahead)
{
    double t = (double)b->n + ahead;
    switch (which) {
    case DM_BASELINE_LAST:
        return b->last;
    case DM_BASELINE_MEAN:
        return b->mean;
    case DM_BASELINE_LINEAR:
        return b->line.end + b->line.slope * ahead;
    case DM_BASELINE_POWER:
        return dm_power_law_at(&b->power, t);
    case DM_BASELINE_DRIFT:
        return b->mean + dm_power_law_at(&b->power, t) - b->power_mean;
    case DM_BASELINE_DAMPED:
        return b->line.end + b->line.slope * (1 - pow(FADE, ahead)) / (1 - FADE);
    case DM_BASELINE_HALF:
    case DM_BASELINE_COUNT:
        break;
    }
    return b->mean + dm_power_law_at(&b->half, t) - b->half_mean;
}
