/* SPDX-License-Identifier: MIT */
/* vector.c - values that are vectors, matrices and quaternions. */
#include "synth/gen/expression.h"

/* ---- Vectors, matrices, quaternions ---- */

static int made_vector(dm_gen *g, dm_gen_type type, int size)
{
    int kids[4] = {0}, rows = dm_gen_rows(type), share = size / rows;
    for (int i = 0; i < rows; i++)
        kids[i] = dm_gen_value(g, dm_gen_scalar_of(type), share > 1 ? share : 1);
    if (dm_gen_is_constant(g, kids[0]))
        kids[0] = dm_gen_leaf(g, dm_gen_scalar_of(type));
    return dm_gen_make(g, type, kids, rows);
}

/* Away from zero, so that it can be normalized. */
static int safe_direction(dm_gen *g, int node)
{
    dm_gen_node *n = dm_gen_at(g, node);
    if (!dm_gen_has_zero(n->span, 0.1f))
        return node;
    int kids[4], rows = dm_gen_rows(n->type);
    dm_gen_type type = n->type;
    float far = dm_gen_most(n->span) + 0.5f;
    for (int i = 0; i < rows; i++)
        kids[i] = dm_gen_constant(g, dm_gen_kind(type), far + (float)i * 0.5f);
    return dm_gen_binary(g, DM_GEN_OP_ADD, type, node, dm_gen_make(g, type, kids, rows));
}

enum {
    VEC_ADD,
    VEC_SUB,
    VEC_SCALE,
    VEC_OVER,
    VEC_CW_MUL,
    VEC_NORMALIZE,
    VEC_CROSS,
    VEC_MATRIX,
    VEC_MAKE,
    VEC_NEG,
    VEC_SELECT,
    VEC_LERP,
    VEC_CALL,
    VEC_ROTATE,
    VEC_MIN,
    VEC_DIAG,
    VEC_ABS,
    VEC_KINDS
};

