/* SPDX-License-Identifier: MIT */
/* parse_expr.c - expressions, each rule of Python's grammar above its function; see parse.c. */
#include "lang/front/parse.h"

static dm_ast *parse_unary(parser *p);

/* ---- Errors and limits ---- */

void dm_parse_expected(parser *p, const char *what)
{
    const dm_token *token = peek(p);
    if (!p->panic)
        dm_lang_error(p->lang, token->pos, token->end, NULL, "expected %s, found %s", what,
                      dm_token_name(token->kind));
    p->panic = true;
}

bool dm_parse_expect(parser *p, dm_token_kind kind)
{
    if (accept(p, kind))
        return true;
    dm_parse_expected(p, dm_token_name(kind));
    return false;
}

void dm_parse_limit(parser *p, int depth, int most)
{
    if (depth <= most)
        return;
    dm_lang_error(p->lang, peek(p)->pos, peek(p)->end, NULL, "nested too deeply");
    dm_lang_bail(p->lang, "nested too deeply");
}

void dm_parse_enter(parser *p)
{
    dm_parse_limit(p, ++p->depth, DM_LANG_DEPTH_MAX);
}

/* ---- Expressions ---- */

/* slice: [expression] [":" [expression] [":" [expression]]] | starred */
static dm_ast *parse_slice(parser *p)
{
    dm_pos pos = peek(p)->pos;
    dm_ast *first = NULL;
    if (accept(p, DM_TOK_STAR)) {
        dm_ast *star = node(p, DM_AST_STARRED, pos);
        star->a = dm_parse_expression(p);
        return finish(p, star);
    }
    if (!is(p, DM_TOK_COLON))
        first = dm_parse_expression(p);
    if (!accept(p, DM_TOK_COLON))
        return first;
    dm_ast *slice = node(p, DM_AST_SLICE, pos);
    slice->a = first;
    if (!is(p, DM_TOK_COLON) && !is(p, DM_TOK_RBRACKET) && !is(p, DM_TOK_COMMA))
        slice->b = dm_parse_expression(p);
    if (accept(p, DM_TOK_COLON) && !is(p, DM_TOK_RBRACKET) && !is(p, DM_TOK_COMMA))
        slice->c = dm_parse_expression(p);
    return finish(p, slice);
}

/* Skip "for x in y if z ..." up to the closing bracket; the nodes are of no use to a kernel. */
static bool skip_comprehension(parser *p)
{
    if (!is(p, DM_TOK_FOR) && !is(p, DM_TOK_ASYNC))
        return false;
    int depth = 0;
    while (!is(p, DM_TOK_END) && !is(p, DM_TOK_NEWLINE)) {
        dm_token_kind kind = peek(p)->kind;
        if (kind == DM_TOK_LPAREN || kind == DM_TOK_LBRACKET || kind == DM_TOK_LBRACE)
            depth++;
        if (kind == DM_TOK_RPAREN || kind == DM_TOK_RBRACKET || kind == DM_TOK_RBRACE)
            if (--depth < 0)
                break;
        next(p);
    }
    return true;
}

dm_ast *dm_parse_opaque(parser *p, dm_pos pos, const char *what)
{
    dm_ast *made = node(p, DM_AST_OPAQUE, pos);
    made->name = what;
    return made;
}

/* argument: [name "="] expression | "*" expression | "**" expression | comprehension */
static dm_ast *parse_argument(parser *p)
{
    dm_pos pos = peek(p)->pos;
    if (accept(p, DM_TOK_STAR)) {
        dm_ast *star = node(p, DM_AST_STARRED, pos);
        star->a = dm_parse_expression(p);
        return finish(p, star);
    }
    bool keyword = is(p, DM_TOK_NAME) && p->tokens[p->at + 1].kind == DM_TOK_ASSIGN;
    if (keyword || is(p, DM_TOK_DOUBLESTAR)) {
        dm_ast *made = node(p, DM_AST_KEYWORD, pos);
        if (keyword) {
            made->name = next(p)->name;
            next(p);
        } else {
            next(p);
        }
        made->a = dm_parse_expression(p);
        return finish(p, made);
    }
    dm_ast *value = dm_parse_expression(p);
    return skip_comprehension(p) ? dm_parse_opaque(p, pos, "a comprehension") : value;
}

