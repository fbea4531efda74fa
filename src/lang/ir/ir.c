/* SPDX-License-Identifier: MIT */
/* ir.c - building, querying, copying and listing the IR; see ir.h. */
#include "lang/ir/ir.h"

#include "lang/sema/builtins.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define VALUES_MAX (1 << 20)

#define PURE DM_IR_PURE
#define READS DM_IR_READS
#define WRITES DM_IR_WRITES
#define CONTROL DM_IR_CONTROL
const dm_ir_info dm_ir_infos[] = {
#define OP(name, text_, effect_) {.text = text_, .effect = effect_},
#include "lang/ir/ops.def"
#undef OP
};

/* ---- Building ---- */

dm_ir_function *dm_ir_function_new(dm_lang *lang, const char *name)
{
    dm_ir_function *f = dm_lang_alloc(lang, sizeof *f);
    f->lang = lang;
    f->name = f->c_name = f->base_name = name;
    f->result = lang->types->none;
    f->body = dm_ir_block_new(lang);
    return f;
}

void dm_ir_reserve(dm_ir_function *f, int values)
{
    f->values = dm_lang_alloc_array(f->lang, (size_t)values, sizeof *f->values);
    f->value_capacity = values;
}

dm_ir_block *dm_ir_block_new(dm_lang *lang)
{
    return dm_lang_alloc(lang, sizeof(dm_ir_block));
}

dm_val dm_ir_value_new(dm_ir_function *f, const dm_type *type, const char *name)
{
    dm_ir_value value = {.type = type, .name = name};
    DM_LANG_PUSH(f->lang, f->values, f->value_count, f->value_capacity, value);
    return f->value_count - 1;
}

dm_val dm_ir_param(dm_ir_function *f, dm_ir_block *block, const dm_type *type, const char *name)
{
    dm_val v = dm_ir_value_new(f, type, name);
    dm_val *larger = dm_lang_alloc_array(f->lang, (size_t)block->param_count + 1, sizeof *larger);
    if (block->param_count > 0)
        memcpy(larger, block->params, (size_t)block->param_count * sizeof *larger);
    larger[block->param_count++] = v;
    block->params = larger;
    return v;
}

void dm_ir_reserve_ops(dm_lang *lang, dm_ir_block *block, int count)
{
    int capacity = block->count + count;
    if (capacity <= block->capacity)
        return;
    dm_ir_op **larger = dm_lang_alloc_array(lang, (size_t)capacity, sizeof(void *));
    if (block->count > 0)
        memcpy(larger, block->ops, (size_t)block->count * sizeof(void *));
    block->ops = larger;
    block->capacity = capacity;
}

void dm_ir_append(dm_lang *lang, dm_ir_block *block, dm_ir_op *op)
{
    DM_LANG_PUSH_POINTER(lang, block->ops, block->count, block->capacity, op);
}

/* ---- What is read and written ---- */

#define MEMORY (DM_IR_BIT(LOAD) | DM_IR_BIT(STORE) | DM_IR_BIT(ATOMIC))

static void note_memory(dm_ir_function *f, const dm_ir_op *op)
{
    dm_val array = op->args[0];
    bool param = array < f->body->param_count && f->values[array].def == NULL;
    uint64_t bit = param && array < 64 ? (uint64_t)1 << array : ~(uint64_t)0;
    if (op->kind == DM_IR_LOAD)
        f->reads |= bit;
    else
        f->writes |= bit;
}

void dm_ir_note_array(dm_ir_function *f, dm_val value)
{
    dm_type_kind kind = (dm_type_kind)f->values[value].type->kind;
    if (kind == DM_TYPE_ARRAY || kind == DM_TYPE_STRUCT || kind == DM_TYPE_TUPLE)
        f->reads = f->writes = ~(uint64_t)0;
}

/* ---- Operations ---- */

