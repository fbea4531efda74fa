/* SPDX-License-Identifier: MIT */
/* lower_construct.c - calls of types: casts and constructors. See lower.h. */
#include "lang/ir/lower_call.h"

#include <string.h>

/* ---- Constructors ---- */

static dm_operand fill(dm_lower *lw, const dm_type *type, dm_val value)
{
    int count = dm_type_components(type);
    dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)count, sizeof *parts);
    for (int i = 0; i < count; i++)
        parts[i] = value;
    return dm_lower_value_operand(dm_ir_make(&lw->b, type, parts, count));
}

/* Scalars one by one, vectors and quaternions with their components one after the other. */
static dm_operand construct_parts(dm_lower *lw, const dm_type *type, const dm_call *c)
{
    const dm_type *part = scalar(lw, (dm_scalar)type->scalar);
    int count = dm_type_components(type), used = 0;
    dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)count + 1, sizeof *parts);
    for (int i = 0; i < c->count; i++) {
        dm_val value;
        if (!dm_call_value(lw, c, i, &value))
            return DM_OPERAND_BAD;
        const dm_type *have = dm_lower_type(lw, value);
        int have_count = dm_type_components(have);
        bool whole = dm_type_is_numeric(have) && have->scalar == type->scalar;
        if (used + have_count > count || (!whole && !dm_call_fit(lw, part, &value)))
            return dm_lower_error(lw, c->ast, NULL,
                                  dm_type_is_scalar(have) && used + have_count <= count
                                      ? "a component of %s cannot be %s"
                                      : "%s cannot be made from these arguments (%s)",
                                  type->name, have->name);
        for (int k = 0; whole && k < have_count; k++)
            parts[used++] = dm_ir_extract_at(&lw->b, value, k);
        if (!whole)
            parts[used++] = value;
    }
    if (used != count)
        return dm_lower_error(lw, c->ast, NULL, "%s has %d components, not %d", type->name, count,
                              used);
    return dm_lower_value_operand(dm_ir_make(&lw->b, type, parts, count));
}

/* Vectors given to a matrix are its columns. */
static dm_operand construct_columns(dm_lower *lw, const dm_type *type, const dm_call *c)
{
    dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)dm_type_components(type), sizeof *parts);
    for (int j = 0; j < type->cols; j++) {
        dm_val column;
        if (!dm_call_value(lw, c, j, &column))
            return DM_OPERAND_BAD;
        if (dm_lower_type(lw, column) != dm_type_vec(lw->lang, type->rows, (dm_scalar)type->scalar))
            return dm_lower_error(lw, c->ast, NULL, "a column of %s cannot be %s", type->name,
                                  dm_lower_type(lw, column)->name);
        for (int i = 0; i < type->rows; i++)
            parts[i * type->cols + j] = dm_ir_extract_at(&lw->b, column, i);
    }
    return dm_lower_value_operand(dm_ir_make(&lw->b, type, parts, type->rows * type->cols));
}

static dm_operand construct_numeric(dm_lower *lw, const dm_type *type, const dm_call *c)
{
    dm_val value;
    if (c->count == 0)
        return dm_lower_value_operand(dm_ir_zero(&lw->b, type));
    if (c->count == 1 && c->args[0].kind == DM_OPERAND_ITEMS) {
        dm_call inner = *c;
        const char *none[ARGS_MAX] = {0};
        if (c->args[0].count > ARGS_MAX)
            return DM_OPERAND_BAD;
        inner.args = (dm_operand *)c->args[0].items;
        inner.count = c->args[0].count;
        inner.names = none;
        return construct_parts(lw, type, &inner);
    }
    if (!dm_call_value(lw, c, 0, &value))
        return DM_OPERAND_BAD;
    const dm_type *have = dm_lower_type(lw, value);
    if (c->count == 1 && dm_type_is_scalar(have) && type->kind != DM_TYPE_TRANSFORM) {
        if (!dm_call_fit(lw, scalar(lw, (dm_scalar)type->scalar), &value))
            return dm_lower_error(lw, c->ast, NULL, "a component of %s cannot be %s", type->name,
                                  have->name);
        return fill(lw, type, value);
    }
    if (c->count == 1 && dm_type_is_numeric(have) &&
        dm_type_components(have) == dm_type_components(type)) {
        if (have->kind == type->kind)
            return dm_lower_value_operand(dm_ir_cast(&lw->b, value, type));
        return construct_parts(lw, type, c);
    }
    if (type->kind == DM_TYPE_MAT && c->count == type->cols && dm_type_is_numeric(have))
        return construct_columns(lw, type, c);
    return construct_parts(lw, type, c);
}

static dm_operand construct_struct(dm_lower *lw, const dm_type *type, const dm_call *c)
{
    dm_val made = dm_ir_zero(&lw->b, type);
    for (int i = 0; i < type->field_count; i++) {
        dm_val value;
        const dm_field *field = &type->fields[i];
        const dm_operand *given = dm_call_find(c, i, field->name);
        dm_operand initial;
        if (given == NULL && field->initial == NULL)
            continue;
        if (given == NULL) {
            initial = dm_lower_known(dm_scope_eval((dm_scope *)type->scope, field->initial));
            given = &initial;
        }
        if (!dm_lower_materialize(lw, c->ast, given, &value))
            return DM_OPERAND_BAD;
        if (!dm_call_fit(lw, field->type, &value))
            return dm_lower_error(lw, c->ast, NULL, "the field '%s' is %s, not %s", field->name,
                                  field->type->name, dm_lower_type(lw, value)->name);
        made = dm_ir_setfield(&lw->b, made, i, value);
    }
    return dm_lower_value_operand(made);
}

