/* SPDX-License-Identifier: MIT */
/* activation.h - activations and their derivatives, plain. */

static REAL PLAIN(sigmoid)(REAL x)
{
    /* exp of a negative number only: no overflow. */
    REAL e = MATH(exp)(x < 0 ? x : -x);
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

static REAL PLAIN(gelu)(REAL x)
{
    REAL k = MATH(sqrt)((REAL)(2 / 3.14159265358979323846));
    return x / 2 * (1 + MATH(tanh)(k * (x + (REAL)0.044715 * x * x * x)));
}

static REAL PLAIN(gelu_slope)(REAL x)
{
    REAL k = MATH(sqrt)((REAL)(2 / 3.14159265358979323846));
    REAL t = MATH(tanh)(k * (x + (REAL)0.044715 * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + 3 * (REAL)0.044715 * x * x);
}

static REAL PLAIN(activate)(dm_nn_activation activation, REAL x)
{
    switch (activation) {
    case DM_NN_RELU:
        return x > 0 ? x : 0;
    case DM_NN_TANH:
        return MATH(tanh)(x);
    case DM_NN_SIGMOID:
        return PLAIN(sigmoid)(x);
    case DM_NN_GELU:
        return PLAIN(gelu)(x);
    case DM_NN_LINEAR:
    default:
        return x;
    }
}

/* The derivative, from the result y, or for GELU from the sum before it. */
static REAL PLAIN(slope)(dm_nn_activation activation, REAL y, REAL pre)
{
    switch (activation) {
    case DM_NN_RELU:
        return y > 0 ? 1 : 0;
    case DM_NN_TANH:
        return 1 - y * y;
    case DM_NN_SIGMOID:
        return y * (1 - y);
    case DM_NN_GELU:
        return PLAIN(gelu_slope)(pre);
    case DM_NN_LINEAR:
    default:
        return 1;
    }
}

/* *to = x, or *to += x. */
static void PLAIN(give)(REAL *to, REAL x, bool add)
{
    *to = add ? *to + x : x;
}
