/* SPDX-License-Identifier: MIT */
/* attention.h - causal attention of any head size up to 256: a warp per row, online softmax.
 * Nothing of size T x T is stored. The gradients of q and of k, v are two passes, each in a fixed
 * order. */
#include "nn/cuda/common.h"

#define PARTS 8 /* numbers of a head per lane */

/* q, k or v (which = 0, 1, 2) of a head at a time: where its D numbers begin in qkv. */
DM_FN uint64_t head_at(const nn_attention_args &args, uint32_t b, uint32_t t, uint32_t which,
                       uint32_t h)
{
    return ((((uint64_t)b * args.T + t) * 3 + which) * args.H + h) * args.D;
}

DM_FN void head_load(float (&v)[PARTS], const void *p, uint64_t at, uint32_t D)
{
    uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < PARTS; i++)
        v[i] = lane + 32 * i < D ? nn_get(p, at + lane + 32 * i) : 0.0f;
}

DM_FN void head_store(void *p, uint64_t at, uint32_t D, const float (&v)[PARTS], float factor)
{
    uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < PARTS; i++)
        if (lane + 32 * i < D)
            nn_put(p, at + lane + 32 * i, v[i] * factor);
}

DM_FN float head_dot(const float (&a)[PARTS], const float (&b)[PARTS])
{
    float x = 0;
#pragma unroll
    for (int i = 0; i < PARTS; i++)
        x += a[i] * b[i];
    return nn_warp_sum(x);
}

/* The warp's row: (b h) major, t minor, so that neighbours share k and v. False: none. */
DM_FN bool warp_row(const nn_attention_args &args, uint32_t &b, uint32_t &h, uint32_t &t,
                    uint64_t &row)
{
    row = (uint64_t)blockIdx.x * 4 + (threadIdx.x >> 5);
    t = (uint32_t)(row % args.T);
    h = (uint32_t)(row / args.T % args.H);
    b = (uint32_t)(row / args.T / args.H);
    return b < args.B;
}

DM_KERNEL_BOUNDS(nn_attention, nn_attention_args, 128, 4)
{
    uint32_t b, h, t;
    uint64_t row;
    if (!warp_row(args, b, h, t, row))
        return;
    float scale = rsqrtf((float)args.D), q[PARTS], k[PARTS], v[PARTS], y[PARTS] = {},
          high = -NN_INFINITY, sum = 0;
    head_load(q, args.qkv, head_at(args, b, t, 0, h), args.D);
    for (uint32_t s = 0; s <= t; s++) {
        head_load(k, args.qkv, head_at(args, b, s, 1, h), args.D);
        head_load(v, args.qkv, head_at(args, b, s, 2, h), args.D);
        float x = head_dot(q, k) * scale, top = fmaxf(high, x);
        float keep = expf(high - top), p = expf(x - top);
        high = top;
        sum = sum * keep + p;
#pragma unroll
        for (int i = 0; i < PARTS; i++)
            y[i] = y[i] * keep + p * v[i];
    }
    head_store(args.out, (((uint64_t)b * args.T + t) * args.H + h) * args.D, args.D, y, 1.0f / sum);
    if ((threadIdx.x & 31) == 0)
        args.lse[row] = high + logf(sum);
}

/* delta[B][H][T] = the sum over the head of y dy. */
DM_KERNEL_BOUNDS(nn_attention_delta, nn_attention_args, 128, 4)
{
    uint32_t b, h, t;
    uint64_t row;
    if (!warp_row(args, b, h, t, row))
        return;
    float y[PARTS], dy[PARTS];
    uint64_t at = (((uint64_t)b * args.T + t) * args.H + h) * args.D;
    head_load(y, args.y, at, args.D);
    head_load(dy, args.dy, at, args.D);
    float x = head_dot(y, dy);
    if ((threadIdx.x & 31) == 0)
        args.delta[row] = x;
}

DM_KERNEL_BOUNDS(nn_attention_dq, nn_attention_args, 128, 4)
{
    uint32_t b, h, t;
    uint64_t row;
    if (!warp_row(args, b, h, t, row))
        return;
    float scale = rsqrtf((float)args.D), q[PARTS], k[PARTS], v[PARTS], dy[PARTS], dq[PARTS] = {};
    head_load(q, args.qkv, head_at(args, b, t, 0, h), args.D);
    head_load(dy, args.dy, (((uint64_t)b * args.T + t) * args.H + h) * args.D, args.D);
    float lse = args.lse[row], delta = args.delta[row];
    for (uint32_t s = 0; s <= t; s++) {
        head_load(k, args.qkv, head_at(args, b, s, 1, h), args.D);
        head_load(v, args.qkv, head_at(args, b, s, 2, h), args.D);
        float p = expf(head_dot(q, k) * scale - lse), d = p * (head_dot(dy, v) - delta) * scale;
#pragma unroll
        for (int i = 0; i < PARTS; i++)
            dq[i] += d * k[i];
    }
    head_store(args.out, head_at(args, b, t, 0, h), args.D, dq, 1.0f);
}

DM_KERNEL_BOUNDS(nn_attention_dkv, nn_attention_args, 128, 4)
{
    uint32_t b, h, s;
    uint64_t row;
    if (!warp_row(args, b, h, s, row))
        return;
    float scale = rsqrtf((float)args.D), q[PARTS], k[PARTS], v[PARTS], dy[PARTS], dk[PARTS] = {},
          dv[PARTS] = {};
    head_load(k, args.qkv, head_at(args, b, s, 1, h), args.D);
    head_load(v, args.qkv, head_at(args, b, s, 2, h), args.D);
    for (uint32_t t = s; t < args.T; t++) {
        uint64_t at = row - s + t;
        head_load(q, args.qkv, head_at(args, b, t, 0, h), args.D);
        head_load(dy, args.dy, (((uint64_t)b * args.T + t) * args.H + h) * args.D, args.D);
        float p = expf(head_dot(q, k) * scale - args.lse[at]);
        float d = p * (head_dot(dy, v) - args.delta[at]) * scale;
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            dv[i] += p * dy[i];
            dk[i] += d * q[i];
        }
    }
    head_store(args.out, head_at(args, b, s, 1, h), args.D, dk, 1.0f);
    head_store(args.out, head_at(args, b, s, 2, h), args.D, dv, 1.0f);
}
