/* SPDX-License-Identifier: MIT */
/* lower_index.c - parts of values and arrays: attributes, indices, slices. See lower.h. */
#include "lang/ir/lower.h"

#include <string.h>

/* ---- Attributes ---- */

int dm_lower_component(const dm_type *type, const char *name)
{
    static const char letters[] = "xyzw";
    if ((type->kind != DM_TYPE_VEC && type->kind != DM_TYPE_QUAT) || name[1] != '\0')
        return -1;
    const char *found = strchr(letters, name[0]);
    int index = found == NULL || *found == '\0' ? -1 : (int)(found - letters);
    return index < type->rows ? index : -1;
}

/* The translation or rotation of a transform. */
static dm_val transform_part(dm_lower *lw, dm_val value, bool rotation)
{
    dm_scalar scalar = (dm_scalar)dm_lower_type(lw, value)->scalar;
    dm_val parts[4];
    int first = rotation ? 3 : 0, count = rotation ? 4 : 3;
    for (int i = 0; i < count; i++)
        parts[i] = dm_ir_extract_at(&lw->b, value, first + i);
    return dm_ir_make(&lw->b,
                      rotation ? dm_type_quat(lw->lang, scalar) : dm_type_vec(lw->lang, 3, scalar),
                      parts, count);
}

static dm_operand shape_operand(dm_lower *lw, dm_val array)
{
    const dm_type *type = dm_lower_type(lw, array), *i32 = dm_type_scalar(lw->lang, DM_I32);
    dm_operand *items = dm_lang_alloc_array(lw->lang, 4, sizeof *items);
    for (int i = 0; i < type->ndim; i++) {
        dm_val args[] = {array, dm_ir_int(&lw->b, i32, i)};
        dm_val size = dm_ir_simple(&lw->b, DM_IR_SHAPE, args, 2, i32);
        items[i] = dm_lower_value_operand(size);
    }
    return (dm_operand){
        .kind = DM_OPERAND_ITEMS, .items = items, .count = type->ndim, .value = DM_VAL_NONE};
}

dm_operand dm_lower_attribute(dm_lower *lw, const dm_ast *at, const dm_operand *base,
                              const char *name)
{
    if (base->kind == DM_OPERAND_ERROR)
        return DM_OPERAND_BAD;
    if (base->kind == DM_OPERAND_KNOWN) {
        const dm_value *member = dm_value_member(lw->scope, base->known, name);
        if (member != NULL)
            return dm_lower_known(member);
        if (base->known->kind != DM_VALUE_NUMBERS && base->known->kind != DM_VALUE_SCALAR)
            return dm_lower_error(lw, at, NULL,
                                  base->known->kind == DM_VALUE_UNKNOWN
                                      ? "'%s' of something that is not known here"
                                      : "it has no member '%s'",
                                  name);
    }
    dm_val value;
    if (!dm_lower_materialize(lw, at, base, &value))
        return DM_OPERAND_BAD;
    const dm_type *type = dm_lower_type(lw, value);
    int index = dm_lower_component(type, name);
    if (index >= 0)
        return dm_lower_value_operand(dm_ir_extract_at(&lw->b, value, index));
    if (type->kind == DM_TYPE_TRANSFORM && (strcmp(name, "p") == 0 || strcmp(name, "q") == 0))
        return dm_lower_value_operand(transform_part(lw, value, name[0] == 'q'));
    if (type->kind == DM_TYPE_ARRAY && strcmp(name, "shape") == 0)
        return shape_operand(lw, value);
    if (type->kind == DM_TYPE_ARRAY && strcmp(name, "dtype") == 0)
        return dm_lower_known(dm_value_type(lw->lang, type->element));
    if (type->kind == DM_TYPE_ARRAY && strcmp(name, "ndim") == 0)
        return dm_lower_value_operand(
            dm_ir_int(&lw->b, dm_type_scalar(lw->lang, DM_I32), type->ndim));
    if (type->kind == DM_TYPE_ARRAY && strcmp(name, "size") == 0) {
        dm_operand shape = shape_operand(lw, value);
        dm_val size = shape.items[0].value;
        for (int i = 1; i < shape.count; i++)
            size = dm_lower_binary(lw, at, DM_TOK_STAR, size, shape.items[i].value).value;
        return dm_lower_value_operand(size);
    }
    if ((dm_type_is_numeric(type) || dm_type_is_scalar(type)) && strcmp(name, "dtype") == 0)
        return dm_lower_known(
            dm_value_type(lw->lang, dm_type_scalar(lw->lang, (dm_scalar)type->scalar)));
    int field = type->kind == DM_TYPE_STRUCT ? dm_type_field(type, name) : -1;
    if (field >= 0)
        return dm_lower_value_operand(dm_ir_field(&lw->b, value, field));
    return dm_lower_error(lw, at, NULL, "%s has no '%s'", type->name, name);
}

