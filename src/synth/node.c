/* SPDX-License-Identifier: MIT */
/* node.c - nodes of expressions: what range an operation gives, and how it is written. */
#include "synth/gen.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { INFIX, PREFIX, CALL, OTHER };
enum { KEEP, BOTH, DROP };

typedef struct row {
    const char *text;
    uint8_t form, level, masks, length;
} row;

static const row rows[] = {
#define OP(name, form, text, level, masks) {text, form, level, masks, sizeof text - 1},
#include "synth/ops.def"
#undef OP
};

/* ---- Ranges ---- */

static dm_gen_span span(float low, float high)
{
    return (dm_gen_span){low, high};
}

static dm_gen_span hull(dm_gen_span a, dm_gen_span b)
{
    return span(fminf(a.low, b.low), fmaxf(a.high, b.high));
}

static dm_gen_span plus(dm_gen_span a, dm_gen_span b)
{
    return span(a.low + b.low, a.high + b.high);
}

static dm_gen_span minus(dm_gen_span a, dm_gen_span b)
{
    return span(a.low - b.high, a.high - b.low);
}

static dm_gen_span times(dm_gen_span a, dm_gen_span b)
{
    float p = a.low * b.low, q = a.low * b.high, r = a.high * b.low, s = a.high * b.high;
    return span(fminf(fminf(p, q), fminf(r, s)), fmaxf(fmaxf(p, q), fmaxf(r, s)));
}

/* The divisor is away from zero: expression.c sees to that. */
static dm_gen_span divided(dm_gen_span a, dm_gen_span b)
{
    return times(a, span(1 / b.high, 1 / b.low));
}

static dm_gen_span scaled(dm_gen_span a, int n)
{
    return span(a.low * (float)n, a.high * (float)n);
}

static dm_gen_span magnitude(dm_gen_span a)
{
    float most = dm_gen_most(a);
    if (a.low > 0)
        return a;
    return span(a.high < 0 ? -a.high : 0, most);
}

static dm_gen_span around(float most)
{
    return span(-most, most);
}

static dm_gen_span square(dm_gen_span a)
{
    dm_gen_span m = magnitude(a);
    return span(m.low * m.low, m.high * m.high);
}

static dm_gen_span monotone(float (*f)(float), dm_gen_span a)
{
    return span(f(a.low), f(a.high));
}

static dm_gen_span powers(dm_gen_span base, dm_gen_span exponent)
{
    if (base.low < 0) /* squares and cubes only */
        return around(powf(dm_gen_most(base), exponent.high));
    float p = powf(base.low, exponent.low), q = powf(base.low, exponent.high);
    float r = powf(base.high, exponent.low), s = powf(base.high, exponent.high);
    return span(fminf(fminf(p, q), fminf(r, s)), fmaxf(fmaxf(p, q), fmaxf(r, s)));
}

/* Products of matrices and vectors sum over the inner dimension. */
static int inner(dm_gen_type a, dm_gen_type b)
{
    bool both = dm_gen_shape(a) != DM_GEN_SCALAR && dm_gen_shape(b) != DM_GEN_SCALAR;
    return both ? dm_gen_rows(a) : 1;
}

static dm_gen_span bits_of(dm_gen_span a, dm_gen_span b)
{
    float most = fmaxf(dm_gen_most(a), dm_gen_most(b)), top = 1;
    while (top <= most)
        top *= 2;
    return span(a.low < 0 || b.low < 0 ? -top : 0, top);
}

