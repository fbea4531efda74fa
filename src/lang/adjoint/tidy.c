/* SPDX-License-Identifier: MIT */
/* tidy.c - removes variables from backward functions. An adjoint that is added to once, in the block
 * that declares it, is replaced by the value added; one whose first use is an addition is initialised
 * with that value instead of zero. adjoint_op.c does the same where it can count uses as it goes;
 * this pass handles the rest. Requires that no adjoint is read before all additions to it. */
#include "lang/ir/ir.h"

#include <string.h>

typedef struct use {
    int adds, others; /* ADD without a path; anything but GET and such an ADD */
    dm_ir_op *first;  /* the first operation that touches it, in the order of the text */
    const dm_ir_block *first_block, *home;
    dm_ir_op *decl;
} use;

typedef struct tidy {
    dm_ir_function *f;
    use *uses;     /* per value */
    dm_val *moved; /* per value: what stands for it now */
} tidy;

static bool is_slot(const tidy *t, dm_val v)
{
    return v != DM_VAL_NONE && t->uses[v].decl != NULL;
}

static void find_uses(tidy *t, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        dm_ir_op *op = block->ops[i];
        if (op->kind == DM_IR_SLOT && (op->arg_count == 0 || op->adds)) {
            use *u = &t->uses[op->result];
            u->decl = op;
            u->home = block;
            if (op->adds) {
                u->adds = 1;
                u->first = op;
                u->first_block = block;
            }
        }
        for (int a = 0; a < op->arg_count; a++) {
            if (!is_slot(t, op->args[a]))
                continue;
            use *u = &t->uses[op->args[a]];
            if (u->first == NULL) {
                u->first = op;
                u->first_block = block;
            }
            if (op->kind == DM_IR_ADD && a == 0 && op->path == NULL)
                u->adds++;
            else if (op->kind != DM_IR_GET)
                u->others++;
        }
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                find_uses(t, op->blocks[k]);
    }
}

static bool is_single(const use *u)
{
    return u->decl != NULL && u->adds == 1 && u->others == 0 && u->first_block == u->home &&
           (u->first->kind == DM_IR_ADD || u->first == u->decl);
}

static bool starts_with_add(const use *u)
{
    return u->decl != NULL && !is_single(u) && u->first != NULL && u->first_block == u->home &&
           u->first->kind == DM_IR_ADD && u->first->path == NULL;
}

static dm_val current(const tidy *t, dm_val v)
{
    while (v != DM_VAL_NONE && t->moved[v] != v)
        v = t->moved[v];
    return v;
}

static void rewrite(tidy *t, dm_ir_block *block)
{
    int kept = 0;
    for (int i = 0; i < block->count; i++) {
        dm_ir_op *op = block->ops[i];
        dm_val slot = op->kind == DM_IR_SLOT ? op->result
                      : op->arg_count > 0    ? op->args[0]
                                             : DM_VAL_NONE;
        use *u = is_slot(t, slot) ? &t->uses[slot] : NULL;
        for (int a = 0; a < op->arg_count; a++)
            op->args[a] = current(t, op->args[a]);
        if (u != NULL && is_single(u) && op == u->first) {
            t->moved[slot] = op->args[op->arg_count - 1];
            continue;
        }
        if (u != NULL && is_single(u) && op->kind == DM_IR_GET) {
            t->moved[op->result] = op->args[0]; /* the value by now */
            continue;
        }
        if (u != NULL && op->kind == DM_IR_SLOT && (is_single(u) || starts_with_add(u)))
            continue;
        if (u != NULL && op == u->first && starts_with_add(u)) {
            dm_val value = op->args[1];
            *op = *u->decl;
            op->args = dm_ir_args(t->f->lang, 1);
            op->args[0] = value;
            op->arg_count = 1;
            t->f->values[op->result].def = op;
        }
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                rewrite(t, op->blocks[k]);
        block->ops[kept++] = op;
    }
    block->count = kept;
}

void dm_ir_tidy(dm_ir_function *f)
{
    tidy t = {.f = f};
    size_t count = (size_t)f->value_count + 1;
    t.uses = dm_lang_alloc_array(f->lang, count, sizeof *t.uses);
    t.moved = dm_lang_alloc_array(f->lang, count, sizeof *t.moved);
    for (int i = 0; i < f->value_count; i++)
        t.moved[i] = i;
    find_uses(&t, f->body);
    rewrite(&t, f->body);
}
