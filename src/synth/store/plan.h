/* SPDX-License-Identifier: MIT */
/* plan.h - which attempt each slot of a dataset takes, so that no two records have one canonical
 * form.
 *
 * A slot takes the first attempt whose form no earlier slot has. That depends on the seed alone, so
 * any process can decide any slot by generating (not compiling) the slots before it. A pair that
 * fails its verification is replaced by a later attempt. Each shard takes replacements from a part
 * of all forms that is reserved for it (dm_synth_plan_spare), so that shards made by different
 * processes never share a form. */
#ifndef DM_SYNTH_PLAN_H
#define DM_SYNTH_PLAN_H

#include "base/thread.h"
#include "synth/gen/generate.h"

#include <stdbool.h>

/* Attempts from here on replace pairs that failed. */
#define DM_SYNTH_ATTEMPT_SPARE 8192

typedef struct dm_synth_plan dm_synth_plan;

typedef struct dm_synth_plan_options {
    uint64_t seed, slots;
    const int *categories; /* slots take turns */
    int category_count;
    const dm_synth_profile *profile;
} dm_synth_plan_options;

/* What the options point to must outlive the plan. */
dm_status dm_synth_plan_create(const dm_synth_plan_options *options, dm_synth_plan **out,
                               dm_error *err);
void dm_synth_plan_destroy(dm_synth_plan *plan);

dm_synth_category dm_synth_plan_category(const dm_synth_plan *plan, uint64_t slot);
/* Slots that are decided: those before this. */
uint64_t dm_synth_plan_decided(const dm_synth_plan *plan);
/* The attempt of a decided slot. */
int dm_synth_plan_attempt(const dm_synth_plan *plan, uint64_t slot);
/* Decide the next slot, whose attempt has this form; false: an earlier slot has it, and another
 * attempt is to be made. */
bool dm_synth_plan_offer(dm_synth_plan *plan, int attempt, dm_hash128 form);
/* Decide all slots before `slots`, by generating them. */
dm_status dm_synth_plan_extend(dm_synth_plan *plan, uint64_t slots, dm_pool *pool, dm_error *err);
/* May a form replace a failed pair of shard `shard` of `shards`? Every slot must be decided. */
bool dm_synth_plan_spare(const dm_synth_plan *plan, dm_hash128 form, uint64_t shard,
                         uint64_t shards);

#endif
