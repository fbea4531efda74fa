/* SPDX-License-Identifier: MIT */
/* roles.c - what a kernel does with the arrays that it is given. */
#include "synth/lesson/roles.h"

#define DEPTH_MAX 16

static void find_roles(const dm_ir_function *f, uint8_t roles[DM_SYNTH_PARAMS_MAX], int depth);

int dm_synth_root_of(const dm_ir_function *f, dm_val v)
{
    const dm_ir_op *def = f->values[v].def;
    while (def != NULL && (def->kind == DM_IR_VIEW || def->kind == DM_IR_SLICE)) {
        v = def->args[0];
        def = f->values[v].def;
    }
    for (int i = 0; def == NULL && i < f->body->param_count && i < DM_SYNTH_PARAMS_MAX; i++)
        if (f->body->params[i] == v)
            return i;
    return -1;
}

static void add_role(const dm_ir_function *f, dm_val array, uint8_t roles[DM_SYNTH_PARAMS_MAX],
                     uint8_t role)
{
    int root = dm_synth_root_of(f, array);
    if (root >= 0)
        roles[root] |= role;
}

static void find_roles_of_call(const dm_ir_function *f, const dm_ir_op *op,
                               uint8_t roles[DM_SYNTH_PARAMS_MAX], int depth)
{
    uint8_t inner[DM_SYNTH_PARAMS_MAX] = {0};
    if (depth == DEPTH_MAX)
        return;
    find_roles(op->callee, inner, depth + 1);
    for (int i = 0; i < op->arg_count && i < DM_SYNTH_PARAMS_MAX; i++)
        add_role(f, op->args[i], roles, inner[i]);
}

static void find_roles_in(const dm_ir_function *f, const dm_ir_block *block,
                          uint8_t roles[DM_SYNTH_PARAMS_MAX], int depth)
{
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        if (op->kind == DM_IR_LOAD)
            add_role(f, op->args[0], roles, DM_SYNTH_READS);
        else if (op->kind == DM_IR_STORE || op->kind == DM_IR_ATOMIC)
            add_role(f, op->args[0], roles, DM_SYNTH_WRITES);
        else if (op->kind == DM_IR_INVOKE)
            find_roles_of_call(f, op, roles, depth);
        find_roles_in(f, op->blocks[0], roles, depth);
        find_roles_in(f, op->blocks[1], roles, depth);
    }
}

static void find_roles(const dm_ir_function *f, uint8_t roles[DM_SYNTH_PARAMS_MAX], int depth)
{
    find_roles_in(f, f->body, roles, depth);
}

void dm_synth_find_roles(const dm_ir_function *f, uint8_t roles[DM_SYNTH_PARAMS_MAX])
{
    find_roles(f, roles, 0);
}
