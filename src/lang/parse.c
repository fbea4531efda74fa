/* SPDX-License-Identifier: MIT */
/* parse.c - tokens to the syntax tree, by recursive descent; each rule of Python's grammar stands
 * above its function. After an error in a statement the parser goes on at the next line of the same
 * block, so that one run shows several errors. */
#include "lang/ast.h"

#include <string.h>

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

static dm_ast *parse_expression(parser *p);
static dm_ast *parse_unary(parser *p);
static dm_ast *parse_star_expressions(parser *p);
static dm_ast *parse_block(parser *p);
static void parse_statement(parser *p, node_list *out);

/* ---- Tokens ---- */

static const dm_token *peek(const parser *p)
{
    return &p->tokens[p->at];
}

static bool is(const parser *p, dm_token_kind kind)
{
    return p->tokens[p->at].kind == kind;
}

static const dm_token *next(parser *p)
{
    const dm_token *token = &p->tokens[p->at];
    if (p->at < p->count - 1)
        p->at++;
    return token;
}

static bool accept(parser *p, dm_token_kind kind)
{
    if (!is(p, kind))
        return false;
    next(p);
    return true;
}

static void expected(parser *p, const char *what)
{
    const dm_token *token = peek(p);
    if (!p->panic)
        dm_lang_error(p->lang, token->pos, token->end, NULL, "expected %s, found %s", what,
                      dm_token_name(token->kind));
    p->panic = true;
}

static bool expect(parser *p, dm_token_kind kind)
{
    if (accept(p, kind))
        return true;
    expected(p, dm_token_name(kind));
    return false;
}

static bool is_name(const parser *p, const char *name)
{
    return is(p, DM_TOK_NAME) && strcmp(peek(p)->name, name) == 0;
}

/* ---- Nodes ---- */

static dm_ast *node(parser *p, dm_ast_kind kind, dm_pos pos)
{
    dm_ast *made = dm_lang_alloc(p->lang, sizeof *made);
    made->kind = (uint8_t)kind;
    made->pos = pos;
    made->end = p->at > 0 ? p->tokens[p->at - 1].end : pos;
    if (made->end < pos)
        made->end = pos;
    return made;
}

static dm_ast *finish(parser *p, dm_ast *made)
{
    made->end = p->tokens[p->at > 0 ? p->at - 1 : 0].end;
    return made;
}

static void push(parser *p, node_list *list, dm_ast *item)
{
    DM_LANG_PUSH_POINTER(p->lang, list->items, list->count, list->capacity, item);
}

static void set_items(dm_ast *made, const node_list *list)
{
    made->items = list->items;
    made->count = list->count;
}

static void limit(parser *p, int depth, int most)
{
    if (depth <= most)
        return;
    dm_lang_error(p->lang, peek(p)->pos, peek(p)->end, NULL, "nested too deeply");
    dm_lang_bail(p->lang, "nested too deeply");
}

static void enter(parser *p)
{
    limit(p, ++p->depth, DM_LANG_DEPTH_MAX);
}

/* ---- Expressions ---- */

/* slice: [expression] [":" [expression] [":" [expression]]] | starred */
static dm_ast *parse_slice(parser *p)
{
    dm_pos pos = peek(p)->pos;
    dm_ast *first = NULL;
    if (accept(p, DM_TOK_STAR)) {
        dm_ast *star = node(p, DM_AST_STARRED, pos);
        star->a = parse_expression(p);
        return finish(p, star);
    }
    if (!is(p, DM_TOK_COLON))
        first = parse_expression(p);
    if (!accept(p, DM_TOK_COLON))
        return first;
    dm_ast *slice = node(p, DM_AST_SLICE, pos);
    slice->a = first;
    if (!is(p, DM_TOK_COLON) && !is(p, DM_TOK_RBRACKET) && !is(p, DM_TOK_COMMA))
        slice->b = parse_expression(p);
    if (accept(p, DM_TOK_COLON) && !is(p, DM_TOK_RBRACKET) && !is(p, DM_TOK_COMMA))
        slice->c = parse_expression(p);
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

static dm_ast *opaque(parser *p, dm_pos pos, const char *what)
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
        star->a = parse_expression(p);
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
        made->a = parse_expression(p);
        return finish(p, made);
    }
    dm_ast *value = parse_expression(p);
    return skip_comprehension(p) ? opaque(p, pos, "a comprehension") : value;
}

