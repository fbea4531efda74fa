/* SPDX-License-Identifier: MIT */
/* lower_place.c - assignment. A target is a variable or a part of one, which gets a new SSA value,
 * or an element of an array or a part of that, which is memory. See lower.h. */
#include "lang/ir/lower.h"

#include <string.h>

/* ---- Places in memory ---- */

static const dm_type *place_type(const dm_lower *lw, const dm_place *place)
{
    return place->path.count == 0 ? dm_lower_type(lw, place->array)->element : place->path.type;
}

static bool extend(dm_place *place, int field, dm_val index, const dm_type *type)
{
    if (place->path.count == DM_IR_PATH_MAX)
        return false;
    place->path.field[place->path.count++] = field;
    place->path.type = type;
    if (field < 0)
        place->args[place->arg_count++] = index;
    return true;
}

static bool integer(dm_lower *lw, const dm_ast *ast, dm_val *out)
{
    if (!dm_lower_value(lw, ast, out))
        return false;
    if (!dm_type_is_int(dm_lower_type(lw, *out))) {
        dm_lower_error(lw, ast, "convert it with int(...)", "an index must be an integer, not %s",
                       dm_lower_type(lw, *out)->name);
        return false;
    }
    *out = dm_ir_cast(&lw->b, *out, dm_type_scalar(lw->lang, DM_I32));
    return true;
}

/* The number of a component from one index, or of a matrix from two. */
static bool component(dm_lower *lw, const dm_ast *ast, const dm_type *type, dm_val *out)
{
    dm_val second;
    bool two = type->kind == DM_TYPE_MAT;
    if (ast->count != (two ? 2 : 1) || ast->items[0]->kind == DM_AST_SLICE ||
        !integer(lw, ast->items[0], out))
        return false;
    const dm_type *i32 = dm_type_scalar(lw->lang, DM_I32);
    int64_t number;
    if (dm_ir_const_int(lw->function, *out, &number)) {
        if (number < -type->rows || number >= type->rows) {
            dm_lower_error(lw, ast, NULL, "index %lld is outside of 0 to %d", (long long)number,
                           type->rows - 1);
            return false;
        }
        *out = dm_ir_int(&lw->b, i32, number < 0 ? number + type->rows : number);
    }
    if (!two)
        return true;
    if (!integer(lw, ast->items[1], &second))
        return false;
    if (dm_ir_const_int(lw->function, second, &number) && number < 0)
        second = dm_ir_int(&lw->b, i32, number + type->cols);
    dm_val row =
        dm_lower_binary(lw, ast, DM_TOK_STAR, *out, dm_ir_int(&lw->b, i32, type->cols)).value;
    *out = dm_lower_binary(lw, ast, DM_TOK_PLUS, row, second).value;
    return true;
}

static bool element_place(dm_lower *lw, const dm_ast *ast, dm_place *out, bool *bad)
{
    dm_operand base = dm_lower_expr(lw, ast->a);
    *bad = base.kind == DM_OPERAND_ERROR;
    if (base.kind != DM_OPERAND_VALUE || base.value == DM_VAL_NONE)
        return false;
    const dm_type *type = dm_lower_type(lw, base.value);
    if (type->kind != DM_TYPE_ARRAY || ast->count != type->ndim)
        return false;
    *out = (dm_place){.array = base.value};
    for (int i = 0; i < ast->count; i++) {
        if (ast->items[i]->kind == DM_AST_SLICE)
            return false;
        if (!integer(lw, ast->items[i], &out->args[i])) {
            *bad = true;
            return false;
        }
    }
    out->index_count = out->arg_count = ast->count;
    return true;
}

