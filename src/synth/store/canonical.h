/* SPDX-License-Identifier: MIT */
/* canonical.h - what is left of a kernel's text when names and constants are erased.
 *
 * Names are numbered in the order in which they appear, numbers become one sign, comments,
 * docstrings and spacing go; keywords, builtins and types stay. Two kernels with the same form
 * differ in nothing that a model could learn from, and a dataset holds each form once. */
#ifndef DM_SYNTH_CANONICAL_H
#define DM_SYNTH_CANONICAL_H

#include "base/buffer.h"
#include "base/hash.h"

/* Append the form, one token after the other: "@wp.kernel def 0(1:wp.array(dtype=float) ...". */
void dm_synth_canonical_form(const char *text, size_t size, dm_buffer *out);
/* Its hash. `scratch` is the caller's, reused from call to call; after the call it holds the form.
 */
dm_hash128 dm_synth_canonical_hash(const char *text, size_t size, dm_buffer *scratch);

#endif
