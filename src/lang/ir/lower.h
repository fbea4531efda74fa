/* SPDX-License-Identifier: MIT */
/* lower.h - syntax tree to IR; types are found on the way. Start at dm_lower_kernel (lower.c).
 *
 *   lower.c            variables, statements, functions     lower_flow.c    branches, loops
 *   lower_expr.c       expressions                          lower_index.c   attributes, indexing
 *   lower_call.c       calls                                lower_construct.c  of types
 *   lower_special.c    builtins that are no rows            lower_place.c   what is assigned to
 *   lower_grad.c       custom gradients, rows' adjoints     fold.c          constants
 *
 * A local name is a variable, and its current value is an SSA value. Both branches of an `if` start
 * from the same values and are merged at its end. A log of changes (`undo`) makes the merge cost as
 * much as the branches changed, whatever the number of variables. */
#ifndef DM_LANG_LOWER_H
#define DM_LANG_LOWER_H

#include "lang/sema/builtins.h"
#include "lang/sema/module.h"

typedef enum dm_operand_kind {
    DM_OPERAND_ERROR, /* reported already: whatever uses it is silent */
    DM_OPERAND_VALUE, /* value */
    DM_OPERAND_KNOWN, /* known: a type, function, module, string ... */
    DM_OPERAND_ITEMS, /* several: a tuple, a shape */
} dm_operand_kind;

typedef struct dm_operand dm_operand;
struct dm_operand {
    dm_operand_kind kind;
    dm_val value;
    const dm_value *known;
    const dm_operand *items;
    int count;
};

#define DM_OPERAND_BAD ((dm_operand){.kind = DM_OPERAND_ERROR, .value = DM_VAL_NONE})

typedef struct dm_variable {
    const char *name;
    dm_operand now;      /* its value at this point; ERROR kind and no value: not set yet */
    const dm_type *type; /* of its first value; kept */
    bool bad;            /* its value had an error */
    int mark;            /* stamp of the merge that saw it last, see lower.c */
    int changed[2];      /* its place among that merge's changes + 1; 0: not changed there */
} dm_variable;

typedef struct dm_undo {
    int variable;
    dm_operand before;
} dm_undo;

/* An exit of the loop being lowered: its jump, and the values that it carries out. */
typedef struct dm_exit {
    dm_ir_op *op;
    dm_val *late; /* values of `late` variables here */
} dm_exit;

typedef struct dm_loop {
    int *carried; /* variables set before the loop and changed in it */
    int carried_count;
    int *late; /* variables first set in the loop: carried out of it if they are used later */
    int late_count;
    dm_exit *exits;
    int exit_count, exit_capacity;
    struct dm_loop *outer;
} dm_loop;

typedef struct dm_lower {
    dm_ir_builder b;
    dm_lang *lang;
    dm_module_unit *module;
    dm_scope *scope;
    dm_ir_function *function;
    dm_variable *variables;
    int variable_count, variable_capacity;
    int *slots; /* hash table: name to variable + 1 */
    int slot_capacity;
    dm_undo *undo;
    int undo_count, undo_capacity;
    dm_loop *loop;
    bool ended; /* behind a return, break or continue: what follows is not compiled */
    /* Adjoint expressions: the names that are bound, and number literals take the type of what they
     * meet. */
    bool weak;
    const char *const *bound_names;
    const dm_val *bound;
    int bound_count;
    int marks;      /* merges so far */
    bool adding;    /* the assignment is that of += or -= */
    int tid_wanted; /* how many values an assignment wants of tid() */
} dm_lower;

/* ---- Shared ---- */

dm_operand dm_lower_value_operand(dm_val value);
dm_operand dm_lower_known(const dm_value *known);
/* Every error goes through here. */
dm_operand dm_lower_error(dm_lower *lw, const dm_ast *at, const char *hint, const char *format, ...)
    DM_PRINTF(4, 5);
const dm_type *dm_lower_type(const dm_lower *lw, dm_val value);
/* "float32", "vec3f" ... of any operand, for messages. */
const char *dm_lower_describe(dm_lower *lw, const dm_operand *operand);
/* The operand as one IR value; false after an error. Constants become CONST, tuples MAKE. */
bool dm_lower_materialize(dm_lower *lw, const dm_ast *at, const dm_operand *operand, dm_val *out);
bool dm_lower_value(dm_lower *lw, const dm_ast *ast, dm_val *out);
/* As bool: numbers compare with zero, arrays ask for data. */
bool dm_lower_truth(dm_lower *lw, const dm_ast *at, dm_val value, dm_val *out);

