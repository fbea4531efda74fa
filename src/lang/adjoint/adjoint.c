/* SPDX-License-Identifier: MIT */
/* adjoint.c - the backward pass: from a function to the one that carries the adjoint (gradient) of
 * its results back to its arguments and to the arrays that it read.
 *
 * Work is done block by block, on the form without exits (exits.c). A block gives
 *
 *     replay     forward values that `reverse` needs, computed again; operations that write memory
 *                are never replayed
 *     slots      a variable for the adjoint of each value, zero at first: adj_x
 *     reverse    the operations from last to first, each adding to its arguments' adjoints
 *
 * Inner blocks are reversed inside of `reverse`. Replay is demand-driven: values that `reverse` uses
 * are marked, then the values that those are computed from. Loops are in adjoint_loop.c.
 *
 * A kernel has no backward pass when a value that it needs cannot be computed again; `no_backward`
 * gives the reason. Such values are the old value that an atomic returned, and a read of an array
 * that the kernel has written since (hazard.c) or, with the option from_inputs, before. */
#include "lang/adjoint/adjoint.h"

#include <string.h>

/* ---- Scopes ---- */

dm_adjoint_scope *dm_adjoint_open(dm_adjoint_state *a, const dm_ir_block *source,
                                  dm_adjoint_scope *outer)
{
    dm_adjoint_scope *s = dm_lang_alloc(a->lang, sizeof *s);
    *s = (dm_adjoint_scope){.source = source,
                            .slots = dm_ir_block_new(a->lang),
                            .reverse = dm_ir_block_new(a->lang),
                            .outer = outer};
    for (int i = 0; i < source->param_count; i++)
        a->home[source->params[i]] = s;
    for (int i = 0; i < source->count; i++)
        for (int r = 0; r < source->ops[i]->result_count; r++)
            a->home[source->ops[i]->result + r] = s;
    a->b.block = s->reverse;
    return s;
}

void dm_adjoint_append(dm_adjoint_state *a, dm_ir_block *to, const dm_ir_block *from)
{
    dm_ir_reserve_ops(a->lang, to, from->count);
    if (from->count > 0)
        memcpy(to->ops + to->count, from->ops, (size_t)from->count * sizeof(void *));
    to->count += from->count;
}

/* Append replay, slots and reverse to `to`, and forget the replayed values of this block: another
 * copy of the block replays them again. */
void dm_adjoint_close(dm_adjoint_state *a, const dm_adjoint_scope *s, dm_ir_block *to)
{
    dm_ir_block *replay = dm_adjoint_replay_block(a, s->source);
    /* The end of the block follows. */
    dm_ir_reserve_ops(a->lang, to, replay->count + s->slots->count + s->reverse->count + 1);
    dm_adjoint_append(a, to, replay);
    dm_adjoint_append(a, to, s->slots);
    dm_adjoint_append(a, to, s->reverse);
}

void dm_adjoint_forget(dm_adjoint_state *a, const dm_ir_block *source)
{
    for (int i = 0; i < source->param_count; i++)
        a->map[source->params[i]] = DM_VAL_NONE;
    for (int i = 0; i < source->count; i++) {
        const dm_ir_op *op = source->ops[i];
        for (int r = 0; r < op->result_count; r++)
            a->map[op->result + r] = DM_VAL_NONE;
    }
}

/* ---- Branches ---- */

static bool block_matters(const dm_adjoint_state *a, const dm_ir_block *block);

/* Does the operation write floats, so that its reverse does something without any result? */
bool dm_adjoint_matters(const dm_adjoint_state *a, const dm_ir_op *op)
{
    if (op->kind == DM_IR_STORE || op->kind == DM_IR_ATOMIC)
        return dm_adjoint_stored_type(a, op)->floats;
    if (op->kind == DM_IR_INVOKE)
        return op->callee->has_effects;
    for (int k = 0; k < 2; k++)
        if (op->blocks[k] != NULL && block_matters(a, op->blocks[k]))
            return true;
    return false;
}

static bool block_matters(const dm_adjoint_state *a, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++)
        if (dm_adjoint_matters(a, block->ops[i]))
            return true;
    return false;
}

