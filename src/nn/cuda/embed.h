/* SPDX-License-Identifier: MIT */
/* embed.h - sums of token and position vectors, and their gradients in a fixed order: positions are
 * put into a bucket per token, ordered within it by counting, then added one after the other. */
#include "nn/cuda/common.h"

DM_KERNEL(nn_embed, nn_embed_args)
{
    uint64_t n = (uint64_t)args.B * args.T * args.C;
    for (uint64_t i = dm_thread_index(); i < n; i += dm_thread_count()) {
        uint32_t c = i % args.C;
        uint64_t row = i / args.C;
        float x = nn_get(args.token, (uint64_t)args.ids[row] * args.C + c);
        if (args.position != 0)
            x += nn_get(args.position, row % args.T * args.C + c);
        nn_put(args.y, i, x);
    }
}

DM_KERNEL(nn_embed_clear, nn_embed_args)
{
    for (uint64_t i = dm_thread_index(); i < args.V; i += dm_thread_count())
        args.cursor[i] = 0;
}

DM_KERNEL(nn_embed_count, nn_embed_args)
{
    for (uint64_t i = dm_thread_index(); i < (uint64_t)args.B * args.T; i += dm_thread_count())
        atomicAdd(args.cursor + args.ids[i], 1u);
}

/* One block of 1,024 threads: start[v] = the tokens below v; cursor likewise. */
DM_KERNEL(nn_embed_scan, nn_embed_args)
{
    __shared__ uint32_t sums[1024];
    uint32_t each = (args.V + 1023) / 1024, first = threadIdx.x * each;
    uint32_t last = first + each < args.V ? first + each : args.V, total = 0;
    for (uint32_t v = first; v < last; v++)
        total += args.cursor[v];
    sums[threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t sum = 0;
        for (int i = 0; i < 1024; i++) {
            uint32_t x = sums[i];
            sums[i] = sum;
            sum += x;
        }
        args.start[args.V] = sum;
    }
    __syncthreads();
    total = sums[threadIdx.x];
    for (uint32_t v = first; v < last; v++) {
        uint32_t count = args.cursor[v];
        args.start[v] = total;
        args.cursor[v] = total;
        total += count;
    }
}

DM_KERNEL(nn_embed_fill, nn_embed_args)
{
    for (uint64_t i = dm_thread_index(); i < (uint64_t)args.B * args.T; i += dm_thread_count())
        args.list[atomicAdd(args.cursor + args.ids[i], 1u)] = (uint32_t)i;
}

DM_KERNEL(nn_embed_order, nn_embed_args)
{
    for (uint64_t i = dm_thread_index(); i < (uint64_t)args.B * args.T; i += dm_thread_count()) {
        uint32_t at = args.list[i], first = args.start[args.ids[at]], rank = 0;
        for (uint32_t k = first; k < args.start[args.ids[at] + 1]; k++)
            rank += args.list[k] < at;
        args.sorted[first + rank] = at;
    }
}

/* Rows of dy in the order of their tokens, NN_EMBED_PIECE to a block, so that a frequent token is the
 * work of many blocks. A token whose rows lie in one piece is added to dtoken; of one that began in an
 * earlier piece the sum goes to head[piece], of one that begins here and goes on to tail[piece]. */
template <int V> DM_FN void embed_pieces(const nn_embed_args &args)
{
    constexpr int AT_ONCE = 8;
    __shared__ uint32_t rows[NN_EMBED_PIECE], tokens[NN_EMBED_PIECE];
    uint32_t N = args.B * args.T, first = blockIdx.x * NN_EMBED_PIECE;
    uint32_t count = N - first < NN_EMBED_PIECE ? N - first : NN_EMBED_PIECE;
    if (threadIdx.x < count) {
        rows[threadIdx.x] = args.sorted[first + threadIdx.x];
        tokens[threadIdx.x] = (uint32_t)args.ids[rows[threadIdx.x]];
    }
    __syncthreads();
    bool began_before = args.start[tokens[0]] < first;
    bool goes_on = args.start[tokens[count - 1] + 1] > first + count;
    for (uint32_t c = threadIdx.x * V; c < args.C; c += blockDim.x * V) {
        float total[V] = {};
        for (uint32_t k0 = 0; k0 < count; k0 += AT_ONCE) {
            float x[AT_ONCE][V];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                if (k0 + k < count)
                    nn_load<V>(x[k], args.dy, (uint64_t)rows[k0 + k] * args.C + c);
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                uint32_t at = k0 + k;
                if (at >= count)
                    break;
                for (int v = 0; v < V; v++)
                    total[v] += x[k][v];
                if (at + 1 < count && tokens[at + 1] == tokens[at])
                    continue;
                uint64_t piece = (uint64_t)blockIdx.x * args.C + c;
                float *to = args.dtoken + (uint64_t)tokens[at] * args.C + c;
                bool whole = false;
                if (began_before && tokens[at] == tokens[0])
                    to = args.head + piece;
                else if (goes_on && at + 1 == count)
                    to = args.tail + piece;
                else
                    whole = true;
                for (int v = 0; v < V; v++) {
                    to[v] = whole ? to[v] + total[v] : total[v];
                    total[v] = 0;
                }
            }
        }
    }
}

DM_KERNEL_BOUNDS(nn_embed_pieces, nn_embed_args, 128, 4)
{
    embed_pieces<1>(args);
}
DM_KERNEL_BOUNDS(nn_embed_pieces_vec, nn_embed_args, 128, 4)
{
    embed_pieces<NN_VEC>(args);
}

/* A block per piece: the token that begins there and goes on, its pieces in their order. */
DM_KERNEL(nn_embed_join, nn_embed_args)
{
    uint32_t N = args.B * args.T, first = blockIdx.x * NN_EMBED_PIECE,
             next = first + NN_EMBED_PIECE;
    if (next >= N)
        return;
    uint32_t token = (uint32_t)args.ids[args.sorted[next - 1]], end = args.start[token + 1];
    if (end <= next || args.start[token] < first)
        return;
    uint32_t last = (end - 1) / NN_EMBED_PIECE;
    for (uint32_t c = threadIdx.x; c < args.C; c += blockDim.x) {
        float total = args.tail[(uint64_t)blockIdx.x * args.C + c];
#pragma unroll 8
        for (uint32_t piece = blockIdx.x + 1; piece <= last; piece++)
            total += args.head[(uint64_t)piece * args.C + c];
        args.dtoken[(uint64_t)token * args.C + c] += total;
    }
}

DM_KERNEL(nn_embed_positions, nn_embed_args)
{
    uint64_t i = dm_thread_index(), n = (uint64_t)args.T * args.C;
    if (i >= n)
        return;
    float total = 0;
    for (uint32_t b = 0; b < args.B; b++)
        total += nn_get(args.dy, b * n + i);
    args.dposition[i] += total;
}
