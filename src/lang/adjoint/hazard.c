/* SPDX-License-Identifier: MIT */
/* hazard.c - finds reads of memory that would give another value if the backward pass repeated them:
 * reads of an array that the same thread also writes.
 *
 *   y = x[i] * x[i]        the array as the kernel left it holds y: written later
 *   x[i] = y
 *
 *   x[i] = y               the array as it was before the kernel holds something else: written
 *   z = x[i] * x[i]        earlier; but what is read is y, which is known
 *
 * Each read is marked (dm_ir_op.hazard) when its array may be written later or earlier. A read of
 * exactly the element that was stored last gives the stored value instead; indices are not compared
 * further. The analysis assumes that no thread writes what another reads, since the result would
 * depend on their order. Different parameters are different arrays; arrays of one struct are taken
 * as one.
 *
 * Requires the form without exits (exits.c). */
#include "lang/ir/ir.h"

#include "lang/sema/builtins.h"

#include <string.h>

typedef uint64_t roots; /* a bit for each array; the last bit: all that have none of their own */
#define ROOTS_MAX 63
#define ANY_ROOT (~(roots)0)

/* An element that was stored, and nothing since may have changed it. */
typedef struct stored {
    const dm_ir_op *op;
    roots root;
    struct stored *next;
} stored;

typedef struct pass {
    dm_lang *lang;
    const dm_ir_function *f;
    uint8_t *number; /* per value: its root + 1; 0: none yet */
    int count;
    dm_val *known; /* per value: the stored value that a load gives; NONE: not known */
} pass;

static dm_val base_of(const dm_ir_function *f, dm_val v)
{
    for (const dm_ir_op *def = f->values[v].def; def != NULL; def = f->values[v].def) {
        if (def->kind != DM_IR_VIEW && def->kind != DM_IR_SLICE && def->kind != DM_IR_FIELD)
            return DM_VAL_NONE; /* chosen by a branch, or from memory: could be any */
        v = def->args[0];
    }
    return v;
}

static bool is_param(const dm_ir_function *f, dm_val v)
{
    for (int i = 0; i < f->body->param_count; i++)
        if (f->body->params[i] == v)
            return true;
    return false;
}

static roots root_of(pass *p, dm_val array)
{
    dm_val base = base_of(p->f, array);
    if (base == DM_VAL_NONE || !is_param(p->f, base))
        return ANY_ROOT;
    if (p->number[base] == 0)
        p->number[base] = (uint8_t)(p->count < ROOTS_MAX ? ++p->count : ROOTS_MAX + 1);
    return (roots)1 << (p->number[base] - 1);
}

/* ---- What an operation reads and writes ---- */

enum { READS = 1, WRITES = 2 };

static bool holds_array(const dm_type *type)
{
    if (type->kind == DM_TYPE_ARRAY)
        return true;
    for (int i = 0; type->kind == DM_TYPE_STRUCT && i < type->field_count; i++)
        if (holds_array(type->fields[i].type))
            return true;
    return false;
}

static void find_uses(dm_ir_function *f, const dm_ir_block *block);

static void add_use(dm_ir_function *f, dm_val array, int use)
{
    dm_val base = base_of(f, array);
    for (int i = 0; i < f->body->param_count; i++)
        if (base == DM_VAL_NONE || base == f->body->params[i])
            f->array_use[i] |= (uint8_t)use;
}

/* What a function does with the arrays of each parameter. */
static const uint8_t *uses_of(dm_ir_function *f)
{
    if (f->array_use == NULL) {
        f->array_use = dm_lang_alloc(f->lang, (size_t)f->body->param_count + 1);
        find_uses(f, f->body);
    }
    return f->array_use;
}

static void find_uses(dm_ir_function *f, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        if (op->kind == DM_IR_LOAD)
            add_use(f, op->args[0], READS);
        else if (op->kind == DM_IR_STORE || op->kind == DM_IR_ATOMIC)
            add_use(f, op->args[0], WRITES);
        else if (op->kind == DM_IR_CALL || op->kind == DM_IR_INVOKE)
            for (int a = 0; a < op->arg_count; a++)
                if (holds_array(f->values[op->args[a]].type))
                    add_use(f, op->args[a],
                            op->kind == DM_IR_CALL ? READS : uses_of(op->callee)[a]);
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                find_uses(f, op->blocks[k]);
    }
}

/* The arrays that the operation itself, without its blocks, reads or writes. */
static roots touched(pass *p, const dm_ir_op *op, int use)
{
    roots all = 0;
    switch (op->kind) {
    case DM_IR_LOAD:
        return use == READS ? root_of(p, op->args[0]) : 0;
    case DM_IR_STORE:
    case DM_IR_ATOMIC:
        return use == WRITES ? root_of(p, op->args[0]) : 0;
    case DM_IR_CALL:
    case DM_IR_INVOKE:
        for (int i = 0; i < op->arg_count; i++) {
            if (!holds_array(p->f->values[op->args[i]].type))
                continue;
            int done = op->kind == DM_IR_CALL ? READS : uses_of(op->callee)[i];
            all |= (done & use) != 0 ? root_of(p, op->args[i]) : 0;
        }
        return all;
    default:
        return 0;
    }
}

