/* SPDX-License-Identifier: MIT */
/* norm.h - residual and layer norm, a warp per row; the gradients of gain and bias by chunks of
 * rows. */
#include "nn/cuda/common.h"

template <int V> DM_FN void norm(const nn_norm_args &args)
{
    uint32_t lane = threadIdx.x & 31, n = blockIdx.x * 8 + (threadIdx.x >> 5);
    if (n >= args.N)
        return;
    uint64_t row = (uint64_t)n * args.C;
    float total = 0, x[V], r[V], g[V], b[V];
    const void *from = args.x;
    for (uint32_t c = lane * V; c < args.C; c += 32 * V) {
        nn_load<V>(x, args.x, row + c);
        if (args.residual != 0) {
            nn_load<V>(r, args.residual, row + c);
            for (int v = 0; v < V; v++)
                x[v] = nn_round(x[v] + r[v]);
            nn_store<V>(args.sum, row + c, x);
        }
        for (int v = 0; v < V; v++)
            total += x[v];
    }
    if (args.residual != 0)
        from = args.sum; /* each lane reads what it wrote */
    float mean = nn_warp_sum(total) / (float)args.C, squares = 0;
    for (uint32_t c = lane * V; c < args.C; c += 32 * V) {
        nn_load<V>(x, from, row + c);
        for (int v = 0; v < V; v++)
            squares += (x[v] - mean) * (x[v] - mean);
    }
    float rstd = rsqrtf(nn_warp_sum(squares) / (float)args.C + 1e-5f);
    for (uint32_t c = lane * V; c < args.C; c += 32 * V) {
        nn_load<V>(x, from, row + c);
        nn_load<V>(g, args.gain, c);
        nn_load<V>(b, args.bias, c);
        for (int v = 0; v < V; v++)
            x[v] = (x[v] - mean) * rstd * g[v] + b[v];
        nn_store<V>(args.y, row + c, x);
    }
    if (lane == 0) {
        args.mean[n] = mean;
        args.rstd[n] = rstd;
    }
}

template <int V> DM_FN void norm_backward(const nn_norm_args &args)
{
    uint32_t lane = threadIdx.x & 31, n = blockIdx.x * 8 + (threadIdx.x >> 5);
    if (n >= args.N)
        return;
    uint64_t row = (uint64_t)n * args.C;
    float mean = args.mean[n], rstd = args.rstd[n], s1 = 0, s2 = 0, x[V], d[V], g[V], old[V];
    for (uint32_t c = lane * V; c < args.C; c += 32 * V) {
        nn_load<V>(x, args.x, row + c);
        nn_load<V>(d, args.dy, row + c);
        nn_load<V>(g, args.gain, c);
        for (int v = 0; v < V; v++) {
            s1 += d[v] * g[v];
            s2 += d[v] * g[v] * (x[v] - mean) * rstd;
        }
    }
    s1 = nn_warp_sum(s1) / (float)args.C;
    s2 = nn_warp_sum(s2) / (float)args.C;
    for (uint32_t c = lane * V; c < args.C; c += 32 * V) {
        nn_load<V>(x, args.x, row + c);
        nn_load<V>(d, args.dy, row + c);
        nn_load<V>(g, args.gain, c);
        for (int v = 0; v < V; v++)
            x[v] = rstd * (d[v] * g[v] - s1 - (x[v] - mean) * rstd * s2);
        if (args.add_dx) {
            nn_load<V>(old, args.y, row + c);
            for (int v = 0; v < V; v++)
                x[v] += old[v];
        }
        nn_store<V>(args.y, row + c, x);
    }
}

/* partial[chunk][C] of dgain, partial2 of dbias. */
template <int V> DM_FN void norm_columns(const nn_columns_args &args)
{
    __shared__ float room[2][8][32 * V];
    uint32_t across = (args.O + 32 * V - 1) / (32 * V);
    uint32_t chunk = blockIdx.x / across, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t c = (blockIdx.x % across * 32 + lane) * V;
    uint32_t first = chunk * args.chunk_rows;
    uint32_t last = first + args.chunk_rows < args.N ? first + args.chunk_rows : args.N;
    float gain[V] = {}, bias[V] = {};
    if (c < args.O)
        for (uint32_t n = first + warp; n < last; n += 8) {
            float mean = ((const float *)args.mean)[n], rstd = ((const float *)args.rstd)[n], d[V],
                  x[V];
            nn_load<V>(d, args.dy, (uint64_t)n * args.O + c);
            nn_load<V>(x, args.y, (uint64_t)n * args.O + c);
            for (int v = 0; v < V; v++) {
                gain[v] += d[v] * (x[v] - mean) * rstd;
                bias[v] += d[v];
            }
        }
    for (int v = 0; v < V; v++) {
        room[0][warp][lane * V + v] = gain[v];
        room[1][warp][lane * V + v] = bias[v];
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 2 * 32 * V; i += 256) {
        uint32_t which = i / (32 * V), k = i % (32 * V), column = blockIdx.x % across * 32 * V + k;
        float total = 0;
        for (int w = 0; w < 8; w++)
            total += room[which][w][k];
        if (column < args.O)
            (which == 0 ? args.partial : args.partial2)[(uint64_t)chunk * args.O + column] = total;
    }
}

