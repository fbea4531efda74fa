/* SPDX-License-Identifier: MIT */
/* lower_call.h - a call between lower_call.c, lower_construct.c and lower_special.c. */
#ifndef DM_LANG_LOWER_CALL_H
#define DM_LANG_LOWER_CALL_H

#include "lang/ir/lower.h"

#define ARGS_MAX 256

/* A call with its arguments lowered. */
typedef struct dm_call {
    const dm_ast *ast;
    const char *name; /* as it was written, for messages */
    dm_operand *args;
    const char **names; /* keywords; NULL: by position */
    int count;
} dm_call;

static inline const dm_type *scalar(dm_lower *lw, dm_scalar which)
{
    return dm_type_scalar(lw->lang, which);
}

/* An argument as a value; false after an error. */
bool dm_call_value(dm_lower *lw, const dm_call *c, int i, dm_val *out);
/* The argument of a name or position; NULL when it is not given. */
const dm_operand *dm_call_find(const dm_call *c, int position, const char *name);
/* A literal takes the type that is wanted; other values must have it. */
bool dm_call_fit(dm_lower *lw, const dm_type *type, dm_val *value);
/* A positive constant; a type that is known while compiling, NULL: it is none. */
bool dm_call_int(dm_lower *lw, const dm_operand *operand, int *out);
const dm_type *dm_call_type(const dm_operand *operand);

/* wp.vector(1.0, 2.0), wp.matrix(..., shape=(2, 2)): the type follows from the arguments. */
dm_operand dm_lower_construct_generic(dm_lower *lw, const dm_call *c, const char *name);
/* where(condition, a, b), with a literal among a and b fitted to the other. */
dm_operand dm_lower_where(dm_lower *lw, const dm_ast *at, dm_val *args);
/* The builtin with a handler of its own, by its number in the table. */
dm_operand dm_lower_special_call(dm_lower *lw, const dm_call *c, int number);

#endif
