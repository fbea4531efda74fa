/* SPDX-License-Identifier: MIT */
/* rules.h - the thresholds of the predictive trainer; rules.def has one row for each. */
#ifndef DM_TRAIN_PREDICT_RULES_H
#define DM_TRAIN_PREDICT_RULES_H

#include <dotmatrix/base.h>

#include <stdbool.h>

typedef struct dm_predict_rules {
#define UINT(name, ...) uint64_t name;
#define REAL(name, ...) double name;
#include "train/predict/rules.def"
#undef UINT
#undef REAL
} dm_predict_rules;

extern const dm_predict_rules dm_predict_rules_default;

/* What must hold between rows: thresholds in order, least lengths not above the largest. */
dm_status dm_predict_rules_check(const dm_predict_rules *rules, dm_error *err);

#endif