bool dm_lower_place(dm_lower *lw, const dm_ast *ast, dm_place *out, bool *bad)
{
    *bad = false;
    if (ast->kind == DM_AST_ATTRIBUTE) {
        if (ast->a->kind == DM_AST_NAME || !dm_lower_place(lw, ast->a, out, bad))
            return false;
        const dm_type *type = place_type(lw, out);
        int index = dm_lower_component(type, ast->name);
        if (index >= 0)
            return extend(out, -1, dm_ir_int(&lw->b, dm_type_scalar(lw->lang, DM_I32), index),
                          dm_type_scalar(lw->lang, (dm_scalar)type->scalar));
        int field = type->kind == DM_TYPE_STRUCT ? dm_type_field(type, ast->name) : -1;
        return field >= 0 && extend(out, field, DM_VAL_NONE, type->fields[field].type);
    }
    if (ast->kind != DM_AST_SUBSCRIPT)
        return false;
    if (ast->a->kind != DM_AST_NAME && dm_lower_place(lw, ast->a, out, bad)) {
        const dm_type *type = place_type(lw, out);
        dm_val index;
        if (dm_type_is_numeric(type)) {
            if (!component(lw, ast, type, &index))
                return false;
            return extend(out, -1, index, dm_type_scalar(lw->lang, (dm_scalar)type->scalar));
        }
    }
    return !*bad && element_place(lw, ast, out, bad);
}

dm_ir_op *dm_lower_place_op(dm_lower *lw, dm_ir_kind kind, const dm_place *place,
                            const dm_val *values, int count, const dm_type *result)
{
    dm_val args[1 + 4 + DM_IR_PATH_MAX + 3];
    int used = 0;
    args[used++] = place->array;
    for (int i = 0; i < place->arg_count; i++)
        args[used++] = place->args[i];
    for (int i = 0; i < count; i++)
        args[used++] = values[i];
    dm_ir_op *op = dm_ir_op_new(&lw->b, kind, args, used, result);
    if (place->path.count > 0) {
        dm_ir_path *path = dm_lang_alloc(lw->lang, sizeof *path);
        *path = place->path;
        op->path = path;
    }
    return op;
}

/* ---- Parts of values ---- */

/* Literals may become what they are stored into. */
static bool fit(dm_lower *lw, const dm_ast *at, const dm_type *type, dm_val *value)
{
    const dm_type *have = dm_lower_type(lw, *value);
    const dm_ir_op *c = dm_ir_const(lw->function, *value);
    if (have == type)
        return true;
    if (c != NULL && c->is_literal && dm_type_is_scalar(type) &&
        (dm_type_is_float(type) || dm_type_is_int(have))) {
        *value = dm_ir_cast(&lw->b, *value, type);
        return true;
    }
    dm_lower_error(lw, at,
                   dm_type_is_scalar(type)
                       ? dm_lang_format(lw->lang, "convert it with wp.%s(...)", type->name)
                       : NULL,
                   "%s cannot be stored as %s", have->name, type->name);
    return false;
}

static void assign_part(dm_lower *lw, const dm_ast *target, dm_val value, const dm_ast *at);

/* A value with one component replaced. */
static dm_val insert(dm_lower *lw, dm_val base, dm_val index, dm_val part)
{
    dm_val made = dm_ir_insert(&lw->b, base, index, part);
    lw->function->values[made].def->adds = lw->adding;
    return made;
}

static void assign_attribute(dm_lower *lw, const dm_ast *target, dm_val value, const dm_ast *at)
{
    dm_val base;
    if (!dm_lower_value(lw, target->a, &base))
        return;
    const dm_type *type = dm_lower_type(lw, base);
    int index = dm_lower_component(type, target->name);
    int field = type->kind == DM_TYPE_STRUCT ? dm_type_field(type, target->name) : -1;
    if (index >= 0) {
        if (!fit(lw, at, dm_type_scalar(lw->lang, (dm_scalar)type->scalar), &value))
            return;
        dm_val which = dm_ir_int(&lw->b, dm_type_scalar(lw->lang, DM_I32), index);
        assign_part(lw, target->a, insert(lw, base, which, value), at);
    } else if (field >= 0) {
        if (fit(lw, at, type->fields[field].type, &value))
            assign_part(lw, target->a, dm_ir_setfield(&lw->b, base, field, value), at);
    } else if (type->kind == DM_TYPE_TRANSFORM &&
               (strcmp(target->name, "p") == 0 || strcmp(target->name, "q") == 0)) {
        bool rotation = target->name[0] == 'q';
        dm_scalar scalar = (dm_scalar)type->scalar;
        if (!fit(lw, at,
                 rotation ? dm_type_quat(lw->lang, scalar) : dm_type_vec(lw->lang, 3, scalar),
                 &value))
            return;
        for (int i = 0; i < (rotation ? 4 : 3); i++)
            base = insert(lw, base,
                          dm_ir_int(&lw->b, dm_type_scalar(lw->lang, DM_I32), rotation ? i + 3 : i),
                          dm_ir_extract_at(&lw->b, value, i));
        assign_part(lw, target->a, base, at);
    } else {
        dm_lower_error(lw, target, NULL, "%s has no '%s'", type->name, target->name);
    }
}

