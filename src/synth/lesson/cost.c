/* SPDX-License-Identifier: MIT */
/* cost.c - the static cost of a kernel; see cost.h. */
#include "synth/lesson/cost.h"

#include "lang/sema/builtins.h"

#include <stddef.h>
#include <string.h>

#define UNKNOWN_ROUNDS 8
#define DEPTH_MAX 16

static double cost_of_call(const dm_ir_function *f, const dm_ir_op *op)
{
    static const char *const dear[] = {
        "div",   "sqrt", "exp",  "log",    "pow",       "sin",  "cos",      "tan", "tanh", "erf",
        "atan2", "asin", "acos", "length", "normalize", "cosh", "floordiv", "mod", NULL};
    const dm_type *type = f->values[op->result].type;
    double components = dm_type_is_numeric(type) ? dm_type_components(type) : 1;
    for (int i = 0; dear[i] != NULL; i++)
        if (strcmp(op->row->name, dear[i]) == 0)
            return 8 * components;
    return components;
}

static double rounds_of(const dm_ir_function *f, const dm_ir_op *op)
{
    int64_t first, last, step;
    if (op->kind != DM_IR_FOR || !dm_ir_const_int(f, op->args[0], &first) ||
        !dm_ir_const_int(f, op->args[1], &last) || !dm_ir_const_int(f, op->args[2], &step) ||
        step == 0)
        return UNKNOWN_ROUNDS;
    double rounds = ((double)last - (double)first) / (double)step;
    return rounds < 0 ? 0 : rounds;
}

static double cost_of_block(const dm_ir_function *f, const dm_ir_block *block, int depth)
{
    double cost = 0;
    for (int i = 0; block != NULL && depth < DEPTH_MAX && i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        double inner =
            cost_of_block(f, op->blocks[0], depth + 1) + cost_of_block(f, op->blocks[1], depth + 1);
        switch (op->kind) {
        case DM_IR_CALL:
            cost += cost_of_call(f, op);
            break;
        case DM_IR_LOAD:
        case DM_IR_STORE:
            cost += 4;
            break;
        case DM_IR_ATOMIC:
            cost += 16;
            break;
        case DM_IR_INVOKE:
            cost += cost_of_block(op->callee, op->callee->body, depth + 1);
            break;
        case DM_IR_IF:
            cost += 1 + inner / 2;
            break;
        case DM_IR_FOR:
        case DM_IR_WHILE:
            cost += inner * rounds_of(f, op);
            break;
        default:
            break;
        }
    }
    return cost;
}

double dm_synth_cost(const dm_ir_function *forward)
{
    return cost_of_block(forward, forward->body, 0);
}