static void parse_arguments(parser *p, dm_ast *call)
{
    node_list list = {0};
    while (!is(p, DM_TOK_RPAREN) && !p->panic) {
        push(p, &list, parse_argument(p));
        if (!accept(p, DM_TOK_COMMA))
            break;
    }
    expect(p, DM_TOK_RPAREN);
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
            star->a = parse_expression(p);
            push(p, &list, star);
        } else {
            push(p, &list, parse_expression(p));
        }
        if (skip_comprehension(p)) {
            expect(p, close);
            return opaque(p, pos, "a comprehension");
        }
        if (!accept(p, DM_TOK_COMMA))
            break;
        comma = true;
    }
    expect(p, close);
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
        expected(p, "'}'");
    return opaque(p, pos, "a dictionary or set");
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
    expect(p, DM_TOK_COLON);
    parse_expression(p);
    return opaque(p, pos, "a lambda");
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
        return format ? opaque(p, token->pos, "an f-string") : finish(p, made);
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
        expected(p, "an expression");
        return opaque(p, token->pos, "nothing");
    }
}

/* primary: atom ("." name | "(" arguments ")" | "[" slices "]")* */
static dm_ast *parse_primary(parser *p)
{
    dm_pos pos = peek(p)->pos;
    if (accept(p, DM_TOK_AWAIT)) {
        enter(p);
        parse_primary(p);
        p->depth--;
        return opaque(p, pos, "await");
    }
    dm_ast *left = parse_atom(p);
    for (int length = 0; !p->panic; length++) {
        limit(p, length, DM_LANG_DEPTH_MAX);
        if (accept(p, DM_TOK_DOT)) {
            dm_ast *made = node(p, DM_AST_ATTRIBUTE, pos);
            made->a = left;
            if (is(p, DM_TOK_NAME))
                made->name = next(p)->name;
            else
                expected(p, "a name");
            left = finish(p, made);
        } else if (accept(p, DM_TOK_LPAREN)) {
            dm_ast *made = node(p, DM_AST_CALL, pos);
            made->a = left;
            parse_arguments(p, made);
            left = finish(p, made);
        } else if (accept(p, DM_TOK_LBRACKET)) {
            dm_ast *made = node(p, DM_AST_SUBSCRIPT, pos);
            node_list list = {0};
            made->a = left;
            do {
                push(p, &list, parse_slice(p));
            } while (accept(p, DM_TOK_COMMA) && !is(p, DM_TOK_RBRACKET) && !p->panic);
            expect(p, DM_TOK_RBRACKET);
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
    dm_ast *left = parse_primary(p);
    if (accept(p, DM_TOK_DOUBLESTAR)) {
        enter(p);
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
    enter(p);
    dm_ast *made = node(p, DM_AST_UNARY, token->pos);
    made->op = token->kind;
    made->a = parse_unary(p);
    p->depth--;
    return finish(p, made);
}

/* Left-associative operators by level, the loosest first. */
static int level_of(dm_token_kind kind)
{
    switch (kind) {
    case DM_TOK_PIPE:
        return 0;
    case DM_TOK_CARET:
        return 1;
    case DM_TOK_AMPERSAND:
        return 2;
    case DM_TOK_SHIFTLEFT:
    case DM_TOK_SHIFTRIGHT:
        return 3;
    case DM_TOK_PLUS:
    case DM_TOK_MINUS:
        return 4;
    case DM_TOK_STAR:
    case DM_TOK_SLASH:
    case DM_TOK_DOUBLESLASH:
    case DM_TOK_PERCENT:
    case DM_TOK_AT:
        return 5;
    default:
        return -1;
    }
}

/* arithmetic(level): arithmetic(level + 1) (operator arithmetic(level + 1))* */
static dm_ast *parse_arithmetic(parser *p, int level)
{
    dm_ast *left = parse_unary(p);
    for (int length = 0;; length++) { /* a + b + c ... nests to the left */
        dm_token_kind op = peek(p)->kind;
        int found = level_of(op);
        limit(p, length, DM_LANG_CHAIN_MAX);
        if (found < level || p->panic)
            return left;
        next(p);
        enter(p);
        dm_ast *right = parse_arithmetic(p, found + 1);
        p->depth--;
        left = binary(p, op, left, right);
    }
}

/* comparison: arithmetic (("<" | "==" | ... | "in" | "not" "in" | "is" ["not"]) arithmetic)* */
static dm_ast *parse_comparison(parser *p)
{
    dm_pos pos = peek(p)->pos;
    dm_ast *left = parse_arithmetic(p, 0);
    node_list list = {0};
    uint8_t *ops = NULL;
    int op_count = 0, op_capacity = 0;
    for (;;) {
        dm_token_kind op = peek(p)->kind;
        bool compares = op == DM_TOK_LESS || op == DM_TOK_GREATER || op == DM_TOK_LESSEQUAL ||
                        op == DM_TOK_GREATEREQUAL || op == DM_TOK_EQUAL || op == DM_TOK_NOTEQUAL ||
                        op == DM_TOK_IN || op == DM_TOK_IS ||
                        (op == DM_TOK_NOT && p->tokens[p->at + 1].kind == DM_TOK_IN);
        if (!compares || p->panic)
            break;
        next(p);
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
        return parse_comparison(p);
    next(p);
    enter(p);
    dm_ast *made = node(p, DM_AST_UNARY, token->pos);
    made->op = DM_TOK_NOT;
    made->a = parse_inversion(p);
    p->depth--;
    return finish(p, made);
}

/* conjunction: inversion ("and" inversion)*;  disjunction: conjunction ("or" conjunction)* */
static dm_ast *parse_boolean(parser *p, dm_token_kind op)
{
    dm_pos pos = peek(p)->pos;
    dm_ast *left = op == DM_TOK_OR ? parse_boolean(p, DM_TOK_AND) : parse_inversion(p);
    if (!is(p, op))
        return left;
    node_list list = {0};
    push(p, &list, left);
    while (accept(p, op) && !p->panic)
        push(p, &list, op == DM_TOK_OR ? parse_boolean(p, DM_TOK_AND) : parse_inversion(p));
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
    return kind == DM_TOK_COMMA || kind == DM_TOK_RPAREN || kind == DM_TOK_RBRACKET ||
           kind == DM_TOK_NEWLINE || kind == DM_TOK_ASSIGN;
}

/* expression: lambda | disjunction ["if" disjunction "else" expression] | name ":=" expression */
static dm_ast *parse_expression(parser *p)
{
    if (p->at + 1 < p->count && is_simple(p->tokens[p->at].kind) &&
        ends_expression(p->tokens[p->at + 1].kind))
        return parse_atom(p); /* most arguments and indices */
    enter(p);
    dm_pos pos = peek(p)->pos;
    dm_ast *made;
    if (is(p, DM_TOK_LAMBDA)) {
        made = parse_lambda(p);
    } else if (is(p, DM_TOK_YIELD)) {
        next(p);
        accept(p, DM_TOK_FROM);
        if (!is(p, DM_TOK_NEWLINE) && !is(p, DM_TOK_RPAREN))
            parse_star_expressions(p);
        made = opaque(p, pos, "yield");
    } else {
        made = parse_boolean(p, DM_TOK_OR);
        if (accept(p, DM_TOK_IF)) {
            dm_ast *ternary = node(p, DM_AST_TERNARY, pos);
            ternary->a = made;
            ternary->b = parse_boolean(p, DM_TOK_OR);
            expect(p, DM_TOK_ELSE);
            ternary->c = parse_expression(p);
            made = finish(p, ternary);
        } else if (accept(p, DM_TOK_WALRUS)) {
            parse_expression(p);
            made = opaque(p, pos, "':='");
        }
    }
    p->depth--;
    return made;
}

/* star_expressions: (expression | "*" expression) ("," ...)* [","] */
static dm_ast *parse_star_expressions(parser *p)
{
    dm_pos pos = peek(p)->pos;
    node_list list = {0};
    bool comma = false;
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
            push(p, &list, parse_expression(p));
        }
        comma = is(p, DM_TOK_COMMA);
    } while (accept(p, DM_TOK_COMMA) && !p->panic);
    if (list.count == 1 && !comma)
        return list.items[0];
    dm_ast *made = node(p, DM_AST_TUPLE, pos);
    set_items(made, &list);
    return made;
}

/* ---- Simple statements ---- */

static bool is_augmented(dm_token_kind kind, dm_token_kind *op)
{
    static const struct {
        uint8_t assign, op;
    } pairs[] = {
        {DM_TOK_PLUSASSIGN, DM_TOK_PLUS},
        {DM_TOK_MINUSASSIGN, DM_TOK_MINUS},
        {DM_TOK_STARASSIGN, DM_TOK_STAR},
        {DM_TOK_SLASHASSIGN, DM_TOK_SLASH},
        {DM_TOK_DOUBLESLASHASSIGN, DM_TOK_DOUBLESLASH},
        {DM_TOK_PERCENTASSIGN, DM_TOK_PERCENT},
        {DM_TOK_DOUBLESTARASSIGN, DM_TOK_DOUBLESTAR},
        {DM_TOK_ATASSIGN, DM_TOK_AT},
        {DM_TOK_AMPERSANDASSIGN, DM_TOK_AMPERSAND},
        {DM_TOK_PIPEASSIGN, DM_TOK_PIPE},
        {DM_TOK_CARETASSIGN, DM_TOK_CARET},
        {DM_TOK_SHIFTLEFTASSIGN, DM_TOK_SHIFTLEFT},
        {DM_TOK_SHIFTRIGHTASSIGN, DM_TOK_SHIFTRIGHT},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].assign == kind) {
            *op = pairs[i].op;
            return true;
        }
    }
    return false;
}

