/* SPDX-License-Identifier: MIT */
/* facts.c - what is known of a result besides its range: which inputs it surely depends on and has
 * a gradient to. Whatever may lose them does lose them here; outputs are completed later
 * (complete.c). */
#include "synth/node.h"

enum { KEEP, BOTH, DROP };

static const uint8_t rules[] = {
#define OP(name, form, text, level, masks) masks,
#include "synth/ops.def"
#undef OP
};

static bool is_product(int op)
{
    return op == DM_GEN_OP_MUL || op == DM_GEN_OP_DIV || op == DM_GEN_OP_DOT ||
           op == DM_GEN_OP_CROSS || op == DM_GEN_OP_CW_MUL || op == DM_GEN_OP_CW_DIV ||
           op == DM_GEN_OP_OUTER || op == DM_GEN_OP_DDOT || op == DM_GEN_OP_QUAT_ROTATE ||
           op == DM_GEN_OP_QUAT_ROTATE_INV;
}

/* A factor that may be zero for all inputs takes the others with it. */
static void join_stuck(dm_gen *g, dm_gen_node *n, dm_gen_masks *all)
{
    static const uint8_t sticky[] = {
        DM_GEN_OP_FLOOR,    DM_GEN_OP_CEIL,       DM_GEN_OP_ROUND,
        DM_GEN_OP_CLAMP,    DM_GEN_OP_SMOOTHSTEP, DM_GEN_OP_SIGN,
        DM_GEN_OP_FLOORDIV, DM_GEN_OP_BIT_AND,    DM_GEN_OP_SHIFT_RIGHT};
    bool any = false, each = true;
    for (int i = 0; i < n->count; i++) {
        const dm_gen_node *kid = &g->nodes[n->kids[i]];
        any |= kid->stuck;
        each &= kid->stuck || kid->op == DM_GEN_OP_CONSTANT;
        if (kid->stuck && dm_gen_has_zero(kid->span, 0.01f) && is_product(n->op))
            *all = DM_GEN_NOTHING;
    }
    n->stuck = n->op == DM_GEN_OP_ADD || n->op == DM_GEN_OP_SUB ? each : any;
    for (size_t i = 0; i < sizeof sticky; i++)
        n->stuck |= n->op == sticky[i];
}

/* Where components differ in what they depend on, one of them, or a sum of some, says nothing. */
static void join_uneven(dm_gen *g, dm_gen_node *n, dm_gen_masks *all)
{
    int uneven = 0;
    for (int i = 0; i < n->count; i++)
        uneven += g->nodes[n->kids[i]].uneven;
    n->uneven = uneven > 0 && dm_gen_shape(n->type) != DM_GEN_SCALAR;
    switch (n->op) {
    case DM_GEN_OP_COMPONENT:
    case DM_GEN_OP_TRACE:
    case DM_GEN_OP_GET_DIAG:
    case DM_GEN_OP_DETERMINANT:
        if (uneven > 0) {
            *all = DM_GEN_NOTHING;
            n->stuck = true; /* it may be a zero of the identity's */
        }
        break;
    case DM_GEN_OP_MUL:
    case DM_GEN_OP_DDOT:
    case DM_GEN_OP_CW_MUL:
        if (uneven > 1 && n->kids[0] != n->kids[1]) { /* zeros of one on all of the other */
            *all = DM_GEN_NOTHING;
            n->stuck = true;
        }
        break;
    case DM_GEN_OP_SKEW:
    case DM_GEN_OP_DIAG:
        n->uneven = true;
        break;
    default:
        break;
    }
}

/* Vectors that keep the length 1; what has been divided by its length has lost its own. */
static void join_unit(dm_gen *g, dm_gen_node *n, dm_gen_masks *all)
{
    const dm_gen_node *a = &g->nodes[n->kids[0]], *b = n->count > 1 ? &g->nodes[n->kids[1]] : a;
    switch (n->op) {
    case DM_GEN_OP_NORMALIZE:
        n->unit = true;
        if (a->op != DM_GEN_OP_LOAD && a->op != DM_GEN_OP_ADD && a->op != DM_GEN_OP_SUB)
            *all = DM_GEN_NOTHING;
        break;
    case DM_GEN_OP_QUAT_AXIS_ANGLE:
        n->unit = true;
        break;
    case DM_GEN_OP_NEG:
    case DM_GEN_OP_QUAT_INVERSE:
        n->unit = a->unit;
        break;
    case DM_GEN_OP_MUL:
    case DM_GEN_OP_QUAT_ROTATE:
    case DM_GEN_OP_QUAT_ROTATE_INV:
        n->unit = a->unit && b->unit;
        break;
    case DM_GEN_OP_LENGTH:
    case DM_GEN_OP_LENGTH_SQ:
        if (a->unit)
            *all = DM_GEN_NOTHING;
        break;
    default:
        break;
    }
}

