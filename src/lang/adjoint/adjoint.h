/* SPDX-License-Identifier: MIT */
/* adjoint.h - what the files of the backward pass share:
 *
 *   adjoint.c          functions, blocks and branches; start here: its top comment explains the pass
 *   adjoint_op.c       the operations, one by one
 *   adjoint_loop.c     loops
 *   adjoint_replay.c   values that are computed again
 *   row_adjoint.c      the adjoint expressions of builtins.def as steps
 *   activity.c         which values need an adjoint at all
 *   hazard.c           reads that would give another value when they are repeated: no backward pass then
 *   tidy.c             adjoints that are added to once need no variable */
#ifndef DM_LANG_ADJOINT_H
#define DM_LANG_ADJOINT_H

#include "lang/ir/lower.h"
#include "lang/sema/builtins.h"

/* A block on its way back: what it becomes. */
typedef struct dm_adjoint_scope {
    const dm_ir_block *source;
    dm_ir_block *slots, *reverse;
    struct dm_adjoint_scope *outer;
} dm_adjoint_scope;

/* A replayed value that was used before its operation was placed, and the value that defines it. */
typedef struct dm_adjoint_alias {
    dm_val from, to;
} dm_adjoint_alias;

typedef struct dm_adjoint_state {
    dm_module_unit *module;
    dm_lang *lang;
    const dm_ir_function *f; /* without exits */
    dm_ir_builder b;
    dm_val *map;             /* value of f -> its replayed value */
    dm_val *slot;            /* value of f -> its adjoint's variable */
    dm_val *direct;          /* value of f -> its adjoint, where that is one value */
    uint8_t *uses;           /* value of f: how often its adjoint may be added to; 2: often */
    uint8_t *adds;           /* value of f: how often its variable was; 2: often, or in parts */
    int singles;             /* variables that were added to once */
    bool *touched;           /* value of f: something was added to its adjoint */
    dm_adjoint_scope **home; /* value of f -> the scope of its block; NULL: a constant */
    dm_adjoint_scope *scope; /* of the block being reversed */
    dm_val *inside;          /* value of f -> its copy, while blocks are copied; NONE otherwise */
    dm_val *copied;          /* which of them are set */
    int copied_count, copied_capacity;
    int *seen; /* value of f: the last search that met it */
    int searches;
    const char *failure;
    dm_pos failure_pos;
    dm_adjoint_alias *alias;
    int alias_count, alias_capacity;
    const char *failure_hint;
    bool compat;           /* gradients as Warp's; not in our own functions */
    const bool *active;    /* value of f: see activity.c */
    const dm_val *known;   /* value of f: see hazard.c; NULL: none */
    const char *temporary; /* "t", interned */
    dm_lower rows;         /* lowers the adjoints of rows */
} dm_adjoint_state;

static inline const dm_type *type_of(const dm_adjoint_state *a, dm_val v)
{
    return a->f->values[v].type;
}

static inline bool holds_floats(const dm_adjoint_state *a, dm_val v)
{
    const dm_type *type = type_of(a, v);
    return type->floats && type->kind != DM_TYPE_ARRAY;
}

/* Does the value have an adjoint that matters? */
static inline bool carries(const dm_adjoint_state *a, dm_val v)
{
    return a->active[v] && holds_floats(a, v);
}

/* ---- Values and adjoints (adjoint_op.c) ---- */

