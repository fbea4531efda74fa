/* SPDX-License-Identifier: MIT */
/* dce.c - dead code elimination: operations without effects whose results are not used, unused carried
 * values of loops and unused results of branches, writes to slots that nothing reads. */
#include "lang/ir/ir.h"

#include <assert.h>
#include <string.h>

typedef struct dce {
    dm_ir_function *f;
    bool *live;   /* per value */
    bool *passed; /* per value: a slot with a write that was passed as not needed */
    bool changed; /* such a slot is needed after all */
    bool trimmed; /* some operation lost a part of its results */
} dce;

static void mark_block(dce *d, dm_ir_block *block, const dm_ir_op *owner, const dm_ir_op *loop);

static void mark(dce *d, dm_val v)
{
    if (v != DM_VAL_NONE && !d->live[v]) {
        d->live[v] = true;
        d->changed |= d->passed[v];
    }
}

/* The effects of a block: it writes, returns, or leaves or repeats a loop around it. */
enum { WRITES_OR_RETURNS = 1, JUMPS = 2 };

/* Find out for every operation whether it must stay even when its results are not used. */
static int note_effects(dm_ir_block *block)
{
    int all = 0;
    for (int i = 0; i < block->count; i++) {
        dm_ir_op *op = block->ops[i];
        int own = 0;
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                own |= note_effects(op->blocks[k]);
        switch (op->kind) {
        case DM_IR_RETURN:
            own = WRITES_OR_RETURNS;
            break;
        case DM_IR_BREAK:
        case DM_IR_CONTINUE:
            own = JUMPS;
            break;
        case DM_IR_INVOKE:
            own = op->callee->has_effects ? WRITES_OR_RETURNS : 0;
            break;
        case DM_IR_SLOT:
        case DM_IR_TAPE:
        case DM_IR_IF:
            break;
        case DM_IR_FOR:
        case DM_IR_WHILE: /* may not end: it stays only for what it does */
            own &= WRITES_OR_RETURNS;
            break;
        default:
            own = dm_ir_infos[op->kind].effect == DM_IR_WRITES ? WRITES_OR_RETURNS : 0;
            break;
        }
        op->stays = own != 0;
        all |= own;
    }
    return all;
}

/* Writes to a slot or tape count only when it is read somewhere. */
static bool is_slot_write(const dm_ir_op *op)
{
    return op->kind == DM_IR_SET || op->kind == DM_IR_ADD || op->kind == DM_IR_RECORD;
}

static bool result_live(const dce *d, const dm_ir_op *op)
{
    for (int i = 0; i < op->result_count; i++)
        if (d->live[op->result + i])
            return true;
    return false;
}

/* Mark the arguments of a terminator that become live results of `owner`. */
static void mark_outputs(dce *d, const dm_ir_op *end, const dm_ir_op *owner)
{
    assert(owner != NULL);
    for (int i = 0; i < end->arg_count && i < owner->result_count; i++)
        if (d->live[owner->result + i])
            mark(d, end->args[i]);
}

static void mark_loop(dce *d, dm_ir_op *op)
{
    dm_ir_block *head = op->blocks[0];
    int fixed = op->kind == DM_IR_FOR ? 3 : 0, skip = op->kind == DM_IR_FOR ? 1 : 0;
    for (int i = 0; i < fixed; i++)
        mark(d, op->args[i]);
    bool again;
    do {
        /* A carried value lives when its result or its parameter does. */
        for (int i = 0; i < op->result_count; i++) {
            if (d->live[head->params[i + skip]])
                mark(d, op->result + i);
            if (d->live[op->result + i]) {
                mark(d, head->params[i + skip]);
                mark(d, op->args[fixed + i]);
            }
        }
        if (op->blocks[1] != NULL)
            mark_block(d, op->blocks[1], op, op);
        mark_block(d, head, op, op);
        again = false;
        for (int i = 0; i < op->result_count; i++)
            again |= d->live[head->params[i + skip]] && !d->live[op->result + i];
    } while (again);
}

