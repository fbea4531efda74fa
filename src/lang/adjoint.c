/* SPDX-License-Identifier: MIT */
/* adjoint.c - the backward pass: from a function to the one that carries the adjoint (gradient) of
 * its results back to its arguments and to the arrays that it read.
 *
 * Work is done block by block, on the form without exits (exits.c). A block gives
 *
 *     replay     the values that the way back needs, computed again (never what writes memory)
 *     slots      a variable for the adjoint of each value, zero at first: adj_x
 *     reverse    the operations from last to first, each adding to its arguments' adjoints
 *
 * and inner blocks are reversed inside of `reverse`. Replay is found from the end: what the reverse
 * part asks for is marked, then what that is computed from; nothing else is computed.
 *
 * Loops run backwards. When the way back through one round needs no carried value (sums, for
 * instance), that is a plain loop from last to first. Else the rounds are done in segments of at
 * most K, the last first: the loop is replayed up to the segment's start, then through it with the
 * carried values put on a tape of K, then back from the tape. The memory is bounded and known,
 * whatever the number of rounds n; the time is n + n * n / (2 K) rounds of replay. K is chosen so
 * that the tape has at most TAPE_BYTES.
 *
 * What cannot be computed again leaves the kernel without a backward pass, and `no_backward` says
 * why: the old value that an atomic returned, and what was read from an array where the kernel has
 * written since (hazard.c); with the option from_inputs, what it had written before. */
#include "lang/builtins.h"
#include "lang/lower.h"

#include <assert.h>
#include <string.h>

#define TAPE_BYTES 1024
#define TAPE_LENGTH_MIN 4
#define TAPE_LENGTH_MAX 32

typedef struct scope {
    const dm_ir_block *source;
    dm_ir_block *slots, *reverse;
    struct scope *outer;
} scope;

/* A value that was handed out, and the one that turned out to define it. */
typedef struct alias {
    dm_val from, to;
} alias;

typedef struct adjoint {
    dm_module_unit *module;
    dm_lang *lang;
    const dm_ir_function *f; /* without exits */
    dm_ir_builder b;
    dm_val *map;    /* value of f -> its replayed value */
    dm_val *slot;   /* value of f -> its adjoint's variable */
    bool *touched;  /* value of f: something was added to its adjoint */
    scope **home;   /* value of f -> the scope of its block */
    dm_val *inside; /* value of f -> its copy, while blocks are copied; NONE otherwise */
    dm_val *copied; /* which of them are set */
    int copied_count, copied_capacity;
    int *seen; /* value of f: the last search that met it */
    int searches;
    const char *failure;
    dm_pos failure_pos;
    alias *alias;
    int alias_count, alias_capacity;
    const char *failure_hint;
    const bool *active;                        /* value of f: see activity.c */
    const dm_val *known;                       /* value of f: see hazard.c; NULL: none */
    const char *ret_name, *g_name, *temporary; /* "ret", "g" and "t", interned */
} adjoint;

static void reverse_block(adjoint *a, scope *s);
static dm_val use(adjoint *a, dm_val v);
static void check_replayed(adjoint *a, const dm_ir_op *op);

/* ---- Values and adjoints ---- */

static const dm_type *type_of(const adjoint *a, dm_val v)
{
    return a->f->values[v].type;
}

static bool holds_floats(const adjoint *a, dm_val v)
{
    const dm_type *type = type_of(a, v);
    return type->floats && (type->kind != DM_TYPE_ARRAY || type->fixed);
}

/* Does the value have an adjoint that matters? */
static bool carries(const adjoint *a, dm_val v)
{
    return a->active[v] && holds_floats(a, v);
}

/* Would the operation read something else when it is done again? */
static bool is_stale(const adjoint *a, const dm_ir_op *op)
{
    dm_hazard wrong = a->module->options.from_inputs ? DM_HAZARD_EARLIER : DM_HAZARD_LATER;
    return a->known != NULL && (op->hazard & wrong) != 0;
}

/* The value that stands for a load which cannot be done again; NONE: it can, or none is known. */
static dm_val known_value(const adjoint *a, dm_val v)
{
    const dm_ir_op *def = a->f->values[v].def;
    bool load = def != NULL && def->kind == DM_IR_LOAD && is_stale(a, def);
    return load && !a->module->options.warp_compat ? a->known[v] : DM_VAL_NONE;
}

/* The replayed value; its operation is placed later, by replay_block. */
static dm_val use(adjoint *a, dm_val v)
{
    for (dm_val known = v; known != DM_VAL_NONE; known = known_value(a, v))
        v = known;
    const dm_ir_op *c = dm_ir_const(a->f, v);
    if (c != NULL) { /* has no place: it is printed where it is used */
        const dm_type *type = type_of(a, v);
        return dm_type_is_float(type) ? dm_ir_real(&a->b, type, c->real)
                                      : dm_ir_int(&a->b, type, c->integer);
    }
    if (a->map[v] == DM_VAL_NONE)
        a->map[v] = dm_ir_value_new(a->b.function, type_of(a, v), a->f->values[v].name);
    return a->map[v];
}

static dm_val slot_of(adjoint *a, dm_val v)
{
    if (a->slot[v] != DM_VAL_NONE)
        return a->slot[v];
    dm_ir_block *before = a->b.block;
    a->b.block = a->home[v]->slots;
    dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_SLOT, NULL, 0, type_of(a, v));
    const char *name = a->f->values[v].name;
    a->b.function->values[op->result].name =
        dm_lang_adjoint_name(a->lang, name == NULL ? a->temporary : name);
    a->b.block = before;
    a->slot[v] = op->result;
    return op->result;
}

static void add(adjoint *a, dm_val to, dm_val value)
{
    if (!carries(a, to))
        return;
    dm_val args[] = {slot_of(a, to), value};
    dm_ir_op_new(&a->b, DM_IR_ADD, args, 2, NULL);
    a->touched[to] = true;
}

/* To a field (index < 0: none) or component of an adjoint. */
static void add_part(adjoint *a, dm_val to, int field, dm_val index, dm_val value)
{
    if (!carries(a, to))
        return;
    dm_val args[3] = {slot_of(a, to), index, value};
    if (field >= 0)
        args[1] = value;
    dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_ADD, args, field >= 0 ? 2 : 3, NULL);
    dm_ir_path *path = dm_lang_alloc(a->lang, sizeof *path);
    path->count = 1;
    path->field[0] = field;
    path->type = a->b.function->values[value].type;
    op->path = path;
    a->touched[to] = true;
}

