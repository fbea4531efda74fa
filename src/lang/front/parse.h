/* SPDX-License-Identifier: MIT */
/* parse.h - the parser between its files: parse.c has the statements, parse_expr.c the expressions.
 * The functions that every rule is made of are inline and have short names. */
#ifndef DM_LANG_PARSE_H
#define DM_LANG_PARSE_H

#include "lang/front/ast.h"

typedef struct parser {
    dm_lang *lang;
    const dm_token *tokens;
    int count, at;
    int depth;
    bool panic; /* an error was reported in this statement */
} parser;

typedef struct node_list {
    dm_ast **items;
    int count, capacity;
} node_list;

/* ---- Tokens ---- */

static inline const dm_token *peek(const parser *p)
{
    return &p->tokens[p->at];
}

static inline bool is(const parser *p, dm_token_kind kind)
{
    return p->tokens[p->at].kind == kind;
}

static inline const dm_token *next(parser *p)
{
    const dm_token *token = &p->tokens[p->at];
    if (p->at < p->count - 1)
        p->at++;
    return token;
}

static inline bool accept(parser *p, dm_token_kind kind)
{
    if (!is(p, kind))
        return false;
    next(p);
    return true;
}

/* ---- Nodes ---- */

static inline dm_ast *node(parser *p, dm_ast_kind kind, dm_pos pos)
{
    dm_ast *made = dm_lang_alloc(p->lang, sizeof *made);
    made->kind = (uint8_t)kind;
    made->pos = pos;
    made->end = p->at > 0 ? p->tokens[p->at - 1].end : pos;
    if (made->end < pos)
        made->end = pos;
    return made;
}

static inline dm_ast *finish(parser *p, dm_ast *made)
{
    made->end = p->tokens[p->at > 0 ? p->at - 1 : 0].end;
    return made;
}

static inline void push(parser *p, node_list *list, dm_ast *item)
{
    DM_LANG_PUSH_POINTER(p->lang, list->items, list->count, list->capacity, item);
}

static inline void set_items(dm_ast *made, const node_list *list)
{
    made->items = list->items;
    made->count = list->count;
}

/* ---- Shared ---- */

/* "expected WHAT, found ..." once in a statement. */
void dm_parse_expected(parser *p, const char *what);
bool dm_parse_expect(parser *p, dm_token_kind kind);
/* Nesting and chains are bounded: more is an error that ends the parsing. */
void dm_parse_limit(parser *p, int depth, int most);
void dm_parse_enter(parser *p);
dm_ast *dm_parse_opaque(parser *p, dm_pos pos, const char *what);

dm_ast *dm_parse_expression(parser *p);
dm_ast *dm_parse_star_expressions(parser *p);
dm_ast *dm_parse_primary(parser *p);
void dm_parse_arguments(parser *p, dm_ast *call);

#endif
