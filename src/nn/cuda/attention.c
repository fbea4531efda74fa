/* SPDX-License-Identifier: MIT */
/* attention.c - causal attention on CUDA. */
#include "nn/cuda/internal.h"

#define HEAD_MAX 256 /* numbers of a head: 8 for each lane of a warp */

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