bool dm_adjoint_touched(const dm_adjoint_state *a, const dm_ir_op *op)
{
    for (int r = 0; r < op->result_count; r++)
        if (a->touched[op->result + r])
            return true;
    return false;
}

static void reverse_if(dm_adjoint_state *a, dm_adjoint_scope *outer, const dm_ir_op *op)
{
    if (!dm_adjoint_touched(a, op) && !dm_adjoint_matters(a, op))
        return;
    dm_ir_block *before = a->b.block, *made[2];
    for (int k = 0; k < 2; k++) {
        const dm_ir_block *source = op->blocks[k];
        dm_adjoint_scope *s = dm_adjoint_open(a, source, outer);
        const dm_ir_op *end = dm_ir_terminator(source);
        for (int r = 0; r < op->result_count; r++)
            if (a->touched[op->result + r])
                dm_adjoint_add(a, end->args[r], dm_adjoint_get(a, op->result + r));
        dm_adjoint_reverse_block(a, s);
        made[k] = dm_ir_block_new(a->lang);
        dm_adjoint_close(a, s, made[k]);
        dm_adjoint_forget(a, source);
        a->b.block = made[k];
        dm_ir_op_new(&a->b, DM_IR_YIELD, NULL, 0, NULL);
    }
    a->b.block = before;
    if (made[0]->count == 1 && made[1]->count == 1)
        return;
    dm_val condition = dm_adjoint_use(a, op->args[0]);
    dm_ir_op *copy = dm_ir_op_new(&a->b, DM_IR_IF, &condition, 1, NULL);
    copy->blocks[0] = made[0];
    copy->blocks[1] = made[1];
}

/* ---- Blocks ---- */

static void reverse_op(dm_adjoint_state *a, dm_adjoint_scope *s, const dm_ir_op *op)
{
    a->b.pos = op->pos;
    switch (op->kind) {
    case DM_IR_IF:
        reverse_if(a, s, op);
        return;
    case DM_IR_FOR:
    case DM_IR_WHILE:
        dm_adjoint_reverse_loop(a, s, op);
        return;
    case DM_IR_STORE:
        dm_adjoint_reverse_store(a, op);
        return;
    case DM_IR_ATOMIC:
        dm_adjoint_reverse_atomic(a, op);
        return;
    case DM_IR_INVOKE:
        dm_adjoint_reverse_invoke(a, op);
        return;
    default:
        break;
    }
    if (dm_adjoint_touched(a, op))
        dm_adjoint_reverse_simple(a, op);
}

void dm_adjoint_reverse_block(dm_adjoint_state *a, dm_adjoint_scope *s)
{
    dm_adjoint_scope *outer = a->scope;
    a->scope = s;
    for (int i = s->source->count - 1; i >= 0; i--)
        if (!dm_ir_is_terminator(s->source->ops[i]->kind))
            reverse_op(a, s, s->source->ops[i]);
    a->scope = outer;
}

/* ---- Functions ---- */

static dm_val resolve(const dm_val *moved, dm_val v)
{
    while (v != DM_VAL_NONE && moved[v] != v)
        v = moved[v];
    return v;
}

static void rename_args(dm_ir_block *block, const dm_val *moved)
{
    for (int i = 0; i < block->count; i++) {
        dm_ir_op *op = block->ops[i];
        for (int k = 0; k < op->arg_count; k++)
            op->args[k] = resolve(moved, op->args[k]);
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                rename_args(op->blocks[k], moved);
    }
}

/* Values that were handed out before their definition was known take that definition. */
static void apply_aliases(dm_adjoint_state *a)
{
    dm_ir_function *to = a->b.function;
    if (a->alias_count == 0)
        return;
    dm_val *moved = dm_lang_alloc_array(a->lang, (size_t)to->value_count + 1, sizeof *moved);
    for (int i = 0; i < to->value_count; i++)
        moved[i] = i;
    for (int i = 0; i < a->alias_count; i++)
        if (a->alias[i].from != a->alias[i].to)
            moved[a->alias[i].from] = a->alias[i].to;
    rename_args(to->body, moved);
}

