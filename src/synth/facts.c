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

/* What an operation does to the facts of its operands. */
enum {
    PRODUCT = 1,     /* a factor that may be zero for all inputs takes the others with it */
    STICKY = 2,      /* may be one number for all inputs */
    SUM = 4,         /* varies when one of its operands does */
    OF_SOME = 8,     /* one component, or a sum of some */
    PAIRS = 16,      /* zeros of one operand may meet all of the other */
    MAKES_ZEROS = 32 /* of components */
};

static const uint8_t effects[DM_GEN_OP_COUNT] = {
    [DM_GEN_OP_ADD] = SUM,
    [DM_GEN_OP_SUB] = SUM,
    [DM_GEN_OP_MUL] = PRODUCT | PAIRS,
    [DM_GEN_OP_DIV] = PRODUCT,
    [DM_GEN_OP_DOT] = PRODUCT,
    [DM_GEN_OP_CROSS] = PRODUCT,
    [DM_GEN_OP_CW_MUL] = PRODUCT | PAIRS,
    [DM_GEN_OP_CW_DIV] = PRODUCT,
    [DM_GEN_OP_OUTER] = PRODUCT,
    [DM_GEN_OP_DDOT] = PRODUCT | PAIRS,
    [DM_GEN_OP_QUAT_ROTATE] = PRODUCT,
    [DM_GEN_OP_QUAT_ROTATE_INV] = PRODUCT,
    [DM_GEN_OP_FLOOR] = STICKY,
    [DM_GEN_OP_CEIL] = STICKY,
    [DM_GEN_OP_ROUND] = STICKY,
    [DM_GEN_OP_CLAMP] = STICKY,
    [DM_GEN_OP_SMOOTHSTEP] = STICKY,
    [DM_GEN_OP_SIGN] = STICKY,
    [DM_GEN_OP_FLOORDIV] = STICKY,
    [DM_GEN_OP_BIT_AND] = STICKY,
    [DM_GEN_OP_SHIFT_RIGHT] = STICKY,
    [DM_GEN_OP_COMPONENT] = OF_SOME,
    [DM_GEN_OP_TRACE] = OF_SOME,
    [DM_GEN_OP_GET_DIAG] = OF_SOME,
    [DM_GEN_OP_DETERMINANT] = OF_SOME,
    [DM_GEN_OP_SKEW] = MAKES_ZEROS,
    [DM_GEN_OP_DIAG] = MAKES_ZEROS,
};

/* What the operands have: all of them together, each of them. */
typedef struct operands {
    dm_gen_masks all, common;
    bool any_stuck, each_stuck, zero; /* zero: one that is stuck may be zero */
    int uneven;                       /* how many */
    float gain;                       /* the least of those that depend on inputs */
} operands;

static operands look_at(const dm_gen *g, const dm_gen_node *n)
{
    operands o = {.common = {UINT32_MAX, UINT32_MAX, 0, 0}, .each_stuck = true, .gain = 1};
    int condition = n->op == DM_GEN_OP_WHERE ? 0 : n->op == DM_GEN_OP_TERNARY ? 1 : -1;
    for (int i = 0; i < n->count; i++) {
        const dm_gen_node *kid = &g->nodes[n->kids[i]];
        uint32_t depends = kid->masks.depends, live = kid->masks.live;
        o.any_stuck |= kid->stuck;
        o.each_stuck &= kid->stuck | (kid->op == DM_GEN_OP_CONSTANT);
        o.zero |= kid->stuck && dm_gen_has_zero(kid->span, 0.01f);
        o.uneven += kid->uneven;
        if ((depends | live) != 0 && kid->gain < o.gain)
            o.gain = kid->gain;
        if (i == condition) /* values do not come from it */
            continue;
        o.all.depends |= depends;
        o.all.live |= live;
        o.common.depends &= depends;
        o.common.live &= live;
    }
    return o;
}

/* Where components differ in what they depend on, one of them, or a sum of some, says nothing: it
 * may be a zero of the identity's. */
static bool meets_zeros(const dm_gen_node *n, int effect, int uneven)
{
    return ((effect & OF_SOME) != 0 && uneven > 0) ||
           ((effect & PAIRS) != 0 && uneven > 1 && n->kids[0] != n->kids[1]);
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
static void join_gain(dm_gen *g, dm_gen_node *n, float gain, dm_gen_masks *all)
{
    const dm_gen_node *a = &g->nodes[n->kids[0]], *b = n->count > 1 ? &g->nodes[n->kids[1]] : a;
    switch (n->op) {
    case DM_GEN_OP_LENGTH_SQ:
    case DM_GEN_OP_DDOT:
        gain *= gain;
        break;
    case DM_GEN_OP_MUL:
        if (a->op == DM_GEN_OP_CONSTANT && dm_gen_most(a->span) < 1)
            gain *= dm_gen_most(a->span);
        if (b->op == DM_GEN_OP_CONSTANT && dm_gen_most(b->span) < 1)
            gain *= dm_gen_most(b->span);
        break;
    case DM_GEN_OP_DIV:
        if (dm_gen_most(b->span) > 1)
            gain /= dm_gen_most(b->span);
        break;
    case DM_GEN_OP_RADIANS:
        gain *= 0.0175f;
        break;
    default:
        break;
    }
    if (gain < DM_GEN_GAIN_LEAST) {
        *all = DM_GEN_NOTHING;
        gain = 1;
    }
    n->gain = gain;
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
    uint8_t rule = rules[n->op], effect = effects[n->op];
    operands o = look_at(g, n);
    bool zeros = meets_zeros(n, effect, o.uneven);
    if (zeros || (o.zero && (effect & PRODUCT) != 0))
        o.all = DM_GEN_NOTHING;
    n->stuck =
        zeros || (effect & STICKY) != 0 || ((effect & SUM) != 0 ? o.each_stuck : o.any_stuck);
    n->uneven =
        (effect & MAKES_ZEROS) != 0 || (o.uneven > 0 && dm_gen_shape(n->type) != DM_GEN_SCALAR);
    join_unit(g, n, &o.all);
    join_gain(g, n, o.gain, &o.all);
    n->masks = rule == KEEP ? o.all : rule == BOTH ? o.common : DM_GEN_NOTHING;
    join_terms(g, n);
    if (!dm_gen_kind_is_float(dm_gen_kind(n->type)))
        n->masks.live = 0;
}