/* Slopes that became too small to be seen do not count. */
static void join_gain(dm_gen *g, dm_gen_node *n, dm_gen_masks *all)
{
    n->gain = 1;
    for (int i = 0; i < n->count; i++) {
        const dm_gen_node *kid = &g->nodes[n->kids[i]];
        if ((kid->masks.depends | kid->masks.live) != 0 && kid->gain < n->gain)
            n->gain = kid->gain;
    }
    if (n->op == DM_GEN_OP_LENGTH_SQ || n->op == DM_GEN_OP_DDOT)
        n->gain *= n->gain;
    for (int i = 0; i < n->count && n->op == DM_GEN_OP_MUL; i++) {
        const dm_gen_node *kid = &g->nodes[n->kids[i]];
        if (kid->op == DM_GEN_OP_CONSTANT && dm_gen_most(kid->span) < 1)
            n->gain *= dm_gen_most(kid->span);
    }
    if (n->op == DM_GEN_OP_DIV && dm_gen_most(g->nodes[n->kids[1]].span) > 1)
        n->gain /= dm_gen_most(g->nodes[n->kids[1]].span);
    if (n->op == DM_GEN_OP_RADIANS)
        n->gain *= 0.0175f;
    if (n->gain < DM_GEN_GAIN_LEAST) {
        *all = DM_GEN_NOTHING;
        n->gain = 1;
    }
}

_Static_assert(DM_GEN_PARAMS_MAX <= DM_GEN_TERMS_SHIFT, "inputs have the lower half");

/* Inputs that are terms of the result; those that may have cancelled are no longer sure. */
static void join_terms(dm_gen *g, dm_gen_node *n)
{
    const dm_gen_masks *a = &g->nodes[n->kids[0]].masks, none = {0, 0, 0, 0};
    const dm_gen_masks *b = n->count > 1 ? &g->nodes[n->kids[1]].masks : &none;
    dm_gen_masks *m = &n->masks;
    uint32_t risk = 0;
    m->plus = m->minus = 0;
    switch (n->op) {
    case DM_GEN_OP_ADD:
        risk = (a->plus & b->minus) | (a->minus & b->plus);
        m->plus = a->plus | b->plus;
        m->minus = a->minus | b->minus;
        break;
    case DM_GEN_OP_SUB:
        risk = (a->plus & b->plus) | (a->minus & b->minus);
        m->plus = a->plus | b->minus;
        m->minus = a->minus | b->plus;
        break;
    case DM_GEN_OP_DIV:
    case DM_GEN_OP_CW_DIV:
        risk = a->depends & b->depends; /* a factor may be in both */
        break;
    case DM_GEN_OP_NEG:
        m->plus = a->minus;
        m->minus = a->plus;
        break;
    case DM_GEN_OP_ABS:
        m->plus = m->minus = a->plus | a->minus;
        break;
    case DM_GEN_OP_WHERE:
    case DM_GEN_OP_TERNARY:
        b = n->op == DM_GEN_OP_WHERE ? b : a;
        a = &g->nodes[n->kids[2]].masks;
        m->plus = a->plus | b->plus;
        m->minus = a->minus | b->minus;
        break;
    case DM_GEN_OP_MIN:
    case DM_GEN_OP_MAX:
    case DM_GEN_OP_LERP:
        m->plus = a->plus | b->plus;
        m->minus = a->minus | b->minus;
        break;
    case DM_GEN_OP_MOD:
    case DM_GEN_OP_FRAC:
    case DM_GEN_OP_CAST:
    case DM_GEN_OP_CLAMP:
    case DM_GEN_OP_COMPONENT:
        m->plus = a->plus;
        m->minus = a->minus;
        break;
    default:
        break;
    }
    if (risk >> DM_GEN_TERMS_SHIFT != 0) /* a variable: all that both may have from it */
        risk |= a->depends & b->depends;
    m->depends &= ~risk;
    m->live &= ~risk;
}

void dm_gen_facts(dm_gen *g, dm_gen_node *n)
{
    uint8_t rule = rules[n->op];
    int first = n->op == DM_GEN_OP_WHERE ? 1 : 0;
    dm_gen_masks all = DM_GEN_NOTHING, common = {UINT32_MAX, UINT32_MAX, 0, 0};
    for (int i = first; i < n->count; i++) {
        if (n->op == DM_GEN_OP_TERNARY && i == 1)
            continue;
        dm_gen_masks m = g->nodes[n->kids[i]].masks;
        all.depends |= m.depends;
        all.live |= m.live;
        common.depends &= m.depends;
        common.live &= m.live;
    }
    join_stuck(g, n, &all);
    join_uneven(g, n, &all);
    join_unit(g, n, &all);
    join_gain(g, n, &all);
    n->masks = rule == KEEP ? all : rule == BOTH ? common : DM_GEN_NOTHING;
    join_terms(g, n);
    if (!dm_gen_kind_is_float(dm_gen_kind(n->type)))
        n->masks.live = 0;
}