void dm_parse_arguments(parser *p, dm_ast *call)
{
    node_list list = {0};
    while (!is(p, DM_TOK_RPAREN) && !p->panic) {
        push(p, &list, parse_argument(p));
        if (!accept(p, DM_TOK_COMMA))
            break;
    }
    dm_parse_expect(p, DM_TOK_RPAREN);
    set_items(call, &list);
}

/* list: "[" [expressions | comprehension] "]";  group and tuple likewise in parentheses */
static dm_ast *parse_bracketed(parser *p, dm_token_kind close, dm_ast_kind kind)
{
    dm_pos pos = next(p)->pos;
    node_list list = {0};
    bool comma = false;
    while (!is(p, close) && !p->panic) {
        dm_pos item_pos = peek(p)->pos;
        if (accept(p, DM_TOK_STAR)) {
            dm_ast *star = node(p, DM_AST_STARRED, item_pos);
            star->a = dm_parse_expression(p);
            push(p, &list, star);
        } else {
            push(p, &list, dm_parse_expression(p));
        }
        if (skip_comprehension(p)) {
            dm_parse_expect(p, close);
            return dm_parse_opaque(p, pos, "a comprehension");
        }
        if (!accept(p, DM_TOK_COMMA))
            break;
        comma = true;
    }
    dm_parse_expect(p, close);
    if (kind == DM_AST_TUPLE && list.count == 1 && !comma)
        return list.items[0];
    dm_ast *made = node(p, kind, pos);
    set_items(made, &list);
    return made;
}

/* dict or set: skipped to its end */
static dm_ast *parse_braces(parser *p)
{
    dm_pos pos = next(p)->pos;
    int depth = 1;
    while (depth > 0 && !is(p, DM_TOK_END) && !is(p, DM_TOK_NEWLINE)) {
        dm_token_kind kind = next(p)->kind;
        depth += kind == DM_TOK_LBRACE ? 1 : kind == DM_TOK_RBRACE ? -1 : 0;
    }
    if (depth > 0)
        dm_parse_expected(p, "'}'");
    return dm_parse_opaque(p, pos, "a dictionary or set");
}

/* lambda: "lambda" [parameters] ":" expression */
static dm_ast *parse_lambda(parser *p)
{
    dm_pos pos = next(p)->pos;
    int depth = 0;
    while (!is(p, DM_TOK_END) && !is(p, DM_TOK_NEWLINE) && !(depth == 0 && is(p, DM_TOK_COLON))) {
        dm_token_kind kind = next(p)->kind;
        depth += kind == DM_TOK_LPAREN || kind == DM_TOK_LBRACKET || kind == DM_TOK_LBRACE;
        depth -= kind == DM_TOK_RPAREN || kind == DM_TOK_RBRACKET || kind == DM_TOK_RBRACE;
    }
    dm_parse_expect(p, DM_TOK_COLON);
    dm_parse_expression(p);
    return dm_parse_opaque(p, pos, "a lambda");
}

/* atom: name | number | strings | "True" | "False" | "None" | "..." | tuple | list | dict | set */
static dm_ast *parse_atom(parser *p)
{
    const dm_token *token = peek(p);
    dm_ast *made;
    switch (token->kind) {
    case DM_TOK_NAME:
        next(p);
        made = node(p, DM_AST_NAME, token->pos);
        made->name = token->name;
        return made;
    case DM_TOK_INT:
        next(p);
        made = node(p, DM_AST_INT, token->pos);
        made->integer = token->integer;
        return made;
    case DM_TOK_FLOAT:
        next(p);
        made = node(p, DM_AST_FLOAT, token->pos);
        made->real = token->real;
        return made;
    case DM_TOK_STRING: {
        bool format = token->is_format;
        next(p);
        made = node(p, DM_AST_STRING, token->pos);
        made->name = token->name;
        while (is(p, DM_TOK_STRING)) { /* neighbours are one string */
            format |= peek(p)->is_format;
            made->name = dm_lang_format(p->lang, "%s%s", made->name, next(p)->name);
        }
        return format ? dm_parse_opaque(p, token->pos, "an f-string") : finish(p, made);
    }
    case DM_TOK_TRUE:
    case DM_TOK_FALSE:
        next(p);
        made = node(p, DM_AST_BOOL, token->pos);
        made->integer = token->kind == DM_TOK_TRUE;
        return made;
    case DM_TOK_NONE:
        next(p);
        return node(p, DM_AST_NONE, token->pos);
    case DM_TOK_ELLIPSIS:
        next(p);
        return node(p, DM_AST_ELLIPSIS, token->pos);
    case DM_TOK_LPAREN:
        return parse_bracketed(p, DM_TOK_RPAREN, DM_AST_TUPLE);
    case DM_TOK_LBRACKET:
        return parse_bracketed(p, DM_TOK_RBRACKET, DM_AST_LIST);
    case DM_TOK_LBRACE:
        return parse_braces(p);
    default:
        dm_parse_expected(p, "an expression");
        return dm_parse_opaque(p, token->pos, "nothing");
    }
}

