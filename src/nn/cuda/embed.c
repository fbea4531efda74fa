/* SPDX-License-Identifier: MIT */
/* embed.c - embeddings on CUDA. */
#include "nn/cuda/internal.h"

static uint32_t pieces(const dm_nn_embed *s)
{
    return (s->B * s->T + NN_EMBED_PIECE - 1) / NN_EMBED_PIECE;
}

static size_t embed_scratch(const dm_nn_exec *e, const dm_nn_embed *s)
{
    (void)e;
    return ((size_t)2 * s->V + 1 + (size_t)2 * s->B * s->T + (size_t)2 * pieces(s) * s->C) *
           sizeof(uint32_t);
}

static dm_status embed(dm_nn_exec *e, const dm_nn_embed *s, const int32_t *ids, const void *token,
                       const void *position, void *y, dm_error *err)
{
    nn_embed_args args = {.ids = ids,
                          .token = token,
                          .position = position,
                          .y = y,
                          .B = s->B,
                          .T = s->T,
                          .C = s->C,
                          .V = s->V};
    return NN_LAUNCH(e, embed, dm_nn_cuda_loop((uint64_t)s->B * s->T * s->C), &args, err);
}

static dm_status embed_backward(dm_nn_exec *e, const dm_nn_embed *s, const int32_t *ids,
                                const void *dy, void *dtoken, void *dposition, dm_error *err)
{
    uint64_t N = (uint64_t)s->B * s->T;
    float *head = e->scratch, *tail = head + (size_t)pieces(s) * s->C;
    uint32_t *start = (uint32_t *)(void *)(tail + (size_t)pieces(s) * s->C),
             *cursor = start + s->V + 1, *list = cursor + s->V;
    nn_embed_args args = {.ids = ids,
                          .dy = dy,
                          .dtoken = dtoken,
                          .dposition = dposition,
                          .start = start,
                          .cursor = cursor,
                          .list = list,
                          .sorted = list + N,
                          .head = head,
                          .tail = tail,
                          .B = s->B,
                          .T = s->T,
                          .C = s->C,
                          .V = s->V};
    dm_status status = DM_OK;
    if (dtoken != NULL) {
        bool vectors = dm_nn_cuda_vectors(e, s->C, (const void *[]){dy}, 1);
        const struct {
            int kernel;
            dm_grid grid;
        } steps[] = {{NN_K_embed_clear, dm_nn_cuda_loop(s->V)},
                     {NN_K_embed_count, dm_nn_cuda_loop(N)},
                     {NN_K_embed_scan, {1, 1024, 0}},
                     {NN_K_embed_fill, dm_nn_cuda_loop(N)},
                     {NN_K_embed_order, dm_nn_cuda_loop(N)},
                     {vectors ? NN_K_embed_pieces_vec : NN_K_embed_pieces, {pieces(s), 128, 0}},
                     {NN_K_embed_join, {pieces(s), 256, 0}}};
        for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == DM_OK; i++)
            status = dm_nn_cuda_launch(e, steps[i].kernel, steps[i].grid, &args, sizeof args, err);
    }
    if (status == DM_OK && dposition != NULL)
        status = NN_LAUNCH(e, embed_positions, dm_grid_for((uint64_t)s->T * s->C, 128), &args, err);
    return status;
}

void dm_nn_cuda_embed_fill(dm_nn_ops *ops)
{
    ops->embed_scratch = embed_scratch;
    ops->embed = embed;
    ops->embed_backward = embed_backward;
}
