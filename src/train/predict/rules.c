/* SPDX-License-Identifier: MIT */
/* rules.c - see rules.h. */
#include "train/predict/rules.h"

const dm_predict_rules dm_predict_rules_default = {
#define UINT(name, value, ...) value,
#define REAL(name, value, ...) value,
#include "train/predict/rules.def"
#undef UINT
#undef REAL
};

/* Pairs of rows of which the first may not be larger than the second. */
#define ORDER(a, b)                                                                                \
    {                                                                                              \
#a, #b, (double)rules->a, (double)rules->b                                                 \
    }

dm_status dm_predict_rules_check(const dm_predict_rules *rules, dm_error *err)
{
    const struct {
        const char *low, *high;
        double a, b;
    } pairs[] = {
        ORDER(predict_least, predict_most),
        ORDER(confidence_slow, confidence_fast),
        ORDER(monitor_loss_caution, monitor_loss_warning),
        ORDER(monitor_loss_warning, monitor_loss_critical),
        ORDER(monitor_norm_warning, monitor_norm_critical),
        ORDER(monitor_error_caution, monitor_error_warning),
        ORDER(monitor_signs_caution, monitor_signs_warning),
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i].a > pairs[i].b)
            return dm_fail(err, DM_EINVAL, "predict: %s is %g, above %s, which is %g", pairs[i].low,
                           pairs[i].a, pairs[i].high, pairs[i].b);
    return DM_OK;
}
