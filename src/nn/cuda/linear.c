/* SPDX-License-Identifier: MIT */
/* linear.c - linear layers on CUDA: cuBLASLt where it takes the shape, else nn_product.
 *
 *     y  = x w^T      dx = dy w      dw += dy^T x      db += the sums of dy's columns */
#include "nn/cuda/internal.h"

#include <stdio.h>

static size_t partials_size(const dm_nn_linear *s)
{
    return (size_t)nn_chunks(s->N) * s->O * sizeof(float);
}

static size_t linear_scratch(const dm_nn_exec *e, const dm_nn_linear *s)
{
    const dm_nn_cuda *state = e->state;
    size_t partials = partials_size(s), work = state->products == NULL ? 0 : DM_CUBLASLT_WORKSPACE;
    return partials > work ? partials : work;
}

dm_status dm_nn_cuda_partials(dm_nn_exec *e, const nn_partials_args *args, dm_error *err)
{
    uint32_t across = (args->O + 31) / 32;
    dm_grid grid = {args->out2 == NULL ? across : 2 * across, 256, 0};
    return NN_LAUNCH(e, partials, grid, args, err);
}

static dm_status own(dm_nn_exec *e, nn_product_args *args, dm_error *err)
{
    uint64_t blocks = (uint64_t)((args->M + 63) / 64) * ((args->N + 63) / 64);
    if (blocks > 0x7FFFFFFF)
        return dm_fail(err, DM_EUNSUPPORTED, "nn: a product of %u x %u is too large", args->M,
                       args->N);
    return NN_LAUNCH(e, product, ((dm_grid){(uint32_t)blocks, 256, 0}), args, err);
}

/* Before a product is measured: its sizes and what it does besides. */
static void measure(const dm_nn_cuda *state, const dm_cublaslt_product *p)
{
    char name[80];
    double m = p->m, n = p->n, k = p->k, element = p->bf16 ? 2 : 4, out = p->d_float ? 4 : element;
    const char *what = p->d_float ? "dw" : p->transpose_a ? "y" : "dx";
    const char *bias = p->bias != NULL ? " + bias" : "", *add = p->add ? " +=" : "";
    const char *gelu = p->gelu_aux != NULL    ? ", GELU"
                       : p->dgelu_aux != NULL ? ", GELU's slope"
                                              : "";
    if (state->profile == NULL)
        return;
    snprintf(name, sizeof name, "product %u x %u x %u %s%s%s%s", p->m, p->n, p->k, what, bias, gelu,
             add);
    dm_nn_profile_begin(state->profile, name, 2 * m * n * k,
                        element * (m * k + k * n) + out * m * n * (p->add ? 2 : 1) +
                            (gelu[0] != '\0' ? element * m * n : 0));
}

/* One product by cuBLASLt; false when it does not take it and nothing was queued. */
static bool by_library(dm_nn_exec *e, const dm_cublaslt_product *product)
{
    const dm_nn_cuda *state = e->state;
    if (state->products == NULL)
        return false;
    measure(state, product);
    dm_status status =
        dm_cublaslt_run(state->products, e->stream, product, e->scratch, e->scratch_size, NULL);
    if (status == DM_OK)
        dm_nn_profile_end(state->profile);
    return status == DM_OK;
}

static dm_status linear(dm_nn_exec *e, const dm_nn_linear *s, const void *x, const void *w,
                        const void *b, void *y, void *pre, dm_error *err)
{
    nn_product_args args = {.a = x,
                            .b = w,
                            .bias = b,
                            .c = y,
                            .pre = pre,
                            .a_row = s->C,
                            .a_column = 1,
                            .b_row = s->C,
                            .b_column = 1,
                            .M = s->N,
                            .N = s->O,
                            .K = s->C,
                            .activation = (uint32_t)s->activation};
    bool fused = s->activation == DM_NN_LINEAR || (s->activation == DM_NN_GELU && pre != NULL) ||
                 s->activation == DM_NN_RELU;
    dm_cublaslt_product product = {.bf16 = e->type == DM_NN_BF16,
                                   .transpose_a = true,
                                   .m = s->O,
                                   .n = s->N,
                                   .k = s->C,
                                   .lda = s->C,
                                   .ldb = s->C,
                                   .a = w,
                                   .b = x,
                                   .d = y,
                                   .bias = fused ? b : NULL};
    product.gelu_aux = fused && s->activation == DM_NN_GELU ? pre : NULL;
    product.relu = fused && s->activation == DM_NN_RELU;
    if (by_library(e, &product)) {
        if (fused)
            return DM_OK;
        return NN_LAUNCH(e, bias, dm_nn_cuda_loop((uint64_t)s->N * s->O), &args, err);
    }
    return own(e, &args, err);
}

