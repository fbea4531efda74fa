/* SPDX-License-Identifier: MIT */
/* domain.c - values within the domains of operations; sums and products whose terms do not cancel. */
#include "synth/gen/expression.h"

/* Constants are short: tenths mostly, as people write them. */
int dm_gen_some_constant(dm_gen *g, int kind, float low, float high)
{
    float unit = dm_gen_chance(g, 70) ? 10 : 100;
    int from = (int)(low * unit), to = (int)(high * unit);
    return dm_gen_constant(g, kind, (float)dm_gen_between(g, from, to > from ? to : from) / unit);
}

/* The kind of numbers in a type, a positive one. */
int dm_gen_factor(dm_gen *g, dm_gen_type type)
{
    return dm_gen_some_constant(g, dm_gen_kind(type), 0.2f, 2.5f);
}

int dm_gen_splat(dm_gen *g, dm_gen_type type, int scalar)
{
    int kids[DM_GEN_KIDS_MAX], count = dm_gen_rows(type);
    for (int i = 0; i < count; i++)
        kids[i] = i == 0 ? scalar : dm_gen_factor(g, type);
    return dm_gen_make(g, type, kids, count);
}

/* ---- Domains ---- */

int dm_gen_fit(dm_gen *g, int node, float limit)
{
    float most = dm_gen_most_at(g, node);
    if (most <= limit)
        return node;
    int kind = dm_gen_kind(dm_gen_type_at(g, node));
    if (!dm_gen_kind_is_float(kind)) /* of integers the rest */
        return dm_gen_binary(g, DM_GEN_OP_MOD, dm_gen_type_at(g, node), node,
                             dm_gen_constant(g, kind, limit < 5 ? 5 : limit));
    float by = limit / most;
    float unit = by >= 0.1f ? 0.05f : by >= 0.01f ? 0.005f : 0.001f;
    float rounded = (float)(int)(by / unit) * unit;
    dm_gen_type type = dm_gen_type_at(g, node);
    int by_node = dm_gen_constant(g, dm_gen_kind(type), rounded > 0 ? rounded : 0.001f);
    return dm_gen_binary(g, DM_GEN_OP_MUL, type, node, by_node);
}