dm_val *dm_ir_args(dm_lang *lang, int count)
{
    dm_val *args = dm_lang_alloc_array(lang, (size_t)(count < 2 ? 2 : count), sizeof *args);
    if (count < 2)
        args[1] = DM_VAL_NONE;
    if (count < 1)
        args[0] = DM_VAL_NONE;
    return args;
}

dm_ir_op *dm_ir_op_new(dm_ir_builder *b, dm_ir_kind kind, const dm_val *args, int arg_count,
                       const dm_type *result)
{
    size_t room = (size_t)(arg_count < 2 ? 2 : arg_count) * sizeof *args;
    dm_ir_op *op = dm_lang_alloc(b->lang, sizeof *op + room);
    if (b->function->value_count > VALUES_MAX)
        dm_lang_bail(b->lang, "a function grows too large (unrolled loops?)");
    op->kind = (uint8_t)kind;
    b->function->kinds |= (uint64_t)1 << kind;
    op->pos = b->pos;
    op->arg_count = arg_count;
    op->result = DM_VAL_NONE;
    op->args = (dm_val *)(op + 1); /* behind it */
    op->args[0] = op->args[1] = DM_VAL_NONE;
    for (int i = 0; i < arg_count; i++)
        op->args[i] = args[i];
    if (dm_ir_is_in(MEMORY, (int)kind))
        note_memory(b->function, op);
    if (result != NULL && result->kind != DM_TYPE_NONE) {
        op->result = dm_ir_value_new(b->function, result, NULL);
        op->result_count = 1;
        b->function->values[op->result].def = op;
    }
    dm_ir_append(b->lang, b->block, op);
    return op;
}

dm_ir_only dm_ir_only_if(dm_ir_builder *b, dm_val condition)
{
    dm_ir_only only = {.before = b->block, .condition = condition};
    b->block = dm_ir_block_new(b->lang);
    return only;
}

void dm_ir_only_end(dm_ir_builder *b, const dm_ir_only *only)
{
    dm_ir_block *then = b->block, *other = dm_ir_block_new(b->lang);
    dm_ir_op_new(b, DM_IR_YIELD, NULL, 0, NULL);
    b->block = other;
    dm_ir_op_new(b, DM_IR_YIELD, NULL, 0, NULL);
    b->block = only->before;
    dm_ir_op *choice = dm_ir_op_new(b, DM_IR_IF, &only->condition, 1, NULL);
    choice->blocks[0] = then;
    choice->blocks[1] = other;
}

dm_ir_op *dm_ir_call(dm_ir_builder *b, const dm_bind *bind, const dm_val *args, int count)
{
    dm_ir_op *op = dm_ir_op_new(b, DM_IR_CALL, args, count, bind->result);
    op->row = bind->row;
    op->bind = bind;
    op->may_read = bind->row->may_read;
    for (int i = 0; op->may_read && i < count; i++)
        dm_ir_note_array(b->function, args[i]);
    return op;
}

dm_val dm_ir_simple(dm_ir_builder *b, dm_ir_kind kind, const dm_val *args, int count,
                    const dm_type *result)
{
    return dm_ir_op_new(b, kind, args, count, result)->result;
}

/* An integer as its type holds it. */
static int64_t wrap(dm_scalar scalar, int64_t value)
{
    switch (scalar) {
    case DM_BOOL:
        return value != 0;
    case DM_I8:
        return (int8_t)value;
    case DM_U8:
        return (uint8_t)value;
    case DM_I16:
        return (int16_t)value;
    case DM_U16:
        return (uint16_t)value;
    case DM_I32:
        return (int32_t)value;
    case DM_U32:
        return (uint32_t)value;
    default:
        return value;
    }
}

/* A constant stands in no block: it is written where it is used, and walks never meet it. */
static dm_ir_op *new_const(dm_ir_function *f, const dm_type *type)
{
    dm_ir_op *op = dm_lang_alloc(f->lang, sizeof *op);
    op->kind = DM_IR_CONST;
    op->result_count = 1;
    op->result = dm_ir_value_new(f, type, NULL);
    f->values[op->result].def = op;
    return op;
}

dm_val dm_ir_const_copy(dm_ir_function *f, const dm_type *type, const dm_ir_op *from)
{
    dm_ir_op *op = new_const(f, type);
    op->integer = from->integer; /* or the real: they share their place */
    return op->result;
}

dm_val dm_ir_int(dm_ir_builder *b, const dm_type *type, int64_t value)
{
    if (dm_type_is_float(type))
        return dm_ir_real(b, type, (double)value);
    dm_ir_op *op = new_const(b->function, type);
    op->integer = wrap((dm_scalar)type->scalar, value);
    return op->result;
}

dm_val dm_ir_real(dm_ir_builder *b, const dm_type *type, double value)
{
    dm_ir_op *op = new_const(b->function, type);
    op->real = value;
    return op->result;
}

dm_val dm_ir_bool(dm_ir_builder *b, bool value)
{
    return dm_ir_int(b, dm_type_scalar(b->lang, DM_BOOL), value);
}

dm_val dm_ir_zero(dm_ir_builder *b, const dm_type *type)
{
    if (type->kind == DM_TYPE_SCALAR)
        return dm_type_is_float(type) ? dm_ir_real(b, type, 0.0) : dm_ir_int(b, type, 0);
    return dm_ir_simple(b, DM_IR_ZERO, NULL, 0, type);
}

static int64_t real_to_int(double value)
{
    if (!(value > -9.2233720368547758e18 && value < 9.2233720368547758e18))
        return 0;
    return (int64_t)value;
}

dm_val dm_ir_cast(dm_ir_builder *b, dm_val value, const dm_type *type)
{
    dm_ir_function *f = b->function;
    const dm_type *from = dm_ir_type(f, value);
    if (from == type)
        return value;
    const dm_ir_op *c = dm_ir_const(f, value);
    if (c != NULL && type->kind == DM_TYPE_SCALAR) {
        bool to_float = dm_type_is_float(type), is_float = dm_type_is_float(from);
        double real = is_float                 ? c->real
                      : from->scalar == DM_U64 ? (double)(uint64_t)c->integer
                                               : (double)c->integer;
        if (to_float)
            return dm_ir_real(b, type, real);
        if (type->scalar == DM_BOOL)
            return dm_ir_bool(b, is_float ? c->real != 0 : c->integer != 0);
        if (!is_float || fabs(c->real) < 2e9)
            return dm_ir_int(b, type, is_float ? real_to_int(c->real) : c->integer);
    }
    return dm_ir_simple(b, DM_IR_CAST, &value, 1, type);
}

dm_val dm_ir_make(dm_ir_builder *b, const dm_type *type, const dm_val *parts, int count)
{
    return dm_ir_simple(b, DM_IR_MAKE, parts, count, type);
}

dm_val dm_ir_extract(dm_ir_builder *b, dm_val value, dm_val index)
{
    dm_ir_function *f = b->function;
    const dm_type *type = dm_ir_type(f, value);
    const dm_ir_op *def = f->values[value].def;
    int64_t at;
    if (def != NULL && dm_ir_const_int(f, index, &at)) {
        if (def->kind == DM_IR_MAKE && at >= 0 && at < def->arg_count)
            return def->args[at];
        int64_t other;
        if (def->kind == DM_IR_INSERT && !b->lang->keep_inserts &&
            dm_ir_const_int(f, def->args[1], &other))
            return at == other ? def->args[2] : dm_ir_extract(b, def->args[0], index);
    }
    dm_val args[] = {value, index};
    return dm_ir_simple(b, DM_IR_EXTRACT, args, 2,
                        dm_type_scalar(b->lang, (dm_scalar)type->scalar));
}

dm_val dm_ir_extract_at(dm_ir_builder *b, dm_val value, int index)
{
    return dm_ir_extract(b, value, dm_ir_int(b, dm_type_scalar(b->lang, DM_I32), index));
}