/* The range of an operation on a, b and c; operands that it does not have are any others. */
static dm_gen_span range_of(const dm_gen_node *n, const dm_gen_node *a, const dm_gen_node *b,
                            const dm_gen_node *c)
{
    int rows_of = dm_gen_rows(a->type);
    dm_gen_span x = a->span, y = b->span;
    float most = dm_gen_most(x);
    switch (n->op) {
    case DM_GEN_OP_ADD:
        return plus(x, y);
    case DM_GEN_OP_SUB:
        return minus(x, y);
    case DM_GEN_OP_MUL:
        return scaled(times(x, y), inner(a->type, b->type));
    case DM_GEN_OP_DIV:
    case DM_GEN_OP_CW_DIV:
        return divided(x, y);
    case DM_GEN_OP_FLOORDIV:
        return plus(divided(x, y), span(-1, 0));
    case DM_GEN_OP_MOD:
        return x.low < 0 ? around(dm_gen_most(y)) : span(0, fminf(x.high, dm_gen_most(y)));
    case DM_GEN_OP_POWER:
    case DM_GEN_OP_POW:
        return powers(x, y);
    case DM_GEN_OP_NEG:
        return span(-x.high, -x.low);
    case DM_GEN_OP_BIT_AND:
    case DM_GEN_OP_BIT_OR:
    case DM_GEN_OP_BIT_XOR:
        return bits_of(x, y);
    case DM_GEN_OP_SHIFT_LEFT:
        return times(x, span(exp2f(y.low), exp2f(y.high)));
    case DM_GEN_OP_SHIFT_RIGHT:
        return hull(x, span(0, 0));
    case DM_GEN_OP_SIN:
    case DM_GEN_OP_COS:
    case DM_GEN_OP_SIGN:
        return around(1);
    case DM_GEN_OP_TAN:
        return monotone(tanf, x);
    case DM_GEN_OP_ASIN:
        return monotone(asinf, x);
    case DM_GEN_OP_ACOS:
        return span(acosf(x.high), acosf(x.low));
    case DM_GEN_OP_ATAN:
        return monotone(atanf, x);
    case DM_GEN_OP_ATAN2:
        return around(1.6f);
    case DM_GEN_OP_SINH:
        return monotone(sinhf, x);
    case DM_GEN_OP_COSH:
        return span(1, coshf(most));
    case DM_GEN_OP_TANH:
        return monotone(tanhf, x);
    case DM_GEN_OP_EXP:
        return monotone(expf, x);
    case DM_GEN_OP_LOG:
        return monotone(logf, x);
    case DM_GEN_OP_LOG2:
        return monotone(log2f, x);
    case DM_GEN_OP_LOG10:
        return monotone(log10f, x);
    case DM_GEN_OP_SQRT:
        return monotone(sqrtf, x);
    case DM_GEN_OP_CBRT:
        return monotone(cbrtf, x);
    case DM_GEN_OP_ERF:
        return monotone(erff, x);
    case DM_GEN_OP_ABS:
        return magnitude(x);
    case DM_GEN_OP_FLOOR:
        return span(x.low - 1, x.high);
    case DM_GEN_OP_CEIL:
        return span(x.low, x.high + 1);
    case DM_GEN_OP_ROUND:
        return span(x.low - 1, x.high + 1);
    case DM_GEN_OP_FRAC:
        return span(x.low < 0 ? -1 : 0, x.high > 0 ? 1 : 0);
    case DM_GEN_OP_RADIANS:
        return span(x.low * 0.0175f, x.high * 0.0175f);
    case DM_GEN_OP_MIN:
        return span(fminf(x.low, y.low), fminf(x.high, y.high));
    case DM_GEN_OP_MAX:
        return span(fmaxf(x.low, y.low), fmaxf(x.high, y.high));
    case DM_GEN_OP_CLAMP:
        return span(fmaxf(x.low, y.low), fminf(x.high, c->span.high));
    case DM_GEN_OP_SMOOTHSTEP:
        return span(0, 1);
    case DM_GEN_OP_WHERE:
        return hull(y, c->span);
    case DM_GEN_OP_TERNARY: /* value, condition, other */
        return hull(x, c->span);
    case DM_GEN_OP_LERP: /* the third is between 0 and 1 */
        return hull(x, y);
    case DM_GEN_OP_DOT:
        return scaled(a == b ? square(x) : times(x, y), rows_of);
    case DM_GEN_OP_LENGTH:
        return span(magnitude(x).low * sqrtf((float)rows_of), most * sqrtf((float)rows_of));
    case DM_GEN_OP_LENGTH_SQ:
        return scaled(square(x), rows_of);
    case DM_GEN_OP_CROSS:
        return minus(times(x, y), times(x, y));
    case DM_GEN_OP_NORMALIZE:
        return span(x.low > 0 ? 0 : -1, x.high < 0 ? 0 : 1);
    case DM_GEN_OP_CW_MUL:
    case DM_GEN_OP_OUTER:
        return times(x, y);
    case DM_GEN_OP_SKEW:
        return around(most);
    case DM_GEN_OP_DIAG:
        return hull(x, span(0, 0));
    case DM_GEN_OP_TRACE:
        return scaled(x, rows_of);
    case DM_GEN_OP_DDOT:
        return scaled(times(x, y), rows_of * rows_of);
    case DM_GEN_OP_DETERMINANT: /* Hadamard's bound */
        return around(powf(most * sqrtf((float)rows_of), (float)rows_of));
    case DM_GEN_OP_INVERSE: /* of what is near the identity: expression.c */
        return around(2);
    case DM_GEN_OP_QUAT_ROTATE: /* the quaternion may have any length */
    case DM_GEN_OP_QUAT_ROTATE_INV:
        return around(2 * dm_gen_most(y) * fmaxf(1, 8 * most * most));
    case DM_GEN_OP_QUAT_AXIS_ANGLE:
        return around(fmaxf(1, most));
    case DM_GEN_OP_QUAT_INVERSE:
        return around(most);
    case DM_GEN_OP_TRANSPOSE:
    case DM_GEN_OP_GET_DIAG:
    case DM_GEN_OP_COMPONENT:
    case DM_GEN_OP_CAST:
        return x;
    default: /* conditions */
        return span(0, 1);
    }
}

