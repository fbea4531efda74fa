/* SPDX-License-Identifier: MIT */
/* adjoint_replay.c - replay: values of the forward pass, computed again in the backward pass. The search
 * starts from what the reverse part uses, so nothing else is computed. A read is refused where memory
 * holds another value by then (hazard.c). See adjoint.h. */
#include "lang/adjoint/adjoint.h"

#include <string.h>

/* Would the operation read something else when it is done again? */
static bool is_stale(const dm_adjoint_state *a, const dm_ir_op *op)
{
    dm_hazard wrong = a->module->options.from_inputs ? DM_HAZARD_EARLIER : DM_HAZARD_LATER;
    return a->known != NULL && (op->hazard & wrong) != 0;
}

dm_val dm_adjoint_known(const dm_adjoint_state *a, dm_val v)
{
    const dm_ir_op *def = a->f->values[v].def;
    bool load = def != NULL && def->kind == DM_IR_LOAD && is_stale(a, def);
    return load && !a->module->options.warp_compat ? a->known[v] : DM_VAL_NONE;
}

dm_val dm_adjoint_use(dm_adjoint_state *a, dm_val v)
{
    if (a->map[v] != DM_VAL_NONE)
        return a->map[v];
    if (a->known != NULL)
        for (dm_val known = v; known != DM_VAL_NONE; known = dm_adjoint_known(a, v))
            v = known;
    const dm_ir_op *c = dm_ir_const(a->f, v);
    if (c != NULL)
        return a->map[v] = dm_ir_const_copy(a->b.function, type_of(a, v), c);
    if (a->map[v] == DM_VAL_NONE)
        a->map[v] = dm_ir_value_new(a->b.function, type_of(a, v), a->f->values[v].name);
    return a->map[v];
}

/* The name of the array that an operation reads. */
static const char *array_name(const dm_adjoint_state *a, const dm_ir_op *op)
{
    const dm_ir_function *f = a->f;
    for (int i = 0; i < op->arg_count; i++) {
        dm_val v = op->args[i];
        if (f->values[v].type->kind != DM_TYPE_ARRAY)
            continue;
        while (f->values[v].name == NULL && f->values[v].def != NULL &&
               f->values[v].def->arg_count > 0)
            v = f->values[v].def->args[0];
        if (f->values[v].name != NULL)
            return f->values[v].name;
    }
    return "an array";
}

/* Two values cannot be computed again: the old value that an atomic returned, and a read of memory
 * that has changed since. */
void dm_adjoint_check(dm_adjoint_state *a, const dm_ir_op *op)
{
    if (a->module->options.warp_compat)
        return;
    if (op->kind == DM_IR_ATOMIC)
        dm_adjoint_fail(
            a, op,
            "the backward pass needs the value that an atomic returned, which cannot be "
            "computed again");
    if (!is_stale(a, op) || a->failure != NULL)
        return;
    dm_adjoint_fail(
        a, op,
        dm_lang_format(a->lang,
                       a->module->options.from_inputs
                           ? "it needs what '%s' held after the kernel had written to it"
                           : "it needs what '%s' held before the kernel wrote to it",
                       array_name(a, op)));
    a->failure_hint = a->module->options.from_inputs
                          ? "keep what is read and what is written in two arrays"
                          : "keep what is read and what is written in two arrays, or launch the "
                            "backward pass with the arrays as they were: --from-inputs";
}

static bool needs_replay(const dm_adjoint_state *a, const dm_ir_op *op)
{
    return op->callee->has_effects || dm_lower_find_custom(a->module, op->callee, true) != NULL;
}

static dm_ir_function *replayed(dm_adjoint_state *a, const dm_ir_op *op)
{
    dm_ir_function *made = dm_passes_replay(a->module, op->callee);
    if (made->no_replay != NULL)
        dm_adjoint_fail(a, op, made->no_replay);
    return made;
}

void dm_adjoint_set_inside(dm_adjoint_state *a, dm_val v, dm_val copy)
{
    a->inside[v] = copy;
    DM_LANG_PUSH(a->lang, a->copied, a->copied_count, a->copied_capacity, v);
}

/* Forget the mapping of the last copy. */
void dm_adjoint_clear_inside(dm_adjoint_state *a)
{
    for (int i = 0; i < a->copied_count; i++)
        a->inside[a->copied[i]] = DM_VAL_NONE;
    a->copied_count = 0;
}

