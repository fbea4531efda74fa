/* SPDX-License-Identifier: MIT */
/* extra.h - optional parts of a record: a broken form to be repaired, slower and faster forms with the
 * same results, PTX and the resources of machine code.
 *
 *     dm_extra_break    a mutation that compiles, to be run on the test's cases; or one that does not
 *     dm_extra_forms    slower, unrolled and unfused texts, to be run likewise
 *     (the verifier compiles all beside the pair and runs them)
 *     dm_extra_settle   keeps a broken form with its symptom, and other forms that pass the test
 *
 * The results depend on the record and its seed alone. */
#ifndef DM_SYNTH_EXTRA_H
#define DM_SYNTH_EXTRA_H

#include "synth/store/record.h"

enum { DM_EXTRA_BROKEN, DM_EXTRA_SLOWER, DM_EXTRA_UNROLLED, DM_EXTRA_UNFUSED, DM_EXTRA_COUNT };

typedef struct dm_extra {
    dm_buffer source, c_text; /* c_text: its forward pass; empty: there is nothing to run */
    const char *mutation;
} dm_extra;

void dm_extra_deinit(dm_extra *extra);
/* Clear the parts that an earlier verification added; texts that existed before it stay. */
void dm_extra_clear(dm_synth_record *record);

dm_status dm_extra_break(const dm_synth_record *record, uint64_t seed, bool can_run,
                         dm_extra *extra, dm_error *err);
void dm_extra_forms(const dm_synth_record *record, dm_extra extras[DM_EXTRA_COUNT]);
/* `symptoms`: what the test says of each form that ran ("": nothing is wrong); NULL: it did not run. */
dm_status dm_extra_settle(dm_synth_record *record, const dm_extra extras[DM_EXTRA_COUNT],
                          const char *const symptoms[DM_EXTRA_COUNT], uint64_t seed, bool repairs,
                          dm_error *err);

/* PTX of cuda_forward, and what its machine code for compute capability 9.0 takes. */
dm_status dm_extra_machine_code(dm_synth_record *record, const char *entry, dm_error *err);

#endif
