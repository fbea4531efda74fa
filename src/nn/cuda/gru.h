/* SPDX-License-Identifier: MIT */
/* gru.h - recurrent layers over T steps: a block per sequence; MinGRU: a thread per unit. */
#include "nn/cuda/common.h"

extern __shared__ float gru_memory[]; /* arrays of H floats */

DM_FN bool starts_at(const nn_gru_args &args, uint32_t b, uint32_t t)
{
    return args.starts != 0 && args.starts[(uint64_t)b * args.T + t] != 0;
}

/* The state before step t, as it was stored. */
DM_FN float before(const nn_gru_args &args, uint32_t b, uint32_t t, uint32_t j)
{
    if (starts_at(args, b, t) || (t == 0 && args.h0 == 0))
        return 0;
    return t == 0 ? nn_get(args.h0, (uint64_t)b * args.H + j)
                  : nn_get(args.h, ((uint64_t)b * args.T + t - 1) * args.H + j);
}

DM_FN float row_dot(const void *u, uint64_t row, const float *x, uint32_t H)
{
    float sum = 0;
    for (uint32_t k = 0; k < H; k++)
        sum += nn_get(u, row * H + k) * x[k];
    return sum;
}

DM_KERNEL(nn_gru, nn_gru_args)
{
    uint32_t b = blockIdx.x, H = args.H;
    float *h = gru_memory, *rh = h + H, *z = rh + H;
    for (uint32_t t = 0; t < args.T; t++) {
        uint64_t at = (uint64_t)b * args.T + t;
        for (uint32_t j = threadIdx.x; j < H; j += blockDim.x)
            h[j] = before(args, b, t, j);
        __syncthreads();
        for (uint32_t j = threadIdx.x; j < H; j += blockDim.x) {
            z[j] = nn_round(nn_sigmoid(nn_get(args.a, at * 3 * H + j) + row_dot(args.u, j, h, H)));
            float r = nn_round(
                nn_sigmoid(nn_get(args.a, at * 3 * H + H + j) + row_dot(args.u, H + j, h, H)));
            rh[j] = r * h[j];
            nn_put(args.tape, at * 3 * H + j, z[j]);
            nn_put(args.tape, at * 3 * H + H + j, r);
        }
        __syncthreads();
        for (uint32_t j = threadIdx.x; j < H; j += blockDim.x) {
            float n = nn_round(
                tanhf(nn_get(args.a, at * 3 * H + 2 * H + j) + row_dot(args.u, 2 * H + j, rh, H)));
            nn_put(args.tape, at * 3 * H + 2 * H + j, n);
            nn_put(args.h, at * H + j, (1.0f - z[j]) * h[j] + z[j] * n);
        }
        __syncthreads();
    }
}

DM_KERNEL(nn_gru_backward, nn_gru_args)
{
    uint32_t b = blockIdx.x, H = args.H;
    float *carry = gru_memory, *az = carry + H, *ar = az + H, *an = ar + H;
    for (uint32_t j = threadIdx.x; j < H; j += blockDim.x)
        carry[j] = 0;
    for (uint32_t t = args.T; t-- > 0;) {
        uint64_t at = (uint64_t)b * args.T + t, tape = at * 3 * H;
        for (uint32_t j = threadIdx.x; j < H; j += blockDim.x) {
            float z = nn_get(args.tape, tape + j), n = nn_get(args.tape, tape + 2 * H + j);
            float d = nn_get(args.dh, at * H + j) + carry[j], h = before(args, b, t, j);
            az[j] = d * (n - h) * z * (1.0f - z);
            an[j] = d * z * (1.0f - n * n);
            carry[j] = d * (1.0f - z);
            nn_put(args.da, tape + j, az[j]);
            nn_put(args.da, tape + 2 * H + j, an[j]);
        }
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < H; k += blockDim.x) {
            float r = nn_get(args.tape, tape + H + k), d = 0;
            for (uint32_t j = 0; j < H; j++)
                d += nn_get(args.u, (uint64_t)(2 * H + j) * H + k) * an[j];
            ar[k] = d * before(args, b, t, k) * r * (1.0f - r);
            carry[k] += d * r;
            nn_put(args.da, tape + H + k, ar[k]);
        }
        __syncthreads();
        bool start = starts_at(args, b, t);
        for (uint32_t k = threadIdx.x; k < H; k += blockDim.x) {
            float d = carry[k];
            for (uint32_t j = 0; j < H; j++)
                d += nn_get(args.u, (uint64_t)j * H + k) * az[j] +
                     nn_get(args.u, (uint64_t)(H + j) * H + k) * ar[j];
            carry[k] = start ? 0.0f : d;
        }
        __syncthreads();
    }
    if (args.dh0 != 0)
        for (uint32_t j = threadIdx.x; j < H; j += blockDim.x)
            nn_put(args.dh0, (uint64_t)b * H + j, carry[j]);
}

/* du[3H][H] += da^T (h before), with r h for the last third; a thread per number. */
DM_KERNEL(nn_gru_weights, nn_gru_args)
{
    uint64_t i = dm_thread_index();
    uint32_t H = args.H, row = (uint32_t)(i / H), k = (uint32_t)(i % H);
    if (row >= 3 * H)
        return;
    float total = 0;
    for (uint32_t b = 0; b < args.B; b++)
        for (uint32_t t = 0; t < args.T; t++) {
            uint64_t at = ((uint64_t)b * args.T + t) * 3 * H;
            float h = before(args, b, t, k);
            if (row >= 2 * H)
                h *= nn_get(args.tape, at + H + k);
            total += nn_get(args.da, at + row) * h;
        }
    args.du[i] += total;
}

DM_KERNEL(nn_mingru, nn_gru_args)
{
    uint64_t i = dm_thread_index();
    uint32_t H = args.H, b = (uint32_t)(i / H), j = (uint32_t)(i % H);
    if (b >= args.B)
        return;
    for (uint32_t t = 0; t < args.T; t++) {
        uint64_t at = (uint64_t)b * args.T + t;
        float z = nn_sigmoid(nn_get(args.a, at * 2 * H + j)),
              n = nn_get(args.a, at * 2 * H + H + j);
        nn_put(args.h, at * H + j, (1.0f - z) * before(args, b, t, j) + z * n);
    }
}

DM_KERNEL(nn_mingru_backward, nn_gru_args)
{
    uint64_t i = dm_thread_index();
    uint32_t H = args.H, b = (uint32_t)(i / H), j = (uint32_t)(i % H);
    if (b >= args.B)
        return;
    float carry = 0;
    for (uint32_t t = args.T; t-- > 0;) {
        uint64_t at = (uint64_t)b * args.T + t;
        float z = nn_sigmoid(nn_get(args.a, at * 2 * H + j)),
              n = nn_get(args.a, at * 2 * H + H + j);
        float d = nn_get(args.dh, at * H + j) + carry;
        nn_put(args.da, at * 2 * H + j, d * (n - before(args, b, t, j)) * z * (1.0f - z));
        nn_put(args.da, at * 2 * H + H + j, d * z);
        carry = starts_at(args, b, t) ? 0.0f : d * (1.0f - z);
    }
    if (args.dh0 != 0)
        nn_put(args.dh0, i, carry);
}