static void mark_block(dce *d, dm_ir_block *block, const dm_ir_op *owner, const dm_ir_op *loop)
{
    for (int i = block->count - 1; i >= 0; i--) {
        dm_ir_op *op = block->ops[i];
        switch (op->kind) {
        case DM_IR_YIELD:
            mark_outputs(d, op, owner);
            break;
        case DM_IR_BREAK:
        case DM_IR_CONTINUE:
            mark_outputs(d, op, loop);
            break;
        case DM_IR_RETURN:
        case DM_IR_COND:
            for (int a = 0; a < op->arg_count; a++)
                mark(d, op->args[a]);
            break;
        case DM_IR_IF:
            if (result_live(d, op) || op->stays) {
                mark(d, op->args[0]);
                mark_block(d, op->blocks[0], op, loop);
                mark_block(d, op->blocks[1], op, loop);
            }
            break;
        case DM_IR_FOR:
        case DM_IR_WHILE:
            if (result_live(d, op) || op->stays)
                mark_loop(d, op);
            break;
        default:
            if (is_slot_write(op) ? d->live[op->args[0]] : result_live(d, op) || op->stays) {
                for (int a = 0; a < op->arg_count; a++)
                    mark(d, op->args[a]);
            } else if (is_slot_write(op)) {
                d->passed[op->args[0]] = true;
            }
            break;
        }
    }
}

/* Drop arguments of `op` whose result (of `owner`) is dead. */
static void trim_args(const dce *d, dm_ir_op *op, const dm_ir_op *owner, int fixed)
{
    int kept = fixed;
    for (int i = fixed; i < op->arg_count; i++)
        if (d->live[owner->result + (i - fixed)])
            op->args[kept++] = op->args[i];
    for (int i = kept; i < 2; i++)
        op->args[i] = DM_VAL_NONE;
    op->arg_count = kept;
}

static void sweep_block(dce *d, dm_ir_block *block, const dm_ir_op *owner, const dm_ir_op *loop);

static void sweep_op(dce *d, dm_ir_op *op, const dm_ir_op *loop)
{
    if (op->kind == DM_IR_IF) {
        sweep_block(d, op->blocks[0], op, loop);
        sweep_block(d, op->blocks[1], op, loop);
    } else if (op->kind == DM_IR_FOR || op->kind == DM_IR_WHILE) {
        int fixed = op->kind == DM_IR_FOR ? 3 : 0, skip = op->kind == DM_IR_FOR ? 1 : 0;
        sweep_block(d, op->blocks[0], op, op);
        if (op->blocks[1] != NULL)
            sweep_block(d, op->blocks[1], op, op);
        trim_args(d, op, op, fixed);
        dm_ir_block *body = op->blocks[0];
        int kept = skip;
        for (int i = skip; i < body->param_count; i++)
            if (d->live[op->result + (i - skip)])
                body->params[kept++] = body->params[i];
        body->param_count = kept;
    }
}

static void sweep_block(dce *d, dm_ir_block *block, const dm_ir_op *owner, const dm_ir_op *loop)
{
    int kept = 0;
    for (int i = 0; i < block->count; i++) {
        dm_ir_op *op = block->ops[i];
        bool stays = dm_ir_is_terminator(op->kind) || op->stays || result_live(d, op);
        if (is_slot_write(op))
            stays = d->live[op->args[0]];
        if (!stays)
            continue;
        if (op->kind == DM_IR_YIELD && owner != NULL)
            trim_args(d, op, owner, 0);
        else if ((op->kind == DM_IR_BREAK || op->kind == DM_IR_CONTINUE) && loop != NULL)
            trim_args(d, op, loop, 0);
        else
            sweep_op(d, op, loop);
        for (int r = 0; op->blocks[0] != NULL && r < op->result_count; r++)
            d->trimmed |= !d->live[op->result + r];
        block->ops[kept++] = op;
    }
    block->count = kept;
}

/* Close the gaps between live results; `moved` maps old numbers to new. */
static void compact_results(dce *d, dm_ir_block *block, dm_val *moved)
{
    for (int i = 0; i < block->count; i++) {
        dm_ir_op *op = block->ops[i];
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                compact_results(d, op->blocks[k], moved);
        if (op->blocks[0] == NULL)
            continue;
        int kept = 0;
        for (int r = 0; r < op->result_count; r++) {
            if (!d->live[op->result + r])
                continue;
            d->f->values[op->result + kept] = d->f->values[op->result + r];
            moved[op->result + r] = op->result + kept;
            kept++;
        }
        op->result_count = kept;
        if (kept == 0)
            op->result = DM_VAL_NONE;
    }
}

static void map_values(dm_ir_block *block, const dm_val *moved)
{
    for (int i = 0; i < block->count; i++) {
        dm_ir_op *op = block->ops[i];
        for (int a = 0; a < op->arg_count; a++)
            if (op->args[a] != DM_VAL_NONE)
                op->args[a] = moved[op->args[a]];
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                map_values(op->blocks[k], moved);
    }
}

