/* SPDX-License-Identifier: MIT */
/* expression.c - values by type: which operation, and on what. Scalars are here, others in vector.c
 * and integer.c. */
#include "synth/gen/expression.h"

static const dm_gen_type int32 = DM_GEN_SCALAR << 4 | DM_GEN_I32;

/* Sums, differences and products of values of one type. */
int dm_gen_linear(dm_gen *g, dm_gen_type type, int size, dm_gen_op op)
{
    int a, b;
    dm_gen_operands(g, type, type, size, &a, &b);
    return dm_gen_combined(g, op, a, b);
}

static int arithmetic(dm_gen *g, dm_gen_type type, int size)
{
    dm_gen_op op = dm_gen_some_operation(g, DM_GEN_OPERATORS);
    int a, b;
    switch (op) {
    case DM_GEN_OP_DIV:
        dm_gen_operands(g, type, type, size, &a, &b);
        return dm_gen_combined(g, op, a, b);
    case DM_GEN_OP_NEG:
        a = dm_gen_value(g, type, size - 1);
        return dm_gen_is_constant(g, a) || dm_gen_at(g, a)->op == DM_GEN_OP_NEG
                   ? a
                   : dm_gen_unary(g, op, type, a);
    case DM_GEN_OP_POWER: {
        bool square = dm_gen_chance(g, 60);
        a = dm_gen_fit(g, dm_gen_value(g, type, size - 1), 5);
        if (dm_gen_is_constant(g, a))
            a = dm_gen_leaf(g, type);
        if (!square)
            a = dm_gen_positive(g, a, 0.2f);
        b = square ? dm_gen_constant(g, dm_gen_kind(type), dm_gen_chance(g, 70) ? 2 : 3)
                   : dm_gen_some_constant(g, dm_gen_kind(type), 0.5f, 2.5f);
        return dm_gen_binary(g, op, type, a, b);
    }
    case DM_GEN_OP_MOD:
        a = dm_gen_value(g, type, size - 1);
        if (dm_gen_is_constant(g, a))
            a = dm_gen_leaf(g, type);
        return dm_gen_binary(g, op, type, a,
                             dm_gen_some_constant(g, dm_gen_kind(type), 0.3f, 2.0f));
    default:
        return dm_gen_linear(g, type, size, op);
    }
}

/* The range that an argument is mapped to, so that the function is finite and its slope not zero. */
static int into_domain(dm_gen *g, dm_gen_op op, int a)
{
    switch (op) {
    case DM_GEN_OP_TAN:
        return dm_gen_fit(g, a, 1.2f);
    case DM_GEN_OP_ASIN:
    case DM_GEN_OP_ACOS:
        return dm_gen_fit(g, a, 0.9f);
    case DM_GEN_OP_ATAN:
    case DM_GEN_OP_SIN:
    case DM_GEN_OP_COS:
        return dm_gen_fit(g, a, 12);
    case DM_GEN_OP_SINH:
    case DM_GEN_OP_COSH:
    case DM_GEN_OP_TANH:
    case DM_GEN_OP_ERF:
    case DM_GEN_OP_EXP:
        return dm_gen_fit(g, a, 2.5f);
    case DM_GEN_OP_LOG:
    case DM_GEN_OP_LOG2:
    case DM_GEN_OP_LOG10:
    case DM_GEN_OP_SQRT:
    case DM_GEN_OP_CBRT:
        return dm_gen_positive(g, a, 0.1f);
    default:
        return a;
    }
}

static int clamp(dm_gen *g, dm_gen_type type, int a)
{
    dm_gen_span span = dm_gen_at(g, a)->span;
    float middle = (span.low + span.high) / 2, width = (span.high - span.low) / 2;
    int kind = dm_gen_kind(type);
    int low = dm_gen_constant(g, kind, middle - width * 0.4f);
    int high = dm_gen_constant(g, kind, middle + width * 0.4f);
    return dm_gen_ternary(g, DM_GEN_OP_CLAMP, type, a, low, high);
}

