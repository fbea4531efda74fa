/* SPDX-License-Identifier: MIT */
/* reject.h - programs that do not compile, with what the compiler says about them.
 *
 * A good kernel is broken in one place, the way people break them: a name misspelt, an integer
 * among floats, an argument too few, a bracket lost. The compiler has to refuse the result; its
 * messages, with line, caret and hint, are the record's `diagnostics`. */
#ifndef DM_SYNTH_REJECT_H
#define DM_SYNTH_REJECT_H

#include "synth/store/record.h"

/* Fill `out` (another record) from the pair: python_source, diagnostics, kind, names, category, and
 * the pair's id with an 'r' behind it. The same seed and pair give the same program. `*made` is
 * false when no way of breaking it was found; `canonical` is the caller's to fill. */
dm_status dm_synth_reject(const dm_synth_record *pair, uint64_t seed, dm_synth_record *out,
                          bool *made, dm_error *err);

/* What the compiler says about a record's Python text; `*compiles` when it has no complaint. */
dm_status dm_synth_diagnose(const dm_synth_record *record, dm_buffer *diagnostics, bool *compiles,
                            dm_error *err);

/* The ways by number, from 0; NULL behind the last. */
const char *dm_synth_breakage(int number);
/* Break `text` in the way of that number; false when there is no place for it. */
bool dm_synth_break(const char *text, size_t size, int way, uint64_t seed, dm_buffer *out);

/* Mutations: programs that compile but are wrong, the way people get them wrong. The ways by number,
 * from 0; NULL behind the last. */
const char *dm_synth_mutation(int number);
bool dm_synth_mutate(const char *text, size_t size, int way, uint64_t seed, dm_buffer *out);

#endif