/* assignment: targets ("=" targets)* | target op= value | target ":" annotation ["=" value] */
static dm_ast *parse_assignment(parser *p)
{
    dm_pos pos = peek(p)->pos;
    dm_ast *first = parse_star_expressions(p);
    dm_token_kind op;
    if (is(p, DM_TOK_ASSIGN)) {
        dm_ast *made = node(p, DM_AST_ASSIGN, pos);
        node_list list = {0};
        dm_ast *value = first;
        while (accept(p, DM_TOK_ASSIGN) && !p->panic) {
            push(p, &list, value);
            value = parse_star_expressions(p);
        }
        set_items(made, &list);
        made->a = value;
        return finish(p, made);
    }
    if (is_augmented(peek(p)->kind, &op)) {
        next(p);
        dm_ast *made = node(p, DM_AST_AUGMENTED, pos);
        made->op = (uint8_t)op;
        made->a = first;
        made->b = parse_star_expressions(p);
        return finish(p, made);
    }
    if (accept(p, DM_TOK_COLON)) {
        dm_ast *made = node(p, DM_AST_ANNOTATED, pos);
        made->a = first;
        made->b = parse_expression(p);
        if (accept(p, DM_TOK_ASSIGN))
            made->c = parse_star_expressions(p);
        return finish(p, made);
    }
    dm_ast *made = node(p, DM_AST_EXPR, pos);
    made->a = first;
    return finish(p, made);
}