static dm_val get(adjoint *a, dm_val v)
{
    dm_val slot = slot_of(a, v);
    return dm_ir_simple(&a->b, DM_IR_GET, &slot, 1, type_of(a, v));
}

static dm_val call_row(adjoint *a, const char *name, const dm_val *args, int count)
{
    const dm_type *types[DM_BUILTIN_PARAMS_MAX];
    for (int i = 0; i < count; i++)
        types[i] = a->b.function->values[args[i]].type;
    const dm_bind *bind = dm_builtin_bind(a->lang, dm_builtin_find(name), types, count);
    assert(bind != NULL);
    dm_val folded;
    if (dm_fold(&a->b, bind, args, count, &folded))
        return folded;
    dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_CALL, args, count, bind->result);
    op->row = bind->row;
    op->bind = bind;
    return op->result;
}

static dm_val call2(adjoint *a, const char *name, dm_val x, dm_val y)
{
    dm_val args[] = {x, y};
    return call_row(a, name, args, 2);
}

static void fail(adjoint *a, const dm_ir_op *op, const char *reason)
{
    if (a->failure == NULL) {
        a->failure = reason;
        a->failure_pos = op->pos;
    }
}

/* ---- Simple operations ---- */

static void reverse_call(adjoint *a, const dm_ir_op *op)
{
    const dm_builtin *row = op->row;
    const char *names[DM_BUILTIN_PARAMS_MAX + 2];
    dm_val values[DM_BUILTIN_PARAMS_MAX + 2];
    for (int i = 0; i < row->param_count; i++) {
        const dm_builtin_param *param = &row->params[i];
        if (param->adjoint == NULL || !carries(a, op->args[i]))
            continue;
        int count = 0;
        for (int k = 0; k < row->param_count; k++)
            if ((param->mentions >> k & 1) != 0) {
                names[count] = row->params[k].name;
                values[count++] = use(a, op->args[k]);
            }
        if ((param->mentions & DM_MENTIONS_RET) != 0) {
            names[count] = a->ret_name;
            values[count++] = use(a, op->result);
        }
        names[count] = a->g_name;
        values[count++] = get(a, op->result);
        dm_val value;
        dm_pos outer = a->lang->library_call;
        a->lang->library_call = op->pos;
        if (dm_lower_adjoint_text(a->module, &a->b, param->adjoint_tree, names, values, count,
                                  type_of(a, op->args[i]), &value))
            add(a, op->args[i], value);
        a->lang->library_call = outer;
    }
}

static void reverse_make(adjoint *a, const dm_ir_op *op)
{
    const dm_type *type = type_of(a, op->result);
    bool fields = type->kind == DM_TYPE_STRUCT || type->kind == DM_TYPE_TUPLE;
    for (int i = 0; i < op->arg_count; i++) {
        if (!carries(a, op->args[i]))
            continue;
        dm_val g = get(a, op->result);
        add(a, op->args[i], fields ? dm_ir_field(&a->b, g, i) : dm_ir_extract_at(&a->b, g, i));
    }
}

/* A component's number without negative ones, for an address. */
static dm_val plain_index(adjoint *a, dm_val index, const dm_type *type)
{
    int64_t number;
    dm_val replayed = use(a, index);
    if (dm_ir_const_int(a->f, index, &number)) {
        const dm_type *i32 = dm_type_scalar(a->lang, DM_I32);
        return dm_ir_int(&a->b, i32, number < 0 ? number + dm_type_components(type) : number);
    }
    return replayed;
}

static void reverse_insert(adjoint *a, const dm_ir_op *op)
{
    const dm_type *type = type_of(a, op->result);
    dm_val index = plain_index(a, op->args[1], type), g = get(a, op->result);
    add(a, op->args[2], dm_ir_extract(&a->b, g, index));
    dm_val zero = dm_ir_zero(&a->b, dm_type_scalar(a->lang, (dm_scalar)type->scalar));
    add(a, op->args[0], dm_ir_insert(&a->b, g, index, zero));
}

static void reverse_setfield(adjoint *a, const dm_ir_op *op)
{
    dm_val g = get(a, op->result);
    if (!holds_floats(a, op->args[1])) {
        add(a, op->args[0], g);
        return;
    }
    add(a, op->args[1], dm_ir_field(&a->b, g, op->index));
    dm_val zero = dm_ir_zero(&a->b, type_of(a, op->args[1]));
    add(a, op->args[0], dm_ir_setfield(&a->b, g, op->index, zero));
}

/* ---- Memory ---- */

/* The operation's array and indices, replayed; `count` of its arguments. */
static dm_ir_op *memory_op(adjoint *a, dm_ir_kind kind, const dm_ir_op *op, int count, dm_val value,
                           const dm_type *result)
{
    dm_val args[16];
    assert(count < 15);
    for (int i = 0; i < count; i++)
        args[i] = use(a, op->args[i]);
    if (value != DM_VAL_NONE)
        args[count++] = value;
    dm_ir_op *made = dm_ir_op_new(&a->b, kind, args, count, result);
    made->path = op->kind == DM_IR_LOAD ? NULL : op->path;
    return made;
}

static const dm_type *stored_type(const adjoint *a, const dm_ir_op *op)
{
    return op->path != NULL && op->path->count > 0 ? op->path->type
                                                   : type_of(a, op->args[0])->element;
}

static void reverse_store(adjoint *a, const dm_ir_op *op)
{
    const dm_type *type = stored_type(a, op);
    if (!type->floats)
        return;
    int count = op->arg_count - 1;
    dm_val g = memory_op(a, DM_IR_GRAD, op, count, DM_VAL_NONE, type)->result;
    add(a, op->args[count], g);
    memory_op(a, DM_IR_ZERO_GRAD, op, count, DM_VAL_NONE, NULL);
}