/* ---- Making ---- */

dm_gen_node *dm_gen_at(dm_gen *g, int node)
{
    return &g->nodes[node];
}

void dm_gen_next(dm_gen *g)
{
    g->node_count = 0;
    g->more_count = 0;
}

static dm_gen_node *new_node(dm_gen *g, dm_gen_op op, dm_gen_type type, int *at)
{
    assert(g->node_count < DM_GEN_NODES_MAX && "statements are small");
    *at = g->node_count++;
    dm_gen_node *n = &g->nodes[*at];
    *n = (dm_gen_node){.op = (uint8_t)op, .type = type, .more = -1, .gain = 1};
    return n;
}

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
        if (uneven > 1 && n->kids[0] != n->kids[1])
            *all = DM_GEN_NOTHING;
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

#define GAIN_LEAST 0.02f

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
    if (n->gain < GAIN_LEAST) {
        *all = DM_GEN_NOTHING;
        n->gain = 1;
    }
}

#define TERMS_SHIFT 16
_Static_assert(DM_GEN_PARAMS_MAX <= TERMS_SHIFT, "inputs have the lower half");

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
    if (risk >> TERMS_SHIFT != 0) /* a variable: all that both may have from it */
        risk |= a->depends & b->depends;
    m->depends &= ~risk;
    m->live &= ~risk;
}

static void join_masks(dm_gen *g, dm_gen_node *n)
{
    uint8_t rule = rows[n->op].masks;
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

static int finish(dm_gen *g, int at, const int *kids, int count)
{
    dm_gen_node *n = &g->nodes[at];
    n->count = (uint8_t)count;
    n->constant = true;
    for (int i = 0; i < count; i++) {
        n->kids[i] = (int16_t)kids[i];
        n->constant &= g->nodes[kids[i]].constant;
    }
    join_masks(g, n);
    n->span = range_of(n, &g->nodes[n->kids[0]], &g->nodes[n->kids[count > 1]],
                       &g->nodes[n->kids[count > 2 ? 2 : 0]]);
    return at;
}

int dm_gen_unary(dm_gen *g, dm_gen_op op, dm_gen_type type, int a)
{
    int at;
    new_node(g, op, type, &at);
    return finish(g, at, &a, 1);
}

int dm_gen_binary(dm_gen *g, dm_gen_op op, dm_gen_type type, int a, int b)
{
    int at;
    new_node(g, op, type, &at);
    return finish(g, at, (int[]){a, b}, 2);
}

int dm_gen_ternary(dm_gen *g, dm_gen_op op, dm_gen_type type, int a, int b, int c)
{
    int at;
    new_node(g, op, type, &at);
    return finish(g, at, (int[]){a, b, c}, 3);
}

int dm_gen_constant(dm_gen *g, int kind, float value)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_CONSTANT, dm_gen_type_of(DM_GEN_SCALAR, kind), &at);
    if (dm_gen_kind_is_float(kind)) {
        n->number = (int)lrintf(value * 1000);
        value = (float)n->number / 1000;
    } else {
        n->number = (int)value;
    }
    n->constant = true;
    n->span = span(value, value);
    return at;
}

