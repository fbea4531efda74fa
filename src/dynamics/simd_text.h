/* SPDX-License-Identifier: MIT */
/* simd_text.h - the loops of simd.h, for the vectors of simd_vec.h. The file that includes this
 * defines SIMD_NAME, the name of the table. */
#include "base/simd_vec.h"
#include "dynamics/simd.h"

#include <math.h>

#define ROWS 8      /* of a matrix that share one load of the vector */
#define TILE_ROWS 4 /* of a matrix, in the tile of a product with many vectors */
#if LANES == 16
#define TILE_BATCH 4 /* 16 sums in registers */
#else
#define TILE_BATCH 2 /* 8 of 16 registers */
#endif

/* ---- Products ---- */

static void multiply_rows(const float *matrix, size_t cols, const float *v, float *out)
{
    vec sum[ROWS] = {0};
    size_t j = 0;
    for (; j + LANES <= cols; j += LANES) {
        vec x = vec_load(v + j);
        for (int k = 0; k < ROWS; k++)
            sum[k] = vec_fma(vec_load(matrix + (size_t)k * cols + j), x, sum[k]);
    }
    if (j < cols) {
        vec x = vec_load_some(v + j, cols - j);
        for (int k = 0; k < ROWS; k++)
            sum[k] = vec_fma(vec_load_some(matrix + (size_t)k * cols + j, cols - j), x, sum[k]);
    }
    vec_add_sums8(out, sum);
}

static float dot(const float *a, const float *b, size_t n)
{
    vec even = {0}, odd = {0};
    size_t j = 0;
    for (; j + 2 * LANES <= n; j += 2 * LANES) {
        even = vec_fma(vec_load(a + j), vec_load(b + j), even);
        odd = vec_fma(vec_load(a + j + LANES), vec_load(b + j + LANES), odd);
    }
    for (; j + LANES <= n; j += LANES)
        even = vec_fma(vec_load(a + j), vec_load(b + j), even);
    if (j < n)
        odd = vec_fma(vec_load_some(a + j, n - j), vec_load_some(b + j, n - j), odd);
    return vec_sum(even + odd);
}

static void multiply_one(const float *matrix, size_t rows, size_t cols, const float *v, float *out)
{
    size_t i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        multiply_rows(matrix + i * cols, cols, v, out + i);
    for (; i < rows; i++)
        out[i] += dot(matrix + i * cols, v, cols);
}

/* TILE_ROWS rows by TILE_BATCH vectors. */
static void multiply_tile(const float *matrix, size_t cols, const float *v, size_t v_stride,
                          float *out, size_t out_stride)
{
    vec sum[TILE_BATCH][TILE_ROWS] = {0};
    size_t j = 0;
    for (; j + LANES <= cols; j += LANES) {
        vec x[TILE_BATCH];
        for (int b = 0; b < TILE_BATCH; b++)
            x[b] = vec_load(v + (size_t)b * v_stride + j);
        for (int k = 0; k < TILE_ROWS; k++) {
            vec row = vec_load(matrix + (size_t)k * cols + j);
            for (int b = 0; b < TILE_BATCH; b++)
                sum[b][k] = vec_fma(row, x[b], sum[b][k]);
        }
    }
    if (j < cols) {
        for (int k = 0; k < TILE_ROWS; k++) {
            vec row = vec_load_some(matrix + (size_t)k * cols + j, cols - j);
            for (int b = 0; b < TILE_BATCH; b++)
                sum[b][k] =
                    vec_fma(row, vec_load_some(v + (size_t)b * v_stride + j, cols - j), sum[b][k]);
        }
    }
    for (int b = 0; b < TILE_BATCH; b++)
        for (int k = 0; k < TILE_ROWS; k++)
            out[(size_t)b * out_stride + (size_t)k] += vec_sum(sum[b][k]);
}

static void multiply(const float *matrix, size_t rows, size_t cols, const float *v, size_t v_stride,
                     size_t batch, float *out, size_t out_stride)
{
    size_t full_rows = rows / TILE_ROWS * TILE_ROWS, full_batch = batch / TILE_BATCH * TILE_BATCH;
    for (size_t i = 0; i < full_rows && full_batch > 0; i += TILE_ROWS)
        for (size_t b = 0; b < full_batch; b += TILE_BATCH)
            multiply_tile(matrix + i * cols, cols, v + b * v_stride, v_stride,
                          out + b * out_stride + i, out_stride);
    for (size_t i = full_rows; i < rows; i++)
        for (size_t b = 0; b < full_batch; b++)
            out[b * out_stride + i] += dot(matrix + i * cols, v + b * v_stride, cols);
    for (size_t b = full_batch; b < batch; b++)
        multiply_one(matrix, rows, cols, v + b * v_stride, out + b * out_stride);
}

/* Each vector of out takes four rows at a time. */
static void multiply_transposed(const float *matrix, size_t rows, size_t cols, const float *v,
                                float *out)
{
    size_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        const float *m = matrix + i * cols;
        vec v0 = vec_all(v[i]), v1 = vec_all(v[i + 1]), v2 = vec_all(v[i + 2]),
            v3 = vec_all(v[i + 3]);
        size_t j = 0;
        for (; j + LANES <= cols; j += LANES) {
            vec sum = vec_fma(vec_load(m + j), v0, vec_load(out + j));
            sum = vec_fma(vec_load(m + cols + j), v1, sum);
            sum = vec_fma(vec_load(m + 2 * cols + j), v2, sum);
            vec_store(out + j, vec_fma(vec_load(m + 3 * cols + j), v3, sum));
        }
        for (; j < cols; j++)
            out[j] += m[j] * v[i] + m[cols + j] * v[i + 1] + m[2 * cols + j] * v[i + 2] +
                      m[3 * cols + j] * v[i + 3];
    }
    for (; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            out[j] += matrix[i * cols + j] * v[i];
}

