/* SPDX-License-Identifier: MIT */
/* fold.c - constant folding. Integers wrap as their type does and float32 is rounded after each
 * operation, so that the result equals what the program would compute. */
#include "lang/ir/lower.h"

#include <math.h>
#include <string.h>

static bool fold_int(dm_row_number row, dm_scalar scalar, int64_t a, int64_t b, int64_t *out)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    if (row == DM_ROW_ADD)
        *out = (int64_t)(x + y);
    else if (row == DM_ROW_SUB)
        *out = (int64_t)(x - y);
    else if (row == DM_ROW_MUL)
        *out = (int64_t)(x * y);
    else if (row == DM_ROW_BIT_AND)
        *out = a & b;
    else if (row == DM_ROW_BIT_OR)
        *out = a | b;
    else if (row == DM_ROW_BIT_XOR)
        *out = a ^ b;
    else if (row == DM_ROW_LSHIFT && b >= 0 && b < dm_scalar_bytes(scalar) * 8)
        *out = (int64_t)(x << y);
    else if ((row == DM_ROW_DIV || row == DM_ROW_FLOORDIV || row == DM_ROW_MOD) && b > 0 && a >= 0)
        *out = row == DM_ROW_MOD ? a % b : a / b;
    else if (row == DM_ROW_MIN && scalar != DM_U64)
        *out = a < b ? a : b;
    else if (row == DM_ROW_MAX && scalar != DM_U64)
        *out = a > b ? a : b;
    else
        return false;
    return true;
}

static bool fold_real(dm_row_number row, bool narrow, double a, double b, double *out)
{
    if (narrow) {
        a = (float)a;
        b = (float)b;
    }
    if (row == DM_ROW_ADD)
        *out = a + b;
    else if (row == DM_ROW_SUB)
        *out = a - b;
    else if (row == DM_ROW_MUL)
        *out = a * b;
    else if (row == DM_ROW_DIV && b != 0)
        *out = a / b;
    else
        return false;
    if (narrow)
        *out = (float)*out;
    return isfinite(*out);
}

static bool fold_compare(dm_row_number row, const dm_type *type, const dm_ir_op *a,
                         const dm_ir_op *b, bool *out)
{
    bool less, equal;
    if (dm_type_is_float(type)) {
        bool narrow = type->scalar == DM_F32;
        double x = narrow ? (float)a->real : a->real, y = narrow ? (float)b->real : b->real;
        if (isnan(x) || isnan(y))
            return false;
        less = x < y;
        equal = x == y;
    } else {
        less = type->scalar == DM_U64 ? (uint64_t)a->integer < (uint64_t)b->integer
                                      : a->integer < b->integer;
        equal = a->integer == b->integer;
    }
    if (row == DM_ROW_LT)
        *out = less;
    else if (row == DM_ROW_LE)
        *out = less || equal;
    else if (row == DM_ROW_GT)
        *out = !less && !equal;
    else if (row == DM_ROW_GE)
        *out = !less;
    else if (row == DM_ROW_EQ)
        *out = equal;
    else if (row == DM_ROW_NE)
        *out = !equal;
    else
        return false;
    return true;
}

/* No unsigned number is below zero, and a C compiler warns about the comparison. */
static bool fold_below_zero(dm_row_number row, const dm_type *type, const dm_ir_op *a,
                            const dm_ir_op *b, bool *out)
{
    if (!dm_type_is_int(type) || dm_scalar_is_signed((dm_scalar)type->scalar))
        return false;
    bool left = a != NULL && a->integer == 0, right = b != NULL && b->integer == 0;
    *out = (left && row == DM_ROW_LE) || (right && row == DM_ROW_GE);
    return *out || (left && row == DM_ROW_GT) || (right && row == DM_ROW_LT);
}

static bool fold_unary(dm_ir_builder *b, dm_row_number row, const dm_type *type, const dm_ir_op *x,
                       dm_val *out)
{
    if (row == DM_ROW_POS)
        *out = x->result;
    else if (row == DM_ROW_NEG && dm_type_is_float(type))
        *out = dm_ir_real(b, type, -x->real);
    else if (row == DM_ROW_NEG)
        *out = dm_ir_int(b, type, (int64_t)(0 - (uint64_t)x->integer));
    else if (row == DM_ROW_NOT)
        *out = dm_ir_bool(b, dm_type_is_float(type) ? x->real == 0 : x->integer == 0);
    else
        return false;
    return true;
}

bool dm_fold(dm_ir_builder *b, const dm_bind *bind, const dm_val *args, int count, dm_val *out)
{
    dm_row_number row = bind->row->number;
    const dm_ir_function *f = b->function;
    if (count < 1 || bind->args[0]->kind != DM_TYPE_SCALAR)
        return false;
    const dm_ir_op *x = dm_ir_const(f, args[0]);
    if (count == 1 && x != NULL) {
        bool folded = fold_unary(b, row, bind->args[0], x, out);
        if (folded && dm_ir_const(f, *out) != NULL)
            f->values[*out].def->is_literal = x->is_literal;
        return folded;
    }
    const dm_ir_op *y = count == 2 ? dm_ir_const(f, args[1]) : NULL;
    if (x == NULL && y == NULL)
        return false;
    if (row == DM_ROW_WHERE && x != NULL) {
        *out =
            (dm_type_is_float(bind->args[0]) ? x->real != 0 : x->integer != 0) ? args[1] : args[2];
        return true;
    }
    if (row == DM_ROW_AND || row == DM_ROW_OR) {
        bool is_or = row == DM_ROW_OR;
        if (x != NULL)
            *out = (x->integer != 0) == is_or ? args[0] : args[1];
        else if (y != NULL && (y->integer != 0) != is_or)
            *out = args[0];
        else
            return false;
        return true;
    }
    if (count != 2 || bind->args[1] != bind->args[0])
        return false;
    const dm_type *type = bind->args[0];
    bool truth, is_float = dm_type_is_float(type);
    if (fold_below_zero(row, type, x, y, &truth)) {
        *out = dm_ir_bool(b, truth);
        return true;
    }
    if (x == NULL || y == NULL)
        return false;
    if (fold_compare(row, type, x, y, &truth)) {
        *out = dm_ir_bool(b, truth);
        return true;
    }
    int64_t integer;
    double real;
    if (is_float && fold_real(row, type->scalar == DM_F32, x->real, y->real, &real)) {
        *out = dm_ir_real(b, type, real);
        return true;
    }
    if (!is_float && type->scalar != DM_BOOL &&
        fold_int(row, (dm_scalar)type->scalar, x->integer, y->integer, &integer)) {
        *out = dm_ir_int(b, type, integer);
        return true;
    }
    return false;
}
