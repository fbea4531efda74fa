/* SPDX-License-Identifier: MIT */
/* tally.h - counts over records: the contents of stats.json.
 *
 * Tallies can be added, so that a shard is counted when it is made and never read again. */
#ifndef DM_SYNTH_TALLY_H
#define DM_SYNTH_TALLY_H

#include "base/json.h"
#include "synth/store/record.h"

#define DM_SYNTH_TALLY_LINES 12  /* steps of 8 lines; the last: or more */
#define DM_SYNTH_TALLY_ERRORS 13 /* 0, then below 1e-12 ... below 1e-2, then the rest */
#define DM_SYNTH_TALLY_FEATURES 24

typedef struct dm_synth_tally {
    uint64_t pairs, rejected;
    uint64_t with_backward;
    uint64_t duplicates; /* slots whose first attempt had a form that was there already */
    uint64_t replaced;   /* slots whose pair failed its verification */
    uint64_t by_category[DM_SYNTH_CATEGORY_COUNT];
    uint64_t by_level[DM_SYNTH_VERIFY_FULL + 1];
    uint64_t python_lines, forward_lines, backward_lines;    /* sums */
    uint64_t lengths[DM_SYNTH_TALLY_LINES];                  /* of Python texts */
    uint64_t features[DM_SYNTH_TALLY_FEATURES];              /* pairs that have it */
    uint64_t errors[DM_SYNTH_TALLY_ERRORS];                  /* of gradients */
    uint64_t programs;                                       /* of several kernels */
    uint64_t cheats, mutants, noticed, edges, edges_noticed; /* of the records' tests */
} dm_synth_tally;

void dm_synth_tally_add(dm_synth_tally *tally, const dm_synth_record *record);
void dm_synth_tally_merge(dm_synth_tally *into, const dm_synth_tally *other);
/* Members of an object that is open. */
void dm_synth_tally_write(const dm_synth_tally *tally, dm_json *json);
/* What was written, out of an object; false when something is missing. */
bool dm_synth_tally_read(dm_synth_tally *tally, json_t *object);

#endif
