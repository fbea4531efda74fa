/* SPDX-License-Identifier: MIT */
/* expression.c - values by type: which operation, on what, and how it is kept in its domain. */
#include "synth/gen.h"
#include "synth/profile.h"

#include <string.h>

static const dm_gen_type int32 = DM_GEN_SCALAR << 4 | DM_GEN_I32;
static const dm_gen_type boolean = DM_GEN_SCALAR << 4 | DM_GEN_BOOLEAN;

static dm_gen_type type_at(dm_gen *g, int node)
{
    return dm_gen_at(g, node)->type;
}

static float most_at(dm_gen *g, int node)
{
    return dm_gen_most(dm_gen_at(g, node)->span);
}

static dm_gen_type scalar_of(dm_gen_type type)
{
    return dm_gen_type_of(DM_GEN_SCALAR, dm_gen_kind(type));
}

/* Constants are short: tenths mostly, as people write them. */
static int some_constant(dm_gen *g, int kind, float low, float high)
{
    float unit = dm_gen_chance(g, 70) ? 10 : 100;
    int from = (int)(low * unit), to = (int)(high * unit);
    return dm_gen_constant(g, kind, (float)dm_gen_between(g, from, to > from ? to : from) / unit);
}

/* The kind of numbers in a type, a positive one. */
static int factor(dm_gen *g, dm_gen_type type)
{
    return some_constant(g, dm_gen_kind(type), 0.2f, 2.5f);
}

static int splat(dm_gen *g, dm_gen_type type, int scalar)
{
    int kids[DM_GEN_KIDS_MAX], count = dm_gen_rows(type);
    for (int i = 0; i < count; i++)
        kids[i] = i == 0 ? scalar : factor(g, type);
    return dm_gen_make(g, type, kids, count);
}

/* ---- Domains ---- */

int dm_gen_fit(dm_gen *g, int node, float limit)
{
    float most = most_at(g, node);
    if (most <= limit)
        return node;
    int kind = dm_gen_kind(type_at(g, node));
    if (!dm_gen_kind_is_float(kind)) /* of integers the rest */
        return dm_gen_binary(g, DM_GEN_OP_MOD, type_at(g, node), node,
                             dm_gen_constant(g, kind, limit < 5 ? 5 : limit));
    float by = limit / most;
    float unit = by >= 0.1f ? 0.05f : by >= 0.01f ? 0.005f : 0.001f;
    float rounded = (float)(int)(by / unit) * unit;
    dm_gen_type type = type_at(g, node);
    int by_node = dm_gen_constant(g, dm_gen_kind(type), rounded > 0 ? rounded : 0.001f);
    return dm_gen_binary(g, DM_GEN_OP_MUL, type, node, by_node);
}

/* A scalar that is at least about `least`. */
static int positive(dm_gen *g, int node, float least)
{
    dm_gen_type type = type_at(g, node);
    dm_gen_span span = dm_gen_at(g, node)->span;
    if (span.low >= least)
        return node;
    int offset = some_constant(g, dm_gen_kind(type), least + 0.2f, least + 1.5f);
    int inside;
    if (dm_gen_most(span) < 20 && dm_gen_chance(g, 50) && dm_gen_at(g, node)->op <= DM_GEN_OP_LOAD)
        inside = dm_gen_binary(g, DM_GEN_OP_MUL, type, node, node);
    else
        inside = dm_gen_unary(g, DM_GEN_OP_ABS, type, node);
    dm_gen_node *made = dm_gen_at(g, inside);
    if (made->span.low < 0)
        made->span.low = 0;
    return dm_gen_chance(g, 50) ? dm_gen_binary(g, DM_GEN_OP_ADD, type, inside, offset)
                                : dm_gen_binary(g, DM_GEN_OP_ADD, type, offset, inside);
}

/* A scalar that can be divided by. */
static int divisor(dm_gen *g, int node)
{
    return dm_gen_has_zero(dm_gen_at(g, node)->span, 0.25f) ? positive(g, node, 0.5f) : node;
}

static int capped(dm_gen *g, int node)
{
    dm_gen_type type = type_at(g, node);
    if (!dm_gen_kind_is_float(dm_gen_kind(type)) || most_at(g, node) <= g->cap)
        return node;
    return dm_gen_fit(g, node, g->cap * 0.1f);
}

/* The same text? Differences and quotients of these are no use. */
static bool same(dm_gen *g, int a, int b)
{
    const dm_gen_node *m = dm_gen_at(g, a), *n = dm_gen_at(g, b);
    if (m->op != n->op || m->count != n->count || m->name != n->name || m->number != n->number ||
        m->style != n->style || m->op == DM_GEN_OP_MAKE)
        return false;
    for (int i = 0; i < m->count && i < 4; i++)
        if (!same(g, m->kids[i], n->kids[i]))
            return false;
    return true;
}

/* ---- Cancelling ---- */

/* A vector without the numbers it is scaled by. */
static int stripped(dm_gen *g, int node)
{
    for (;;) {
        const dm_gen_node *n = dm_gen_at(g, node);
        if (n->op == DM_GEN_OP_NEG || n->op == DM_GEN_OP_DIV)
            node = n->kids[0];
        else if ((n->op == DM_GEN_OP_ADD || n->op == DM_GEN_OP_SUB) &&
                 same(g, stripped(g, n->kids[0]), stripped(g, n->kids[1])))
            node = n->kids[0];
        else if (n->op == DM_GEN_OP_MUL)
            node = dm_gen_shape(type_at(g, n->kids[0])) == DM_GEN_SCALAR ? n->kids[1] : n->kids[0];
        else
            return node;
    }
}

typedef struct terms {
    int nodes[16];
    bool negative[16];
    int count;
} terms;

/* The terms of a sum, or the factors of a product, and which are taken away. */
static void list_terms(dm_gen *g, int node, bool product, bool negative, terms *t)
{
    const dm_gen_node *n = dm_gen_at(g, node);
    int plus = product ? DM_GEN_OP_MUL : DM_GEN_OP_ADD;
    int minus = product ? DM_GEN_OP_DIV : DM_GEN_OP_SUB;
    if (n->op == DM_GEN_OP_NEG) {
        list_terms(g, n->kids[0], product, product ? negative : !negative, t);
    } else if (n->op == plus || n->op == minus) {
        list_terms(g, n->kids[0], product, negative, t);
        list_terms(g, n->kids[1], product, n->op == minus ? !negative : negative, t);
    } else if (n->op != DM_GEN_OP_CONSTANT && t->count < 16) {
        t->nodes[t->count] = node;
        t->negative[t->count++] = negative;
    }
}

