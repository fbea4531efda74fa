/* SPDX-License-Identifier: MIT */
/* facts.c - what is known of a result besides its range: the inputs that it surely depends on and has
 * a gradient to. The sets are conservative: an operation that may lose an input removes it. Outputs
 * are completed later (complete.c). */
#include "synth/gen/node.h"

enum { KEEP, BOTH, DROP };

static const uint8_t rules[] = {
#define OP(name, form, text, level, masks) masks,
#include "synth/gen/ops.def"
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

/* The facts that any operand has, and those that all have. */
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
        if (kid->stuck)
            o.zero |= dm_gen_has_zero(kid->span, 0.01f);
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

/* What an operation makes of its operands by rules of its own. */
typedef struct outcome {
    bool unit, nothing; /* nothing: what it depends on is not sure */
    float gain;
    uint32_t plus, minus, risk; /* terms; inputs that may have cancelled */
} outcome;

/* What scaling by a number leaves of slopes. */
static float scale_of(const dm_gen_node *n)
{
    float most = dm_gen_most(n->span);
    return n->op == DM_GEN_OP_CONSTANT && most < 1 ? most : 1;
}

static outcome operate(const dm_gen *g, const dm_gen_node *n, float gain)
{
    const dm_gen_node *a = &g->nodes[n->kids[0]], *b = &g->nodes[n->kids[n->count > 1]];
    const dm_gen_masks *x = &a->masks, *y = &b->masks;
    outcome o = {.gain = gain};
    switch (n->op) {
    case DM_GEN_OP_ADD:
        o.risk = (x->plus & y->minus) | (x->minus & y->plus);
        o.plus = x->plus | y->plus;
        o.minus = x->minus | y->minus;
        break;
    case DM_GEN_OP_SUB:
        o.risk = (x->plus & y->plus) | (x->minus & y->minus);
        o.plus = x->plus | y->minus;
        o.minus = x->minus | y->plus;
        break;
    case DM_GEN_OP_MUL:
        o.unit = a->unit && b->unit;
        o.gain = gain * scale_of(a) * scale_of(b);
        break;
    case DM_GEN_OP_DIV:
        o.risk = x->depends & y->depends; /* a factor may be in both */
        if (dm_gen_most(b->span) > 1)
            o.gain = gain / dm_gen_most(b->span);
        break;
    case DM_GEN_OP_CW_DIV:
        o.risk = x->depends & y->depends;
        break;
    case DM_GEN_OP_NEG:
        o.unit = a->unit;
        o.plus = x->minus;
        o.minus = x->plus;
        break;
    case DM_GEN_OP_ABS:
        o.plus = o.minus = x->plus | x->minus;
        break;
    case DM_GEN_OP_WHERE: /* condition, value, other */
    case DM_GEN_OP_TERNARY:
        x = n->op == DM_GEN_OP_WHERE ? y : x;
        y = &g->nodes[n->kids[2]].masks;
        o.plus = x->plus | y->plus;
        o.minus = x->minus | y->minus;
        break;
    case DM_GEN_OP_MIN:
    case DM_GEN_OP_MAX:
    case DM_GEN_OP_LERP:
        o.plus = x->plus | y->plus;
        o.minus = x->minus | y->minus;
        break;
    case DM_GEN_OP_MOD:
    case DM_GEN_OP_FRAC:
    case DM_GEN_OP_CAST:
    case DM_GEN_OP_CLAMP:
    case DM_GEN_OP_COMPONENT:
        o.plus = x->plus;
        o.minus = x->minus;
        break;
    case DM_GEN_OP_NORMALIZE: /* what has been divided by its length has lost its own */
        o.unit = true;
        o.nothing = a->op != DM_GEN_OP_LOAD && a->op != DM_GEN_OP_ADD && a->op != DM_GEN_OP_SUB;
        break;
    case DM_GEN_OP_QUAT_AXIS_ANGLE:
        o.unit = true;
        break;
    case DM_GEN_OP_QUAT_INVERSE:
        o.unit = a->unit;
        break;
    case DM_GEN_OP_QUAT_ROTATE:
    case DM_GEN_OP_QUAT_ROTATE_INV:
        o.unit = a->unit && b->unit;
        break;
    case DM_GEN_OP_LENGTH:
        o.nothing = a->unit;
        break;
    case DM_GEN_OP_LENGTH_SQ:
        o.nothing = a->unit;
        o.gain = gain * gain;
        break;
    case DM_GEN_OP_DDOT:
        o.gain = gain * gain;
        break;
    case DM_GEN_OP_RADIANS:
        o.gain = gain * 0.0175f;
        break;
    default:
        break;
    }
    if (o.risk >> DM_GEN_TERMS_SHIFT != 0) /* a variable: all that both may have from it */
        o.risk |= x->depends & y->depends;
    return o;
}

_Static_assert(DM_GEN_PARAMS_MAX <= DM_GEN_TERMS_SHIFT, "inputs have the lower half");

void dm_gen_facts(dm_gen *g, dm_gen_node *n)
{
    uint8_t rule = rules[n->op], effect = effects[n->op];
    operands from = look_at(g, n);
    outcome o = operate(g, n, from.gain);
    bool zeros = meets_zeros(n, effect, from.uneven);
    bool faint = o.gain < DM_GEN_GAIN_LEAST; /* slopes are too small to be seen */
    if (zeros || faint || o.nothing || (from.zero && (effect & PRODUCT) != 0))
        from.all = DM_GEN_NOTHING;
    bool stuck = (effect & SUM) != 0 ? from.each_stuck : from.any_stuck;
    n->stuck = zeros || stuck || (effect & STICKY) != 0;
    n->uneven =
        (effect & MAKES_ZEROS) != 0 || (from.uneven > 0 && dm_gen_shape(n->type) != DM_GEN_SCALAR);
    n->unit = o.unit;
    n->gain = faint ? 1 : o.gain;
    n->masks = rule == KEEP ? from.all : rule == BOTH ? from.common : DM_GEN_NOTHING;
    n->masks.depends &= ~o.risk;
    n->masks.live &= dm_gen_kind_is_float(dm_gen_kind(n->type)) ? ~o.risk : 0;
    n->masks.plus = o.plus;
    n->masks.minus = o.minus;
}
