/* SPDX-License-Identifier: MIT */
/* conv.c - convolution and pooling on CUDA: by conv_tiled.c where images fit in shared memory. */
#include "nn/cuda/internal.h"

static size_t conv_scratch(const dm_nn_exec *e, const dm_nn_conv *s)
{
    return dm_nn_cuda_tiled_scratch(e, s);
}

static nn_conv_args conv_args(const dm_nn_conv *s)
{
    return (nn_conv_args){NN_CONV_SIZES(s)};
}

static dm_status conv(dm_nn_exec *e, const dm_nn_conv *s, const void *x, const void *w,
                      const void *b, void *y, dm_error *err)
{
    nn_conv_args args = conv_args(s);
    args.x = x, args.w = w, args.b = b, args.out = y;
    bool done = false;
    dm_status status = dm_nn_cuda_tiled(e, s, x, w, b, y, &done, err);
    if (status != DM_OK || done)
        return status;
    return NN_LAUNCH(e, conv, dm_nn_cuda_loop((uint64_t)s->B * s->O * args.OH * args.OW), &args,
                     err);
}

static dm_status conv_backward(dm_nn_exec *e, const dm_nn_conv *s, const void *x, const void *w,
                               const void *y, void *dy, void *dx, void *dw, void *db, dm_error *err)
{
    nn_conv_args slope = conv_args(s), args = slope;
    slope.y = y, slope.out = dy;
    args.x = x, args.w = w, args.y = dy, args.out = dx, args.dw = dw, args.db = db;
    dm_status status = DM_OK;
    /* Where nothing else needs the slope, dw's kernel makes it of what it reads. */
    bool in_dw = s->activation != DM_NN_LINEAR && dx == NULL && dw != NULL &&
                 dm_nn_cuda_tiled_takes_results(e, s);
    if (s->activation != DM_NN_LINEAR && !in_dw)
        status = NN_LAUNCH(e, conv_slope,
                           dm_nn_cuda_loop((uint64_t)s->B * s->O * args.OH * args.OW), &slope, err);
    bool done = false;
    if (status == DM_OK && dx != NULL)
        status = dm_nn_cuda_tiled_dx(e, s, w, dy, dx, &done, err);
    if (status == DM_OK && dx != NULL && !done)
        status =
            NN_LAUNCH(e, conv_dx, dm_nn_cuda_loop((uint64_t)s->B * s->I * s->H * s->W), &args, err);
    uint32_t blocks = s->O * s->I * s->K * s->K + (db != NULL ? s->O : 0);
    done = false;
    if (status == DM_OK && dw != NULL)
        status = dm_nn_cuda_tiled_dw(e, s, x, in_dw ? y : NULL, dy, dw, db, &done, err);
    if (status == DM_OK && dw != NULL && !done)
        status = NN_LAUNCH(e, conv_dw, ((dm_grid){blocks, 256, 0}), &args, err);
    return status;
}

static dm_status pool(dm_nn_exec *e, const dm_nn_pool *s, const void *x, void *y, uint8_t *from,
                      dm_error *err)
{
    nn_pool_args args = {
        .x = x, .y = y, .from = from, .B = s->B, .C = s->C, .H = s->H, .W = s->W, .K = s->K};
    return NN_LAUNCH(e, pool,
                     dm_nn_cuda_loop((uint64_t)s->B * s->C * (s->H / s->K) * (s->W / s->K)), &args,
                     err);
}

static dm_status pool_backward(dm_nn_exec *e, const dm_nn_pool *s, const uint8_t *from,
                               const void *dy, void *dx, dm_error *err)
{
    nn_pool_args args = {.x = dy,
                         .y = dx,
                         .from = (uint8_t *)from,
                         .B = s->B,
                         .C = s->C,
                         .H = s->H,
                         .W = s->W,
                         .K = s->K,
                         .add_dx = s->add_dx};
    if (dx == NULL)
        return DM_OK;
    return NN_LAUNCH(e, pool_backward, dm_nn_cuda_loop((uint64_t)s->B * s->C * s->H * s->W), &args,
                     err);
}

void dm_nn_cuda_conv_fill(dm_nn_ops *ops)
{
    ops->conv_scratch = conv_scratch;
    ops->conv = conv;
    ops->conv_backward = conv_backward;
    ops->pool = pool;
    ops->pool_backward = pool_backward;
}