/* Does a term of `a` take one of `b` away, or a factor? */
static bool cancels(dm_gen *g, dm_gen_op op, int a, int b)
{
    bool product = op == DM_GEN_OP_MUL || op == DM_GEN_OP_DIV;
    terms left = {.count = 0}, right = {.count = 0};
    list_terms(g, a, product, false, &left);
    list_terms(g, b, product, op == DM_GEN_OP_SUB || op == DM_GEN_OP_DIV, &right);
    for (int i = 0; i < left.count; i++)
        for (int k = 0; k < right.count; k++)
            if (left.negative[i] != right.negative[k] && same(g, left.nodes[i], right.nodes[k]))
                return true;
    return false;
}

static bool is_constant(dm_gen *g, int node)
{
    return dm_gen_at(g, node)->op == DM_GEN_OP_CONSTANT;
}

/* ---- Leaves ---- */

static dm_gen_variable *some_variable(dm_gen *g, dm_gen_type type, bool unused)
{
    dm_gen_variable *found = NULL;
    int seen = 0;
    for (int i = g->frame->count - 1; i >= 0; i--) {
        dm_gen_variable *v = &g->frame->variables[i];
        if (v->name == NULL || v->type != type || v->hidden || v->state || (unused && v->used))
            continue;
        if (dm_gen_below(g, ++seen) == 0)
            found = v;
    }
    return found;
}

/* A component of something larger that is there. */
static int some_component(dm_gen *g, dm_gen_type type)
{
    dm_gen_variable *found = NULL;
    int seen = 0;
    for (int i = g->frame->count - 1; i >= 0; i--) {
        dm_gen_variable *v = &g->frame->variables[i];
        if (v->name == NULL || v->hidden || dm_gen_shape(v->type) == DM_GEN_SCALAR ||
            dm_gen_shape(v->type) == DM_GEN_STRUCT || scalar_of(v->type) != type)
            continue;
        if (dm_gen_below(g, ++seen) == 0)
            found = v;
    }
    if (found == NULL)
        return -1;
    int rows = dm_gen_rows(found->type), all = dm_gen_is_mat(found->type) ? rows * rows : rows;
    return dm_gen_component(g, dm_gen_name(g, found), dm_gen_below(g, all));
}

/* A counter or coordinate as a small number. */
static int counted(dm_gen *g, dm_gen_type type)
{
    dm_gen_variable *found = NULL;
    int seen = 0;
    for (int i = g->frame->count - 1; i >= 0; i--) {
        dm_gen_variable *v = &g->frame->variables[i];
        if (v->name != NULL && v->type == int32 && !v->hidden && dm_gen_below(g, ++seen) == 0)
            found = v;
    }
    if (found == NULL)
        return -1;
    return dm_gen_fit(g, dm_gen_cast(g, dm_gen_kind(type), dm_gen_name(g, found)), 8);
}

static int constant_leaf(dm_gen *g, dm_gen_type type)
{
    int kind = dm_gen_kind(type);
    if (dm_gen_shape(type) == DM_GEN_SCALAR)
        return dm_gen_kind_is_float(kind)
                   ? some_constant(g, kind, 0.1f, 3.0f)
                   : dm_gen_constant(g, kind, (float)dm_gen_between(g, 1, 9));
    if (dm_gen_is_mat(type)) {
        int by = factor(g, type);
        return dm_gen_binary(g, DM_GEN_OP_MUL, type, dm_gen_identity(g, type), by);
    }
    return splat(g, type, factor(g, type));
}

static int leaf(dm_gen *g, dm_gen_type type, bool constant);

/* Something larger out of what there is: vectors of numbers, matrices of vectors. */
static int assembled(dm_gen *g, dm_gen_type type)
{
    int kids[4], rows = dm_gen_rows(type);
    if (dm_gen_is_mat(type)) {
        dm_gen_type vector = dm_gen_type_of(DM_GEN_VEC2 + rows - 2, dm_gen_kind(type));
        switch (dm_gen_below(g, 3)) {
        case 0:
            return dm_gen_binary(g, DM_GEN_OP_OUTER, type, leaf(g, vector, false),
                                 leaf(g, vector, false));
        case 1:
            return dm_gen_unary(g, DM_GEN_OP_DIAG, type, leaf(g, vector, false));
        default:
            return dm_gen_binary(g, DM_GEN_OP_MUL, type, dm_gen_identity(g, type),
                                 leaf(g, scalar_of(type), false));
        }
    }
    for (int i = 0; i < rows; i++)
        kids[i] = leaf(g, scalar_of(type), i > 0);
    return dm_gen_make(g, type, kids, rows);
}

enum {
    LEAF_UNUSED,
    LEAF_VARIABLE,
    LEAF_NEW_ARRAY,
    LEAF_ARRAY,
    LEAF_SCALAR,
    LEAF_COMPONENT,
    LEAF_COUNTED,
    LEAF_CONSTANT,
    LEAF_KINDS
};

static int leaf_of_kind(dm_gen *g, dm_gen_type type, int kind)
{
    dm_gen_variable *v;
    switch (kind) {
    case LEAF_UNUSED:
        v = some_variable(g, type, true);
        return v == NULL ? -1 : dm_gen_name(g, v);
    case LEAF_VARIABLE:
        v = some_variable(g, type, false);
        return v == NULL ? -1 : dm_gen_name(g, v);
    case LEAF_NEW_ARRAY:
        return dm_gen_element(g, type, true);
    case LEAF_ARRAY:
        return dm_gen_element(g, type, false);
    case LEAF_SCALAR:
        v = dm_gen_new_scalar(g, type);
        return v == NULL ? -1 : dm_gen_name(g, v);
    case LEAF_COMPONENT:
        return some_component(g, type);
    case LEAF_COUNTED:
        return counted(g, type);
    default:
        return constant_leaf(g, type);
    }
}

