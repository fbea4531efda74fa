/* SPDX-License-Identifier: MIT */
/* validate_internal.h - what the validator's files share.
 *
 *   validate.c         the dataset as a whole: files, batches, sets, balance
 *   validate_record.c  one line: schema, texts made again
 *   validate_meta.c    manifest.json and stats.json
 *   validate_others.c  data of others */
#ifndef DM_SYNTH_VALIDATE_INTERNAL_H
#define DM_SYNTH_VALIDATE_INTERNAL_H

#include "synth/audit/validate.h"
#include "synth/check/compile.h"
#include "synth/check/verify.h"
#include "synth/gen/generate.h"
#include "synth/store/dataset.h"
#include "synth/store/tally.h"

/* A line on its way. */
typedef struct dm_synth_entry {
    const char *file, *line;
    size_t size;
    int number;   /* of the line, from 1 */
    bool sampled; /* for the verifier */
    dm_synth_record record;
    bool readable;      /* the record was read */
    dm_buffer problems; /* lines */
} dm_synth_entry;

void dm_synth_entry_problem(dm_synth_entry *entry, const char *format, ...) DM_PRINTF(2, 3);

/* What one thread needs. */
typedef struct dm_synth_worker {
    dm_synth_compiler *compiler;
    dm_synth_verifier *verifier;   /* NULL at level none */
    dm_synth_generator *generator; /* NULL: programs are not made again */
    dm_synth_tally tally;
    dm_synth_record again, broken;
    dm_buffer scratch;
} dm_synth_worker;

void dm_synth_report_problem(dm_synth_report *report, const char *format, ...) DM_PRINTF(2, 3);

/* What a manifest says, as far as single records depend on it. */
typedef struct dm_synth_claims {
    uint64_t seed, count, shard_lines;
    int categories[DM_SYNTH_CATEGORY_COUNT];
    int category_count;
    bool cuda, c, ir, reference, rejected, repairs, slower, ptx, timing, compressed, warp,
        warp_names;
    dm_synth_level level;
    bool generates;    /* by this generator and profile: programs can be made again */
    int32_t *attempts; /* of the pairs of all slots, as they are read; -1: not yet */
} dm_synth_claims;

/* Read them; what is wrong with the manifest itself goes to the report. False: nothing can be
 * checked against it. */
/* Also sets the profile's style. */
bool dm_synth_claims_read(const json_t *manifest, dm_synth_profile *profile,
                          dm_synth_claims *claims, dm_synth_report *report);
/* The slot that an id names; false when it is none of this dataset's. */
bool dm_synth_claims_slot(const dm_synth_claims *claims, const dm_synth_record *record,
                          uint64_t *slot);
/* A shard's size, sum and count of records. */
void dm_synth_check_shard(const json_t *manifest, size_t number, const dm_synth_file *file,
                          dm_synth_report *report);
/* Everything about one line of ours but the verifier. */
dm_status dm_synth_check_line(dm_synth_worker *worker, const dm_synth_claims *claims,
                              dm_synth_entry *entry, dm_error *err);
/* All of manifest.json and stats.json, after all shards. */
void dm_synth_check_meta(const dm_synth_dataset *dataset, const dm_synth_claims *claims,
                         const dm_synth_tally *tally, dm_synth_report *report);

dm_status dm_synth_validate_others(const dm_synth_validate_options *options,
                                   const dm_synth_dataset *dataset, dm_synth_report *report,
                                   dm_error *err);

#endif
