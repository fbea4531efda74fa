/* SPDX-License-Identifier: MIT */
/* parse.c - tokens to the syntax tree, by recursive descent; each rule of Python's grammar stands
 * above its function; parse_expr.c has the expressions. After an error in a statement the parser
 * goes on at the next line of the same block, so that one run shows several errors. */
#include "lang/front/parse.h"

#include <string.h>

static dm_ast *parse_block(parser *p);
static void parse_statement(parser *p, node_list *out);

/* ---- Tokens ---- */

static bool is_name(const parser *p, const char *name)
{
    return is(p, DM_TOK_NAME) && strcmp(peek(p)->name, name) == 0;
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
    dm_ast *first = dm_parse_star_expressions(p);
    dm_token_kind op;
    if (is(p, DM_TOK_ASSIGN)) {
        dm_ast *made = node(p, DM_AST_ASSIGN, pos);
        node_list list = {0};
        dm_ast *value = first;
        while (accept(p, DM_TOK_ASSIGN) && !p->panic) {
            push(p, &list, value);
            value = dm_parse_star_expressions(p);
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
        made->b = dm_parse_star_expressions(p);
        return finish(p, made);
    }
    if (accept(p, DM_TOK_COLON)) {
        dm_ast *made = node(p, DM_AST_ANNOTATED, pos);
        made->a = first;
        made->b = dm_parse_expression(p);
        if (accept(p, DM_TOK_ASSIGN))
            made->c = dm_parse_star_expressions(p);
        return finish(p, made);
    }
    dm_ast *made = node(p, DM_AST_EXPR, pos);
    made->a = first;
    return finish(p, made);
}

/* dotted: "."* name ("." name)* */
static const char *parse_dotted(parser *p)
{
    if (is(p, DM_TOK_NAME) && p->tokens[p->at + 1].kind != DM_TOK_DOT)
        return next(p)->name;
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
    dm_parse_expect(p, DM_TOK_IMPORT);
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
        dm_parse_expect(p, DM_TOK_RPAREN);
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
            made->a = dm_parse_star_expressions(p);
        push(p, out, finish(p, made));
        break;
    case DM_TOK_ASSERT:
        next(p);
        made = node(p, DM_AST_ASSERT, pos);
        made->a = dm_parse_expression(p);
        if (accept(p, DM_TOK_COMMA))
            made->b = dm_parse_expression(p);
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
        made = dm_parse_opaque(p, pos, dm_token_name(peek(p)->kind));
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
    dm_parse_enter(p);
    dm_ast *made = node(p, DM_AST_IF, next(p)->pos);
    made->a = dm_parse_expression(p);
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
            push(p, &targets, dm_parse_primary(p));
        } while (accept(p, DM_TOK_COMMA) && !p->panic);
        made->a = targets.items[0];
        if (targets.count > 1) {
            made->a = node(p, DM_AST_TUPLE, targets.items[0]->pos);
            set_items(made->a, &targets);
        }
        dm_parse_expect(p, DM_TOK_IN);
        made->b = dm_parse_star_expressions(p);
    } else {
        made->a = dm_parse_expression(p);
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
        dm_parse_expected(p, "a parameter");
        return made;
    }
    made->name = next(p)->name;
    if (accept(p, DM_TOK_COLON)) {
        accept(p, DM_TOK_STAR);
        made->a = dm_parse_expression(p);
    }
    if (accept(p, DM_TOK_ASSIGN))
        made->b = dm_parse_expression(p);
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
        dm_parse_expected(p, "the function's name");
    dm_parse_expect(p, DM_TOK_LPAREN);
    while (!is(p, DM_TOK_RPAREN) && !p->panic) {
        push(p, &list, parse_parameter(p));
        if (!accept(p, DM_TOK_COMMA))
            break;
    }
    dm_parse_expect(p, DM_TOK_RPAREN);
    set_items(made, &list);
    if (accept(p, DM_TOK_ARROW))
        made->a = dm_parse_star_expressions(p);
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
        dm_parse_expected(p, "the class's name");
    if (accept(p, DM_TOK_LPAREN))
        dm_parse_arguments(p, made);
    finish(p, made);
    made->body = parse_block(p);
    return made;
}

/* with and try: their blocks one after the other, as an OPAQUE statement */
static dm_ast *parse_opaque_block(parser *p, const char *what)
{
    dm_ast *made = dm_parse_opaque(p, peek(p)->pos, what);
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
        push(p, &list, dm_parse_expression(p));
        dm_parse_expect(p, DM_TOK_NEWLINE);
    }
    set_items(decorators, &list);
    accept(p, DM_TOK_ASYNC);
    if (is(p, DM_TOK_DEF))
        return parse_def(p, decorators);
    if (is(p, DM_TOK_CLASS))
        return parse_class(p, decorators);
    dm_parse_expected(p, "'def' or 'class' after a decorator");
    return dm_parse_opaque(p, peek(p)->pos, "nothing");
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
        push(p, out, dm_parse_opaque(p, pos, "'match'"));
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
            dm_parse_expect(p, DM_TOK_NEWLINE);
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
    dm_parse_enter(p);
    dm_ast *block = node(p, DM_AST_BLOCK, peek(p)->pos);
    node_list list = {0};
    dm_parse_expect(p, DM_TOK_COLON);
    if (p->panic) {
        p->depth--;
        return block;
    }
    if (!accept(p, DM_TOK_NEWLINE)) {
        parse_statement(p, &list);
    } else if (!is(p, DM_TOK_INDENT)) {
        dm_parse_expected(p, "an indented block");
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
    return dm_parse_star_expressions(&p);
}