dm_operand dm_lower_construct(dm_lower *lw, const dm_ast *at, const dm_type *type,
                              const dm_operand *args, const char *const *names, int count)
{
    dm_call c = {.ast = at,
                 .name = type->name,
                 .args = (dm_operand *)args,
                 .names = (const char **)names,
                 .count = count};
    dm_val value;
    if (type->kind == DM_TYPE_STRUCT)
        return construct_struct(lw, type, &c);
    if (dm_type_is_numeric(type) && !type->generic) {
        int kept = 0; /* dtype= says what is known already */
        for (int i = 0; i < c.count; i++)
            if (c.names[i] == NULL || strcmp(c.names[i], "dtype") != 0) {
                c.args[kept] = c.args[i];
                c.names[kept++] = c.names[i];
            }
        c.count = kept;
        return construct_numeric(lw, type, &c);
    }
    if (!dm_type_is_scalar(type) || type->generic)
        return dm_lower_error(lw, at, NULL, "%s cannot be made in a kernel", type->name);
    if (count == 0)
        return dm_lower_value_operand(dm_ir_zero(&lw->b, type));
    if (count != 1 || !dm_call_value(lw, &c, 0, &value))
        return count == 1 ? DM_OPERAND_BAD
                          : dm_lower_error(lw, at, NULL, "%s takes one value", type->name);
    if (!dm_type_is_scalar(dm_lower_type(lw, value)))
        return dm_lower_error(lw, at, NULL, "%s cannot be converted to %s",
                              dm_lower_type(lw, value)->name, type->name);
    /* A literal is converted as it is written, not as the int32 that it would be alone. */
    const dm_ast *written = at->kind == DM_AST_CALL && at->count == 1 ? at->items[0] : NULL;
    bool wide = written != NULL && written->kind == DM_AST_INT && written->integer > INT32_MAX &&
                written->integer <= INT64_MAX && type->scalar != DM_BOOL;
    if (wide)
        return dm_lower_value_operand(dm_ir_int(&lw->b, type, (int64_t)written->integer));
    dm_val made = dm_ir_cast(&lw->b, value, type);
    /* float(0.0) is a variable's first value, no literal any more. */
    if (made == value && dm_ir_const(lw->function, value) != NULL)
        made = dm_type_is_float(type)
                   ? dm_ir_real(&lw->b, type, dm_ir_const(lw->function, value)->real)
                   : dm_ir_int(&lw->b, type, dm_ir_const(lw->function, value)->integer);
    return dm_lower_value_operand(made);
}

/* wp.vector(1.0, 2.0), wp.matrix(..., shape=(2, 2)): the type follows from the arguments */
dm_operand dm_lower_construct_generic(dm_lower *lw, const dm_call *c, const char *name)
{
    const dm_operand *length = dm_call_find(c, ARGS_MAX, "length"),
                     *shape = dm_call_find(c, ARGS_MAX, "shape");
    const dm_type *dtype = dm_call_type(dm_call_find(c, ARGS_MAX, "dtype"));
    dm_operand rest[ARGS_MAX];
    const char *none[ARGS_MAX] = {0};
    int count = 0, rows = 0, cols = 0;
    for (int i = 0; i < c->count; i++)
        if (c->names[i] == NULL)
            rest[count++] = c->args[i];
    dm_val first;
    if (dtype == NULL && count > 0) {
        if (!dm_lower_materialize(lw, c->ast, &rest[0], &first))
            return DM_OPERAND_BAD;
        const dm_type *have = dm_lower_type(lw, first);
        if (dm_type_is_scalar(have) || dm_type_is_numeric(have))
            dtype = scalar(lw, (dm_scalar)have->scalar);
        if (name[0] == 'v' && dm_type_is_numeric(have) && count == 1 && length == NULL)
            rows = dm_type_components(have);
    }
    if (dtype == NULL)
        dtype = scalar(lw, DM_F32);
    if (name[0] == 'q')
        return dm_lower_construct(lw, c->ast, dm_type_quat(lw->lang, (dm_scalar)dtype->scalar),
                                  rest, none, count);
    if (name[0] == 't')
        return dm_lower_construct(lw, c->ast, dm_type_transform(lw->lang, (dm_scalar)dtype->scalar),
                                  rest, none, count);
    if (name[0] == 'v') {
        if (rows == 0 && !dm_call_int(lw, length, &rows))
            rows = count;
        if (rows < 1)
            return dm_lower_error(lw, c->ast, NULL, "the vector's length is not known");
        return dm_lower_construct(lw, c->ast, dm_type_vec(lw->lang, rows, (dm_scalar)dtype->scalar),
                                  rest, none, count);
    }
    bool given = shape != NULL && shape->kind == DM_OPERAND_ITEMS && shape->count == 2 &&
                 dm_call_int(lw, &shape->items[0], &rows) &&
                 dm_call_int(lw, &shape->items[1], &cols);
    if (!given && shape != NULL && shape->kind == DM_OPERAND_KNOWN &&
        shape->known->kind == DM_VALUE_ITEMS && shape->known->count == 2) {
        rows = (int)shape->known->items[0]->integer;
        cols = (int)shape->known->items[1]->integer;
        given = rows > 0 && cols > 0 && rows < 4096 && cols < 4096;
    }
    if (!given)
        return dm_lower_error(lw, c->ast, "matrix(..., shape=(2, 3))",
                              "the matrix's shape is not known");
    return dm_lower_construct(
        lw, c->ast, dm_type_mat(lw->lang, rows, cols, (dm_scalar)dtype->scalar), rest, none, count);
}
