/* SPDX-License-Identifier: MIT */
/* trace.h - where the time of a run goes, as a Chrome trace (chrome://tracing, ui.perfetto.dev).
 *
 *     uint64_t begun = dm_trace_now(trace);
 *     ...
 *     dm_trace_span(trace, "forecast", begun);
 *
 * One event a line, written when it ends, so that a killed run leaves a file that viewers read (they
 * do not need the closing bracket). All calls accept NULL and do nothing. One thread. */
#ifndef DM_TRAIN_TRACE_H
#define DM_TRAIN_TRACE_H

#include <dotmatrix/base.h>

typedef struct dm_trace dm_trace;

dm_status dm_trace_open(const char *path, dm_trace **out, dm_error *err);
/* DM_EIO when something could not be written. */
dm_status dm_trace_close(dm_trace *trace, dm_error *err);
uint64_t dm_trace_now(const dm_trace *trace);
/* From `begun` until now; `name` is a constant without quotes. */
void dm_trace_span(dm_trace *trace, const char *name, uint64_t begun);

#endif
