/* SPDX-License-Identifier: MIT */
/* conv.h - convolution and max pooling: a thread per output, or per input for dx; a block per
 * weight. */
#include "nn/cuda/common.h"

DM_KERNEL(nn_conv, nn_conv_args)
{
    uint64_t n = (uint64_t)args.B * args.O * args.OH * args.OW;
    for (uint64_t i = dm_thread_index(); i < n; i += dm_thread_count()) {
        uint32_t x = i % args.OW, y = i / args.OW % args.OH, o = i / args.OW / args.OH % args.O;
        uint64_t b = i / args.OW / args.OH / args.O;
        float sum = args.b == 0 ? 0.0f : nn_get(args.b, o);
        for (uint32_t c = 0; c < args.I; c++)
            for (uint32_t ky = 0; ky < args.K; ky++)
                for (uint32_t kx = 0; kx < args.K; kx++)
                    sum +=
                        nn_get(args.w, (((uint64_t)o * args.I + c) * args.K + ky) * args.K + kx) *
                        nn_get(args.x, ((b * args.I + c) * args.H + y * args.stride + ky) * args.W +
                                           x * args.stride + kx);
        nn_put(args.out, i, nn_activate(args.activation, sum));
    }
}

/* out (dy) becomes the gradient before the activation. */
DM_KERNEL(nn_conv_slope, nn_conv_args)
{
    uint64_t n = (uint64_t)args.B * args.O * args.OH * args.OW;
    for (uint64_t i = dm_thread_index(); i < n; i += dm_thread_count())
        nn_put(args.out, i, nn_get(args.out, i) * nn_slope(args.activation, nn_get(args.y, i), 0));
}

/* y is dy here. */
DM_KERNEL(nn_conv_dx, nn_conv_args)
{
    uint64_t n = (uint64_t)args.B * args.I * args.H * args.W;
    for (uint64_t i = dm_thread_index(); i < n; i += dm_thread_count()) {
        uint32_t x = i % args.W, y = i / args.W % args.H, c = i / args.W / args.H % args.I;
        uint64_t b = i / args.W / args.H / args.I;
        float sum = args.add_dx ? nn_get(args.out, i) : 0.0f;
        for (uint32_t o = 0; o < args.O; o++)
            for (uint32_t ky = 0; ky < args.K && ky <= y; ky++)
                for (uint32_t kx = 0; kx < args.K && kx <= x; kx++) {
                    uint32_t oy = (y - ky) / args.stride, ox = (x - kx) / args.stride;
                    if ((y - ky) % args.stride != 0 || (x - kx) % args.stride != 0 ||
                        oy >= args.OH || ox >= args.OW)
                        continue;
                    sum +=
                        nn_get(args.w, (((uint64_t)o * args.I + c) * args.K + ky) * args.K + kx) *
                        nn_get(args.y, ((b * args.O + o) * args.OH + oy) * args.OW + ox);
                }
        nn_put(args.out, i, sum);
    }
}

/* Blocks 0 .. O I K K - 1: a weight each; then one per bias. */
DM_KERNEL(nn_conv_dw, nn_conv_args)
{
    __shared__ float room[32];
    uint32_t weights = args.O * args.I * args.K * args.K, id = blockIdx.x;
    bool bias = id >= weights;
    uint32_t kx = id % args.K, ky = id / args.K % args.K, c = id / args.K / args.K % args.I;
    uint32_t o = bias ? id - weights : id / args.K / args.K / args.I;
    float sum = 0;
    for (uint64_t i = threadIdx.x; i < (uint64_t)args.B * args.OH * args.OW; i += blockDim.x) {
        uint32_t x = i % args.OW, y = i / args.OW % args.OH;
        uint64_t b = i / args.OW / args.OH;
        float d = nn_get(args.y, ((b * args.O + o) * args.OH + y) * args.OW + x);
        sum +=
            bias ? d
                 : d * nn_get(args.x, ((b * args.I + c) * args.H + y * args.stride + ky) * args.W +
                                          x * args.stride + kx);
    }
    sum = nn_block_sum(sum, room);
    if (threadIdx.x == 0)
        (bias ? args.db + o : args.dw + id)[0] += sum;
}

DM_KERNEL(nn_pool, nn_pool_args)
{
    uint32_t OH = args.H / args.K, OW = args.W / args.K;
    uint64_t n = (uint64_t)args.B * args.C * OH * OW;
    for (uint64_t i = dm_thread_index(); i < n; i += dm_thread_count()) {
        uint32_t x = i % OW * args.K, y = i / OW % OH * args.K, best = 0;
        uint64_t plane = i / OW / OH * args.H;
        float high = 0;
        for (uint32_t k = 0; k < args.K * args.K; k++) {
            float v = nn_get(args.x, (plane + y + k / args.K) * args.W + x + k % args.K);
            if (k == 0 || v > high) {
                high = v;
                best = k;
            }
        }
        nn_put(args.y, i, high);
        args.from[i] = (uint8_t)best;
    }
}

/* x is dy, y is dx; a thread per input. */
DM_KERNEL(nn_pool_backward, nn_pool_args)
{
    uint32_t OH = args.H / args.K, OW = args.W / args.K;
    uint64_t n = (uint64_t)args.B * args.C * args.H * args.W;
    for (uint64_t i = dm_thread_index(); i < n; i += dm_thread_count()) {
        uint32_t x = i % args.W, y = i / args.W % args.H, oy = y / args.K, ox = x / args.K;
        float d = args.add_dx ? nn_get(args.y, i) : 0.0f;
        if (oy < OH && ox < OW) {
            uint64_t at = (i / args.W / args.H * OH + oy) * OW + ox;
            if (args.from[at] == y % args.K * args.K + x % args.K)
                d += nn_get(args.x, at);
        }
        nn_put(args.y, i, d);
    }
}
