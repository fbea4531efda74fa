/* SPDX-License-Identifier: MIT */
/* node.h - what the files about nodes share.
 *
 *   node.c   making them      range.c  what range an operation gives
 *   facts.c  what else is known of a result     write.c  their text */
#ifndef DM_SYNTH_NODE_H
#define DM_SYNTH_NODE_H

#include "synth/gen/gen.h"

#include <math.h>

static inline dm_gen_span dm_gen_span_of(float low, float high)
{
    return (dm_gen_span){low, high};
}

/* Of numbers: one instruction, where fminf and fmaxf also know what to do with NaN. */
static inline float dm_gen_least_of(float a, float b)
{
    return a < b ? a : b;
}

static inline float dm_gen_most_of(float a, float b)
{
    return a > b ? a : b;
}

static inline dm_gen_span dm_gen_hull(dm_gen_span a, dm_gen_span b)
{
    return dm_gen_span_of(dm_gen_least_of(a.low, b.low), dm_gen_most_of(a.high, b.high));
}

/* Slopes that scaling has made smaller than this do not count. */
#define DM_GEN_GAIN_LEAST 0.02f
/* Where the variables begin in the masks of terms. */
#define DM_GEN_TERMS_SHIFT 16

/* The range of an operation on a, b and c; operands that it does not have are any others. */
dm_gen_span dm_gen_range(const dm_gen_node *n, const dm_gen_node *a, const dm_gen_node *b,
                         const dm_gen_node *c);
/* The facts of an operation's result (dependencies and others) from those of its operands. */
void dm_gen_facts(dm_gen *g, dm_gen_node *n);

#endif
