/* SPDX-License-Identifier: MIT */
/* complete.c - values of other types, and outputs that depend on every input. */
#include "synth/gen/expression.h"

/* ---- Other types ---- */

static int to_scalar(dm_gen *g, int node)
{
    dm_gen_type from = dm_gen_type_at(g, node), type = dm_gen_scalar_of(from);
    int rows = dm_gen_rows(from);
    bool uneven = dm_gen_at(g, node)->uneven, unit = dm_gen_at(g, node)->unit;
    if (dm_gen_is_mat(from) && uneven) {
        node = dm_gen_fit(g, node, 5);
        return dm_gen_binary(g, DM_GEN_OP_DDOT, type, node, node);
    }
    if (unit && uneven) {
        int kids[4];
        for (int i = 0; i < rows; i++)
            kids[i] = dm_gen_factor(g, type);
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
        return dm_gen_product(g, type, dm_gen_identity(g, type), node);
    if (dm_gen_shape(type) == DM_GEN_QUAT || dm_gen_chance(g, 60)) {
        dm_gen_variable *v = dm_gen_some_variable(g, type);
        if (v != NULL && !v->stuck)
            return dm_gen_product(g, type, dm_gen_name(g, v), node);
    }
    return dm_gen_splat(g, type, node);
}

int dm_gen_adapt(dm_gen *g, int node, dm_gen_type type)
{
    dm_gen_type from = dm_gen_type_at(g, node);
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
    dm_gen_type type = dm_gen_type_at(g, a);
    bool is_unsigned = dm_gen_kind(type) == DM_GEN_U32 || dm_gen_kind(type) == DM_GEN_U64;
    int way = dm_gen_below(g, 10);
    bool scalar = dm_gen_shape(type) == DM_GEN_SCALAR;
    bool real = dm_gen_kind_is_float(dm_gen_kind(type));
    if (way < 3 && scalar && real && dm_gen_most_at(g, a) * dm_gen_most_at(g, b) < g->cap &&
        !dm_gen_at(g, a)->stuck && !dm_gen_at(g, b)->stuck)
        return dm_gen_combined(g, DM_GEN_OP_MUL, a, b);
    dm_gen_op op = way < 6 && !is_unsigned ? DM_GEN_OP_SUB : DM_GEN_OP_ADD;
    if (!real)
        return dm_gen_binary(g, dm_gen_same(g, a, b) ? DM_GEN_OP_ADD : op, type, a, b);
    if (op == DM_GEN_OP_ADD && dm_gen_chance(g, 30))
        return dm_gen_capped(g, dm_gen_combined(g, op, b, a));
    return dm_gen_capped(g, dm_gen_combined(g, op, a, b));
}

int dm_gen_use_all(dm_gen *g, int node, int first)
{
    dm_gen_frame *frame = g->frame;
    dm_gen_type type = dm_gen_type_at(g, node);
    for (int i = first; i < frame->count; i++) {
        dm_gen_variable *v = &frame->variables[i];
        if (v->used || v->hidden || v->state || v->index || dm_gen_shape(v->type) == DM_GEN_STRUCT)
            continue;
        node = dm_gen_join_values(g, node, dm_gen_adapt(g, dm_gen_name(g, v), type));
    }
    return node;
}

/* How many bits are set; not every processor that runs this has an instruction for it. */
static int bits_in(uint32_t mask)
{
    int count = 0;
    for (; mask != 0; mask &= mask - 1)
        count++;
    return count;
}

/* The oldest variable that has most of the missing inputs; -1 when none has any. */
static int best_cover(dm_gen *g, dm_gen_masks missing)
{
    int best = -1, most = 0;
    for (int i = dm_gen_last(g->frame); i >= 0; i = dm_gen_before(g->frame, i)) {
        const dm_gen_variable *v = &g->frame->variables[i];
        uint32_t depends = v->masks.depends & missing.depends, live = v->masks.live & missing.live;
        if ((depends | live) == 0 || v->hidden || v->state || v->stuck ||
            dm_gen_shape(v->type) == DM_GEN_STRUCT)
            continue;
        int covers = bits_in(depends) + bits_in(live);
        if (covers >= most) {
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

/* A term that cannot cancel one of `node`: it is scaled if the same term is subtracted there. */
static int as_new_term(dm_gen *g, int node, int term)
{
    dm_gen_masks a = dm_gen_at(g, node)->masks, b = dm_gen_at(g, term)->masks;
    dm_gen_type type = dm_gen_type_at(g, term);
    if (((a.plus & b.minus) | (a.minus & b.plus)) == 0)
        return term;
    bool real = dm_gen_kind_is_float(dm_gen_kind(type));
    int by = dm_gen_constant(g, dm_gen_kind(type),
                             real ? (float)dm_gen_between(g, 12, 25) / 10
                                  : (float)dm_gen_between(g, 2, 5));
    return dm_gen_binary(g, DM_GEN_OP_MUL, type, term, by);
}

/* An element of an input, for a kernel that has taken none so far; -1 when there is no place. */
static int first_input(dm_gen *g, dm_gen_type type)
{
    return g->frame->kernel && g->frame->inputs == 0 ? dm_gen_element(g, type, true) : -1;
}

int dm_gen_complete(dm_gen *g, int node)
{
    dm_gen_type type = dm_gen_type_at(g, node);
    uint32_t given_up = 0;
    int first = first_input(g, type);
    if (first >= 0)
        node = dm_gen_binary(g, DM_GEN_OP_ADD, type, node, first);
    for (int tries = 0; tries < 2 * DM_GEN_PARAMS_MAX; tries++) {
        dm_gen_masks has = dm_gen_at(g, node)->masks;
        has.depends |= given_up;
        has.live |= given_up;
        dm_gen_masks missing = {.depends = g->frame->inputs & ~has.depends,
                                .live = gradient_inputs(g) & ~has.live};
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
            node = dm_gen_binary(g, DM_GEN_OP_ADD, type, node, as_new_term(g, node, made));
    }
    return node;
}
