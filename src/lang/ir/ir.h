/* SPDX-License-Identifier: MIT */
/* ir.h - the compiler's middle: SSA values in blocks that nest.
 *
 *   func scale(x: array1_f32, s: float32)          v = 3.0
 *     %2 = tid                                     for k in range(n):
 *     %3 = load %0 %2                                  v = v * x[k]
 *     %4 = call mul(%3, %1)                        ──►  %5 = for %c0 %n %c1 (%c3) {
 *     store %0 %2 %4                                      block(%k, %v): ... yield %w
 *                                                       }
 *
 * A value is a number. It is defined once, by an operation or as a parameter of a block or function,
 * and visible to the end of its block, inner blocks included. There are no jumps: IF, FOR and WHILE
 * hold blocks. Variables that a loop changes are its carried values: parameters of its block, which
 * YIELD sets for the next round, and results of the loop at its end. Values keep the names of the
 * source for the printers. ops.def lists the operations; a kernel's functions live in its dm_lang. */
#ifndef DM_LANG_IR_H
#define DM_LANG_IR_H

#include "lang/sema/type.h"

typedef enum dm_ir_kind {
#define OP(name, text, effect) DM_IR_##name,
#include "lang/ir/ops.def"
#undef OP
    DM_IR_KIND_COUNT
} dm_ir_kind;

/* Sets of kinds as bit masks: one test instead of a switch's several unpredictable branches. */
#define DM_IR_BIT(name) ((uint64_t)1 << DM_IR_##name)
_Static_assert(DM_IR_KIND_COUNT <= 64, "a set of kinds is 64 bits");
#define DM_IR_LOOPS (DM_IR_BIT(FOR) | DM_IR_BIT(WHILE))
#define DM_IR_NESTS (DM_IR_BIT(IF) | DM_IR_LOOPS)
#define DM_IR_ENDS                                                                                 \
    (DM_IR_BIT(YIELD) | DM_IR_BIT(BREAK) | DM_IR_BIT(CONTINUE) | DM_IR_BIT(RETURN) |               \
     DM_IR_BIT(COND))
#define DM_IR_CALLS (DM_IR_BIT(INVOKE) | DM_IR_BIT(REVERSE))
static inline bool dm_ir_is_in(uint64_t set, int kind)
{
    return (set >> kind & 1) != 0;
}

typedef enum dm_ir_effect { DM_IR_PURE, DM_IR_READS, DM_IR_WRITES, DM_IR_CONTROL } dm_ir_effect;

typedef struct dm_ir_info {
    const char *text;
    dm_ir_effect effect;
} dm_ir_info;
extern const dm_ir_info dm_ir_infos[];

typedef int32_t dm_val;
#define DM_VAL_NONE (-1)

typedef struct dm_ir_op dm_ir_op;
typedef struct dm_ir_block dm_ir_block;
typedef struct dm_ir_function dm_ir_function;

typedef struct dm_ir_value {
    const dm_type *type;
    const char *name; /* of the source; NULL: a temporary */
    dm_ir_op *def;    /* NULL: a parameter */
} dm_ir_value;

/* A path into an array's element: `element.field`, `element[index]`, at most this deep. */
#define DM_IR_PATH_MAX 4
typedef struct dm_ir_path {
    int count;
    int field[DM_IR_PATH_MAX]; /* -1: a component, whose index is an argument */
    const dm_type *type;       /* of what is reached */
} dm_ir_path;

typedef enum dm_hazard { DM_HAZARD_LATER = 1, DM_HAZARD_EARLIER = 2 } dm_hazard;