int dm_gen_vector_value(dm_gen *g, dm_gen_type type, int size)
{
    const dm_gen_recipe *r = g->recipe;
    bool three = dm_gen_shape(type) == DM_GEN_VEC3;
    uint8_t weights[VEC_KINDS] = {
        [VEC_ADD] = 24,
        [VEC_SUB] = 22,
        [VEC_SCALE] = 30,
        [VEC_OVER] = 8,
        [VEC_CW_MUL] = 8,
        [VEC_NORMALIZE] = 10,
        [VEC_MAKE] = 14,
        [VEC_NEG] = 4,
        [VEC_SELECT] = r->select / 2,
        [VEC_LERP] = 3,
        [VEC_MIN] = 4,
        [VEC_ABS] = 3,
        [VEC_CROSS] = three ? 14 : 0,
        [VEC_MATRIX] = r->matrix > 0 ? 24 : 2,
        [VEC_DIAG] = r->matrix > 0 ? 6 : 0,
        [VEC_CALL] = g->function_count > 0 ? r->call : 0,
        [VEC_ROTATE] = three && r->shapes[DM_GEN_QUAT] > 0 ? 20 : 0,
    };
    dm_gen_type scalar = dm_gen_scalar_of(type);
    dm_gen_type matrix = dm_gen_type_of(DM_GEN_MAT22 + dm_gen_rows(type) - 2, dm_gen_kind(type));
    int a, b, made;
    switch (dm_gen_pick(g, weights, VEC_KINDS)) {
    case VEC_ADD:
        return dm_gen_linear(g, type, size, DM_GEN_OP_ADD);
    case VEC_SUB:
        return dm_gen_linear(g, type, size, DM_GEN_OP_SUB);
    case VEC_OVER:
        dm_gen_operands(g, type, scalar, size, &a, &b);
        return dm_gen_binary(g, DM_GEN_OP_DIV, type, a, dm_gen_divisor(g, b));
    case VEC_CW_MUL:
        dm_gen_operands(g, type, type, size, &a, &b);
        return dm_gen_binary(g, DM_GEN_OP_CW_MUL, type, dm_gen_fit(g, a, 20), dm_gen_fit(g, b, 20));
    case VEC_NORMALIZE:
        a = safe_direction(g, dm_gen_varying(g, type, size - 1));
        return dm_gen_unary(g, DM_GEN_OP_NORMALIZE, type, a);
    case VEC_CROSS:
        dm_gen_operands(g, type, type, size, &a, &b);
        if (dm_gen_same(g, dm_gen_stripped(g, a), dm_gen_stripped(g, b)))
            return dm_gen_binary(g, DM_GEN_OP_ADD, type, a, b);
        return dm_gen_binary(g, DM_GEN_OP_CROSS, type, dm_gen_fit(g, a, 15), dm_gen_fit(g, b, 15));
    case VEC_MATRIX:
        dm_gen_operands(g, matrix, type, size, &a, &b);
        return dm_gen_product(g, type, a, b);
    case VEC_MAKE:
        return made_vector(g, type, size);
    case VEC_NEG:
        return dm_gen_unary(g, DM_GEN_OP_NEG, type, dm_gen_varying(g, type, size - 1));
    case VEC_SELECT:
        return dm_gen_selection(g, type, size);
    case VEC_LERP:
        dm_gen_operands(g, type, type, size, &a, &b);
        return dm_gen_ternary(g, DM_GEN_OP_LERP, type, a, b, dm_gen_fraction(g, type));
    case VEC_MIN:
        dm_gen_operands(g, type, type, size, &a, &b);
        if (dm_gen_same(g, a, b))
            return dm_gen_binary(g, DM_GEN_OP_ADD, type, a, b);
        return dm_gen_binary(g, dm_gen_chance(g, 50) ? DM_GEN_OP_MIN : DM_GEN_OP_MAX, type, a, b);
    case VEC_ABS:
        return dm_gen_unary(g, DM_GEN_OP_ABS, type, dm_gen_varying(g, type, size - 1));
    case VEC_DIAG:
        return dm_gen_unary(g, DM_GEN_OP_GET_DIAG, type, dm_gen_varying(g, matrix, size - 1));
    case VEC_ROTATE:
        dm_gen_operands(g, dm_gen_type_of(DM_GEN_QUAT, dm_gen_kind(type)), type, size, &a, &b);
        return dm_gen_binary(
            g, dm_gen_chance(g, 70) ? DM_GEN_OP_QUAT_ROTATE : DM_GEN_OP_QUAT_ROTATE_INV, type,
            dm_gen_fit(g, a, 2), dm_gen_fit(g, b, 4));
    case VEC_CALL:
        made = dm_gen_call(g, type, size);
        if (made >= 0)
            return made;
        break;
    default:
        break;
    }
    dm_gen_operands(g, type, scalar, size, &a, &b);
    return dm_gen_chance(g, 50) ? dm_gen_product(g, type, a, b) : dm_gen_product(g, type, b, a);
}

/* A matrix near the identity, that has an inverse. */
static int invertible(dm_gen *g, dm_gen_type type, int node)
{
    int rows = dm_gen_rows(type);
    int diagonal = dm_gen_constant(g, dm_gen_kind(type), (float)rows + 1);
    int strong = dm_gen_binary(g, DM_GEN_OP_MUL, type, dm_gen_identity(g, type), diagonal);
    return dm_gen_binary(g, DM_GEN_OP_ADD, type, dm_gen_fit(g, node, 0.9f), strong);
}

static int made_matrix(dm_gen *g, dm_gen_type type)
{
    int kids[16] = {0}, rows = dm_gen_rows(type);
    for (int i = 0; i < rows * rows; i++)
        kids[i] = i % (rows + 1) == 0 || dm_gen_chance(g, 40)
                      ? dm_gen_some_leaf(g, dm_gen_scalar_of(type), true)
                      : dm_gen_some_constant(g, dm_gen_kind(type), 0, 1);
    if (dm_gen_is_constant(g, kids[0]))
        kids[0] = dm_gen_leaf(g, dm_gen_scalar_of(type));
    return dm_gen_make(g, type, kids, rows * rows);
}

enum {
    MAT_ADD,
    MAT_SUB,
    MAT_PRODUCT,
    MAT_SCALE,
    MAT_TRANSPOSE,
    MAT_OUTER,
    MAT_DIAG,
    MAT_SKEW,
    MAT_CW_MUL,
    MAT_INVERSE,
    MAT_MAKE,
    MAT_CALL,
    MAT_SELECT,
    MAT_KINDS
};