/* A copy of blocks inside an operation: values inside get new copies, outer ones are used. */
dm_ir_block *dm_adjoint_copy_block(dm_adjoint_state *a, const dm_ir_block *block)
{
    const dm_val *inside = a->inside;
    dm_ir_block *made = dm_ir_block_new(a->lang);
    dm_ir_function *to = a->b.function;
    for (int i = 0; i < block->param_count; i++) {
        dm_val v = block->params[i];
        dm_adjoint_set_inside(a, v, dm_ir_param(to, made, type_of(a, v), a->f->values[v].name));
    }
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        bool writes = dm_ir_infos[op->kind].effect == DM_IR_WRITES;
        if (writes && op->kind != DM_IR_INVOKE && op->result_count == 0)
            continue;
        if (op->kind == DM_IR_INVOKE && op->result_count == 0)
            continue;
        dm_val known = op->result_count == 1 ? dm_adjoint_known(a, op->result) : DM_VAL_NONE;
        if (known != DM_VAL_NONE) {
            dm_adjoint_set_inside(a, op->result,
                                  inside[known] != DM_VAL_NONE ? inside[known]
                                                               : dm_adjoint_use(a, known));
            continue;
        }
        dm_adjoint_check(a, op);
        dm_ir_op *copy = dm_lang_alloc(a->lang, sizeof *copy);
        *copy = *op;
        to->kinds |= (uint64_t)1 << op->kind;
        copy->args = dm_ir_args(a->lang, op->arg_count);
        for (int k = 0; k < op->arg_count; k++)
            copy->args[k] = inside[op->args[k]] != DM_VAL_NONE ? inside[op->args[k]]
                                                               : dm_adjoint_use(a, op->args[k]);
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                copy->blocks[k] = dm_adjoint_copy_block(a, op->blocks[k]);
        for (int r = 0; r < op->result_count; r++) {
            dm_val v =
                dm_ir_value_new(to, type_of(a, op->result + r), a->f->values[op->result + r].name);
            to->values[v].def = copy;
            dm_adjoint_set_inside(a, op->result + r, v);
            if (r == 0)
                copy->result = v;
        }
        if (op->kind == DM_IR_INVOKE && needs_replay(a, op))
            copy->callee = replayed(a, op);
        if (op->kind == DM_IR_ATOMIC) { /* its value is not to be had: zero */
            copy->kind = DM_IR_ZERO;
            copy->arg_count = 0;
            copy->args = dm_ir_args(a->lang, 0);
        }
        dm_ir_append(a->lang, made, copy);
    }
    return made;
}

/* Place one operation whose results were asked for. */
static void replay_op(dm_adjoint_state *a, dm_ir_block *out, const dm_ir_op *op)
{
    dm_ir_function *to = a->b.function;
    if (op->kind == DM_IR_FOR && a->compat) {
        /* Warp does not run the loop again: the variables are as they were before it. */
        for (int r = 0; r < op->result_count; r++)
            if (a->map[op->result + r] != DM_VAL_NONE)
                a->alias[a->alias_count++] =
                    (dm_adjoint_alias){a->map[op->result + r], dm_adjoint_use(a, op->args[3 + r])};
        return;
    }
    dm_ir_op *copy = dm_lang_alloc(a->lang, sizeof *copy);
    dm_adjoint_check(a, op);
    *copy = *op;
    to->kinds |= (uint64_t)1 << op->kind;
    copy->args = dm_ir_args(a->lang, op->arg_count);
    for (int i = 0; i < op->arg_count; i++)
        copy->args[i] = dm_adjoint_use(a, op->args[i]);
    if (op->blocks[0] != NULL) {
        dm_adjoint_clear_inside(a);
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                copy->blocks[k] = dm_adjoint_copy_block(a, op->blocks[k]);
    }
    if (op->kind == DM_IR_INVOKE && needs_replay(a, op))
        copy->callee = replayed(a, op);
    if (op->kind == DM_IR_ATOMIC) {
        copy->kind = DM_IR_ZERO;
        copy->arg_count = 0;
        copy->args = dm_ir_args(a->lang, 0);
    }
    if (op->result_count == 1) {
        copy->result = dm_adjoint_use(a, op->result);
        to->values[copy->result].def = copy;
    } else { /* consecutive numbers are needed: copies of them, then the ones that were given out */
        for (int r = 0; r < op->result_count; r++) {
            dm_val v =
                dm_ir_value_new(to, type_of(a, op->result + r), a->f->values[op->result + r].name);
            to->values[v].def = copy;
            if (r == 0)
                copy->result = v;
        }
        for (int r = 0; r < op->result_count; r++) {
            dm_val given = a->map[op->result + r];
            if (given != DM_VAL_NONE)
                a->alias[a->alias_count++] = (dm_adjoint_alias){given, copy->result + r};
        }
    }
    dm_ir_append(a->lang, out, copy);
}

static bool is_needed(const dm_adjoint_state *a, const dm_ir_op *op)
{
    for (int r = 0; r < op->result_count; r++)
        if (a->map[op->result + r] != DM_VAL_NONE)
            return true;
    return false;
}

void dm_adjoint_reserve_aliases(dm_adjoint_state *a, int count)
{
    if (a->alias_count + count <= a->alias_capacity)
        return;
    int capacity = (a->alias_capacity + count) * 2;
    dm_adjoint_alias *larger = dm_lang_alloc_array(a->lang, (size_t)capacity, sizeof *larger);
    if (a->alias_count > 0)
        memcpy(larger, a->alias, (size_t)a->alias_count * sizeof *larger);
    a->alias = larger;
    a->alias_capacity = capacity;
}

/* Backwards through the block: place operations whose results are used, and mark the values that they
 * use. The result is in forward order. */
dm_ir_block *dm_adjoint_replay_block(dm_adjoint_state *a, const dm_ir_block *source)
{
    dm_ir_block *out = dm_ir_block_new(a->lang);
    for (int i = source->count - 1; i >= 0; i--) {
        const dm_ir_op *op = source->ops[i];
        if (dm_ir_is_terminator(op->kind) || !is_needed(a, op))
            continue;
        dm_adjoint_reserve_aliases(a, op->result_count);
        replay_op(a, out, op);
    }
    for (int i = 0, k = out->count - 1; i < k; i++, k--) {
        dm_ir_op *op = out->ops[i];
        out->ops[i] = out->ops[k];
        out->ops[k] = op;
    }
    return out;
}