/* The gradient of a component of an element (index < 0: of all of it): taken, or set to zero. */
static dm_val component_grad(adjoint *a, dm_ir_kind kind, const dm_ir_op *op, int count, int index,
                             const dm_type *part)
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
static void reverse_extreme(adjoint *a, const dm_ir_op *op, const dm_type *type, int count)
{
    dm_val source = op->args[op->arg_count - 1];
    if (a->module->options.from_inputs)
        fail(a, op, "it needs the minimum or maximum that the kernel left");
    dm_val now = memory_op(a, DM_IR_LOAD, op, count, DM_VAL_NONE, type)->result;
    const dm_type *part = dm_type_scalar(a->lang, (dm_scalar)type->scalar);
    bool whole = dm_type_is_scalar(type);
    for (int i = 0; i < dm_type_components(type); i++) {
        dm_val value = use(a, source);
        dm_val condition = call2(a, "_eq", whole ? value : dm_ir_extract_at(&a->b, value, i),
                                 whole ? now : dm_ir_extract_at(&a->b, now, i));
        dm_ir_block *before = a->b.block, *then = dm_ir_block_new(a->lang),
                    *other = dm_ir_block_new(a->lang);
        a->b.block = then;
        dm_val g = component_grad(a, DM_IR_GRAD, op, count, whole ? -1 : i, part);
        if (whole)
            add(a, source, g);
        else
            add_part(a, source, -1, dm_ir_int(&a->b, dm_type_scalar(a->lang, DM_I32), i), g);
        component_grad(a, DM_IR_ZERO_GRAD, op, count, whole ? -1 : i, part);
        dm_ir_op_new(&a->b, DM_IR_YIELD, NULL, 0, NULL);
        a->b.block = other;
        dm_ir_op_new(&a->b, DM_IR_YIELD, NULL, 0, NULL);
        a->b.block = before;
        dm_ir_op *choice = dm_ir_op_new(&a->b, DM_IR_IF, &condition, 1, NULL);
        choice->blocks[0] = then;
        choice->blocks[1] = other;
    }
}

static void reverse_atomic(adjoint *a, const dm_ir_op *op)
{
    const dm_type *type = stored_type(a, op);
    int count = op->arg_count - (strcmp(op->text, "cas") == 0 ? 2 : 1);
    if (!type->floats)
        return;
    if (op->result_count > 0 && a->touched[op->result])
        fail(a, op, "the value that an atomic returns has no gradient");
    dm_val value = op->args[op->arg_count - 1];
    if (type->scalar == DM_F16 && strcmp(op->text, "add") != 0)
        return;
    dm_val g = memory_op(a, DM_IR_GRAD, op, count, DM_VAL_NONE, type)->result;
    if (strcmp(op->text, "add") == 0) {
        add(a, value, g);
    } else if (strcmp(op->text, "sub") == 0) {
        if (type->kind == DM_TYPE_QUAT || type->kind == DM_TYPE_TRANSFORM)
            fail(a, op, "subtracting quaternions atomically has no gradient");
        else
            add(a, value, call_row(a, "neg", &g, 1));
    } else if (strcmp(op->text, "min") == 0 || strcmp(op->text, "max") == 0) {
        if (op->path != NULL && op->path->count > 0)
            return;
        reverse_extreme(a, op, type, count);
    } else {
        fail(a, op, "this atomic has no gradient");
    }
}

/* ---- Functions of the program ---- */

static bool has_floats(const dm_ir_function *f)
{
    for (int i = 0; i < f->value_count; i++) {
        const dm_type *type = f->values[i].type;
        if (type->floats || (type->kind == DM_TYPE_ARRAY && type->element->floats))
            return true;
    }
    return false;
}

static void reverse_invoke(adjoint *a, const dm_ir_op *op)
{
    dm_val args[300];
    int count = 0;
    bool wanted = op->result_count > 0 && a->touched[op->result];
    if ((!wanted && !op->callee->has_effects) || !has_floats(op->callee))
        return;
    dm_ir_function *backward = dm_adjoint(a->module, op->callee);
    if (backward == NULL) {
        if (op->callee->no_backward != NULL)
            fail(a, op, op->callee->no_backward);
        return;
    }
    check_replayed(a, op);
    for (int i = 0; i < op->arg_count; i++)
        args[count++] = use(a, op->args[i]);
    for (int i = 0; i < op->arg_count; i++)
        if (holds_floats(a, op->args[i])) { /* all that the function asks for */
            args[count++] = slot_of(a, op->args[i]);
            a->touched[op->args[i]] |= carries(a, op->args[i]);
        }
    if (op->result_count > 0 && holds_floats(a, op->result))
        args[count++] = wanted ? get(a, op->result) : dm_ir_zero(&a->b, type_of(a, op->result));
    dm_ir_op *made = dm_ir_op_new(&a->b, DM_IR_REVERSE, args, count, NULL);
    made->callee = backward;
}

/* ---- Replay ---- */

/* The name of the array that an operation reads. */
static const char *array_name(const adjoint *a, const dm_ir_op *op)
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

/* What must not be computed again: the value that an atomic returned, and what is read from memory
 * that holds something else by then. */
