/* SPDX-License-Identifier: MIT */
/* trace.h - two single machines side by side, instruction by instruction, with a history of the last
 * instructions: finds the first one after which they differ.
 *
 * A HALT is one instruction, however long it lasts: references pass over it inside one call. */
#ifndef DM_LAB_TRACE_H
#define DM_LAB_TRACE_H

#include "lab/verify/verify.h"

#define DM_LAB_TRACE_LINES 32

typedef struct dm_lab_trace_line {
    uint16_t pc;
    uint8_t code[3];
    dm_lab_view after;
} dm_lab_trace_line;

typedef struct dm_lab_trace {
    dm_lab_backend sides[2]; /* reference, under test; a kind of NULL: it cannot */
    dm_lab_trace_line lines[2][DM_LAB_TRACE_LINES];
    uint64_t count; /* instructions done */
    uint64_t frame; /* frames done */
    uint32_t ignore;
} dm_lab_trace;

/* Stand-ins that can be stepped by instruction take the place of vectors: machine `machine` of a
 * swarm is one of ours alone. `has_both` is false when one side cannot. */
dm_status dm_lab_trace_create(dm_lab_trace *trace, const dm_lab_verify *v, bool *has_both,
                              dm_error *err);
void dm_lab_trace_destroy(dm_lab_trace *trace);

/* Run a whole step, fast: nothing is compared. */
dm_status dm_lab_trace_skip(dm_lab_trace *trace, uint8_t keys, dm_error *err);
/* Run a step by instruction up to the first difference; *same is true when there was none. */
dm_status dm_lab_trace_step(dm_lab_trace *trace, uint8_t keys, bool *same, dm_error *err);
/* The last instructions of both sides, disassembled. */
void dm_lab_trace_print(const dm_lab_trace *trace, dm_buffer *out);

/* Follow the verdict's machine in a verification that found a difference: find the first instruction
 * after the last comparison that agreed, and describe it with what came before. */
dm_status dm_lab_trace_explain(const dm_lab_verify *v, const dm_lab_verdict *verdict,
                               dm_buffer *out, dm_error *err);

#endif
