/* SPDX-License-Identifier: MIT */
/* expression.h - what the files that grow expressions share; gen.h has what statements use of them.
 *
 *   domain.c      values in the domains of operations, products and sums that do not cancel
 *   leaf.c        variables, elements, numbers
 *   expression.c  scalars
 *   vector.c      vectors, matrices, quaternions
 *   integer.c     integers, conditions
 *   complete.c    from one type to another; what an output still lacks */
#ifndef DM_SYNTH_EXPRESSION_H
#define DM_SYNTH_EXPRESSION_H

#include "synth/gen/gen.h"

static inline dm_gen_type dm_gen_type_at(dm_gen *g, int node)
{
    return dm_gen_at(g, node)->type;
}

static inline float dm_gen_most_at(dm_gen *g, int node)
{
    return dm_gen_most(dm_gen_at(g, node)->span);
}

static inline dm_gen_type dm_gen_scalar_of(dm_gen_type type)
{
    return dm_gen_type_of(DM_GEN_SCALAR, dm_gen_kind(type));
}

/* ---- domain.c ---- */

int dm_gen_some_constant(dm_gen *g, int kind, float low, float high);
int dm_gen_factor(dm_gen *g, dm_gen_type type);
/* A vector with the scalar as its first component. */
int dm_gen_splat(dm_gen *g, dm_gen_type type, int scalar);
int dm_gen_positive(dm_gen *g, int node, float least);
int dm_gen_divisor(dm_gen *g, int node);
int dm_gen_capped(dm_gen *g, int node);
bool dm_gen_same(dm_gen *g, int a, int b);
int dm_gen_stripped(dm_gen *g, int node);
/* Does a term of `a` take one of `b` away, or a factor? */
bool dm_gen_cancels(dm_gen *g, dm_gen_op op, int a, int b);
bool dm_gen_is_constant(dm_gen *g, int node);
/* A value that is not made of numbers alone. */
int dm_gen_varying(dm_gen *g, dm_gen_type type, int size);
void dm_gen_operands(dm_gen *g, dm_gen_type a_type, dm_gen_type b_type, int size, int *a, int *b);
int dm_gen_product(dm_gen *g, dm_gen_type type, int a, int b);
int dm_gen_combined(dm_gen *g, dm_gen_op op, int a, int b);

/* ---- leaf.c ---- */

int dm_gen_some_leaf(dm_gen *g, dm_gen_type type, bool constant);
dm_gen_variable *dm_gen_some_variable(dm_gen *g, dm_gen_type type);

/* ---- expression.c ---- */

int dm_gen_linear(dm_gen *g, dm_gen_type type, int size, dm_gen_op op);
int dm_gen_fraction(dm_gen *g, dm_gen_type type);
int dm_gen_selection(dm_gen *g, dm_gen_type type, int size);
/* A function of the file that gives the type; -1 when there is none. */
int dm_gen_call(dm_gen *g, dm_gen_type type, int size);

/* ---- vector.c, integer.c ---- */

int dm_gen_vector_value(dm_gen *g, dm_gen_type type, int size);
int dm_gen_matrix_value(dm_gen *g, dm_gen_type type, int size);
int dm_gen_quat_value(dm_gen *g, dm_gen_type type, int size);
int dm_gen_integer_value(dm_gen *g, dm_gen_type type, int size);

#endif