struct dm_ir_op {
    uint8_t kind;
    bool is_literal; /* CONST: written as a literal, which may become a component of any type */
    bool no_break;   /* FOR, WHILE: neither BREAK nor RETURN inside */
    bool may_read;   /* CALL: its row does, see builtins.h */
    bool adds;       /* INSERT: by += or -=; SLOT: starts with what is first added to it */
    uint8_t hazard;  /* reads: what is read is also written, dm_hazard; set by hazard.c */
    bool stays;      /* must stay even when its results are not used; set by dm_ir_dce */
    int arg_count, result_count;
    dm_val result; /* the first; results are consecutive */
    int inside;    /* operations in its blocks; set by print_plan.c */
    dm_pos pos;
    /* At least two entries, NONE beyond arg_count: walks read two without a test, since a loop over
     * none, one or two arguments would mispredict. Tables indexed by argument start at -1 (NONE). */
    dm_val *args;
    dm_ir_block *blocks[2];
    union {
        int64_t integer; /* CONST of an integer type */
        double real;     /* CONST of a float type */
        int index;
        const char *text;
        const struct dm_builtin *row;
        dm_ir_function *callee;
    };
    const struct dm_bind *bind; /* CALL, ATOMIC */
    const dm_ir_path *path;     /* STORE, ATOMIC, ADD and gradients; may be NULL */
};

struct dm_ir_block {
    dm_val *params;
    int param_count;
    dm_ir_op **ops;
    int count, capacity;
};

typedef enum dm_ir_role { DM_IR_KERNEL, DM_IR_FUNCTION } dm_ir_role;

/* An argument that a function was compiled for: a value of a type, or a known one (a function). */
typedef struct dm_call_arg {
    const dm_type *type;
    const struct dm_value *known;
} dm_call_arg;

struct dm_ir_function {
    dm_lang *lang;
    const char *name;         /* of the source */
    const char *base_name;    /* what it wants to be called in C */
    const char **block_names; /* KERNEL: its parameters in the argument block being printed */
    const char *entry_name;   /* KERNEL: its entry points are entry_name_forward and _backward */
    const char *c_name;       /* what it is called in the text being printed */
    dm_ir_role role;
    dm_pos pos;
    bool is_backward;
    bool is_library;
    bool has_effects; /* writes memory, itself or what it calls */
    uint64_t kinds;   /* of the operations that were ever put into it */
    /* The parameters whose arrays it reads and writes, a bit each; all bits: unknown. */
    uint64_t reads, writes;
    bool tid_used[4];
    bool *adjoint_params; /* backward FUNCTION: which parameters are adjoints, passed by address */
    int tid_count;        /* KERNEL: coordinates that tid() gives; 0: never called */
    const dm_type *result;
    dm_ir_value *values;
    int value_count, value_capacity;
    dm_ir_block *body;        /* its params are the function's */
    dm_ir_function *backward; /* FUNCTION: made on demand */
    dm_ir_function *replay;   /* without what it writes; made on demand */
    dm_ir_function *forward;  /* of a backward one */
    bool has_singles;         /* backward: adjoints that are added to once, for dm_ir_tidy */
    const char *no_backward;  /* KERNEL: why there is none */
    const char *no_replay;    /* why its value cannot be computed again */
    uint8_t *array_use;       /* per parameter: what is done with its arrays, see hazard.c */
    int order;                /* callees come before callers */
    /* sema */
    const struct dm_function_decl *decl;
    const struct dm_ast *ast;
    const dm_call_arg *call_args; /* FUNCTION */
    int call_arg_count;
    bool busy; /* being compiled: calling it now is recursion */
    bool failed;
    dm_ir_function *next;          /* all of the module */
    dm_ir_function *next_instance; /* of one declaration */
};

/* ---- Building ---- */

/* Appends to `block`; the builder folds constants and simplifies as it goes. */
typedef struct dm_ir_builder {
    dm_lang *lang;
    dm_ir_function *function;
    dm_ir_block *block;
    dm_pos pos;
} dm_ir_builder;

dm_ir_function *dm_ir_function_new(dm_lang *lang, const char *name);
void dm_ir_reserve(dm_ir_function *function, int values); /* room for so many, in a new one */
dm_ir_block *dm_ir_block_new(dm_lang *lang);
/* Note that a call with this argument may read or write the arrays in it. */
void dm_ir_note_array(dm_ir_function *function, dm_val value);
dm_val dm_ir_value_new(dm_ir_function *function, const dm_type *type, const char *name);
dm_val dm_ir_param(dm_ir_function *function, dm_ir_block *block, const dm_type *type,
                   const char *name);
dm_ir_op *dm_ir_op_new(dm_ir_builder *b, dm_ir_kind kind, const dm_val *args, int arg_count,
                       const dm_type *result);