/* dotted: "."* name ("." name)* */
static const char *parse_dotted(parser *p)
{
    const char *text = "";
    while (is(p, DM_TOK_DOT) || is(p, DM_TOK_ELLIPSIS))
        text = dm_lang_format(p->lang, "%s%s", text, next(p)->kind == DM_TOK_DOT ? "." : "...");
    while (is(p, DM_TOK_NAME)) {
        text = dm_lang_format(p->lang, "%s%s", text, next(p)->name);
        if (!is(p, DM_TOK_DOT))
            break;
        next(p);
        text = dm_lang_format(p->lang, "%s.", text);
    }
    return dm_lang_intern_text(p->lang, text);
}

/* import: "import" dotted ["as" name] ("," ...)* */
static void parse_import(parser *p, node_list *out)
{
    do {
        dm_ast *made = node(p, DM_AST_IMPORT, next(p)->pos); /* "import" or "," */
        made->name = made->other_name = parse_dotted(p);
        if (accept(p, DM_TOK_AS) && is(p, DM_TOK_NAME))
            made->other_name = next(p)->name;
        push(p, out, finish(p, made));
    } while (is(p, DM_TOK_COMMA));
}

/* from: "from" dotted "import" ("*" | "(" names ")" | names) */
static dm_ast *parse_from(parser *p)
{
    dm_pos pos = next(p)->pos;
    dm_ast *made = node(p, DM_AST_FROM, pos);
    node_list list = {0};
    made->other_name = parse_dotted(p);
    expect(p, DM_TOK_IMPORT);
    bool bracket = accept(p, DM_TOK_LPAREN);
    while (!p->panic && (is(p, DM_TOK_NAME) || is(p, DM_TOK_STAR))) {
        const dm_token *token = next(p);
        dm_ast *item = node(p, DM_AST_NAME, token->pos);
        item->name = token->kind == DM_TOK_STAR ? dm_lang_intern_text(p->lang, "*") : token->name;
        item->other_name = item->name;
        if (accept(p, DM_TOK_AS) && is(p, DM_TOK_NAME))
            item->other_name = next(p)->name;
        push(p, &list, item);
        if (!accept(p, DM_TOK_COMMA))
            break;
    }
    if (bracket)
        expect(p, DM_TOK_RPAREN);
    set_items(made, &list);
    return finish(p, made);
}