static int smoothstep(dm_gen *g, dm_gen_type type, int a)
{
    dm_gen_span span = dm_gen_at(g, a)->span;
    int kind = dm_gen_kind(type);
    int low = dm_gen_constant(g, kind, span.low - 0.1f);
    int high = dm_gen_constant(g, kind, span.high + 0.1f);
    int made = dm_gen_ternary(g, DM_GEN_OP_SMOOTHSTEP, type, low, high, a);
    /* The edges are outside of the range, so the slope is not lost. */
    dm_gen_at(g, made)->masks = dm_gen_at(g, a)->masks;
    dm_gen_at(g, made)->stuck = dm_gen_at(g, a)->stuck;
    return made;
}

/* A weight between 0 and 1. */
int dm_gen_fraction(dm_gen *g, dm_gen_type type)
{
    int kind = dm_gen_kind(type);
    return dm_gen_some_constant(g, kind, 0.1f, 0.9f);
}

static int function_call(dm_gen *g, dm_gen_type type, int size)
{
    dm_gen_op op = dm_gen_some_operation(g, DM_GEN_FUNCTIONS);
    int a, b;
    switch (op) {
    case DM_GEN_OP_MIN:
    case DM_GEN_OP_MAX:
        dm_gen_operands(g, type, type, size, &a, &b);
        if (dm_gen_same(g, a, b))
            return dm_gen_binary(g, DM_GEN_OP_MUL, type, dm_gen_fit(g, a, 10),
                                 dm_gen_fit(g, b, 10));
        return dm_gen_binary(g, op, type, a, b);
    case DM_GEN_OP_ATAN2:
        dm_gen_operands(g, type, type, size, &a, &b);
        if (dm_gen_same(g, a, b)) /* the angle would be one for all */
            b = dm_gen_some_constant(g, dm_gen_kind(type), 0.5f, 2.5f);
        return dm_gen_binary(g, op, type, a, dm_gen_positive(g, b, 0.2f));
    case DM_GEN_OP_POW:
        a = dm_gen_positive(g, dm_gen_fit(g, dm_gen_value(g, type, size - 1), 5), 0.2f);
        b = dm_gen_some_constant(g, dm_gen_kind(type), 0.5f, 2.5f);
        return dm_gen_binary(g, op, type, a, b);
    case DM_GEN_OP_LERP:
        dm_gen_operands(g, type, type, size, &a, &b);
        return dm_gen_ternary(g, op, type, a, b, dm_gen_fraction(g, type));
    default:
        break;
    }
    a = dm_gen_value(g, type, size - 1);
    if (dm_gen_is_constant(g, a))
        a = dm_gen_leaf(g, type);
    if (op == DM_GEN_OP_CLAMP)
        return clamp(g, type, a);
    if (op == DM_GEN_OP_SMOOTHSTEP)
        return smoothstep(g, type, a);
    return dm_gen_unary(g, op, type, into_domain(g, op, a));
}

/* `where(c, a, b)` or `a if c else b`. */
int dm_gen_selection(dm_gen *g, dm_gen_type type, int size)
{
    bool certain;
    int condition = dm_gen_condition(g, size / 3, &certain), a, b, made;
    dm_gen_operands(g, type, type, size - size / 3, &a, &b);
    if (dm_gen_same(g, a, b))
        b = dm_gen_value(g, type, 2);
    dm_gen_masks m = dm_gen_at(g, a)->masks, n = dm_gen_at(g, b)->masks;
    made = dm_gen_chance(g, 70) ? dm_gen_ternary(g, DM_GEN_OP_WHERE, type, condition, a, b)
                                : dm_gen_ternary(g, DM_GEN_OP_TERNARY, type, a, condition, b);
    if (certain)
        dm_gen_at(g, made)->masks = (dm_gen_masks){m.depends | n.depends, m.live | n.live,
                                                   m.plus | n.plus, m.minus | n.minus};
    return made;
}

/* ---- Calls of the file's own functions ---- */

static dm_gen_variable *some_instance(dm_gen *g)
{
    for (int i = dm_gen_last(g->frame); i >= 0; i = dm_gen_before(g->frame, i)) {
        dm_gen_variable *v = &g->frame->variables[i];
        if (dm_gen_shape(v->type) == DM_GEN_STRUCT && !v->hidden)
            return v;
    }
    return NULL;
}

int dm_gen_call(dm_gen *g, dm_gen_type type, int size)
{
    dm_gen_function *found = NULL;
    int seen = 0;
    for (int i = 0; i < g->function_count; i++)
        if (g->functions[i].result == type && dm_gen_below(g, ++seen) == 0)
            found = &g->functions[i];
    return found == NULL || g->call_depth > 0 ? -1 : dm_gen_call_of(g, found, size);
}

int dm_gen_call_of(dm_gen *g, dm_gen_function *found, int size)
{
    int args[4];
    for (int i = 0; i < found->param_count; i++) {
        if (dm_gen_shape(found->params[i]) == DM_GEN_STRUCT) {
            dm_gen_variable *instance = some_instance(g);
            if (instance == NULL)
                return -1;
            args[i] = dm_gen_name(g, instance);
            continue;
        }
        g->call_depth++;
        int share = size / found->param_count;
        int node = dm_gen_value(g, found->params[i], share > 1 ? share : 1);
        args[i] = dm_gen_fit(g, node, DM_GEN_ARGUMENT);
        g->call_depth--;
    }
    found->used = true;
    return dm_gen_user(g, found, args);
}

/* ---- Floats ---- */

static int vector_type(dm_gen *g, int kind)
{
    uint8_t weights[3] = {g->recipe->shapes[DM_GEN_VEC2], g->recipe->shapes[DM_GEN_VEC3],
                          g->recipe->shapes[DM_GEN_VEC4]};
    int rows = dm_gen_pick(g, weights, 3);
    return dm_gen_type_of(DM_GEN_VEC2 + (rows < 0 ? 1 : rows), kind);
}

static int matrix_type(dm_gen *g, int kind)
{
    uint8_t weights[3] = {g->recipe->shapes[DM_GEN_MAT22], g->recipe->shapes[DM_GEN_MAT33],
                          g->recipe->shapes[DM_GEN_MAT44]};
    int rows = dm_gen_pick(g, weights, 3);
    return dm_gen_type_of(DM_GEN_MAT22 + (rows < 0 ? 1 : rows), kind);
}

/* A vector is at right angles to its cross products, and a unit vector's square is 1. */
static int dot(dm_gen *g, dm_gen_type type, int a, int b)
{
    int kids[2] = {dm_gen_stripped(g, a), dm_gen_stripped(g, b)};
    bool nothing = dm_gen_same(g, kids[0], kids[1]) && dm_gen_at(g, kids[0])->unit;
    for (int i = 0; i < 2; i++) {
        const dm_gen_node *n = dm_gen_at(g, kids[i]);
        if (n->op == DM_GEN_OP_CROSS)
            nothing |= dm_gen_same(g, dm_gen_stripped(g, n->kids[0]), kids[1 - i]) ||
                       dm_gen_same(g, dm_gen_stripped(g, n->kids[1]), kids[1 - i]);
    }
    if (nothing)
        return dm_gen_component(g, b, dm_gen_below(g, dm_gen_rows(dm_gen_type_at(g, b))));
    return dm_gen_binary(g, DM_GEN_OP_DOT, type, a, b);
}

/* A number out of vectors. */
static int from_vector(dm_gen *g, dm_gen_type type, int size)
{
    dm_gen_type vector = (dm_gen_type)vector_type(g, dm_gen_kind(type));
    dm_gen_op op = dm_gen_some_operation(g, DM_GEN_OF_VECTORS);
    int a, b;
    if (op == DM_GEN_OP_DOT) {
        dm_gen_operands(g, vector, vector, size, &a, &b);
        return dot(g, type, dm_gen_fit(g, a, 12), dm_gen_fit(g, b, 12));
    }
    a = dm_gen_fit(g, dm_gen_varying(g, vector, size - 1), 12);
    if (op == DM_GEN_OP_COMPONENT) {
        if (dm_gen_at(g, a)->op == DM_GEN_OP_MAKE)
            return dm_gen_unary(g, DM_GEN_OP_LENGTH_SQ, type, a);
        return dm_gen_component(g, a, dm_gen_below(g, dm_gen_rows(vector)));
    }
    if (dm_gen_at(g, a)->unit)
        return dm_gen_component(g, a, dm_gen_below(g, dm_gen_rows(vector)));
    if (op == DM_GEN_OP_LENGTH && dm_gen_has_zero(dm_gen_at(g, a)->span, 0.1f))
        op = DM_GEN_OP_LENGTH_SQ;
    return dm_gen_unary(g, op, type, a);
}

