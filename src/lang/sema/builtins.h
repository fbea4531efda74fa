/* SPDX-License-Identifier: MIT */
/* builtins.h - a builtin is a row of builtins.def:
 *
 *   BUILTIN("dot(a: vec[N,S], b: vec[N,S]) -> S",             signature
 *           "{ $S s = a.c[0] * b.c[0]; ... return s; }",      C text, valid C17 and CUDA C++
 *           "a: b * g; b: a * g")                             adjoint
 *
 * Signature. Types are concrete (f32 i32 u32 bool ... str) or patterns: F any float, I any integer,
 * S any scalar, B any scalar or bool, X any type at all; vec[N,S] mat[R,C,S] quat[F] transform[F];
 * array[X] of any number of dimensions, array1[X] of one. A letter that occurs twice must be the
 * same both times; so must N, R, C, K and literal lengths. Rows of one name are overloads, tried in
 * order; there are no implicit conversions. `b: I = 0` gives a default.
 *
 * C text. Two forms:
 *
 *   "sin$f($x)"   an expression. $x is the argument x, in brackets where it needs them; $f is "f"
 *                 when F (or S) is float32, else nothing.
 *   "{ ... }"     the body of a helper function, whose head follows from the signature. Parameters
 *                 are used by their names. $ret is the C type of the result, $x that of parameter x;
 *                 $F $S $I $X are the types that the letters stand for, $N $R $C $K numbers.
 *                 $block is how many threads a block has.
 *
 * Adjoint. "x: expression" for each parameter that gets a gradient, separated by ';'. The
 * expression is dialect. Its names are the parameters, `ret` (the result) and `g` (the result's
 * adjoint), and all builtins; number literals take the type that is needed. It has the type of x.
 * "" is for results that carry no gradient (integers, comparisons, floor). What is easier written in
 * the dialect is a function in library/, whose adjoint is derived.
 *
 * A row can be called from kernels as wp.name unless its name starts with "_". Operators are rows
 * too: a + b is add(a, b), -a is neg(a), a < b is _lt(a, b); see operator_row in lower_expr.c. What
 * cannot be a row since its type rule or meaning needs code (tid, len, casts, constructors,
 * atomics, print) is in lower_special.c's table.
 *
 * float16 is a storage type: rows never see it. The lowering casts f16 arguments to f32 and the
 * result back, for scalars and for vec and mat of them. */
#ifndef DM_LANG_BUILTINS_H
#define DM_LANG_BUILTINS_H

#include "lang/ir/ir.h"

#define DM_BUILTIN_PARAMS_MAX 12
#define DM_MENTIONS_RET (1u << DM_BUILTIN_PARAMS_MAX)

/* Rows that the compiler itself asks for, by number. */
/* clang-format off */
#define DM_ROWS(X) \
    X(ADD, "add") X(SUB, "sub") X(MUL, "mul") X(DIV, "div") X(FLOORDIV, "floordiv") X(MOD, "mod") \
    X(POW, "pow") X(BIT_AND, "bit_and") X(BIT_OR, "bit_or") X(BIT_XOR, "bit_xor") \
    X(LSHIFT, "lshift") X(RSHIFT, "rshift") X(LT, "_lt") X(LE, "_le") X(GT, "_gt") X(GE, "_ge") \
    X(EQ, "_eq") X(NE, "_ne") X(AND, "_and") X(OR, "_or") X(NOT, "unot") X(NEG, "neg") \
    X(POS, "pos") X(INVERT, "invert") X(WHERE, "where") X(MIN, "min") X(MAX, "max") X(ABS, "abs") \
    X(RANGE_LENGTH, "_range_length")
/* clang-format on */
typedef enum dm_row_number {
    DM_ROW_OTHER,
#define X(number, name) DM_ROW_##number,
    DM_ROWS(X)
#undef X
        DM_ROW_COUNT
} dm_row_number;

/* A parsed pattern. */
typedef struct dm_pattern {
    uint8_t kind;              /* dm_type_kind; ANY for X */
    char scalar;               /* 'F' 'I' 'S' 'B', or 0: `fixed` */
    uint8_t fixed;             /* dm_scalar */
    char rows_name, cols_name; /* 'N' ..., or 0 */
    int rows, cols;            /* when there is no name */
    char element;              /* ARRAY: 'X'; ANY: its letter */
    int ndim;
} dm_pattern;

typedef struct dm_builtin_param {
    const char *name;
    dm_pattern pattern;
    const char *initial; /* NULL: must be given */
    const char *adjoint; /* NULL: no gradient */
    /* the same as trees, made by common.c */
    const struct dm_ast *initial_tree, *adjoint_tree;
    const struct dm_adjoint_step *steps; /* of the adjoint (row_adjoint.c); NULL: use the tree */
    int step_count;
    uint32_t mentions; /* a bit for each parameter that the adjoint reads, DM_MENTIONS_RET */
} dm_builtin_param;