static int leaf(dm_gen *g, dm_gen_type type, bool constant)
{
    bool kernel = g->frame->kernel, scalar = dm_gen_shape(type) == DM_GEN_SCALAR;
    bool room = kernel && g->array_count < g->array_limit;
    uint8_t weights[LEAF_KINDS] = {
        [LEAF_UNUSED] = 60,
        [LEAF_VARIABLE] = 14,
        [LEAF_NEW_ARRAY] = room ? 30 : 0,
        [LEAF_ARRAY] = kernel ? 14 : 0,
        [LEAF_SCALAR] = kernel && scalar && g->scalar_count < g->scalar_limit ? 12 : 0,
        [LEAF_COMPONENT] = scalar ? 8 : 0,
        [LEAF_COUNTED] = scalar && dm_gen_kind_is_float(dm_gen_kind(type)) ? 3 : 0,
        [LEAF_CONSTANT] = constant ? 6 : 0,
    };
    for (;;) {
        int kind = dm_gen_pick(g, weights, LEAF_KINDS);
        if (kind < 0)
            break;
        int node = leaf_of_kind(g, type, kind);
        if (node >= 0)
            return node;
        weights[kind] = 0;
    }
    if (kernel && scalar && !constant) { /* nothing is there yet */
        int node = dm_gen_element(g, type, true);
        if (node >= 0)
            return node;
    }
    if (!scalar && dm_gen_kind_is_float(dm_gen_kind(type)))
        return assembled(g, type);
    return constant_leaf(g, type);
}

int dm_gen_leaf(dm_gen *g, dm_gen_type type)
{
    return leaf(g, type, false);
}

/* ---- Operations on floats ---- */

/* Two operands that are not both constants; `size` is shared out. */
static void operands(dm_gen *g, dm_gen_type a_type, dm_gen_type b_type, int size, int *a, int *b)
{
    int first = size <= 2 ? 1 : dm_gen_between(g, 1, size - 1);
    *a = dm_gen_value(g, a_type, first);
    *b = dm_gen_value(g, b_type, size - first > 0 ? size - first : 1);
    if (is_constant(g, *a) && is_constant(g, *b))
        *b = dm_gen_leaf(g, b_type);
}

static int product(dm_gen *g, dm_gen_type type, int a, int b)
{
    bool both = dm_gen_shape(type_at(g, a)) != DM_GEN_SCALAR &&
                dm_gen_shape(type_at(g, b)) != DM_GEN_SCALAR;
    float inner = both ? (float)dm_gen_rows(type_at(g, a)) : 1;
    if (most_at(g, a) * most_at(g, b) * inner > g->cap) {
        a = dm_gen_fit(g, a, 4);
        b = dm_gen_fit(g, b, 4);
    }
    return dm_gen_binary(g, DM_GEN_OP_MUL, type, a, b);
}

static const uint8_t operators[] = {DM_GEN_OP_ADD, DM_GEN_OP_SUB,   DM_GEN_OP_MUL, DM_GEN_OP_DIV,
                                    DM_GEN_OP_NEG, DM_GEN_OP_POWER, DM_GEN_OP_MOD};
#define OPERATOR_COUNT ((int)sizeof operators)

static dm_gen_op some_operation(dm_gen *g, const uint8_t *ops, int count)
{
    uint16_t weights[64];
    for (int i = 0; i < count; i++)
        weights[i] = g->profile->weights[ops[i]];
    return (dm_gen_op)ops[dm_gen_pick16(g, weights, count)];
}

/* a op b, or another operation where the two would cancel. */
static int combined(dm_gen *g, dm_gen_op op, int a, int b)
{
    dm_gen_type type = type_at(g, a);
    bool scalar = dm_gen_shape(type) == DM_GEN_SCALAR;
    bool product_like = op == DM_GEN_OP_MUL || op == DM_GEN_OP_DIV;
    if (product_like && (!scalar || !cancels(g, op, a, b)))
        return op == DM_GEN_OP_MUL ? product(g, type, a, b)
                                   : dm_gen_binary(g, op, type, a, divisor(g, b));
    if (product_like)
        return dm_gen_binary(g, DM_GEN_OP_ADD, type, a, b);
    if (!cancels(g, op, a, b))
        return dm_gen_binary(g, op, type, a, b);
    if (scalar)
        return product(g, type, a, b);
    if (dm_gen_is_vec(type))
        return dm_gen_binary(g, DM_GEN_OP_CW_MUL, type, dm_gen_fit(g, a, 20), dm_gen_fit(g, b, 20));
    return product(g, type, dm_gen_fit(g, a, 5), dm_gen_fit(g, b, 5));
}

/* Sums, differences and products of values of one type. */
static int linear(dm_gen *g, dm_gen_type type, int size, dm_gen_op op)
{
    int a, b;
    operands(g, type, type, size, &a, &b);
    return combined(g, op, a, b);
}

static int arithmetic(dm_gen *g, dm_gen_type type, int size)
{
    dm_gen_op op = some_operation(g, operators, OPERATOR_COUNT);
    int a, b;
    switch (op) {
    case DM_GEN_OP_DIV:
        operands(g, type, type, size, &a, &b);
        return combined(g, op, a, b);
    case DM_GEN_OP_NEG:
        a = dm_gen_value(g, type, size - 1);
        return is_constant(g, a) || dm_gen_at(g, a)->op == DM_GEN_OP_NEG
                   ? a
                   : dm_gen_unary(g, op, type, a);
    case DM_GEN_OP_POWER: {
        bool square = dm_gen_chance(g, 60);
        a = dm_gen_fit(g, dm_gen_value(g, type, size - 1), 5);
        if (is_constant(g, a))
            a = dm_gen_leaf(g, type);
        if (!square)
            a = positive(g, a, 0.2f);
        b = square ? dm_gen_constant(g, dm_gen_kind(type), dm_gen_chance(g, 70) ? 2 : 3)
                   : some_constant(g, dm_gen_kind(type), 0.5f, 2.5f);
        return dm_gen_binary(g, op, type, a, b);
    }
    case DM_GEN_OP_MOD:
        a = dm_gen_value(g, type, size - 1);
        if (is_constant(g, a))
            a = dm_gen_leaf(g, type);
        return dm_gen_binary(g, op, type, a, some_constant(g, dm_gen_kind(type), 0.3f, 2.0f));
    default:
        return linear(g, type, size, op);
    }
}

