/* SPDX-License-Identifier: MIT */
/* fold.c - operators on constants, worked out while compiling: integers as their type wraps,
 * float32 rounded after each operation, so that the result is the one the program would have had.
 */
#include "lang/lower.h"

#include <math.h>
#include <string.h>

static bool fold_int(const char *name, dm_scalar scalar, int64_t a, int64_t b, int64_t *out)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    if (strcmp(name, "add") == 0)
        *out = (int64_t)(x + y);
    else if (strcmp(name, "sub") == 0)
        *out = (int64_t)(x - y);
    else if (strcmp(name, "mul") == 0)
        *out = (int64_t)(x * y);
    else if (strcmp(name, "bit_and") == 0)
        *out = a & b;
    else if (strcmp(name, "bit_or") == 0)
        *out = a | b;
    else if (strcmp(name, "bit_xor") == 0)
        *out = a ^ b;
    else if (strcmp(name, "lshift") == 0 && b >= 0 && b < dm_scalar_bytes(scalar) * 8)
        *out = (int64_t)(x << y);
    else if ((strcmp(name, "div") == 0 || strcmp(name, "floordiv") == 0 ||
              strcmp(name, "mod") == 0) &&
             b > 0 && a >= 0)
        *out = name[0] == 'm' ? a % b : a / b;
    else if (strcmp(name, "min") == 0 && scalar != DM_U64)
        *out = a < b ? a : b;
    else if (strcmp(name, "max") == 0 && scalar != DM_U64)
        *out = a > b ? a : b;
    else
        return false;
    return true;
}

static bool fold_real(const char *name, bool narrow, double a, double b, double *out)
{
    if (narrow) {
        a = (float)a;
        b = (float)b;
    }
    if (strcmp(name, "add") == 0)
        *out = a + b;
    else if (strcmp(name, "sub") == 0)
        *out = a - b;
    else if (strcmp(name, "mul") == 0)
        *out = a * b;
    else if (strcmp(name, "div") == 0 && b != 0)
        *out = a / b;
    else
        return false;
    if (narrow)
        *out = (float)*out;
    return isfinite(*out);
}

static bool fold_compare(const char *name, const dm_type *type, const dm_ir_op *a,
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
    if (strcmp(name, "_lt") == 0)
        *out = less;
    else if (strcmp(name, "_le") == 0)
        *out = less || equal;
    else if (strcmp(name, "_gt") == 0)
        *out = !less && !equal;
    else if (strcmp(name, "_ge") == 0)
        *out = !less;
    else if (strcmp(name, "_eq") == 0)
        *out = equal;
    else if (strcmp(name, "_ne") == 0)
        *out = !equal;
    else
        return false;
    return true;
}

/* No unsigned number is below zero; a C compiler warns of a text that asks. */
static bool fold_below_zero(const char *name, const dm_type *type, const dm_ir_op *a,
                            const dm_ir_op *b, bool *out)
{
    if (!dm_type_is_int(type) || dm_scalar_is_signed((dm_scalar)type->scalar))
        return false;
    bool left = a != NULL && a->integer == 0, right = b != NULL && b->integer == 0;
    *out = (left && strcmp(name, "_le") == 0) || (right && strcmp(name, "_ge") == 0);
    return *out || (left && strcmp(name, "_gt") == 0) || (right && strcmp(name, "_lt") == 0);
}

static bool fold_unary(dm_ir_builder *b, const char *name, const dm_type *type, const dm_ir_op *x,
                       dm_val *out)
{
    if (strcmp(name, "pos") == 0)
        *out = x->result;
    else if (strcmp(name, "neg") == 0 && dm_type_is_float(type))
        *out = dm_ir_real(b, type, -x->real);
    else if (strcmp(name, "neg") == 0)
        *out = dm_ir_int(b, type, (int64_t)(0 - (uint64_t)x->integer));
    else if (strcmp(name, "unot") == 0)
        *out = dm_ir_bool(b, dm_type_is_float(type) ? x->real == 0 : x->integer == 0);
    else
        return false;
    return true;
}

bool dm_fold(dm_ir_builder *b, const dm_bind *bind, const dm_val *args, int count, dm_val *out)
{
    const dm_builtin *row = bind->row;
    const dm_ir_function *f = b->function;
    if (count < 1 || bind->args[0]->kind != DM_TYPE_SCALAR)
        return false;
    const dm_ir_op *x = dm_ir_const(f, args[0]);
    if (count == 1 && x != NULL) {
        bool folded = fold_unary(b, row->name, bind->args[0], x, out);
        if (folded && dm_ir_const(f, *out) != NULL)
            f->values[*out].def->is_literal = x->is_literal;
        return folded;
    }
    const dm_ir_op *y = count == 2 ? dm_ir_const(f, args[1]) : NULL;
    if (x == NULL && y == NULL)
        return false;
    if (strcmp(row->name, "where") == 0 && x != NULL) {
        *out =
            (dm_type_is_float(bind->args[0]) ? x->real != 0 : x->integer != 0) ? args[1] : args[2];
        return true;
    }
    if (strcmp(row->name, "_and") == 0 || strcmp(row->name, "_or") == 0) {
        bool is_or = row->name[1] == 'o';
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
    if (fold_below_zero(row->name, type, x, y, &truth)) {
        *out = dm_ir_bool(b, truth);
        return true;
    }
    if (x == NULL || y == NULL)
        return false;
    if (fold_compare(row->name, type, x, y, &truth)) {
        *out = dm_ir_bool(b, truth);
        return true;
    }
    int64_t integer;
    double real;
    if (is_float && fold_real(row->name, type->scalar == DM_F32, x->real, y->real, &real)) {
        *out = dm_ir_real(b, type, real);
        return true;
    }
    if (!is_float && type->scalar != DM_BOOL &&
        fold_int(row->name, (dm_scalar)type->scalar, x->integer, y->integer, &integer)) {
        *out = dm_ir_int(b, type, integer);
        return true;
    }
    return false;
}
