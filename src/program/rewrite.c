/* SPDX-License-Identifier: MIT */
/* rewrite.c - a program's tree, in which names of the module dotmatrix stand, becomes one of the dialect alone.
 *
 *   class Memory: score: int              class Memory: score: array(dtype=_dm_T0)
 *   dm.u8(m, "wLives")                    _dm_u8(m, 0xC103)
 *   mem.score                             mem.score[0]
 *   out.obs[3]  out.reward                out.obs[3]  out.reward[0]
 *   dm.visit(mem.seen, n)                 _dm_visit_bit(mem.seen, within(n, 4096))
 *   out.metric("score", x)                _dm_metric(out, 0, x)
 *   dm.hit(m, "GameOver")                 _dm_hit(m, 0)
 *
 * Every new node has the place of what it replaces, so that messages show the program's own lines. The functions
 * _dm_... are prelude.py's; the kernel that calls the program's function is text of ours as well. */
#include "base/closest.h"
#include "base/file.h"
#include "device/sources.h"
#include "program/internal.h"

#include <stdlib.h>
#include <string.h>

#define PARAMS_MAX 32

typedef enum role { NO_ROLE, MACHINE, MEMORY, OUT } role;

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
static const char *const out_fields[] = {"reward", "terminated", "truncated",
                                         "obs",    "metric",     NULL};

typedef struct rewriter {
    dm_lang *lang;
    dm_program_parts *p;
    const char *module; /* what the file calls dotmatrix */
    struct {
        const char *name;
        role role;
    } params[PARAMS_MAX];
    int param_count;
} rewriter;

/* ---- Nodes ---- */

static dm_ast *node(rewriter *r, dm_ast_kind kind, const dm_ast *at)
{
    dm_ast *made = dm_lang_alloc(r->lang, sizeof *made);
    made->kind = (uint8_t)kind;
    made->pos = at->pos;
    made->end = at->end;
    return made;
}

static dm_ast *name_node(rewriter *r, const char *name, const dm_ast *at)
{
    dm_ast *made = node(r, DM_AST_NAME, at);
    made->name = dm_lang_intern_text(r->lang, name);
    return made;
}

static dm_ast *int_node(rewriter *r, uint64_t value, const dm_ast *at)
{
    dm_ast *made = node(r, DM_AST_INT, at);
    made->integer = value;
    return made;
}

/* _wp.name */
static dm_ast *warp_node(rewriter *r, const char *name, const dm_ast *at)
{
    dm_ast *made = node(r, DM_AST_ATTRIBUTE, at);
    made->name = dm_lang_intern_text(r->lang, name);
    made->a = name_node(r, "_wp", at);
    return made;
}

static dm_ast *call_node(rewriter *r, dm_ast *callee, dm_ast **items, int count, const dm_ast *at)
{
    dm_ast *made = node(r, DM_AST_CALL, at);
    made->a = callee;
    made->items = dm_lang_alloc_array(r->lang, (size_t)count + 1, sizeof *items);
    memcpy(made->items, items, (size_t)count * sizeof *items);
    made->count = count;
    return made;
}

/* base[0] */
static dm_ast *first_of(rewriter *r, dm_ast *base, const dm_ast *at)
{
    dm_ast *made = node(r, DM_AST_SUBSCRIPT, at);
    made->a = base;
    made->items = dm_lang_alloc_array(r->lang, 1, sizeof *made->items);
    made->items[0] = int_node(r, 0, at);
    made->count = 1;
    return made;
}

static void fail(rewriter *r, const dm_ast *at, const char *hint, const char *text)
{
    dm_lang_error(r->lang, at->pos, at->end, hint, "%s", text);
}

static const char *did_you_mean(rewriter *r, const char *name, const char *const *all)
{
    const char *near = dm_closest(name, all);
    return near == NULL ? NULL : dm_lang_format(r->lang, "did you mean '%s'?", near);
}

/* ---- Names of the module ---- */

/* The name behind `dm.`; NULL when the node is something else. */
static const char *module_name(const rewriter *r, const dm_ast *at)
{
    if (at == NULL || at->kind != DM_AST_ATTRIBUTE || at->a->kind != DM_AST_NAME ||
        strcmp(at->a->name, r->module) != 0)
        return NULL;
    return at->name;
}

