/* SPDX-License-Identifier: MIT */
/* simd.h - the loops that take the time, for several sets of vector instructions.
 *
 * simd_text.h holds them once; simd_portable.c, simd_avx2.c and simd_avx512.c compile it for
 * vectors of 4, 8 and 16 floats. One set gives the same bits every time. Sets differ in the last
 * places, since they sum in different orders. Any pointer may be unaligned. */
#ifndef DM_DYNAMICS_SIMD_H
#define DM_DYNAMICS_SIMD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct dm_simd {
    const char *name; /* "avx512" */

    /* out[b][i] += sum over j of matrix[i][j] * v[b][j], for `batch` vectors v of `cols` elements
     * with v_stride from one to the next; rows of out are out_stride apart. */
    void (*multiply)(const float *matrix, size_t rows, size_t cols, const float *v, size_t v_stride,
                     size_t batch, float *out, size_t out_stride);
    /* out[j] += sum over i of matrix[i][j] * v[i] */
    void (*multiply_transposed)(const float *matrix, size_t rows, size_t cols, const float *v,
                                float *out);
    /* matrix[i][j] += a[i] * b[j] */
    void (*add_outer)(float *matrix, size_t rows, size_t cols, const float *a, const float *b);
    /* out = base + column * x */
    void (*add_scaled)(float *out, const float *base, const float *column, float x, size_t n);
    float (*dot)(const float *a, const float *b, size_t n);

    /* z = sigmoid(z), r = sigmoid(r), q = r * h */
    void (*gates)(float *z, float *r, const float *h, float *q, size_t n);
    /* n = tanh(n + r * v), or tanh(n) where r is NULL */
    void (*candidate)(float *n, const float *r, const float *v, size_t count);
    /* out = from + weight * (to - from) */
    void (*blend)(float *out, const float *from, const float *to, const float *weight, size_t n);
    /* s = softmax(s); gives its entropy. */
    float (*softmax)(float *s, size_t n);
    /* One step of Adam for n weights: m and v are its moments; rate has the bias correction. */
    void (*adam)(float *weights, const float *grad, float *m, float *v, size_t n, float scale,
                 float beta1, float beta2, float rate, float epsilon);
} dm_simd;

/* The best for this machine, or the one named by $DM_SIMD ("portable", "avx2", "avx512"), if this
 * machine can run it. */
const dm_simd *dm_simd_best(void);
/* By name; NULL when there is none or this machine cannot run it. */
const dm_simd *dm_simd_named(const char *name);

extern const dm_simd dm_simd_portable;
#if defined(__x86_64__)
extern const dm_simd dm_simd_avx2;
extern const dm_simd dm_simd_avx512;
#endif

#endif
