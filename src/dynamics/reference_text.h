/* SPDX-License-Identifier: MIT */
/* reference_text.h - the dynamics model as plain loops that read like the equations; compiled once
 * for float and once for double (reference.c). Everything faster is compared with this. */

static REAL REF(sigmoid)(REAL x)
{
    /* exp of a negative number only: no overflow; NaN stays NaN. */
    REAL e = MATH(exp)(x < 0 ? x : -x);
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

static const REAL *REF(part)(const REF(member) * m, dm_dynamics_part part)
{
    return m->weights + m->layout->offset[part];
}

/* The product of row `row` of a matrix with `cols` columns and v. */
static REAL REF(dot)(const REAL *matrix, size_t row, uint32_t cols, const REAL *v)
{
    REAL sum = 0;
    for (uint32_t j = 0; j < cols; j++)
        sum += matrix[row * cols + j] * v[j];
    return sum;
}

/* out += column sums weighted by v: the transposed product. */
static void REF(add_transposed)(const REAL *matrix, uint32_t rows, uint32_t cols, const REAL *v,
                                REAL *out)
{
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < cols; j++)
            out[j] += matrix[(size_t)i * cols + j] * v[i];
}

/* matrix += a b^T */
static void REF(add_outer)(REAL *matrix, uint32_t rows, uint32_t cols, const REAL *a, const REAL *b)
{
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < cols; j++)
            matrix[(size_t)i * cols + j] += a[i] * b[j];
}

/* ---- The cell ---- */

/* z = sigmoid(Wz x + Uz h + bz), r likewise; n by kind; `out` may not be `h`. The tape's arrays are
 * all written. */
void REF(cell)(const REF(member) * m, const REAL *x, const REAL *h, REAL *out,
               const REF(tape) * tape)
{
    uint32_t H = m->config->hidden, I = m->config->input;
    bool reset_last = m->config->kind == DM_DYNAMICS_GRU_RESET_LAST;
    const REAL *W = REF(part)(m, DM_DYNAMICS_W), *U = REF(part)(m, DM_DYNAMICS_U),
               *b = REF(part)(m, DM_DYNAMICS_B), *c = REF(part)(m, DM_DYNAMICS_C);
    REAL *reset = out; /* r * h, until the results are known */
    for (uint32_t i = 0; i < H; i++) {
        size_t zi = i, ri = (size_t)H + i;
        tape->z[i] = REF(sigmoid)(REF(dot)(W, zi, I, x) + REF(dot)(U, zi, H, h) + b[zi]);
        tape->r[i] = REF(sigmoid)(REF(dot)(W, ri, I, x) + REF(dot)(U, ri, H, h) + b[ri]);
        reset[i] = tape->r[i] * h[i];
    }
    for (uint32_t i = 0; i < H; i++) {
        size_t ni = 2 * (size_t)H + i;
        REAL a = REF(dot)(W, ni, I, x) + b[ni];
        tape->v[i] = reset_last ? REF(dot)(U, ni, H, h) + c[i] : REF(dot)(U, ni, H, reset);
        a += reset_last ? tape->r[i] * tape->v[i] : tape->v[i];
        tape->n[i] = MATH(tanh)(a);
    }
    for (uint32_t i = 0; i < H; i++) {
        REAL z = tape->z[i], n = tape->n[i];
        out[i] = reset_last ? (1 - z) * n + z * h[i] : (1 - z) * h[i] + z * n;
    }
}