static const uint8_t functions[] = {
    DM_GEN_OP_SIN,  DM_GEN_OP_COS,   DM_GEN_OP_TAN,   DM_GEN_OP_ASIN,  DM_GEN_OP_ACOS,
    DM_GEN_OP_ATAN, DM_GEN_OP_ATAN2, DM_GEN_OP_SINH,  DM_GEN_OP_COSH,  DM_GEN_OP_TANH,
    DM_GEN_OP_EXP,  DM_GEN_OP_LOG,   DM_GEN_OP_LOG2,  DM_GEN_OP_LOG10, DM_GEN_OP_SQRT,
    DM_GEN_OP_CBRT, DM_GEN_OP_ERF,   DM_GEN_OP_POW,   DM_GEN_OP_ABS,   DM_GEN_OP_FLOOR,
    DM_GEN_OP_CEIL, DM_GEN_OP_ROUND, DM_GEN_OP_SIGN,  DM_GEN_OP_FRAC,  DM_GEN_OP_RADIANS,
    DM_GEN_OP_MIN,  DM_GEN_OP_MAX,   DM_GEN_OP_CLAMP, DM_GEN_OP_LERP,  DM_GEN_OP_SMOOTHSTEP};
#define FUNCTION_COUNT ((int)sizeof functions)

/* What an argument is brought to, so that the function is finite and its slope is not lost. */
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
        return positive(g, a, 0.1f);
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
static int fraction(dm_gen *g, dm_gen_type type)
{
    int kind = dm_gen_kind(type);
    return some_constant(g, kind, 0.1f, 0.9f);
}

static int function_call(dm_gen *g, dm_gen_type type, int size)
{
    dm_gen_op op = some_operation(g, functions, FUNCTION_COUNT);
    int a, b;
    switch (op) {
    case DM_GEN_OP_MIN:
    case DM_GEN_OP_MAX:
        operands(g, type, type, size, &a, &b);
        if (same(g, a, b))
            return dm_gen_binary(g, DM_GEN_OP_MUL, type, dm_gen_fit(g, a, 10),
                                 dm_gen_fit(g, b, 10));
        return dm_gen_binary(g, op, type, a, b);
    case DM_GEN_OP_ATAN2:
        operands(g, type, type, size, &a, &b);
        return dm_gen_binary(g, op, type, a, positive(g, b, 0.2f));
    case DM_GEN_OP_POW:
        a = positive(g, dm_gen_fit(g, dm_gen_value(g, type, size - 1), 5), 0.2f);
        b = some_constant(g, dm_gen_kind(type), 0.5f, 2.5f);
        return dm_gen_binary(g, op, type, a, b);
    case DM_GEN_OP_LERP:
        operands(g, type, type, size, &a, &b);
        return dm_gen_ternary(g, op, type, a, b, fraction(g, type));
    default:
        break;
    }
    a = dm_gen_value(g, type, size - 1);
    if (is_constant(g, a))
        a = dm_gen_leaf(g, type);
    if (op == DM_GEN_OP_CLAMP)
        return clamp(g, type, a);
    if (op == DM_GEN_OP_SMOOTHSTEP)
        return smoothstep(g, type, a);
    return dm_gen_unary(g, op, type, into_domain(g, op, a));
}

/* `where(c, a, b)` or `a if c else b`. */
static int selection(dm_gen *g, dm_gen_type type, int size)
{
    bool certain;
    int condition = dm_gen_condition(g, size / 3, &certain), a, b, made;
    operands(g, type, type, size - size / 3, &a, &b);
    dm_gen_masks m = dm_gen_at(g, a)->masks, n = dm_gen_at(g, b)->masks;
    made = dm_gen_chance(g, 70) ? dm_gen_ternary(g, DM_GEN_OP_WHERE, type, condition, a, b)
                                : dm_gen_ternary(g, DM_GEN_OP_TERNARY, type, a, condition, b);
    if (certain)
        dm_gen_at(g, made)->masks = (dm_gen_masks){m.depends | n.depends, m.live | n.live};
    return made;
}

/* ---- Calls of the file's own functions ---- */

static dm_gen_variable *some_instance(dm_gen *g)
{
    for (int i = g->frame->count - 1; i >= 0; i--) {
        dm_gen_variable *v = &g->frame->variables[i];
        if (v->name != NULL && dm_gen_shape(v->type) == DM_GEN_STRUCT && !v->hidden)
            return v;
    }
    return NULL;
}

static int call(dm_gen *g, dm_gen_type type, int size)
{
    const dm_gen_function *found = NULL;
    int seen = 0, args[4];
    for (int i = 0; i < g->function_count; i++)
        if (g->functions[i].result == type && dm_gen_below(g, ++seen) == 0)
            found = &g->functions[i];
    if (found == NULL || g->call_depth > 0)
        return -1;
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
    int kids[2] = {stripped(g, a), stripped(g, b)};
    bool nothing = same(g, kids[0], kids[1]) && dm_gen_at(g, kids[0])->unit;
    for (int i = 0; i < 2; i++) {
        const dm_gen_node *n = dm_gen_at(g, kids[i]);
        if (n->op == DM_GEN_OP_CROSS)
            nothing |= same(g, stripped(g, n->kids[0]), kids[1 - i]) ||
                       same(g, stripped(g, n->kids[1]), kids[1 - i]);
    }
    if (nothing)
        return dm_gen_component(g, b, dm_gen_below(g, dm_gen_rows(type_at(g, b))));
    return dm_gen_binary(g, DM_GEN_OP_DOT, type, a, b);
}