dm_val dm_ir_insert(dm_ir_builder *b, dm_val value, dm_val index, dm_val part)
{
    dm_val args[] = {value, index, part};
    return dm_ir_simple(b, DM_IR_INSERT, args, 3, dm_ir_type(b->function, value));
}

dm_val dm_ir_field(dm_ir_builder *b, dm_val value, int field)
{
    dm_ir_function *f = b->function;
    const dm_ir_op *def = f->values[value].def;
    if (def != NULL && def->kind == DM_IR_MAKE)
        return def->args[field];
    if (def != NULL && def->kind == DM_IR_SETFIELD)
        return def->index == field ? def->args[1] : dm_ir_field(b, def->args[0], field);
    dm_ir_op *op =
        dm_ir_op_new(b, DM_IR_FIELD, &value, 1, dm_ir_type(f, value)->fields[field].type);
    op->index = field;
    return op->result;
}

dm_val dm_ir_setfield(dm_ir_builder *b, dm_val value, int field, dm_val part)
{
    dm_val args[] = {value, part};
    dm_ir_op *op = dm_ir_op_new(b, DM_IR_SETFIELD, args, 2, dm_ir_type(b->function, value));
    op->index = field;
    return op->result;
}

/* ---- Asking ---- */

const dm_ir_op *dm_ir_const(const dm_ir_function *f, dm_val v)
{
    const dm_ir_op *def = f->values[v].def;
    return def != NULL && def->kind == DM_IR_CONST ? def : NULL;
}

bool dm_ir_const_int(const dm_ir_function *f, dm_val v, int64_t *out)
{
    const dm_ir_op *def = dm_ir_const(f, v);
    if (def == NULL || dm_type_is_float(f->values[v].type))
        return false;
    *out = def->integer;
    return true;
}

dm_ir_op *dm_ir_terminator(const dm_ir_block *block)
{
    if (block->count == 0)
        return NULL;
    dm_ir_op *last = block->ops[block->count - 1];
    return dm_ir_is_terminator(last->kind) ? last : NULL;
}

/* ---- Copying ---- */

static dm_val copied(dm_ir_builder *b, const dm_ir_function *source, dm_val *map, dm_val v)
{
    if (v == DM_VAL_NONE)
        return v;
    const dm_ir_op *c = map[v] == DM_VAL_NONE ? dm_ir_const(source, v) : NULL;
    if (c != NULL)
        map[v] = dm_ir_const_copy(b->function, source->values[v].type, c);
    return map[v] == DM_VAL_NONE ? v : map[v];
}

static dm_ir_block *clone_block(dm_ir_builder *b, const dm_ir_function *source,
                                const dm_ir_block *block, dm_val *map, bool pure_only)
{
    dm_ir_block *made = dm_ir_block_new(b->lang);
    for (int i = 0; i < block->param_count; i++) {
        dm_val v = block->params[i];
        map[v] = dm_ir_param(b->function, made, source->values[v].type, source->values[v].name);
    }
    dm_ir_block *before = b->block;
    b->block = made;
    for (int i = 0; i < block->count; i++)
        dm_ir_clone_op(b, source, block->ops[i], map, pure_only);
    b->block = before;
    return made;
}

void dm_ir_clone_op(dm_ir_builder *b, const dm_ir_function *source, const dm_ir_op *op, dm_val *map,
                    bool pure_only)
{
    if (pure_only && dm_ir_infos[op->kind].effect == DM_IR_WRITES &&
        !(op->kind == DM_IR_INVOKE && op->result_count > 0))
        return;
    dm_ir_op *copy = dm_lang_alloc(b->lang, sizeof *copy);
    *copy = *op;
    b->function->kinds |= (uint64_t)1 << op->kind;
    copy->args = dm_ir_args(b->lang, op->arg_count);
    for (int i = 0; i < op->arg_count; i++)
        copy->args[i] = copied(b, source, map, op->args[i]);
    for (int k = 0; k < 2; k++)
        if (op->blocks[k] != NULL)
            copy->blocks[k] = clone_block(b, source, op->blocks[k], map, pure_only);
    for (int i = 0; i < op->result_count; i++) {
        dm_val v = op->result + i;
        dm_val made = dm_ir_value_new(b->function, source->values[v].type, source->values[v].name);
        b->function->values[made].def = copy;
        map[v] = made;
        if (i == 0)
            copy->result = made;
    }
    dm_ir_append(b->lang, b->block, copy);
}

