/* SPDX-License-Identifier: MIT */
/* gru.c - GRU and MinGRU on CUDA. */
#include "nn/cuda/internal.h"

static size_t gru_scratch(const dm_nn_exec *e, const dm_nn_gru *s)
{
    (void)e, (void)s;
    return 0;
}

static dm_grid sequences(const dm_nn_gru *s, uint32_t arrays)
{
    uint32_t threads = (s->H + 31) / 32 * 32;
    return (dm_grid){s->B, threads > 512 ? 512 : threads, arrays * s->H * (uint32_t)sizeof(float)};
}

static dm_status gru(dm_nn_exec *e, const dm_nn_gru *s, const void *a, const void *u,
                     const void *h0, const uint8_t *starts, void *h, void *tape, dm_error *err)
{
    nn_gru_args args = {.a = a,
                        .u = u,
                        .h0 = h0,
                        .starts = starts,
                        .h = h,
                        .tape = tape,
                        .B = s->B,
                        .T = s->T,
                        .H = s->H};
    return NN_LAUNCH(e, gru, sequences(s, 3), &args, err);
}

static dm_status gru_backward(dm_nn_exec *e, const dm_nn_gru *s, const void *u, const void *h0,
                              const uint8_t *starts, const void *h, const void *tape, void *dh,
                              void *da, void *du, void *dh0, dm_error *err)
{
    nn_gru_args args = {.u = u,
                        .h0 = h0,
                        .starts = starts,
                        .h = (void *)h,
                        .tape = (void *)tape,
                        .dh = dh,
                        .da = da,
                        .du = du,
                        .dh0 = dh0,
                        .B = s->B,
                        .T = s->T,
                        .H = s->H};
    dm_status status = NN_LAUNCH(e, gru_backward, sequences(s, 4), &args, err);
    if (status == DM_OK && du != NULL)
        status = NN_LAUNCH(e, gru_weights, dm_grid_for((uint64_t)3 * s->H * s->H, 128), &args, err);
    return status;
}

static dm_status mingru(dm_nn_exec *e, const dm_nn_mingru *s, const void *a, const void *h0,
                        const uint8_t *starts, void *h, dm_error *err)
{
    nn_gru_args args = {
        .a = a, .h0 = h0, .starts = starts, .h = h, .B = s->B, .T = s->T, .H = s->H};
    return NN_LAUNCH(e, mingru, dm_grid_for((uint64_t)s->B * s->H, 128), &args, err);
}

static dm_status mingru_backward(dm_nn_exec *e, const dm_nn_mingru *s, const void *a,
                                 const void *h0, const uint8_t *starts, const void *h, void *dh,
                                 void *da, void *dh0, dm_error *err)
{
    nn_gru_args args = {.a = a,
                        .h0 = h0,
                        .starts = starts,
                        .h = (void *)h,
                        .dh = dh,
                        .da = da,
                        .dh0 = dh0,
                        .B = s->B,
                        .T = s->T,
                        .H = s->H};
    return NN_LAUNCH(e, mingru_backward, dm_grid_for((uint64_t)s->B * s->H, 128), &args, err);
}

void dm_nn_cuda_gru_fill(dm_nn_ops *ops)
{
    ops->gru_scratch = gru_scratch;
    ops->gru = gru;
    ops->gru_backward = gru_backward;
    ops->mingru = mingru;
    ops->mingru_backward = mingru_backward;
}
