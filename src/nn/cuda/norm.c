/* SPDX-License-Identifier: MIT */
/* norm.c - residual and layer norm on CUDA. */
#include "nn/cuda/internal.h"

/* Rows of a chunk of norm_backward_sums_*: 256 chunks are two blocks for most multiprocessors of a large GPU. */
static uint32_t sums_rows(uint32_t N)
{
    enum { CHUNKS = 256, LEAST = 32 };
    uint32_t rows = (N + CHUNKS - 1) / CHUNKS;
    return rows < LEAST ? LEAST : rows;
}

static size_t norm_scratch(const dm_nn_exec *e, const dm_nn_norm *s)
{
    uint32_t chunks = nn_chunks(s->N), more = (s->N + sums_rows(s->N) - 1) / sums_rows(s->N);
    (void)e;
    return (size_t)2 * (chunks > more ? chunks : more) * s->C * sizeof(float);
}

/* dx, dgain and dbias in one pass, where dgain and dbias are wanted and a row fits into a warp's registers. */
static dm_status backward_sums(dm_nn_exec *e, const dm_nn_norm *s, nn_norm_args *args, void *dgain,
                               void *dbias, dm_error *err)
{
    uint32_t part = 32 * (e->type == DM_NN_BF16 ? 8 : 4), rows = sums_rows(s->N);
    uint32_t chunks = (s->N + rows - 1) / rows;
    args->partial = e->scratch;
    args->partial2 = args->partial + (size_t)chunks * s->C;
    args->chunk_rows = rows;
    nn_partials_args sums = {.partial = args->partial,
                             .partial2 = args->partial2,
                             .out = dgain,
                             .out2 = dbias,
                             .chunks = chunks,
                             .O = s->C};
    dm_grid grid = {chunks, 256, 0};
    dm_status status = s->C <= 3 * part ? NN_LAUNCH(e, norm_backward_sums_3, grid, args, err)
                                        : NN_LAUNCH(e, norm_backward_sums_4, grid, args, err);
    return status != DM_OK ? status : dm_nn_cuda_partials(e, &sums, err);
}

static dm_status norm(dm_nn_exec *e, const dm_nn_norm *s, const void *x, const void *residual,
                      const void *gain, const void *bias, void *sum, void *y, void *mean,
                      void *rstd, dm_error *err)
{
    nn_norm_args args = {.x = x,
                         .residual = residual,
                         .gain = gain,
                         .bias = bias,
                         .sum = sum,
                         .y = y,
                         .mean = mean,
                         .rstd = rstd,
                         .N = s->N,
                         .C = s->C};
    dm_grid grid = {(s->N + 7) / 8, 256, 0};
    if (dm_nn_cuda_vectors(e, s->C, (const void *[]){x, residual, gain, bias, sum, y}, 6))
        return NN_LAUNCH(e, norm_vec, grid, &args, err);
    return NN_LAUNCH(e, norm, grid, &args, err);
}

static dm_status norm_backward(dm_nn_exec *e, const dm_nn_norm *s, const void *sum,
                               const void *gain, const void *mean, const void *rstd, const void *dy,
                               void *dx, void *dgain, void *dbias, dm_error *err)
{
    uint32_t chunks = nn_chunks(s->N);
    float *partial = e->scratch, *partial2 = partial + (size_t)chunks * s->C;
    nn_columns_args columns = {.y = sum,
                               .mean = mean,
                               .rstd = rstd,
                               .dy = (void *)dy,
                               .partial = partial,
                               .partial2 = partial2,
                               .N = s->N,
                               .O = s->C,
                               .chunks = chunks,
                               .chunk_rows = nn_chunk_rows(s->N)};
    nn_norm_args args = {.x = sum,
                         .gain = gain,
                         .dy = dy,
                         .y = dx,
                         .mean = (float *)mean,
                         .rstd = (float *)rstd,
                         .N = s->N,
                         .C = s->C,
                         .add_dx = s->add_dx};
    bool vectors = dm_nn_cuda_vectors(e, s->C, (const void *[]){sum, gain, dy, dx}, 4);
    if (vectors && dx != NULL && dgain != NULL && dbias != NULL &&
        s->C <= 4 * 32 * (e->type == DM_NN_BF16 ? 8u : 4u))
        return backward_sums(e, s, &args, dgain, dbias, err);
    uint32_t wide = vectors ? (e->type == DM_NN_BF16 ? 256 : 128) : 32;
    dm_grid grid = {(s->C + wide - 1) / wide * chunks, 256, 0}, rows = {(s->N + 7) / 8, 256, 0};
    dm_status status = vectors ? NN_LAUNCH(e, norm_columns_vec, grid, &columns, err)
                               : NN_LAUNCH(e, norm_columns, grid, &columns, err);
    nn_partials_args sums = {.partial = partial,
                             .partial2 = partial2,
                             .out = dgain,
                             .out2 = dbias,
                             .chunks = chunks,
                             .O = s->C};
    if (dgain == NULL) {
        sums.partial = partial2;
        sums.out = dbias;
        sums.out2 = NULL;
    }
    if (status == DM_OK && sums.out != NULL)
        status = dm_nn_cuda_partials(e, &sums, err);
    if (status == DM_OK && dx != NULL)
        status = vectors ? NN_LAUNCH(e, norm_backward_vec, rows, &args, err)
                         : NN_LAUNCH(e, norm_backward, rows, &args, err);
    return status;
}

void dm_nn_cuda_norm_fill(dm_nn_ops *ops)
{
    ops->norm_scratch = norm_scratch;
    ops->norm = norm;
    ops->norm_backward = norm_backward;
}