static roots touched_in(pass *p, const dm_ir_block *block, int use)
{
    roots all = 0;
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        all |= touched(p, op, use);
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                all |= touched_in(p, op->blocks[k], use);
    }
    return all;
}

static roots written_by(pass *p, const dm_ir_op *op)
{
    roots all = touched(p, op, WRITES);
    for (int k = 0; k < 2; k++)
        if (op->blocks[k] != NULL)
            all |= touched_in(p, op->blocks[k], WRITES);
    return all;
}

static bool is_loop(const dm_ir_op *op)
{
    return op->kind == DM_IR_FOR || op->kind == DM_IR_WHILE;
}

/* ---- Written later ---- */

/* Backwards through the block; `later`: the arrays written after it. */
static void mark_later(pass *p, const dm_ir_block *block, roots later)
{
    for (int i = block->count - 1; i >= 0; i--) {
        dm_ir_op *op = block->ops[i];
        if ((touched(p, op, READS) & later) != 0)
            op->hazard |= DM_HAZARD_LATER;
        roots own = written_by(p, op);
        for (int k = 0; k < 2; k++) /* a loop's other rounds come later too */
            if (op->blocks[k] != NULL)
                mark_later(p, op->blocks[k], is_loop(op) ? later | own : later);
        later |= own;
    }
}

/* ---- Written earlier, and known elements ---- */

/* The same value whenever both are computed: equal expressions of equal values. */
static bool is_same(const dm_ir_function *f, dm_val a, dm_val b, int depth)
{
    const dm_ir_op *x = f->values[a].def, *y = f->values[b].def;
    if (a == b)
        return true;
    if (x == NULL || y == NULL || depth > 8 || x->kind != y->kind ||
        f->values[a].type != f->values[b].type || x->arg_count != y->arg_count)
        return false;
    if (x->kind == DM_IR_CONST)
        return x->integer == y->integer;
    if (x->kind == DM_IR_TID || x->kind == DM_IR_DIM)
        return x->index == y->index;
    bool pure = x->kind == DM_IR_CAST || x->kind == DM_IR_SHAPE || x->kind == DM_IR_VIEW ||
                (x->kind == DM_IR_CALL && x->row == y->row);
    for (int i = 0; pure && i < x->arg_count; i++)
        pure = !(x->kind == DM_IR_CALL && holds_array(f->values[x->args[i]].type)) &&
               is_same(f, x->args[i], y->args[i], depth + 1);
    return pure;
}

static void find_known(pass *p, const dm_ir_op *load, const stored *last)
{
    for (; last != NULL; last = last->next) {
        const dm_ir_op *store = last->op;
        bool same = store->arg_count == load->arg_count + 1;
        for (int i = 0; same && i < load->arg_count; i++)
            same = is_same(p->f, store->args[i], load->args[i], 0);
        if (same) {
            p->known[load->result] = store->args[store->arg_count - 1];
            return;
        }
    }
}

static stored *without(pass *p, stored *list, roots changed)
{
    stored *kept = NULL;
    for (; list != NULL && changed != 0; list = list->next) {
        if ((list->root & changed) != 0)
            continue;
        stored *copy = dm_lang_alloc(p->lang, sizeof *copy);
        *copy = (stored){.op = list->op, .root = list->root, .next = kept};
        kept = copy;
    }
    return changed == 0 ? list : kept;
}

/* Forwards through the block; `earlier`: the arrays written before it, `last`: known elements. */
static void mark_earlier(pass *p, const dm_ir_block *block, roots earlier, stored *last)
{
    for (int i = 0; i < block->count; i++) {
        dm_ir_op *op = block->ops[i];
        if ((touched(p, op, READS) & earlier) != 0)
            op->hazard |= DM_HAZARD_EARLIER;
        if (op->kind == DM_IR_LOAD)
            find_known(p, op, last);
        roots own = written_by(p, op);
        if (is_loop(op))
            last = without(p, last, own);
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                mark_earlier(p, op->blocks[k], is_loop(op) ? earlier | own : earlier, last);
        last = without(p, last, own);
        earlier |= own;
        if (op->kind == DM_IR_STORE && (op->path == NULL || op->path->count == 0)) {
            stored *made = dm_lang_alloc(p->lang, sizeof *made);
            *made = (stored){.op = op, .root = own, .next = last};
            last = made;
        }
    }
}

dm_val *dm_ir_find_hazards(dm_lang *lang, const dm_ir_function *f)
{
    pass p = {.lang = lang, .f = f};
    size_t values = (size_t)f->value_count + 1;
    if ((f->reads & f->writes) == 0)
        return NULL;
    p.number = dm_lang_alloc_array(lang, values, sizeof *p.number);
    roots written = touched_in(&p, f->body, WRITES);
    if (written == 0 || (written & touched_in(&p, f->body, READS)) == 0)
        return NULL;
    p.known = dm_lang_alloc_array(lang, values, sizeof *p.known);
    for (size_t i = 0; i < values; i++)
        p.known[i] = DM_VAL_NONE;
    mark_later(&p, f->body, 0);
    mark_earlier(&p, f->body, 0, NULL);
    return p.known;
}
