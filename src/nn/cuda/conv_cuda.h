/* SPDX-License-Identifier: MIT */
/* conv_cuda.h - what conv_tiled.h and conv_mma.h need of a GPU: loads and stores of 16 bytes, the matrix unit. */
#include "nn/cuda/common.h"

#define NN_UNROLL _Pragma("unroll")
#define NN_UNROLL_SOME _Pragma("unroll 2")
extern __shared__ float nn_conv_memory[];

/* Sixteen floats, from a multiple of sixteen bytes on. */
DM_FN void nn_conv_16(float *to, const float *from)
{
    NN_UNROLL
    for (int i = 0; i < 4; i++) {
        float4 v = ((const float4 *)from)[i];
        to[4 * i] = v.x;
        to[4 * i + 1] = v.y;
        to[4 * i + 2] = v.z;
        to[4 * i + 3] = v.w;
    }
}

/* Four floats likewise, from and to a multiple of sixteen bytes. */
DM_FN void nn_conv_4(float *to, const float *from)
{
    const float4 v = *(const float4 *)from;
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

DM_FN void nn_conv_put_4(float *to, const float *from)
{
    *(float4 *)to = make_float4(from[0], from[1], from[2], from[3]);
}

/* d[16][8] += a[16][8] b[8][8] in tf32. Lane 4 g + t has of a (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4), of b
 * (t, g), (t + 4, g), of d (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1). */
DM_FN void nn_mma_tf32(float *d, const float *a, float b0, float b1)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                   "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b0)),
                   "r"(__float_as_uint(b1)));
#else /* never launched (table.c) */
    (void)d, (void)a, (void)b0, (void)b1;
#endif
}

#include "nn/cuda/conv_mma.h"