int dm_gen_matrix_value(dm_gen *g, dm_gen_type type, int size)
{
    int rows = dm_gen_rows(type), kind = dm_gen_kind(type), a, b, made;
    dm_gen_type vector = dm_gen_type_of(DM_GEN_VEC2 + rows - 2, kind);
    uint8_t weights[MAT_KINDS] = {[MAT_ADD] = 20,
                                  [MAT_SUB] = 16,
                                  [MAT_PRODUCT] = 26,
                                  [MAT_SCALE] = 22,
                                  [MAT_TRANSPOSE] = 14,
                                  [MAT_OUTER] = 14,
                                  [MAT_DIAG] = 6,
                                  [MAT_SKEW] = rows == 3 ? 8 : 0,
                                  [MAT_CW_MUL] = 6,
                                  [MAT_INVERSE] = 6,
                                  [MAT_MAKE] = rows == 2 ? 10 : 2,
                                  [MAT_SELECT] = g->recipe->select / 4,
                                  [MAT_CALL] = g->function_count > 0 ? g->recipe->call : 0};
    switch (dm_gen_pick(g, weights, MAT_KINDS)) {
    case MAT_ADD:
        return dm_gen_linear(g, type, size, DM_GEN_OP_ADD);
    case MAT_SUB:
        return dm_gen_linear(g, type, size, DM_GEN_OP_SUB);
    case MAT_PRODUCT:
        return dm_gen_linear(g, type, size, DM_GEN_OP_MUL);
    case MAT_TRANSPOSE:
        return dm_gen_unary(g, DM_GEN_OP_TRANSPOSE, type, dm_gen_varying(g, type, size - 1));
    case MAT_OUTER:
        dm_gen_operands(g, vector, vector, size, &a, &b);
        return dm_gen_binary(g, DM_GEN_OP_OUTER, type, dm_gen_fit(g, a, 15), dm_gen_fit(g, b, 15));
    case MAT_DIAG:
        return dm_gen_unary(g, DM_GEN_OP_DIAG, type, dm_gen_varying(g, vector, size - 1));
    case MAT_SKEW:
        return dm_gen_unary(g, DM_GEN_OP_SKEW, type, dm_gen_varying(g, vector, size - 1));
    case MAT_CW_MUL:
        dm_gen_operands(g, type, type, size, &a, &b);
        return dm_gen_binary(g, DM_GEN_OP_CW_MUL, type, dm_gen_fit(g, a, 20), dm_gen_fit(g, b, 20));
    case MAT_INVERSE:
        a = invertible(g, type, dm_gen_varying(g, type, size - 1));
        return dm_gen_unary(g, DM_GEN_OP_INVERSE, type, a);
    case MAT_MAKE:
        return made_matrix(g, type);
    case MAT_SELECT:
        return dm_gen_selection(g, type, size);
    case MAT_CALL:
        made = dm_gen_call(g, type, size);
        if (made >= 0)
            return made;
        break;
    default:
        break;
    }
    dm_gen_operands(g, type, dm_gen_scalar_of(type), size, &a, &b);
    return dm_gen_chance(g, 50) ? dm_gen_product(g, type, a, b) : dm_gen_product(g, type, b, a);
}

int dm_gen_quat_value(dm_gen *g, dm_gen_type type, int size)
{
    int kind = dm_gen_kind(type), a, b;
    switch (dm_gen_below(g, 4)) {
    case 0:
        dm_gen_operands(g, type, type, size, &a, &b);
        return dm_gen_product(g, type, dm_gen_fit(g, a, 3), dm_gen_fit(g, b, 3));
    case 1:
        return dm_gen_unary(g, DM_GEN_OP_QUAT_INVERSE, type, dm_gen_varying(g, type, size - 1));
    case 2:
        a = safe_direction(g, dm_gen_value(g, dm_gen_type_of(DM_GEN_VEC3, kind), size / 2));
        a = dm_gen_unary(g, DM_GEN_OP_NORMALIZE, dm_gen_type_at(g, a), a);
        b = dm_gen_fit(g, dm_gen_value(g, dm_gen_type_of(DM_GEN_SCALAR, kind), size / 2), 3);
        return dm_gen_binary(g, DM_GEN_OP_QUAT_AXIS_ANGLE, type, a, b);
    default:
        a = dm_gen_leaf(g, type);
        if (dm_gen_at(g, a)->op == DM_GEN_OP_MAKE)
            return a;
        return dm_gen_unary(g, DM_GEN_OP_NORMALIZE, type, a);
    }
}
