/* SPDX-License-Identifier: MIT */
/* print.h - IR to text: C17 or CUDA C++, for one kernel or several, with the types, helpers and functions
 * that they use and no others. Start at dm_print_kernels (print.c).
 *
 *   print.c        order of the text, functions, the entry points
 *   print_plan.c   which values become part of an expression and which get a variable
 *   print_name.c   names of variables, functions and types
 *   print_stmt.c   statements: variables and control; print_effect.c: memory, the backward pass
 *   print_expr.c   expressions; row_text.c: the C text of builtins' rows
 *   print_bounds.c runtime checks of indices, divisors and rounds of loops
 *   print_help.c   types and helper functions, made when first used; print_atomic.c: for atomics
 *
 * The text of a kernel k, forward and backward (several kernels share the first two parts):
 *
 *   types and helpers             typedef struct vec3f { float c[3]; } vec3f; ...
 *   the functions it calls
 *   k_task(int i, ..., params)    what one thread does, as in the source
 *   k_args                        the argument block: int dim[n], then the parameters
 *   k_forward, k_backward         entry points: every thread walks its share of the tasks
 *
 * On CUDA an entry point is `extern "C" __global__ void k_forward(const k_args args)`. In C it is
 * `void k_forward(const void *args, uint64_t first, uint64_t last, uint64_t count)`, which does the
 * work of the threads first..last-1 of `count`; k_forward_args_size is the block's size in bytes.
 * dm_function_launch calls both (include/dotmatrix/device.h). */
#ifndef DM_LANG_PRINT_H
#define DM_LANG_PRINT_H

#include "lang/sema/builtins.h"
#include "lang/sema/module.h"

typedef enum dm_target { DM_TARGET_C, DM_TARGET_CUDA } dm_target;

/* What a text holds. */
typedef enum dm_passes { DM_PASS_BOTH, DM_PASS_FORWARD, DM_PASS_BACKWARD } dm_passes;

typedef struct dm_print_options {
    dm_target target;
    dm_passes passes;
    bool local;  /* C: entry points are static, for a text that calls them itself */
    bool lines;  /* comments with the source's lines */
    bool bounds; /* indices and divisors are checked: see print_bounds.c */
    int rounds;  /* with `bounds`: of all loops of a task together, at most; 0: any number */
} dm_print_options;

/* A kernel of a text; `backward` may be NULL when it is not the only pass asked for. */
typedef struct dm_print_item {
    const dm_ir_function *forward, *backward;
} dm_print_item;

/* The plan for one value of the function being printed. */
typedef struct dm_plan {
    const char *name;     /* its C variable, interned; NULL: part of an expression, or none */
    const dm_ir_op *loop; /* the innermost loop that it is defined in */
    int uses;
    int last;       /* number of the last operation that needs it */
    int def_block;  /* number of the block that defines it */
    int use_block;  /* of the block that uses it; 0: several do */
    int def_number; /* of the operation that defines it */
    bool inlined;
    bool fixed;   /* its variable stays its own */
    bool changes; /* its variable may be taken over: not const */
} dm_plan;

/* What a helper's text needs before it: a type, or another helper. */
typedef struct dm_need {
    const dm_type *type;
    struct dm_helper *helper;
} dm_need;

/* A helper function, in the list of the type or call that it belongs to. Its text is made once and
 * copied into later texts. */
typedef struct dm_helper {
    struct dm_helper *next;
    int key;           /* which one of the list: see key_of in print_help.c */
    const void *other; /* what else it is for */
    bool own;          /* of this compilation, as its type is */
    uint32_t printed;  /* the last text that has it */
    const char *name;  /* in that text */
    const char *usual; /* its name unless the program has taken it */
    const char *text;  /* with the usual name; NULL: not made yet */
    size_t length;
    const dm_need *needs;
    int need_count;
} dm_helper;

/* A helper that is being made, inside of which others may be. */
typedef struct dm_making {
    dm_helper *helper;
    size_t start; /* of its own text */
    dm_need *needs;
    int count, capacity;
    struct dm_making *outer;
} dm_making;

typedef struct dm_printer {
    dm_lang *lang;
    dm_print_options options;
    const dm_print_item *items; /* all kernels of the text */
    int item_count;
    dm_buffer *types, *helpers, *functions; /* in the order of the text */
    dm_buffer *out;                         /* where statements go now */
    int depth;
    const dm_ir_function *f;
    dm_plan *plan;
    const dm_ir_op *loop; /* the innermost one being printed */
    int number;           /* of the operation being printed, as print_plan.c counts */
    const dm_ir_function **printed;
    int printed_count, printed_capacity;
    const char *temporary;   /* "t", interned */
    uint32_t stamp;          /* number of this text, of the last attempt to make it */
    uint32_t attempts_of;    /* number of its first attempt */
    bool clashes;            /* a name of the program is that of a helper: see print_name.c */
    uint32_t function_stamp; /* of the function being printed */
    dm_making *making;       /* the innermost helper being made */
    bool uses_math, uses_stdio;
    dm_pos last_line;
} dm_printer;