/* ---- Indexing ---- */

/* -1 is the last: constant indices are checked, others wrap when the program runs. */
static bool constant_index(dm_lower *lw, const dm_ast *at, dm_val *index, int length)
{
    int64_t number;
    if (!dm_ir_const_int(lw->function, *index, &number))
        return true;
    if (number < -length || number >= length) {
        dm_lower_error(lw, at, NULL, "index %lld is outside of 0 to %d", (long long)number,
                       length - 1);
        return false;
    }
    if (number < 0)
        *index = dm_ir_int(&lw->b, dm_type_scalar(lw->lang, DM_I32), number + length);
    return true;
}

static bool lower_index_value(dm_lower *lw, const dm_ast *ast, dm_val *out)
{
    if (!dm_lower_value(lw, ast, out))
        return false;
    const dm_type *type = dm_lower_type(lw, *out);
    if (!dm_type_is_int(type)) {
        dm_lower_error(lw, ast, "convert it with int(...)", "an index must be an integer, not %s",
                       type->name);
        return false;
    }
    *out = dm_ir_cast(&lw->b, *out, dm_type_scalar(lw->lang, DM_I32));
    return true;
}

/* first and count of a slice with constant bounds */
static bool constant_slice(dm_lower *lw, const dm_ast *slice, int length, int *first, int *count,
                           int *step)
{
    const dm_ast *parts[] = {slice->a, slice->b, slice->c};
    int64_t numbers[] = {0, length, 1};
    bool given[3] = {false, false, false};
    for (int i = 0; i < 3; i++) {
        dm_val value;
        if (parts[i] == NULL)
            continue;
        given[i] = true;
        if (!dm_lower_value(lw, parts[i], &value))
            return false;
        if (!dm_ir_const_int(lw->function, value, &numbers[i])) {
            dm_lower_error(lw, parts[i], NULL, "a slice of a vector needs constant bounds");
            return false;
        }
    }
    if (numbers[2] == 0) {
        dm_lower_error(lw, slice, NULL, "a slice cannot have step 0");
        return false;
    }
    int64_t low = numbers[2] > 0 ? 0 : -1, high = numbers[2] > 0 ? length : length - 1;
    if (numbers[2] < 0 && !given[0])
        numbers[0] = length - 1;
    if (numbers[2] < 0 && !given[1])
        numbers[1] = -1 - length; /* becomes -1 below */
    for (int i = 0; i < 2; i++) {
        numbers[i] += numbers[i] < 0 ? length : 0;
        numbers[i] = numbers[i] < low ? low : numbers[i] > high ? high : numbers[i];
    }
    *first = (int)numbers[0];
    *step = (int)numbers[2];
    *count = 0;
    for (int64_t at = numbers[0]; numbers[2] > 0 ? at < numbers[1] : at > numbers[1];
         at += numbers[2])
        (*count)++;
    if (*count == 0) {
        dm_lower_error(lw, slice, NULL, "this slice is empty");
        return false;
    }
    return true;
}

static dm_operand index_vector(dm_lower *lw, const dm_ast *at, dm_val base, const dm_ast *index)
{
    const dm_type *type = dm_lower_type(lw, base);
    int length = dm_type_components(type);
    if (index->kind == DM_AST_SLICE) {
        int first, count, step;
        if (!constant_slice(lw, index, length, &first, &count, &step))
            return DM_OPERAND_BAD;
        dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)count, sizeof *parts);
        for (int i = 0; i < count; i++)
            parts[i] = dm_ir_extract_at(&lw->b, base, first + i * step);
        return dm_lower_value_operand(dm_ir_make(
            &lw->b, dm_type_vec(lw->lang, count, (dm_scalar)type->scalar), parts, count));
    }
    dm_val which;
    if (!lower_index_value(lw, index, &which) || !constant_index(lw, index, &which, length))
        return DM_OPERAND_BAD;
    (void)at;
    return dm_lower_value_operand(dm_ir_extract(&lw->b, base, which));
}

