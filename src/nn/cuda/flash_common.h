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

/* Which part of the square a block has: one head's tile; those of a head lie side by side, the
 * longest first. */
typedef struct flash_place {
    const uint16_t *q, *k, *v; /* of time 0 */
    uint64_t qkv_stride, y_stride, y_at, rows_at;
    uint32_t tile;
} flash_place;

DM_FN flash_place place_of(const nn_attention_args &args, uint32_t D, uint32_t tiles)
{
    flash_place at;
    uint32_t head = blockIdx.x / tiles, b = head / args.H, h = head % args.H;
    at.tile = blockIdx.x % tiles;
    at.y_stride = (uint64_t)args.H * D;
    at.qkv_stride = 3 * at.y_stride;
    at.y_at = (uint64_t)b * args.T * at.y_stride + (uint64_t)h * D;
    at.rows_at = (uint64_t)head * args.T;
    at.q = (const uint16_t *)args.qkv + (uint64_t)b * args.T * at.qkv_stride + (uint64_t)h * D;
    at.k = at.q + at.y_stride;
    at.v = at.k + at.y_stride;
    return at;
}

#endif
