/* SPDX-License-Identifier: MIT */
/* difficulty.c - what a kernel has, counted; see difficulty.h. */
#include "synth/lesson/difficulty.h"

typedef struct features {
    int depth, branches, operations; /* depth: of loops */
    bool open_ended, atomics, functions, structs, algebra, random, dimensions;
} features;

static int most(int a, int b)
{
    return a > b ? a : b;
}

static void note_type(features *x, const dm_type *type)
{
    if (type->kind == DM_TYPE_ARRAY) {
        x->dimensions |= type->ndim > 1;
        type = type->element;
    }
    x->structs |= type->kind == DM_TYPE_STRUCT;
    x->algebra |= type->kind >= DM_TYPE_MAT && type->kind <= DM_TYPE_TRANSFORM;
}

static void count(const dm_ir_function *f, const dm_ir_block *block, int loops, features *x)
{
    for (int i = 0; block != NULL && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        bool loop = dm_ir_is_in(DM_IR_LOOPS, op->kind);
        x->operations += !dm_ir_is_terminator(op->kind);
        x->depth = most(x->depth, loops + loop);
        x->open_ended |= op->kind == DM_IR_WHILE || op->kind == DM_IR_BREAK;
        x->branches += op->kind == DM_IR_IF;
        x->atomics |= op->kind == DM_IR_ATOMIC;
        if (op->result_count > 0)
            note_type(x, f->values[op->result].type);
        if (op->kind == DM_IR_INVOKE) {
            x->random |= op->callee->is_library;
            x->functions |= !op->callee->is_library;
            if (!op->callee->is_library)
                count(op->callee, op->callee->body, loops + loop, x);
        }
        count(f, op->blocks[0], loops + loop, x);
        count(f, op->blocks[1], loops + loop, x);
    }
}

int dm_synth_difficulty(const dm_ir_function *f)
{
    features x = {.dimensions = f->tid_count > 1};
    for (int i = 0; i < f->body->param_count; i++)
        note_type(&x, f->values[f->body->params[i]].type);
    count(f, f->body, 0, &x);
    int points = (x.depth > 2 ? 2 : x.depth) + x.open_ended + (x.branches > 0) + (x.branches >= 4) +
                 x.atomics + x.functions + x.structs + x.algebra + x.random + x.dimensions +
                 (x.operations >= 30) + (x.operations >= 70);
    return points < 1 ? 1 : points > 5 ? 5 : points;
}
