/* SPDX-License-Identifier: MIT */
/* kernel_stream.h - one rollout of one member on one block, for every GPU and every size that its
 * shared memory holds. The weights are read again in every step, from the second-level cache at
 * best. It runs what the faster kernels cannot: GPUs without clusters, a learned projection, hidden
 * sizes that fit no register file.
 *
 * Shared memory: h, q, z [H] each, base [3 H], s [S], and 32 partial sums. */
#include "dynamics/device/cuda_math.h"
#include "dynamics/device/rollout_args.h"

extern __shared__ float dyn_memory[];

#define STREAM_THREADS 1024

/* The same sum in every thread. */
DM_FN float block_sum(float x, float *partial)
{
    x = dyn_warp_sum(x);
    __syncthreads();
    if ((threadIdx.x & 31) == 0)
        partial[threadIdx.x >> 5] = x;
    __syncthreads();
    return dyn_warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x & 31] : 0.0f);
}

DM_FN float block_max(float x, float *partial)
{
    x = dyn_warp_max(x);
    __syncthreads();
    if ((threadIdx.x & 31) == 0)
        partial[threadIdx.x >> 5] = x;
    __syncthreads();
    return dyn_warp_max(threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x & 31] : -3.4e38f);
}

/* A row of a matrix times v, by one warp. */
DM_FN float warp_dot(const float *row, const float *v, uint32_t n)
{
    float sum = 0;
    for (uint32_t j = threadIdx.x & 31; j < n; j += 32)
        sum = dm_fmaf(row[j], v[j], sum);
    return dyn_warp_sum(sum);
}

DM_KERNEL_BOUNDS(dm_rollout_stream, dm_rollout_args, STREAM_THREADS, 1)
{
    const uint32_t H = args.hidden, I = args.input, S = args.stochastic;
    const uint32_t job = blockIdx.x, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    const bool leader = (threadIdx.x & 31) == 0;
    const float *member = args.weights + (job % args.members) * args.stride;
    const float *W = member + args.at_w, *U = member + args.at_u, *head = member + args.at_head;
    const float *features = args.features + (uint64_t)(job / args.members) * I;
    float *h = dyn_memory, *q = h + H, *z = q + H, *base = z + H, *s = base + 3 * H,
          *partial = s + S;
    for (uint32_t i = threadIdx.x; i < H; i += blockDim.x)
        h[i] = args.h0 != 0 ? args.h0[(uint64_t)job * H + i] : 0.0f;
    for (uint32_t row = warp; row < 3 * H; row += warps) {
        float sum = 0;
        for (uint32_t j = 1 + (threadIdx.x & 31); j < I; j += 32)
            sum = dm_fmaf(W[(uint64_t)row * I + j], (features[j] - args.shift[j]) * args.scale[j],
                          sum);
        sum = dyn_warp_sum(sum);
        if (leader)
            base[row] = sum + member[args.at_b + row];
    }
    float x0 = (features[0] - args.shift[0]) * args.scale[0];
    for (uint32_t t = 0; t < args.steps; t++) {
        __syncthreads();
        for (uint32_t row = warp; row < 2 * H; row += warps) {
            float a = warp_dot(U + (uint64_t)row * H, h, H) + base[row];
            a = dyn_sigmoid(dm_fmaf(W[(uint64_t)row * I], x0, a));
            if (leader) {
                if (row < H)
                    z[row] = a;
                else
                    q[row - H] = args.reset_last ? a : a * h[row - H];
            }
        }
        __syncthreads();
        float *fresh = z; /* h', which may take the place of z once that was used */
        for (uint32_t i = warp; i < H; i += warps) {
            uint64_t row = 2 * (uint64_t)H + i;
            float v = warp_dot(U + row * H, args.reset_last ? h : q, H);
            float a = dm_fmaf(W[row * I], x0, base[row]);
            if (leader) {
                if (args.reset_last) {
                    float n = dyn_tanh(dm_fmaf(q[i], v + member[args.at_c + i], a));
                    fresh[i] = dm_fmaf(z[i], h[i] - n, n);
                } else {
                    float n = dyn_tanh(v + a);
                    fresh[i] = dm_fmaf(z[i], n - h[i], h[i]);
                }
            }
        }
        __syncthreads();
        float u = 0, squares = 0;
        for (uint32_t i = threadIdx.x; i < H; i += blockDim.x) {
            h[i] = fresh[i];
            u = dm_fmaf(head[i], fresh[i], u);
            squares = dm_fmaf(fresh[i], fresh[i], squares);
        }
        __syncthreads();
        if (args.projection) {
            for (uint32_t i = warp; i < S; i += warps) {
                float logit = warp_dot(member + args.at_projection + (uint64_t)i * H, h, H);
                if (leader)
                    s[i] = logit;
            }
        } else {
            for (uint32_t i = threadIdx.x; i < S; i += blockDim.x)
                s[i] = h[(uint32_t)((uint64_t)i * H / S)];
        }
        __syncthreads();
        float top = -3.4e38f, sum = 0, product = 0, weighted = 0;
        for (uint32_t i = threadIdx.x; i < S; i += blockDim.x)
            top = s[i] <= top ? top : s[i];
        top = block_max(top, partial);
        for (uint32_t i = threadIdx.x; i < S; i += blockDim.x) {
            float logit = s[i] - top, e = dyn_exp(logit);
            sum += e;
            product = dm_fmaf(e, head[H + i], product);
            weighted = dm_fmaf(e, logit < -80.0f ? -80.0f : logit, weighted);
        }
        sum = block_sum(sum, partial);
        u = block_sum(u, partial) + block_sum(product, partial) / sum;
        squares = block_sum(squares, partial);
        weighted = block_sum(weighted, partial);
        float loss = dyn_loss(u);
        x0 = (loss - args.shift[0]) * args.scale[0];
        if (threadIdx.x == 0) {
            uint64_t at = (uint64_t)job * args.steps + t;
            args.loss[at] = loss;
            args.entropy[at] = dyn_log(sum) - weighted / sum;
            args.norm[at] = sqrtf(squares);
        }
    }
    for (uint32_t i = threadIdx.x; i < H; i += blockDim.x)
        args.last[(uint64_t)job * H + i] = h[i];
}