/* The variable that holds a value's adjoint; read it; add to it. */
dm_val dm_adjoint_slot(dm_adjoint_state *a, dm_val v);
dm_val dm_adjoint_get(dm_adjoint_state *a, dm_val v);
void dm_adjoint_add(dm_adjoint_state *a, dm_val to, dm_val value);
/* To a field, or with field < 0 to the component `index`, of an adjoint. */
void dm_adjoint_add_part(dm_adjoint_state *a, dm_val to, int field, dm_val index, dm_val value);
/* A builtin's row on values of the backward function. */
dm_val dm_adjoint_row(dm_adjoint_state *a, dm_row_number row, const dm_val *args, int count);
dm_val dm_adjoint_call(dm_adjoint_state *a, dm_row_number row, dm_val x, dm_val y);
/* Give up the backward pass. The first reason is kept. */
void dm_adjoint_fail(dm_adjoint_state *a, const dm_ir_op *op, const char *reason);
void dm_adjoint_reverse_simple(dm_adjoint_state *a, const dm_ir_op *op);
void dm_adjoint_reverse_store(dm_adjoint_state *a, const dm_ir_op *op);
void dm_adjoint_reverse_atomic(dm_adjoint_state *a, const dm_ir_op *op);
void dm_adjoint_reverse_invoke(dm_adjoint_state *a, const dm_ir_op *op);
const dm_type *dm_adjoint_stored_type(const dm_adjoint_state *a, const dm_ir_op *op);
bool dm_adjoint_has_floats(const dm_ir_function *f);

/* ---- For compile.c ---- */

/* What earlier passes found: the function without break, continue and early return (exits.c); the
 * stored value that each load is known to give (hazard.c); the values that carry gradients
 * (activity.c). */
typedef struct dm_adjoint_source {
    const dm_ir_function *plain;
    const dm_val *known;
    const bool *active;
} dm_adjoint_source;

/* The backward function; NULL: there is none, and f->no_backward says why. */
dm_ir_function *dm_adjoint(dm_module_unit *module, dm_ir_function *f,
                           const dm_adjoint_source *source);
/* The function without its writes; the one that the program gives (@wp.func_replay), NULL: none. */
dm_ir_function *dm_adjoint_replay(dm_module_unit *module, dm_ir_function *f, const dm_val *known);
dm_ir_function *dm_adjoint_custom_replay(dm_module_unit *module, dm_ir_function *f);

/* ---- Values computed again (adjoint_replay.c) ---- */

/* The replayed copy of a value. Its operation is placed later, by dm_adjoint_replay_block. */
dm_val dm_adjoint_use(dm_adjoint_state *a, dm_val v);
/* The stored value that replaces a load which cannot be repeated; NONE: the load can be repeated, or
 * its value is not known. */
dm_val dm_adjoint_known(const dm_adjoint_state *a, dm_val v);
/* Fail if the operation cannot be done again. */
void dm_adjoint_check(dm_adjoint_state *a, const dm_ir_op *op);
/* Copies of blocks: `inside` maps a value of the source to its copy. */
dm_ir_block *dm_adjoint_copy_block(dm_adjoint_state *a, const dm_ir_block *block);
void dm_adjoint_set_inside(dm_adjoint_state *a, dm_val v, dm_val copy);
void dm_adjoint_clear_inside(dm_adjoint_state *a);
/* The operations of a block that were asked for, in order. */
dm_ir_block *dm_adjoint_replay_block(dm_adjoint_state *a, const dm_ir_block *source);
void dm_adjoint_reserve_aliases(dm_adjoint_state *a, int count);

/* ---- Blocks (adjoint.c) ---- */

dm_adjoint_scope *dm_adjoint_open(dm_adjoint_state *a, const dm_ir_block *source,
                                  dm_adjoint_scope *outer);
void dm_adjoint_close(dm_adjoint_state *a, const dm_adjoint_scope *s, dm_ir_block *to);
void dm_adjoint_forget(dm_adjoint_state *a, const dm_ir_block *source);
void dm_adjoint_append(dm_adjoint_state *a, dm_ir_block *to, const dm_ir_block *from);
void dm_adjoint_reverse_block(dm_adjoint_state *a, dm_adjoint_scope *s);
/* Does the operation write floats, so that its reverse does something without any result? */
bool dm_adjoint_matters(const dm_adjoint_state *a, const dm_ir_op *op);
bool dm_adjoint_touched(const dm_adjoint_state *a, const dm_ir_op *op);

void dm_adjoint_reverse_loop(dm_adjoint_state *a, dm_adjoint_scope *outer, const dm_ir_op *op);

#endif
