/* SPDX-License-Identifier: MIT */
/* forecast.c - see forecast.h. */
#include "train/sweep/forecast.h"
#include "base/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* F features; the regression has an intercept besides. */
enum { F = 3, NEAREST = 24, LEAST = 8 };
static const double RIDGE = 0.1, FLOOR = 1e-3, FAR = 2;

/* What is known at one check of all curves; made when it is first asked for. */
typedef struct at_check {
    bool ready;
    double centre[F], scale[F];
    double (*features)[F]; /* standardised */
    double *errors;        /* final value minus the forecast without this curve */
    double *deviations;    /* of that forecast */
    double *reaches;       /* distance to the farthest of the nearest */
    double reach;          /* median distance to the farthest of the nearest */
    double factor;
} at_check;

struct dm_final_forecaster {
    size_t checks, count, capacity;
    double *logs; /* [count][checks] */
    bool *own;
    at_check *at; /* [checks + 1] */
};

dm_status dm_final_forecaster_create(size_t checks, dm_final_forecaster **out, dm_error *err)
{
    dm_final_forecaster *f = calloc(1, sizeof *f);
    if (f != NULL)
        f->at = calloc(checks + 1, sizeof *f->at);
    if (f == NULL || f->at == NULL) {
        free(f);
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    f->checks = checks;
    *out = f;
    return DM_OK;
}

static void forget(dm_final_forecaster *f)
{
    for (size_t c = 0; c <= f->checks; c++) {
        free(f->at[c].features);
        free(f->at[c].errors);
        free(f->at[c].deviations);
        free(f->at[c].reaches);
        f->at[c] = (at_check){0};
    }
}

void dm_final_forecaster_destroy(dm_final_forecaster *f)
{
    if (f == NULL)
        return;
    forget(f);
    free(f->at);
    free(f->logs);
    free(f->own);
    free(f);
}

dm_status dm_final_forecaster_add(dm_final_forecaster *f, const double *logs, bool own,
                                  dm_error *err)
{
    if (f->count == f->capacity) {
        size_t capacity = f->capacity > 0 ? 2 * f->capacity : 64;
        double *all = realloc(f->logs, capacity * f->checks * sizeof *all);
        f->logs = all != NULL ? all : f->logs;
        bool *owns = all != NULL ? realloc(f->own, capacity * sizeof *owns) : NULL;
        if (owns == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory for curves");
        f->own = owns;
        f->capacity = capacity;
    }
    memcpy(f->logs + f->count * f->checks, logs, f->checks * sizeof *logs);
    f->own[f->count++] = own;
    forget(f);
    return DM_OK;
}

size_t dm_final_forecaster_count(const dm_final_forecaster *f)
{
    return f->count;
}

static void features_of(const double *logs, size_t check, double out[F])
{
    size_t half = (check + 1) / 2;
    out[0] = logs[check - 1];
    out[1] = logs[half - 1] - logs[check - 1];
    out[2] = logs[0] - logs[check - 1];
}

/* ---- A regression over the nearest curves ---- */

typedef struct neighbour {
    double distance;
    size_t row;
} neighbour;

static int by_distance(const void *a, const void *b)
{
    const neighbour *x = a, *y = b;
    return x->distance != y->distance ? (x->distance > y->distance) - (x->distance < y->distance)
                                      : (x->row > y->row) - (x->row < y->row);
}

/* Solve the positive definite a·x = b, by elimination. */
static void solve(double a[F + 1][F + 1], double b[F + 1])
{
    for (int i = 0; i <= F; i++)
        for (int r = i + 1; r <= F; r++) {
            double share = a[r][i] / a[i][i];
            for (int c = i; c <= F; c++)
                a[r][c] -= share * a[i][c];
            b[r] -= share * b[i];
        }
    for (int i = F; i >= 0; i--) {
        for (int c = i + 1; c <= F; c++)
            b[i] -= a[i][c] * b[c];
        b[i] /= a[i][i];
    }
}

static double to_come(const dm_final_forecaster *f, size_t row, size_t check)
{
    const double *logs = f->logs + row * f->checks;
    return logs[f->checks - 1] - logs[check - 1];
}

/* The nearest curves to `x` but `skip`, and what a regression over them says is to come. */
static size_t regress(const dm_final_forecaster *f, size_t check, const double x[F], size_t skip,
                      neighbour *near, double *weights, double *out)
{
    const at_check *at = &f->at[check];
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++) {
        double sum = 0;
        for (int k = 0; k < F; k++)
            sum += (x[k] - at->features[i][k]) * (x[k] - at->features[i][k]);
        if (i != skip)
            near[n++] = (neighbour){sqrt(sum), i};
    }
    qsort(near, n, sizeof *near, by_distance);
    n = n < NEAREST ? n : NEAREST;
    double width = near[n - 1].distance * 1.05 + 1e-9, a[F + 1][F + 1] = {{0}}, b[F + 1] = {0};
    for (size_t j = 0; j < n; j++) {
        double share = near[j].distance / width, w = pow(1 - share * share * share, 3);
        double row[F + 1] = {1}, y = to_come(f, near[j].row, check);
        for (int k = 0; k < F; k++)
            row[k + 1] = at->features[near[j].row][k] - x[k];
        for (int r = 0; r <= F; r++) {
            for (int c = 0; c <= F; c++)
                a[r][c] += w * row[r] * row[c];
            b[r] += w * row[r] * y;
        }
        weights[j] = w;
    }
    for (int r = 1; r <= F; r++)
        a[r][r] += RIDGE;
    solve(a, b);
    *out = b[0]; /* at x, from which the rows were taken */
    return n;
}

/* Root mean square of the errors of the nearest, with a floor. */
static double spread(const at_check *at, const neighbour *near, const double *weights, size_t n)
{
    double sum = 0, total = 0;
    for (size_t j = 0; j < n; j++) {
        sum += weights[j] * at->errors[near[j].row] * at->errors[near[j].row];
        total += weights[j];
    }
    double reach = near[n - 1].distance / fmax(at->reach, 1e-9);
    return sqrt(sum / total + FLOOR * FLOOR) * fmax(1, reach);
}

/* ---- One check ---- */

static void standardise(dm_final_forecaster *f, size_t check, double *column)
{
    at_check *at = &f->at[check];
    for (size_t i = 0; i < f->count; i++)
        features_of(f->logs + i * f->checks, check, at->features[i]);
    for (int k = 0; k < F; k++) {
        for (size_t i = 0; i < f->count; i++)
            column[i] = at->features[i][k];
        dm_sort_values(column, f->count);
        /* Quartiles: a few runs that diverge do not count. */
        at->centre[k] = column[f->count / 2];
        at->scale[k] = fmax((column[3 * f->count / 4] - column[f->count / 4]) / 1.35, 1e-6);
        for (size_t i = 0; i < f->count; i++)
            at->features[i][k] = (at->features[i][k] - at->centre[k]) / at->scale[k];
    }
}

static void learn(dm_final_forecaster *f, size_t check, neighbour *near, double *column)
{
    at_check *at = &f->at[check];
    double weights[NEAREST], mean;
    standardise(f, check, column);
    for (size_t i = 0; i < f->count; i++) {
        size_t n = regress(f, check, at->features[i], i, near, weights, &mean);
        at->errors[i] = to_come(f, i, check) - mean;
        column[i] = at->reaches[i] = near[n - 1].distance;
    }
    dm_sort_values(column, f->count);
    at->reach = column[f->count / 2];
    for (size_t i = 0; i < f->count; i++) {
        size_t n = regress(f, check, at->features[i], i, near, weights, &mean);
        at->deviations[i] = spread(at, near, weights, n);
        column[i] = fabs(at->errors[i]) / at->deviations[i];
    }
    dm_sort_values(column, f->count);
    size_t rank = (size_t)ceil(0.9 * (double)(f->count + 1));
    at->factor = column[rank < f->count ? rank : f->count - 1] / DM_FINAL_BAND;
    for (size_t i = 0; i < f->count; i++)
        at->deviations[i] *= at->factor;
    at->ready = true;
}

static dm_status prepare(dm_final_forecaster *f, size_t check, dm_error *err)
{
    at_check *at = &f->at[check];
    if (f->count < LEAST)
        return dm_fail(err, DM_EINVAL, "a forecast needs %d complete curves, there are %zu", LEAST,
                       f->count);
    if (at->ready)
        return DM_OK;
    neighbour *near = calloc(f->count, sizeof *near);
    double *column = calloc(f->count, sizeof *column);
    at->features = calloc(f->count, sizeof *at->features);
    at->errors = calloc(f->count, sizeof *at->errors);
    at->deviations = calloc(f->count, sizeof *at->deviations);
    at->reaches = calloc(f->count, sizeof *at->reaches);
    bool good = near != NULL && column != NULL && at->features != NULL && at->errors != NULL &&
                at->deviations != NULL && at->reaches != NULL;
    if (good)
        learn(f, check, near, column);
    free(near);
    free(column);
    return good ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory for a forecast");
}

dm_status dm_final_forecast(dm_final_forecaster *f, const double *logs, size_t check, double *mean,
                            double *deviation, dm_error *err)
{
    double x[F], weights[NEAREST], rest;
    dm_status status = prepare(f, check, err);
    if (status != DM_OK)
        return status;
    neighbour *near = calloc(f->count, sizeof *near);
    if (near == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory for a forecast");
    const at_check *at = &f->at[check];
    features_of(logs, check, x);
    for (int k = 0; k < F; k++)
        x[k] = (x[k] - at->centre[k]) / at->scale[k];
    size_t n = regress(f, check, x, SIZE_MAX, near, weights, &rest);
    *mean = logs[check - 1] + rest;
    *deviation = spread(at, near, weights, n) * at->factor;
    free(near);
    return DM_OK;
}

/* What one forecast for an own curve adds. */
static void count_forecast(const dm_final_forecaster *f, size_t check, size_t row,
                           dm_final_calibration *out, double *widths, double *rests)
{
    const at_check *at = &f->at[check];
    double rest = to_come(f, row, check), error = at->errors[row];
    out->coverage += fabs(error) <= DM_FINAL_BAND * at->deviations[row];
    out->far += at->reaches[row] > FAR * at->reach;
    out->error += error * error;
    out->last += rest * rest;
    rests[out->forecasts] = fabs(rest);
    widths[out->forecasts++] = at->deviations[row];
}

/* ---- Whether own curves lie among the others ---- */

enum { LOOKS = 4, AMONG = 3 };

/* A curve's logarithm at the first look, then its falls from look to look. */
static double look_at(const dm_final_forecaster *f, size_t row, const size_t looks[LOOKS], int k)
{
    const double *logs = f->logs + row * f->checks;
    return logs[looks[k]] - (k > 0 ? logs[looks[k - 1]] : 0);
}

/* Quartile widths of them over the others. */
static void widths_of(const dm_final_forecaster *f, const size_t looks[LOOKS], double *column,
                      double scale[LOOKS])
{
    for (int k = 0; k < LOOKS; k++) {
        size_t n = 0;
        for (size_t i = 0; i < f->count; i++)
            if (!f->own[i])
                column[n++] = look_at(f, i, looks, k);
        dm_sort_values(column, n);
        scale[k] = fmax(column[3 * n / 4] - column[n / 4], 1e-6);
    }
}

/* How many of the AMONG curves nearest to curve `row` are own ones. */
static size_t own_among(const dm_final_forecaster *f, size_t row, const size_t looks[LOOKS],
                        const double scale[LOOKS], neighbour *near)
{
    size_t n = 0, own = 0;
    for (size_t i = 0; i < f->count; i++) {
        double sum = 0;
        for (int k = 0; k < LOOKS; k++) {
            double d = look_at(f, i, looks, k) - look_at(f, row, looks, k);
            sum += d * d / (scale[k] * scale[k]);
        }
        if (i != row)
            near[n++] = (neighbour){sum, i};
    }
    qsort(near, n, sizeof *near, by_distance);
    for (size_t j = 0; j < AMONG; j++)
        own += f->own[near[j].row];
    return own;
}

/* Schilling's test of two samples by nearest neighbours (1986): the share of own curves among the
 * nearest to own ones, 0 for what chance gives and 1 for all. Own curves of the same task lie
 * anywhere among the others; those of another task keep to themselves. */
static dm_status separation(const dm_final_forecaster *f, size_t own, double *out, dm_error *err)
{
    size_t last = f->checks * 6 / 10, found = 0;
    size_t looks[LOOKS] = {0, last / 3, 2 * last / 3, last > 0 ? last - 1 : 0};
    *out = 0;
    if (own < 2 || f->count < LEAST || f->count - LEAST < own)
        return DM_OK; /* nothing to be apart from */
    neighbour *near = calloc(f->count, sizeof *near);
    double *column = calloc(f->count, sizeof *column), scale[LOOKS];
    if (near != NULL && column != NULL) {
        widths_of(f, looks, column, scale);
        for (size_t i = 0; i < f->count; i++)
            if (f->own[i])
                found += own_among(f, i, looks, scale, near);
        size_t most = own - 1 < AMONG ? own - 1 : AMONG;
        double share = (double)found / (double)(own * AMONG);
        double chance = (double)(own - 1) / (double)(f->count - 1), all = (double)most / AMONG;
        *out = all > chance ? (share - chance) / (all - chance) : 0;
    }
    bool good = near != NULL && column != NULL;
    free(near);
    free(column);
    return good ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory for a calibration");
}

dm_status dm_final_calibrate(dm_final_forecaster *f, size_t every, dm_final_calibration *out,
                             dm_error *err)
{
    *out = (dm_final_calibration){0};
    for (size_t i = 0; i < f->count; i++)
        out->runs += f->own[i];
    size_t most = out->runs * f->checks + 1;
    double *widths = calloc(2 * most, sizeof *widths), *rests = widths + most;
    dm_status status = widths == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : DM_OK;
    for (size_t check = every; check * 10 <= f->checks * 6 && status == DM_OK; check += every) {
        status = prepare(f, check, err);
        for (size_t i = 0; i < f->count && status == DM_OK; i++)
            if (f->own[i])
                count_forecast(f, check, i, out, widths, rests);
    }
    if (status == DM_OK)
        status = separation(f, out->runs, &out->apart, err);
    double n = (double)out->forecasts;
    if (status == DM_OK && out->forecasts > 0) {
        dm_sort_values(rests, out->forecasts);
        dm_sort_values(widths, out->forecasts);
        out->coverage /= n;
        out->far /= n;
        out->error = sqrt(out->error / n);
        out->last = sqrt(out->last / n);
        out->width = widths[out->forecasts / 2] / fmax(rests[out->forecasts / 2], FLOOR);
    }
    free(widths);
    return status;
}
