/* SPDX-License-Identifier: MIT */
/* rewrite.h - other forms of a program with the same results, made of its text.
 *
 *     for j in range(n):       unrolled:                       unfused:
 *         w = a[i, j]              whole = n - n % 4               for j in range(n):
 *         total += w               for j in range(0, whole, 4):        w = a[i, j]
 *         square += w * w              four bodies, j to j + 3         total += w
 *                                  for j in range(whole, n):       for j in range(n):
 *                                      the body                        ...
 *
 * A range of at most eight known numbers is written out whole. The innermost loop that allows it is
 * rewritten, the first of them. That the results are the same is for the record's test to say. */
#ifndef DM_SYNTH_REWRITE_H
#define DM_SYNTH_REWRITE_H

#include "base/buffer.h"

#include <stdbool.h>

/* False, with nothing written: no loop allows it. */
bool dm_synth_unroll(const char *text, size_t size, dm_buffer *out);
/* The loop carries two numbers that do not depend on each other: one loop for each. */
bool dm_synth_unfuse(const char *text, size_t size, dm_buffer *out);

#endif
