/* SPDX-License-Identifier: MIT */
/* describe.h - checks a record's descriptions against its compiled kernel, and completes them.
 *
 * The natural style writes a line, a paragraph and a specification (natural/words.c). Here they are
 * checked: every argument and result is named with its type, in the order of the signature, and every
 * name in back-quotes exists. Preconditions are derived from the kernel and appended.
 *
 *     One explicit step of the heat equation on a line of cells.
 *
 *     Arguments:
 *     - `heat` (array of float, 1 dimension): value in each cell
 *     - `dt` (float): time step [s]
 *
 *     Results:
 *     - `heat_next` (array of float, 1 dimension): value after the step
 *
 *     Behaviour:
 *     - The domain is periodic: the last cell is a neighbour of the first.
 *
 *     Preconditions:
 *     - `dx` must not be zero: the kernel divides by it. */
#ifndef DM_SYNTH_DESCRIBE_H
#define DM_SYNTH_DESCRIBE_H

#include "lang/ir/ir.h"
#include "synth/store/record.h"

#define DM_SYNTH_PRECONDITIONS "\nPreconditions:\n"

/* "array of vec3, 2 dimensions" */
void dm_synth_type_words(const dm_type *type, dm_buffer *out);
/* Append the preconditions, in place of those that are there. */
void dm_synth_describe_preconditions(const dm_ir_function *forward, dm_buffer *specification);
/* DM_ECOMPILE names what is not so. A record without descriptions is fine. */
dm_status dm_synth_describe_check(const dm_ir_function *forward, const dm_synth_record *record,
                                  dm_error *err);

#endif
