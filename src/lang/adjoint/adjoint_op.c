/* SPDX-License-Identifier: MIT */
/* adjoint_op.c - the reverse of one operation: what it adds to the adjoints of its arguments. For a call of
 * a builtin the expressions come from its row in builtins.def. See adjoint.h. */
#include "lang/adjoint/adjoint.h"

#include <assert.h>
#include <string.h>

/* ---- Values and adjoints ---- */

static dm_ir_op *new_slot(dm_adjoint_state *a, dm_val v, const dm_val *initial, int count)
{
    dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_SLOT, initial, count, type_of(a, v));
    const char *name = a->f->values[v].name;
    a->b.function->values[op->result].name =
        dm_lang_adjoint_name(a->lang, name == NULL ? a->temporary : name);
    a->slot[v] = op->result;
    return op;
}

dm_val dm_adjoint_slot(dm_adjoint_state *a, dm_val v)
{
    assert(a->direct[v] == DM_VAL_NONE);
    if (a->slot[v] != DM_VAL_NONE)
        return a->slot[v];
    bool constant = a->home[v] == NULL; /* it has no block: a variable for each use, never read */
    dm_ir_block *before = a->b.block;
    a->b.block = constant ? a->scope->slots : a->home[v]->slots;
    dm_val made = new_slot(a, v, NULL, 0)->result;
    a->b.block = before;
    if (constant)
        a->slot[v] = DM_VAL_NONE;
    return made;
}

/* Count an addition to an adjoint's variable after its initialisation. */
static void note_add(dm_adjoint_state *a, dm_val v)
{
    a->singles -= a->adds[v] == 1;
    a->adds[v] = 2;
}

/* The first addition, if it is in the block that defines the value, needs no variable set to zero
 * before: the added value is the adjoint, or the variable is initialised with it. */
void dm_adjoint_add(dm_adjoint_state *a, dm_val to, dm_val value)
{
    if (!carries(a, to))
        return;
    bool first = a->slot[to] == DM_VAL_NONE && a->b.block == a->home[to]->reverse;
    a->touched[to] = true;
    if (first && a->uses[to] == 1) {
        assert(a->direct[to] == DM_VAL_NONE);
        a->direct[to] = value;
    } else if (first) {
        new_slot(a, to, &value, 1)->adds = true;
        a->adds[to] = 1;
        a->singles++;
    } else {
        dm_val args[] = {dm_adjoint_slot(a, to), value};
        dm_ir_op_new(&a->b, DM_IR_ADD, args, 2, NULL);
        note_add(a, to);
    }
}

/* To a field (index < 0: none) or component of an adjoint. */
void dm_adjoint_add_part(dm_adjoint_state *a, dm_val to, int field, dm_val index, dm_val value)
{
    if (!carries(a, to))
        return;
    dm_val args[3] = {dm_adjoint_slot(a, to), index, value};
    if (field >= 0)
        args[1] = value;
    dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_ADD, args, field >= 0 ? 2 : 3, NULL);
    dm_ir_path *path = dm_lang_alloc(a->lang, sizeof *path);
    path->count = 1;
    path->field[0] = field;
    path->type = a->b.function->values[value].type;
    op->path = path;
    a->touched[to] = true;
    note_add(a, to);
}

dm_val dm_adjoint_get(dm_adjoint_state *a, dm_val v)
{
    if (a->direct[v] != DM_VAL_NONE)
        return a->direct[v];
    dm_val slot = dm_adjoint_slot(a, v);
    return dm_ir_simple(&a->b, DM_IR_GET, &slot, 1, type_of(a, v));
}

dm_val dm_adjoint_row(dm_adjoint_state *a, dm_row_number row, const dm_val *args, int count)
{
    const dm_type *types[DM_BUILTIN_PARAMS_MAX];
    for (int i = 0; i < count; i++)
        types[i] = a->b.function->values[args[i]].type;
    const dm_bind *bind = dm_builtin_bind(a->lang, dm_builtin_row(row), types, count);
    assert(bind != NULL);
    dm_val folded;
    if (dm_fold(&a->b, bind, args, count, &folded))
        return folded;
    return dm_ir_call(&a->b, bind, args, count)->result;
}

