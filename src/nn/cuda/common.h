/* SPDX-License-Identifier: MIT */
/* common.h - the exec's type and sums over warps and blocks, for the CUDA kernels of operations.
 * NN_BF16=1 makes `real` bfloat16; without it `real` is float. Arithmetic is in float. */
#ifndef DM_NN_CUDA_COMMON_H
#define DM_NN_CUDA_COMMON_H

#include "nn/cuda/args.h"

#define NN_INFINITY __int_as_float(0x7F800000)

#ifndef NN_BF16
#define NN_BF16 0
#endif

#if NN_BF16
typedef uint16_t real;
#define NN_VEC 8 /* elements of 16 bytes */
#else
typedef float real;
#define NN_VEC 4
#endif

DM_FN uint16_t nn_to_bf16(float x)
{
    uint16_t y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

/* The first goes to the low half. */
DM_FN uint32_t nn_pack(float low, float high)
{
    uint32_t y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}

DM_FN float nn_get(const void *p, uint64_t i)
{
#if NN_BF16
    return __uint_as_float((uint32_t)((const uint16_t *)p)[i] << 16);
#else
    return ((const float *)p)[i];
#endif
}

DM_FN void nn_put(void *p, uint64_t i, float x)
{
#if NN_BF16
    ((uint16_t *)p)[i] = nn_to_bf16(x);
#else
    ((float *)p)[i] = x;
#endif
}

/* What a value is after it was stored. */
DM_FN float nn_round(float x)
{
#if NN_BF16
    return __uint_as_float((uint32_t)nn_to_bf16(x) << 16);
#else
    return x;
#endif
}

/* NN_VEC elements as they lie in memory, and as floats. */
DM_FN void nn_unpack(float (&v)[NN_VEC], uint4 w)
{
    uint32_t words[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
    for (int k = 0; k < 4; k++) {
#if NN_BF16
        v[2 * k] = __uint_as_float(words[k] << 16);
        v[2 * k + 1] = __uint_as_float(words[k] & 0xFFFF0000u);
#else
        v[k] = __uint_as_float(words[k]);
#endif
    }
}

/* V elements from i on, V = 1 or NN_VEC (then i is a multiple of it and p 16-byte aligned). */
template <int V> DM_FN void nn_load(float (&v)[V], const void *p, uint64_t i)
{
    if constexpr (V == 1) {
        v[0] = nn_get(p, i);
    } else {
        nn_unpack(v, *(const uint4 *)((const real *)p + i));
    }
}

template <int V> DM_FN void nn_store(void *p, uint64_t i, const float (&v)[V])
{
    if constexpr (V == 1) {
        nn_put(p, i, v[0]);
    } else {
        uint32_t w[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
#if NN_BF16
            w[k] = nn_pack(v[2 * k], v[2 * k + 1]);
#else
            w[k] = __float_as_uint(v[k]);
#endif
        }
        *(uint4 *)((real *)p + i) = make_uint4(w[0], w[1], w[2], w[3]);
    }
}

DM_FN bool nn_aligned(const void *p)
{
    return ((uintptr_t)p & 15) == 0;
}

DM_FN float nn_warp_sum(float x)
{
    for (int mask = 16; mask > 0; mask >>= 1)
        x += __shfl_xor_sync(0xFFFFFFFFu, x, mask);
    return x;
}

/* The sum over a block of at most 1,024 threads, given to all; `room` is 32 floats of shared
 * memory. */
DM_FN float nn_block_sum(float x, float *room)
{
    x = nn_warp_sum(x);
    __syncthreads();
    if ((threadIdx.x & 31) == 0)
        room[threadIdx.x >> 5] = x;
    __syncthreads();
    float total = 0;
    for (uint32_t w = 0; w < blockDim.x / 32; w++)
        total += room[w];
    return total;
}

enum { NN_LINEAR, NN_RELU, NN_TANH, NN_SIGMOID, NN_GELU }; /* as dm_nn_activation */

DM_FN float nn_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

DM_FN float nn_activate(uint32_t kind, float x)
{
    switch (kind) {
    case NN_RELU:
        return x > 0 ? x : x != x ? x : 0.0f;
    case NN_TANH:
        return tanhf(x);
    case NN_SIGMOID:
        return nn_sigmoid(x);
    case NN_GELU:
        return x * nn_sigmoid(1.5957691216f * (x + 0.044715f * x * x * x));
    default:
        return x;
    }
}

/* From the result y, or for GELU from the sum before it. */
DM_FN float nn_slope(uint32_t kind, float y, float pre)
{
    switch (kind) {
    case NN_RELU:
        return y > 0 ? 1.0f : 0.0f;
    case NN_TANH:
        return 1.0f - y * y;
    case NN_SIGMOID:
        return y * (1.0f - y);
    case NN_GELU: {
        float s = nn_sigmoid(1.5957691216f * (pre + 0.044715f * pre * pre * pre));
        return s + pre * s * (1.0f - s) * 1.5957691216f * (1.0f + 3.0f * 0.044715f * pre * pre);
    }
    default:
        return 1.0f;
    }
}

/* ---- Matrix units ---- */

DM_FN uint32_t nn_shared(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

DM_FN void nn_ldmatrix(uint32_t (&f)[4], const uint16_t *at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                 : "r"(nn_shared(at)));
}

DM_FN void nn_ldmatrix_trans(uint32_t (&f)[4], const uint16_t *at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                 : "r"(nn_shared(at)));
}

DM_FN void nn_mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif
