/* SPDX-License-Identifier: MIT */
/* mutant.c - a kernel with one operator changed; see mutant.h. */
#include "synth/check/mutant.h"

#include "lang/sema/builtins.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8 /* of functions in functions */
#define FUNCTIONS_MAX 64

typedef struct swap {
    const char *from, *to;
    bool edge;
} swap;

static const swap swaps[] = {
    {"add", "sub", false},        {"sub", "add", false},         {"mul", "div", false},
    {"div", "mul", false},        {"mod", "mul", false},         {"floordiv", "mul", false},
    {"cw_mul", "cw_div", false},  {"cw_div", "cw_mul", false},   {"lshift", "rshift", false},
    {"rshift", "lshift", false},  {"bit_xor", "bit_and", false}, {"bit_and", "bit_or", false},
    {"bit_or", "bit_and", false}, {"_lt", "_ge", false},         {"_ge", "_lt", false},
    {"_gt", "_le", false},        {"_le", "_gt", false},         {"_eq", "_ne", false},
    {"_ne", "_eq", false},        {"_and", "_or", false},        {"_or", "_and", false},
    {"min", "max", false},        {"max", "min", false},         {"sin", "cos", false},
    {"cos", "sin", false},        {"neg", "pos", false},         {"_lt", "_le", true},
    {"_le", "_lt", true},         {"_gt", "_ge", true},          {"_ge", "_gt", true},
};
#define SWAP_COUNT ((int)(sizeof swaps / sizeof swaps[0]))

static const char *const atomics[][2] = {
    {"add", "sub"}, {"sub", "add"}, {"min", "max"}, {"max", "min"}};

typedef struct maker {
    const dm_unit *unit;
    dm_lang *lang;
    dm_buffer plain;
    dm_mutant_list *list;
    const dm_ir_function *done[FUNCTIONS_MAX];
    int done_count;
    dm_status status;
    dm_error *err;
} maker;

/* ---- One of them ---- */

/* The program as it is now. */
static void take(maker *m, const char *from, const char *to, const dm_ir_op *op, bool edge)
{
    dm_mutant_list *list = m->list;
    const dm_lang_source *source;
    int column;
    if (m->status != DM_OK || list->count == DM_MUTANTS_MAX)
        return;
    dm_mutant *grown = realloc(list->mutants, (size_t)(list->count + 1) * sizeof *grown);
    if (grown == NULL) {
        m->status = dm_fail(m->err, DM_ENOMEM, "out of memory");
        return;
    }
    list->mutants = grown;
    dm_mutant *made = &grown[list->count++];
    *made = (dm_mutant){.edge = edge};
    snprintf(made->what, sizeof made->what, "%.12s to %.12s", from, to);
    dm_lang_locate(m->lang, op->pos, &source, &made->line, &column);
    jmp_buf bail; /* printing leaves its own */
    memcpy(&bail, m->lang->bail, sizeof bail);
    m->status = dm_unit_print(m->unit, DM_TARGET_C, DM_PASS_FORWARD, &made->text, m->err);
    memcpy(m->lang->bail, &bail, sizeof bail);
    bool same = made->text.size == m->plain.size &&
                memcmp(made->text.data, m->plain.data, m->plain.size) == 0;
    if (m->status == DM_OK && same) {
        dm_buffer_deinit(&made->text);
        list->count--;
    }
}

/* The row of that name for the operation's arguments; NULL: there is none with its result. */
static const dm_bind *find_bind(maker *m, const dm_ir_function *f, const dm_ir_op *op,
                                const char *name, int count)
{
    const dm_type *types[DM_BUILTIN_PARAMS_MAX];
    const dm_builtin *first = dm_builtin_find(name);
    if (first == NULL || count > DM_BUILTIN_PARAMS_MAX)
        return NULL;
    for (int i = 0; i < count; i++)
        types[i] = dm_ir_type(f, op->args[i]);
    const dm_bind *bind = dm_builtin_bind(m->lang, first, types, count);
    return bind != NULL && bind->result == dm_ir_type(f, op->result) ? bind : NULL;
}

static void change_row(maker *m, const dm_ir_function *f, dm_ir_op *op, const swap *s)
{
    const dm_bind *bind = find_bind(m, f, op, s->to, op->arg_count), *before = op->bind;
    const dm_builtin *row = op->row;
    if (bind == NULL)
        return;
    op->bind = bind;
    op->row = bind->row;
    take(m, s->from[0] == '_' ? s->from + 1 : s->from, s->to[0] == '_' ? s->to + 1 : s->to, op,
         s->edge);
    op->bind = before;
    op->row = row;
}