int dm_gen_name(dm_gen *g, dm_gen_variable *variable)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_NAME, variable->type, &at);
    variable->used = true;
    n->name = variable->name;
    n->span = variable->span;
    n->masks = variable->masks;
    n->stuck = variable->stuck;
    n->uneven = variable->uneven;
    n->unit = variable->unit;
    n->gain = variable->gain;
    n->masks.plus |= 1u << (TERMS_SHIFT + (variable - g->frame->variables) % TERMS_SHIFT);
    return at;
}

int dm_gen_make(dm_gen *g, dm_gen_type type, const int *kids, int count)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_MAKE, type, &at);
    n->count = (uint8_t)count;
    n->span = g->nodes[kids[0]].span;
    n->more = (int16_t)g->more_count;
    n->constant = true;
    for (int i = 0; i < count; i++) {
        const dm_gen_node *kid = &g->nodes[kids[i]];
        g->more[g->more_count++] = (int16_t)kids[i];
        n->span = hull(n->span, kid->span);
        n->constant &= kid->constant;
        dm_gen_masks first = g->nodes[kids[0]].masks;
        n->uneven |= kid->masks.live != first.live || kid->masks.depends != first.depends;
        n->masks.depends |= kid->masks.depends;
        n->masks.live |= kid->masks.live;
        n->gain = kid->gain < n->gain ? kid->gain : n->gain;
    }
    return at;
}

int dm_gen_load(dm_gen *g, int param, const int *indices)
{
    int at;
    const dm_gen_param *p = &g->params[param];
    dm_gen_node *n = new_node(g, DM_GEN_OP_LOAD, p->type, &at);
    bool real = dm_gen_kind_is_float(dm_gen_kind(p->type));
    n->name = p->name;
    n->count = (uint8_t)p->dimensions;
    n->masks = (dm_gen_masks){1u << param, real ? 1u << param : 0, 1u << param, 0};
    n->span = real ? span((float)DM_SYNTH_INPUT_LOW, (float)DM_SYNTH_INPUT_HIGH)
                   : span(0, DM_GEN_SIZE_MOST - 1);
    for (int i = 0; i < p->dimensions; i++) {
        n->kids[i] = (int16_t)indices[i];
        n->masks.depends |= g->nodes[indices[i]].masks.depends;
    }
    return at;
}

int dm_gen_extent(dm_gen *g, int param, int dimension)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_EXTENT, dm_gen_type_of(DM_GEN_SCALAR, DM_GEN_I32), &at);
    n->name = g->params[param].name;
    n->style = (uint8_t)dimension;
    n->span = span(DM_SYNTH_SIZE_LEAST, DM_GEN_SIZE_MOST);
    return at;
}

int dm_gen_component(dm_gen *g, int node, int which)
{
    dm_gen_type type = dm_gen_type_of(DM_GEN_SCALAR, dm_gen_kind(g->nodes[node].type));
    int at = dm_gen_unary(g, DM_GEN_OP_COMPONENT, type, node);
    g->nodes[at].style = (uint8_t)which;
    g->nodes[at].number = dm_gen_chance(g, 25); /* v.x, else v[0] */
    return at;
}

int dm_gen_cast(dm_gen *g, int kind, int node)
{
    int at = dm_gen_unary(g, DM_GEN_OP_CAST, dm_gen_type_of(DM_GEN_SCALAR, kind), node);
    dm_gen_node *n = &g->nodes[at];
    if (!dm_gen_kind_is_float(kind) && dm_gen_kind_is_float(dm_gen_kind(g->nodes[node].type)))
        n->masks = DM_GEN_NOTHING; /* may round to the same for all */
    return at;
}

int dm_gen_identity(dm_gen *g, dm_gen_type type)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_IDENTITY, type, &at);
    n->span = span(0, 1);
    n->uneven = n->constant = true;
    return at;
}