static void skip_line(parser *p)
{
    while (!is(p, DM_TOK_NEWLINE) && !is(p, DM_TOK_END) && !is(p, DM_TOK_DEDENT) &&
           !is(p, DM_TOK_INDENT))
        next(p);
}

static void parse_simple(parser *p, node_list *out)
{
    dm_pos pos = peek(p)->pos;
    dm_ast *made;
    switch (peek(p)->kind) {
    case DM_TOK_PASS:
        next(p);
        push(p, out, node(p, DM_AST_PASS, pos));
        break;
    case DM_TOK_BREAK:
        next(p);
        push(p, out, node(p, DM_AST_BREAK, pos));
        break;
    case DM_TOK_CONTINUE:
        next(p);
        push(p, out, node(p, DM_AST_CONTINUE, pos));
        break;
    case DM_TOK_RETURN:
        next(p);
        made = node(p, DM_AST_RETURN, pos);
        if (!is(p, DM_TOK_NEWLINE) && !is(p, DM_TOK_SEMICOLON))
            made->a = parse_star_expressions(p);
        push(p, out, finish(p, made));
        break;
    case DM_TOK_ASSERT:
        next(p);
        made = node(p, DM_AST_ASSERT, pos);
        made->a = parse_expression(p);
        if (accept(p, DM_TOK_COMMA))
            made->b = parse_expression(p);
        push(p, out, finish(p, made));
        break;
    case DM_TOK_IMPORT:
        parse_import(p, out);
        break;
    case DM_TOK_FROM:
        push(p, out, parse_from(p));
        break;
    case DM_TOK_RAISE:
    case DM_TOK_GLOBAL:
    case DM_TOK_NONLOCAL:
    case DM_TOK_DEL:
        made = opaque(p, pos, dm_token_name(peek(p)->kind));
        skip_line(p);
        push(p, out, finish(p, made));
        break;
    default:
        push(p, out, parse_assignment(p));
        break;
    }
}

/* ---- Compound statements ---- */

/* if: "if" expression ":" block ("elif" ...)* ["else" ":" block] */
static dm_ast *parse_if(parser *p)
{
    enter(p);
    dm_ast *made = node(p, DM_AST_IF, next(p)->pos);
    made->a = parse_expression(p);
    finish(p, made);
    made->body = parse_block(p);
    if (is(p, DM_TOK_ELIF)) {
        node_list list = {0};
        dm_ast *block = node(p, DM_AST_BLOCK, peek(p)->pos);
        push(p, &list, parse_if(p));
        set_items(block, &list);
        made->other = block;
    } else if (accept(p, DM_TOK_ELSE)) {
        made->other = parse_block(p);
    }
    p->depth--;
    return made;
}

