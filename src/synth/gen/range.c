/* SPDX-License-Identifier: MIT */
/* range.c - interval arithmetic: from the least to the largest component of a result. */
#include "synth/gen/node.h"

static dm_gen_span plus(dm_gen_span a, dm_gen_span b)
{
    return dm_gen_span_of(a.low + b.low, a.high + b.high);
}

static dm_gen_span minus(dm_gen_span a, dm_gen_span b)
{
    return dm_gen_span_of(a.low - b.high, a.high - b.low);
}

static dm_gen_span times(dm_gen_span a, dm_gen_span b)
{
    float p = a.low * b.low, q = a.low * b.high, r = a.high * b.low, s = a.high * b.high;
    return dm_gen_span_of(dm_gen_least_of(dm_gen_least_of(p, q), dm_gen_least_of(r, s)),
                          dm_gen_most_of(dm_gen_most_of(p, q), dm_gen_most_of(r, s)));
}

/* The divisor is away from zero: expression.c sees to that. */
static dm_gen_span divided(dm_gen_span a, dm_gen_span b)
{
    return times(a, dm_gen_span_of(1 / b.high, 1 / b.low));
}

static dm_gen_span scaled(dm_gen_span a, int n)
{
    return dm_gen_span_of(a.low * (float)n, a.high * (float)n);
}

static dm_gen_span magnitude(dm_gen_span a)
{
    float most = dm_gen_most(a);
    if (a.low > 0)
        return a;
    return dm_gen_span_of(a.high < 0 ? -a.high : 0, most);
}

static dm_gen_span around(float most)
{
    return dm_gen_span_of(-most, most);
}

static dm_gen_span square(dm_gen_span a)
{
    dm_gen_span m = magnitude(a);
    return dm_gen_span_of(m.low * m.low, m.high * m.high);
}

static dm_gen_span monotone(float (*f)(float), dm_gen_span a)
{
    return dm_gen_span_of(f(a.low), f(a.high));
}

static dm_gen_span powers(dm_gen_span base, dm_gen_span exponent)
{
    if (base.low < 0) /* squares and cubes only */
        return around(powf(dm_gen_most(base), exponent.high));
    float p = powf(base.low, exponent.low), q = powf(base.low, exponent.high);
    float r = powf(base.high, exponent.low), s = powf(base.high, exponent.high);
    return dm_gen_span_of(dm_gen_least_of(dm_gen_least_of(p, q), dm_gen_least_of(r, s)),
                          dm_gen_most_of(dm_gen_most_of(p, q), dm_gen_most_of(r, s)));
}

/* Products of matrices and vectors sum over the inner dimension. */
static int inner(dm_gen_type a, dm_gen_type b)
{
    bool both = dm_gen_shape(a) != DM_GEN_SCALAR && dm_gen_shape(b) != DM_GEN_SCALAR;
    return both ? dm_gen_rows(a) : 1;
}

static dm_gen_span bits_of(dm_gen_span a, dm_gen_span b)
{
    float most = dm_gen_most_of(dm_gen_most(a), dm_gen_most(b)), top = 1;
    while (top <= most)
        top *= 2;
    return dm_gen_span_of(a.low < 0 || b.low < 0 ? -top : 0, top);
}