/* primary: atom ("." name | "(" arguments ")" | "[" slices "]")* */
dm_ast *dm_parse_primary(parser *p)
{
    dm_pos pos = peek(p)->pos;
    if (accept(p, DM_TOK_AWAIT)) {
        dm_parse_enter(p);
        dm_parse_primary(p);
        p->depth--;
        return dm_parse_opaque(p, pos, "await");
    }
    dm_ast *left = parse_atom(p);
    for (int length = 0; !p->panic; length++) {
        dm_parse_limit(p, length, DM_LANG_DEPTH_MAX);
        if (accept(p, DM_TOK_DOT)) {
            dm_ast *made = node(p, DM_AST_ATTRIBUTE, pos);
            made->a = left;
            if (is(p, DM_TOK_NAME))
                made->name = next(p)->name;
            else
                dm_parse_expected(p, "a name");
            left = finish(p, made);
        } else if (accept(p, DM_TOK_LPAREN)) {
            dm_ast *made = node(p, DM_AST_CALL, pos);
            made->a = left;
            dm_parse_arguments(p, made);
            left = finish(p, made);
        } else if (accept(p, DM_TOK_LBRACKET)) {
            dm_ast *made = node(p, DM_AST_SUBSCRIPT, pos);
            node_list list = {0};
            made->a = left;
            do {
                push(p, &list, parse_slice(p));
            } while (accept(p, DM_TOK_COMMA) && !is(p, DM_TOK_RBRACKET) && !p->panic);
            dm_parse_expect(p, DM_TOK_RBRACKET);
            set_items(made, &list);
            left = finish(p, made);
        } else {
            break;
        }
    }
    return left;
}

static dm_ast *binary(parser *p, dm_token_kind op, dm_ast *a, dm_ast *b)
{
    dm_ast *made = node(p, DM_AST_BINARY, a->pos);
    made->op = (uint8_t)op;
    made->a = a;
    made->b = b;
    return made;
}

/* power: primary ["**" unary] */
static dm_ast *parse_power(parser *p)
{
    dm_ast *left = dm_parse_primary(p);
    if (accept(p, DM_TOK_DOUBLESTAR)) {
        dm_parse_enter(p);
        dm_ast *right = parse_unary(p);
        p->depth--;
        return binary(p, DM_TOK_DOUBLESTAR, left, right);
    }
    return left;
}

/* unary: ("-" | "+" | "~") unary | power */
static dm_ast *parse_unary(parser *p)
{
    const dm_token *token = peek(p);
    if (token->kind != DM_TOK_MINUS && token->kind != DM_TOK_PLUS && token->kind != DM_TOK_TILDE)
        return parse_power(p);
    next(p);
    dm_parse_enter(p);
    dm_ast *made = node(p, DM_AST_UNARY, token->pos);
    made->op = token->kind;
    made->a = parse_unary(p);
    p->depth--;
    return finish(p, made);
}