dm_val dm_adjoint_call(dm_adjoint_state *a, dm_row_number row, dm_val x, dm_val y)
{
    dm_val args[] = {x, y};
    return dm_adjoint_row(a, row, args, 2);
}

void dm_adjoint_fail(dm_adjoint_state *a, const dm_ir_op *op, const char *reason)
{
    if (a->failure == NULL) {
        a->failure = reason;
        a->failure_pos = op->pos;
    }
}

/* ---- Simple operations ---- */

static void reverse_call(dm_adjoint_state *a, const dm_ir_op *op)
{
    const dm_builtin *row = op->row;
    dm_pos outer = a->lang->library_call;
    a->lang->library_call = op->pos;
    for (int i = 0; i < row->param_count; i++) {
        const dm_builtin_param *param = &row->params[i];
        if (param->adjoint == NULL || !carries(a, op->args[i]))
            continue;
        dm_adjoint_values values = {.ret = DM_VAL_NONE};
        for (int k = 0; k < row->param_count; k++)
            values.params[k] =
                (param->mentions >> k & 1) != 0 ? dm_adjoint_use(a, op->args[k]) : DM_VAL_NONE;
        if ((param->mentions & DM_MENTIONS_RET) != 0)
            values.ret = dm_adjoint_use(a, op->result);
        values.g = dm_adjoint_get(a, op->result);
        dm_val value;
        a->rows.b = a->b;
        if (dm_lower_adjoint(&a->rows, row, param, &values, type_of(a, op->args[i]), &value))
            dm_adjoint_add(a, op->args[i], value);
    }
    a->lang->library_call = outer;
}

static void reverse_make(dm_adjoint_state *a, const dm_ir_op *op)
{
    const dm_type *type = type_of(a, op->result);
    bool fields = type->kind == DM_TYPE_STRUCT || type->kind == DM_TYPE_TUPLE;
    for (int i = 0; i < op->arg_count; i++) {
        if (!carries(a, op->args[i]))
            continue;
        dm_val g = dm_adjoint_get(a, op->result);
        dm_adjoint_add(a, op->args[i],
                       fields ? dm_ir_field(&a->b, g, i) : dm_ir_extract_at(&a->b, g, i));
    }
}

/* A component's number without negative ones, for an address. */
static dm_val plain_index(dm_adjoint_state *a, dm_val index, const dm_type *type)
{
    int64_t number;
    dm_val replayed = dm_adjoint_use(a, index);
    if (dm_ir_const_int(a->f, index, &number)) {
        const dm_type *i32 = dm_type_scalar(a->lang, DM_I32);
        return dm_ir_int(&a->b, i32, number < 0 ? number + dm_type_components(type) : number);
    }
    return replayed;
}

static void reverse_insert(dm_adjoint_state *a, const dm_ir_op *op)
{
    const dm_type *type = type_of(a, op->result);
    dm_val index = plain_index(a, op->args[1], type), g = dm_adjoint_get(a, op->result);
    dm_adjoint_add(a, op->args[2], dm_ir_extract(&a->b, g, index));
    if (a->compat && !op->adds) { /* Warp leaves the adjoint of what was replaced */
        dm_adjoint_add(a, op->args[0], g);
        return;
    }
    dm_val zero = dm_ir_zero(&a->b, dm_type_scalar(a->lang, (dm_scalar)type->scalar));
    dm_adjoint_add(a, op->args[0], dm_ir_insert(&a->b, g, index, zero));
}

static void reverse_setfield(dm_adjoint_state *a, const dm_ir_op *op)
{
    dm_val g = dm_adjoint_get(a, op->result);
    if (!holds_floats(a, op->args[1])) {
        dm_adjoint_add(a, op->args[0], g);
        return;
    }
    dm_adjoint_add(a, op->args[1], dm_ir_field(&a->b, g, op->index));
    dm_val zero = dm_ir_zero(&a->b, type_of(a, op->args[1]));
    dm_adjoint_add(a, op->args[0], dm_ir_setfield(&a->b, g, op->index, zero));
}

/* ---- Memory ---- */

