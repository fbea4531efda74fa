/* SPDX-License-Identifier: MIT */
/* evaluate.c - see evaluate.h. */
#include "dynamics/curve/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    STARTS = 8,
    AHEAD = 50,
    FIRST = 32,
    METHODS = DM_EVALUATE_METHODS,
    CASES = DM_EVALUATE_CASES
};

const char *const dm_evaluate_methods[METHODS] = {"last",  "mean", "linear",
                                                  "power", "ours", "combination"};
const char *const dm_evaluate_cases[CASES] = {"early 25", "early 50", "late 25", "late 50"};

static double away(float forecast, float loss)
{
    return log((double)forecast / (double)loss);
}

static dm_status from(const dm_dynamics *model, const dm_curve *curve, size_t seen, int when,
                      dm_evaluation *out, dm_error *err)
{
    dm_dynamics_curve_forecast *f = NULL;
    const dm_dynamics_sample *truth = curve->samples + seen;
    dm_status status =
        dm_dynamics_curve_forecast_create(model, curve->samples, seen, AHEAD, &f, err);
    if (status != DM_OK)
        return status;
    for (int c = 2 * when; c < 2 * when + 2; c++) {
        size_t at = c % 2 == 0 ? AHEAD / 2 - 1 : AHEAD - 1;
        for (int m = 0; m < METHODS; m++) {
            const float *values = m < DM_DYNAMICS_CURVE_BASELINES ? f->baseline[m]
                                  : m == DM_EVALUATE_OURS         ? f->mean
                                                                  : f->combination;
            out->error[m][c] += pow(away(values[at], truth[at].loss), 2);
        }
        out->starts[c]++;
    }
    for (size_t t = 0; t < AHEAD; t++) {
        bool in = truth[t].loss >= f->low[t] && truth[t].loss <= f->high[t];
        out->inside += in;
        out->outside += !in;
    }
    dm_dynamics_curve_forecast_destroy(f);
    return DM_OK;
}

dm_status dm_curve_evaluate(const dm_dynamics *model, const dm_curve *curve, dm_evaluation *out,
                            dm_error *err)
{
    *out = (dm_evaluation){0};
    memcpy(out->name, curve->name, sizeof out->name);
    if (curve->count < DM_EVALUATE_LEAST)
        return dm_fail(err, DM_EINVAL, "%s: %zu losses; at least %d are needed to evaluate",
                       curve->name, curve->count, DM_EVALUATE_LEAST);
    dm_status status = DM_OK;
    size_t last = curve->count - AHEAD;
    for (int when = 0; when < 2; when++) {
        size_t low = when == 0 ? FIRST : curve->count / 2,
               high = when == 0 ? curve->count / 3 : last;
        low = low > last ? last : low;
        high = high > last ? last : high < low ? low : high;
        size_t starts = high - low + 1 < STARTS ? high - low + 1 : STARTS;
        for (size_t k = 0; k < starts && status == DM_OK; k++)
            status = from(model, curve, low + (starts > 1 ? k * (high - low) / (starts - 1) : 0),
                          when, out, err);
    }
    for (int m = 0; m < METHODS && status == DM_OK; m++) {
        for (int c = 0; c < CASES; c++) {
            double mean = out->error[m][c] / out->starts[c];
            out->all[m] += mean / CASES;
            out->error[m][c] = sqrt(mean);
        }
        out->all[m] = sqrt(out->all[m]);
    }
    return status;
}

void dm_evaluation_sum(const dm_evaluation *evaluations, size_t count, dm_evaluation_total *out)
{
    double inside = 0, steps = 0, n = (double)count;
    *out = (dm_evaluation_total){.curves = count};
    for (size_t k = 0; k < count; k++) {
        const dm_evaluation *e = &evaluations[k];
        for (int m = 0; m < METHODS; m++) {
            for (int c = 0; c < CASES; c++)
                out->error[m][c] += e->error[m][c] / n;
            out->all[m] += e->all[m] / n;
            out->below[m] += e->all[DM_EVALUATE_OURS] < e->all[m];
        }
        inside += e->inside;
        steps += e->inside + e->outside;
    }
    out->coverage = steps > 0 ? inside / steps : 0;
}
