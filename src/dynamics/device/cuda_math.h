/* SPDX-License-Identifier: MIT */
/* cuda_math.h - functions of one number and sums over a warp, for the dynamics kernels; CUDA only.
 *
 * Errors, against float64: sigmoid and tanh 2e-7 absolute, exp within +-10 2e-6 relative. NaN stays
 * NaN. */
#ifndef DM_DYNAMICS_CUDA_MATH_H
#define DM_DYNAMICS_CUDA_MATH_H

#include "base/port.h"

#define DYN_FULL 0xFFFFFFFFu
#define DYN_LOG2E 1.44269504f

DM_FN float dyn_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DM_FN float dyn_log(float x)
{
    float y;
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y * 0.693147181f;
}

DM_FN float dyn_exp(float x)
{
    return dyn_exp2(x * DYN_LOG2E);
}

DM_FN float dyn_sigmoid(float x)
{
    /* 1 / (1 + inf) is 0; the quotient is good to 2 ulp. */
    return __fdividef(1.0f, 1.0f + dyn_exp2(x * -DYN_LOG2E));
}

DM_FN float dyn_tanh(float x)
{
    float e = dyn_exp2(fabsf(x) * (-2.0f * DYN_LOG2E));
    float y = __fdividef(1.0f - e, 1.0f + e);
    return copysignf(y, x);
}

/* exp(clamp(u, -10, 10)); NaN stays. */
DM_FN float dyn_loss(float u)
{
    u = u < -10.0f ? -10.0f : u > 10.0f ? 10.0f : u;
    return dyn_exp(u);
}

DM_FN float dyn_warp_sum(float x)
{
    for (int mask = 16; mask > 0; mask >>= 1)
        x += __shfl_xor_sync(DYN_FULL, x, mask);
    return x;
}

DM_FN float dyn_warp_max(float x)
{
    for (int mask = 16; mask > 0; mask >>= 1) {
        float other = __shfl_xor_sync(DYN_FULL, x, mask);
        x = other <= x ? x : other;
    }
    return x;
}

/* Half of the values goes to the lane `mask` away, which keeps the other half: lanes whose bit is 0
 * keep the first. Sums of both lanes are left in v[0 .. n/2). */
#define DYN_HALVE(v, n, mask, lane)                                                                \
    do {                                                                                           \
        bool upper_ = ((lane) & (mask)) != 0;                                                      \
        _Pragma("unroll") for (int i_ = 0; i_ < (n) / 2; i_++)                                     \
        {                                                                                          \
            float give_ = upper_ ? (v)[i_] : (v)[i_ + (n) / 2];                                    \
            float keep_ = upper_ ? (v)[i_ + (n) / 2] : (v)[i_];                                    \
            (v)[i_] = keep_ + __shfl_xor_sync(DYN_FULL, give_, mask);                              \
        }                                                                                          \
    } while (0)

/* Sums over the warp of eight values; the lane gets that of value (lane >> 2). */
DM_FN float dyn_sum8(float v[8], int lane)
{
    DYN_HALVE(v, 8, 16, lane);
    DYN_HALVE(v, 4, 8, lane);
    DYN_HALVE(v, 2, 4, lane);
    float x = v[0];
    x += __shfl_xor_sync(DYN_FULL, x, 2);
    x += __shfl_xor_sync(DYN_FULL, x, 1);
    return x;
}

/* Of four values: the lane gets that of value (lane >> 2) & 3. */
DM_FN float dyn_sum4(float v[4], int lane)
{
    DYN_HALVE(v, 4, 8, lane);
    DYN_HALVE(v, 2, 4, lane);
    float x = v[0];
    x += __shfl_xor_sync(DYN_FULL, x, 16);
    x += __shfl_xor_sync(DYN_FULL, x, 2);
    x += __shfl_xor_sync(DYN_FULL, x, 1);
    return x;
}

#endif