/* A whole row of a matrix, or a slice of a vector with constant bounds. */
static dm_val insert_many(dm_lower *lw, dm_val base, dm_val first, int step, int count, dm_val from)
{
    const dm_type *i32 = dm_type_scalar(lw->lang, DM_I32);
    bool scalar = dm_type_is_scalar(dm_lower_type(lw, from));
    for (int i = 0; i < count; i++) {
        dm_val offset = dm_ir_int(&lw->b, i32, (int64_t)i * step), args[] = {first, offset};
        dm_val index =
            i == 0 ? first
                   : dm_lower_builtin(lw, &(dm_ast){0}, dm_builtin_row(DM_ROW_ADD), args, 2, "+")
                         .value;
        base = insert(lw, base, index, scalar ? from : dm_ir_extract_at(&lw->b, from, i));
    }
    return base;
}

static void assign_slice(dm_lower *lw, const dm_ast *target, dm_val base, dm_val value,
                         const dm_ast *at)
{
    const dm_type *type = dm_lower_type(lw, base);
    const dm_ast *slice = target->items[0];
    int64_t bounds[3] = {0, dm_type_components(type), 1};
    const dm_ast *parts[] = {slice->a, slice->b, slice->c};
    for (int i = 0; i < 3; i++) {
        dm_val v;
        if (parts[i] != NULL &&
            (!integer(lw, parts[i], &v) || !dm_ir_const_int(lw->function, v, &bounds[i]))) {
            dm_lower_error(lw, slice, NULL, "a slice of a vector needs constant bounds");
            return;
        }
        if (i < 2 && bounds[i] < 0)
            bounds[i] += dm_type_components(type);
    }
    int64_t count = bounds[2] > 0 ? (bounds[1] - bounds[0] + bounds[2] - 1) / bounds[2] : 0;
    const dm_type *from = dm_lower_type(lw, value);
    if (type->kind == DM_TYPE_MAT || count <= 0 || bounds[0] < 0 ||
        bounds[1] > dm_type_components(type) || from->scalar != type->scalar ||
        (!dm_type_is_scalar(from) &&
         (!dm_type_is_numeric(from) || dm_type_components(from) != count))) {
        dm_lower_error(lw, at, NULL, "%s cannot be stored in this slice of %s", from->name,
                       type->name);
        return;
    }
    dm_val first = dm_ir_int(&lw->b, dm_type_scalar(lw->lang, DM_I32), bounds[0]);
    assign_part(lw, target->a, insert_many(lw, base, first, (int)bounds[2], (int)count, value), at);
}

static void assign_subscript(dm_lower *lw, const dm_ast *target, dm_val value, const dm_ast *at)
{
    dm_val base, index;
    if (!dm_lower_value(lw, target->a, &base))
        return;
    const dm_type *type = dm_lower_type(lw, base);
    if (!dm_type_is_numeric(type)) {
        dm_lower_error(lw, target, NULL, "%s cannot be assigned to by index", type->name);
        return;
    }
    if (target->items[0]->kind == DM_AST_SLICE && target->count == 1) {
        assign_slice(lw, target, base, value, at);
        return;
    }
    const dm_type *scalar = dm_type_scalar(lw->lang, (dm_scalar)type->scalar);
    if (type->kind == DM_TYPE_MAT && target->count == 1) {
        const dm_type *i32 = dm_type_scalar(lw->lang, DM_I32);
        if (!integer(lw, target->items[0], &index) ||
            !fit(lw, at, dm_type_vec(lw->lang, type->cols, (dm_scalar)type->scalar), &value))
            return;
        dm_val first =
            dm_lower_binary(lw, target, DM_TOK_STAR, index, dm_ir_int(&lw->b, i32, type->cols))
                .value;
        assign_part(lw, target->a, insert_many(lw, base, first, 1, type->cols, value), at);
        return;
    }
    int errors = lw->lang->error_count;
    if (!component(lw, target, type, &index)) {
        if (lw->lang->error_count == errors)
            dm_lower_error(lw, target, NULL, "%s cannot be assigned to by these indices",
                           type->name);
        return;
    }
    if (fit(lw, at, scalar, &value))
        assign_part(lw, target->a, insert(lw, base, index, value), at);
}