/* From dout, the gradient of h', add to the gradients of weights, h and x. `scratch`: [4][H]. */
static void REF(cell_backward)(const REF(member) * m, const REAL *x, const REAL *h,
                               const REF(tape) * tape, const REAL *dout, REAL *grad, REAL *dh,
                               REAL *dx, REAL *scratch)
{
    uint32_t H = m->config->hidden, I = m->config->input;
    bool reset_last = m->config->kind == DM_DYNAMICS_GRU_RESET_LAST;
    const size_t *at = m->layout->offset;
    const REAL *W = m->weights + at[DM_DYNAMICS_W], *U = m->weights + at[DM_DYNAMICS_U];
    REAL *gW = grad + at[DM_DYNAMICS_W], *gU = grad + at[DM_DYNAMICS_U];
    REAL *gb = grad + at[DM_DYNAMICS_B], *gc = grad + at[DM_DYNAMICS_C];
    REAL *az = scratch, *ar = az + H, *an = ar + H; /* gradients before sigmoid and tanh: [3][H] */
    REAL *q = an + H;                               /* r * h, and then its gradient */
    size_t HH = (size_t)H * H;
    for (uint32_t i = 0; i < H; i++) {
        REAL z = tape->z[i], n = tape->n[i];
        REAL dz = reset_last ? dout[i] * (h[i] - n) : dout[i] * (n - h[i]);
        REAL dn = reset_last ? dout[i] * (1 - z) : dout[i] * z;
        dh[i] += reset_last ? dout[i] * z : dout[i] * (1 - z);
        az[i] = dz * z * (1 - z);
        an[i] = dn * (1 - n * n);
        q[i] = tape->r[i] * h[i];
    }
    if (reset_last) {
        for (uint32_t i = 0; i < H; i++) {
            ar[i] = an[i] * tape->v[i];
            q[i] = an[i] * tape->r[i]; /* the gradient of v */
            gc[i] += q[i];
        }
        REF(add_outer)(gU + 2 * HH, H, H, q, h);
        REF(add_transposed)(U + 2 * HH, H, H, q, dh);
    } else {
        REF(add_outer)(gU + 2 * HH, H, H, an, q);
        for (uint32_t i = 0; i < H; i++)
            q[i] = 0;
        REF(add_transposed)(U + 2 * HH, H, H, an, q);
        for (uint32_t i = 0; i < H; i++) {
            ar[i] = q[i] * h[i];
            dh[i] += q[i] * tape->r[i];
        }
    }
    for (uint32_t i = 0; i < H; i++)
        ar[i] *= tape->r[i] * (1 - tape->r[i]);
    REF(add_outer)(gU, 2 * H, H, az, h);
    REF(add_transposed)(U, 2 * H, H, az, dh);
    REF(add_outer)(gW, 3 * H, I, az, x);
    REF(add_transposed)(W, 3 * H, I, az, dx);
    for (uint32_t i = 0; i < 3 * H; i++)
        gb[i] += az[i];
}

/* ---- The stochastic state and the head ---- */

/* s = softmax(logits of h); gives its entropy, sum(-s log s). */
static REAL REF(stochastic)(const REF(member) * m, const REAL *h, REAL *s)
{
    uint32_t H = m->config->hidden, S = m->config->stochastic;
    REAL largest = 0, sum = 0, weighted = 0;
    for (uint32_t i = 0; i < S; i++) {
        s[i] = m->config->projection ? REF(dot)(REF(part)(m, DM_DYNAMICS_PROJECTION), i, H, h)
                                     : h[dm_dynamics_selected(m->config, i)];
        /* Also when it is NaN, so that NaN goes on to the sum. */
        largest = i > 0 && s[i] <= largest ? largest : s[i];
    }
    for (uint32_t i = 0; i < S; i++) {
        REAL logit = s[i] - largest;
        s[i] = MATH(exp)(logit);
        sum += s[i];
        weighted += s[i] > 0 ? s[i] * logit : 0;
    }
    for (uint32_t i = 0; i < S; i++)
        s[i] /= sum;
    /* There is at least one value, so the sum is not 0. */
    /* cppcheck-suppress invalidFunctionArg */
    return MATH(log)(sum) - weighted / sum;
}

static REAL REF(head)(const REF(member) * m, const REAL *h, const REAL *s)
{
    uint32_t H = m->config->hidden, S = m->config->stochastic;
    const REAL *w = REF(part)(m, DM_DYNAMICS_HEAD);
    REAL u = REF(dot)(w, 0, H, h) + REF(dot)(w + H, 0, S, s);
    return MATH(exp)(u < -10 ? -10 : u > 10 ? 10 : u);
}

