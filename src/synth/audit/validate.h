/* SPDX-License-Identifier: MIT */
/* validate.h - is a dataset what it says it is?
 *
 * A dataset of ours is checked completely:
 *
 *   manifest   shards, their sizes and sums; stats.json
 *   schema     every line is a record, written as this version writes it
 *   structure  ids and canonical forms are unique, categories balanced, counts of lines right
 *   texts      compiling python_source again gives the same texts, byte for byte; a rejected program
 *              is refused with the same messages; the generator gives the same program again
 *   meaning    the verifier (verify.h) at the level that is asked for, on all records or a sample
 *
 * Others' data (no manifest.json) is checked as far as its fields allow; the notes list the checks
 * that were not possible. */
#ifndef DM_SYNTH_VALIDATE_H
#define DM_SYNTH_VALIDATE_H

#include "synth/store/record.h"

typedef struct dm_synth_validate_options {
    const char *path;
    dm_synth_level level;
    uint64_t sample; /* how many records the verifier takes; 0: all */
    uint64_t seed;   /* of the sample */
    int jobs;        /* threads; 0: one per CPU */
    bool quiet;      /* no progress bar */
} dm_synth_validate_options;

#define DM_SYNTH_PROBLEMS_MAX 200 /* that are kept; all are counted */

typedef struct dm_synth_report {
    uint64_t records, pairs, rejected;
    uint64_t verified; /* pairs that the verifier took */
    uint64_t distinct; /* canonical forms of pairs */
    uint64_t by_category[DM_SYNTH_CATEGORY_COUNT];
    bool ours;
    uint64_t problem_count;
    char *problems[DM_SYNTH_PROBLEMS_MAX]; /* one line each, in the order of the data */
    dm_buffer notes;                       /* lines: what was not checked, and why */
} dm_synth_report;

/* DM_OK when the check could be made, whatever it found; DM_EFORMAT without a record. The report
 * must be freed in any case. */
dm_status dm_synth_validate(const dm_synth_validate_options *options, dm_synth_report *report,
                            dm_error *err);
void dm_synth_report_free(dm_synth_report *report);

#endif
