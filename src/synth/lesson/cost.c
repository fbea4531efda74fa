/* SPDX-License-Identifier: MIT */
/* cost.c - the static cost of a kernel; see cost.h. */
#include "synth/lesson/cost.h"

#include "lang/sema/builtins.h"

#include <stddef.h>
#include <string.h>

#define UNKNOWN_ROUNDS 32 /* of elements: in steps of two, half as many */
#define ROUND_COST 2
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

static bool is_call(const dm_ir_op *op, const char *name)
{
    return op != NULL && op->kind == DM_IR_CALL && strcmp(op->row->name, name) == 0;
}

/* From n - n % 4 on: what an unrolled loop leaves. */
static bool is_rest(const dm_ir_function *f, dm_val first)
{
    const dm_ir_op *def = f->values[first].def;
    return is_call(def, "sub") && is_call(f->values[def->args[1]].def, "mod");
}

static double rounds_of(const dm_ir_function *f, const dm_ir_op *op)
{
    int64_t first, last, step;
    if (op->kind != DM_IR_FOR)
        return UNKNOWN_ROUNDS;
    bool stepped = dm_ir_const_int(f, op->args[2], &step) && step != 0;
    if (!stepped || !dm_ir_const_int(f, op->args[0], &first) ||
        !dm_ir_const_int(f, op->args[1], &last))
        return is_rest(f, op->args[0]) ? 0
               : stepped && step > 0   ? UNKNOWN_ROUNDS / (double)step
                                       : UNKNOWN_ROUNDS;
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
            cost += (inner + ROUND_COST) * rounds_of(f, op);
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