static void check_replayed(adjoint *a, const dm_ir_op *op)
{
    if (a->module->options.warp_compat)
        return;
    if (op->kind == DM_IR_ATOMIC)
        fail(a, op,
             "the backward pass needs the value that an atomic returned, which cannot be "
             "computed again");
    if (!is_stale(a, op) || a->failure != NULL)
        return;
    fail(a, op,
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

static bool needs_replay(const adjoint *a, const dm_ir_op *op)
{
    return op->callee->has_effects || dm_lower_find_custom(a->module, op->callee, true) != NULL;
}

static dm_ir_function *replayed(adjoint *a, const dm_ir_op *op)
{
    dm_ir_function *made = dm_adjoint_replay(a->module, op->callee);
    if (made->no_replay != NULL)
        fail(a, op, made->no_replay);
    return made;
}

static void set_inside(adjoint *a, dm_val v, dm_val copy)
{
    a->inside[v] = copy;
    DM_LANG_PUSH(a->lang, a->copied, a->copied_count, a->copied_capacity, v);
}

/* Before a new copy: what the last one set is forgotten. */
static void clear_inside(adjoint *a)
{
    for (int i = 0; i < a->copied_count; i++)
        a->inside[a->copied[i]] = DM_VAL_NONE;
    a->copied_count = 0;
}

/* A copy of blocks inside an operation: values inside get new copies, outer ones are used. */
static dm_ir_block *copy_block(adjoint *a, const dm_ir_block *block)
{
    const dm_val *inside = a->inside;
    dm_ir_block *made = dm_ir_block_new(a->lang);
    dm_ir_function *to = a->b.function;
    for (int i = 0; i < block->param_count; i++) {
        dm_val v = block->params[i];
        set_inside(a, v, dm_ir_param(to, made, type_of(a, v), a->f->values[v].name));
    }
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        bool writes = dm_ir_infos[op->kind].effect == DM_IR_WRITES;
        if (writes && op->kind != DM_IR_INVOKE && op->result_count == 0)
            continue;
        if (op->kind == DM_IR_INVOKE && op->result_count == 0)
            continue;
        dm_val known = op->result_count == 1 ? known_value(a, op->result) : DM_VAL_NONE;
        if (known != DM_VAL_NONE) {
            set_inside(a, op->result, inside[known] != DM_VAL_NONE ? inside[known] : use(a, known));
            continue;
        }
        check_replayed(a, op);
        dm_ir_op *copy = dm_lang_alloc(a->lang, sizeof *copy);
        *copy = *op;
        copy->args = dm_lang_alloc_array(a->lang, (size_t)op->arg_count + 1, sizeof *copy->args);
        for (int k = 0; k < op->arg_count; k++)
            copy->args[k] =
                inside[op->args[k]] != DM_VAL_NONE ? inside[op->args[k]] : use(a, op->args[k]);
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                copy->blocks[k] = copy_block(a, op->blocks[k]);
        for (int r = 0; r < op->result_count; r++) {
            dm_val v =
                dm_ir_value_new(to, type_of(a, op->result + r), a->f->values[op->result + r].name);
            to->values[v].def = copy;
            set_inside(a, op->result + r, v);
            if (r == 0)
                copy->result = v;
        }
        if (op->kind == DM_IR_INVOKE && needs_replay(a, op))
            copy->callee = replayed(a, op);
        if (op->kind == DM_IR_ATOMIC) { /* its value is not to be had: zero */
            copy->kind = DM_IR_ZERO;
            copy->arg_count = 0;
        }
        dm_ir_append(a->lang, made, copy);
    }
    return made;
}

/* Place one operation whose results were asked for. */
static void replay_op(adjoint *a, dm_ir_block *out, const dm_ir_op *op)
{
    dm_ir_function *to = a->b.function;
    dm_ir_op *copy = dm_lang_alloc(a->lang, sizeof *copy);
    check_replayed(a, op);
    *copy = *op;
    copy->args = dm_lang_alloc_array(a->lang, (size_t)op->arg_count + 1, sizeof *copy->args);
    for (int i = 0; i < op->arg_count; i++)
        copy->args[i] = use(a, op->args[i]);
    if (op->blocks[0] != NULL) {
        clear_inside(a);
        for (int k = 0; k < 2; k++)
            if (op->blocks[k] != NULL)
                copy->blocks[k] = copy_block(a, op->blocks[k]);
    }
    if (op->kind == DM_IR_INVOKE && needs_replay(a, op))
        copy->callee = replayed(a, op);
    if (op->kind == DM_IR_ATOMIC) {
        copy->kind = DM_IR_ZERO;
        copy->arg_count = 0;
    }
    if (op->result_count == 1) {
        copy->result = use(a, op->result);
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
                a->alias[a->alias_count++] = (alias){given, copy->result + r};
        }
    }
    dm_ir_append(a->lang, out, copy);
}

static bool is_needed(const adjoint *a, const dm_ir_op *op)
{
    for (int r = 0; r < op->result_count; r++)
        if (a->map[op->result + r] != DM_VAL_NONE)
            return true;
    return false;
}

static void reserve_aliases(adjoint *a, int count)
{
    if (a->alias_count + count <= a->alias_capacity)
        return;
    int capacity = (a->alias_capacity + count) * 2;
    alias *larger = dm_lang_alloc_array(a->lang, (size_t)capacity, sizeof *larger);
    if (a->alias_count > 0)
        memcpy(larger, a->alias, (size_t)a->alias_count * sizeof *larger);
    a->alias = larger;
    a->alias_capacity = capacity;
}

/* From the end: what is asked for, then what that asks for. The operations come out in order. */
static dm_ir_block *replay_block(adjoint *a, const dm_ir_block *source)
{
    dm_ir_block *backwards = dm_ir_block_new(a->lang), *out = dm_ir_block_new(a->lang);
    for (int i = source->count - 1; i >= 0; i--) {
        const dm_ir_op *op = source->ops[i];
        if (dm_ir_is_terminator(op->kind) || !is_needed(a, op))
            continue;
        reserve_aliases(a, op->result_count);
        replay_op(a, backwards, op);
    }
    for (int i = backwards->count - 1; i >= 0; i--)
        dm_ir_append(a->lang, out, backwards->ops[i]);
    return out;
}

/* ---- Scopes ---- */

static scope *open_scope(adjoint *a, const dm_ir_block *source, scope *outer)
{
    scope *s = dm_lang_alloc(a->lang, sizeof *s);
    *s = (scope){.source = source,
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

static void append_all(adjoint *a, dm_ir_block *to, const dm_ir_block *from)
{
    for (int i = 0; i < from->count; i++)
        dm_ir_append(a->lang, to, from->ops[i]);
}

/* Replay, slots and reverse one after the other in `to`. Replayed values of this block are
 * forgotten: another copy of it has its own. */
static void close_scope(adjoint *a, const scope *s, dm_ir_block *to)
{
    dm_ir_block *replay = replay_block(a, s->source);
    append_all(a, to, replay);
    append_all(a, to, s->slots);
    append_all(a, to, s->reverse);
}

static void forget(adjoint *a, const dm_ir_block *source)
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

static bool block_matters(const adjoint *a, const dm_ir_block *block);

/* Does the operation write floats, so that its reverse does something without any result? */
static bool op_matters(const adjoint *a, const dm_ir_op *op)
{
    if (op->kind == DM_IR_STORE || op->kind == DM_IR_ATOMIC)
        return stored_type(a, op)->floats;
    if (op->kind == DM_IR_INVOKE)
        return op->callee->has_effects;
    for (int k = 0; k < 2; k++)
        if (op->blocks[k] != NULL && block_matters(a, op->blocks[k]))
            return true;
    return false;
}

static bool block_matters(const adjoint *a, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++)
        if (op_matters(a, block->ops[i]))
            return true;
    return false;
}

static bool results_touched(const adjoint *a, const dm_ir_op *op)
{
    for (int r = 0; r < op->result_count; r++)
        if (a->touched[op->result + r])
            return true;
    return false;
}

static void reverse_if(adjoint *a, scope *outer, const dm_ir_op *op)
{
    if (!results_touched(a, op) && !op_matters(a, op))
        return;
    dm_ir_block *before = a->b.block, *made[2];
    for (int k = 0; k < 2; k++) {
        const dm_ir_block *source = op->blocks[k];
        scope *s = open_scope(a, source, outer);
        const dm_ir_op *end = dm_ir_terminator(source);
        for (int r = 0; r < op->result_count; r++)
            if (a->touched[op->result + r])
                add(a, end->args[r], get(a, op->result + r));
        reverse_block(a, s);
        made[k] = dm_ir_block_new(a->lang);
        close_scope(a, s, made[k]);
        forget(a, source);
        a->b.block = made[k];
        dm_ir_op_new(&a->b, DM_IR_YIELD, NULL, 0, NULL);
    }
    a->b.block = before;
    if (made[0]->count == 1 && made[1]->count == 1)
        return;
    dm_val condition = use(a, op->args[0]);
    dm_ir_op *copy = dm_ir_op_new(&a->b, DM_IR_IF, &condition, 1, NULL);
    copy->blocks[0] = made[0];
    copy->blocks[1] = made[1];
}

/* ---- Loops ---- */

typedef struct loop {
    const dm_ir_op *op;
    const dm_ir_block *head; /* its params are the counter (FOR) and the carried values */
    const dm_ir_block *body;
    const dm_ir_op *end; /* the body's YIELD */
    int fixed, skip;
    dm_val *adjoints; /* per carried value: the variable of its adjoint, NONE: carries none */
    bool *needed;     /* per carried value: the way back needs it */
    int needed_count;
} loop;

static void mark_inner(adjoint *a, loop *l, const dm_ir_block *block);

/* Mark the carried values that `v` is computed from. */
static void mark_origin(adjoint *a, loop *l, dm_val v)
{
    if (a->seen[v] == a->searches)
        return;
    a->seen[v] = a->searches;
    for (int i = 0; i < l->op->result_count; i++)
        if (l->head->params[l->skip + i] == v && !l->needed[i]) {
            l->needed[i] = true;
            l->needed_count++;
        }
    const dm_ir_op *def = a->f->values[v].def;
    if (def == NULL || a->home[v] == NULL || a->home[v]->source != l->body)
        return; /* from outside */
    if (known_value(a, v) != DM_VAL_NONE) {
        mark_origin(a, l, known_value(a, v));
        return;
    }
    for (int i = 0; i < def->arg_count; i++)
        mark_origin(a, l, def->args[i]);
    for (int k = 0; k < 2; k++)
        if (def->blocks[k] != NULL)
            mark_inner(a, l, def->blocks[k]);
}

static void mark_inner(adjoint *a, loop *l, const dm_ir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        const dm_ir_op *op = block->ops[i];
        for (int n = 0; n < op->arg_count; n++)
            mark_origin(a, l, op->args[n]);
        if (op->result_count == 1 && known_value(a, op->result) != DM_VAL_NONE)
            mark_origin(a, l, known_value(a, op->result));
        for (int b = 0; b < 2; b++)
            if (op->blocks[b] != NULL)
                mark_inner(a, l, op->blocks[b]);
    }
}

