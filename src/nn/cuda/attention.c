/* SPDX-License-Identifier: MIT */
/* attention.c - causal attention on CUDA: flash90.h or flash.h where they fit, else attention.h. */
#include "nn/cuda/internal.h"

#define HEAD_MAX 256 /* numbers of a head: 8 for each lane of a warp */

/* The instances of flash.h: FLASH(D, MT, KEYS) there. */
typedef struct flash_kind {
    uint32_t D, rows, keys; /* of a head; of a block's tile; of a streamed tile */
    int forward, dq, dkv;
} flash_kind;

static const flash_kind flash_kinds[] = {
    {32, 128, 64, NN_K_flash_32, NN_K_flash_dq_32, NN_K_flash_dkv_32},
    {64, 128, 64, NN_K_flash_64, NN_K_flash_dq_64, NN_K_flash_dkv_64},
    {128, 64, 32, NN_K_flash_128, NN_K_flash_dq_128, NN_K_flash_dkv_128},
};

/* The instance that fits, NULL: attention.h does it. */
static const flash_kind *flash_of(const dm_nn_exec *e, const dm_nn_attention *s,
                                  const void *const *addresses, size_t count)
{
    if (e->type != DM_NN_BF16 || !dm_nn_cuda_vectors(e, s->C, addresses, count))
        return NULL;
    for (size_t i = 0; i < sizeof flash_kinds / sizeof *flash_kinds; i++)
        if (flash_kinds[i].D * s->H == s->C)
            return &flash_kinds[i];
    return NULL;
}

/* A block per tile of each head, with so many rows of shared memory. */
static dm_grid flash_grid(const flash_kind *kind, const dm_nn_attention *s, uint32_t shared_rows)
{
    uint32_t tiles = (s->T + kind->rows - 1) / kind->rows;
    return (dm_grid){s->B * s->H * tiles, 128, shared_rows * (kind->D + 8) * 2};
}

/* Warpgroups of the blocks of flash90.h. */
enum { FLASH90_HEAD = 64, FLASH90_GROUPS = 2, FLASH90_DKV_GROUPS = 3 };

static bool flash90_fits(const dm_nn_exec *e, const flash_kind *kind)
{
    return ((const dm_nn_cuda *)e->state)->flash90 && kind->D == FLASH90_HEAD;
}

/* Shared memory: for each warpgroup `tiles` resident tiles of 64 rows, and six streamed ones; 1,024 bytes to align. */
static dm_grid flash90_grid(const dm_nn_attention *s, uint32_t groups, uint32_t tiles)
{
    uint32_t blocks = s->B * s->H * ((s->T + 64 * groups - 1) / (64 * groups));
    return (dm_grid){blocks, 128 * groups, (tiles * groups + 6) * 64 * FLASH90_HEAD * 2 + 1024};
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static size_t attention_scratch(const dm_nn_exec *e, const dm_nn_attention *s)
{
    (void)e;
    return (size_t)s->B * s->H * s->T * sizeof(float);
}

static dm_status check(const dm_nn_attention *s, dm_error *err)
{
    if (s->C / s->H > HEAD_MAX)
        return dm_fail(err, DM_EUNSUPPORTED,
                       "nn: attention heads have at most %d numbers on CUDA, not %u", HEAD_MAX,
                       s->C / s->H);
    return DM_OK;
}

static dm_grid rows(const dm_nn_attention *s)
{
    return dm_grid_for((uint64_t)s->B * s->H * s->T * 32, 128);
}

static dm_status attention(dm_nn_exec *e, const dm_nn_attention *s, const void *qkv, void *y,
                           void *lse, dm_error *err)
{
    nn_attention_args args = {
        .qkv = qkv, .out = y, .lse = lse, .B = s->B, .T = s->T, .H = s->H, .D = s->C / s->H};
    const flash_kind *kind = flash_of(e, s, (const void *[]){qkv, y}, 2);
    if (kind && flash90_fits(e, kind))
        return NN_LAUNCH(e, flash90, flash90_grid(s, FLASH90_GROUPS, 1), &args, err);
    if (kind)
        return dm_nn_cuda_launch(e, kind->forward,
                                 flash_grid(kind, s, larger(kind->rows, 4 * kind->keys)), &args,
                                 sizeof args, err);
    dm_status status = check(s, err);
    return status != DM_OK ? status : NN_LAUNCH(e, attention, rows(s), &args, err);
}

static dm_status attention_backward(dm_nn_exec *e, const dm_nn_attention *s, const void *qkv,
                                    const void *y, const void *lse, const void *dy, void *dqkv,
                                    dm_error *err)
{
    nn_attention_args args = {.qkv = qkv,
                              .y = y,
                              .dy = dy,
                              .out = dqkv,
                              .lse = (float *)lse,
                              .delta = e->scratch,
                              .B = s->B,
                              .T = s->T,
                              .H = s->H,
                              .D = s->C / s->H};
    const flash_kind *kind = flash_of(e, s, (const void *[]){qkv, y, dy, dqkv}, 4);
    if (kind && flash90_fits(e, kind)) {
        dm_status first = NN_LAUNCH(e, flash90_dq, flash90_grid(s, FLASH90_GROUPS, 2), &args, err);
        return first != DM_OK
                   ? first
                   : NN_LAUNCH(e, flash90_dkv, flash90_grid(s, FLASH90_DKV_GROUPS, 2), &args, err);
    }
    if (kind) {
        uint32_t shared = larger(2 * kind->rows, 4 * kind->keys);
        dm_status first =
            dm_nn_cuda_launch(e, kind->dq, flash_grid(kind, s, shared), &args, sizeof args, err);
        shared = 2 * kind->rows + 4 * kind->keys;
        return first != DM_OK ? first
                              : dm_nn_cuda_launch(e, kind->dkv, flash_grid(kind, s, shared), &args,
                                                  sizeof args, err);
    }
    dm_status status = check(s, err);
    if (status == DM_OK)
        status = NN_LAUNCH(e, attention_delta, rows(s), &args, err);
    if (status == DM_OK)
        status = NN_LAUNCH(e, attention_dq, rows(s), &args, err);
    return status != DM_OK ? status : NN_LAUNCH(e, attention_dkv, rows(s), &args, err);
}

void dm_nn_cuda_attention_fill(dm_nn_ops *ops)
{
    ops->attention_scratch = attention_scratch;
    ops->attention = attention;
    ops->attention_backward = attention_backward;
}
