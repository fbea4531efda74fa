/* SPDX-License-Identifier: MIT */
/* conv_direct.h - convolution with step 1 without copies of the image: the places of an output row
 * lie in order, and so does what lies under each element of the filter:
 *
 *     output  p: | q q+1 ... q+NR-1 |      tap (i, k, l): x[i][p + k][q + l ... q + l + NR - 1]
 *
 * Forward, a tile is some filters times NR places of a row, summed over taps. For the gradient of
 * the weights, a tile is some filters times some taps, summed over places and images in vectors,
 * whose lanes are added at the end. Letters as in ops.h; P and Q are the output's height and width.
 */

/* Tiles of the gradient: filters x taps sums in registers. */
#if LANES == 16
enum { CONV_FILTERS = 4, CONV_TAPS = 5 };
#else
enum { CONV_FILTERS = 4, CONV_TAPS = 2 };
#endif

static size_t conv_taps(const dm_nn_conv *op)
{
    return (size_t)op->I * op->K * op->K;
}

/* Worth it when vectors are at least half full. */
static bool conv_is_direct(const dm_nn_conv *op)
{
    return op->stride == 1 && op->W - op->K + 1 >= LANES / 2;
}

/* Where each tap lies from the output's place on, in the image of one sample. */
static void conv_offsets(const dm_nn_conv *op, uint32_t *to)
{
    for (uint32_t i = 0; i < op->I; i++)
        for (uint32_t k = 0; k < op->K; k++)
            for (uint32_t l = 0; l < op->K; l++)
                *to++ = (i * op->H + k) * op->W + l;
}

/* y[rows][...] = act(w x + b) for `rows` filters and n <= vecs * LANES places. */
VEC_FN void conv_tile(const size_t rows, const size_t vecs, const float *w, size_t taps,
                      const uint32_t *offsets, const float *x, size_t n, const float *b,
                      dm_nn_activation activation, float *y, size_t step)
{
    vec sum[MR][2];
    size_t last = n - (vecs - 1) * LANES; /* in the last vector */
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = vec_all(b ? b[r] : 0);
    for (size_t t = 0; t < taps; t++) {
        const float *from = x + offsets[t];
        vec x0 = vecs > 1 ? vec_load(from) : vec_load_some(from, last);
        vec x1 = vecs > 1 ? vec_load_some(from + LANES, last) : x0;
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            vec f = vec_all(w[r * taps + t]);
            sum[r][0] = vec_fma(f, x0, sum[r][0]);
            if (vecs > 1)
                sum[r][1] = vec_fma(f, x1, sum[r][1]);
        }
    }
    /* Unrolled, so that sums stay in registers all the time. */
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++) {
        if (vecs > 1)
            vec_store(y + r * step, activate_vec(activation, sum[r][0]));
        vec_store_some(y + r * step + (vecs - 1) * LANES,
                       activate_vec(activation, sum[r][vecs - 1]), last);
    }
}

#define CONV_TILE(rows)                                                                            \
    static void conv_tile_##rows(const float *w, size_t taps, const uint32_t *offsets,             \
                                 const float *x, size_t n, const float *b,                         \
                                 dm_nn_activation activation, float *y, size_t step)               \
    {                                                                                              \
        if (n > LANES)                                                                             \
            conv_tile(rows, 2, w, taps, offsets, x, n, b, activation, y, step);                    \
        else                                                                                       \
            conv_tile(rows, 1, w, taps, offsets, x, n, b, activation, y, step);                    \
    }
#if LANES == 16
CONV_TILE(8)
#endif
CONV_TILE(4)
CONV_TILE(1)

