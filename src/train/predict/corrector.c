/* SPDX-License-Identifier: MIT */
/* corrector.c - see corrector.h. */
#include "train/predict/corrector.h"

#include <math.h>
#include <string.h>

enum { NEAREST_MAX = 100 }; /* of rules.def */

void dm_corrector_init(dm_corrector *c)
{
    memset(c, 0, sizeof *c);
}

static double normalised(const dm_corrector *c, const float *features, int i)
{
    return c->squares[i] > 0 ? features[i] / sqrt(c->squares[i]) : 0;
}

double dm_corrector_linear(const dm_corrector *c,
                           const float features[DM_DYNAMICS_ENCODER_FEATURES])
{
    double sum = c->weights[DM_DYNAMICS_ENCODER_FEATURES];
    for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++)
        sum += c->weights[i] * normalised(c, features, i);
    return sum;
}

void dm_corrector_teach(dm_corrector *c, const dm_predict_rules *rules,
                        const float features[DM_DYNAMICS_ENCODER_FEATURES], double residual)
{
    double keep = c->taught == 0 ? 0 : 0.99, length = 1;
    for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++) {
        double square = (double)features[i] * features[i];
        c->squares[i] = keep * c->squares[i] + (1 - keep) * square;
    }
    for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++)
        length += normalised(c, features, i) * normalised(c, features, i);
    /* The step is a share of the error whatever the features' length: it cannot diverge. */
    double step = rules->corrector_rate * (residual - dm_corrector_linear(c, features)) *
                  (DM_DYNAMICS_ENCODER_FEATURES + 1) /
                  fmax(length, DM_DYNAMICS_ENCODER_FEATURES + 1);
    for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++)
        c->weights[i] += step * normalised(c, features, i);
    c->weights[DM_DYNAMICS_ENCODER_FEATURES] += step;
    c->taught++;
}

double dm_corrector_correction(const dm_corrector *c, const dm_predict_rules *rules,
                               const dm_residual_store *store, uint64_t step,
                               const float features[DM_DYNAMICS_ENCODER_FEATURES], double predicted)
{
    dm_residual_match near[NEAREST_MAX];
    size_t count =
        dm_residual_store_nearest(store, features, near, (size_t)rules->corrector_nearest);
    double stored = 0, weights = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        const dm_residual *r = near[i].residual;
        double age = step > r->step ? (double)(step - r->step) : 0;
        double weight = pow(rules->corrector_age, age / 100) * r->confidence;
        stored += weight * r->residual;
        weights += weight;
        size += fabs(r->residual) / (double)count;
    }
    stored = weights > 0 ? stored / weights : 0;
    double share = rules->corrector_stored;
    double correction = share * stored + (1 - share) * dm_corrector_linear(c, features);
    correction *= 0.5 + fmin(size, 1);
    double limit = rules->corrector_limit * fabs(predicted);
    return isfinite(correction) ? fmin(fmax(correction, -limit), limit) : 0;
}