/* A number out of vectors. */
static int from_vector(dm_gen *g, dm_gen_type type, int size)
{
    dm_gen_type vector = (dm_gen_type)vector_type(g, dm_gen_kind(type));
    static const uint8_t ops[] = {DM_GEN_OP_DOT, DM_GEN_OP_LENGTH, DM_GEN_OP_LENGTH_SQ,
                                  DM_GEN_OP_COMPONENT};
    dm_gen_op op = some_operation(g, ops, 4);
    int a, b;
    if (op == DM_GEN_OP_DOT) {
        operands(g, vector, vector, size, &a, &b);
        return dot(g, type, dm_gen_fit(g, a, 12), dm_gen_fit(g, b, 12));
    }
    a = dm_gen_fit(g, dm_gen_value(g, vector, size - 1), 12);
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
        operands(g, matrix, matrix, size, &a, &b);
        return dm_gen_binary(g, DM_GEN_OP_DDOT, type, dm_gen_fit(g, a, 5), dm_gen_fit(g, b, 5));
    case 1:
        a = dm_gen_value(g, matrix, size - 1);
        return dm_gen_unary(g, DM_GEN_OP_DETERMINANT, type, dm_gen_fit(g, a, rows == 4 ? 1.5f : 2));
    case 2:
        a = dm_gen_value(g, matrix, size - 1);
        return dm_gen_component(g, a, dm_gen_below(g, rows * rows));
    default:
        return dm_gen_unary(g, DM_GEN_OP_TRACE, type, dm_gen_value(g, matrix, size - 1));
    }
}

static int from_integer(dm_gen *g, dm_gen_type type, int size)
{
    int a = dm_gen_value(g, int32, size - 1);
    if (is_constant(g, a))
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
        made = size < 3 ? -1 : selection(g, type, size);
        break;
    case GROW_CALL:
        made = call(g, type, size);
        break;
    case GROW_INTEGER:
        made = from_integer(g, type, size);
        break;
    default:
        break;
    }
    return made >= 0 ? made : arithmetic(g, type, size);
}

/* ---- Vectors, matrices, quaternions ---- */

static int made_vector(dm_gen *g, dm_gen_type type, int size)
{
    int kids[4], rows = dm_gen_rows(type), share = size / rows;
    for (int i = 0; i < rows; i++)
        kids[i] = dm_gen_value(g, scalar_of(type), share > 1 ? share : 1);
    if (is_constant(g, kids[0]))
        kids[0] = dm_gen_leaf(g, scalar_of(type));
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

static int vector_value(dm_gen *g, dm_gen_type type, int size)
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
    dm_gen_type scalar = scalar_of(type);
    dm_gen_type matrix = dm_gen_type_of(DM_GEN_MAT22 + dm_gen_rows(type) - 2, dm_gen_kind(type));
    int a, b, made;
    switch (dm_gen_pick(g, weights, VEC_KINDS)) {
    case VEC_ADD:
        return linear(g, type, size, DM_GEN_OP_ADD);
    case VEC_SUB:
        return linear(g, type, size, DM_GEN_OP_SUB);
    case VEC_OVER:
        operands(g, type, scalar, size, &a, &b);
        return dm_gen_binary(g, DM_GEN_OP_DIV, type, a, divisor(g, b));
    case VEC_CW_MUL:
        operands(g, type, type, size, &a, &b);
        return dm_gen_binary(g, DM_GEN_OP_CW_MUL, type, dm_gen_fit(g, a, 20), dm_gen_fit(g, b, 20));
    case VEC_NORMALIZE:
        a = safe_direction(g, dm_gen_value(g, type, size - 1));
        return dm_gen_unary(g, DM_GEN_OP_NORMALIZE, type, a);
    case VEC_CROSS:
        operands(g, type, type, size, &a, &b);
        if (same(g, stripped(g, a), stripped(g, b)))
            return dm_gen_binary(g, DM_GEN_OP_ADD, type, a, b);
        return dm_gen_binary(g, DM_GEN_OP_CROSS, type, dm_gen_fit(g, a, 15), dm_gen_fit(g, b, 15));
    case VEC_MATRIX:
        operands(g, matrix, type, size, &a, &b);
        return product(g, type, a, b);
    case VEC_MAKE:
        return made_vector(g, type, size);
    case VEC_NEG:
        return dm_gen_unary(g, DM_GEN_OP_NEG, type, dm_gen_value(g, type, size - 1));
    case VEC_SELECT:
        return selection(g, type, size);
    case VEC_LERP:
        operands(g, type, type, size, &a, &b);
        return dm_gen_ternary(g, DM_GEN_OP_LERP, type, a, b, fraction(g, type));
    case VEC_MIN:
        operands(g, type, type, size, &a, &b);
        if (same(g, a, b))
            return dm_gen_binary(g, DM_GEN_OP_ADD, type, a, b);
        return dm_gen_binary(g, dm_gen_chance(g, 50) ? DM_GEN_OP_MIN : DM_GEN_OP_MAX, type, a, b);
    case VEC_ABS:
        return dm_gen_unary(g, DM_GEN_OP_ABS, type, dm_gen_value(g, type, size - 1));
    case VEC_DIAG:
        return dm_gen_unary(g, DM_GEN_OP_GET_DIAG, type, dm_gen_value(g, matrix, size - 1));
    case VEC_ROTATE:
        operands(g, dm_gen_type_of(DM_GEN_QUAT, dm_gen_kind(type)), type, size, &a, &b);
        return dm_gen_binary(
            g, dm_gen_chance(g, 70) ? DM_GEN_OP_QUAT_ROTATE : DM_GEN_OP_QUAT_ROTATE_INV, type,
            dm_gen_fit(g, a, 2), dm_gen_fit(g, b, 4));
    case VEC_CALL:
        made = call(g, type, size);
        if (made >= 0)
            return made;
        break;
    default:
        break;
    }
    operands(g, type, scalar, size, &a, &b);
    return dm_gen_chance(g, 50) ? product(g, type, a, b) : product(g, type, b, a);
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
    int kids[16], rows = dm_gen_rows(type);
    for (int i = 0; i < rows * rows; i++)
        kids[i] = i % (rows + 1) == 0 || dm_gen_chance(g, 40)
                      ? leaf(g, scalar_of(type), true)
                      : some_constant(g, dm_gen_kind(type), 0, 1);
    if (is_constant(g, kids[0]))
        kids[0] = dm_gen_leaf(g, scalar_of(type));
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

static int matrix_value(dm_gen *g, dm_gen_type type, int size)
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
        return linear(g, type, size, DM_GEN_OP_ADD);
    case MAT_SUB:
        return linear(g, type, size, DM_GEN_OP_SUB);
    case MAT_PRODUCT:
        return linear(g, type, size, DM_GEN_OP_MUL);
    case MAT_TRANSPOSE:
        return dm_gen_unary(g, DM_GEN_OP_TRANSPOSE, type, dm_gen_value(g, type, size - 1));
    case MAT_OUTER:
        operands(g, vector, vector, size, &a, &b);
        return dm_gen_binary(g, DM_GEN_OP_OUTER, type, dm_gen_fit(g, a, 15), dm_gen_fit(g, b, 15));
    case MAT_DIAG:
        return dm_gen_unary(g, DM_GEN_OP_DIAG, type, dm_gen_value(g, vector, size - 1));
    case MAT_SKEW:
        return dm_gen_unary(g, DM_GEN_OP_SKEW, type, dm_gen_value(g, vector, size - 1));
    case MAT_CW_MUL:
        operands(g, type, type, size, &a, &b);
        return dm_gen_binary(g, DM_GEN_OP_CW_MUL, type, dm_gen_fit(g, a, 20), dm_gen_fit(g, b, 20));
    case MAT_INVERSE:
        a = invertible(g, type, dm_gen_value(g, type, size - 1));
        return dm_gen_unary(g, DM_GEN_OP_INVERSE, type, a);
    case MAT_MAKE:
        return made_matrix(g, type);
    case MAT_SELECT:
        return selection(g, type, size);
    case MAT_CALL:
        made = call(g, type, size);
        if (made >= 0)
            return made;
        break;
    default:
        break;
    }
    operands(g, type, scalar_of(type), size, &a, &b);
    return dm_gen_chance(g, 50) ? product(g, type, a, b) : product(g, type, b, a);
}