/* Carried values that the reverse part asked for, and those that they are computed from. */
static void find_needed(adjoint *a, loop *l)
{
    int count = l->op->result_count, before;
    l->needed = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *l->needed);
    l->needed_count = 0;
    for (int i = 0; i < count; i++) {
        l->needed[i] = a->map[l->head->params[l->skip + i]] != DM_VAL_NONE;
        l->needed_count += l->needed[i];
    }
    a->searches++;
    do {
        before = l->needed_count;
        for (int i = 0; i < count; i++)
            if (l->needed[i])
                mark_origin(a, l, l->end->args[i]);
    } while (l->needed_count != before);
}

/* One round of replay: the body's operations, then the needed carried values for the next. `from`
 * are the values of the needed ones at its start, `counter` the FOR's (or NONE). */
static void replay_round(adjoint *a, const loop *l, const dm_val *from, dm_val counter,
                         dm_val *next)
{
    clear_inside(a);
    int n = 0;
    for (int i = 0; i < l->op->result_count; i++)
        if (l->needed[i])
            set_inside(a, l->head->params[l->skip + i], from[n++]);
    if (l->skip > 0)
        set_inside(a, l->head->params[0], counter);
    /* Carried values that are not needed feed only what will be dropped. */
    for (int i = 0; i < l->op->result_count; i++) {
        dm_val v = l->head->params[l->skip + i];
        if (a->inside[v] == DM_VAL_NONE)
            set_inside(a, v, dm_ir_zero(&a->b, type_of(a, v)));
    }
    dm_ir_block *copy = copy_block(a, &(dm_ir_block){.ops = l->body->ops, .count = l->body->count});
    for (int i = 0; i < copy->count; i++)
        if (!dm_ir_is_terminator(copy->ops[i]->kind))
            dm_ir_append(a->lang, a->b.block, copy->ops[i]);
    n = 0;
    for (int i = 0; i < l->op->result_count; i++)
        if (l->needed[i]) {
            dm_val v = l->end->args[i];
            next[n++] = a->inside[v] != DM_VAL_NONE ? a->inside[v] : use(a, v);
        }
}

/* for it in range(first, last, step) carrying the needed values; the body is filled by the caller,
 * from `begin_for` to `end_for`. */
typedef struct building {
    dm_ir_block *before, *body;
    dm_val counter, bounds[3];
    dm_val *initial, *params;
    int count;
} building;

static building begin_for(adjoint *a, const char *name, dm_val first, dm_val last, dm_val step,
                          dm_val *initial, const char *const *names, int count)
{
    building made = {.before = a->b.block,
                     .body = dm_ir_block_new(a->lang),
                     .bounds = {first, last, step},
                     .initial = initial,
                     .count = count};
    made.counter = dm_ir_param(a->b.function, made.body, dm_type_scalar(a->lang, DM_I32),
                               dm_lang_intern_text(a->lang, name));
    made.params = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *made.params);
    for (int i = 0; i < count; i++)
        made.params[i] =
            dm_ir_param(a->b.function, made.body, a->b.function->values[initial[i]].type, names[i]);
    a->b.block = made.body;
    return made;
}

static dm_ir_op *end_for(adjoint *a, const building *made, const dm_val *next)
{
    dm_ir_op_new(&a->b, DM_IR_YIELD, next, made->count, NULL);
    a->b.block = made->before;
    dm_val *args = dm_lang_alloc_array(a->lang, (size_t)made->count + 3, sizeof *args);
    memcpy(args, made->bounds, sizeof made->bounds);
    if (made->count > 0)
        memcpy(args + 3, made->initial, (size_t)made->count * sizeof *args);
    dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_FOR, args, made->count + 3, NULL);
    op->blocks[0] = made->body;
    op->no_break = true;
    op->result_count = made->count;
    for (int i = 0; i < made->count; i++) {
        dm_val v = dm_ir_value_new(a->b.function, a->b.function->values[made->params[i]].type,
                                   a->b.function->values[made->params[i]].name);
        a->b.function->values[v].def = op;
        if (i == 0)
            op->result = v;
    }
    return op;
}

static dm_val constant(adjoint *a, int value)
{
    return dm_ir_int(&a->b, dm_type_scalar(a->lang, DM_I32), value);
}

/* How many rounds a WHILE makes: it is replayed with a counter. */
static dm_val count_rounds(adjoint *a, const loop *l)
{
    dm_ir_function *to = a->b.function;
    const dm_type *i32 = dm_type_scalar(a->lang, DM_I32);
    int count = l->op->result_count;
    clear_inside(a);
    dm_val *args = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *args);
    for (int i = 0; i < count; i++)
        args[i] = use(a, l->op->args[i]);
    args[count] = constant(a, 0);
    dm_ir_block *head = copy_block(a, l->head), *body;
    dm_val counter = dm_ir_param(to, head, i32, dm_lang_intern_text(a->lang, "n"));
    body = copy_block(a, l->body);
    dm_ir_op *end = body->ops[body->count - 1];
    dm_ir_block *before = a->b.block;
    body->count--;
    a->b.block = body;
    dm_val *next = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *next);
    memcpy(next, end->args, (size_t)count * sizeof *next);
    next[count] = call2(a, "add", counter, constant(a, 1));
    dm_ir_op_new(&a->b, DM_IR_YIELD, next, count + 1, NULL);
    a->b.block = before;
    dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_WHILE, args, count + 1, NULL);
    op->blocks[0] = head;
    op->blocks[1] = body;
    op->no_break = true;
    op->result_count = count + 1;
    for (int i = 0; i <= count; i++) {
        dm_val v = dm_ir_value_new(to, to->values[args[i]].type, to->values[head->params[i]].name);
        to->values[v].def = op;
        if (i == 0)
            op->result = v;
    }
    return op->result + count;
}

static dm_val trip_count(adjoint *a, const loop *l)
{
    if (l->op->kind == DM_IR_WHILE)
        return count_rounds(a, l);
    dm_val args[] = {use(a, l->op->args[0]), use(a, l->op->args[1]), use(a, l->op->args[2])};
    return call_row(a, "_range_length", args, 3);
}

/* The FOR's counter in round `round`. */
static dm_val counter_at(adjoint *a, const loop *l, dm_val round)
{
    if (l->op->kind == DM_IR_WHILE)
        return DM_VAL_NONE;
    dm_val offset = call2(a, "mul", round, use(a, l->op->args[2]));
    return call2(a, "add", use(a, l->op->args[0]), offset);
}

/* The carried adjoints become those of the values that the round yielded; then the round goes back.
 */
static void reverse_round(adjoint *a, const loop *l)
{
    int count = l->op->result_count;
    dm_val *given = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *given);
    for (int i = 0; i < count; i++)
        if (l->adjoints[i] != DM_VAL_NONE)
            given[i] =
                dm_ir_simple(&a->b, DM_IR_GET, &l->adjoints[i], 1, type_of(a, l->op->result + i));
    for (int i = 0; i < count; i++)
        if (l->adjoints[i] != DM_VAL_NONE && l->end->args[i] != l->head->params[l->skip + i]) {
            dm_val args[] = {l->adjoints[i], dm_ir_zero(&a->b, type_of(a, l->op->result + i))};
            dm_ir_op_new(&a->b, DM_IR_SET, args, 2, NULL);
        }
    for (int i = 0; i < count; i++)
        if (l->adjoints[i] != DM_VAL_NONE && l->end->args[i] != l->head->params[l->skip + i])
            add(a, l->end->args[i], given[i]);
}

/* Make the reversed round once, to see which carried values it needs; it is used once, too. */
static scope *make_round(adjoint *a, loop *l, scope *outer)
{
    scope *s = open_scope(a, l->body, outer);
    for (int i = 0; i < l->head->param_count; i++)
        a->home[l->head->params[i]] = s;
    for (int i = 0; i < l->op->result_count; i++) {
        dm_val param = l->head->params[l->skip + i];
        a->slot[param] = l->adjoints[i];
        a->touched[param] = l->adjoints[i] != DM_VAL_NONE;
    }
    reverse_round(a, l);
    reverse_block(a, s);
    return s;
}

static void start_adjoints(adjoint *a, loop *l)
{
    int count = l->op->result_count;
    l->adjoints = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *l->adjoints);
    for (int i = 0; i < count; i++) {
        dm_val r = l->op->result + i;
        l->adjoints[i] = DM_VAL_NONE;
        if (!carries(a, r))
            continue;
        dm_val initial = a->touched[r] ? get(a, r) : dm_ir_zero(&a->b, type_of(a, r));
        dm_ir_op *op = dm_ir_op_new(&a->b, DM_IR_SLOT, &initial, 1, type_of(a, r));
        const char *name = a->f->values[r].name;
        a->b.function->values[op->result].name =
            dm_lang_adjoint_name(a->lang, name == NULL ? a->temporary : name);
        l->adjoints[i] = op->result;
    }
}

/* Give a replayed value that was asked for a definition: a copy of another. */
static void define(adjoint *a, dm_val source, dm_val value)
{
    reserve_aliases(a, 1);
    if (a->map[source] != DM_VAL_NONE)
        a->alias[a->alias_count++] = (alias){a->map[source], value};
    else
        a->map[source] = value;
}

static void plain_loop(adjoint *a, loop *l, const scope *s)
{
    int64_t step;
    dm_val first = use(a, l->op->args[0]), last = use(a, l->op->args[1]), down, start, end;
    if (dm_ir_const_int(a->f, l->op->args[2], &step) && (step == 1 || step == -1)) {
        start = call2(a, "sub", last, constant(a, (int)step));
        end = call2(a, "sub", first, constant(a, (int)step));
        down = constant(a, (int)-step);
    } else {
        dm_val by = use(a, l->op->args[2]);
        dm_val rounds = call2(a, "sub", trip_count(a, l), constant(a, 1));
        start = call2(a, "add", first, call2(a, "mul", rounds, by));
        end = call2(a, "sub", first, by);
        down = dm_ir_const_int(a->f, l->op->args[2], &step) ? constant(a, (int)-step)
                                                            : call_row(a, "neg", &by, 1);
    }
    building made =
        begin_for(a, a->f->values[l->head->params[0]].name, start, end, down, NULL, NULL, 0);
    define(a, l->head->params[0], made.counter);
    close_scope(a, s, a->b.block);
    end_for(a, &made, NULL);
}

static int tape_length(const adjoint *a, const loop *l)
{
    int bytes = 0;
    for (int i = 0; i < l->op->result_count; i++)
        if (l->needed[i])
            bytes += dm_type_bytes(type_of(a, l->op->result + i));
    int length = bytes == 0 ? TAPE_LENGTH_MAX : TAPE_BYTES / bytes;
    return length < TAPE_LENGTH_MIN   ? TAPE_LENGTH_MIN
           : length > TAPE_LENGTH_MAX ? TAPE_LENGTH_MAX
                                      : length;
}

