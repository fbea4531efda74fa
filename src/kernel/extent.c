/* SPDX-License-Identifier: MIT */
/* extent.c - see extent.h. */
#include "kernel/extent.h"

/* Can a thread end inside of the block? */
static bool may_return(const dm_ir_block *block)
{
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        if (op->kind == DM_IR_RETURN || may_return(op->blocks[0]) || may_return(op->blocks[1]))
            return true;
    }
    return false;
}

static int param_of(const dm_ir_function *f, dm_val value)
{
    for (int i = 0; i < f->body->param_count; i++)
        if (f->body->params[i] == value)
            return i;
    return -1;
}

/* The coordinate that a value is, -1: none. */
static int coordinate_of(const dm_ir_function *f, dm_val value)
{
    const dm_ir_op *def = f->values[value].def;
    return def != NULL && def->kind == DM_IR_TID ? def->index : -1;
}

static int add(dm_extent *out, int count, dm_extent found)
{
    for (int i = 0; i < count; i++)
        if (out[i].param == found.param && out[i].axis == found.axis &&
            out[i].coordinate == found.coordinate)
            return count;
    if (count < DM_EXTENTS_MAX)
        out[count++] = found;
    return count;
}

int dm_extents_find(const dm_ir_function *f, dm_extent *out)
{
    int count = 0;
    for (int i = 0; i < f->body->count; i++) { /* what every thread comes to */
        const dm_ir_op *op = f->body->ops[i];
        if (may_return(op->blocks[0]) || may_return(op->blocks[1]))
            break;
        if (op->kind != DM_IR_LOAD && op->kind != DM_IR_STORE && op->kind != DM_IR_ATOMIC)
            continue;
        int param = param_of(f, op->args[0]);
        const dm_type *type = f->values[op->args[0]].type;
        if (param < 0 || type->kind != DM_TYPE_ARRAY)
            continue;
        const dm_lang_source *source;
        int line, column;
        dm_lang_locate(f->lang, op->pos, &source, &line, &column);
        for (int axis = 0; axis < type->ndim && axis + 1 < op->arg_count; axis++) {
            int coordinate = coordinate_of(f, op->args[1 + axis]);
            if (coordinate >= 0)
                count = add(out, count, (dm_extent){param, axis, coordinate, line});
        }
    }
    return count;
}