int dm_lower_variable(dm_lower *lw, const char *name);            /* made when new */
int dm_lower_find_variable(const dm_lower *lw, const char *name); /* -1: none */
void dm_lower_set(dm_lower *lw, int variable, dm_operand value);

/* Ready to lower into a function's body. */
void dm_lower_start(dm_lower *lw, dm_module_unit *module, dm_scope *scope, dm_ir_function *f);
void dm_lower_block(dm_lower *lw, const dm_ast *block);

/* ---- Branches and loops (lower_flow.c) ---- */

void dm_lower_if(dm_lower *lw, const dm_ast *ast);
void dm_lower_while(dm_lower *lw, const dm_ast *ast);
void dm_lower_for(dm_lower *lw, const dm_ast *ast);
/* End the current block by leaving or repeating the loop. */
void dm_lower_exit(dm_lower *lw, dm_loop *loop, dm_ir_kind kind);

/* ---- Expressions ---- */

dm_operand dm_lower_expr(dm_lower *lw, const dm_ast *ast);
/* Builtin rows: operators and functions. `at` is for messages; `shown` how it was written. */
dm_operand dm_lower_builtin(dm_lower *lw, const dm_ast *at, const dm_builtin *first,
                            const dm_val *args, int count, const char *shown);
dm_val dm_lower_row(dm_lower *lw, const dm_bind *bind, const dm_val *args, int count);
/* Number literals, and two values compared after they have a common type. */
dm_val dm_lower_int_literal(dm_lower *lw, int64_t number);
dm_val dm_lower_real_literal(dm_lower *lw, double number);
bool dm_lower_compare(dm_lower *lw, const dm_ast *at, dm_token_kind op, dm_val a, dm_val b,
                      dm_val *out);
const dm_builtin *dm_lower_operator(dm_token_kind op); /* '+' -> "add"; NULL: none */
dm_operand dm_lower_binary(dm_lower *lw, const dm_ast *at, dm_token_kind op, dm_val a, dm_val b);
dm_operand dm_lower_index(dm_lower *lw, const dm_ast *at, dm_val base, const dm_ast *const *indices,
                          int count);
dm_operand dm_lower_attribute(dm_lower *lw, const dm_ast *at, const dm_operand *base,
                              const char *name);
/* `a[i]`, `a[i, j]`, `a[1:3]` as a value. */
dm_operand dm_lower_subscript(dm_lower *lw, const dm_ast *ast);
/* Which component a letter is: x y z w; -1 when none. */
int dm_lower_component(const dm_type *type, const char *name);

/* ---- Calls ---- */

dm_operand dm_lower_call(dm_lower *lw, const dm_ast *ast);
dm_operand dm_lower_construct(dm_lower *lw, const dm_ast *at, const dm_type *type,
                              const dm_operand *args, const char *const *names, int count);
dm_operand dm_lower_call_user(dm_lower *lw, const dm_ast *at, const dm_value *callee,
                              const dm_operand *args, const char *const *names, int count);

/* ---- Places (lower_place.c) ---- */

void dm_lower_assign(dm_lower *lw, const dm_ast *target, dm_operand value, const dm_ast *at);
void dm_lower_augmented(dm_lower *lw, const dm_ast *ast);

/* An array's element, or a part of it. */
typedef struct dm_place {
    dm_val array;
    dm_val args[4 + DM_IR_PATH_MAX]; /* indices, then the path's */
    int index_count, arg_count;
    dm_ir_path path;
} dm_place;
/* Find the place of `a[i]`, `a[i].x` ...; false when the expression is no such place (no error) or
 * had an error (*bad). */
bool dm_lower_place(dm_lower *lw, const dm_ast *ast, dm_place *out, bool *bad);
dm_ir_op *dm_lower_place_op(dm_lower *lw, dm_ir_kind kind, const dm_place *place,
                            const dm_val *values, int count, const dm_type *result);

/* ---- Constants (fold.c) ---- */

/* The value of a row on constants; false when it is not known. */
bool dm_fold(dm_ir_builder *b, const dm_bind *bind, const dm_val *args, int count, dm_val *out);

/* One expression of a builtin's adjoint. `lw` is at the place where it goes; the values belong to
 * the row's parameters (NONE: not mentioned), its result and the result's adjoint. */
typedef struct dm_adjoint_values {
    dm_val params[DM_BUILTIN_PARAMS_MAX];
    dm_val ret, g;
} dm_adjoint_values;
bool dm_lower_adjoint(dm_lower *lw, const dm_builtin *row, const dm_builtin_param *param,
                      const dm_adjoint_values *values, const dm_type *wanted, dm_val *out);

#endif
