/* SPDX-License-Identifier: MIT */
/* value.h - what is known while compiling: constants, types, functions, modules; and the scopes of
 * a file, in which names stand for them.
 *
 * Nothing of the file is executed. A name's value is evaluated when a kernel uses it, from the
 * assignment, def, class or import that binds it (module.c). A value that cannot be evaluated, such
 * as the result of an unknown function, is UNKNOWN; that is an error only where a kernel uses it. */
#ifndef DM_LANG_VALUE_H
#define DM_LANG_VALUE_H

#include "lang/front/ast.h"
#include "lang/sema/type.h"

typedef enum dm_value_kind {
    DM_VALUE_UNKNOWN, /* text: why */
    DM_VALUE_NONE,
    DM_VALUE_BOOL,
    DM_VALUE_INT,
    DM_VALUE_FLOAT,
    DM_VALUE_STRING,
    DM_VALUE_NUMBERS,       /* a vec, mat ... constant: type, numbers */
    DM_VALUE_SCALAR,        /* a typed scalar, wp.float64(3): type, real or integer */
    DM_VALUE_TYPE,          /* type */
    DM_VALUE_ITEMS,         /* a tuple or list */
    DM_VALUE_FUNCTION,      /* a @wp.func: function, and through `next` its overloads */
    DM_VALUE_KERNEL,        /* function */
    DM_VALUE_BUILTIN,       /* text: its name; from the namespace of Warp or of Python */
    DM_VALUE_MODULE,        /* text: "warp", "warp.types", "math" ... */
    DM_VALUE_CLASS,         /* scope: its members */
    DM_VALUE_GENERIC_CLASS, /* text: "array", "vector", "matrix" ...: a type needing arguments */
} dm_value_kind;

typedef struct dm_value dm_value;
typedef struct dm_scope dm_scope;

typedef struct dm_function_decl {
    const dm_ast *ast;
    dm_scope *scope; /* where it stands */
    const char *name;
    bool is_library;                  /* of ours */
    const dm_ast *grad, *replay;      /* @wp.func_grad(f), @wp.func_replay(f) */
    const char *native;               /* @wp.func_native's snippet: not supported */
    struct dm_ir_function *instances; /* for each list of argument types so far */
} dm_function_decl;

struct dm_value {
    dm_value_kind kind;
    const dm_type *type;
    union {
        int64_t integer;
        double real;
        const char *text;
        dm_scope *scope;
        dm_function_decl *function;
    };
    const double *numbers; /* NUMBERS, row-major */
    const dm_value *const *items;
    int count;
    const dm_value *next;              /* FUNCTION: another overload */
    const struct dm_known_name *known; /* BUILTIN: what it is; NULL: nothing of ours */
};

typedef enum dm_binding_state { DM_BINDING_NEW, DM_BINDING_BUSY, DM_BINDING_DONE } dm_binding_state;

/* One way in which a scope binds a name; several are a list, in the order of the text. */
typedef struct dm_binding {
    const char *name;
    const dm_ast *ast;    /* ASSIGN, ANNOTATED, FUNCTION, CLASS, IMPORT, FROM, FOR, PARAMETER */
    const dm_ast *target; /* ASSIGN: which of the targets, FROM: which of the names */
    int position;         /* ASSIGN of a tuple: which item, else -1 */
    dm_binding_state state;
    const dm_value *value;
    struct dm_binding *next; /* the same name again */
} dm_binding;

struct dm_scope {
    dm_lang *lang;
    struct dm_lang_module *module;
    dm_scope *parent;
    dm_binding **bindings; /* hash table by the name's address */
    int count, capacity;
    bool is_class;
    bool is_flag;     /* of a class: an enumeration of bits */
    const char *file; /* of a file's own scope: its path */
};

#endif