/* Outside of loops all uses of a value stand behind it, so that one walk from the end marks and
 * drops. A loop is marked until nothing changes any more, then swept. */
#define SLOT_WRITES (DM_IR_BIT(SET) | DM_IR_BIT(ADD) | DM_IR_BIT(RECORD))
/* What stays whether its results are used or not. */
#define STAYS                                                                                      \
    (DM_IR_BIT(STORE) | DM_IR_BIT(ATOMIC) | DM_IR_BIT(PRINT) | DM_IR_BIT(CHECK) |                  \
     DM_IR_BIT(ZERO_GRAD) | DM_IR_BIT(ADD_GRAD) | DM_IR_BIT(REVERSE) | DM_IR_BIT(RETURN))

static bool reduce_block(dce *d, dm_ir_block *block, const dm_ir_op *owner);

static bool reduce_loop(dce *d, dm_ir_op *op)
{
    int effects = 0;
    for (int k = 0; k < 2; k++)
        if (op->blocks[k] != NULL)
            effects |= note_effects(op->blocks[k]);
    if (!result_live(d, op) && (effects & WRITES_OR_RETURNS) == 0)
        return false; /* may not end: it stays only for what it does */
    do {
        d->changed = false;
        mark_loop(d, op);
    } while (d->changed);
    sweep_op(d, op, NULL);
    for (int r = 0; r < op->result_count; r++)
        d->trimmed |= !d->live[op->result + r];
    return true;
}

/* Does the operation stay? */
static bool reduce_op(dce *d, dm_ir_op *op, const dm_ir_op *owner)
{
    bool live = d->live[op->result] & (op->result_count > 0);
    for (int r = 1; r < op->result_count; r++)
        live |= d->live[op->result + r];
    if (dm_ir_is_in(STAYS, op->kind) || (op->kind == DM_IR_INVOKE && op->callee->has_effects))
        live = true;
    if (dm_ir_is_in(SLOT_WRITES, op->kind))
        live = d->live[op->args[0]];
    if (op->kind == DM_IR_YIELD) {
        live = true;
        if (owner != NULL)
            trim_args(d, op, owner, 0);
    }
    if (dm_ir_is_in(DM_IR_LOOPS, op->kind))
        return reduce_loop(d, op);
    if (op->kind == DM_IR_IF) {
        live |= reduce_block(d, op->blocks[0], op);
        live |= reduce_block(d, op->blocks[1], op);
        for (int r = 0; live && r < op->result_count; r++)
            d->trimmed |= !d->live[op->result + r];
    }
    if (!live)
        return false;
    d->live[op->args[0]] = d->live[op->args[1]] = true;
    for (int a = 2; a < op->arg_count; a++)
        d->live[op->args[a]] = true;
    return true;
}

/* Does anything stay but the block's YIELD? */
static bool reduce_block(dce *d, dm_ir_block *block, const dm_ir_op *owner)
{
    int first = block->count;
    for (int i = block->count - 1; i >= 0; i--)
        if (reduce_op(d, block->ops[i], owner))
            block->ops[--first] = block->ops[i];
    block->count -= first;
    if (first > 0)
        memmove(block->ops, block->ops + first, (size_t)block->count * sizeof(void *));
    return block->count > 1 || (block->count == 1 && block->ops[0]->kind != DM_IR_YIELD);
}

void dm_ir_dce(dm_ir_function *f)
{
    dce d = {.f = f};
    d.live = dm_lang_alloc_array(f->lang, 2 * (size_t)f->value_count + 3, sizeof *d.live);
    d.live++; /* NONE may be marked, too */
    d.passed = d.live + f->value_count + 1;
    /* Adjoints that the caller keeps are wanted. */
    for (int i = 0; f->adjoint_params != NULL && i < f->body->param_count; i++)
        d.live[f->body->params[i]] = f->adjoint_params[i];
    reduce_block(&d, f->body, NULL);
    if (!d.trimmed)
        return; /* no operation lost some of its results */
    dm_val *moved = dm_lang_alloc_array(f->lang, (size_t)f->value_count + 1, sizeof *moved);
    for (int i = 0; i < f->value_count; i++)
        moved[i] = i;
    compact_results(&d, f->body, moved);
    map_values(f->body, moved);
}