/* for: "for" targets "in" expressions ":" block ["else" ":" block]; while likewise */
static dm_ast *parse_loop(parser *p)
{
    const dm_token *token = next(p);
    dm_ast *made = node(p, token->kind == DM_TOK_FOR ? DM_AST_FOR : DM_AST_WHILE, token->pos);
    if (token->kind == DM_TOK_FOR) {
        node_list targets = {0};
        do {
            if (is(p, DM_TOK_IN) && targets.count > 0) /* for a, in b */
                break;
            push(p, &targets, parse_primary(p));
        } while (accept(p, DM_TOK_COMMA) && !p->panic);
        made->a = targets.items[0];
        if (targets.count > 1) {
            made->a = node(p, DM_AST_TUPLE, targets.items[0]->pos);
            set_items(made->a, &targets);
        }
        expect(p, DM_TOK_IN);
        made->b = parse_star_expressions(p);
    } else {
        made->a = parse_expression(p);
    }
    finish(p, made);
    made->body = parse_block(p);
    if (accept(p, DM_TOK_ELSE))
        made->other = parse_block(p);
    return made;
}

/* parameter: ["*" | "**"] name [":" annotation] ["=" default] | "*" | "/" */
static dm_ast *parse_parameter(parser *p)
{
    dm_pos pos = peek(p)->pos;
    dm_ast *made = node(p, DM_AST_PARAMETER, pos);
    if (is(p, DM_TOK_STAR) || is(p, DM_TOK_DOUBLESTAR))
        made->op = next(p)->kind;
    else if (is(p, DM_TOK_SLASH))
        made->op = DM_TOK_SLASH;
    if (made->op == DM_TOK_SLASH || (made->op == DM_TOK_STAR && !is(p, DM_TOK_NAME))) {
        accept(p, DM_TOK_SLASH);
        made->op = DM_TOK_SLASH;
        return finish(p, made);
    }
    if (!is(p, DM_TOK_NAME)) {
        expected(p, "a parameter");
        return made;
    }
    made->name = next(p)->name;
    if (accept(p, DM_TOK_COLON)) {
        accept(p, DM_TOK_STAR);
        made->a = parse_expression(p);
    }
    if (accept(p, DM_TOK_ASSIGN))
        made->b = parse_expression(p);
    return finish(p, made);
}

/* def: "def" name "(" parameters ")" ["->" expression] ":" block */
static dm_ast *parse_def(parser *p, dm_ast *decorators)
{
    dm_ast *made = node(p, DM_AST_FUNCTION, next(p)->pos);
    node_list list = {0};
    made->decorators = decorators;
    if (is(p, DM_TOK_NAME))
        made->name = next(p)->name;
    else
        expected(p, "the function's name");
    expect(p, DM_TOK_LPAREN);
    while (!is(p, DM_TOK_RPAREN) && !p->panic) {
        push(p, &list, parse_parameter(p));
        if (!accept(p, DM_TOK_COMMA))
            break;
    }
    expect(p, DM_TOK_RPAREN);
    set_items(made, &list);
    if (accept(p, DM_TOK_ARROW))
        made->a = parse_star_expressions(p);
    finish(p, made);
    made->body = parse_block(p);
    return made;
}

/* class: "class" name ["(" arguments ")"] ":" block */
static dm_ast *parse_class(parser *p, dm_ast *decorators)
{
    dm_ast *made = node(p, DM_AST_CLASS, next(p)->pos);
    made->decorators = decorators;
    if (is(p, DM_TOK_NAME))
        made->name = next(p)->name;
    else
        expected(p, "the class's name");
    if (accept(p, DM_TOK_LPAREN))
        parse_arguments(p, made);
    finish(p, made);
    made->body = parse_block(p);
    return made;
}