/* Both in one pass over dy and x, for rows of at most 32 * PARTS * NN_VEC numbers: a row lies in a
 * warp's registers, and so do the sums of the warp's columns. A block per chunk of rows. */
template <int PARTS> DM_FN void norm_backward_sums(const nn_norm_args &args)
{
    constexpr int V = NN_VEC;
    __shared__ float room[8][32 * PARTS * V];
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first = blockIdx.x * args.chunk_rows;
    uint32_t last = first + args.chunk_rows < args.N ? first + args.chunk_rows : args.N;
    float gain[PARTS][V] = {}, bias[PARTS][V] = {};
    for (uint32_t n = first + warp; n < last; n += 8) {
        uint64_t row = (uint64_t)n * args.C;
        uint4 xs[PARTS], ds[PARTS], olds[PARTS];
        float mean = args.mean[n], rstd = args.rstd[n], s1 = 0, s2 = 0, x[V], d[V], g[V], old[V];
#pragma unroll
        for (int p = 0; p < PARTS; p++) {
            uint32_t c = (p * 32 + lane) * V;
            xs[p] = ds[p] = olds[p] = make_uint4(0, 0, 0, 0);
            if (c < args.C) {
                xs[p] = *(const uint4 *)((const real *)args.x + row + c);
                ds[p] = *(const uint4 *)((const real *)args.dy + row + c);
                if (args.add_dx)
                    olds[p] = *(const uint4 *)((const real *)args.y + row + c);
            }
        }
#pragma unroll
        for (int p = 0; p < PARTS; p++) {
            uint32_t c = (p * 32 + lane) * V;
            if (c >= args.C)
                continue;
            nn_unpack(x, xs[p]);
            nn_unpack(d, ds[p]);
            nn_load<V>(g, args.gain, c);
#pragma unroll
            for (int v = 0; v < V; v++) {
                float hat = (x[v] - mean) * rstd;
                gain[p][v] += d[v] * hat;
                bias[p][v] += d[v];
                s1 += d[v] * g[v];
                s2 += d[v] * g[v] * hat;
            }
        }
        s1 = nn_warp_sum(s1) / (float)args.C;
        s2 = nn_warp_sum(s2) / (float)args.C;
#pragma unroll
        for (int p = 0; p < PARTS; p++) {
            uint32_t c = (p * 32 + lane) * V;
            if (c >= args.C)
                continue;
            nn_unpack(x, xs[p]);
            nn_unpack(d, ds[p]);
            nn_unpack(old, olds[p]);
            nn_load<V>(g, args.gain, c);
#pragma unroll
            for (int v = 0; v < V; v++)
                x[v] = rstd * (d[v] * g[v] - s1 - (x[v] - mean) * rstd * s2) + old[v];
            nn_store<V>(args.y, row + c, x);
        }
    }
#pragma unroll
    for (int which = 0; which < 2; which++) {
        float *to = (which == 0 ? args.partial : args.partial2) + (uint64_t)blockIdx.x * args.C;
        __syncthreads();
#pragma unroll
        for (int p = 0; p < PARTS; p++)
#pragma unroll
            for (int v = 0; v < V; v++)
                room[warp][(p * 32 + lane) * V + v] = which == 0 ? gain[p][v] : bias[p][v];
        __syncthreads();
        for (uint32_t c = threadIdx.x; c < args.C; c += 256) {
            float total = 0;
            for (int w = 0; w < 8; w++)
                total += room[w][c];
            to[c] = total;
        }
    }
}

DM_KERNEL_BOUNDS(nn_norm_backward_sums_3, nn_norm_args, 256, 2)
{
    norm_backward_sums<3>(args);
}
DM_KERNEL_BOUNDS(nn_norm_backward_sums_4, nn_norm_args, 256, 2)
{
    norm_backward_sums<4>(args);
}
DM_KERNEL_BOUNDS(nn_norm, nn_norm_args, 256, 2)
{
    norm<1>(args);
}
DM_KERNEL_BOUNDS(nn_norm_vec, nn_norm_args, 256, 2)
{
    norm<NN_VEC>(args);
}
DM_KERNEL_BOUNDS(nn_norm_backward, nn_norm_args, 256, 2)
{
    norm_backward<1>(args);
}
DM_KERNEL_BOUNDS(nn_norm_backward_vec, nn_norm_args, 256, 2)
{
    norm_backward<NN_VEC>(args);
}
DM_KERNEL_BOUNDS(nn_norm_columns, nn_columns_args, 256, 2)
{
    norm_columns<1>(args);
}
DM_KERNEL_BOUNDS(nn_norm_columns_vec, nn_columns_args, 256, 2)
{
    norm_columns<NN_VEC>(args);
}