static void *per_value(dm_adjoint_state *a, size_t size)
{
    return dm_lang_alloc_array(a->lang, (size_t)a->f->value_count + 1, size);
}

static dm_adjoint_state start(dm_module_unit *module, const dm_ir_function *f, dm_ir_function *made)
{
    dm_adjoint_state a = {.module = module, .lang = module->lang, .f = f};
    a.temporary = dm_lang_intern_text(a.lang, "t");
    a.b =
        (dm_ir_builder){.lang = module->lang, .function = made, .block = made->body, .pos = f->pos};
    dm_lower_start(&a.rows, module, module->root, made);
    a.rows.weak = true;
    a.map = per_value(&a, sizeof *a.map);
    a.slot = per_value(&a, sizeof *a.slot);
    a.direct = per_value(&a, sizeof *a.direct);
    a.uses = per_value(&a, sizeof *a.uses);
    a.uses++; /* NONE may be counted, too */
    a.adds = per_value(&a, sizeof *a.adds);
    a.touched = per_value(&a, sizeof *a.touched);
    a.home = per_value(&a, sizeof(void *));
    a.inside = per_value(&a, sizeof *a.inside);
    a.seen = per_value(&a, sizeof *a.seen);
    for (int i = 0; i < f->value_count; i++)
        a.map[i] = a.slot[i] = a.direct[i] = a.inside[i] = DM_VAL_NONE;
    return a;
}

static void count_use(dm_adjoint_state *a, dm_val v, bool counts)
{
    a->uses[v] = (uint8_t)(a->uses[v] + (counts & (a->uses[v] < 2)));
}

/* How often the adjoint of each value may be added to: once for each use that has a gradient. */
static void count_uses(dm_adjoint_state *a, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        const dm_builtin_param *params = op->kind == DM_IR_CALL ? op->row->params : NULL;
        if (params == NULL) {
            count_use(a, op->args[0], true);
            count_use(a, op->args[1], true);
            for (int k = 2; k < op->arg_count; k++)
                count_use(a, op->args[k], true);
        } else {
            count_use(a, op->args[0], params[0].adjoint != NULL);
            count_use(a, op->args[1], params[1].adjoint != NULL);
            for (int k = 2; k < op->arg_count; k++)
                count_use(a, op->args[k], params[k].adjoint != NULL);
        }
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                count_uses(a, op->blocks[k]);
    }
}

/* The parameters of the backward function: those of f, an adjoint for each that carries one, by
 * address, and the adjoint of the result. */
static dm_val make_params(dm_adjoint_state *a, dm_ir_function *made)
{
    const dm_ir_block *body = a->f->body;
    int count = body->param_count, floats = 0;
    for (int i = 0; i < count; i++) {
        dm_val v = body->params[i];
        a->map[v] = dm_ir_param(made, made->body, type_of(a, v), a->f->values[v].name);
        floats += carries(a, v);
    }
    if (a->f->role == DM_IR_KERNEL)
        return DM_VAL_NONE;
    bool has_result = a->f->result->floats;
    made->adjoint_params =
        dm_lang_alloc_array(a->lang, (size_t)(count + floats) + 2, sizeof *made->adjoint_params);
    for (int i = 0; i < count; i++) {
        dm_val v = body->params[i];
        if (!carries(a, v))
            continue;
        made->adjoint_params[made->body->param_count] = true;
        a->slot[v] = dm_ir_param(made, made->body, type_of(a, v),
                                 dm_lang_adjoint_name(a->lang, a->f->values[v].name));
    }
    return has_result ? dm_ir_param(made, made->body, a->f->result,
                                    dm_lang_intern_text(a->lang, "adj_ret"))
                      : DM_VAL_NONE;
}

/* The backward function of a function with a gradient of its own (@wp.func_grad). */
static dm_ir_function *custom_backward(dm_adjoint_state *a, dm_ir_function *f,
                                       const dm_custom *custom, dm_ir_function *made, dm_val given)
{
    int errors = a->lang->error_count;
    const dm_ir_block *body = a->f->body;
    dm_val *slots = dm_lang_alloc_array(a->lang, (size_t)body->param_count + 1, sizeof *slots);
    for (int i = 0; i < body->param_count; i++)
        slots[i] = a->slot[body->params[i]];
    f->backward = made; /* it may call f, which is no recursion */
    dm_lower_custom_grad(a->module, f, custom, made, slots, given);
    if (a->lang->error_count != errors)
        f->backward = NULL;
    f->no_backward = f->backward == NULL ? "its custom gradient has errors" : NULL;
    return f->backward;
}