/* A scalar that is at least about `least`. */
int dm_gen_positive(dm_gen *g, int node, float least)
{
    dm_gen_type type = dm_gen_type_at(g, node);
    dm_gen_span span = dm_gen_at(g, node)->span;
    if (span.low >= least)
        return node;
    if (dm_gen_is_constant(g, node))
        return dm_gen_some_constant(g, dm_gen_kind(type), least + 0.2f, least + 1.5f);
    int offset = dm_gen_some_constant(g, dm_gen_kind(type), least + 0.2f, least + 1.5f);
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
int dm_gen_divisor(dm_gen *g, int node)
{
    return dm_gen_has_zero(dm_gen_at(g, node)->span, 0.25f) ? dm_gen_positive(g, node, 0.5f) : node;
}

int dm_gen_capped(dm_gen *g, int node)
{
    dm_gen_type type = dm_gen_type_at(g, node);
    if (!dm_gen_kind_is_float(dm_gen_kind(type)) || dm_gen_most_at(g, node) <= g->cap)
        return node;
    return dm_gen_fit(g, node, g->cap * 0.1f);
}

/* The same text? Differences and quotients of these are no use. */
bool dm_gen_same(dm_gen *g, int a, int b)
{
    const dm_gen_node *m = dm_gen_at(g, a), *n = dm_gen_at(g, b);
    if (m->op != n->op || m->count != n->count || m->name != n->name || m->number != n->number ||
        m->style != n->style || m->op == DM_GEN_OP_MAKE)
        return false;
    for (int i = 0; i < m->count && i < 4; i++)
        if (!dm_gen_same(g, m->kids[i], n->kids[i]))
            return false;
    return true;
}

/* ---- Cancelling ---- */

/* A vector without the numbers it is scaled by. */
int dm_gen_stripped(dm_gen *g, int node)
{
    for (;;) {
        const dm_gen_node *n = dm_gen_at(g, node);
        bool sum = n->op == DM_GEN_OP_ADD || n->op == DM_GEN_OP_SUB; /* of multiples of one */
        if (n->op == DM_GEN_OP_NEG || n->op == DM_GEN_OP_DIV || n->op == DM_GEN_OP_NORMALIZE ||
            (sum && dm_gen_same(g, dm_gen_stripped(g, n->kids[0]), dm_gen_stripped(g, n->kids[1]))))
            node = n->kids[0];
        else if (n->op == DM_GEN_OP_MUL)
            node = dm_gen_shape(dm_gen_type_at(g, n->kids[0])) == DM_GEN_SCALAR ? n->kids[1]
                                                                                : n->kids[0];
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

bool dm_gen_cancels(dm_gen *g, dm_gen_op op, int a, int b)
{
    bool product = op == DM_GEN_OP_MUL || op == DM_GEN_OP_DIV;
    terms left, right;
    left.count = right.count = 0;
    list_terms(g, a, product, false, &left);
    list_terms(g, b, product, op == DM_GEN_OP_SUB || op == DM_GEN_OP_DIV, &right);
    for (int i = 0; i < left.count; i++)
        for (int k = 0; k < right.count; k++)
            if (left.negative[i] != right.negative[k] &&
                dm_gen_same(g, left.nodes[i], right.nodes[k]))
                return true;
    return false;
}

bool dm_gen_is_constant(dm_gen *g, int node)
{
    return dm_gen_at(g, node)->constant;
}

/* ---- Operations on floats ---- */

int dm_gen_varying(dm_gen *g, dm_gen_type type, int size)
{
    int node = dm_gen_value(g, type, size);
    return dm_gen_is_constant(g, node) ? dm_gen_leaf(g, type) : node;
}

/* Two operands that are not both constants; `size` is shared out. */
void dm_gen_operands(dm_gen *g, dm_gen_type a_type, dm_gen_type b_type, int size, int *a, int *b)
{
    int first = size <= 2 ? 1 : dm_gen_between(g, 1, size - 1);
    *a = dm_gen_value(g, a_type, first);
    *b = dm_gen_value(g, b_type, size - first > 0 ? size - first : 1);
    if (dm_gen_is_constant(g, *a) && dm_gen_is_constant(g, *b))
        *b = dm_gen_leaf(g, b_type);
}

int dm_gen_product(dm_gen *g, dm_gen_type type, int a, int b)
{
    bool both = dm_gen_shape(dm_gen_type_at(g, a)) != DM_GEN_SCALAR &&
                dm_gen_shape(dm_gen_type_at(g, b)) != DM_GEN_SCALAR;
    float inner = both ? (float)dm_gen_rows(dm_gen_type_at(g, a)) : 1;
    if (dm_gen_most_at(g, a) * dm_gen_most_at(g, b) * inner > g->cap) {
        a = dm_gen_fit(g, a, 4);
        b = dm_gen_fit(g, b, 4);
    }
    return dm_gen_binary(g, DM_GEN_OP_MUL, type, a, b);
}

/* a op b, or another operation where the two would cancel. */
int dm_gen_combined(dm_gen *g, dm_gen_op op, int a, int b)
{
    dm_gen_type type = dm_gen_type_at(g, a);
    bool scalar = dm_gen_shape(type) == DM_GEN_SCALAR;
    bool product_like = op == DM_GEN_OP_MUL || op == DM_GEN_OP_DIV;
    if (product_like && (!scalar || !dm_gen_cancels(g, op, a, b)))
        return op == DM_GEN_OP_MUL ? dm_gen_product(g, type, a, b)
                                   : dm_gen_binary(g, op, type, a, dm_gen_divisor(g, b));
    if (product_like)
        return dm_gen_binary(g, DM_GEN_OP_ADD, type, a, b);
    if (!dm_gen_cancels(g, op, a, b))
        return dm_gen_binary(g, op, type, a, b);
    if (scalar)
        return dm_gen_product(g, type, a, b);
    if (dm_gen_is_vec(type))
        return dm_gen_binary(g, DM_GEN_OP_CW_MUL, type, dm_gen_fit(g, a, 20), dm_gen_fit(g, b, 20));
    return dm_gen_product(g, type, dm_gen_fit(g, a, 5), dm_gen_fit(g, b, 5));
}
