/* SPDX-License-Identifier: MIT */
/* ast.h - the syntax tree. One node type; the table says what each kind keeps in which field.
 *
 * The parser reads all of Python, since kernels are written in ordinary Python files. A construct
 * that no kernel can use (lambda, comprehensions, try ...) becomes OPAQUE. The blocks inside it are
 * kept, because they may define kernels. */
#ifndef DM_LANG_AST_H
#define DM_LANG_AST_H

#include "lang/front/token.h"

/*      kind          fields */
#define DM_AST_KINDS(X)                                                                            \
    /* Expressions */                                                                              \
    X(NAME)   /* name */                                                                           \
    X(INT)    /* integer */                                                                        \
    X(FLOAT)  /* real */                                                                           \
    X(STRING) /* name: its text */                                                                 \
    X(BOOL)   /* integer: 0 or 1 */                                                                \
    X(NONE)                                                                                        \
    X(ELLIPSIS)                                                                                    \
    X(TUPLE)     /* items; also (a, b) as a target */                                              \
    X(LIST)      /* items */                                                                       \
    X(UNARY)     /* op MINUS PLUS TILDE NOT, a */                                                  \
    X(BINARY)    /* op, a, b */                                                                    \
    X(BOOLEAN)   /* op AND OR, items */                                                            \
    X(COMPARE)   /* items, operand i and i+1 joined by ops[i] */                                   \
    X(TERNARY)   /* a if b else c */                                                               \
    X(CALL)      /* a(items); keyword arguments are KEYWORD nodes */                               \
    X(KEYWORD)   /* name = a; name NULL: **a */                                                    \
    X(STARRED)   /* *a */                                                                          \
    X(ATTRIBUTE) /* a.name */                                                                      \
    X(SUBSCRIPT) /* a[items] */                                                                    \
    X(SLICE)     /* a:b:c, each may be NULL */                                                     \
    X(OPAQUE)    /* not for kernels; name: what it is; body, other: statements inside */           \
    /* Statements */                                                                               \
    X(EXPR)      /* a */                                                                           \
    X(ASSIGN)    /* items: targets, a: value */                                                    \
    X(AUGMENTED) /* a op= b */                                                                     \
    X(ANNOTATED) /* a: b = c; c may be NULL */                                                     \
    X(IF)        /* a, body, other */                                                              \
    X(FOR)       /* for a in b: body; other: its else */                                           \
    X(WHILE)     /* a, body, other */                                                              \
    X(BREAK)                                                                                       \
    X(CONTINUE)                                                                                    \
    X(PASS)                                                                                        \
    X(RETURN)    /* a may be NULL */                                                               \
    X(ASSERT)    /* a, b: message or NULL */                                                       \
    X(FUNCTION)  /* name, items: parameters, a: result annotation or NULL, decorators, body */     \
    X(PARAMETER) /* name, a: annotation, b: default or NULL; op STAR, DOUBLESTAR or SLASH */       \
    X(CLASS)     /* name, items: bases, decorators, body */                                        \
    X(IMPORT)    /* name: dotted module; other_name: bound to */                                   \
    X(FROM)      /* other_name: module ("" for "."), items: NAME nodes with name and other_name */ \
    X(BLOCK)     /* items: statements */

typedef enum dm_ast_kind {
#define X(name) DM_AST_##name,
    DM_AST_KINDS(X)
#undef X
} dm_ast_kind;

typedef struct dm_ast dm_ast;
struct dm_ast {
    uint8_t kind;
    uint8_t op; /* a dm_token_kind */
    int count;  /* of items */
    dm_pos pos, end;
    union {
        const char *name;
        uint64_t integer;
        double real;
    };
    const char *other_name;
    dm_ast *a, *b, *c;
    dm_ast **items;
    uint8_t *ops;
    dm_ast *body, *other; /* BLOCK */
    dm_ast *decorators;   /* BLOCK of expressions */
};

/* The whole file as a BLOCK. Errors are reported; the tree holds what could be understood. */
dm_ast *dm_lang_parse(dm_lang *lang, const dm_lang_source *source);
/* One expression, for our own texts. */
dm_ast *dm_lang_parse_expression(dm_lang *lang, const dm_lang_source *source);
/* An indented listing, one node a line. */
void dm_ast_print(const dm_ast *node, dm_buffer *out);

#endif
