/* SPDX-License-Identifier: MIT */
/* product_mma.h - products of floats on the matrix units, as conv_mma.h makes them: three of tf32.
 *
 *     c[M][N] = act(a b + bias), or c += a b; a block 128 x 64 of it, eight warps of 32 x 32, 32 columns of K at a time
 *
 * Pieces of a and b are on their way to shared memory while others are multiplied. Either may lie along its rows or
 * along K. Rows of a piece are four or eight words longer than they need to be, so that a fragment's lanes read from
 * different banks. With `splits` K is shared out to blocks, each with a c of its own. */

#include "nn/cuda/product_size.h"

/* Where element (row, k) of a piece is. */
DM_FN uint32_t nn_product_place(const bool along_k, uint32_t rows, uint32_t row, uint32_t k)
{
    return along_k ? row * (NN_PRODUCT_K + 4u) + k : k * (rows + 8u) + row;
}

/* Rows row .., columns k .. of a matrix whose rows (or columns, if not along_k) lie `stride` apart; 16 bytes a time. */
DM_FN void nn_product_fetch(float *to, const void *from, uint64_t stride, const bool along_k,
                            uint32_t rows, uint64_t row, uint64_t k)
{
    const uint32_t across = along_k ? NN_PRODUCT_K / 4u : rows / 4u;
    for (uint32_t i = DM_BLOCK_THREAD; i < rows * NN_PRODUCT_K / 4u; i += NN_PRODUCT_THREADS) {
        const uint32_t line = i / across, at = (i - line * across) * 4u;
        const uint64_t source =
            along_k ? (row + line) * stride + k + at : (k + line) * stride + row + at;
        nn_copy_ahead(to + (along_k ? nn_product_place(true, rows, line, at)
                                    : nn_product_place(false, rows, at, line)),
                      (const float *)from + source);
    }
}

DM_FN void nn_product_piece(const nn_product_args *s, const bool a_along, const bool b_along,
                            uint64_t row, uint64_t column, uint64_t k, uint32_t stage)
{
    float *to = nn_conv_memory + stage * NN_PRODUCT_STAGE;
    nn_product_fetch(to, s->a, a_along ? s->a_row : s->a_column, a_along, NN_PRODUCT_M, row, k);
    nn_product_fetch(to + NN_PRODUCT_A, s->b, b_along ? s->b_row : s->b_column, b_along,
                     NN_PRODUCT_N, column, k);
}

DM_FN void nn_product_tiles(const nn_product_args *s, const bool a_along, const bool b_along)
{
    const uint32_t lane = DM_BLOCK_THREAD % 32u, g = lane / 4u, t = lane % 4u;
    const uint32_t warp_row = DM_BLOCK_THREAD / 32u % 4u * 32u;
    const uint32_t warp_column = DM_BLOCK_THREAD / 128u * 32u;
    const uint32_t block = (uint32_t)(dm_thread_index() / DM_BLOCK_THREADS);
    const uint32_t across = s->N / NN_PRODUCT_N, down = s->M / NN_PRODUCT_M;
    const uint32_t split = block / (across * down), tile = block - split * (across * down);
    const uint64_t row = (uint64_t)(tile / across) * NN_PRODUCT_M;
    const uint64_t column = (uint64_t)(tile % across) * NN_PRODUCT_N;
    const uint64_t first = (uint64_t)split * (s->K / s->splits);
    const uint32_t steps = s->K / s->splits / NN_PRODUCT_K;
    float d[8][4];
    NN_UNROLL
    for (int i = 0; i < 8; i++)
        NN_UNROLL
    for (int k = 0; k < 4; k++)
        d[i][k] = 0.0f;
    for (uint32_t i = 0; i + 1u < NN_PRODUCT_STAGES; i++) {
        if (i < steps)
            nn_product_piece(s, a_along, b_along, row, column, first + i * NN_PRODUCT_K, i);
        nn_copy_mark();
    }
    for (uint32_t step = 0; step < steps; step++) {
        const uint32_t ahead = step + NN_PRODUCT_STAGES - 1u;
        const float *pa = nn_conv_memory + step % NN_PRODUCT_STAGES * NN_PRODUCT_STAGE;
        const float *pb = pa + NN_PRODUCT_A;
        nn_copy_wait(); /* all but the last mark's */
        dm_block_sync();
        if (ahead < steps)
            nn_product_piece(s, a_along, b_along, row, column,
                             first + (uint64_t)ahead * NN_PRODUCT_K, ahead % NN_PRODUCT_STAGES);
        nn_copy_mark();
        NN_UNROLL
        for (uint32_t k0 = 0; k0 < NN_PRODUCT_K; k0 += 8u) {
            float a[2][2][4], b[4][2][2];
            NN_UNROLL
            for (uint32_t i = 0; i < 2u; i++)
                NN_UNROLL
            for (uint32_t k = 0; k < 4u; k++) {
                const float x =
                    pa[nn_product_place(a_along, NN_PRODUCT_M, warp_row + 16u * i + g + k % 2u * 8u,
                                        k0 + t + k / 2u * 4u)];
                a[i][0][k] = nn_upper(x);
                a[i][1][k] = x - a[i][0][k];
            }
            NN_UNROLL
            for (uint32_t n = 0; n < 4u; n++)
                NN_UNROLL
            for (uint32_t k = 0; k < 2u; k++) {
                const float x = pb[nn_product_place(b_along, NN_PRODUCT_N, warp_column + 8u * n + g,
                                                    k0 + t + k * 4u)];
                b[n][0][k] = nn_upper(x);
                b[n][1][k] = x - b[n][0][k];
            }
            nn_mma_tiles(d, 2, 4, a, b, false, false);
        }
    }
    float *c = (float *)s->c + (uint64_t)split * s->M * s->N;
    NN_UNROLL
    for (uint32_t i = 0; i < 4u; i++)
        NN_UNROLL
    for (uint32_t n = 0; n < 4u; n++)
        NN_UNROLL
    for (uint32_t k = 0; k < 2u; k++) {
        const uint64_t m = row + warp_row + 8u * i + g,
                       o = column + warp_column + 8u * n + 2u * t + k;
        float x = d[i / 2u * 4u + n][i % 2u * 2u + k];
        if (s->bias != 0)
            x += ((const float *)s->bias)[o];
        x = nn_activate(s->activation, x);
        c[m * s->N + o] = s->add ? c[m * s->N + o] + x : x;
    }
}

DM_KERNEL_BOUNDS(nn_product_mma, nn_product_args, 256u, 2)
{
    if (args.a_column == 1u && args.b_column == 1u)
        nn_product_tiles(&args, true, true);
    else if (args.a_column == 1u)
        nn_product_tiles(&args, true, false);
    else
        nn_product_tiles(&args, false, false);
}
