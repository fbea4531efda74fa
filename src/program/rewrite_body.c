/* SPDX-License-Identifier: MIT */
/* rewrite_body.c - rewrite expressions and statements: names of the module, the machine, the memory and the answer. See
 * rewrite.h. */
#include "program/rewrite.h"

#include "base/closest.h"

#include <assert.h>
#include <string.h>

typedef struct name_row {
    const char *name, *arguments;
} name_row;

static const name_row names[] = {
#define NAME(name, arguments) {#name, arguments},
#include "program/names.def"
#undef NAME
};
#define NAMES (sizeof names / sizeof names[0])

static const char *const machine_fields[] = {
    "a",    "f",      "b",     "c",      "d",   "e",    "h",      "l",     "pc", "sp",
    "keys", "frames", "clock", "number", "rom", "step", "action", "hooks", NULL};
static const char *const out_fields[] = {"reward", "terminated", "truncated", "start",
                                         "obs",    "metric",     NULL};

/* ---- Nodes ---- */

dm_ast *dm_rewrite_node(dm_rewriter *r, dm_ast_kind kind, const dm_ast *at)
{
    dm_ast *made = dm_lang_alloc(r->lang, sizeof *made);
    made->kind = (uint8_t)kind;
    made->pos = at->pos;
    made->end = at->end;
    return made;
}

dm_ast *dm_rewrite_name(dm_rewriter *r, const char *name, const dm_ast *at)
{
    dm_ast *made = dm_rewrite_node(r, DM_AST_NAME, at);
    made->name = dm_lang_intern_text(r->lang, name);
    return made;
}

dm_ast *dm_rewrite_int(dm_rewriter *r, uint64_t value, const dm_ast *at)
{
    dm_ast *made = dm_rewrite_node(r, DM_AST_INT, at);
    made->integer = value;
    return made;
}

/* _wp.name */
dm_ast *dm_rewrite_warp(dm_rewriter *r, const char *name, const dm_ast *at)
{
    dm_ast *made = dm_rewrite_node(r, DM_AST_ATTRIBUTE, at);
    made->name = dm_lang_intern_text(r->lang, name);
    made->a = dm_rewrite_name(r, "_wp", at);
    return made;
}

dm_ast *dm_rewrite_call(dm_rewriter *r, dm_ast *callee, dm_ast **items, int count, const dm_ast *at)
{
    dm_ast *made = dm_rewrite_node(r, DM_AST_CALL, at);
    made->a = callee;
    made->items = dm_lang_alloc_array(r->lang, (size_t)count + 1, sizeof(void *));
    memcpy(made->items, items, (size_t)count * sizeof(void *));
    made->count = count;
    return made;
}

/* base[0] */
static dm_ast *first_of(dm_rewriter *r, dm_ast *base, const dm_ast *at)
{
    dm_ast *made = dm_rewrite_node(r, DM_AST_SUBSCRIPT, at);
    made->a = base;
    made->items = dm_lang_alloc_array(r->lang, 1, sizeof(void *));
    made->items[0] = dm_rewrite_int(r, 0, at);
    made->count = 1;
    return made;
}

void dm_rewrite_fail(dm_rewriter *r, const dm_ast *at, const char *hint, const char *text)
{
    dm_lang_error(r->lang, at->pos, at->end, hint, "%s", text);
}

const char *dm_rewrite_closest(dm_rewriter *r, const char *name, const char *const *all)
{
    const char *near = dm_closest(name, all);
    return near == NULL ? NULL : dm_lang_format(r->lang, "did you mean '%s'?", near);
}

/* ---- Names of the module ---- */

/* The name behind `dm.`; NULL when the node is something else. */
const char *dm_rewrite_module_name(const dm_rewriter *r, const dm_ast *at)
{
    if (at == NULL || at->kind != DM_AST_ATTRIBUTE || at->a->kind != DM_AST_NAME ||
        strcmp(at->a->name, r->module) != 0)
        return NULL;
    return at->name;
}