/* The operation's array and indices, replayed; `count` of its arguments. */
static dm_ir_op *memory_op(dm_adjoint_state *a, dm_ir_kind kind, const dm_ir_op *op, int count,
                           dm_val value, const dm_type *result)
{
    dm_val args[16] = {0};
    assert(count < 15);
    for (int i = 0; i < count; i++)
        args[i] = dm_adjoint_use(a, op->args[i]);
    if (value != DM_VAL_NONE)
        args[count++] = value;
    dm_ir_op *made = dm_ir_op_new(&a->b, kind, args, count, result);
    made->path = op->kind == DM_IR_LOAD ? NULL : op->path;
    return made;
}

const dm_type *dm_adjoint_stored_type(const dm_adjoint_state *a, const dm_ir_op *op)
{
    return op->path != NULL && op->path->count > 0 ? op->path->type
                                                   : type_of(a, op->args[0])->element;
}

void dm_adjoint_reverse_store(dm_adjoint_state *a, const dm_ir_op *op)
{
    const dm_type *type = dm_adjoint_stored_type(a, op);
    if (!type->floats)
        return;
    int count = op->arg_count - 1;
    dm_val g = memory_op(a, DM_IR_GRAD, op, count, DM_VAL_NONE, type)->result;
    dm_adjoint_add(a, op->args[count], g);
    memory_op(a, DM_IR_ZERO_GRAD, op, count, DM_VAL_NONE, NULL);
}

/* The gradient of a component of an element (index < 0: of all of it): taken, or set to zero. */
static dm_val component_grad(dm_adjoint_state *a, dm_ir_kind kind, const dm_ir_op *op, int count,
                             int index, const dm_type *part)
{
    dm_val which =
        index < 0 ? DM_VAL_NONE : dm_ir_int(&a->b, dm_type_scalar(a->lang, DM_I32), index);
    dm_ir_op *made = memory_op(a, kind, op, count, which, kind == DM_IR_GRAD ? part : NULL);
    if (index >= 0) {
        dm_ir_path *path = dm_lang_alloc(a->lang, sizeof *path);
        *path = (dm_ir_path){.count = 1, .field = {-1}, .type = part};
        made->path = path;
    }
    return made->result;
}

/* atomic_min, atomic_max: the value that stayed was stored, others did nothing. */
static void reverse_extreme(dm_adjoint_state *a, const dm_ir_op *op, const dm_type *type, int count)
{
    dm_val source = op->args[op->arg_count - 1];
    if (a->module->options.from_inputs)
        dm_adjoint_fail(a, op, "it needs the minimum or maximum that the kernel left");
    dm_val now = memory_op(a, DM_IR_LOAD, op, count, DM_VAL_NONE, type)->result;
    const dm_type *part = dm_type_scalar(a->lang, (dm_scalar)type->scalar);
    bool whole = dm_type_is_scalar(type);
    for (int i = 0; i < dm_type_components(type); i++) {
        dm_val value = dm_adjoint_use(a, source);
        dm_val held = whole ? now : dm_ir_extract_at(&a->b, now, i);
        dm_val stored = whole ? value : dm_ir_extract_at(&a->b, value, i);
        dm_val condition = dm_adjoint_call(a, DM_ROW_EQ, stored, held);
        dm_ir_only only = dm_ir_only_if(&a->b, condition);
        dm_val g = component_grad(a, DM_IR_GRAD, op, count, whole ? -1 : i, part);
        if (whole)
            dm_adjoint_add(a, source, g);
        else
            dm_adjoint_add_part(a, source, -1, dm_ir_int(&a->b, dm_type_scalar(a->lang, DM_I32), i),
                                g);
        component_grad(a, DM_IR_ZERO_GRAD, op, count, whole ? -1 : i, part);
        dm_ir_only_end(&a->b, &only);
    }
}