/* Operations appended between these run only if `condition` is true; they give no values. */
typedef struct dm_ir_only {
    dm_ir_block *before;
    dm_val condition;
} dm_ir_only;
dm_ir_only dm_ir_only_if(dm_ir_builder *b, dm_val condition);
void dm_ir_only_end(dm_ir_builder *b, const dm_ir_only *only);
/* A builtin's row. */
dm_ir_op *dm_ir_call(dm_ir_builder *b, const struct dm_bind *bind, const dm_val *args, int count);
/* Room for the arguments of an op. */
dm_val *dm_ir_args(dm_lang *lang, int count);
void dm_ir_append(dm_lang *lang, dm_ir_block *block, dm_ir_op *op);
/* Room for so many more. */
void dm_ir_reserve_ops(dm_lang *lang, dm_ir_block *block, int count);

dm_val dm_ir_int(dm_ir_builder *b, const dm_type *type, int64_t value);
dm_val dm_ir_real(dm_ir_builder *b, const dm_type *type, double value);
/* The same constant in another function, or again in this one. */
dm_val dm_ir_const_copy(dm_ir_function *function, const dm_type *type, const dm_ir_op *from);
dm_val dm_ir_bool(dm_ir_builder *b, bool value);
dm_val dm_ir_zero(dm_ir_builder *b, const dm_type *type);
dm_val dm_ir_cast(dm_ir_builder *b, dm_val value, const dm_type *type);
dm_val dm_ir_make(dm_ir_builder *b, const dm_type *type, const dm_val *parts, int count);
dm_val dm_ir_extract(dm_ir_builder *b, dm_val value, dm_val index);
dm_val dm_ir_extract_at(dm_ir_builder *b, dm_val value, int index);
dm_val dm_ir_insert(dm_ir_builder *b, dm_val value, dm_val index, dm_val part);
dm_val dm_ir_field(dm_ir_builder *b, dm_val value, int field);
dm_val dm_ir_setfield(dm_ir_builder *b, dm_val value, int field, dm_val part);
dm_val dm_ir_simple(dm_ir_builder *b, dm_ir_kind kind, const dm_val *args, int count,
                    const dm_type *result);

/* ---- Asking ---- */

static inline const dm_type *dm_ir_type(const dm_ir_function *f, dm_val v)
{
    return f->values[v].type;
}
/* The CONST that defines a value, or NULL. */
const dm_ir_op *dm_ir_const(const dm_ir_function *f, dm_val v);
bool dm_ir_const_int(const dm_ir_function *f, dm_val v, int64_t *out);
dm_ir_op *dm_ir_terminator(const dm_ir_block *block); /* NULL in an unfinished one */
static inline bool dm_ir_is_terminator(int kind)
{
    return dm_ir_is_in(DM_IR_ENDS, kind);
}

/* ---- Passes (compile.c has their order) ---- */

/* Remove what nothing needs (dce.c). */
void dm_ir_dce(dm_ir_function *f);
/* Fewer variables for adjoints (tidy.c); after dm_ir_dce. */
void dm_ir_tidy(dm_ir_function *f);
/* Copy `op` to the end of the builder's block. `map` gives for each value of the source function its
 * copy (DM_VAL_NONE: none yet) and is filled in. With `pure_only` writes are left out. */
void dm_ir_clone_op(dm_ir_builder *b, const dm_ir_function *source, const dm_ir_op *op, dm_val *map,
                    bool pure_only);

/* Turn break, continue and return into data flow (exits.c), so that each block ends in YIELD and the
 * function in one RETURN; for the adjoint pass. Returns f itself when it has none of them. */
dm_ir_function *dm_ir_without_exits(dm_lang *lang, dm_ir_function *f);

/* Per value: can a gradient flow through it (activity.c)? */
bool *dm_ir_find_active(dm_lang *lang, const dm_ir_function *f);

/* Mark the reads of arrays that are written as well (hazard.c). Returns for each load's value the
 * stored value that it equals (NONE: not known); NULL: nothing was marked. */
dm_val *dm_ir_find_hazards(dm_lang *lang, const dm_ir_function *f);

/* The listing that `--emit ir` shows. */
void dm_ir_print(const dm_ir_function *f, dm_buffer *out);

#endif