bool dm_rewrite_is_module(const dm_rewriter *r, const dm_ast *at, const char *name)
{
    const char *have = dm_rewrite_module_name(r, at);
    return have != NULL && strcmp(have, name) == 0;
}

const dm_ast *dm_rewrite_decorator(const dm_rewriter *r, const dm_ast *at, const char *name)
{
    for (int i = 0; at->decorators != NULL && i < at->decorators->count; i++) {
        const dm_ast *d = at->decorators->items[i];
        if (dm_rewrite_is_module(r, d->kind == DM_AST_CALL ? d->a : d, name))
            return d;
    }
    return NULL;
}

static const name_row *find_name(const char *name)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(names[i].name, name) == 0)
            return &names[i];
    return NULL;
}

static const char *closest_name(dm_rewriter *r, const char *name)
{
    static const char *const others[] = {"memory", "program", "func",   "Machine",
                                         "Out",    "Array",   "Bitmap", "HashSet"};
    const char *all[NAMES + 9] = {NULL};
    for (size_t i = 0; i < NAMES; i++)
        all[i] = names[i].name;
    for (size_t i = 0; i < 8; i++)
        all[NAMES + i] = others[i];
    return dm_rewrite_closest(r, name, all);
}

static dm_role role_of(const dm_rewriter *r, const dm_ast *at)
{
    if (at == NULL || at->kind != DM_AST_NAME)
        return DM_ROLE_NONE;
    for (int i = r->param_count - 1; i >= 0; i--)
        if (strcmp(r->params[i].name, at->name) == 0)
            return r->params[i].role;
    return DM_ROLE_NONE;
}

dm_program_field *dm_rewrite_field(dm_rewriter *r, const char *name)
{
    for (int i = 0; i < r->p->field_count; i++)
        if (strcmp(r->p->fields[i].name, name) == 0)
            return &r->p->fields[i];
    return NULL;
}

/* ---- Addresses and hooks ---- */

static void note_symbol(dm_rewriter *r, const char *name, uint16_t address)
{
    dm_program_parts *p = r->p;
    for (int i = 0; i < p->used_count; i++)
        if (strcmp(p->used[i].name, name) == 0)
            return;
    const dm_program_symbol made = {name, address};
    DM_LANG_PUSH(r->lang, p->used, p->used_count, p->used_capacity, made);
}

/* What a text says of a place; false after an error. */
static bool resolve(dm_rewriter *r, const dm_ast *at, dm_symbol *out)
{
    dm_error err = {0};
    dm_status status =
        dm_symbols_resolve(r->p->has_symbols ? &r->p->symbols : NULL, at->name, out, &err);
    if (status == DM_OK)
        return true;
    const char *hint = NULL;
    if (!r->p->has_symbols)
        hint = dm_lang_format(
            r->lang,
            "name the game's symbol file: @%s.program(symbols=\"game.sym\"), or write the address",
            r->module);
    dm_lang_error(r->lang, at->pos, at->end, hint, "%s", err.message);
    return false;
}

static dm_ast *address(dm_rewriter *r, dm_ast *at)
{
    dm_symbol symbol = {0};
    if (at->kind == DM_AST_INT && at->integer > 0xFFFF)
        dm_rewrite_fail(r, at, NULL, "an address is 0 to 0xFFFF");
    if (at->kind != DM_AST_STRING || !resolve(r, at, &symbol))
        return at;
    note_symbol(r, at->name, symbol.address);
    return dm_rewrite_int(r, symbol.address, at);
}