void dm_adjoint_reverse_atomic(dm_adjoint_state *a, const dm_ir_op *op)
{
    const dm_type *type = dm_adjoint_stored_type(a, op);
    int count = op->arg_count - (strcmp(op->text, "cas") == 0 ? 2 : 1);
    if (!type->floats)
        return;
    if (op->result_count > 0 && a->touched[op->result])
        dm_adjoint_fail(a, op, "the value that an atomic returns has no gradient");
    dm_val value = op->args[op->arg_count - 1];
    if (type->scalar == DM_F16 && strcmp(op->text, "add") != 0)
        return;
    dm_val g = memory_op(a, DM_IR_GRAD, op, count, DM_VAL_NONE, type)->result;
    if (strcmp(op->text, "add") == 0) {
        dm_adjoint_add(a, value, g);
    } else if (strcmp(op->text, "sub") == 0) {
        if (type->kind == DM_TYPE_QUAT || type->kind == DM_TYPE_TRANSFORM)
            dm_adjoint_fail(a, op, "subtracting quaternions atomically has no gradient");
        else
            dm_adjoint_add(a, value, dm_adjoint_row(a, DM_ROW_NEG, &g, 1));
    } else if (strcmp(op->text, "min") == 0 || strcmp(op->text, "max") == 0) {
        if (op->path != NULL && op->path->count > 0)
            return;
        reverse_extreme(a, op, type, count);
    } else {
        dm_adjoint_fail(a, op, "this atomic has no gradient");
    }
}

/* ---- Functions of the program ---- */

bool dm_adjoint_has_floats(const dm_ir_function *f)
{
    for (int i = 0; i < f->value_count; i++) {
        const dm_type *type = f->values[i].type;
        if (type->floats || (type->kind == DM_TYPE_ARRAY && type->element->floats))
            return true;
    }
    return false;
}

void dm_adjoint_reverse_invoke(dm_adjoint_state *a, const dm_ir_op *op)
{
    dm_val args[300];
    int count = 0;
    bool wanted = op->result_count > 0 && a->touched[op->result];
    if ((!wanted && !op->callee->has_effects) || !dm_adjoint_has_floats(op->callee))
        return;
    dm_ir_function *backward = dm_passes_backward(a->module, op->callee);
    if (backward == NULL) {
        if (op->callee->no_backward != NULL)
            dm_adjoint_fail(a, op, op->callee->no_backward);
        return;
    }
    dm_adjoint_check(a, op);
    for (int i = 0; i < op->arg_count; i++)
        args[count++] = dm_adjoint_use(a, op->args[i]);
    for (int i = 0; i < op->arg_count; i++)
        if (holds_floats(a, op->args[i])) { /* all that the function asks for */
            args[count++] = dm_adjoint_slot(a, op->args[i]);
            note_add(a, op->args[i]);
            a->touched[op->args[i]] |= carries(a, op->args[i]);
        }
    if (op->result_count > 0 && holds_floats(a, op->result))
        args[count++] =
            wanted ? dm_adjoint_get(a, op->result) : dm_ir_zero(&a->b, type_of(a, op->result));
    dm_ir_op *made = dm_ir_op_new(&a->b, DM_IR_REVERSE, args, count, NULL);
    made->callee = backward;
}

/* Operations without effects: each adds to the adjoints of its arguments. */
void dm_adjoint_reverse_simple(dm_adjoint_state *a, const dm_ir_op *op)
{
    switch (op->kind) {
    case DM_IR_CALL:
        reverse_call(a, op);
        break;
    case DM_IR_CAST:
        dm_adjoint_add(a, op->args[0],
                       dm_ir_cast(&a->b, dm_adjoint_get(a, op->result), type_of(a, op->args[0])));
        break;
    case DM_IR_MAKE:
        reverse_make(a, op);
        break;
    case DM_IR_EXTRACT: {
        dm_val g = dm_adjoint_get(a, op->result);
        dm_val index = plain_index(a, op->args[1], type_of(a, op->args[0]));
        dm_adjoint_add_part(a, op->args[0], -1, index, g);
        break;
    }
    case DM_IR_INSERT:
        reverse_insert(a, op);
        break;
    case DM_IR_FIELD:
        dm_adjoint_add_part(a, op->args[0], op->index, DM_VAL_NONE, dm_adjoint_get(a, op->result));
        break;
    case DM_IR_SETFIELD:
        reverse_setfield(a, op);
        break;
    case DM_IR_LOAD:
        memory_op(a, DM_IR_ADD_GRAD, op, op->arg_count, dm_adjoint_get(a, op->result), NULL);
        break;
    default:
        break;
    }
}
