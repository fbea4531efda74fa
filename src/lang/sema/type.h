/* SPDX-License-Identifier: MIT */
/* type.h - types of the dialect, interned: one object per distinct type, compared by address.
 *
 * vec, mat, quat and transform are all "numeric": `rows * cols` scalars in the C struct's member
 * `c`, so that component access and accumulation are the same for all of them. A tuple is a struct
 * whose fields are v0, v1 ... An array carries its gradient's address beside its data's.
 *
 * A generic annotation (Any, wp.array(dtype=Any), vec(length=Any, dtype=Float)) is a type too, with
 * the wildcards ANY, a scalar class or a length of 0; it matches concrete types and never reaches
 * the IR. */
#ifndef DM_LANG_TYPE_H
#define DM_LANG_TYPE_H

#include "lang/lang.h"

/*      name  C name                 letter  bytes   letter: as in vec3f, mat22d */
#define DM_SCALARS(X)                                                                              \
    X(BOOL, "bool", "bool", "b8", 1)                                                               \
    X(I8, "int8", "signed char", "b", 1)                                                           \
    X(U8, "uint8", "unsigned char", "ub", 1)                                                       \
    X(I16, "int16", "short", "s", 2)                                                               \
    X(U16, "uint16", "unsigned short", "us", 2)                                                    \
    X(I32, "int32", "int", "i", 4)                                                                 \
    X(U32, "uint32", "unsigned int", "ui", 4)                                                      \
    X(I64, "int64", "long long", "l", 8)                                                           \
    X(U64, "uint64", "unsigned long long", "ul", 8)                                                \
    X(F16, "float16", "half", "h", 2)                                                              \
    X(F32, "float32", "float", "f", 4)                                                             \
    X(F64, "float64", "double", "d", 8)

typedef enum dm_scalar {
#define X(name, warp, c, letter, bytes) DM_##name,
    DM_SCALARS(X)
#undef X
    /* wildcards */
    DM_ANY_FLOAT,
    DM_ANY_INT,
    DM_ANY_SCALAR,
} dm_scalar;

typedef enum dm_type_kind {
    DM_TYPE_NONE, /* no value */
    DM_TYPE_SCALAR,
    DM_TYPE_VEC,       /* rows */
    DM_TYPE_MAT,       /* rows, cols; row-major */
    DM_TYPE_QUAT,      /* rows 4: x y z w */
    DM_TYPE_TRANSFORM, /* rows 7: translation, then quaternion */
    DM_TYPE_ARRAY,     /* ndim, element */
    DM_TYPE_STRUCT,    /* fields */
    DM_TYPE_TUPLE,     /* fields */
    DM_TYPE_STRING,    /* a literal, for printing */
    DM_TYPE_ANY,       /* wildcard */
} dm_type_kind;

typedef struct dm_type dm_type;
typedef struct dm_field {
    const char *name;
    const char *c_name; /* in the text: another one where C does not take it */
    const dm_type *type;
    const struct dm_ast *initial; /* NULL: zero */
} dm_field;

struct dm_type {
    uint8_t kind;
    uint8_t scalar; /* of SCALAR and the numeric ones */
    uint8_t ndim;   /* ARRAY; 0: any */
    bool generic;   /* has a wildcard inside */
    bool floats;    /* holds floats that carry a gradient; an array's own elements do not count */
    int rows, cols; /* numeric; 0: any length */
    const dm_type *element;
    dm_field *fields;
    int field_count;
    const char *name;             /* as the dialect writes it, for messages */
    const char *c_name;           /* interned: "float", "vec3f", "array2_f32", a struct's name */
    const char *suffix;           /* in helpers' names: "f32", "vec3f" */
    const struct dm_scope *scope; /* STRUCT: where it was declared */
    bool own;                     /* of this compilation: a struct, a tuple, or made of one */
    uint32_t seen;                /* the last compilation that asked for it (numeric ones) */
    uint32_t declared;            /* the last text that declares it, see print_help.c */
    const char *declaration;      /* its text; NULL: not made yet, or none */
    size_t declaration_length;
    struct dm_helper *helpers; /* functions for it, see print_help.c */
    dm_type *arrays[5];        /* ARRAYs of it, by ndim */
    dm_type *next;             /* in its table or list */
    dm_type *next_seen;        /* in dm_lang.seen_types */
};

#define DM_TYPE_SLOTS 64

/* The types that no program declares: kept from one compilation to the next. */
typedef struct dm_type_table {
    bool all_double;
    const dm_type *none, *any, *string;
    const dm_type *scalars[DM_ANY_SCALAR + 1];
    dm_type *numeric[DM_TYPE_SLOTS]; /* hash table */
} dm_type_table;

/* Find or make the table. `all_double`: every float type is float64. */
void dm_types_init(dm_lang *lang, bool all_double);

const dm_type *dm_type_scalar(dm_lang *lang, dm_scalar scalar);
const dm_type *dm_type_vec(dm_lang *lang, int rows, dm_scalar scalar);
const dm_type *dm_type_mat(dm_lang *lang, int rows, int cols, dm_scalar scalar);
const dm_type *dm_type_quat(dm_lang *lang, dm_scalar scalar);
const dm_type *dm_type_transform(dm_lang *lang, dm_scalar scalar);
const dm_type *dm_type_array(dm_lang *lang, int ndim, const dm_type *element);
const dm_type *dm_type_tuple(dm_lang *lang, const dm_type *const *items, int count);
/* A new struct each time; its fields are set by the caller, then dm_type_struct_finish. */
dm_type *dm_type_struct(dm_lang *lang, const char *name);
void dm_type_struct_finish(dm_type *type);
/* Note that this compilation has a type of this name. */
void dm_type_see(dm_lang *lang, const dm_type *type);

bool dm_scalar_is_float(dm_scalar scalar);
bool dm_scalar_is_int(dm_scalar scalar); /* bool is not */
bool dm_scalar_is_signed(dm_scalar scalar);
int dm_scalar_bytes(dm_scalar scalar);

static inline bool dm_type_is_scalar(const dm_type *t)
{
    return t->kind == DM_TYPE_SCALAR;
}
static inline bool dm_type_is_numeric(const dm_type *t) /* vec, mat, quat, transform */
{
    return t->kind >= DM_TYPE_VEC && t->kind <= DM_TYPE_TRANSFORM;
}
static inline bool dm_type_is_float(const dm_type *t)
{
    return t->kind == DM_TYPE_SCALAR && dm_scalar_is_float((dm_scalar)t->scalar);
}
static inline bool dm_type_is_int(const dm_type *t)
{
    return t->kind == DM_TYPE_SCALAR && dm_scalar_is_int((dm_scalar)t->scalar);
}
/* The type with every scalar of it replaced: vec3h -> vec3f. */
const dm_type *dm_type_with_scalar(dm_lang *lang, const dm_type *type, dm_scalar scalar);
/* Does a concrete type fit an annotation that may have wildcards? */
bool dm_type_matches(const dm_type *pattern, const dm_type *type);
/* The same numbers in the same order, whatever they are called. */
int dm_type_components(const dm_type *type);
/* The number of a field, or -1. */
int dm_type_field(const dm_type *type, const char *name);
int dm_type_bytes(const dm_type *type); /* size in memory */
/* A value may not be larger: it lives in registers and on stacks. */
#define DM_TYPE_BYTES_MAX 65536
int dm_type_align(const dm_type *type);

#endif