/* An adjoint expression as steps on a stack of values, in the order of evaluation. */
typedef enum dm_adjoint_step_kind {
    DM_STEP_PARAM,   /* number: of the parameter */
    DM_STEP_RET,     /* the result */
    DM_STEP_G,       /* its adjoint */
    DM_STEP_INT,     /* real: the literal's value */
    DM_STEP_FLOAT,   /* real */
    DM_STEP_ROW,     /* row: called with `number` values */
    DM_STEP_COMPARE, /* number: a dm_token_kind */
    DM_STEP_WHERE,
    DM_STEP_ZERO_LIKE,
} dm_adjoint_step_kind;

typedef struct dm_adjoint_step {
    uint8_t kind, number;
    union {
        double real;
        const struct dm_builtin *row;
    };
} dm_adjoint_step;

#define DM_STEPS_MAX 32

/* C text in pieces: literal text, and placeholders with what replaces them. */
typedef enum dm_piece_kind {
    DM_PIECE_TEXT,   /* text, length */
    DM_PIECE_PARAM,  /* index: an argument (of an expression), or its type (in a body) */
    DM_PIECE_RESULT, /* the result's type */
    DM_PIECE_LETTER, /* index: what the letter stands for */
    DM_PIECE_SUFFIX, /* "f" for float32 */
    DM_PIECE_BLOCK,  /* threads of a block, which depends on the language that is printed */
} dm_piece_kind;

typedef struct dm_piece {
    uint8_t kind, index;
    uint8_t level; /* PARAM of an expression: in brackets when it binds less, see print_expr.c */
    uint16_t length;
    const char *text;
    char start[DM_NAME_PADDING]; /* of the text: most are no longer */
} dm_piece;

/* Append a piece of text; like dm_put_name. */
static inline void dm_put_piece(dm_buffer *out, const dm_piece *piece)
{
    if (piece->length > sizeof piece->start || out->capacity - out->size <= sizeof piece->start ||
        out->failed) {
        dm_buffer_append(out, piece->text, piece->length);
        return;
    }
    memcpy(out->data + out->size, piece->start, sizeof piece->start);
    out->size += piece->length;
    out->data[out->size] = 0;
}

typedef struct dm_builtin {
    const char *signature, *text, *adjoint;
    /* parsed from the above, once for the process */
    const char *name;
    dm_builtin_param params[DM_BUILTIN_PARAMS_MAX];
    int param_count;
    dm_pattern result;
    int precedence;         /* of an expression text, 0: a primary, see print_expr.c */
    const dm_piece *pieces; /* of the text; a body's are laid out in lines (row_text.c) */
    int piece_count;
    bool may_read;                   /* takes an array, or anything */
    dm_row_number number;            /* OTHER: the compiler never asks for it */
    const struct dm_builtin *compat; /* "_warp_name", its gradient as Warp's; NULL: the same */
    struct dm_builtin *next;         /* overload */
} dm_builtin;

#define DM_BIND_TYPES 6   /* F I S B X Y */
#define DM_BIND_NUMBERS 4 /* N R C K */

/* A row with its letters bound: one object for each list of argument types in a workspace. */
typedef struct dm_bind dm_bind;
struct dm_bind {
    const dm_builtin *first; /* the overload that the search began with */
    const dm_builtin *row;
    const dm_type *types[DM_BIND_TYPES];
    int numbers[DM_BIND_NUMBERS];
    const dm_type *result;
    bool own;                  /* has a type of this compilation */
    dm_bind *next;             /* in the table */
    struct dm_helper *helpers; /* its function in the text, see print_help.c */
    int count;
    const dm_type *args[];
};

/* The type or number that a letter stands for; NULL, 0: none. */
const dm_type *dm_bind_type(const dm_bind *bind, char letter);
int dm_bind_number(const dm_bind *bind, char letter);

/* Fill in a row's pieces (row_text.c). */
void dm_builtin_read_text(dm_lang *lang, dm_builtin *row);
/* The first row of a name (through `next` its overloads), or NULL. */
const dm_builtin *dm_builtin_find(const char *name);
/* The same for one that the compiler asks for. */
const dm_builtin *dm_builtin_row(dm_row_number number);
/* Fill in the steps of a row's adjoints (row_adjoint.c). */
void dm_builtin_read_adjoints(dm_lang *lang, dm_builtin *row);
/* All rows, for listings and tests. */
const dm_builtin *dm_builtin_rows(int *count);
/* The first row from `first` on that takes these arguments; NULL: none does. */
const dm_bind *dm_builtin_bind(dm_lang *lang, const dm_builtin *first, const dm_type *const *args,
                               int count);

#endif
