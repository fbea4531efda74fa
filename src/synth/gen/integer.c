/* SPDX-License-Identifier: MIT */
/* integer.c - values that are integers, and conditions. */
#include "synth/gen/expression.h"

static const dm_gen_type int32 = DM_GEN_SCALAR << 4 | DM_GEN_I32;
static const dm_gen_type boolean = DM_GEN_SCALAR << 4 | DM_GEN_BOOLEAN;

/* ---- Integers and conditions ---- */

#define INTEGER_MOST 1e6f

int dm_gen_integer_value(dm_gen *g, dm_gen_type type, int size)
{
    int kind = dm_gen_kind(type), a, b;
    bool is_unsigned = kind == DM_GEN_U32 || kind == DM_GEN_U64;
    dm_gen_op op = dm_gen_some_operation(g, DM_GEN_INTEGERS);
    if (dm_gen_chance(g, g->recipe->select / 2) && size >= 3)
        return dm_gen_selection(g, type, size);
    if (is_unsigned && (op == DM_GEN_OP_SUB || op == DM_GEN_OP_ABS))
        op = DM_GEN_OP_ADD;
    if (op == DM_GEN_OP_ABS) {
        a = dm_gen_value(g, type, size - 1);
        return dm_gen_is_constant(g, a) ? dm_gen_leaf(g, type) : dm_gen_unary(g, op, type, a);
    }
    if (op == DM_GEN_OP_FLOORDIV || op == DM_GEN_OP_MOD || op == DM_GEN_OP_SHIFT_LEFT ||
        op == DM_GEN_OP_SHIFT_RIGHT) {
        bool shift = op == DM_GEN_OP_SHIFT_LEFT || op == DM_GEN_OP_SHIFT_RIGHT;
        a = dm_gen_value(g, type, size - 1);
        if (dm_gen_is_constant(g, a))
            a = dm_gen_leaf(g, type);
        bool bad = dm_gen_at(g, a)->span.low < 0 || dm_gen_most_at(g, a) > INTEGER_MOST / 8;
        if (shift && bad) { /* a shift of a negative number is no C */
            op = DM_GEN_OP_MOD;
            shift = false;
        }
        b = dm_gen_constant(g, kind, (float)dm_gen_between(g, shift ? 1 : 3, shift ? 3 : 9));
        return dm_gen_binary(g, op, type, a, b);
    }
    dm_gen_operands(g, type, type, size, &a, &b);
    bool heavy = dm_gen_most_at(g, a) * dm_gen_most_at(g, b) > INTEGER_MOST;
    if ((op == DM_GEN_OP_MUL && heavy) || (dm_gen_same(g, a, b) && op != DM_GEN_OP_MUL) ||
        (op == DM_GEN_OP_SUB && dm_gen_cancels(g, op, a, b)))
        op = DM_GEN_OP_ADD;
    int made = dm_gen_binary(g, op, type, a, b);
    if (dm_gen_most_at(g, made) > INTEGER_MOST)
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
    dm_gen_list list;
    list.count = 0;
    for (int i = dm_gen_last(g->frame); i >= 0; i = dm_gen_before(g->frame, i)) {
        dm_gen_variable *v = &g->frame->variables[i];
        bool several = v->span.low <= 0 && v->span.high >= DM_SYNTH_SIZE_LEAST - 1;
        if (v->index && v->fixed && several && !v->hidden)
            list.items[list.count++] = v;
    }
    dm_gen_variable *found = dm_gen_one_of(g, &list);
    if (found == NULL)
        return -1;
    int i = dm_gen_name(g, found), n = dm_gen_between(g, 2, 3);
    bool again = g->has_parity;
    g->has_parity = true;
    *certain = !g->guarded && !again; /* two conditions may exclude each other */
    if (dm_gen_chance(g, 40)) {
        int limit = dm_gen_constant(g, DM_GEN_I32, (float)dm_gen_between(g, 1, 2));
        return dm_gen_binary(g, some_comparison(g), boolean, i, limit);
    }
    int rest = dm_gen_binary(g, DM_GEN_OP_MOD, int32, i, dm_gen_constant(g, DM_GEN_I32, (float)n));
    int which = dm_gen_constant(g, DM_GEN_I32, (float)dm_gen_below(g, n));
    return dm_gen_binary(g, dm_gen_chance(g, 75) ? DM_GEN_OP_EQUAL : DM_GEN_OP_UNEQUAL, boolean,
                         rest, which);
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
    if (dm_gen_is_constant(g, a))
        a = dm_gen_leaf(g, type);
    if (dm_gen_chance(g, 35) && size > 1) {
        b = dm_gen_leaf(g, type);
        if (!dm_gen_same(g, a, b))
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