/* clamp(x, low, high) is min(max(low, x), high): each of the two turned around. An operation is put
 * before it, and taken out again. */
static void change_clamp(maker *m, dm_ir_function *f, dm_ir_block *block, int at)
{
    dm_ir_op *op = block->ops[at];
    const dm_ir_op before = *op;
    dm_val ends[2] = {op->args[1], op->args[0]}, outer[2];
    for (int side = 0; side < 2; side++) {
        const dm_bind *least = find_bind(m, f, op, "min", 2), *most = find_bind(m, f, op, "max", 2);
        if (least == NULL || most == NULL)
            return;
        dm_ir_builder b = {m->lang, f, block, op->pos};
        dm_val inner = dm_ir_call(&b, side == 0 ? least : most, ends, 2)->result;
        dm_ir_op *made = block->ops[block->count - 1];
        memmove(&block->ops[at + 1], &block->ops[at],
                (size_t)(block->count - 1 - at) * sizeof(dm_ir_op *));
        block->ops[at] = made;
        outer[0] = inner;
        outer[1] = before.args[2];
        op->args = outer;
        op->arg_count = 2;
        op->bind = side == 0 ? least : most;
        op->row = op->bind->row;
        take(m, "clamp", side == 0 ? "min" : "max", op, false);
        *op = before;
        memmove(&block->ops[at], &block->ops[at + 1],
                (size_t)(block->count - 1 - at) * sizeof(dm_ir_op *));
        block->count--;
    }
}

/* ---- All of them ---- */

static void change_function(maker *m, dm_ir_function *f, int depth);

static void change_op(maker *m, dm_ir_function *f, dm_ir_block *block, int at, int depth)
{
    dm_ir_op *op = block->ops[at];
    if (op->kind == DM_IR_CALL && strcmp(op->row->name, "clamp") == 0)
        change_clamp(m, f, block, at);
    for (int i = 0; op->kind == DM_IR_CALL && i < SWAP_COUNT; i++)
        if (strcmp(op->row->name, swaps[i].from) == 0)
            change_row(m, f, op, &swaps[i]);
    for (int i = 0; op->kind == DM_IR_ATOMIC && i < 4; i++) {
        const char *before = op->text;
        if (strcmp(before, atomics[i][0]) != 0)
            continue;
        op->text = atomics[i][1];
        take(m, before, op->text, op, false);
        op->text = before;
        break;
    }
    if (op->kind == DM_IR_INVOKE && !op->callee->is_library)
        change_function(m, op->callee, depth + 1);
}

static void change_block(maker *m, dm_ir_function *f, dm_ir_block *block, int depth)
{
    for (int i = 0; block != NULL && i < block->count && m->status == DM_OK; i++) {
        change_op(m, f, block, i, depth);
        change_block(m, f, block->ops[i]->blocks[0], depth);
        change_block(m, f, block->ops[i]->blocks[1], depth);
    }
}

static void change_function(maker *m, dm_ir_function *f, int depth)
{
    for (int i = 0; i < m->done_count; i++)
        if (m->done[i] == f)
            return;
    if (depth > DEPTH_MAX || m->done_count == FUNCTIONS_MAX)
        return;
    m->done[m->done_count++] = f;
    change_block(m, f, f->body, depth);
}

dm_status dm_mutants_make(const dm_unit *unit, dm_mutant_list *out, dm_error *err)
{
    maker m = {.unit = unit, .lang = &unit->compilation->lang, .list = out, .err = err};
    *out = (dm_mutant_list){0};
    m.status = dm_unit_print(unit, DM_TARGET_C, DM_PASS_FORWARD, &m.plain, err);
    if (m.status == DM_OK && setjmp(m.lang->bail) == 0)
        change_function(&m, (dm_ir_function *)unit->forward, 0);
    else if (m.status == DM_OK)
        m.status = dm_compilation_fail(unit->compilation, err);
    dm_buffer_deinit(&m.plain);
    return m.status;
}

void dm_mutants_clear(dm_mutant_list *list)
{
    for (int i = 0; i < list->count; i++)
        dm_buffer_deinit(&list->mutants[i].text);
    free(list->mutants);
    *list = (dm_mutant_list){0};
}