/* A WHILE whose way back needs nothing of its rounds but their number. */
static void counted_loop(adjoint *a, loop *l, const scope *s)
{
    dm_val rounds = trip_count(a, l), one = constant(a, 1);
    building made = begin_for(a, "it", call2(a, "sub", rounds, one), constant(a, -1),
                              constant(a, -1), NULL, NULL, 0);
    close_scope(a, s, a->b.block);
    end_for(a, &made, NULL);
}

static void taped_loop(adjoint *a, loop *l, const scope *s)
{
    int count = l->needed_count, length = tape_length(a, l), n = 0;
    dm_val rounds = trip_count(a, l);
    dm_val *tapes = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *tapes);
    dm_val *initial = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *initial);
    dm_val *next = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *next);
    const char **names = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *names);
    for (int i = 0; i < l->op->result_count; i++) {
        if (!l->needed[i])
            continue;
        dm_ir_op *tape = dm_ir_op_new(&a->b, DM_IR_TAPE, NULL, 0, type_of(a, l->op->result + i));
        const char *name = a->f->values[l->op->result + i].name;
        tape->index = length;
        a->b.function->values[tape->result].name = dm_lang_intern_text(
            a->lang, dm_lang_format(a->lang, "tape_%s", name == NULL ? "t" : name));
        tapes[n] = tape->result;
        names[n] = name;
        initial[n++] = use(a, l->op->args[l->fixed + i]);
    }
    /* Segments, the last one first. */
    dm_val k = constant(a, length), one = constant(a, 1), zero = constant(a, 0);
    dm_val top = call2(a, "mul", call2(a, "div", call2(a, "sub", rounds, one), k), k);
    building segment =
        begin_for(a, "start", top, constant(a, -1), constant(a, -length), NULL, NULL, 0);
    building skipped = begin_for(a, "it", zero, segment.counter, one, initial, names, count);
    replay_round(a, l, skipped.params, counter_at(a, l, skipped.counter), next);
    dm_ir_op *to_start = end_for(a, &skipped, next);

    dm_val left = call2(a, "sub", rounds, segment.counter);
    dm_val length_here = call2(a, "min", left, k);
    a->b.function->values[length_here].name = dm_lang_intern_text(a->lang, "length");
    dm_val *from = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *from);
    for (int i = 0; i < count; i++)
        from[i] = to_start->result + i;
    building taped = begin_for(a, "it", zero, length_here, one, from, names, count);
    for (int i = 0; i < count; i++) {
        dm_val args[] = {tapes[i], taped.counter, taped.params[i]};
        dm_ir_op_new(&a->b, DM_IR_RECORD, args, 3, NULL);
    }
    dm_val here = call2(a, "add", segment.counter, taped.counter);
    replay_round(a, l, taped.params, counter_at(a, l, here), next);
    end_for(a, &taped, next);

    building back = begin_for(a, "it", call2(a, "sub", length_here, one), constant(a, -1),
                              constant(a, -1), NULL, NULL, 0);
    n = 0;
    for (int i = 0; i < l->op->result_count; i++) {
        if (!l->needed[i])
            continue;
        dm_val args[] = {tapes[n++], back.counter};
        dm_val value = dm_ir_simple(&a->b, DM_IR_RECALL, args, 2, type_of(a, l->op->result + i));
        a->b.function->values[value].name = a->f->values[l->op->result + i].name;
        define(a, l->head->params[l->skip + i], value);
    }
    if (l->skip > 0)
        define(a, l->head->params[0],
               counter_at(a, l, call2(a, "add", segment.counter, back.counter)));
    close_scope(a, s, a->b.block);
    end_for(a, &back, NULL);
    end_for(a, &segment, NULL);
}

static void reverse_loop(adjoint *a, scope *outer, const dm_ir_op *op)
{
    if (!results_touched(a, op) && !op_matters(a, op))
        return;
    bool is_for = op->kind == DM_IR_FOR;
    loop l = {.op = op,
              .head = op->blocks[0],
              .body = is_for ? op->blocks[0] : op->blocks[1],
              .fixed = is_for ? 3 : 0,
              .skip = is_for ? 1 : 0};
    l.end = dm_ir_terminator(l.body);
    dm_ir_block *before = a->b.block;
    start_adjoints(a, &l);
    scope *s = make_round(a, &l, outer);
    /* What the round's replay will ask for shows which carried values it needs. */
    int aliases = a->alias_count;
    int kept = 0, count = l.body->param_count;
    for (int i = 0; i < l.body->count; i++)
        count += l.body->ops[i]->result_count;
    dm_val *saved = dm_lang_alloc_array(a->lang, (size_t)count + 1, sizeof *saved);
    for (int i = 0; i < l.body->count; i++)
        for (int r = 0; r < l.body->ops[i]->result_count; r++)
            saved[kept++] = a->map[l.body->ops[i]->result + r];
    replay_block(a, l.body);
    find_needed(a, &l);
    a->alias_count = aliases;
    /* Values of the body that only the trial asked for are asked for again by the real one. */
    kept = 0;
    for (int i = 0; i < l.body->count; i++)
        for (int r = 0; r < l.body->ops[i]->result_count; r++)
            a->map[l.body->ops[i]->result + r] = saved[kept++];
    a->b.block = before;
    if (is_for && l.needed_count == 0)
        plain_loop(a, &l, s);
    else if (l.needed_count == 0)
        counted_loop(a, &l, s);
    else
        taped_loop(a, &l, s);
    forget(a, l.body);
    if (!is_for)
        forget(a, l.head);
    for (int i = 0; i < op->result_count; i++)
        if (l.adjoints[i] != DM_VAL_NONE)
            add(a, op->args[l.fixed + i],
                dm_ir_simple(&a->b, DM_IR_GET, &l.adjoints[i], 1, type_of(a, op->result + i)));
}

/* ---- Blocks ---- */