/* ---- Listing ---- */

static void list_block(const dm_ir_function *f, const dm_ir_block *block, dm_buffer *out,
                       int depth);

static void list_value(const dm_ir_function *f, dm_val v, dm_buffer *out)
{
    const dm_ir_op *c = v == DM_VAL_NONE ? NULL : dm_ir_const(f, v);
    if (v == DM_VAL_NONE)
        dm_buffer_puts(out, "_");
    else if (c != NULL && dm_type_is_float(f->values[v].type))
        dm_buffer_printf(out, "%.9g:%s", c->real, f->values[v].type->name);
    else if (c != NULL)
        dm_buffer_printf(out, "%lld:%s", (long long)c->integer, f->values[v].type->name);
    else if (f->values[v].name != NULL)
        dm_buffer_printf(out, "%%%s.%d", f->values[v].name, v);
    else
        dm_buffer_printf(out, "%%%d", v);
}

static void list_attributes(const dm_ir_op *op, dm_buffer *out)
{
    switch (op->kind) {
    case DM_IR_CALL:
        dm_buffer_printf(out, " %s", op->row->name);
        break;
    case DM_IR_ATOMIC:
        dm_buffer_printf(out, " %s", op->text);
        break;
    case DM_IR_INVOKE:
    case DM_IR_REVERSE:
        dm_buffer_printf(out, " %s", op->callee->c_name);
        break;
    case DM_IR_FIELD:
    case DM_IR_SETFIELD:
    case DM_IR_TID:
    case DM_IR_DIM:
        dm_buffer_printf(out, " %d", op->index);
        break;
    default:
        break;
    }
}

static void list_op(const dm_ir_function *f, const dm_ir_op *op, dm_buffer *out, int depth)
{
    dm_buffer_printf(out, "%*s", depth * 2, "");
    for (int i = 0; i < op->result_count; i++) {
        if (i > 0)
            dm_buffer_puts(out, ", ");
        list_value(f, op->result + i, out);
    }
    if (op->result_count > 0)
        dm_buffer_printf(out, ": %s = ", f->values[op->result].type->name);
    dm_buffer_puts(out, dm_ir_infos[op->kind].text);
    list_attributes(op, out);
    for (int i = 0; i < op->arg_count; i++) {
        dm_buffer_putc(out, ' ');
        list_value(f, op->args[i], out);
    }
    dm_buffer_putc(out, '\n');
    for (int k = 0; k < 2; k++)
        if (op->blocks[k] != NULL)
            list_block(f, op->blocks[k], out, depth + 1);
}

static void list_block(const dm_ir_function *f, const dm_ir_block *block, dm_buffer *out, int depth)
{
    dm_buffer_printf(out, "%*sblock(", depth * 2, "");
    for (int i = 0; i < block->param_count; i++) {
        if (i > 0)
            dm_buffer_puts(out, ", ");
        list_value(f, block->params[i], out);
        dm_buffer_printf(out, ": %s", f->values[block->params[i]].type->name);
    }
    dm_buffer_puts(out, ")\n");
    for (int i = 0; i < block->count; i++)
        list_op(f, block->ops[i], out, depth + 1);
}

void dm_ir_print(const dm_ir_function *f, dm_buffer *out)
{
    dm_buffer_printf(out, "%s %s -> %s\n", f->role == DM_IR_KERNEL ? "kernel" : "func", f->c_name,
                     f->result->name);
    list_block(f, f->body, out, 1);
}