/* with and try: their blocks one after the other, as an OPAQUE statement */
static dm_ast *parse_opaque_block(parser *p, const char *what)
{
    dm_ast *made = opaque(p, peek(p)->pos, what);
    dm_ast *body = node(p, DM_AST_BLOCK, peek(p)->pos);
    node_list list = {0};
    bool more = true;
    while (more && !p->panic && !is(p, DM_TOK_END)) {
        int depth = 0; /* the head, up to the colon that is in no bracket */
        while (!is(p, DM_TOK_NEWLINE) && !is(p, DM_TOK_END) &&
               !(depth == 0 && is(p, DM_TOK_COLON))) {
            dm_token_kind kind = next(p)->kind;
            depth += kind == DM_TOK_LPAREN || kind == DM_TOK_LBRACKET || kind == DM_TOK_LBRACE;
            depth -= kind == DM_TOK_RPAREN || kind == DM_TOK_RBRACKET || kind == DM_TOK_RBRACE;
        }
        push(p, &list, parse_block(p));
        more = is(p, DM_TOK_EXCEPT) || is(p, DM_TOK_FINALLY) ||
               (is(p, DM_TOK_ELSE) && strcmp(what, "'try'") == 0);
    }
    set_items(body, &list);
    made->body = body;
    return made;
}

/* decorated: ("@" expression NEWLINE)+ (def | class) */
static dm_ast *parse_decorated(parser *p)
{
    dm_ast *decorators = node(p, DM_AST_BLOCK, peek(p)->pos);
    node_list list = {0};
    while (accept(p, DM_TOK_AT) && !p->panic) {
        push(p, &list, parse_expression(p));
        expect(p, DM_TOK_NEWLINE);
    }
    set_items(decorators, &list);
    accept(p, DM_TOK_ASYNC);
    if (is(p, DM_TOK_DEF))
        return parse_def(p, decorators);
    if (is(p, DM_TOK_CLASS))
        return parse_class(p, decorators);
    expected(p, "'def' or 'class' after a decorator");
    return opaque(p, peek(p)->pos, "nothing");
}

/* "match" is a name except at the head of a match statement: match ... ":" NEWLINE INDENT "case" */
static bool is_match(const parser *p)
{
    if (!is_name(p, "match"))
        return false;
    for (int i = p->at; i < p->count && p->tokens[i].kind != DM_TOK_END; i++)
        if (p->tokens[i].kind == DM_TOK_NEWLINE)
            return p->tokens[i - 1].kind == DM_TOK_COLON &&
                   p->tokens[i + 1].kind == DM_TOK_INDENT && p->tokens[i + 2].kind == DM_TOK_NAME &&
                   strcmp(p->tokens[i + 2].name, "case") == 0;
    return false;
}

static void skip_block(parser *p)
{
    int depth = 0;
    do {
        dm_token_kind kind = next(p)->kind;
        depth += kind == DM_TOK_INDENT ? 1 : kind == DM_TOK_DEDENT ? -1 : 0;
    } while (!is(p, DM_TOK_END) && depth > 0);
}

static bool parse_compound(parser *p, node_list *out)
{
    dm_pos pos = peek(p)->pos;
    switch (peek(p)->kind) {
    case DM_TOK_IF:
        push(p, out, parse_if(p));
        return true;
    case DM_TOK_FOR:
    case DM_TOK_WHILE:
        push(p, out, parse_loop(p));
        return true;
    case DM_TOK_DEF:
        push(p, out, parse_def(p, NULL));
        return true;
    case DM_TOK_CLASS:
        push(p, out, parse_class(p, NULL));
        return true;
    case DM_TOK_AT:
        push(p, out, parse_decorated(p));
        return true;
    case DM_TOK_WITH:
        push(p, out, parse_opaque_block(p, "'with'"));
        return true;
    case DM_TOK_TRY:
        push(p, out, parse_opaque_block(p, "'try'"));
        return true;
    case DM_TOK_ASYNC:
        next(p);
        return parse_compound(p, out);
    default:
        if (!is_match(p))
            return false;
        skip_line(p);
        next(p);
        skip_block(p);
        push(p, out, opaque(p, pos, "'match'"));
        return true;
    }
}