static int quat_value(dm_gen *g, dm_gen_type type, int size)
{
    int kind = dm_gen_kind(type), a, b;
    switch (dm_gen_below(g, 4)) {
    case 0:
        operands(g, type, type, size, &a, &b);
        return product(g, type, dm_gen_fit(g, a, 3), dm_gen_fit(g, b, 3));
    case 1:
        return dm_gen_unary(g, DM_GEN_OP_QUAT_INVERSE, type, dm_gen_value(g, type, size - 1));
    case 2:
        a = safe_direction(g, dm_gen_value(g, dm_gen_type_of(DM_GEN_VEC3, kind), size / 2));
        a = dm_gen_unary(g, DM_GEN_OP_NORMALIZE, type_at(g, a), a);
        b = dm_gen_fit(g, dm_gen_value(g, dm_gen_type_of(DM_GEN_SCALAR, kind), size / 2), 3);
        return dm_gen_binary(g, DM_GEN_OP_QUAT_AXIS_ANGLE, type, a, b);
    default:
        a = dm_gen_leaf(g, type);
        if (dm_gen_at(g, a)->op == DM_GEN_OP_MAKE)
            return a;
        return dm_gen_unary(g, DM_GEN_OP_NORMALIZE, type, a);
    }
}

/* ---- Integers and conditions ---- */

#define INTEGER_MOST 1e6f

static const uint8_t integer_ops[] = {
    DM_GEN_OP_ADD,        DM_GEN_OP_SUB,         DM_GEN_OP_MUL,    DM_GEN_OP_FLOORDIV,
    DM_GEN_OP_MOD,        DM_GEN_OP_BIT_AND,     DM_GEN_OP_BIT_OR, DM_GEN_OP_BIT_XOR,
    DM_GEN_OP_SHIFT_LEFT, DM_GEN_OP_SHIFT_RIGHT, DM_GEN_OP_MIN,    DM_GEN_OP_MAX,
    DM_GEN_OP_ABS};

static int integer_value(dm_gen *g, dm_gen_type type, int size)
{
    int kind = dm_gen_kind(type), a, b;
    bool is_unsigned = kind == DM_GEN_U32 || kind == DM_GEN_U64;
    dm_gen_op op = some_operation(g, integer_ops, (int)sizeof integer_ops);
    if (dm_gen_chance(g, g->recipe->select / 2) && size >= 3)
        return selection(g, type, size);
    if (is_unsigned && (op == DM_GEN_OP_SUB || op == DM_GEN_OP_ABS))
        op = DM_GEN_OP_ADD;
    if (op == DM_GEN_OP_ABS) {
        a = dm_gen_value(g, type, size - 1);
        return is_constant(g, a) ? dm_gen_leaf(g, type) : dm_gen_unary(g, op, type, a);
    }
    if (op == DM_GEN_OP_FLOORDIV || op == DM_GEN_OP_MOD || op == DM_GEN_OP_SHIFT_LEFT ||
        op == DM_GEN_OP_SHIFT_RIGHT) {
        bool shift = op == DM_GEN_OP_SHIFT_LEFT || op == DM_GEN_OP_SHIFT_RIGHT;
        a = dm_gen_value(g, type, size - 1);
        if (is_constant(g, a))
            a = dm_gen_leaf(g, type);
        bool bad = dm_gen_at(g, a)->span.low < 0 || most_at(g, a) > INTEGER_MOST / 8;
        if (shift && bad) /* a shift of a negative number is no C */
            op = DM_GEN_OP_MOD;
        b = dm_gen_constant(g, kind, (float)dm_gen_between(g, shift ? 1 : 3, shift ? 3 : 9));
        return dm_gen_binary(g, op, type, a, b);
    }
    operands(g, type, type, size, &a, &b);
    bool heavy = most_at(g, a) * most_at(g, b) > INTEGER_MOST;
    if ((op == DM_GEN_OP_MUL && heavy) || (same(g, a, b) && op != DM_GEN_OP_MUL))
        op = DM_GEN_OP_ADD;
    int made = dm_gen_binary(g, op, type, a, b);
    if (most_at(g, made) > INTEGER_MOST)
        return dm_gen_binary(g, DM_GEN_OP_MOD, type, made, dm_gen_constant(g, kind, 1009));
    return made;
}

static dm_gen_op some_comparison(dm_gen *g)
{
    static const uint8_t ops[] = {DM_GEN_OP_LESS,    DM_GEN_OP_LESS,       DM_GEN_OP_GREATER,
                                  DM_GEN_OP_GREATER, DM_GEN_OP_LESS_EQUAL, DM_GEN_OP_GREATER_EQUAL};
    return (dm_gen_op)ops[dm_gen_below(g, 6)];
}