static dm_status linear_backward(dm_nn_exec *e, const dm_nn_linear *s, const void *x, const void *w,
                                 const void *y, const void *pre, void *dy, void *dx, void *dw,
                                 void *db, dm_error *err)
{
    bool bf16 = e->type == DM_NN_BF16;
    dm_status status = DM_OK;
    if (s->activation != DM_NN_LINEAR || db != NULL) {
        nn_columns_args args = {.y = y,
                                .pre = pre,
                                .dy = dy,
                                .partial = e->scratch,
                                .N = s->N,
                                .O = s->O,
                                .chunks = nn_chunks(s->N),
                                .chunk_rows = nn_chunk_rows(s->N),
                                .activation = (uint32_t)s->activation};
        bool vectors = dm_nn_cuda_vectors(e, s->O, (const void *[]){y, pre, dy}, 3);
        uint32_t columns = vectors ? (bf16 ? 256 : 128) : 32;
        dm_grid grid = {(s->O + columns - 1) / columns * args.chunks, 256, 0};
        status = vectors ? NN_LAUNCH(e, columns_vec, grid, &args, err)
                         : NN_LAUNCH(e, columns, grid, &args, err);
        nn_partials_args sum = {.partial = e->scratch, .out = db, .chunks = args.chunks, .O = s->O};
        if (status == DM_OK && db != NULL)
            status = dm_nn_cuda_partials(e, &sum, err);
    }
    if (status == DM_OK && dx != NULL) {
        dm_cublaslt_product product = {.bf16 = bf16,
                                       .m = s->C,
                                       .n = s->N,
                                       .k = s->O,
                                       .lda = s->C,
                                       .ldb = s->O,
                                       .a = w,
                                       .b = dy,
                                       .d = dx,
                                       .dgelu_aux = s->dx_pre,
                                       .add = s->add_dx};
        nn_product_args args = {.a = dy,
                                .b = w,
                                .c = dx,
                                .a_row = s->O,
                                .a_column = 1,
                                .b_row = 1,
                                .b_column = s->C,
                                .M = s->N,
                                .N = s->C,
                                .K = s->O,
                                .add = s->add_dx};
        if (!by_library(e, &product)) {
            nn_columns_args slope = {.pre = s->dx_pre, .dy = dx, .N = s->N, .O = s->C};
            status = own(e, &args, err);
            if (status == DM_OK && s->dx_pre != NULL)
                status =
                    NN_LAUNCH(e, gelu_slope, dm_nn_cuda_loop((uint64_t)s->N * s->C), &slope, err);
        }
    }
    if (status == DM_OK && dw != NULL) {
        dm_cublaslt_product product = {.bf16 = bf16,
                                       .transpose_b = true,
                                       .m = s->C,
                                       .n = s->O,
                                       .k = s->N,
                                       .lda = s->C,
                                       .ldb = s->O,
                                       .a = x,
                                       .b = dy,
                                       .d = dw,
                                       .add = true,
                                       .d_float = true};
        nn_product_args args = {.a = dy,
                                .b = x,
                                .c = dw,
                                .a_row = 1,
                                .a_column = s->O,
                                .b_row = 1,
                                .b_column = s->C,
                                .M = s->O,
                                .N = s->C,
                                .K = s->N,
                                .c_float = 1,
                                .add = 1};
        if (!by_library(e, &product))
            status = own(e, &args, err);
    }
    return status;
}

void dm_nn_cuda_linear_fill(dm_nn_ops *ops)
{
    ops->linear_scratch = linear_scratch;
    ops->linear = linear;
    ops->linear_backward = linear_backward;
}