int dm_gen_user(dm_gen *g, const dm_gen_function *function, const int *args)
{
    int at;
    dm_gen_node *n = new_node(g, DM_GEN_OP_USER, function->result, &at);
    n->name = function->name;
    n->count = (uint8_t)function->param_count;
    n->span = function->span;
    for (int i = 0; i < function->param_count; i++) {
        dm_gen_masks m = g->nodes[args[i]].masks;
        n->kids[i] = (int16_t)args[i];
        n->masks.depends |= (function->depends >> i & 1) != 0 ? m.depends : 0;
        n->masks.live |= (function->live >> i & 1) != 0 ? m.live : 0;
        n->masks.plus |= m.plus | m.minus; /* nothing is known of the signs */
        if ((m.depends | m.live) != 0 && g->nodes[args[i]].gain < n->gain)
            n->gain = g->nodes[args[i]].gain;
    }
    n->masks.minus = n->masks.plus;
    n->gain *= function->gain;
    n->uneven = true; /* nothing is known of the components */
    if (n->gain < GAIN_LEAST) {
        n->masks = DM_GEN_NOTHING;
        n->gain = 1;
    }
    return at;
}

/* ---- Writing ---- */

void dm_gen_indent(dm_gen *g)
{
    static const char spaces[] = "                                                ";
    int depth = g->frame->block_depth + 1;
    g->budget--;
    dm_gen_append(g, spaces, (size_t)(depth < 12 ? depth : 12) * 4);
}

static void put_digit(dm_gen *g, int digit)
{
    const char text = (char)('0' + digit);
    dm_gen_append(g, &text, 1);
}

static char *put_digits(char *end, unsigned value)
{
    do
        *--end = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    return end;
}

/* Thousandths as a decimal fraction without needless zeros: 1.0, 0.25, -3.125. */
static void put_number(dm_gen *g, const dm_gen_node *n)
{
    char text[24], *end = text + sizeof text, *at = end;
    unsigned value = (unsigned)(n->number < 0 ? -n->number : n->number);
    int kind = dm_gen_kind(n->type);
    bool plain = kind == DM_GEN_F32 || kind == DM_GEN_I32 || kind == DM_GEN_BOOLEAN;
    if (dm_gen_kind_is_float(kind)) {
        int digits = 3;
        unsigned fraction = value % 1000;
        for (; digits > 1 && fraction % 10 == 0; digits--)
            fraction /= 10;
        for (int i = 0; i < digits; i++, fraction /= 10)
            *--at = (char)('0' + fraction % 10);
        *--at = '.';
        at = put_digits(at, value / 1000);
    } else {
        at = put_digits(at, value);
    }
    if (n->number < 0)
        *--at = '-';
    if (!plain) {
        dm_gen_puts(g, dm_gen_type_text(n->type));
        dm_gen_puts(g, "(");
    }
    dm_gen_append(g, at, (size_t)(end - at));
    if (!plain)
        dm_gen_puts(g, ")");
}

static void put_list(dm_gen *g, const int16_t *kids, int count);

static void put_component(dm_gen *g, const dm_gen_node *n)
{
    static const char letters[] = "xyzw";
    dm_gen_type type = g->nodes[n->kids[0]].type;
    char text[8];
    size_t size;
    if (dm_gen_is_mat(type)) {
        int rows_of = dm_gen_rows(type);
        memcpy(text, "[0, 0]", size = 6);
        text[1] = (char)('0' + n->style / rows_of);
        text[4] = (char)('0' + n->style % rows_of);
    } else if (n->number != 0) {
        memcpy(text, ".x", size = 2);
        text[1] = letters[n->style];
    } else {
        memcpy(text, "[0]", size = 3);
        text[1] = (char)('0' + n->style);
    }
    dm_gen_append(g, text, size);
}

static void put(dm_gen *g, int node, int level);

