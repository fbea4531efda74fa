/* SPDX-License-Identifier: MIT */
/* conv_host.h - what nn/cuda/conv_tiled.h and conv_mma.h need, on the host: as nn/cuda/conv_cuda.h has it for GPUs.
 * What would be a fault there traps here. */
#ifndef DM_TESTS_NN_CONV_HOST_H
#define DM_TESTS_NN_CONV_HOST_H

#define DM_HOST_BLOCK 1
#include "base/port.h"

#include "nn/ops.h"

#define NN_UNROLL
#define NN_UNROLL_SOME

static _Alignas(16) float nn_conv_memory[60000];

DM_FN float nn_get(const void *p, uint64_t i)
{
    return ((const float *)p)[i];
}

DM_FN void nn_put(void *p, uint64_t i, float x)
{
    ((float *)p)[i] = x;
}

DM_FN float nn_activate(uint32_t kind, float x)
{
    return kind == DM_NN_RELU && x < 0 ? 0 : x;
}

static inline void nn_conv_aligned(const float *at)
{
    if (((uintptr_t)at & 15u) != 0)
        __builtin_trap();
}

DM_FN void nn_conv_16(float *to, const float *from)
{
    nn_conv_aligned(from);
    __builtin_memcpy(to, from, 64);
}

DM_FN void nn_conv_4(float *to, const float *from)
{
    nn_conv_aligned(from);
    __builtin_memcpy(to, from, 16);
}

DM_FN void nn_conv_put_4(float *to, const float *from)
{
    nn_conv_aligned(to);
    __builtin_memcpy(to, from, 16);
}

DM_FN void nn_mma_tf32(float *d, const float *a, float b0, float b1)
{
    static float room[32][32][6];
    const uint32_t lane = DM_BLOCK_THREAD % 32u;
    float(*warp)[6] = room[DM_BLOCK_THREAD / 32u];
    for (uint32_t i = 0; i < 6u; i++) {
        const float x = i < 4u ? a[i] : i == 4u ? b0 : b1;
        warp[lane][i] = dm_bits_f32(dm_f32_bits(x) & 0xFFFFE000u);
    }
    dm_warp_sync();
    for (uint32_t i = 0; i < 4u; i++) {
        const uint32_t row = lane / 4u, column = lane % 4u * 2u + i % 2u;
        for (uint32_t k = 0; k < 8u; k++)
            d[i] += warp[row * 4u + k % 4u][i / 2u + k / 4u * 2u] *
                    warp[column * 4u + k % 4u][4u + k / 4u];
    }
    dm_warp_sync();
}

#endif