static void reverse_op(adjoint *a, scope *s, const dm_ir_op *op)
{
    bool touched = results_touched(a, op);
    a->b.pos = op->pos;
    switch (op->kind) {
    case DM_IR_IF:
        reverse_if(a, s, op);
        return;
    case DM_IR_FOR:
    case DM_IR_WHILE:
        reverse_loop(a, s, op);
        return;
    case DM_IR_STORE:
        reverse_store(a, op);
        return;
    case DM_IR_ATOMIC:
        reverse_atomic(a, op);
        return;
    case DM_IR_INVOKE:
        reverse_invoke(a, op);
        return;
    default:
        break;
    }
    if (!touched)
        return;
    switch (op->kind) {
    case DM_IR_CALL:
        reverse_call(a, op);
        break;
    case DM_IR_CAST:
        add(a, op->args[0], dm_ir_cast(&a->b, get(a, op->result), type_of(a, op->args[0])));
        break;
    case DM_IR_MAKE:
        reverse_make(a, op);
        break;
    case DM_IR_EXTRACT:
        add_part(a, op->args[0], -1, plain_index(a, op->args[1], type_of(a, op->args[0])),
                 get(a, op->result));
        break;
    case DM_IR_INSERT:
        reverse_insert(a, op);
        break;
    case DM_IR_FIELD:
        add_part(a, op->args[0], op->index, DM_VAL_NONE, get(a, op->result));
        break;
    case DM_IR_SETFIELD:
        reverse_setfield(a, op);
        break;
    case DM_IR_LOAD:
        memory_op(a, DM_IR_ADD_GRAD, op, op->arg_count, get(a, op->result), NULL);
        break;
    default:
        break;
    }
}

static void reverse_block(adjoint *a, scope *s)
{
    for (int i = s->source->count - 1; i >= 0; i--)
        if (!dm_ir_is_terminator(s->source->ops[i]->kind))
            reverse_op(a, s, s->source->ops[i]);
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
static void apply_aliases(adjoint *a)
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

static void *per_value(adjoint *a, size_t size)
{
    return dm_lang_alloc_array(a->lang, (size_t)a->f->value_count + 1, size);
}

static adjoint start(dm_module_unit *module, const dm_ir_function *f, dm_ir_function *made)
{
    adjoint a = {.module = module, .lang = module->lang, .f = f};
    a.ret_name = dm_lang_intern_text(a.lang, "ret");
    a.g_name = dm_lang_intern_text(a.lang, "g");
    a.temporary = dm_lang_intern_text(a.lang, "t");
    a.b =
        (dm_ir_builder){.lang = module->lang, .function = made, .block = made->body, .pos = f->pos};
    a.map = per_value(&a, sizeof *a.map);
    a.slot = per_value(&a, sizeof *a.slot);
    a.touched = per_value(&a, sizeof *a.touched);
    a.home = per_value(&a, sizeof(void *));
    a.inside = per_value(&a, sizeof *a.inside);
    a.seen = per_value(&a, sizeof *a.seen);
    for (int i = 0; i < f->value_count; i++)
        a.map[i] = a.slot[i] = a.inside[i] = DM_VAL_NONE;
    return a;
}

/* The parameters of the backward function: those of f, an adjoint for each that carries one, by
 * address, and the adjoint of the result. */
static dm_val make_params(adjoint *a, dm_ir_function *made)
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

dm_ir_function *dm_adjoint(dm_module_unit *module, dm_ir_function *f)
{
    if (f->backward != NULL || f->no_backward != NULL)
        return f->backward;
    if (!has_floats(f)) {
        f->no_backward = "it has no floats";
        return NULL;
    }
    dm_lang *lang = module->lang;
    int errors = lang->error_count;
    const dm_ir_function *plain = dm_ir_without_exits(lang, f);
    dm_ir_function *made = dm_ir_function_new(lang, f->name);
    dm_ir_reserve(made, 4 * plain->value_count + 8);
    made->role = f->role;
    made->is_backward = made->has_effects = true;
    made->tid_count = f->tid_count;
    made->pos = f->pos;
    made->forward = f;
    made->base_name = dm_lang_adjoint_name(lang, f->base_name);
    adjoint a = start(module, plain, made);
    a.known = dm_ir_find_hazards(lang, plain);
    a.active = dm_ir_find_active(lang, plain);
    dm_val given = make_params(&a, made);
    const dm_custom *custom = dm_lower_find_custom(module, f, false);
    if (custom != NULL) {
        dm_val *slots =
            dm_lang_alloc_array(lang, (size_t)plain->body->param_count + 1, sizeof *slots);
        for (int i = 0; i < plain->body->param_count; i++)
            slots[i] = a.slot[plain->body->params[i]];
        f->backward = made; /* it may call f, which is no recursion */
        dm_lower_custom_grad(module, f, custom, made, slots, given);
        dm_ir_dce(made);
        if (lang->error_count != errors)
            f->backward = NULL;
        f->no_backward = f->backward == NULL ? "its custom gradient has errors" : NULL;
        return f->backward;
    }
    scope *s = open_scope(&a, plain->body, NULL);
    const dm_ir_op *end = dm_ir_terminator(plain->body);
    if (given != DM_VAL_NONE)
        add(&a, end->args[0], given);
    reverse_block(&a, s);
    close_scope(&a, s, made->body);
    a.b.block = made->body;
    dm_ir_op_new(&a.b, DM_IR_RETURN, NULL, 0, NULL);
    apply_aliases(&a);
    dm_ir_dce(made);
    dm_ir_tidy(made);
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

dm_ir_function *dm_adjoint_replay(dm_module_unit *module, dm_ir_function *f)
{
    if (f->replay != NULL)
        return f->replay;
    dm_lang *lang = module->lang;
    dm_custom *custom = dm_lower_find_custom(module, f, true);
    if (custom != NULL) {
        if (custom->decl == NULL) {
            custom->decl = dm_lang_alloc(lang, sizeof *custom->decl);
            *custom->decl = (dm_function_decl){
                .ast = custom->ast, .scope = custom->scope, .name = custom->ast->name};
        }
        f->replay =
            dm_lower_function(module, custom->decl, f->call_args, f->call_arg_count, f->pos);
        if (f->replay != NULL)
            return f->replay;
    }
    dm_ir_function *made = dm_ir_function_new(lang, f->name);
    made->role = DM_IR_FUNCTION;
    made->pos = f->pos;
    made->result = f->result;
    made->base_name = dm_lang_intern_text(lang, dm_lang_format(lang, "%s_replay", f->base_name));
    adjoint a = start(module, f, made);
    a.known = dm_ir_find_hazards(lang, f);
    f->replay = made;
    for (int i = 0; i < f->body->param_count; i++) {
        dm_val v = f->body->params[i];
        set_inside(&a, v, dm_ir_param(made, made->body, type_of(&a, v), f->values[v].name));
    }
    dm_ir_block *copy =
        copy_block(&a, &(dm_ir_block){.ops = f->body->ops, .count = f->body->count});
    append_all(&a, made->body, copy);
    dm_ir_dce(made);
    made->no_replay = a.failure;
    return made;
}
