/* SPDX-License-Identifier: MIT */
/* simd_vec.h - a vector of floats for the instruction set that is being compiled for.
 *
 * `vec` has LANES floats; + - * / are the compiler's vector operators. Everything else is written with
 * intrinsics. */
#ifndef DM_BASE_SIMD_VEC_H
#define DM_BASE_SIMD_VEC_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define LANES 16
#elif defined(__AVX2__)
#include <immintrin.h>
#define LANES 8
#else
#define LANES 4
#endif

typedef float vec __attribute__((vector_size(LANES * 4), may_alias));
typedef int32_t ivec __attribute__((vector_size(LANES * 4), may_alias));
#define VEC_FN static inline __attribute__((always_inline, unused))

VEC_FN vec vec_load(const float *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

VEC_FN void vec_store(float *p, vec v)
{
    memcpy(p, &v, sizeof v);
}

VEC_FN vec vec_all(float x)
{
    return x - (vec){0};
}

#if LANES == 8
/* All bits of the first n lanes. */
VEC_FN __m256i vec_first(size_t n)
{
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}
#endif

/* The first n <= LANES elements; the rest is 0 and is not read. */
VEC_FN vec vec_load_some(const float *p, size_t n)
{
#if LANES == 16
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#elif LANES == 8
    return _mm256_maskload_ps(p, vec_first(n));
#else
    vec v = {0};
    memcpy(&v, p, n * sizeof(float));
    return v;
#endif
}

VEC_FN void vec_store_some(float *p, vec v, size_t n)
{
#if LANES == 16
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), v);
#elif LANES == 8
    _mm256_maskstore_ps(p, vec_first(n), v);
#else
    memcpy(p, &v, n * sizeof(float));
#endif
}

/* a * b + c; one rounding where the machine has it. */
VEC_FN vec vec_fma(vec a, vec b, vec c)
{
#if LANES == 16
    return _mm512_fmadd_ps(a, b, c);
#elif LANES == 8
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

/* The larger of two; x when it is NaN. */
VEC_FN vec vec_max(vec bound, vec x)
{
#if LANES == 16
    return _mm512_max_ps(bound, x);
#elif LANES == 8
    return _mm256_max_ps(bound, x);
#else
    ivec above = bound > x;
    return (vec)((above & (ivec)bound) | (~above & (ivec)x));
#endif
}

VEC_FN vec vec_min(vec bound, vec x)
{
#if LANES == 16
    return _mm512_min_ps(bound, x);
#elif LANES == 8
    return _mm256_min_ps(bound, x);
#else
    ivec below = bound < x;
    return (vec)((below & (ivec)bound) | (~below & (ivec)x));
#endif
}

VEC_FN vec vec_sqrt(vec x)
{
#if LANES == 16
    return _mm512_sqrt_ps(x);
#elif LANES == 8
    return _mm256_sqrt_ps(x);
#else
    for (int i = 0; i < LANES; i++)
        x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

/* LANES bytes as integers, and back. */
VEC_FN ivec ivec_load_bytes(const uint8_t *p)
{
#if LANES == 16
    return (ivec)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
#elif LANES == 8
    return (ivec)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
#else
    ivec v = {0};
    for (int i = 0; i < LANES; i++)
        v[i] = p[i];
    return v;
#endif
}

VEC_FN void ivec_store_bytes(uint8_t *p, ivec v)
{
#if LANES == 16
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8((__m512i)v));
#elif LANES == 8
    __m128i half = _mm_packus_epi32(_mm256_castsi256_si128((__m256i)v),
                                    _mm256_extracti128_si256((__m256i)v, 1));
    _mm_storel_epi64((__m128i *)(void *)p, _mm_packus_epi16(half, half));
#else
    for (int i = 0; i < LANES; i++)
        p[i] = (uint8_t)v[i];
#endif
}

/* x where the mask's lanes are all ones, y where they are 0. */
VEC_FN vec vec_pick(ivec mask, vec x, vec y)
{
    return (vec)((mask & (ivec)x) | (~mask & (ivec)y));
}

VEC_FN float vec_most(vec x)
{
#if LANES == 16
    return _mm512_reduce_max_ps(x);
#else
    float most = x[0];
    for (int i = 1; i < LANES; i++)
        most = x[i] > most ? x[i] : most;
    return most;
#endif
}

VEC_FN float vec_sum(vec x)
{
#if LANES == 16
    return _mm512_reduce_add_ps(x);
#elif LANES == 8
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
#else
    return (x[0] + x[2]) + (x[1] + x[3]);
#endif
}

/* The two halves of a0 b0 a1 b1 a2 b2 ... */
VEC_FN void vec_interleave(vec a, vec b, vec *low, vec *high)
{
#if LANES == 16
    *low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    *high =
        __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif LANES == 8
    *low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    *high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    *low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    *high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}

/* Rows become columns: each round interleaves row i with row i + LANES / 2, which rotates the
 * number of an element (row, column) by one bit; after log2(LANES) rounds they are exchanged. */
VEC_FN void vec_transpose(vec x[LANES])
{
#pragma GCC unroll 4
    for (int round = 1; round < LANES; round *= 2) {
        vec y[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES / 2; i++)
            vec_interleave(x[i], x[i + LANES / 2], &y[2 * i], &y[2 * i + 1]);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            x[i] = y[i];
    }
}

/* to[i] += sum of x[i], eight at a time. */
VEC_FN void vec_add_sums8(float *to, const vec x[8])
{
#if LANES >= 8
    __m256 y[8];
    for (int i = 0; i < 8; i++)
#if LANES == 16
        y[i] = _mm256_add_ps(_mm512_castps512_ps256(x[i]), _mm512_extractf32x8_ps(x[i], 1));
#else
        y[i] = x[i];
#endif
    __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(y[0], y[1]), _mm256_hadd_ps(y[2], y[3]));
    __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(y[4], y[5]), _mm256_hadd_ps(y[6], y[7]));
    __m256 low = _mm256_permute2f128_ps(a, b, 0x20), high = _mm256_permute2f128_ps(a, b, 0x31);
    _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), _mm256_add_ps(low, high)));