/* From dloss add to the gradients of the head, the projection and h. `scratch`: [S]. */
static void REF(head_backward)(const REF(member) * m, const REAL *h, const REAL *s, REAL loss,
                               REAL dloss, REAL *grad, REAL *dh, REAL *scratch)
{
    uint32_t H = m->config->hidden, S = m->config->stochastic;
    const size_t *at = m->layout->offset;
    const REAL *w = m->weights + at[DM_DYNAMICS_HEAD];
    REAL *gw = grad + at[DM_DYNAMICS_HEAD];
    REAL u = REF(dot)(w, 0, H, h) + REF(dot)(w + H, 0, S, s);
    REAL du = u < -10 || u > 10 ? 0 : dloss * loss;
    for (uint32_t i = 0; i < H; i++) {
        gw[i] += du * h[i];
        dh[i] += du * w[i];
    }
    REAL mean = 0; /* of the gradients of s, weighted by s */
    for (uint32_t i = 0; i < S; i++) {
        gw[H + i] += du * s[i];
        mean += s[i] * du * w[H + i];
    }
    for (uint32_t i = 0; i < S; i++)
        scratch[i] = s[i] * (du * w[H + i] - mean);
    if (m->config->projection) {
        REF(add_outer)(grad + at[DM_DYNAMICS_PROJECTION], S, H, scratch, h);
        REF(add_transposed)(m->weights + at[DM_DYNAMICS_PROJECTION], S, H, scratch, dh);
    } else {
        for (uint32_t i = 0; i < S; i++)
            dh[dm_dynamics_selected(m->config, i)] += scratch[i];
    }
}

/* ---- Sequences ---- */

static REF(tape) REF(tape_at)(const REF(sequence) * q, uint32_t t, uint32_t H)
{
    REAL *gates = q->gates + (size_t)t * 4 * H;
    return (REF(tape)){gates, gates + H, gates + 2 * (size_t)H, gates + 3 * (size_t)H};
}

void REF(sequence_forward)(const REF(member) * m, const REF(sequence) * q)
{
    uint32_t H = m->config->hidden, I = m->config->input, S = m->config->stochastic;
    for (uint32_t i = 0; i < H; i++)
        q->h[i] = q->h0 != NULL ? q->h0[i] : 0;
    for (uint32_t t = 0; t < q->steps; t++) {
        const REAL *x = q->x + (size_t)(t < q->forced ? t : q->forced - 1) * I;
        REAL *input = q->inputs + (size_t)t * I, *h = q->h + (size_t)(t + 1) * H;
        for (uint32_t i = 0; i < I; i++)
            input[i] = x[i];
        if (t >= q->forced)
            input[0] = (q->loss[t - 1] - m->feedback_shift) * m->feedback_scale;
        REF(tape) tape = REF(tape_at)(q, t, H);
        REF(cell)(m, input, h - H, h, &tape);
        REAL entropy = REF(stochastic)(m, h, q->s + (size_t)t * S);
        q->loss[t] = REF(head)(m, h, q->s + (size_t)t * S);
        if (q->entropy != NULL)
            q->entropy[t] = entropy;
        if (q->hidden_norm != NULL)
            q->hidden_norm[t] = MATH(sqrt)(REF(dot)(h, 0, H, h));
    }
}

void REF(sequence_backward)(const REF(member) * m, const REF(sequence) * q, const REAL *dloss,
                            REAL *grad, REAL *dh0, REAL *dx, REAL *scratch)
{
    uint32_t H = m->config->hidden, I = m->config->input, S = m->config->stochastic;
    REAL *dh = scratch, *before = dh + H, *dinput = before + H, *ds = dinput + I, *rest = ds + S;
    REAL fed_back = 0; /* gradient that step t + 1 gave to the loss of step t */
    for (uint32_t i = 0; i < H; i++)
        dh[i] = 0;
    for (size_t i = 0; dx != NULL && i < (size_t)q->forced * I; i++)
        dx[i] = 0;
    for (uint32_t t = q->steps; t-- > 0;) {
        const REAL *h = q->h + (size_t)(t + 1) * H;
        REF(head_backward)
        (m, h, q->s + (size_t)t * S, q->loss[t], dloss[t] + fed_back, grad, dh, ds);
        for (uint32_t i = 0; i < H; i++)
            before[i] = 0;
        for (uint32_t i = 0; i < I; i++)
            dinput[i] = 0;
        REF(tape) tape = REF(tape_at)(q, t, H);
        REF(cell_backward)
        (m, q->inputs + (size_t)t * I, h - H, &tape, dh, grad, before, dinput, rest);
        REAL *swap = dh;
        dh = before;
        before = swap;
        bool is_free = t >= q->forced;
        fed_back = is_free ? dinput[0] * m->feedback_scale : 0;
        REAL *row = dx == NULL ? NULL : dx + (size_t)(is_free ? q->forced - 1 : t) * I;
        for (uint32_t i = is_free ? 1 : 0; row != NULL && i < I; i++)
            row[i] += dinput[i];
    }
    for (uint32_t i = 0; dh0 != NULL && i < H; i++)
        dh0[i] = dh[i];
}