static void add_outer(float *matrix, size_t rows, size_t cols, const float *a, const float *b)
{
    for (size_t i = 0; i < rows; i++) {
        float *m = matrix + i * cols;
        vec x = vec_all(a[i]);
        size_t j = 0;
        for (; j + LANES <= cols; j += LANES)
            vec_store(m + j, vec_fma(x, vec_load(b + j), vec_load(m + j)));
        for (; j < cols; j++)
            m[j] += a[i] * b[j];
    }
}

/* ---- Element by element ---- */

/* Run BODY(load, store) over n elements: whole vectors, then what is left. */
#define EACH(n, BODY)                                                                              \
    do {                                                                                           \
        size_t j = 0, left;                                                                        \
        for (; j + LANES <= (n); j += LANES) {                                                     \
            BODY(vec_load, vec_store);                                                             \
        }                                                                                          \
        left = (n)-j;                                                                              \
        if (left > 0) {                                                                            \
            BODY(LOAD_LEFT, STORE_LEFT);                                                           \
        }                                                                                          \
    } while (0)
#define LOAD_LEFT(p) vec_load_some(p, left)
#define STORE_LEFT(p, v) vec_store_some(p, v, left)

static void add_scaled(float *out, const float *base, const float *column, float x, size_t n)
{
    vec factor = vec_all(x);
#define BODY(LOAD, STORE) STORE(out + j, vec_fma(LOAD(column + j), factor, LOAD(base + j)))
    EACH(n, BODY);
#undef BODY
}

static void gates(float *z, float *r, const float *h, float *q, size_t n)
{
#define BODY(LOAD, STORE)                                                                          \
    vec reset = vec_sigmoid(LOAD(r + j));                                                          \
    STORE(z + j, vec_sigmoid(LOAD(z + j)));                                                        \
    STORE(r + j, reset);                                                                           \
    STORE(q + j, reset * LOAD(h + j))
    EACH(n, BODY);
#undef BODY
}

static void candidate(float *n, const float *r, const float *v, size_t count)
{
    if (r == NULL) {
#define BODY(LOAD, STORE) STORE(n + j, vec_tanh(LOAD(n + j)))
        EACH(count, BODY);
#undef BODY
        return;
    }
#define BODY(LOAD, STORE) STORE(n + j, vec_tanh(vec_fma(LOAD(r + j), LOAD(v + j), LOAD(n + j))))
    EACH(count, BODY);
#undef BODY
}

static void blend(float *out, const float *from, const float *to, const float *weight, size_t n)
{
#define BODY(LOAD, STORE)                                                                          \
    vec start = LOAD(from + j);                                                                    \
    STORE(out + j, vec_fma(LOAD(weight + j), LOAD(to + j) - start, start))
    EACH(n, BODY);
#undef BODY
}

/* s = e^(s - top); adds up the results, and the results times their exponents. */
static void softmax_powers(float *s, size_t n, float top, float *sum, float *weighted)
{
    vec sums = {0}, products = {0};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        vec logit = vec_load(s + j) - vec_all(top), e = vec_exp(logit);
        sums = sums + e;
        products = vec_fma(e, vec_max(vec_all(-1e30f), logit), products);
        vec_store(s + j, e);
    }
    *sum = vec_sum(sums);
    *weighted = vec_sum(products);
    for (; j < n; j++) {
        float logit = s[j] - top;
        s[j] = expf(logit);
        *sum += s[j];
        *weighted += s[j] > 0 ? s[j] * logit : 0;
    }
}

static float softmax(float *s, size_t n)
{
    float largest = s[0], sum, weighted;
    for (size_t i = 1; i < n; i++)
        largest = s[i] <= largest ? largest : s[i];
    softmax_powers(s, n, largest, &sum, &weighted);
    vec factor = vec_all(1 / sum);
#define BODY(LOAD, STORE) STORE(s + j, LOAD(s + j) * factor)
    EACH(n, BODY);
#undef BODY
    return logf(sum) - weighted / sum;
}

static void adam(float *weights, const float *grad, float *m, float *v, size_t n, float scale,
                 float beta1, float beta2, float rate, float epsilon)
{
    vec keep1 = vec_all(beta1), keep2 = vec_all(beta2), new1 = vec_all(1 - beta1),
        new2 = vec_all(1 - beta2), factor = vec_all(scale), step = vec_all(rate),
        floor_ = vec_all(epsilon);
#define BODY(LOAD, STORE)                                                                          \
    vec g = LOAD(grad + j) * factor;                                                               \
    vec first = vec_fma(LOAD(m + j), keep1, g * new1);                                             \
    vec second = vec_fma(LOAD(v + j), keep2, g * g * new2);                                        \
    STORE(m + j, first);                                                                           \
    STORE(v + j, second);                                                                          \
    STORE(weights + j, LOAD(weights + j) - step * first / (vec_sqrt(second) + floor_))
    EACH(n, BODY);
#undef BODY
}

const dm_simd SIMD_NAME = {
    SIMD_LABEL, multiply, multiply_transposed, add_outer, add_scaled, dot, gates, candidate, blend,
    softmax,    adam,
};