static int from_matrix(dm_gen *g, dm_gen_type type, int size)
{
    dm_gen_type matrix = (dm_gen_type)matrix_type(g, dm_gen_kind(type));
    int rows = dm_gen_rows(matrix), a, b;
    switch (dm_gen_below(g, 5)) {
    case 0:
        dm_gen_operands(g, matrix, matrix, size, &a, &b);
        return dm_gen_binary(g, DM_GEN_OP_DDOT, type, dm_gen_fit(g, a, 5), dm_gen_fit(g, b, 5));
    case 1:
        a = dm_gen_varying(g, matrix, size - 1);
        return dm_gen_unary(g, DM_GEN_OP_DETERMINANT, type, dm_gen_fit(g, a, rows == 4 ? 1.5f : 2));
    case 2:
        a = dm_gen_varying(g, matrix, size - 1);
        return dm_gen_component(g, a, dm_gen_below(g, rows * rows));
    default:
        return dm_gen_unary(g, DM_GEN_OP_TRACE, type, dm_gen_varying(g, matrix, size - 1));
    }
}

static int from_integer(dm_gen *g, dm_gen_type type, int size)
{
    int a = dm_gen_value(g, int32, size - 1);
    if (dm_gen_is_constant(g, a))
        return dm_gen_leaf(g, type);
    return dm_gen_fit(g, dm_gen_cast(g, dm_gen_kind(type), a), 8);
}

enum {
    GROW_ARITHMETIC,
    GROW_MATH,
    GROW_VECTOR,
    GROW_MATRIX,
    GROW_SELECT,
    GROW_CALL,
    GROW_INTEGER,
    GROW_KINDS
};

static int float_value(dm_gen *g, dm_gen_type type, int size)
{
    const dm_gen_recipe *r = g->recipe;
    uint8_t weights[GROW_KINDS] = {r->arithmetic,
                                   r->math,
                                   r->vector,
                                   r->matrix,
                                   r->select,
                                   g->function_count > 0 ? r->call : 0,
                                   g->frame->kernel ? r->integer : 0};
    int made = -1;
    switch (dm_gen_pick(g, weights, GROW_KINDS)) {
    case GROW_MATH:
        made = function_call(g, type, size);
        break;
    case GROW_VECTOR:
        made = from_vector(g, type, size);
        break;
    case GROW_MATRIX:
        made = from_matrix(g, type, size);
        break;
    case GROW_SELECT:
        made = size < 3 ? -1 : dm_gen_selection(g, type, size);
        break;
    case GROW_CALL:
        made = dm_gen_call(g, type, size);
        break;
    case GROW_INTEGER:
        made = from_integer(g, type, size);
        break;
    default:
        break;
    }
    return made >= 0 ? made : arithmetic(g, type, size);
}

int dm_gen_value(dm_gen *g, dm_gen_type type, int size)
{
    if (size <= 1 || g->node_count > DM_GEN_NODES_MAX / 2)
        return dm_gen_some_leaf(g, type, true);
    if (!dm_gen_kind_is_float(dm_gen_kind(type)))
        return dm_gen_shape(type) == DM_GEN_SCALAR ? dm_gen_integer_value(g, type, size)
                                                   : dm_gen_leaf(g, type);
    int made = dm_gen_shape(type) == DM_GEN_SCALAR ? float_value(g, type, size)
               : dm_gen_is_vec(type)               ? dm_gen_vector_value(g, type, size)
               : dm_gen_is_mat(type)               ? dm_gen_matrix_value(g, type, size)
                                                   : dm_gen_quat_value(g, type, size);
    return dm_gen_capped(g, made);
}