static void conv_direct(const dm_nn_conv *op, const uint32_t *offsets, const float *x,
                        const float *w, const float *b, float *y)
{
    size_t P = op->H - op->K + 1, Q = op->W - op->K + 1, taps = conv_taps(op);
    for (size_t o = 0, rows; o < op->O; o += rows) {
        size_t left = op->O - o;
        rows = LANES == 16 && left >= 8 ? 8 : left >= 4 ? 4 : 1;
        const float *bias = b ? b + o : NULL;
        for (size_t p = 0; p < P; p++)
            for (size_t q = 0; q < Q; q += NR) {
                size_t n = Q - q < NR ? Q - q : NR;
                const float *from = x + p * op->W + q, *filters = w + o * taps;
                float *to = y + (o * P + p) * Q + q;
#if LANES == 16
                if (rows == 8) {
                    conv_tile_8(filters, taps, offsets, from, n, bias, op->activation, to, P * Q);
                    continue;
                }
#endif
                if (rows == 4)
                    conv_tile_4(filters, taps, offsets, from, n, bias, op->activation, to, P * Q);
                else
                    conv_tile_1(filters, taps, offsets, from, n, bias, op->activation, to, P * Q);
            }
    }
}

/* dw[filters][taps of all] += the sums over all images of dy x. */
VEC_FN void conv_sums(const size_t filters, const size_t taps, const dm_nn_conv *op,
                      const uint32_t *offsets, const float *x, const float *dy, float *dw)
{
    size_t P = op->H - op->K + 1, Q = op->W - op->K + 1, step = P * Q;
    vec sum[CONV_FILTERS][CONV_TAPS];
#pragma GCC unroll 8
    for (size_t f = 0; f < filters; f++)
#pragma GCC unroll 8
        for (size_t t = 0; t < taps; t++)
            sum[f][t] = vec_all(0);
    const float *tap[CONV_TAPS], *filter[CONV_FILTERS];
#pragma GCC unroll 8
    for (size_t t = 0; t < taps; t++)
        tap[t] = x + offsets[t];
#pragma GCC unroll 8
    for (size_t f = 0; f < filters; f++)
        filter[f] = dy + f * step;
    for (size_t b = 0; b < op->B; b++)
        for (size_t p = 0; p < P; p++) {
            size_t from = (b * op->I * op->H + p) * op->W, to = b * op->O * step + p * Q;
            for (size_t q = 0; q < Q; q += LANES) {
                size_t n = Q - q < LANES ? Q - q : LANES;
                vec v[CONV_FILTERS];
#pragma GCC unroll 8
                for (size_t f = 0; f < filters; f++)
                    v[f] = vec_load_some(filter[f] + to + q, n);
#pragma GCC unroll 8
                for (size_t t = 0; t < taps; t++) {
                    vec at = vec_load_some(tap[t] + from + q, n);
#pragma GCC unroll 8
                    for (size_t f = 0; f < filters; f++)
                        sum[f][t] = vec_fma(v[f], at, sum[f][t]);
                }
            }
        }
#pragma GCC unroll 8
    for (size_t f = 0; f < filters; f++)
#pragma GCC unroll 8
        for (size_t t = 0; t < taps; t++)
            dw[f * conv_taps(op) + t] += vec_sum(sum[f][t]);
}

/* As many filters and taps as are left, in tiles that are whole or of 1. */
static void conv_direct_weights(const dm_nn_conv *op, const uint32_t *offsets, const float *x,
                                const float *dy, float *dw)
{
    size_t step = (size_t)(op->H - op->K + 1) * (op->W - op->K + 1), all = conv_taps(op);
    for (size_t o = 0, filters; o < op->O; o += filters) {
        filters = op->O - o >= CONV_FILTERS ? CONV_FILTERS : 1;
        for (size_t t = 0, taps; t < all; t += taps) {
            const float *d = dy + o * step;
            float *to = dw + o * all + t;
            taps = all - t >= CONV_TAPS ? CONV_TAPS : 1;
            if (filters > 1 && taps > 1)
                conv_sums(CONV_FILTERS, CONV_TAPS, op, offsets + t, x, d, to);
            else if (filters > 1)
                conv_sums(CONV_FILTERS, 1, op, offsets + t, x, d, to);
            else if (taps > 1)
                conv_sums(1, CONV_TAPS, op, offsets + t, x, d, to);
            else
                conv_sums(1, 1, op, offsets + t, x, d, to);
        }
    }
}