dm_ir_function *dm_adjoint(dm_module_unit *module, dm_ir_function *f,
                           const dm_adjoint_source *source)
{
    dm_lang *lang = module->lang;
    int errors = lang->error_count;
    const dm_ir_function *plain = source->plain;
    dm_ir_function *made = dm_ir_function_new(lang, f->name);
    dm_ir_reserve(made, 2 * plain->value_count + 8);
    made->role = f->role;
    made->is_backward = made->has_effects = true;
    made->tid_count = f->tid_count;
    made->pos = f->pos;
    made->forward = f;
    made->base_name = dm_lang_adjoint_name(lang, f->base_name);
    dm_adjoint_state a = start(module, plain, made);
    a.known = source->known;
    a.active = source->active;
    a.compat = module->options.warp_compat && !f->is_library;
    dm_val given = make_params(&a, made);
    const dm_custom *custom = dm_lower_find_custom(module, f, false);
    if (custom != NULL)
        return custom_backward(&a, f, custom, made, given);
    count_uses(&a, plain->body);
    dm_adjoint_scope *s = dm_adjoint_open(&a, plain->body, NULL);
    const dm_ir_op *end = dm_ir_terminator(plain->body);
    if (given != DM_VAL_NONE)
        dm_adjoint_add(&a, end->args[0], given);
    dm_adjoint_reverse_block(&a, s);
    dm_adjoint_close(&a, s, made->body);
    a.b.block = made->body;
    dm_ir_op_new(&a.b, DM_IR_RETURN, NULL, 0, NULL);
    apply_aliases(&a);
    made->has_singles = a.singles > 0;
    if (a.failure != NULL) {
        f->no_backward = a.failure;
        dm_lang_warning(lang, a.failure_pos, a.failure_pos,
                        a.failure_hint != NULL ? a.failure_hint
                                               : "--no-backward is for kernels that need none",
                        "no backward pass: %s", a.failure);
        return NULL;
    }
    if (lang->error_count != errors) {
        f->no_backward = "it has errors";
        return NULL;
    }
    f->backward = made;
    return made;
}

/* The program's replay function for f (@wp.func_replay); NULL: none, or it has errors. */
dm_ir_function *dm_adjoint_custom_replay(dm_module_unit *module, dm_ir_function *f)
{
    dm_custom *custom = dm_lower_find_custom(module, f, true);
    if (custom == NULL)
        return NULL;
    if (custom->decl == NULL) {
        custom->decl = dm_lang_alloc(module->lang, sizeof *custom->decl);
        *custom->decl = (dm_function_decl){
            .ast = custom->ast, .scope = custom->scope, .name = custom->ast->name};
    }
    return dm_lower_function(module, custom->decl, f->call_args, f->call_arg_count, f->pos);
}

dm_ir_function *dm_adjoint_replay(dm_module_unit *module, dm_ir_function *f, const dm_val *known)
{
    dm_lang *lang = module->lang;
    dm_ir_function *made = dm_ir_function_new(lang, f->name);
    made->role = DM_IR_FUNCTION;
    made->pos = f->pos;
    made->result = f->result;
    made->base_name = dm_lang_intern_text(lang, dm_lang_format(lang, "%s_replay", f->base_name));
    dm_adjoint_state a = start(module, f, made);
    a.known = known;
    f->replay = made;
    for (int i = 0; i < f->body->param_count; i++) {
        dm_val v = f->body->params[i];
        dm_adjoint_set_inside(&a, v,
                              dm_ir_param(made, made->body, type_of(&a, v), f->values[v].name));
    }
    dm_ir_block *copy =
        dm_adjoint_copy_block(&a, &(dm_ir_block){.ops = f->body->ops, .count = f->body->count});
    dm_adjoint_append(&a, made->body, copy);
    made->no_replay = a.failure;
    return made;
}
