/* SPDX-License-Identifier: MIT */
/* linear.h - products with any strides (used where cuBLASLt is not), and sums of columns.
 *
 * A block of 256 threads makes 64 x 64 numbers from chunks of 32 columns in shared memory: with
 * bfloat16 8 warps of 16 x 32 on the matrix units, with float 4 x 4 numbers per thread. */
#include "nn/cuda/common.h"

#define TILE 64
#define CHUNK 32
#define PITCH 40

DM_FN void product_store(const nn_product_args &args, uint32_t m, uint32_t n, float x)
{
    if (m >= args.M || n >= args.N)
        return;
    uint64_t at = (uint64_t)m * args.N + n;
    if (args.bias != 0)
        x += nn_get(args.bias, n);
    if (args.pre != 0) {
        x = nn_round(x);
        nn_put(args.pre, at, x);
    }
    x = nn_activate(args.activation, x);
    if (args.c_float) {
        float *c = (float *)args.c;
        c[at] = args.add ? c[at] + x : x;
    } else {
        nn_put(args.c, at, args.add ? nn_get(args.c, at) + x : x);
    }
}

/* Rows first .. first + 63 and columns k .. k + 31 of a matrix; zeros outside. */
DM_FN void product_load(real *to, int row_step, int column_step, const void *from, uint64_t row,
                        uint64_t column, uint32_t first, uint32_t rows, uint32_t k, uint32_t K)
{
    for (int i = threadIdx.x; i < TILE * CHUNK; i += 256) {
        int r = column == 1 ? i / CHUNK : i % TILE, c = column == 1 ? i % CHUNK : i / TILE;
        real v = 0;
        if (first + r < rows && k + c < K)
            v = ((const real *)from)[(first + r) * row + (k + c) * column];
        to[r * row_step + c * column_step] = v;
    }
}

DM_KERNEL_BOUNDS(nn_product, nn_product_args, 256, 2)
{
    uint32_t across = (args.N + TILE - 1) / TILE;
    uint32_t m0 = blockIdx.x / across * TILE, n0 = blockIdx.x % across * TILE;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float acc[4][4] = {};
#if NN_BF16
    __shared__ __align__(16) real a[TILE * PITCH], b[TILE * PITCH];
    int wm = warp % 4 * 16, wn = warp / 4 * 32;
    for (uint32_t k = 0; k < args.K; k += CHUNK) {
        __syncthreads();
        product_load(a, PITCH, 1, args.a, args.a_row, args.a_column, m0, args.M, k, args.K);
        product_load(b, PITCH, 1, args.b, args.b_row, args.b_column, n0, args.N, k, args.K);
        __syncthreads();
#pragma unroll
        for (int s = 0; s < CHUNK; s += 16) {
            uint32_t fa[4], fb[4];
            nn_ldmatrix(fa, a + (wm + lane % 16) * PITCH + s + lane / 16 * 8);
#pragma unroll
            for (int j = 0; j < 2; j++) {
                nn_ldmatrix(fb, b + (wn + j * 16 + lane % 8 + lane / 16 * 8) * PITCH + s +
                                    lane / 8 % 2 * 8);
                nn_mma(acc[2 * j], fa, fb[0], fb[1]);
                nn_mma(acc[2 * j + 1], fa, fb[2], fb[3]);
            }
        }
    }
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++)
            product_store(args, m0 + wm + lane / 4 + i / 2 * 8,
                          n0 + wn + j * 8 + lane % 4 * 2 + i % 2, acc[j][i]);
