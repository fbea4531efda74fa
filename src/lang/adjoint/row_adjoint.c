/* SPDX-License-Identifier: MIT */
/* row_adjoint.c - the adjoint expressions of a builtin's row compiled to a list of steps, which the
 * backward pass executes without walking a tree. Expressions that steps cannot express (calls of
 * library/, default values) stay trees. Done once per process (common.c). */
#include "lang/common.h"
#include "lang/ir/lower.h"

#include <string.h>

typedef struct reader {
    const dm_builtin *row;
    dm_adjoint_step steps[DM_STEPS_MAX];
    int count;
} reader;

static bool put(reader *r, dm_adjoint_step step)
{
    if (r->count == DM_STEPS_MAX)
        return false;
    r->steps[r->count++] = step;
    return true;
}

static bool put_row(reader *r, const dm_builtin *first, int count)
{
    dm_adjoint_step step = {.kind = DM_STEP_ROW, .number = (uint8_t)count, .row = first};
    return first != NULL && put(r, step);
}

static bool read_name(reader *r, const char *name)
{
    for (int i = 0; i < r->row->param_count; i++)
        if (r->row->params[i].name == name)
            return put(r, (dm_adjoint_step){.kind = DM_STEP_PARAM, .number = (uint8_t)i});
    if (strcmp(name, "ret") == 0)
        return put(r, (dm_adjoint_step){.kind = DM_STEP_RET});
    return strcmp(name, "g") == 0 && put(r, (dm_adjoint_step){.kind = DM_STEP_G});
}

static bool read_tree(reader *r, const dm_ast *at);

static bool read_call(reader *r, const dm_ast *at)
{
    if (at->a->kind != DM_AST_NAME)
        return false;
    for (int i = 0; i < at->count; i++)
        if (!read_tree(r, at->items[i]))
            return false;
    const char *name = at->a->name;
    if (strcmp(name, "where") == 0 && at->count == 3)
        return put(r, (dm_adjoint_step){.kind = DM_STEP_WHERE});
    if (strcmp(name, "zero_like") == 0 && at->count == 1)
        return put(r, (dm_adjoint_step){.kind = DM_STEP_ZERO_LIKE});
    if (dm_lower_special(name) >= 0)
        return false;
    for (const dm_builtin *row = dm_builtin_find(name); row != NULL; row = row->next)
        if (row->param_count != at->count)
            return false;
    return put_row(r, dm_builtin_find(name), at->count);
}

static bool read_tree(reader *r, const dm_ast *at)
{
    switch (at->kind) {
    case DM_AST_NAME:
        return read_name(r, at->name);
    case DM_AST_INT:
        return put(r, (dm_adjoint_step){.kind = DM_STEP_INT, .real = (double)at->integer});
    case DM_AST_FLOAT:
        return put(r, (dm_adjoint_step){.kind = DM_STEP_FLOAT, .real = at->real});
    case DM_AST_UNARY:
        return at->op == DM_TOK_MINUS && read_tree(r, at->a) &&
               put_row(r, dm_builtin_row(DM_ROW_NEG), 1);
    case DM_AST_BINARY:
        return read_tree(r, at->a) && read_tree(r, at->b) &&
               put_row(r, dm_lower_operator(at->op), 2);
    case DM_AST_COMPARE:
        return at->count == 2 && read_tree(r, at->items[0]) && read_tree(r, at->items[1]) &&
               dm_lower_operator(at->ops[0]) != NULL &&
               put(r, (dm_adjoint_step){.kind = DM_STEP_COMPARE, .number = at->ops[0]});
    case DM_AST_CALL:
        return read_call(r, at);
    default:
        return false;
    }
}

void dm_builtin_read_adjoints(dm_lang *lang, dm_builtin *row)
{
    for (int i = 0; i < row->param_count; i++) {
        dm_builtin_param *param = &row->params[i];
        reader r = {.row = row};
        if (param->adjoint_tree == NULL || !read_tree(&r, param->adjoint_tree))
            continue;
        dm_adjoint_step *kept = dm_lang_alloc_array(lang, (size_t)r.count, sizeof *kept);
        memcpy(kept, r.steps, (size_t)r.count * sizeof *kept);
        param->steps = kept;
        param->step_count = r.count;
    }
}