/* i % 2 == 0, j < 2 ...: true for some threads and false for others, whatever the inputs. */
static int parity(dm_gen *g, bool *certain)
{
    dm_gen_variable *found = NULL;
    int seen = 0;
    for (int i = g->frame->count - 1; i >= 0; i--) {
        dm_gen_variable *v = &g->frame->variables[i];
        bool several = v->span.low <= 0 && v->span.high >= DM_SYNTH_SIZE_LEAST - 1;
        if (v->name != NULL && v->index && v->fixed && several && !v->hidden &&
            dm_gen_below(g, ++seen) == 0)
            found = v;
    }
    if (found == NULL)
        return -1;
    int i = dm_gen_name(g, found), n = dm_gen_between(g, 2, 3);
    g->has_parity = true;
    *certain = !g->guarded;
    if (dm_gen_chance(g, 40))
        return dm_gen_binary(g, some_comparison(g), boolean, i,
                             dm_gen_constant(g, DM_GEN_I32, (float)dm_gen_between(g, 1, 2)));
    int rest = dm_gen_binary(g, DM_GEN_OP_MOD, int32, i, dm_gen_constant(g, DM_GEN_I32, (float)n));
    return dm_gen_binary(g, dm_gen_chance(g, 75) ? DM_GEN_OP_EQUAL : DM_GEN_OP_UNEQUAL, boolean,
                         rest, dm_gen_constant(g, DM_GEN_I32, (float)dm_gen_below(g, n)));
}

static int comparison(dm_gen *g, int size, bool *certain)
{
    *certain = false;
    if (dm_gen_chance(g, 30)) {
        int made = parity(g, certain);
        if (made >= 0)
            return made;
    }
    bool real = dm_gen_kind_is_float(g->scalar);
    dm_gen_type type = dm_gen_type_of(DM_GEN_SCALAR, g->scalar);
    int a = dm_gen_value(g, type, size > 1 ? size : 1), b;
    if (is_constant(g, a))
        a = dm_gen_leaf(g, type);
    if (dm_gen_chance(g, 35) && size > 1) {
        b = dm_gen_leaf(g, type);
        if (!same(g, a, b))
            return dm_gen_binary(g, some_comparison(g), boolean, a, b);
    }
    dm_gen_span span = dm_gen_at(g, a)->span;
    float middle = span.low * 0.5f + span.high * 0.5f;
    if (!real && middle > 5)
        middle = (float)dm_gen_between(g, 2, 4);
    b = dm_gen_constant(g, dm_gen_kind(type), real ? (float)(int)(middle * 10) / 10 : middle);
    return dm_gen_binary(g, some_comparison(g), boolean, a, b);
}

int dm_gen_condition(dm_gen *g, int size, bool *certain)
{
    int a = comparison(g, size, certain);
    if (!dm_gen_chance(g, 18))
        return a;
    bool other;
    int b = comparison(g, size / 2, &other);
    *certain = false;
    if (dm_gen_chance(g, 15))
        return dm_gen_unary(g, DM_GEN_OP_NOT, boolean,
                            dm_gen_binary(g, DM_GEN_OP_AND, boolean, a, b));
    return dm_gen_binary(g, dm_gen_chance(g, 60) ? DM_GEN_OP_AND : DM_GEN_OP_OR, boolean, a, b);
}

int dm_gen_value(dm_gen *g, dm_gen_type type, int size)
{
    if (size <= 1 || g->node_count > DM_GEN_NODES_MAX / 2)
        return leaf(g, type, true);
    if (!dm_gen_kind_is_float(dm_gen_kind(type)))
        return dm_gen_shape(type) == DM_GEN_SCALAR ? integer_value(g, type, size)
                                                   : dm_gen_leaf(g, type);
    int made = dm_gen_shape(type) == DM_GEN_SCALAR ? float_value(g, type, size)
               : dm_gen_is_vec(type)               ? vector_value(g, type, size)
               : dm_gen_is_mat(type)               ? matrix_value(g, type, size)
                                                   : quat_value(g, type, size);
    return capped(g, made);
}

/* ---- Other types ---- */

static int to_scalar(dm_gen *g, int node)
{
    dm_gen_type from = type_at(g, node), type = scalar_of(from);
    int rows = dm_gen_rows(from);
    bool uneven = dm_gen_at(g, node)->uneven, unit = dm_gen_at(g, node)->unit;
    if (dm_gen_is_mat(from) && uneven) {
        node = dm_gen_fit(g, node, 5);
        return dm_gen_binary(g, DM_GEN_OP_DDOT, type, node, node);
    }
    if (unit && uneven) {
        int kids[4];
        for (int i = 0; i < rows; i++)
            kids[i] = factor(g, type);
        return dm_gen_binary(g, DM_GEN_OP_DOT, type, node, dm_gen_make(g, from, kids, rows));
    }
    if (unit)
        return dm_gen_component(g, node, dm_gen_below(g, rows));
    if (dm_gen_is_mat(from))
        return dm_gen_chance(g, 60) ? dm_gen_unary(g, DM_GEN_OP_TRACE, type, node)
                                    : dm_gen_component(g, node, dm_gen_below(g, rows * rows));
    if (!dm_gen_kind_is_float(dm_gen_kind(from)) || (!uneven && dm_gen_chance(g, 35)))
        return dm_gen_component(g, node, dm_gen_below(g, rows));
    if (dm_gen_shape(from) == DM_GEN_QUAT || dm_gen_has_zero(dm_gen_at(g, node)->span, 0.1f))
        return dm_gen_unary(g, DM_GEN_OP_LENGTH_SQ, type, dm_gen_fit(g, node, 12));
    return dm_gen_unary(g, DM_GEN_OP_LENGTH, type, node);
}

static int from_scalar(dm_gen *g, int node, dm_gen_type type)
{
    if (dm_gen_is_mat(type))
        return product(g, type, dm_gen_identity(g, type), node);
    if (dm_gen_shape(type) == DM_GEN_QUAT || dm_gen_chance(g, 60)) {
        dm_gen_variable *v = some_variable(g, type, false);
        if (v != NULL && !v->stuck)
            return product(g, type, dm_gen_name(g, v), node);
    }
    return splat(g, type, node);
}

