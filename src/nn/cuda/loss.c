/* SPDX-License-Identifier: MIT */
/* loss.c - losses, sums and rows on CUDA. */
#include "nn/cuda/internal.h"

/* Rows that are long are kept in shared memory, where a multiprocessor has room for two. */
static bool kept_fits(const dm_nn_exec *e, const dm_nn_softmax_loss *s)
{
    enum { LEAST = 2048, BESIDES = 4096 };
    const dm_nn_cuda *state = e->state;
    return e->type == DM_NN_BF16 && s->P >= LEAST &&
           (uint64_t)s->P * 4 + BESIDES <=
               dm_device_get_properties(state->device)->shared_bytes_max;
}

static dm_status softmax_loss(dm_nn_exec *e, const dm_nn_softmax_loss *s, void *logits,
                              const int32_t *target, void *losses, dm_error *err)
{
    nn_loss_args args = {.y = logits,
                         .target = target,
                         .losses = losses,
                         .scale = s->scale,
                         .N = s->N,
                         .V = s->V,
                         .P = s->P};
    dm_grid grid = {s->N, 512, 0}, kept = {s->N, 512, s->P * 2}; /* bytes of bfloat16 */
    bool vectors = dm_nn_cuda_vectors(e, s->P, (const void *[]){logits}, 1);
    if (vectors && kept_fits(e, s))
        return NN_LAUNCH(e, softmax_loss_kept, kept, &args, err);
    if (vectors)
        return NN_LAUNCH(e, softmax_loss_vec, grid, &args, err);
    return NN_LAUNCH(e, softmax_loss, grid, &args, err);
}

static dm_status square_loss(dm_nn_exec *e, const dm_nn_value_loss *s, void *y, const void *target,
                             void *losses, dm_error *err)
{
    nn_loss_args args = {
        .y = y, .target = target, .losses = losses, .scale = s->scale, .N = s->N, .V = s->C};
    return NN_LAUNCH(e, square_loss, ((dm_grid){(s->N + 7) / 8, 256, 0}), &args, err);
}

static dm_status sigmoid_loss(dm_nn_exec *e, const dm_nn_value_loss *s, void *y, const void *target,
                              void *losses, dm_error *err)
{
    nn_loss_args args = {
        .y = y, .target = target, .losses = losses, .scale = s->scale, .N = s->N, .V = s->C};
    return NN_LAUNCH(e, sigmoid_loss, ((dm_grid){(s->N + 7) / 8, 256, 0}), &args, err);
}

static dm_status add(dm_nn_exec *e, uint64_t n, const void *a, const void *b, void *y,
                     dm_error *err)
{
    nn_rows_args args = {.a = a, .b = b, .y = y, .n = n};
    return NN_LAUNCH(e, add, dm_nn_cuda_loop((n + 3) / 4), &args, err);
}

static dm_status blend(dm_nn_exec *e, uint64_t n, double p, const void *a, double q, const void *b,
                       void *y, dm_error *err)
{
    nn_blend_args args = {.a = a, .b = b, .y = y, .n = n, .p = (float)p, .q = (float)q};
    return NN_LAUNCH(e, blend, dm_nn_cuda_loop(n), &args, err);
}

static dm_status narrow(dm_nn_exec *e, uint64_t n, const void *x, const void *sums, void *y,
                        dm_error *err)
{
    nn_rows_args args = {.a = x, .b = sums, .y = y, .n = n};
    return NN_LAUNCH(e, narrow, dm_nn_cuda_loop(n), &args, err);
}

static dm_status widen(dm_nn_exec *e, uint64_t n, double scale, const void *x, void *y,
                       dm_error *err)
{
    nn_blend_args args = {.a = x, .y = y, .n = n, .p = (float)scale};
    return NN_LAUNCH(e, widen, dm_nn_cuda_loop(n), &args, err);
}

static dm_status gather(dm_nn_exec *e, uint32_t N, uint32_t C, const void *x, const int32_t *index,
                        void *y, dm_error *err)
{
    nn_rows_args args = {.a = x, .y = y, .index = index, .n = N, .C = C};
    return NN_LAUNCH(e, gather, dm_nn_cuda_loop((uint64_t)N * C), &args, err);
}

static dm_status sums(dm_nn_exec *e, uint64_t n, const void *x, void *out, dm_error *err)
{
    dm_nn_cuda *state = e->state;
    nn_rows_args args = {.a = x, .y = out, .n = n};
    if (n <= 65536)
        return NN_LAUNCH(e, sums, ((dm_grid){1, 1024, 0}), &args, err);
    args.y = dm_device_buffer_address(state->parts);
    dm_status status = NN_LAUNCH(e, sums_parts, ((dm_grid){NN_SUMS_BLOCKS, 1024, 0}), &args, err);
    nn_rows_args end = {.a = args.y, .y = out, .n = NN_SUMS_BLOCKS};
    return status != DM_OK ? status : NN_LAUNCH(e, sums_end, ((dm_grid){1, 32, 0}), &end, err);
}

void dm_nn_cuda_loss_fill(dm_nn_ops *ops)
{
    ops->softmax_loss = softmax_loss;
    ops->square_loss = square_loss;
    ops->sigmoid_loss = sigmoid_loss;
    ops->add = add;
    ops->blend = blend;
    ops->narrow = narrow;
    ops->widen = widen;
    ops->gather = gather;
    ops->sums = sums;
}