int dm_rewrite_hook(dm_rewriter *r, const dm_ast *at)
{
    dm_program_parts *p = r->p;
    dm_symbol symbol = {0};
    if (at->kind != DM_AST_STRING) {
        dm_rewrite_fail(r, at, "such as \"GameOver\" or \"01:4A2F\"",
                        "a hook is a text: a symbol or bank:address");
        return 0;
    }
    for (int i = 0; i < p->hook_count; i++)
        if (strcmp(p->hooks[i].name, at->name) == 0)
            return i;
    if (!resolve(r, at, &symbol))
        return 0;
    if (symbol.address >= 0x8000 && symbol.has_bank && symbol.bank != 0) {
        dm_rewrite_fail(r, at, NULL, "a hook with a bank lies in ROM: 0000 to 7FFF");
        return 0;
    }
    if (p->hook_count == DM_PROGRAM_HOOKS_MAX) {
        dm_lang_error(r->lang, at->pos, at->end, NULL, "more than %d hooks", DM_PROGRAM_HOOKS_MAX);
        return 0;
    }
    p->hooks[p->hook_count] =
        (dm_program_hook){at->name, symbol.bank, symbol.address, !symbol.has_bank};
    return p->hook_count++;
}

/* ---- Expressions ---- */

static void expressions(dm_rewriter *r, dm_ast *at)
{
    for (int i = 0; i < at->count; i++)
        at->items[i] = dm_rewrite_expression(r, at->items[i]);
}

/* How many floats the program observes, as far as constants say it. */
static void note_observed(dm_rewriter *r, const dm_ast *first, const dm_ast *count)
{
    bool known = first->kind == DM_AST_INT && (count == NULL || count->kind == DM_AST_INT);
    uint64_t end = known ? first->integer + (count == NULL ? 1 : count->integer) : 0;
    if (!known || end > UINT32_MAX)
        r->p->observes_anywhere = true;
    else if (end > r->p->observed)
        r->p->observed = (uint32_t)end;
}

static dm_ast *machine_field(dm_rewriter *r, dm_ast *at)
{
    for (int i = 0; machine_fields[i] != NULL; i++)
        if (strcmp(machine_fields[i], at->name) == 0) {
            const char *name = dm_lang_format(r->lang, "_dm_m_%s", at->name);
            return dm_rewrite_call(r, dm_rewrite_name(r, name, at), &at->a, 1, at);
        }
    dm_lang_error(r->lang, at->pos, at->end, dm_rewrite_closest(r, at->name, machine_fields),
                  "a machine has no '%s'", at->name);
    return at;
}

static dm_ast *memory_field(dm_rewriter *r, dm_ast *at)
{
    const dm_program_field *field = dm_rewrite_field(r, at->name);
    if (field != NULL)
        return field->kind == DM_PROGRAM_VALUE ? first_of(r, at, at) : at;
    const char *all[DM_PROGRAM_FIELDS_MAX + 1] = {NULL};
    for (int i = 0; i < r->p->field_count; i++)
        all[i] = r->p->fields[i].name;
    dm_lang_error(r->lang, at->pos, at->end, dm_rewrite_closest(r, at->name, all),
                  "the memory has no field '%s'", at->name);
    return at;
}

static dm_ast *out_field(dm_rewriter *r, dm_ast *at)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(out_fields[i], at->name) == 0)
            return first_of(r, at, at);
    if (strcmp(at->name, "obs") == 0)
        return at;
    dm_lang_error(r->lang, at->pos, at->end, dm_rewrite_closest(r, at->name, out_fields),
                  strcmp(at->name, "metric") == 0
                      ? "out.metric is called: out.metric(\"score\", value)"
                      : "there is no out.%s",
                  at->name);
    return at;
}

static dm_ast *attribute(dm_rewriter *r, dm_ast *at)
{
    assert(at->name != NULL);
    const char *name = dm_rewrite_module_name(r, at);
    if (name != NULL) {
        if (find_name(name) != NULL)
            return dm_rewrite_name(r, dm_lang_format(r->lang, "_dm_%s", name), at);
        if (strcmp(name, "Machine") == 0 || strcmp(name, "Out") == 0)
            return dm_rewrite_name(r, dm_lang_format(r->lang, "_dm_%s", name), at);
        if (dm_namespace_has(dm_lang_intern_text(r->lang, name)))
            return dm_rewrite_warp(r, name, at);
        dm_lang_error(r->lang, at->pos, at->end, closest_name(r, name),
                      "the module has no '%s' for programs", name);
        return at;
    }
    switch (role_of(r, at->a)) {
    case DM_ROLE_MACHINE:
        return machine_field(r, at);
    case DM_ROLE_MEMORY:
        return memory_field(r, at);
    case DM_ROLE_OUT:
        return out_field(r, at);
    case DM_ROLE_NONE:
        break;
    }
    at->a = dm_rewrite_expression(r, at->a);
    return at;
}

static dm_ast *metric(dm_rewriter *r, dm_ast *at)
{
    dm_program_parts *p = r->p;
    if (at->count != 2 || at->items[0]->kind != DM_AST_STRING) {
        dm_rewrite_fail(r, at, NULL,
                        "a metric has a name and a value: out.metric(\"score\", float(score))");
        return at;
    }
    int number = 0;
    const char *name = at->items[0]->name;
    while (number < p->metric_count && strcmp(p->metrics[number], name) != 0)
        number++;
    if (number == DM_PROGRAM_METRICS_MAX) {
        dm_lang_error(r->lang, at->pos, at->end, NULL, "more than %d metrics",
                      DM_PROGRAM_METRICS_MAX);
        return at;
    }
    if (number == p->metric_count)
        p->metrics[p->metric_count++] = name;
    dm_ast *items[] = {at->a->a, dm_rewrite_int(r, (uint64_t)number, at),
                       dm_rewrite_expression(r, at->items[1])};
    return dm_rewrite_call(r, dm_rewrite_name(r, "_dm_metric", at), items, 3, at);
}

/* dm.visit(mem.field, number): which function it is depends on the field. */
static dm_ast *visit(dm_rewriter *r, dm_ast *at, const char *name)
{
    const dm_ast *place = at->count > 0 ? at->items[0] : NULL;
    const dm_program_field *field =
        place != NULL && place->kind == DM_AST_ATTRIBUTE && role_of(r, place->a) == DM_ROLE_MEMORY
            ? dm_rewrite_field(r, place->name)
            : NULL;
    if (at->count != 2 || field == NULL ||
        (field->kind != DM_PROGRAM_BITMAP && field->kind != DM_PROGRAM_SET)) {
        dm_lang_error(r->lang, at->pos, at->end,
                      dm_lang_format(r->lang, "declare it: seen: %s.Bitmap(4096)", r->module),
                      "%s.%s takes a Bitmap or HashSet of the memory and a number", r->module,
                      name);
        return at;
    }
    bool bitmap = field->kind == DM_PROGRAM_BITMAP;
    dm_ast *number = dm_rewrite_expression(r, at->items[1]);
    dm_ast *limit = bitmap ? (dm_ast *)field->count : dm_rewrite_int(r, INT32_MAX, at);
    dm_ast *checked[] = {number, limit};
    dm_ast *items[] = {at->items[0],
                       dm_rewrite_call(r, dm_rewrite_warp(r, "within", at), checked, 2, number)};
    const char *callee = dm_lang_format(r->lang, "_dm_%s_%s", name, bitmap ? "bit" : "key");
    return dm_rewrite_call(r, dm_rewrite_name(r, callee, at), items, 2, at);
}