int dm_gen_adapt(dm_gen *g, int node, dm_gen_type type)
{
    dm_gen_type from = type_at(g, node);
    int rows = dm_gen_rows(type), kind = dm_gen_kind(type);
    if (from == type)
        return node;
    if (dm_gen_kind(from) == kind && dm_gen_rows(from) == rows) {
        if (dm_gen_is_mat(from) && dm_gen_is_vec(type) && !dm_gen_at(g, node)->uneven)
            return dm_gen_unary(g, DM_GEN_OP_GET_DIAG, type, node);
        if (dm_gen_is_vec(from) && dm_gen_is_mat(type))
            return dm_gen_unary(g, DM_GEN_OP_DIAG, type, node);
    }
    if (dm_gen_shape(from) != DM_GEN_SCALAR)
        node = to_scalar(g, node);
    if (dm_gen_kind(from) != kind) {
        node = dm_gen_cast(g, kind, node);
        if (dm_gen_kind_is_float(kind) && !dm_gen_kind_is_float(dm_gen_kind(from)))
            node = dm_gen_fit(g, node, 8);
    }
    return dm_gen_shape(type) == DM_GEN_SCALAR ? node : from_scalar(g, node, type);
}

int dm_gen_join_values(dm_gen *g, int a, int b)
{
    dm_gen_type type = type_at(g, a);
    bool is_unsigned = dm_gen_kind(type) == DM_GEN_U32 || dm_gen_kind(type) == DM_GEN_U64;
    int way = dm_gen_below(g, 10);
    bool scalar = dm_gen_shape(type) == DM_GEN_SCALAR;
    bool real = dm_gen_kind_is_float(dm_gen_kind(type));
    if (way < 3 && scalar && real && most_at(g, a) * most_at(g, b) < g->cap &&
        !dm_gen_at(g, a)->stuck && !dm_gen_at(g, b)->stuck)
        return combined(g, DM_GEN_OP_MUL, a, b);
    dm_gen_op op = way < 6 && !is_unsigned ? DM_GEN_OP_SUB : DM_GEN_OP_ADD;
    if (!real)
        return dm_gen_binary(g, same(g, a, b) ? DM_GEN_OP_ADD : op, type, a, b);
    if (op == DM_GEN_OP_ADD && dm_gen_chance(g, 30))
        return capped(g, combined(g, op, b, a));
    return capped(g, combined(g, op, a, b));
}

int dm_gen_use_all(dm_gen *g, int node, int first)
{
    dm_gen_frame *frame = g->frame;
    dm_gen_type type = type_at(g, node);
    for (int i = first; i < frame->count; i++) {
        dm_gen_variable *v = &frame->variables[i];
        if (v->name == NULL || v->used || v->hidden || v->state || v->index ||
            dm_gen_shape(v->type) == DM_GEN_STRUCT)
            continue;
        node = dm_gen_join_values(g, node, dm_gen_adapt(g, dm_gen_name(g, v), type));
    }
    return node;
}

/* The variable that has most of the missing inputs; -1 when none has any. */
static int best_cover(dm_gen *g, dm_gen_masks missing)
{
    int best = -1, most = 0;
    for (int i = 0; i < g->frame->count; i++) {
        const dm_gen_variable *v = &g->frame->variables[i];
        if (v->name == NULL || v->hidden || v->state || v->stuck ||
            dm_gen_shape(v->type) == DM_GEN_STRUCT)
            continue;
        int covers = __builtin_popcount(v->masks.depends & missing.depends) +
                     __builtin_popcount(v->masks.live & missing.live);
        if (covers > most) {
            most = covers;
            best = i;
        }
    }
    return best;
}

/* Inputs that can have a gradient: float arrays of a kernel, float parameters of a function. */
static uint32_t gradient_inputs(const dm_gen *g)
{
    uint32_t mask = 0;
    if (!g->frame->kernel)
        return g->frame->inputs;
    for (int i = 0; i < g->param_count; i++) {
        const dm_gen_param *p = &g->params[i];
        if (!p->output && p->dimensions > 0 && dm_gen_kind_is_float(dm_gen_kind(p->type)))
            mask |= 1u << i;
    }
    return mask;
}

static bool adds(dm_gen *g, int node, dm_gen_masks missing)
{
    return node >= 0 && ((dm_gen_at(g, node)->masks.depends & missing.depends) != 0 ||
                         (dm_gen_at(g, node)->masks.live & missing.live) != 0);
}

/* A variable that brings some of what is missing, as a value of the type; -1 when none does. */
static int covering(dm_gen *g, dm_gen_masks missing, dm_gen_type type)
{
    int found = best_cover(g, missing);
    if (found < 0)
        return -1;
    int made = dm_gen_adapt(g, dm_gen_name(g, &g->frame->variables[found]), type);
    return adds(g, made, missing) ? made : -1;
}

int dm_gen_complete(dm_gen *g, int node)
{
    dm_gen_type type = type_at(g, node);
    uint32_t given_up = 0;
    for (int tries = 0; tries < 2 * DM_GEN_PARAMS_MAX; tries++) {
        dm_gen_masks has = dm_gen_at(g, node)->masks;
        has.depends |= given_up;
        has.live |= given_up;
        dm_gen_masks missing = {g->frame->inputs & ~has.depends, gradient_inputs(g) & ~has.live};
        if (!dm_gen_kind_is_float(dm_gen_kind(type)))
            missing.live = 0;
        if ((missing.depends | missing.live) == 0)
            break;
        uint32_t wanted = missing.live != 0 ? missing.live : missing.depends;
        int made = covering(g, missing, type);
        if (made < 0 && g->frame->kernel) { /* the input itself */
            int input = dm_gen_input(g, __builtin_ctz(wanted));
            made = input < 0 ? -1 : dm_gen_adapt(g, input, type);
        }
        if (!adds(g, made, missing))
            given_up |= wanted & (~wanted + 1);
        else
            node = dm_gen_binary(g, DM_GEN_OP_ADD, type, node, made);
    }
    return node;
}
