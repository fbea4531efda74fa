/* SPDX-License-Identifier: MIT */
/* kernel_product.h - products of float32 matrices for learning, for the CPU and for CUDA.
 *
 * A block makes one tile of 64 x 64 elements. Chunks of 16 k go through shared memory. A thread
 * owns 4 x 4 elements and adds their products in the order of k, so that a result does not depend
 * on the GPU. On the CPU the code between two barriers runs as a loop over all threads of a block, so
 * that CPU tests check the same indices. */
#ifndef DM_DYNAMICS_KERNEL_PRODUCT_H
#define DM_DYNAMICS_KERNEL_PRODUCT_H

#include "dynamics/device/bptt_args.h"

#define PRODUCT_CHUNK 16
#define PRODUCT_ROW (DM_PRODUCT_TILE + 4) /* padded: columns fall into different banks */
#define PRODUCT_LOADS (DM_PRODUCT_TILE * PRODUCT_CHUNK / DM_PRODUCT_THREADS)

/* A thread's share of a chunk: element (line, k) of 64 lines, zero beyond the matrix. Neighbouring
 * threads read neighbouring addresses for both layouts of the matrix. */
DM_FN void product_load(float tile[PRODUCT_CHUNK][PRODUCT_ROW], const float *from,
                        uint64_t line_stride, uint64_t k_stride, uint64_t lines, uint64_t depth,
                        uint32_t id)
{
    for (uint32_t i = 0; i < PRODUCT_LOADS; i++) {
        uint32_t at = id + i * DM_PRODUCT_THREADS;
        uint32_t k = k_stride == 1 ? at % PRODUCT_CHUNK : at / DM_PRODUCT_TILE;
        uint32_t line = k_stride == 1 ? at / PRODUCT_CHUNK : at % DM_PRODUCT_TILE;
        tile[k][line] = line < lines && k < depth ? from[line * line_stride + k * k_stride] : 0.0f;
    }
}

DM_KERNEL_BOUNDS(dm_bptt_product, dm_product_args, DM_PRODUCT_THREADS, 2)
{
    DM_PHASE_SHARED float left[PRODUCT_CHUNK][PRODUCT_ROW], right[PRODUCT_CHUNK][PRODUCT_ROW];
    float sums[DM_PHASE_OWNERS(DM_PRODUCT_THREADS)][4][4];
    const uint64_t columns = (args.N + DM_PRODUCT_TILE - 1) / DM_PRODUCT_TILE,
                   rows = (args.M + DM_PRODUCT_TILE - 1) / DM_PRODUCT_TILE;
    const uint64_t block = dm_thread_index() / DM_PRODUCT_THREADS;
    const uint64_t member = block / (rows * columns);
    const uint64_t m0 = block / columns % rows * DM_PRODUCT_TILE,
                   n0 = block % columns * DM_PRODUCT_TILE;
    if (!DM_PHASE_LEADS(DM_PRODUCT_THREADS) || member >= args.members)
        return;
    const float *a = args.a + member * args.a_member + m0 * args.a_m,
                *b = args.b + member * args.b_member + n0 * args.b_n;
    for (uint32_t i = 0; i < DM_PHASE_OWNERS(DM_PRODUCT_THREADS) * 16; i++)
        sums[i / 16][i / 4 % 4][i % 4] = 0;
    for (uint64_t k0 = 0; k0 < args.K; k0 += PRODUCT_CHUNK) {
        DM_PHASE_EACH(id, DM_PRODUCT_THREADS)
        {
            product_load(left, a + k0 * args.a_k, args.a_m, args.a_k, args.M - m0, args.K - k0, id);
            product_load(right, b + k0 * args.b_k, args.b_n, args.b_k, args.N - n0, args.K - k0,
                         id);
        }
        DM_PHASE_SYNC();
        DM_PHASE_EACH(id, DM_PRODUCT_THREADS)
        {
            const uint32_t m = id / 16 * 4, n = id % 16 * 4;
            if (m >= args.M - m0 || n >= args.N - n0)
                continue; /* nothing of it is in the matrix */
            for (uint32_t k = 0; k < PRODUCT_CHUNK; k++)
                for (uint32_t i = 0; i < 4; i++)
                    for (uint32_t j = 0; j < 4; j++)
                        sums[DM_PHASE_OWN(id)][i][j] = dm_mul_add(left[k][m + i], right[k][n + j],
                                                                  sums[DM_PHASE_OWN(id)][i][j]);
        }
        DM_PHASE_SYNC();
    }
    DM_PHASE_EACH(id, DM_PRODUCT_THREADS)
    {
        for (uint32_t i = 0; i < 4; i++) {
            uint64_t m = m0 + id / 16 * 4 + i;
            for (uint32_t j = 0; j < 4; j++) {
                uint64_t n = n0 + id % 16 * 4 + j;
                if (m >= args.M || n >= args.N)
                    continue;
                float *c = args.c + member * args.c_member + m * args.c_m + n;
                *c = args.accumulate ? *c + sums[DM_PHASE_OWN(id)][i][j]
                                     : sums[DM_PHASE_OWN(id)][i][j];
            }
        }
    }
}

/* ---- Few rows ----
 * Up to DM_PRODUCT_FEW rows of A: a tile would be mostly empty, and its chunks wait for each other.
 * An element of B is read once for all rows: by a warp per column of C where k lies side by side,
 * by a thread per column otherwise. */

DM_FN float product_warp_sum(float x)
{
    for (uint32_t mask = DM_LANES / 2; mask > 0; mask /= 2)
        x += dm_bits_f32(dm_from_lane(dm_f32_bits(x), dm_lane() ^ mask));
    return x;
}

DM_KERNEL(dm_bptt_product_few, dm_product_args)
{
    uint64_t lanes = 1, lane = 0;
    if (args.b_k == 1) {
        lanes = DM_LANES;
        lane = dm_lane();
    }
    for (uint64_t at = dm_thread_index() / lanes; at < args.members * args.N;
         at += dm_thread_count() / lanes) {
        uint64_t member = at / args.N, n = at % args.N;
        const float *a = args.a + member * args.a_member,
                    *b = args.b + member * args.b_member + n * args.b_n;
        float sums[DM_PRODUCT_FEW];
        for (uint32_t m = 0; m < DM_PRODUCT_FEW; m++)
            sums[m] = 0;
        for (uint64_t k = lane; k < args.K; k += lanes) {
            float weight = b[k * args.b_k];
            for (uint32_t m = 0; m < DM_PRODUCT_FEW; m++)
                if (m < args.M)
                    sums[m] = dm_mul_add(a[m * args.a_m + k * args.a_k], weight, sums[m]);
        }
        for (uint32_t m = 0; m < DM_PRODUCT_FEW; m++) {
            float sum = lanes > 1 ? product_warp_sum(sums[m]) : sums[m];
            float *c = args.c + member * args.c_member + m * args.c_m + n;
            if (m < args.M && lane == 0)
                *c = args.accumulate ? *c + sum : sum;
        }
    }
}

#endif