/* Left-associative operators by level + 1, the loosest first; 0: no such operator. */
static const uint8_t levels[256] = {
    [DM_TOK_PIPE] = 1,       [DM_TOK_CARET] = 2,   [DM_TOK_AMPERSAND] = 3,   [DM_TOK_SHIFTLEFT] = 4,
    [DM_TOK_SHIFTRIGHT] = 4, [DM_TOK_PLUS] = 5,    [DM_TOK_MINUS] = 5,       [DM_TOK_STAR] = 6,
    [DM_TOK_SLASH] = 6,      [DM_TOK_PERCENT] = 6, [DM_TOK_DOUBLESLASH] = 6, [DM_TOK_AT] = 6};

/* arithmetic(level): arithmetic(level + 1) (operator arithmetic(level + 1))* */
static dm_ast *parse_arithmetic(parser *p, int level)
{
    dm_ast *left = parse_unary(p);
    for (int length = 0;; length++) { /* a + b + c ... nests to the left */
        dm_token_kind op = peek(p)->kind;
        int found = levels[op] - 1;
        dm_parse_limit(p, length, DM_LANG_CHAIN_MAX);
        if (found < level || p->panic)
            return left;
        next(p);
        dm_parse_enter(p);
        dm_ast *right = parse_arithmetic(p, found + 1);
        p->depth--;
        left = binary(p, op, left, right);
    }
}

static bool compares(const parser *p)
{
    dm_token_kind op = peek(p)->kind;
    return op == DM_TOK_LESS || op == DM_TOK_GREATER || op == DM_TOK_LESSEQUAL ||
           op == DM_TOK_GREATEREQUAL || op == DM_TOK_EQUAL || op == DM_TOK_NOTEQUAL ||
           op == DM_TOK_IN || op == DM_TOK_IS ||
           (op == DM_TOK_NOT && p->tokens[p->at + 1].kind == DM_TOK_IN);
}

/* comparison: arithmetic (("<" | "==" | ... | "in" | "not" "in" | "is" ["not"]) arithmetic)*
 * The first arithmetic is parsed already. */
static dm_ast *parse_comparison(parser *p, dm_pos pos, dm_ast *left)
{
    node_list list = {0};
    uint8_t *ops = NULL;
    int op_count = 0, op_capacity = 0;
    while (compares(p) && !p->panic) {
        dm_token_kind op = next(p)->kind;
        if (op == DM_TOK_NOT)
            next(p); /* NOT stands for "not in" */
        if (op == DM_TOK_IS && accept(p, DM_TOK_NOT))
            op = DM_TOK_NOT_SIGN; /* stands for "is not" */
        if (list.count == 0)
            push(p, &list, left);
        push(p, &list, parse_arithmetic(p, 0));
        DM_LANG_PUSH(p->lang, ops, op_count, op_capacity, (uint8_t)op);
    }
    if (list.count == 0)
        return left;
    dm_ast *made = node(p, DM_AST_COMPARE, pos);
    set_items(made, &list);
    made->ops = ops;
    return made;
}

/* inversion: "not" inversion | comparison */
static dm_ast *parse_inversion(parser *p)
{
    const dm_token *token = peek(p);
    if (token->kind != DM_TOK_NOT)
        return parse_comparison(p, token->pos, parse_arithmetic(p, 0));
    next(p);
    dm_parse_enter(p);
    dm_ast *made = node(p, DM_AST_UNARY, token->pos);
    made->op = DM_TOK_NOT;
    made->a = parse_inversion(p);
    p->depth--;
    return finish(p, made);
}

/* conjunction: inversion ("and" inversion)*;  disjunction: conjunction ("or" conjunction)*
 * The first inversion is parsed already. */
static dm_ast *parse_boolean(parser *p, dm_token_kind op, dm_pos pos, dm_ast *left)
{
    if (op == DM_TOK_OR)
        left = parse_boolean(p, DM_TOK_AND, pos, left);
    if (!is(p, op))
        return left;
    node_list list = {0};
    push(p, &list, left);
    while (accept(p, op) && !p->panic) {
        dm_pos next_pos = peek(p)->pos;
        dm_ast *right = parse_inversion(p);
        push(p, &list, op == DM_TOK_OR ? parse_boolean(p, DM_TOK_AND, next_pos, right) : right);
    }
    dm_ast *made = node(p, DM_AST_BOOLEAN, pos);
    made->op = (uint8_t)op;
    set_items(made, &list);
    return made;
}

