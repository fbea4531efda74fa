/* SPDX-License-Identifier: MIT */
/* common.h - what all compilations share: made once for the process, then only read, by any number
 * of threads.
 *
 *   names      keywords, names of Warp's namespace, parameters of builtins. They are interned with
 *              their meaning, so that a compilation needs no further lookup
 *   trees      our own texts, parsed: adjoint expressions of rows, functions of library/
 *
 * A compilation's own names and trees lie in its arena. It uses the common name where there is one,
 * so that names can be compared by address. Positions in our texts start at DM_POS_COMMON. */
#ifndef DM_LANG_COMMON_H
#define DM_LANG_COMMON_H

#include "lang/front/ast.h"
#include "lang/sema/builtins.h"

typedef struct dm_library_function {
    const dm_ast *ast;
    const struct dm_library_function *next; /* overload */
} dm_library_function;

typedef enum dm_known_kind {
    DM_KNOWN_BUILTIN, /* row, special, library: what it is; all empty: not supported */
    DM_KNOWN_SCALAR,  /* scalar */
    DM_KNOWN_NUMERIC, /* type_kind, rows, cols, scalar */
    DM_KNOWN_NUMBER,  /* real */
    DM_KNOWN_MODULE,  /* wp.types, wp.math: the namespace itself */
    DM_KNOWN_GENERIC, /* array, vec ...: a type that needs arguments */
} dm_known_kind;

/* What `wp.name` is. */
typedef struct dm_known_name {
    uint8_t kind, type_kind, scalar, rows, cols;
    bool python; /* a name of Python's own, without "wp." */
    int special; /* number in the table of lower_special.c; -1: none */
    double real;
    const dm_builtin *row; /* the first overload */
    const dm_library_function *library;
} dm_known_name;

struct dm_common {
    dm_lang lang; /* its names and sources */
};

/* NULL when there is no memory for it. */
const dm_common *dm_common_get(void);

/* Look a name up in Warp's namespace (namespace.c), to make a dm_known_name. */
dm_known_name dm_namespace_read(const char *name);
/* Calls `each` with every name that the namespace has, other than builtins. */
void dm_namespace_names(void (*each)(void *context, const char *name), void *context);
/* The number of a builtin with a handler of its own, -1 when it has none. */
int dm_lower_special(const char *name);
const char *dm_lower_special_name(int number); /* NULL behind the last */
/* Record in a name whether it can be used in C unchanged (print_name.c). */
void dm_print_name_in_c(dm_lang_name *name);
/* What a struct and a field of these names are called in C; interned. */
const char *dm_print_struct_name(dm_lang *lang, const char *wanted);
const char *dm_print_field_name(dm_lang *lang, const char *wanted);
/* Parse the adjoints and defaults of all rows. */
void dm_builtin_parse(dm_lang *lang);

#endif