/* A new value for a variable or for a part of one. */
static void assign_part(dm_lower *lw, const dm_ast *target, dm_val value, const dm_ast *at)
{
    dm_place place;
    bool bad;
    switch (target->kind) {
    case DM_AST_NAME:
        dm_lower_set(lw, dm_lower_variable(lw, target->name), dm_lower_value_operand(value));
        break;
    case DM_AST_ATTRIBUTE:
    case DM_AST_SUBSCRIPT:
        if (dm_lower_place(lw, target, &place, &bad)) {
            if (fit(lw, at, place_type(lw, &place), &value))
                dm_lower_place_op(lw, DM_IR_STORE, &place, &value, 1, NULL);
        } else if (!bad && target->kind == DM_AST_ATTRIBUTE) {
            assign_attribute(lw, target, value, at);
        } else if (!bad) {
            assign_subscript(lw, target, value, at);
        }
        break;
    default:
        dm_lower_error(lw, target, NULL, "this cannot be assigned to");
        break;
    }
}

/* ---- Assignment ---- */

static void assign_name(dm_lower *lw, const dm_ast *target, dm_operand value, const dm_ast *at)
{
    int which = dm_lower_variable(lw, target->name);
    dm_variable *variable = &lw->variables[which];
    if (value.kind == DM_OPERAND_ERROR) {
        if (variable->now.kind == DM_OPERAND_ERROR)
            variable->bad = true;
        return;
    }
    bool number = value.kind == DM_OPERAND_VALUE;
    if (value.kind == DM_OPERAND_KNOWN) {
        dm_value_kind kind = value.known->kind;
        number = kind == DM_VALUE_BOOL || kind == DM_VALUE_INT || kind == DM_VALUE_FLOAT ||
                 kind == DM_VALUE_SCALAR || kind == DM_VALUE_NUMBERS || kind == DM_VALUE_UNKNOWN;
    }
    if (number) {
        dm_val v;
        if (!dm_lower_materialize(lw, at, &value, &v)) {
            variable->bad = true;
            return;
        }
        const dm_type *type = dm_lower_type(lw, v);
        if (variable->type != NULL && variable->type != type &&
            variable->type->kind != DM_TYPE_ANY) {
            dm_lower_error(lw, at, "a name keeps its type; use another name or convert the value",
                           "'%s' is %s and cannot become %s", target->name, variable->type->name,
                           type->name);
            return;
        }
        value = dm_lower_value_operand(v);
        dm_ir_value *record = &lw->function->values[v];
        if (record->name == NULL && record->def != NULL && record->def->kind != DM_IR_CONST)
            record->name = target->name;
    }
    dm_lower_set(lw, which, value);
}

static void assign_tuple(dm_lower *lw, const dm_ast *target, dm_operand value, const dm_ast *at)
{
    int count = -1;
    const dm_type *type = NULL;
    if (value.kind == DM_OPERAND_ITEMS) {
        count = value.count;
    } else if (value.kind == DM_OPERAND_KNOWN && value.known->kind == DM_VALUE_ITEMS) {
        count = value.known->count;
    } else if (value.kind == DM_OPERAND_VALUE && value.value != DM_VAL_NONE) {
        type = dm_lower_type(lw, value.value);
        count = type->kind == DM_TYPE_TUPLE                             ? type->field_count
                : dm_type_is_numeric(type) && type->kind != DM_TYPE_MAT ? type->rows
                                                                        : -1;
    }
    if (value.kind == DM_OPERAND_ERROR) {
        for (int i = 0; i < target->count; i++)
            dm_lower_assign(lw, target->items[i], DM_OPERAND_BAD, at);
        return;
    }
    if (count != target->count) {
        dm_lower_error(lw, at, NULL, "%d names for %d values", target->count,
                       count < 0 ? 1 : count);
        return;
    }
    dm_operand *items = dm_lang_alloc_array(lw->lang, (size_t)count, sizeof *items);
    for (int i = 0; i < count; i++) { /* all are read before any is set */
        if (value.kind == DM_OPERAND_ITEMS)
            items[i] = value.items[i];
        else if (value.kind == DM_OPERAND_KNOWN)
            items[i] = dm_lower_known(value.known->items[i]);
        else
            items[i] = dm_lower_value_operand(type->kind == DM_TYPE_TUPLE
                                                  ? dm_ir_field(&lw->b, value.value, i)
                                                  : dm_ir_extract_at(&lw->b, value.value, i));
    }
    for (int i = 0; i < count; i++)
        dm_lower_assign(lw, target->items[i], items[i], at);
}

void dm_lower_assign(dm_lower *lw, const dm_ast *target, dm_operand value, const dm_ast *at)
{
    dm_val v;
    if (target->kind == DM_AST_NAME)
        assign_name(lw, target, value, at);
    else if (target->kind == DM_AST_TUPLE || target->kind == DM_AST_LIST)
        assign_tuple(lw, target, value, at);
    else if (dm_lower_materialize(lw, at, &value, &v))
        assign_part(lw, target, v, at);
}

/* `a[i] += x` is atomic, as are -=, &=, |= and ^=, except on 8 and 16 bits. */
static const char *atomic_kind(dm_token_kind op, const dm_type *type)
{
    bool numbers = dm_type_is_scalar(type) || dm_type_is_numeric(type);
    if (!numbers || type->scalar == DM_BOOL ||
        (dm_scalar_bytes((dm_scalar)type->scalar) < 4 && type->scalar != DM_F16))
        return NULL;
    bool ints = dm_scalar_is_int((dm_scalar)type->scalar);
    switch (op) {
    case DM_TOK_PLUS:
        return "add";
    case DM_TOK_MINUS:
        return "sub";
    case DM_TOK_AMPERSAND:
        return ints ? "and" : NULL;
    case DM_TOK_PIPE:
        return ints ? "or" : NULL;
    case DM_TOK_CARET:
        return ints ? "xor" : NULL;
    default:
        return NULL;
    }
}

/* wp.adjoint[array][i] += value: only where a gradient is kept */
static void add_where_kept(dm_lower *lw, const dm_place *place, dm_val value, const char *kind)
{
    dm_val kept;
    if (!dm_lower_truth(lw, NULL, place->array, &kept))
        return;
    dm_ir_only only = dm_ir_only_if(&lw->b, kept);
    dm_lower_place_op(lw, DM_IR_ATOMIC, place, &value, 1, NULL)->text = kind;
    dm_ir_only_end(&lw->b, &only);
}

void dm_lower_augmented(dm_lower *lw, const dm_ast *ast)
{
    dm_place place;
    bool bad = false;
    dm_val old, value;
    if (ast->a->kind != DM_AST_NAME && dm_lower_place(lw, ast->a, &place, &bad)) {
        const dm_type *type = place_type(lw, &place);
        if (!dm_lower_value(lw, ast->b, &value))
            return;
        const char *kind = atomic_kind(ast->op, type);
        const dm_ir_op *def = lw->function->values[place.array].def;
        if (def != NULL && def->kind == DM_IR_ADJOINT && kind != NULL) {
            add_where_kept(lw, &place, value, kind);
            return;
        }
        if (kind != NULL && dm_lower_type(lw, value) == type) {
            dm_ir_op *op = dm_lower_place_op(lw, DM_IR_ATOMIC, &place, &value, 1, type);
            op->text = kind;
            return;
        }
        if (!dm_lower_value(lw, ast->a, &old))
            return;
        dm_operand result = dm_lower_binary(lw, ast, ast->op, old, value);
        if (result.kind != DM_OPERAND_VALUE || !fit(lw, ast, type, &result.value))
            return;
        dm_lower_place_op(lw, DM_IR_STORE, &place, &result.value, 1, NULL);
        return;
    }
    if (bad || !dm_lower_value(lw, ast->a, &old) || !dm_lower_value(lw, ast->b, &value))
        return;
    lw->adding = ast->op == DM_TOK_PLUS || ast->op == DM_TOK_MINUS;
    dm_lower_assign(lw, ast->a, dm_lower_binary(lw, ast, ast->op, old, value), ast);
    lw->adding = false;
}