static void put_other(dm_gen *g, const dm_gen_node *n)
{
    switch (n->op) {
    case DM_GEN_OP_CONSTANT:
        put_number(g, n);
        break;
    case DM_GEN_OP_NAME:
        dm_gen_puts(g, n->name);
        break;
    case DM_GEN_OP_LOAD:
        dm_gen_puts(g, n->name);
        dm_gen_puts(g, "[");
        put_list(g, n->kids, n->count);
        dm_gen_puts(g, "]");
        break;
    case DM_GEN_OP_EXTENT:
        dm_gen_puts(g, n->name);
        dm_gen_puts(g, ".shape[");
        put_digit(g, n->style);
        dm_gen_puts(g, "]");
        break;
    case DM_GEN_OP_COMPONENT:
        put(g, n->kids[0], 14);
        put_component(g, n);
        break;
    case DM_GEN_OP_MAKE:
        dm_gen_puts(g, dm_gen_type_text(n->type));
        dm_gen_puts(g, "(");
        put_list(g, g->more + n->more, n->count);
        dm_gen_puts(g, ")");
        break;
    case DM_GEN_OP_CAST:
    case DM_GEN_OP_USER:
        dm_gen_puts(g, n->op == DM_GEN_OP_CAST ? dm_gen_type_text(n->type) : n->name);
        dm_gen_puts(g, "(");
        put_list(g, n->kids, n->count);
        dm_gen_puts(g, ")");
        break;
    case DM_GEN_OP_TERNARY:
        put(g, n->kids[0], 1);
        dm_gen_puts(g, " if ");
        put(g, n->kids[1], 1);
        dm_gen_puts(g, " else ");
        put(g, n->kids[2], 0);
        break;
    case DM_GEN_OP_IDENTITY:
        dm_gen_puts(g, "wp.identity(n=");
        put_digit(g, dm_gen_rows(n->type));
        dm_gen_puts(g, ", dtype=");
        dm_gen_puts(g, dm_gen_type_text(dm_gen_type_of(DM_GEN_SCALAR, dm_gen_kind(n->type))));
        dm_gen_puts(g, ")");
        break;
    default:
        break;
    }
}

/* Can a * (b * c) be written without brackets? Not where the text then begins with another
 * operator of the same level: a * (b % c * d). */
static bool is_flat(const dm_gen *g, int op, int node)
{
    const dm_gen_node *n = &g->nodes[node];
    bool same = n->op == op || (op == DM_GEN_OP_ADD && n->op == DM_GEN_OP_SUB);
    if (!same)
        return rows[n->op].level != rows[op].level;
    return is_flat(g, op, n->kids[0]);
}

/* The level that the right operand needs. */
static int right_level(const dm_gen *g, const dm_gen_node *n)
{
    int level = rows[n->op].level;
    bool chain = n->op == DM_GEN_OP_ADD || n->op == DM_GEN_OP_MUL || n->op == DM_GEN_OP_AND ||
                 n->op == DM_GEN_OP_OR;
    return chain && is_flat(g, n->op, n->kids[1]) ? level : level + 1;
}

static void put(dm_gen *g, int node, int level)
{
    const dm_gen_node *n = &g->nodes[node];
    const row *r = &rows[n->op];
    bool negative = n->op == DM_GEN_OP_CONSTANT && n->number < 0;
    bool brackets = (negative ? rows[DM_GEN_OP_NEG].level : r->level) < level;
    if (brackets)
        dm_gen_puts(g, "(");
    switch (r->form) {
    case INFIX: {
        bool comparison = r->level == rows[DM_GEN_OP_LESS].level;
        bool power = n->op == DM_GEN_OP_POWER;
        put(g, n->kids[0], comparison || power ? r->level + 1 : r->level);
        dm_gen_append(g, r->text, r->length);
        put(g, n->kids[1], right_level(g, n));
        break;
    }
    case PREFIX:
        dm_gen_append(g, r->text, r->length);
        put(g, n->kids[0], r->level);
        break;
    case CALL:
        dm_gen_append(g, r->text, r->length);
        dm_gen_puts(g, "(");
        put_list(g, n->kids, n->count);
        dm_gen_puts(g, ")");
        break;
    default:
        put_other(g, n);
    }
    if (brackets)
        dm_gen_puts(g, ")");
}

static void put_list(dm_gen *g, const int16_t *kids, int count)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            dm_gen_append(g, ", ", 2);
        put(g, kids[i], 0);
    }
}

void dm_gen_write(dm_gen *g, int node)
{
    put(g, node, 0);
}