dm_gen_span dm_gen_range(const dm_gen_node *n, const dm_gen_node *a, const dm_gen_node *b,
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
        return plus(divided(x, y), dm_gen_span_of(-1, 0));
    case DM_GEN_OP_MOD:
        return x.low < 0 ? around(dm_gen_most(y))
                         : dm_gen_span_of(0, dm_gen_least_of(x.high, dm_gen_most(y)));
    case DM_GEN_OP_POWER:
    case DM_GEN_OP_POW:
        return powers(x, y);
    case DM_GEN_OP_NEG:
        return dm_gen_span_of(-x.high, -x.low);
    case DM_GEN_OP_BIT_AND:
    case DM_GEN_OP_BIT_OR:
    case DM_GEN_OP_BIT_XOR:
        return bits_of(x, y);
    case DM_GEN_OP_SHIFT_LEFT:
        return times(x, dm_gen_span_of(exp2f(y.low), exp2f(y.high)));
    case DM_GEN_OP_SHIFT_RIGHT:
        return dm_gen_hull(x, dm_gen_span_of(0, 0));
    case DM_GEN_OP_SIN:
    case DM_GEN_OP_COS:
    case DM_GEN_OP_SIGN:
        return around(1);
    case DM_GEN_OP_TAN:
        return monotone(tanf, x);
    case DM_GEN_OP_ASIN:
        return monotone(asinf, x);
    case DM_GEN_OP_ACOS:
        return dm_gen_span_of(acosf(x.high), acosf(x.low));
    case DM_GEN_OP_ATAN:
        return monotone(atanf, x);
    case DM_GEN_OP_ATAN2:
        return around(1.6f);
    case DM_GEN_OP_SINH:
        return monotone(sinhf, x);
    case DM_GEN_OP_COSH:
        return dm_gen_span_of(1, coshf(most));
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
        return dm_gen_span_of(x.low - 1, x.high);
    case DM_GEN_OP_CEIL:
        return dm_gen_span_of(x.low, x.high + 1);
    case DM_GEN_OP_ROUND:
        return dm_gen_span_of(x.low - 1, x.high + 1);
    case DM_GEN_OP_FRAC:
        return dm_gen_span_of(x.low < 0 ? -1 : 0, x.high > 0 ? 1 : 0);
    case DM_GEN_OP_RADIANS:
        return dm_gen_span_of(x.low * 0.0175f, x.high * 0.0175f);
    case DM_GEN_OP_MIN:
        return dm_gen_span_of(dm_gen_least_of(x.low, y.low), dm_gen_least_of(x.high, y.high));
    case DM_GEN_OP_MAX:
        return dm_gen_span_of(dm_gen_most_of(x.low, y.low), dm_gen_most_of(x.high, y.high));
    case DM_GEN_OP_CLAMP:
        return dm_gen_span_of(dm_gen_most_of(x.low, y.low), dm_gen_least_of(x.high, c->span.high));
    case DM_GEN_OP_SMOOTHSTEP:
        return dm_gen_span_of(0, 1);
    case DM_GEN_OP_WHERE:
        return dm_gen_hull(y, c->span);
    case DM_GEN_OP_TERNARY: /* value, condition, other */
        return dm_gen_hull(x, c->span);
    case DM_GEN_OP_LERP: /* the third is between 0 and 1 */
        return dm_gen_hull(x, y);
    case DM_GEN_OP_DOT:
        return scaled(a == b ? square(x) : times(x, y), rows_of);
    case DM_GEN_OP_LENGTH:
        return dm_gen_span_of(magnitude(x).low * sqrtf((float)rows_of),
                              most * sqrtf((float)rows_of));
    case DM_GEN_OP_LENGTH_SQ:
        return scaled(square(x), rows_of);
    case DM_GEN_OP_CROSS:
        return minus(times(x, y), times(x, y));
    case DM_GEN_OP_NORMALIZE:
        return dm_gen_span_of(x.low > 0 ? 0 : -1, x.high < 0 ? 0 : 1);
    case DM_GEN_OP_CW_MUL:
    case DM_GEN_OP_OUTER:
        return times(x, y);
    case DM_GEN_OP_SKEW:
        return around(most);
    case DM_GEN_OP_DIAG:
        return dm_gen_hull(x, dm_gen_span_of(0, 0));
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
        return around(2 * dm_gen_most(y) * dm_gen_most_of(1, 8 * most * most));
    case DM_GEN_OP_QUAT_AXIS_ANGLE:
        return around(dm_gen_most_of(1, most));
    case DM_GEN_OP_QUAT_INVERSE:
        return around(most);
    case DM_GEN_OP_TRANSPOSE:
    case DM_GEN_OP_GET_DIAG:
    case DM_GEN_OP_COMPONENT:
    case DM_GEN_OP_CAST:
        return x;
    default: /* conditions */
        return dm_gen_span_of(0, 1);
    }
}