#else
    __shared__ float a[CHUNK * (TILE + 1)], b[CHUNK * (TILE + 1)];
    int tm = threadIdx.x / 16, tn = threadIdx.x % 16;
    (void)lane, (void)warp;
    for (uint32_t k = 0; k < args.K; k += CHUNK) {
        __syncthreads();
        product_load(a, 1, TILE + 1, args.a, args.a_row, args.a_column, m0, args.M, k, args.K);
        product_load(b, 1, TILE + 1, args.b, args.b_row, args.b_column, n0, args.N, k, args.K);
        __syncthreads();
        for (int s = 0; s < CHUNK; s++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    acc[i][j] += a[s * (TILE + 1) + tm + 16 * i] * b[s * (TILE + 1) + tn + 16 * j];
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            product_store(args, m0 + tm + 16 * i, n0 + tn + 16 * j, acc[i][j]);
#endif
}

/* dy becomes the gradient before the activation, and its columns are summed over a chunk of rows.
 * A block: 8 warps take turns at rows; a lane has V columns. */
template <int V> DM_FN void columns(const nn_columns_args &args)
{
    __shared__ float room[8][32 * V];
    uint32_t across = (args.O + 32 * V - 1) / (32 * V);
    uint32_t chunk = blockIdx.x / across, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t c = (blockIdx.x % across * 32 + lane) * V;
    uint32_t first = chunk * args.chunk_rows;
    uint32_t last = first + args.chunk_rows < args.N ? first + args.chunk_rows : args.N;
    float sum[V] = {};
    if (c < args.O)
        for (uint32_t n = first + warp; n < last; n += 8) {
            uint64_t at = (uint64_t)n * args.O + c;
            float d[V], y[V];
            nn_load<V>(d, args.dy, at);
            if (args.activation != NN_LINEAR) {
                nn_load<V>(y, args.activation == NN_GELU ? args.pre : args.y, at);
                for (int v = 0; v < V; v++)
                    d[v] = nn_round(d[v] * nn_slope(args.activation, y[v], y[v]));
                nn_store<V>(args.dy, at, d);
            }
            for (int v = 0; v < V; v++)
                sum[v] += d[v];
        }
    for (int v = 0; v < V; v++)
        room[warp][lane * V + v] = sum[v];
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 32 * V; i += 256) {
        uint32_t column = blockIdx.x % across * 32 * V + i;
        float total = 0;
        for (int w = 0; w < 8; w++)
            total += room[w][i];
        if (column < args.O)
            args.partial[(uint64_t)chunk * args.O + column] = total;
    }
}

DM_KERNEL_BOUNDS(nn_columns, nn_columns_args, 256, 2)
{
    columns<1>(args);
}

DM_KERNEL_BOUNDS(nn_columns_vec, nn_columns_args, 256, 2)
{
    columns<NN_VEC>(args);
}

/* out[O] += the sum of partial[chunks][O]; blocks from `across` on do the same with the second pair.
 * A block of 256: 32 columns, of which 8 threads each take every eighth chunk. */
DM_KERNEL_BOUNDS(nn_partials, nn_partials_args, 256, 4)
{
    __shared__ float room[8][32];
    uint32_t across = (args.O + 31) / 32, lane = threadIdx.x & 31, part = threadIdx.x >> 5;
    uint32_t c = blockIdx.x % across * 32 + lane;
    const float *from = blockIdx.x < across ? args.partial : args.partial2;
    float *out = blockIdx.x < across ? args.out : args.out2, total = 0;
    if (c < args.O)
#pragma unroll 8
        for (uint32_t i = part; i < args.chunks; i += 8)
            total += from[(uint64_t)i * args.O + c];
    room[part][lane] = total;
    __syncthreads();
    if (part != 0 || c >= args.O)
        return;
#pragma unroll
    for (int i = 1; i < 8; i++)
        total += room[i][lane];
    out[c] += total;
}

/* dy *= the slope of GELU at pre. */
DM_KERNEL(nn_gelu_slope, nn_columns_args)
{
    for (uint64_t i = dm_thread_index(); i < (uint64_t)args.N * args.O; i += dm_thread_count())
        nn_put(args.dy, i, nn_get(args.dy, i) * nn_slope(NN_GELU, 0.0f, nn_get(args.pre, i)));
}

/* In place, where bias and activation were not made by the product: y = act(y + b), pre = y + b. */
DM_KERNEL(nn_bias, nn_product_args)
{
    for (uint64_t i = dm_thread_index(); i < (uint64_t)args.M * args.N; i += dm_thread_count()) {
        float x = nn_get(args.c, i) + (args.bias == 0 ? 0.0f : nn_get(args.bias, i % args.N));
        if (args.pre != 0) {
            x = nn_round(x);
            nn_put(args.pre, i, x);
        }
        nn_put(args.c, i, nn_activate(args.activation, x));
    }
}