static dm_ast *call(dm_rewriter *r, dm_ast *at)
{
    const char *name = dm_rewrite_module_name(r, at->a);
    if (at->a->kind == DM_AST_ATTRIBUTE && role_of(r, at->a->a) == DM_ROLE_OUT &&
        strcmp(at->a->name, "metric") == 0)
        return metric(r, at);
    const name_row *row = name == NULL ? NULL : find_name(name);
    if (row != NULL && row->arguments[0] == 'f')
        return visit(r, at, name);
    for (int i = 0; row != NULL && i < at->count && row->arguments[i] != '\0'; i++) {
        if (row->arguments[i] == 'a')
            at->items[i] = address(r, at->items[i]);
        if (row->arguments[i] == 'h')
            at->items[i] =
                dm_rewrite_int(r, (uint64_t)dm_rewrite_hook(r, at->items[i]), at->items[i]);
    }
    if (row != NULL && row->arguments[0] == 'o' && at->count > 2)
        note_observed(r, at->items[1],
                      row->arguments[2] == 'm' ? at->items[at->count - 1] : at->items[2]);
    at->a = dm_rewrite_expression(r, at->a);
    expressions(r, at);
    return at;
}

dm_ast *dm_rewrite_expression(dm_rewriter *r, dm_ast *at)
{
    if (at == NULL)
        return NULL;
    switch ((dm_ast_kind)at->kind) {
    case DM_AST_ATTRIBUTE:
        return attribute(r, at);
    case DM_AST_CALL:
        return call(r, at);
    case DM_AST_SUBSCRIPT:
        if (at->a->kind == DM_AST_ATTRIBUTE && role_of(r, at->a->a) == DM_ROLE_OUT &&
            strcmp(at->a->name, "obs") == 0 && at->count == 1)
            note_observed(r, at->items[0], NULL);
        break;
    default:
        break;
    }
    at->a = dm_rewrite_expression(r, at->a);
    at->b = dm_rewrite_expression(r, at->b);
    at->c = dm_rewrite_expression(r, at->c);
    expressions(r, at);
    return at;
}

/* ---- Statements ---- */

/* a += b on memory or an answer becomes a load and a store. Nothing is atomic: each machine has its own memory. */
static dm_ast *augmented(dm_rewriter *r, dm_ast *at)
{
    const dm_ast *base = at->a;
    while (base->kind == DM_AST_ATTRIBUTE || base->kind == DM_AST_SUBSCRIPT)
        base = base->a;
    dm_role owner = base == at->a ? DM_ROLE_NONE : role_of(r, base);
    at->b = dm_rewrite_expression(r, at->b);
    at->a = dm_rewrite_expression(r, at->a);
    if (owner != DM_ROLE_MEMORY && owner != DM_ROLE_OUT)
        return at;
    dm_ast *sum = dm_rewrite_node(r, DM_AST_BINARY, at),
           *made = dm_rewrite_node(r, DM_AST_ASSIGN, at);
    sum->op = at->op;
    sum->a = at->a;
    sum->b = at->b;
    made->items = dm_lang_alloc_array(r->lang, 1, sizeof(void *));
    made->items[0] = at->a;
    made->count = 1;
    made->a = sum;
    return made;
}

static dm_ast *statement(dm_rewriter *r, dm_ast *at)
{
    switch ((dm_ast_kind)at->kind) {
    case DM_AST_AUGMENTED:
        return augmented(r, at);
    case DM_AST_BLOCK:
        dm_rewrite_block(r, at);
        return at;
    case DM_AST_FUNCTION:
    case DM_AST_CLASS:
        dm_rewrite_fail(r, at, "move it to the top of the file",
                        "nothing can be defined inside a function");
        return at;
    default:
        break;
    }
    at->a = dm_rewrite_expression(r, at->a);
    at->b = dm_rewrite_expression(r, at->b);
    at->c = dm_rewrite_expression(r, at->c);
    expressions(r, at);
    if (at->body != NULL)
        dm_rewrite_block(r, at->body);
    if (at->other != NULL)
        dm_rewrite_block(r, at->other);
    return at;
}

void dm_rewrite_block(dm_rewriter *r, dm_ast *at)
{
    for (int i = 0; i < at->count; i++)
        at->items[i] = statement(r, at->items[i]);
}
