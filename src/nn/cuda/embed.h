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

/* A block per token. */
DM_KERNEL(nn_embed_tokens, nn_embed_args)
{
    uint32_t v = blockIdx.x, first = args.start[v], last = args.start[v + 1];
    if (first == last)
        return;
    for (uint32_t c = threadIdx.x; c < args.C; c += blockDim.x) {
        float total = 0;
#pragma unroll 4
        for (uint32_t k = first; k < last; k++)
            total += nn_get(args.dy, (uint64_t)args.sorted[k] * args.C + c);
        args.dtoken[(uint64_t)v * args.C + c] += total;
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