/* Tokens that are an expression by themselves, and ones that no expression goes on with. */
static bool is_simple(dm_token_kind kind)
{
    return kind == DM_TOK_NAME || kind == DM_TOK_INT || kind == DM_TOK_FLOAT;
}

static bool ends_expression(dm_token_kind kind)
{
    static const bool ends[256] = {[DM_TOK_COMMA] = true,
                                   [DM_TOK_RPAREN] = true,
                                   [DM_TOK_RBRACKET] = true,
                                   [DM_TOK_NEWLINE] = true,
                                   [DM_TOK_ASSIGN] = true};
    return ends[kind];
}

/* Most expressions are arithmetic; the next token tells. */
static dm_ast *parse_disjunction(parser *p)
{
    dm_pos pos = peek(p)->pos;
    if (is(p, DM_TOK_NOT))
        return parse_boolean(p, DM_TOK_OR, pos, parse_inversion(p));
    dm_ast *left = parse_arithmetic(p, 0);
    if (ends_expression(peek(p)->kind))
        return left;
    return parse_boolean(p, DM_TOK_OR, pos, parse_comparison(p, pos, left));
}

/* expression: lambda | disjunction ["if" disjunction "else" expression] | name ":=" expression */
dm_ast *dm_parse_expression(parser *p)
{
    if (p->at + 1 < p->count && is_simple(p->tokens[p->at].kind) &&
        ends_expression(p->tokens[p->at + 1].kind))
        return parse_atom(p); /* most arguments and indices */
    dm_parse_enter(p);
    dm_pos pos = peek(p)->pos;
    dm_ast *made;
    if (is(p, DM_TOK_LAMBDA)) {
        made = parse_lambda(p);
    } else if (is(p, DM_TOK_YIELD)) {
        next(p);
        accept(p, DM_TOK_FROM);
        if (!is(p, DM_TOK_NEWLINE) && !is(p, DM_TOK_RPAREN))
            dm_parse_star_expressions(p);
        made = dm_parse_opaque(p, pos, "yield");
    } else {
        made = parse_disjunction(p);
        if (accept(p, DM_TOK_IF)) {
            dm_ast *ternary = node(p, DM_AST_TERNARY, pos);
            ternary->a = made;
            ternary->b = parse_disjunction(p);
            dm_parse_expect(p, DM_TOK_ELSE);
            ternary->c = dm_parse_expression(p);
            made = finish(p, ternary);
        } else if (accept(p, DM_TOK_WALRUS)) {
            dm_parse_expression(p);
            made = dm_parse_opaque(p, pos, "':='");
        }
    }
    p->depth--;
    return made;
}

/* star_expressions: (expression | "*" expression) ("," ...)* [","] */
dm_ast *dm_parse_star_expressions(parser *p)
{
    dm_pos pos = peek(p)->pos;
    node_list list = {0};
    bool comma = false;
    if (!is(p, DM_TOK_STAR)) { /* mostly there is one, and no list */
        dm_ast *only = dm_parse_expression(p);
        if (!accept(p, DM_TOK_COMMA) || p->panic)
            return only;
        push(p, &list, only);
        comma = true;
    }
    do {
        if (comma && (is(p, DM_TOK_NEWLINE) || is(p, DM_TOK_ASSIGN) || is(p, DM_TOK_IN) ||
                      is(p, DM_TOK_COLON) || is(p, DM_TOK_RPAREN)))
            break;
        dm_pos item_pos = peek(p)->pos;
        if (accept(p, DM_TOK_STAR)) {
            dm_ast *star = node(p, DM_AST_STARRED, item_pos);
            star->a = parse_arithmetic(p, 0);
            push(p, &list, star);
        } else {
            push(p, &list, dm_parse_expression(p));
        }
        comma = is(p, DM_TOK_COMMA);
    } while (accept(p, DM_TOK_COMMA) && !p->panic);
    if (list.count == 1 && !comma)
        return list.items[0];
    dm_ast *made = node(p, DM_AST_TUPLE, pos);
    set_items(made, &list);
    return made;
}
