/* SPDX-License-Identifier: MIT */
/* module.h - one file being compiled: its scopes, kernels and functions. */
#ifndef DM_LANG_MODULE_H
#define DM_LANG_MODULE_H

#include "lang/common.h"
#include "lang/ir/ir.h"
#include "lang/sema/value.h"

typedef struct dm_define {
    const char *name, *text; /* a captured name and the expression it stands for */
} dm_define;

typedef struct dm_module_options {
    bool imports;             /* look for imported modules in files beside this one */
    bool warp_compat;         /* gradients as Warp's where they differ */
    bool keep_loops;          /* short ranges of known length stay loops, as they were written */
    bool from_inputs;         /* the backward pass gets the arrays as they were before */
    const dm_define *defines; /* for captured names that cannot be worked out */
    int define_count;
} dm_module_options;

/* A function of our library, once it was asked for. */
typedef struct dm_library_found {
    const dm_library_function *library;
    const dm_value *value;
    struct dm_library_found *next;
} dm_library_found;

/* @wp.func_grad(f), @wp.func_replay(f): a function used in place of f in the backward pass. */
typedef struct dm_custom {
    const char *target; /* the name f */
    dm_scope *scope;
    const dm_ast *ast;
    bool is_replay;
    dm_function_decl *decl; /* is_replay: made when first used */
    struct dm_custom *next;
} dm_custom;

/* A file that was imported. */
typedef struct dm_imported {
    const char *path;
    dm_scope *scope; /* NULL: there is none, or it does not parse */
    struct dm_imported *next;
} dm_imported;

typedef struct dm_lang_module {
    dm_lang *lang;
    dm_module_options options;
    dm_scope *root;
    dm_function_decl **kernels;
    int kernel_count, kernel_capacity;
    dm_ir_function *functions, *last_function; /* instances, callees before callers */
    int function_count;
    int call_depth; /* functions being compiled inside of each other */
    dm_custom *customs;
    dm_imported *imported;
    int import_count;
    int starring;   /* starred imports being searched, one inside the other */
    bool importing; /* kernels of other files are not this one's */
    dm_library_found *library_found;
    dm_scope *library; /* our own functions in the dialect; NULL until one is needed */
    const dm_value *unknown;
    const char *warp; /* the name that the file gives Warp's module, and nothing else; or NULL */
} dm_module_unit;

/* Find the scopes and kernels of a tree. */
dm_module_unit *dm_module_new(dm_lang *lang, const dm_ast *tree, const dm_module_options *options);

/* What an expression outside of kernels stands for; never NULL, UNKNOWN when it cannot be said. */
const dm_value *dm_scope_eval(dm_scope *scope, const dm_ast *ast);
/* What a name stands for at a place; NULL when nothing binds it. */
const dm_value *dm_scope_lookup(dm_scope *scope, const char *name, dm_pos pos);
/* A member of a module, class or enum; NULL when there is none. */
const dm_value *dm_value_member(dm_scope *scope, const dm_value *value, const char *name);
/* An annotation as a type, generic where it must be; NULL after an error was reported. */
const dm_type *dm_scope_annotation(dm_scope *scope, const dm_ast *ast);
/* A call of a type constructor such as array(dtype=...), vector(3, float); UNKNOWN when not. */
const dm_value *dm_scope_call(dm_scope *scope, const dm_value *callee, const dm_value *const *args,
                              const char *const *names, int count);
/* "kernel", "func", "struct" ... when one of the decorators is Warp's of that name. */
bool dm_ast_decorated(dm_scope *scope, const dm_ast *ast, const char *name, const dm_ast **call);
/* The scope of our own functions. */
dm_scope *dm_module_library(dm_module_unit *module);

dm_value *dm_value_new(dm_lang *lang, dm_value_kind kind);
const dm_value *dm_value_type(dm_lang *lang, const dm_type *type);
const dm_value *dm_value_text(dm_lang *lang, dm_value_kind kind, const char *text);
const dm_value *dm_value_int(dm_lang *lang, int64_t integer);
const dm_value *dm_value_real(dm_lang *lang, double real);

