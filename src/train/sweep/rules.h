/* SPDX-License-Identifier: MIT */
/* rules.h - the numbers by which a sweep decides (rules.def), and the names of its rules. */
#ifndef DM_TRAIN_SWEEP_RULES_H
#define DM_TRAIN_SWEEP_RULES_H

#include "base/json.h"

typedef enum dm_sweep_rule {
    DM_SWEEP_ALL,      /* every run to its end */
    DM_SWEEP_HALVING,  /* asynchronous successive halving */
    DM_SWEEP_FORECAST, /* forecasts where they are calibrated, halving elsewhere */
    DM_SWEEP_RULES
} dm_sweep_rule;

extern const char *const dm_sweep_rule_names[]; /* "all", "halving", "forecast"; ends with NULL */

typedef struct dm_sweep_rules {
#define UINT(name, ...) uint64_t name;
#define REAL(name, ...) double name;
#include "train/sweep/rules.def"
#undef UINT
#undef REAL
} dm_sweep_rules;

extern const dm_sweep_rules dm_sweep_rules_default;

/* The members of an object over what is there; NULL changes nothing. */
dm_status dm_sweep_rules_read(const json_t *object, const char *name, dm_sweep_rules *out,
                              dm_error *err);

/* A run's `steps` cut into about `rules->checks` stretches of *stride steps; how many. */
size_t dm_sweep_checks(const dm_sweep_rules *rules, uint64_t steps, uint64_t *stride);
/* The check that is nearest to a share of the run; at least 1. */
size_t dm_sweep_check_at(size_t checks, double share);

#endif