/* The whole text of some kernels of one compilation, which share types, helpers and functions. */
void dm_print_kernels(dm_lang *lang, const dm_print_item *items, int count,
                      const dm_print_options *options, dm_buffer *out);

/* ---- Between the files ---- */

void dm_print_plan(dm_printer *pr, const dm_ir_function *f);
/* A name that neither C, CUDA nor this function uses already; `wanted` is interned. */
const char *dm_print_fresh(dm_printer *pr, const char *wanted);
const char *dm_print_global(dm_printer *pr, const char *wanted);
/* Names of helpers are a set of their own: is this name in it? Put it in. */
bool dm_print_is_helper(dm_printer *pr, const char *name);
void dm_print_note_helper(dm_printer *pr, const char *name);

/* One line at the current depth, ended. */
void dm_print_line(dm_printer *pr, const char *format, ...) DM_PRINTF(2, 3);
/* Give a value a variable of its own; its name. */
const char *dm_print_name(dm_printer *pr, dm_val v);
/* The statements of a block; `owner` receives the values that it yields, `loop` is the innermost
 * loop. */
void dm_print_block(dm_printer *pr, const dm_ir_block *block, const dm_ir_op *owner,
                    const dm_ir_op *loop);

/* The statement of an operation that writes memory, or that only the backward pass has; false: it is
 * neither. */
bool dm_print_effect(dm_printer *pr, const dm_ir_op *op);

/* An expression for a value, in brackets when it binds less tightly than `level`. */
void dm_print_value(dm_printer *pr, dm_buffer *out, dm_val v, int level);
void dm_print_op(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, int level);
/* `array[indices].path` as an lvalue; `gradient`: of the gradient. Arguments from args[0] on. */
void dm_print_element(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, const dm_type *array,
                      bool gradient);
/* The same as an address where there is no path, `->path` where there is one. */
void dm_print_place(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, const dm_type *array,
                    bool gradient);
void dm_print_number(dm_printer *pr, dm_buffer *out, const dm_type *type, const dm_ir_op *op);

/* Make sure the type is declared; returns its C name. */
const char *dm_print_type(dm_printer *pr, const dm_type *type);
/* Helpers: each returns the name of the function, made when new. */
const char *dm_help_row(dm_printer *pr, const dm_bind *bind);
const char *dm_help_make(dm_printer *pr, const dm_type *type);
const char *dm_help_zero(dm_printer *pr, const dm_type *type);
const char *dm_help_cast(dm_printer *pr, const dm_type *from, const dm_type *to);
const char *dm_help_at(dm_printer *pr, const dm_type *array, bool gradient);
const char *dm_help_view(dm_printer *pr, const dm_type *array, int indices);
const char *dm_help_adjoint(dm_printer *pr, const dm_type *array);
const char *dm_help_slice(dm_printer *pr, const dm_type *array, int mask);
const char *dm_help_atomic(dm_printer *pr, const char *kind, const dm_type *type);
const char *dm_help_accumulate(dm_printer *pr, const dm_type *type);
const char *dm_help_extract(dm_printer *pr, const dm_type *type);
/* The arguments that a checked access has behind its indices: the line and the array's name. */
void dm_print_site(dm_printer *pr, dm_buffer *out, const dm_ir_op *op);
/* In a helper's body: check `count` indices against the shape of `a`. */
void dm_print_check_shape(dm_printer *pr, dm_buffer *out, int count, int ndim);
/* An index of a vector's component, checked. */
void dm_print_component(dm_printer *pr, dm_buffer *out, const dm_ir_op *op, dm_val index,
                        int count);
/* A builtin's call with a runtime check: `within`, and division of integers. False: not one of
 * these, and nothing was printed. */
bool dm_print_checked_call(dm_printer *pr, dm_buffer *out, const dm_ir_op *op);
/* The first statement of a loop's body: it counts the round against options.rounds. */
void dm_print_round(dm_printer *pr, const dm_ir_op *op);
/* Before all helpers: the struct of a fault and the functions that fill it. */
void dm_print_bounds_head(dm_printer *pr, dm_buffer *out);
/* "static inline" or "static __device__ inline" */
const char *dm_print_qualifier(const dm_printer *pr);

#endif