/* A number as a double; false: it is none. */
bool dm_value_number(const dm_value *value, double *out);
/* a op b as Python has it; UNKNOWN when it cannot be said. */
const dm_value *dm_value_binary(dm_scope *scope, dm_token_kind op, const dm_value *a,
                                const dm_value *b);
/* A function called on constants: of Python ("round"), of a module ("math.sqrt", "numpy.sqrt"), or,
 * where `warp` is set and the name has no module, of Warp (python.c). */
const dm_value *dm_python_call(dm_scope *scope, const char *name, bool warp,
                               const dm_value *const *args, int count);
/* What is not known here; dm_module_unit.unknown. */
const dm_value *dm_value_unknown(dm_scope *scope);
dm_scope *dm_scope_new(dm_lang *lang, dm_module_unit *module, dm_scope *parent);
/* Bind the names of a block of statements, and of the blocks inside. */
void dm_scope_fill(dm_scope *scope, const dm_ast *block);
/* dm_scope_eval, `depth` expressions deep (eval.c). */
const dm_value *dm_scope_eval_at(dm_scope *scope, const dm_ast *ast, int depth);

/* The file of a module as it is imported from this scope's file: relative to it, or in its folder
 * or one above; NULL: none (import.c). */
dm_scope *dm_import_module(dm_scope *scope, const char *dotted);
/* `name` of the module, or the module module.name; NULL when there is neither. */
const dm_value *dm_import_name(dm_scope *scope, const char *dotted, const char *name);
/* What `import module` binds. */
const dm_value *dm_import_value(dm_scope *scope, const char *module);

/* Names of Warp, of Python itself and of the modules math, numpy and typing (namespace.c). `name`
 * is interned. The last two give NULL when there is no such name. */
const dm_value *dm_namespace_warp(dm_lang *lang, const char *name);
const dm_value *dm_namespace_python(dm_lang *lang, const char *name);
const dm_value *dm_namespace_other(dm_lang *lang, const char *module, const char *name);
/* Is it something that Warp's namespace has, and that is supported? */
bool dm_namespace_has(const char *name);
/* Is it a builtin of Warp that is not supported? */
bool dm_namespace_unsupported(const char *name);
/* The supported name that `name` was probably meant to be; NULL when none is near. */
const char *dm_namespace_closest(dm_lang *lang, const char *name);

/* Compile a function for these argument types, or find it; NULL after an error. */
dm_ir_function *dm_lower_function(dm_module_unit *module, dm_function_decl *decl,
                                  const dm_call_arg *args, int count, dm_pos call);
dm_ir_function *dm_lower_kernel(dm_module_unit *module, dm_function_decl *decl);
/* The @wp.func_grad or @wp.func_replay of f; NULL: none. */
dm_custom *dm_lower_find_custom(dm_module_unit *module, const dm_ir_function *f, bool is_replay);
/* Fill the body of f's backward function from @wp.func_grad. Its first parameters are f's, then
 * come `slots`, one per parameter (NONE where it carries no gradient); `given` is the result's
 * adjoint. */
void dm_lower_custom_grad(dm_module_unit *module, const dm_ir_function *f, const dm_custom *custom,
                          dm_ir_function *made, const dm_val *slots, dm_val given);
/* The passes over one function, in their order (compile.c). Functions are compiled when they are first
 * called, so passes ask for these as well. */
void dm_passes_lowered(dm_ir_function *f); /* as soon as its body is there */
/* The backward function; NULL when there is none (with the reason in no_backward). */
dm_ir_function *dm_passes_backward(dm_module_unit *module, dm_ir_function *f);
/* The function without what it writes, for the values that the backward pass computes again. */
dm_ir_function *dm_passes_replay(dm_module_unit *module, dm_ir_function *f);

#endif
