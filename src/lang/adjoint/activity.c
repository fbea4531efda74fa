/* SPDX-License-Identifier: MIT */
/* activity.c - activity analysis: which values a gradient can flow through. These are the values computed
 * from floats in arrays or from a function's parameters. The adjoint of any other value (a constant, a
 * kernel's scalar argument) has no destination, so it is not computed. Requires the form without exits
 * (exits.c). */
#include "lang/ir/ir.h"

typedef struct pass {
    const dm_ir_function *f;
    bool *active; /* per value */
} pass;

static void walk(pass *p, const dm_ir_block *block);

static bool any_active(const pass *p, const dm_ir_op *op)
{
    bool any = p->active[op->args[0]] | p->active[op->args[1]];
    for (int i = 2; i < op->arg_count; i++)
        any |= p->active[op->args[i]];
    return any;
}

static bool reads_floats(const dm_ir_function *f, const dm_ir_op *op)
{
    for (int i = 0; i < op->arg_count; i++) {
        const dm_type *type = f->values[op->args[i]].type;
        if (type->kind == DM_TYPE_ARRAY ? type->element->floats : type->kind == DM_TYPE_STRUCT)
            return true;
    }
    return false;
}

/* The values that the blocks yield become the results. */
static void join(pass *p, const dm_ir_op *op, const dm_ir_block *block)
{
    const dm_ir_op *end = dm_ir_terminator(block);
    for (int i = 0; end != NULL && i < op->result_count && i < end->arg_count; i++)
        p->active[op->result + i] |= p->active[end->args[i]];
}

static void walk_loop(pass *p, const dm_ir_op *op)
{
    int fixed = op->kind == DM_IR_FOR ? 3 : 0, skip = op->kind == DM_IR_FOR ? 1 : 0;
    const dm_ir_block *head = op->blocks[0], *body = op->blocks[op->kind == DM_IR_FOR ? 0 : 1];
    bool changed;
    for (int i = 0; i < op->result_count; i++)
        p->active[op->result + i] = p->active[op->args[fixed + i]];
    do { /* at most once for each carried value */
        for (int i = 0; i < op->result_count; i++)
            p->active[head->params[skip + i]] = p->active[op->result + i];
        walk(p, head);
        if (body != head)
            walk(p, body);
        join(p, op, body);
        changed = false;
        for (int i = 0; i < op->result_count; i++)
            changed |= p->active[op->result + i] != p->active[head->params[skip + i]];
    } while (changed);
}

static void walk(pass *p, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        switch (op->kind) {
        case DM_IR_CONST:
        case DM_IR_ZERO:
            break;
        case DM_IR_IF:
            for (int k = 0; k < 2; k++) {
                walk(p, op->blocks[k]);
                join(p, op, op->blocks[k]);
            }
            break;
        case DM_IR_FOR:
        case DM_IR_WHILE:
            walk_loop(p, op);
            break;
        default: { /* one result at most */
            if (op->result_count == 0)
                break;
            bool active = any_active(p, op);
            active |= dm_ir_is_in(DM_IR_BIT(LOAD) | DM_IR_BIT(ATOMIC), op->kind);
            if (op->kind == DM_IR_INVOKE)
                active |= reads_floats(p->f, op);
            p->active[op->result] = active & p->f->values[op->result].type->floats;
            break;
        }
        }
    }
}

bool *dm_ir_find_active(dm_lang *lang, const dm_ir_function *f)
{
    pass p = {.f = f};
    p.active = dm_lang_alloc_array(lang, (size_t)f->value_count + 1, sizeof *p.active);
    p.active++; /* NONE is not active */
    for (int i = 0; f->role == DM_IR_FUNCTION && i < f->body->param_count; i++)
        p.active[f->body->params[i]] = f->values[f->body->params[i]].type->floats;
    walk(&p, f->body);
    return p.active;
}