/* The component number of row i, column j. */
static dm_val matrix_index(dm_lower *lw, const dm_ast *at, const dm_type *type, dm_val row, int col,
                           dm_val dynamic_col)
{
    const dm_type *i32 = dm_type_scalar(lw->lang, DM_I32);
    dm_val start =
        dm_lower_binary(lw, at, DM_TOK_STAR, row, dm_ir_int(&lw->b, i32, type->cols)).value;
    dm_val column = dynamic_col == DM_VAL_NONE ? dm_ir_int(&lw->b, i32, col) : dynamic_col;
    return dm_lower_binary(lw, at, DM_TOK_PLUS, start, column).value;
}

static dm_operand index_matrix(dm_lower *lw, const dm_ast *at, dm_val base,
                               const dm_ast *const *indices, int count)
{
    const dm_type *type = dm_lower_type(lw, base);
    dm_val row, col;
    for (int i = 0; i < count; i++)
        if (indices[i]->kind == DM_AST_SLICE)
            return dm_lower_error(lw, indices[i], NULL, "slices of matrices are not supported");
    if (!lower_index_value(lw, indices[0], &row) ||
        !constant_index(lw, indices[0], &row, type->rows))
        return DM_OPERAND_BAD;
    if (count == 2) {
        if (!lower_index_value(lw, indices[1], &col) ||
            !constant_index(lw, indices[1], &col, type->cols))
            return DM_OPERAND_BAD;
        return dm_lower_value_operand(
            dm_ir_extract(&lw->b, base, matrix_index(lw, at, type, row, 0, col)));
    }
    dm_val *parts = dm_lang_alloc_array(lw->lang, (size_t)type->cols, sizeof *parts);
    for (int j = 0; j < type->cols; j++)
        parts[j] = dm_ir_extract(&lw->b, base, matrix_index(lw, at, type, row, j, DM_VAL_NONE));
    return dm_lower_value_operand(dm_ir_make(
        &lw->b, dm_type_vec(lw->lang, type->cols, (dm_scalar)type->scalar), parts, type->cols));
}

/* a[i, 2:n, ::k]: a view with one start, end and step for each dimension that stays. */
static dm_operand slice_array(dm_lower *lw, const dm_ast *at, dm_val base,
                              const dm_ast *const *indices, int count)
{
    const dm_type *type = dm_lower_type(lw, base), *i32 = dm_type_scalar(lw->lang, DM_I32);
    dm_val args[1 + 12];
    int used = 0, mask = 0, stays = 0;
    args[used++] = base;
    for (int i = 0; i < type->ndim; i++) {
        const dm_ast *index = i < count ? indices[i] : NULL;
        bool plain = index != NULL && index->kind != DM_AST_SLICE;
        dm_val shape_args[] = {base, dm_ir_int(&lw->b, i32, i)};
        dm_val size = dm_ir_simple(&lw->b, DM_IR_SHAPE, shape_args, 2, i32);
        dm_val parts[3] = {dm_ir_int(&lw->b, i32, 0), size, dm_ir_int(&lw->b, i32, 1)};
        const dm_ast *given[3] = {NULL, NULL, NULL};
        if (plain) {
            mask |= 1 << i;
            given[0] = index;
        } else if (index != NULL) {
            given[0] = index->a;
            given[1] = index->b;
            given[2] = index->c;
        }
        for (int k = 0; k < 3; k++)
            if (given[k] != NULL && !lower_index_value(lw, given[k], &parts[k]))
                return DM_OPERAND_BAD;
        int64_t step;
        if (given[2] != NULL && (!dm_ir_const_int(lw->function, parts[2], &step) || step <= 0))
            return dm_lower_error(lw, given[2], NULL,
                                  "the step of an array's slice must be a positive constant");
        memcpy(args + used, parts, sizeof parts);
        used += 3;
        stays += !plain;
    }
    (void)at;
    dm_ir_op *op = dm_ir_op_new(&lw->b, DM_IR_SLICE, args, used,
                                dm_type_array(lw->lang, stays, type->element));
    op->index = mask;
    return dm_lower_value_operand(op->result);
}