/* statement: compound | simple (";" simple)* NEWLINE */
static void parse_statement(parser *p, node_list *out)
{
    p->panic = false;
    if (is(p, DM_TOK_INDENT)) {
        dm_lang_error(p->lang, peek(p)->pos, peek(p)->end, NULL, "this line is indented too far");
        next(p); /* its DEDENT is passed over by the block */
        return;
    }
    bool compound = parse_compound(p, out);
    if (!compound) {
        do {
            if (is(p, DM_TOK_NEWLINE))
                break;
            parse_simple(p, out);
        } while (accept(p, DM_TOK_SEMICOLON) && !p->panic);
        if (!p->panic)
            expect(p, DM_TOK_NEWLINE);
    }
    if (p->panic) { /* go on behind this line, and behind a block that hangs on it */
        skip_line(p);
        accept(p, DM_TOK_NEWLINE);
        if (is(p, DM_TOK_INDENT))
            skip_block(p);
        p->panic = false;
    }
}

/* block: ":" simple NEWLINE | ":" NEWLINE INDENT statement+ DEDENT */
static dm_ast *parse_block(parser *p)
{
    enter(p);
    dm_ast *block = node(p, DM_AST_BLOCK, peek(p)->pos);
    node_list list = {0};
    expect(p, DM_TOK_COLON);
    if (p->panic) {
        p->depth--;
        return block;
    }
    if (!accept(p, DM_TOK_NEWLINE)) {
        parse_statement(p, &list);
    } else if (!is(p, DM_TOK_INDENT)) {
        expected(p, "an indented block");
    } else {
        next(p);
        while (!is(p, DM_TOK_DEDENT) && !is(p, DM_TOK_END))
            parse_statement(p, &list);
        accept(p, DM_TOK_DEDENT);
    }
    set_items(block, &list);
    p->depth--;
    return block;
}

static parser start(dm_lang *lang, const dm_lang_source *source)
{
    parser p = {.lang = lang};
    p.tokens = dm_lang_lex(lang, source, &p.count);
    return p;
}

dm_ast *dm_lang_parse(dm_lang *lang, const dm_lang_source *source)
{
    parser p = start(lang, source);
    dm_ast *block = node(&p, DM_AST_BLOCK, source->base);
    node_list list = {0};
    while (!is(&p, DM_TOK_END)) {
        if (is(&p, DM_TOK_DEDENT) || is(&p, DM_TOK_NEWLINE))
            next(&p);
        else
            parse_statement(&p, &list);
    }
    set_items(block, &list);
    return block;
}

dm_ast *dm_lang_parse_expression(dm_lang *lang, const dm_lang_source *source)
{
    parser p = start(lang, source);
    return parse_star_expressions(&p);
}

/* ---- Listing ---- */

static void print_node(const dm_ast *at, dm_buffer *out, int depth, const char *role)
{
    static const char *const kinds[] = {
#define X(name) #name,
        DM_AST_KINDS(X)
#undef X
    };
    if (at == NULL)
        return;
    dm_buffer_printf(out, "%*s%s%s", depth * 2, "", role, kinds[at->kind]);
    bool named = at->kind == DM_AST_INT || at->kind == DM_AST_BOOL || at->kind == DM_AST_FLOAT;
    if (at->kind == DM_AST_FLOAT)
        dm_buffer_printf(out, " %.17g", at->real);
    else if (named)
        dm_buffer_printf(out, " %llu", (unsigned long long)at->integer);
    else if (at->name != NULL)
        dm_buffer_printf(out, " %s", at->name);
    if (at->other_name != NULL && (named || at->other_name != at->name))
        dm_buffer_printf(out, " as %s", at->other_name);
    if (at->op != 0)
        dm_buffer_printf(out, " %s", dm_token_name(at->op));
    for (int i = 0; at->ops != NULL && i + 1 < at->count; i++)
        dm_buffer_printf(out, " %s", dm_token_name(at->ops[i]));
    dm_buffer_putc(out, '\n');
    for (int i = 0; at->decorators != NULL && i < at->decorators->count; i++)
        print_node(at->decorators->items[i], out, depth + 1, "@");
    print_node(at->a, out, depth + 1, "");
    print_node(at->b, out, depth + 1, "");
    print_node(at->c, out, depth + 1, "");
    for (int i = 0; i < at->count; i++)
        print_node(at->items[i], out, depth + 1, "");
    print_node(at->body, out, depth + 1, "");
    print_node(at->other, out, depth + 1, "else ");
}

void dm_ast_print(const dm_ast *node_, dm_buffer *out)
{
    print_node(node_, out, 0, "");
}
