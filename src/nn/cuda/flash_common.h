/* SPDX-License-Identifier: MIT */
/* flash_common.h - what flash.h and flash90.h share: where a block's tiles lie, and steps of one instruction. */
#ifndef DM_NN_CUDA_FLASH_COMMON_H
#define DM_NN_CUDA_FLASH_COMMON_H

#include "nn/cuda/common.h"

#define LOG2E 1.4426950408889634f

DM_FN float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* The copies to shared memory since the last call are a group. */
DM_FN void copy_commit(void)
{
    asm volatile("cp.async.commit_group;");
}

/* A block's part of one head's T x T square: `rows` rows of one side from `first` on, which it keeps, and the tiles
 * begin..end-1 of the other side, which it walks over. Blocks of a head lie side by side, the longest walk first. */
typedef struct flash_place {
    const uint16_t *q, *k, *v; /* of time 0 */
    uint64_t qkv_stride, y_stride, y_at, rows_at;
    uint32_t tiles,
        tile; /* how many parts a head has, and which one in order of its walk's length */
    uint32_t first, begin, end;
    float scale; /* of a product, for exp2 */
} flash_place;

DM_FN flash_place place_of(const nn_attention_args &args, uint32_t D, uint32_t rows)
{
    flash_place at;
    at.tiles = (args.T + rows - 1) / rows;
    uint32_t head = blockIdx.x / at.tiles, b = head / args.H, h = head % args.H;
    at.tile = blockIdx.x % at.tiles;
    at.y_stride = (uint64_t)args.H * D;
    at.qkv_stride = 3 * at.y_stride;
    at.y_at = (uint64_t)b * args.T * at.y_stride + (uint64_t)h * D;
    at.rows_at = (uint64_t)head * args.T;
    at.q = (const uint16_t *)args.qkv + (uint64_t)b * args.T * at.qkv_stride + (uint64_t)h * D;
    at.k = at.q + at.y_stride;
    at.v = at.k + at.y_stride;
    at.scale = rsqrtf((float)D) * LOG2E;
    return at;
}

/* Queries are kept: tiles of `keys` keys come, up to the last query's. */
DM_FN flash_place queries_of(const nn_attention_args &args, uint32_t D, uint32_t rows,
                             uint32_t keys)
{
    flash_place at = place_of(args, D, rows);
    at.first = (at.tiles - 1 - at.tile) * rows;
    at.begin = 0;
    at.end = (min(at.first + rows, args.T) + keys - 1) / keys;
    return at;
}

/* Keys are kept: tiles of `queries` queries come, from the first key's on. */
DM_FN flash_place keys_of(const nn_attention_args &args, uint32_t D, uint32_t rows,
                          uint32_t queries)
{
    flash_place at = place_of(args, D, rows);
    at.first = at.tile * rows;
    at.begin = at.first / queries;
    at.end = (args.T + queries - 1) / queries;
    return at;
}

#endif
