/* SPDX-License-Identifier: MIT */
/* canonical.h - what is left of a kernel's text when names and constants are erased.
 *
 * Names are numbered in the order in which they appear, and numbers become one sign. Comments,
 * docstrings and spacing are dropped; keywords, builtins and types stay. A dataset holds each form
 * once: kernels with the same form would teach a model nothing new. */
#ifndef DM_SYNTH_CANONICAL_H
#define DM_SYNTH_CANONICAL_H

#include "base/buffer.h"
#include "base/hash.h"

/* Append the form, one token after the other: "@wp.kernel def 0(1:wp.array(dtype=float) ...". */
void dm_synth_canonical_form(const char *text, size_t size, dm_buffer *out);
/* The form's hash. `scratch` is the caller's, for reuse; after the call it holds the form. */
dm_hash128 dm_synth_canonical_hash(const char *text, size_t size, dm_buffer *scratch);

#endif
