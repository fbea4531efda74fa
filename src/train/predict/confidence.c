/* SPDX-License-Identifier: MIT */
/* confidence.c - see confidence.h. */
#include "train/predict/confidence.h"

#include <math.h>
#include <string.h>

void dm_predict_confidence_init(dm_predict_confidence *c)
{
    memset(c, 0, sizeof *c);
}

void dm_predict_confidence_loss(dm_predict_confidence *c, const dm_predict_rules *rules,
                                double loss)
{
    if (!isfinite(loss))
        return;
    if (c->losses++ == 0) {
        c->fast = c->slow = loss;
        return;
    }
    c->fast += rules->confidence_fast * (loss - c->fast);
    c->slow += rules->confidence_slow * (loss - c->slow);
}

void dm_predict_confidence_error(dm_predict_confidence *c, double error)
{
    /* An error of NaN or infinity counts as a very large one, so that the sum stays a number. */
    c->errors[c->error_count++ % DM_CONFIDENCE_ERRORS] = isfinite(error) ? fabs(error) : 1e30;
}

double dm_predict_history(const dm_predict_confidence *c, const dm_predict_rules *rules)
{
    if (c->error_count < rules->confidence_errors)
        return 0.7;
    uint64_t count = c->error_count < DM_CONFIDENCE_ERRORS ? c->error_count : DM_CONFIDENCE_ERRORS;
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += c->errors[i];
    return fmin(0.99, 1 / (1 + sum / (double)count));
}

double dm_predict_stability(const dm_predict_confidence *c)
{
    if (c->losses == 0 || !(c->slow > 0))
        return 0.5;
    return fmax(0.5, 1 / (1 + 2 * fabs(c->fast - c->slow) / c->slow));
}

double dm_predict_confidence_value(const dm_predict_confidence *c, const dm_predict_rules *rules,
                                   double spread)
{
    double sure = isfinite(spread) && spread >= 0 ? 1 / (1 + spread) : 0;
    return 0.4 * sure + 0.4 * dm_predict_history(c, rules) + 0.2 * dm_predict_stability(c);
}