static bool is_module(const rewriter *r, const dm_ast *at, const char *name)
{
    const char *have = module_name(r, at);
    return have != NULL && strcmp(have, name) == 0;
}

static const dm_ast *decorator(const rewriter *r, const dm_ast *at, const char *name)
{
    for (int i = 0; at->decorators != NULL && i < at->decorators->count; i++) {
        const dm_ast *d = at->decorators->items[i];
        if (is_module(r, d->kind == DM_AST_CALL ? d->a : d, name))
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

static const char *closest_name(rewriter *r, const char *name)
{
    static const char *const others[] = {"memory", "program", "func",   "Machine",
                                         "Out",    "Array",   "Bitmap", "HashSet"};
    const char *all[NAMES + 9] = {NULL};
    for (size_t i = 0; i < NAMES; i++)
        all[i] = names[i].name;
    for (size_t i = 0; i < 8; i++)
        all[NAMES + i] = others[i];
    return did_you_mean(r, name, all);
}

static role role_of(const rewriter *r, const dm_ast *at)
{
    if (at == NULL || at->kind != DM_AST_NAME)
        return NO_ROLE;
    for (int i = r->param_count - 1; i >= 0; i--)
        if (strcmp(r->params[i].name, at->name) == 0)
            return r->params[i].role;
    return NO_ROLE;
}

static dm_program_field *find_field(rewriter *r, const char *name)
{
    for (int i = 0; i < r->p->field_count; i++)
        if (strcmp(r->p->fields[i].name, name) == 0)
            return &r->p->fields[i];
    return NULL;
}

/* ---- Addresses and hooks ---- */

static void note_symbol(rewriter *r, const char *name, uint16_t address)
{
    dm_program_parts *p = r->p;
    for (int i = 0; i < p->used_count; i++)
        if (strcmp(p->used[i].name, name) == 0)
            return;
    const dm_program_symbol made = {name, address};
    DM_LANG_PUSH(r->lang, p->used, p->used_count, p->used_capacity, made);
}

/* What a text says of a place; false after an error. */
static bool resolve(rewriter *r, const dm_ast *at, dm_symbol *out)
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

static dm_ast *address(rewriter *r, dm_ast *at)
{
    dm_symbol symbol = {0};
    if (at->kind == DM_AST_INT && at->integer > 0xFFFF)
        fail(r, at, NULL, "an address is 0 to 0xFFFF");
    if (at->kind != DM_AST_STRING || !resolve(r, at, &symbol))
        return at;
    note_symbol(r, at->name, symbol.address);
    return int_node(r, symbol.address, at);
}

static int hook_number(rewriter *r, const dm_ast *at)
{
    dm_program_parts *p = r->p;
    dm_symbol symbol = {0};
    if (at->kind != DM_AST_STRING) {
        fail(r, at, "such as \"GameOver\" or \"01:4A2F\"",
             "a hook is a text: a symbol or bank:address");
        return 0;
    }
    for (int i = 0; i < p->hook_count; i++)
        if (strcmp(p->hooks[i].name, at->name) == 0)
            return i;
    if (!resolve(r, at, &symbol))
        return 0;
    if (symbol.address >= 0x8000 && symbol.has_bank && symbol.bank != 0) {
        fail(r, at, NULL, "a hook with a bank lies in ROM: 0000 to 7FFF");
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

static dm_ast *expression(rewriter *r, dm_ast *at);

static void expressions(rewriter *r, dm_ast *at)
{
    for (int i = 0; i < at->count; i++)
        at->items[i] = expression(r, at->items[i]);
}

/* How many floats the program observes, as far as constants say it. */
static void note_observed(rewriter *r, const dm_ast *first, const dm_ast *count)
{
    bool known = first->kind == DM_AST_INT && (count == NULL || count->kind == DM_AST_INT);
    uint64_t end = known ? first->integer + (count == NULL ? 1 : count->integer) : 0;
    if (!known || end > UINT32_MAX)
        r->p->observes_anywhere = true;
    else if (end > r->p->observed)
        r->p->observed = (uint32_t)end;
}

static dm_ast *machine_field(rewriter *r, dm_ast *at)
{
    for (int i = 0; machine_fields[i] != NULL; i++)
        if (strcmp(machine_fields[i], at->name) == 0) {
            const char *name = dm_lang_format(r->lang, "_dm_m_%s", at->name);
            return call_node(r, name_node(r, name, at), &at->a, 1, at);
        }
    dm_lang_error(r->lang, at->pos, at->end, did_you_mean(r, at->name, machine_fields),
                  "a machine has no '%s'", at->name);
    return at;
}

static dm_ast *memory_field(rewriter *r, dm_ast *at)
{
    const dm_program_field *field = find_field(r, at->name);
    if (field != NULL)
        return field->kind == DM_PROGRAM_VALUE ? first_of(r, at, at) : at;
    const char *all[DM_PROGRAM_FIELDS_MAX + 1] = {NULL};
    for (int i = 0; i < r->p->field_count; i++)
        all[i] = r->p->fields[i].name;
    dm_lang_error(r->lang, at->pos, at->end, did_you_mean(r, at->name, all),
                  "the memory has no field '%s'", at->name);
    return at;
}

static dm_ast *out_field(rewriter *r, dm_ast *at)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(out_fields[i], at->name) == 0)
            return first_of(r, at, at);
    if (strcmp(at->name, "obs") == 0)
        return at;
    dm_lang_error(r->lang, at->pos, at->end, did_you_mean(r, at->name, out_fields),
                  strcmp(at->name, "metric") == 0
                      ? "out.metric is called: out.metric(\"score\", value)"
                      : "there is no out.%s",
                  at->name);
    return at;
}

static dm_ast *attribute(rewriter *r, dm_ast *at)
{
    const char *name = module_name(r, at);
    if (name != NULL) {
        if (find_name(name) != NULL)
            return name_node(r, dm_lang_format(r->lang, "_dm_%s", name), at);
        if (strcmp(name, "Machine") == 0 || strcmp(name, "Out") == 0)
            return name_node(r, dm_lang_format(r->lang, "_dm_%s", name), at);
        if (dm_namespace_has(dm_lang_intern_text(r->lang, name)))
            return warp_node(r, name, at);
        dm_lang_error(r->lang, at->pos, at->end, closest_name(r, name),
                      "the module has no '%s' for programs", name);
        return at;
    }
    switch (role_of(r, at->a)) {
    case MACHINE:
        return machine_field(r, at);
    case MEMORY:
        return memory_field(r, at);
    case OUT:
        return out_field(r, at);
    case NO_ROLE:
        break;
    }
    at->a = expression(r, at->a);
    return at;
}

static dm_ast *metric(rewriter *r, dm_ast *at)
{
    dm_program_parts *p = r->p;
    if (at->count != 2 || at->items[0]->kind != DM_AST_STRING) {
        fail(r, at, NULL, "a metric has a name and a value: out.metric(\"score\", float(score))");
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
    dm_ast *items[] = {at->a->a, int_node(r, (uint64_t)number, at), expression(r, at->items[1])};
    return call_node(r, name_node(r, "_dm_metric", at), items, 3, at);
}

/* dm.visit(mem.field, number): which function it is depends on the field. */
static dm_ast *visit(rewriter *r, dm_ast *at, const char *name)
{
    const dm_ast *place = at->count > 0 ? at->items[0] : NULL;
    const dm_program_field *field =
        place != NULL && place->kind == DM_AST_ATTRIBUTE && role_of(r, place->a) == MEMORY
            ? find_field(r, place->name)
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
    dm_ast *number = expression(r, at->items[1]);
    dm_ast *limit = bitmap ? (dm_ast *)field->count : int_node(r, INT32_MAX, at);
    dm_ast *checked[] = {number, limit};
    dm_ast *items[] = {at->items[0], call_node(r, warp_node(r, "within", at), checked, 2, number)};
    const char *callee = dm_lang_format(r->lang, "_dm_%s_%s", name, bitmap ? "bit" : "key");
    return call_node(r, name_node(r, callee, at), items, 2, at);
}

static dm_ast *call(rewriter *r, dm_ast *at)
{
    const char *name = module_name(r, at->a);
    if (at->a->kind == DM_AST_ATTRIBUTE && role_of(r, at->a->a) == OUT &&
        strcmp(at->a->name, "metric") == 0)
        return metric(r, at);
    const name_row *row = name == NULL ? NULL : find_name(name);
    if (row != NULL && row->arguments[0] == 'f')
        return visit(r, at, name);
    for (int i = 0; row != NULL && i < at->count && row->arguments[i] != '\0'; i++) {
        if (row->arguments[i] == 'a')
            at->items[i] = address(r, at->items[i]);
        if (row->arguments[i] == 'h')
            at->items[i] = int_node(r, (uint64_t)hook_number(r, at->items[i]), at->items[i]);
    }
    if (row != NULL && row->arguments[0] == 'o' && at->count > 2)
        note_observed(r, at->items[1],
                      row->arguments[2] == 'm' ? at->items[at->count - 1] : at->items[2]);
    at->a = expression(r, at->a);
    expressions(r, at);
    return at;
}

static dm_ast *expression(rewriter *r, dm_ast *at)
{
    if (at == NULL)
        return NULL;
    switch ((dm_ast_kind)at->kind) {
    case DM_AST_ATTRIBUTE:
        return attribute(r, at);
    case DM_AST_CALL:
        return call(r, at);
    case DM_AST_SUBSCRIPT:
        if (at->a->kind == DM_AST_ATTRIBUTE && role_of(r, at->a->a) == OUT &&
            strcmp(at->a->name, "obs") == 0 && at->count == 1)
            note_observed(r, at->items[0], NULL);
        break;
    default:
        break;
    }
    at->a = expression(r, at->a);
    at->b = expression(r, at->b);
    at->c = expression(r, at->c);
    expressions(r, at);
    return at;
}

/* ---- Statements ---- */

static void block(rewriter *r, dm_ast *at);

/* a += b on memory or an answer is a load and a store: a machine's are its own, nothing is atomic. */
static dm_ast *augmented(rewriter *r, dm_ast *at)
{
    const dm_ast *base = at->a;
    while (base->kind == DM_AST_ATTRIBUTE || base->kind == DM_AST_SUBSCRIPT)
        base = base->a;
    role owner = base == at->a ? NO_ROLE : role_of(r, base);
    at->b = expression(r, at->b);
    at->a = expression(r, at->a);
    if (owner != MEMORY && owner != OUT)
        return at;
    dm_ast *sum = node(r, DM_AST_BINARY, at), *made = node(r, DM_AST_ASSIGN, at);
    sum->op = at->op;
    sum->a = at->a;
    sum->b = at->b;
    made->items = dm_lang_alloc_array(r->lang, 1, sizeof *made->items);
    made->items[0] = at->a;
    made->count = 1;
    made->a = sum;
    return made;
}

static dm_ast *statement(rewriter *r, dm_ast *at)
{
    switch ((dm_ast_kind)at->kind) {
    case DM_AST_AUGMENTED:
        return augmented(r, at);
    case DM_AST_BLOCK:
        block(r, at);
        return at;
    case DM_AST_FUNCTION:
    case DM_AST_CLASS:
        fail(r, at, "move it to the top of the file", "nothing can be defined inside a function");
        return at;
    default:
        break;
    }
    at->a = expression(r, at->a);
    at->b = expression(r, at->b);
    at->c = expression(r, at->c);
    expressions(r, at);
    if (at->body != NULL)
        block(r, at->body);
    if (at->other != NULL)
        block(r, at->other);
    return at;
}

static void block(rewriter *r, dm_ast *at)
{
    for (int i = 0; i < at->count; i++)
        at->items[i] = statement(r, at->items[i]);
}

/* ---- Functions and the memory's class ---- */

static role role_of_annotation(const rewriter *r, const dm_ast *at)
{
    if (is_module(r, at, "Machine"))
        return MACHINE;
    if (is_module(r, at, "Out"))
        return OUT;
    if (at != NULL && at->kind == DM_AST_NAME && r->p->memory_class != NULL &&
        strcmp(at->name, r->p->memory_class) == 0)
        return MEMORY;
    return NO_ROLE;
}

static void replace_decorators(rewriter *r, dm_ast *at, const char *name)
{
    dm_ast *list = node(r, DM_AST_BLOCK, at);
    list->items = dm_lang_alloc_array(r->lang, 1, sizeof *list->items);
    list->items[0] = warp_node(r, name, at);
    list->count = 1;
    at->decorators = list;
}

static void function(rewriter *r, dm_ast *at)
{
    bool program = at == r->p->function_ast;
    r->param_count = 0;
    for (int i = 0; i < at->count; i++) {
        dm_ast *param = at->items[i];
        role have = role_of_annotation(r, param->a);
        if (param->name == NULL || r->param_count == PARAMS_MAX)
            continue;
        r->params[r->param_count].name = param->name;
        r->params[r->param_count++].role = have;
        param->a = have == MEMORY ? param->a : expression(r, param->a);
        param->b = expression(r, param->b);
        if (!program)
            continue;
        if (have == NO_ROLE || i >= 3) {
            fail(r, param,
                 dm_lang_format(r->lang,
                                "def %s(m: %s.Machine, mem: Memory, out: %s.Out), or without mem",
                                at->name, r->module, r->module),
                 "a program takes the machine, its memory and the answer, each with its type");
            return;
        }
        r->p->order[i] = have == MACHINE ? 'm' : have == MEMORY ? 'k' : 'o';
        r->p->parameter_count = i + 1;
    }
    replace_decorators(r, at, "func");
    block(r, at->body);
    r->param_count = 0;
}

/* A field's type: dm.Bitmap(n), dm.HashSet(n), dm.Array(n, type), or a type. */
static bool field_type(rewriter *r, dm_ast *at, dm_program_field *field)
{
    static const struct {
        const char *name;
        dm_program_field_kind kind;
    } kinds[] = {
        {"Bitmap", DM_PROGRAM_BITMAP}, {"HashSet", DM_PROGRAM_SET}, {"Array", DM_PROGRAM_ARRAY}};
    const char *name = module_name(r, at->kind == DM_AST_CALL ? at->a : at);
    for (size_t i = 0; name != NULL && i < 3; i++) {
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        int most = kinds[i].kind == DM_PROGRAM_ARRAY ? 2 : 1;
        if (at->kind != DM_AST_CALL || at->count < 1 || at->count > most ||
            at->items[0]->kind == DM_AST_KEYWORD) {
            dm_lang_error(r->lang, at->pos, at->end, NULL, "%s.%s takes its length%s", r->module,
                          name, most == 2 ? " and the type of an element" : "");
            return false;
        }
        field->kind = kinds[i].kind;
        field->count = at->items[0];
        field->type = at->count == 2 ? expression(r, at->items[1])
                      : most == 2    ? name_node(r, "int", at)
                                     : NULL;
        return true;
    }
    field->kind = DM_PROGRAM_VALUE;
    field->type = expression(r, at);
    return true;
}

/* name: type  ->  name: _wp.array(dtype=type), the type under a name of its own for the kernel as well. */
static void memory_class(rewriter *r, dm_ast *at)
{
    dm_program_parts *p = r->p;
    for (int i = 0; i < at->body->count; i++) {
        dm_ast *line = at->body->items[i];
        if (line->kind == DM_AST_PASS ||
            (line->kind == DM_AST_EXPR && line->a->kind == DM_AST_STRING))
            continue;
        if (line->kind != DM_AST_ANNOTATED || line->a->kind != DM_AST_NAME) {
            fail(r, line, "such as score: int",
                 "the memory's class holds fields with a type and nothing else");
            continue;
        }
        if (line->c != NULL) {
            fail(r, line, NULL,
                 "memory is zero when an episode begins; a field has no other first value");
            continue;
        }
        if (p->field_count == DM_PROGRAM_FIELDS_MAX) {
            dm_lang_error(r->lang, line->pos, line->end, NULL, "more than %d fields",
                          DM_PROGRAM_FIELDS_MAX);
            return;
        }
        dm_program_field *field = &p->fields[p->field_count];
        *field = (dm_program_field){.name = line->a->name, .ast = line};
        if (find_field(r, field->name) != NULL) {
            dm_lang_error(r->lang, line->pos, line->end, NULL, "a second field '%s'", field->name);
            continue;
        }
        if (!field_type(r, line->b, field))
            continue;
        dm_ast *dtype = node(r, DM_AST_KEYWORD, line->b);
        dtype->name = dm_lang_intern_text(r->lang, "dtype");
        dtype->a = field->type == NULL
                       ? warp_node(r, "uint32", line->b)
                       : name_node(r, dm_lang_format(r->lang, "_dm_T%d", p->field_count), line->b);
        line->b = call_node(r, warp_node(r, "array", line->b), &dtype, 1, line->b);
        p->field_count++;
    }
    replace_decorators(r, at, "struct");
}

/* ---- The decorator of the program ---- */

static void read_symbols(rewriter *r, const char *path, const dm_ast *at)
{
    dm_error err = {0};
    const char *slash = strrchr(r->p->name, '/');
    if (path[0] != '/' && slash != NULL)
        path = dm_lang_format(r->lang, "%.*s/%s", (int)(slash - r->p->name), r->p->name, path);
    dm_symbols_deinit(&r->p->symbols);
    r->p->has_symbols = dm_symbols_read(&r->p->symbols, path, &err) == DM_OK;
    if (!r->p->has_symbols)
        dm_lang_error(r->lang, at->pos, at->end, NULL, "%s", err.message);
}

static void read_decorator(rewriter *r, const dm_ast *at)
{
    static const char *const keywords[] = {"symbols", "hooks", "obs", NULL};
    const dm_ast *hooks = NULL;
    for (int i = 0; at->kind == DM_AST_CALL && i < at->count; i++) {
        const dm_ast *item = at->items[i];
        if (item->kind != DM_AST_KEYWORD || item->name == NULL) {
            fail(r, item, NULL, "the program's options have names: symbols=, hooks=, obs=");
        } else if (strcmp(item->name, "symbols") == 0) {
            if (item->a->kind != DM_AST_STRING)
                fail(r, item->a, NULL, "symbols= is the name of a file");
            else if (!r->p->symbols_given)
                read_symbols(r, item->a->name, item->a);
        } else if (strcmp(item->name, "hooks") == 0) {
            hooks = item->a;
        } else if (strcmp(item->name, "obs") == 0) {
            r->p->observations = item->a;
        } else {
            dm_lang_error(r->lang, item->pos, item->end, did_you_mean(r, item->name, keywords),
                          "a program has no option '%s'", item->name);
        }
    }
    if (hooks != NULL && hooks->kind != DM_AST_LIST && hooks->kind != DM_AST_TUPLE) {
        fail(r, hooks, "such as [\"GameOver\", \"01:4A2F\"]", "hooks= is a list of texts");
        return;
    }
    for (int i = 0; hooks != NULL && i < hooks->count; i++)
        hook_number(r, hooks->items[i]);
}

/* ---- The kernel ---- */

/* Its text: parameters as dm_program_places has them, one view of each for the machine of this thread. */
static void kernel_text(rewriter *r, dm_buffer *out)
{
    const dm_program_parts *p = r->p;
    dm_buffer_puts(out,
                   "@_wp.kernel\ndef _dm_program("
                   "machines: _wp.array2d(dtype=_wp.uint8), ram: _wp.array2d(dtype=_wp.uint8), "
                   "roms: _wp.array(dtype=_wp.uint8), rom_starts: _wp.array(dtype=_wp.uint32), "
                   "turns: _wp.array(dtype=_wp.uint32), actions: _wp.array(dtype=_wp.uint32), "
                   "steps: _wp.array(dtype=_wp.uint64), episodes: _wp.array(dtype=_wp.uint32), "
                   "hooks: _wp.array(dtype=_wp.uint64), rewards: _wp.array2d(dtype=float), "
                   "terminated: _wp.array2d(dtype=bool), truncated: _wp.array2d(dtype=bool), "
                   "obs: _wp.array2d(dtype=float), metrics: _wp.array2d(dtype=float)");
    for (int i = 0; i < p->field_count; i++)
        if (p->fields[i].type != NULL)
            dm_buffer_printf(out, ", f%d: _wp.array2d(dtype=_dm_T%d)", i, i);
        else
            dm_buffer_printf(out, ", f%d: _wp.array2d(dtype=_wp.uint32)", i);
    dm_buffer_puts(
        out,
        ", seed: _wp.uint64, first: _wp.int64):\n"
        "    i = _wp.tid()\n"
        "    turn = int(turns[i])\n"
        "    if turn == 2:\n"
        "        return\n"
        "    m = _dm_Machine()\n"
        "    m.cpu = machines[i]\n"
        "    m.ram = ram[i]\n"
        "    m.rom = roms\n"
        "    m.rom_number = i % rom_starts.shape[0]\n"
        "    m.rom_at = int(rom_starts[m.rom_number])\n"
        "    m.number = first + _wp.int64(i)\n"
        "    m.action = int(actions[i])\n"
        "    m.draws = seed * _wp.uint64(0xD1342543DE82EF95) + "
        "_wp.uint64(m.number) * _wp.uint64(0xA0761D6478BD642F) + "
        "steps[i] * _wp.uint64(0xE7037ED1A0B428DB)\n"
        "    m.draws = (m.draws ^ (m.draws >> _wp.uint64(29))) * _wp.uint64(0xBF58476D1CE4E5B9)\n"
        "    if turn == 0:\n"
        "        m.steps = int(episodes[i]) + 1\n"
        "        if hooks.shape[0] > 0:\n"
        "            m.hooks = hooks[i]\n"
        "    for j in range(metrics.shape[1]):\n"
        "        metrics[i, j] = 0.0\n"
        "    rewards[i, 0] = 0.0\n"
        "    terminated[i, 0] = False\n"
        "    truncated[i, 0] = False\n"
        "    out = _dm_Out()\n"
        "    out.reward = rewards[i]\n"
        "    out.terminated = terminated[i]\n"
        "    out.truncated = truncated[i]\n"
        "    out.obs = obs[i]\n"
        "    out.metrics = metrics[i]\n");
    if (p->memory_class != NULL)
        dm_buffer_printf(out, "    k = %s()\n", p->memory_class);
    for (int i = 0; i < p->field_count; i++)
        dm_buffer_printf(out, "    k.%s = f%d[i]\n", p->fields[i].name, i);
    dm_buffer_printf(out, "    %s(", p->function);
    for (int i = 0; i < p->parameter_count; i++)
        dm_buffer_printf(out, "%s%s", i > 0 ? ", " : "",
                         p->order[i] == 'm'   ? "m"
                         : p->order[i] == 'k' ? "k"
                                              : "out");
    dm_buffer_puts(out, ")\n"
                        "    if turn == 1:\n"
                        "        rewards[i, 0] = 0.0\n"
                        "        terminated[i, 0] = False\n"
                        "        truncated[i, 0] = False\n");
}

/* ---- The whole ---- */

/* @dm.func, @wp.func */
static bool is_helper(const dm_ast *at)
{
    for (int i = 0; at->kind == DM_AST_FUNCTION && at->name != NULL && at->decorators != NULL &&
                    i < at->decorators->count;
         i++) {
        const dm_ast *d = at->decorators->items[i];
        if (d->kind == DM_AST_ATTRIBUTE && strcmp(d->name, "func") == 0)
            return true;
    }
    return false;
}

static void find_module(rewriter *r, const dm_ast *tree)
{
    r->module = "dm";
    for (int i = 0; i < tree->count; i++) {
        const dm_ast *at = tree->items[i];
        if (at->kind == DM_AST_IMPORT && strcmp(at->name, "dotmatrix") == 0)
            r->module = at->other_name;
        if (at->kind == DM_AST_FROM && strcmp(at->other_name, "dotmatrix") == 0)
            fail(r, at, "import dotmatrix as dm", "programs name the module: dm.u8, not u8");
    }
}

static void find_program(rewriter *r, const dm_ast *tree)
{
    dm_program_parts *p = r->p;
    const dm_ast *first = NULL;
    int found = 0;
    for (int i = 0; i < tree->count; i++) {
        dm_ast *at = tree->items[i];
        if (at->kind == DM_AST_CLASS && at->name != NULL && decorator(r, at, "memory") != NULL) {
            if (p->memory_class != NULL)
                fail(r, at, NULL, "a second class with @memory; a program has one");
            else
                p->memory_class = at->name;
        }
        if (at->kind != DM_AST_FUNCTION || at->name == NULL || decorator(r, at, "program") == NULL)
            continue;
        found++;
        first = first == NULL ? at : first;
        if (p->wanted == NULL || strcmp(p->wanted, at->name) == 0)
            p->function_ast = p->function_ast == NULL ? at : p->function_ast;
    }
    if (p->function_ast == NULL) {
        const dm_ast *at = first != NULL ? first : tree;
        dm_lang_error(
            r->lang, first != NULL ? at->pos : 0, first != NULL ? at->pos + 1 : 0,
            dm_lang_format(r->lang,
                           "@%s.program, and below it def step(m: %s.Machine, out: %s.Out):",
                           r->module, r->module, r->module),
            p->wanted != NULL ? "there is no program '%s'" : "there is no program in this file",
            p->wanted != NULL ? p->wanted : "");
    } else if (found > 1 && p->wanted == NULL) {
        fail(r, p->function_ast, "say which one is meant",
             "there are several programs in this file");
    } else {
        p->function = p->function_ast->name;
    }
}

/* Put statements before and behind the file's own. */
static void join(rewriter *r, dm_ast *tree, const dm_ast *before, const dm_ast *behind)
{
    dm_program_parts *p = r->p;
    int count = 0;
    dm_ast **items = dm_lang_alloc_array(
        r->lang, (size_t)(before->count + tree->count + behind->count + p->field_count) + 1,
        sizeof *items);
    for (int i = 0; i < before->count; i++)
        items[count++] = before->items[i];
    for (int i = 0; i < p->field_count; i++) {
        if (p->fields[i].type == NULL)
            continue;
        dm_ast *made = node(r, DM_AST_ASSIGN, p->fields[i].ast);
        made->items = dm_lang_alloc_array(r->lang, 1, sizeof *made->items);
        made->items[0] = name_node(r, dm_lang_format(r->lang, "_dm_T%d", i), p->fields[i].ast);
        made->count = 1;
        made->a = (dm_ast *)p->fields[i].type;
        items[count++] = made;
    }
    for (int i = 0; i < tree->count; i++)
        items[count++] = tree->items[i];
    for (int i = 0; i < behind->count; i++)
        items[count++] = behind->items[i];
    tree->items = items;
    tree->count = count;
}

static dm_ast *parse_ours(rewriter *r, const char *name, const char *text)
{
    dm_lang_source *source = dm_lang_add_source(r->lang, name, text, strlen(text));
    return dm_lang_parse(r->lang, source);
}

void dm_program_rewrite(dm_lang *lang, dm_ast *tree, dm_program_parts *parts)
{
    rewriter r = {.lang = lang, .p = parts};
    find_module(&r, tree);
    find_program(&r, tree);
    if (lang->error_count > 0)
        return;
    read_decorator(&r, decorator(&r, parts->function_ast, "program"));
    for (int i = 0; i < tree->count; i++)
        if (tree->items[i]->kind == DM_AST_CLASS && decorator(&r, tree->items[i], "memory") != NULL)
            memory_class(&r, tree->items[i]);
    for (int i = 0; i < tree->count; i++) {
        dm_ast *at = tree->items[i];
        if (at == parts->function_ast || is_helper(at))
            function(&r, at);
        else if (at->kind == DM_AST_ASSIGN)
            at->a = expression(&r, at->a);
    }
    if (lang->error_count > 0)
        return;
    dm_buffer *text = dm_text_open(lang);
    kernel_text(&r, text);
    const char *kept = dm_lang_format(lang, "%s", dm_buffer_text(text));
    dm_text_close(lang, 1);
    const dm_ast *prelude = parse_ours(&r, "prelude", dm_embedded_text("program/prelude.py"));
    const dm_ast *kernel = parse_ours(&r, "kernel", kept);
    join(&r, tree, prelude, kernel);
}