#else
    for (int i = 0; i < 8; i++)
        to[i] += vec_sum(x[i]);
#endif
}

/* ---- Functions ---- */

#define VEC_LN2_HIGH 0.693359375f
#define VEC_LN2_LOW (-2.12194440e-4f)

/* e^x = 2^n (1 + p): for x within +-87.3, |p| < 0.42 with a relative error below 2^-23. Adding
 * 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits. */
VEC_FN void vec_exp_parts(vec x, vec *power, vec *p)
{
    vec shifted = vec_fma(x, vec_all(1.44269504f), vec_all(12582912.0f));
    vec n = shifted - vec_all(12582912.0f);
    vec r = vec_fma(n, vec_all(-VEC_LN2_HIGH), x);
    r = vec_fma(n, vec_all(-VEC_LN2_LOW), r);
    *power = (vec)(((ivec)shifted - 0x4B400000 + 127) << 23);
    vec sum = vec_all(1.0f / 5040);
    sum = vec_fma(sum, r, vec_all(1.0f / 720));
    sum = vec_fma(sum, r, vec_all(1.0f / 120));
    sum = vec_fma(sum, r, vec_all(1.0f / 24));
    sum = vec_fma(sum, r, vec_all(1.0f / 6));
    sum = vec_fma(sum, r, vec_all(0.5f));
    *p = vec_fma(sum * r, r, r);
}

VEC_FN vec vec_clamp(vec x, float low, float high)
{
    return vec_min(vec_all(high), vec_max(vec_all(low), x));
}

VEC_FN vec vec_exp(vec x)
{
    vec power, p;
    vec_exp_parts(vec_clamp(x, -87.0f, 87.0f), &power, &p);
    return vec_fma(power, p, power);
}

VEC_FN vec vec_sigmoid(vec x)
{
    return vec_all(1) / (vec_all(1) + vec_exp(-x));
}

/* With m = e^2x - 1: m / (m + 2), good near 0 too. From |x| = 15 on it is +-1. */
VEC_FN vec vec_tanh(vec x)
{
    vec power, p;
    vec_exp_parts(vec_clamp(x + x, -30.0f, 30.0f), &power, &p);
    vec m = vec_fma(power, p, power - vec_all(1));
    return m / (m + vec_all(2));
}

#endif