static dm_operand index_array(dm_lower *lw, const dm_ast *at, dm_val base,
                              const dm_ast *const *indices, int count)
{
    const dm_type *type = dm_lower_type(lw, base);
    dm_val args[5] = {base};
    if (count > type->ndim)
        return dm_lower_error(lw, at, NULL, "%d indices for an array of %d dimensions", count,
                              type->ndim);
    for (int i = 0; i < count; i++)
        if (indices[i]->kind == DM_AST_SLICE)
            return slice_array(lw, at, base, indices, count);
    for (int i = 0; i < count; i++)
        if (!lower_index_value(lw, indices[i], &args[i + 1]))
            return DM_OPERAND_BAD;
    bool whole = count == type->ndim;
    const dm_type *result =
        whole ? type->element : dm_type_array(lw->lang, type->ndim - count, type->element);
    return dm_lower_value_operand(
        dm_ir_simple(&lw->b, whole ? DM_IR_LOAD : DM_IR_VIEW, args, count + 1, result));
}

dm_operand dm_lower_index(dm_lower *lw, const dm_ast *at, dm_val base, const dm_ast *const *indices,
                          int count)
{
    const dm_type *type = dm_lower_type(lw, base);
    if (type->kind == DM_TYPE_ARRAY)
        return index_array(lw, at, base, indices, count);
    if (type->kind == DM_TYPE_MAT && count <= 2)
        return index_matrix(lw, at, base, indices, count);
    if (dm_type_is_numeric(type) && type->kind != DM_TYPE_MAT && count == 1)
        return index_vector(lw, at, base, indices[0]);
    int64_t number;
    dm_val index;
    if (type->kind == DM_TYPE_TUPLE && count == 1 && lower_index_value(lw, indices[0], &index)) {
        if (dm_ir_const_int(lw->function, index, &number) && number >= 0 &&
            number < type->field_count)
            return dm_lower_value_operand(dm_ir_field(&lw->b, base, (int)number));
        return dm_lower_error(lw, at, NULL, "a tuple's index must be a constant inside of it");
    }
    return dm_lower_error(lw, at, NULL, "%s cannot be indexed so", type->name);
}

dm_operand dm_lower_subscript(dm_lower *lw, const dm_ast *ast)
{
    dm_operand base = dm_lower_expr(lw, ast->a);
    if (base.kind == DM_OPERAND_ERROR)
        return base;
    const dm_operand *items = base.items;
    int count = base.count;
    dm_val index;
    if (base.kind == DM_OPERAND_KNOWN && base.known->kind == DM_VALUE_ITEMS && ast->count == 1) {
        int64_t number;
        if (!lower_index_value(lw, ast->items[0], &index))
            return DM_OPERAND_BAD;
        if (dm_ir_const_int(lw->function, index, &number) && number >= -base.known->count &&
            number < base.known->count)
            return dm_lower_known(
                base.known->items[number < 0 ? number + base.known->count : number]);
        return dm_lower_error(lw, ast, NULL, "a tuple's index must be a constant inside of it");
    }
    if (base.kind == DM_OPERAND_KNOWN &&
        (base.known->kind == DM_VALUE_GENERIC_CLASS || base.known->kind == DM_VALUE_TYPE))
        return dm_lower_known(dm_scope_eval(lw->scope, ast));
    if (base.kind == DM_OPERAND_ITEMS && ast->count == 1) {
        int64_t number;
        if (!lower_index_value(lw, ast->items[0], &index))
            return DM_OPERAND_BAD;
        if (!dm_ir_const_int(lw->function, index, &number) || number < -count || number >= count)
            return dm_lower_error(lw, ast, NULL, "a tuple's index must be a constant inside of it");
        return items[number < 0 ? number + count : number];
    }
    dm_val value;
    if (!dm_lower_materialize(lw, ast->a, &base, &value))
        return DM_OPERAND_BAD;
    return dm_lower_index(lw, ast, value, (const dm_ast *const *)ast->items, ast->count);
}
