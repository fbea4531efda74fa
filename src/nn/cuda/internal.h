/* SPDX-License-Identifier: MIT */
/* internal.h - what the files of the CUDA table share: the list of kernels, and the functions that each file
 * gives to the table (table.c). */
#ifndef DM_NN_CUDA_INTERNAL_H
#define DM_NN_CUDA_INTERNAL_H

#include "device/cublaslt.h"
#include "nn/cuda/args.h"
#include "nn/ops.h"
#include "nn/profile.h"

/* K(text, kernel) */
#define NN_KERNELS(K)                                                                              \
    K(linear, product)                                                                             \
    K(linear, columns)                                                                             \
    K(linear, columns_vec)                                                                         \
    K(linear, partials)                                                                            \
    K(linear, bias)                                                                                \
    K(linear, gelu_slope)                                                                          \
    K(norm, norm)                                                                                  \
    K(norm, norm_vec)                                                                              \
    K(norm, norm_backward)                                                                         \
    K(norm, norm_backward_vec)                                                                     \
    K(norm, norm_backward_sums_3)                                                                  \
    K(norm, norm_backward_sums_4)                                                                  \
    K(norm, norm_columns)                                                                          \
    K(norm, norm_columns_vec)                                                                      \
    K(embed, embed)                                                                                \
    K(embed, embed_clear)                                                                          \
    K(embed, embed_count)                                                                          \
    K(embed, embed_scan)                                                                           \
    K(embed, embed_fill)                                                                           \
    K(embed, embed_order)                                                                          \
    K(embed, embed_pieces)                                                                         \
    K(embed, embed_pieces_vec)                                                                     \
    K(embed, embed_join)                                                                           \
    K(embed, embed_positions)                                                                      \
    K(loss, softmax_loss)                                                                          \
    K(loss, softmax_loss_vec)                                                                      \
    K(loss, softmax_loss_kept)                                                                     \
    K(loss, square_loss)                                                                           \
    K(loss, sigmoid_loss)                                                                          \
    K(loss, add)                                                                                   \
    K(loss, blend)                                                                                 \
    K(loss, narrow)                                                                                \
    K(loss, widen)                                                                                 \
    K(loss, gather)                                                                                \
    K(loss, sums)                                                                                  \
    K(loss, sums_parts)                                                                            \
    K(loss, sums_end)                                                                              \
    K(loss, step_control)                                                                          \
    K(loss, convert)                                                                               \
    K(loss, finite)                                                                                \
    K(loss, swap)                                                                                  \
    K(attention, attention)                                                                        \
    K(attention, attention_delta)                                                                  \
    K(attention, attention_dq)                                                                     \
    K(attention, attention_dkv)                                                                    \
    K(flash, flash_32)                                                                             \
    K(flash, flash_dq_32)                                                                          \
    K(flash, flash_dkv_32)                                                                         \
    K(flash, flash_64)                                                                             \
    K(flash, flash_dq_64)                                                                          \
    K(flash, flash_dkv_64)                                                                         \
    K(flash, flash_128)                                                                            \
    K(flash, flash_dq_128)                                                                         \
    K(flash, flash_dkv_128)                                                                        \
    K(flash90, flash90)                                                                            \
    K(flash90, flash90_dq)                                                                         \
    K(flash90, flash90_dkv)                                                                        \
    K(gru, gru)                                                                                    \
    K(gru, gru_backward)                                                                           \
    K(gru, gru_weights)                                                                            \
    K(gru, mingru)                                                                                 \
    K(gru, mingru_backward)                                                                        \
    K(conv, conv)                                                                                  \
    K(conv, conv_slope)                                                                            \
    K(conv, conv_dx)                                                                               \
    K(conv, conv_dw)                                                                               \
    K(conv, pool)                                                                                  \
    K(conv, pool_backward)                                                                         \
    K(conv_cuda, conv_tiled)                                                                       \
    K(conv_cuda, conv_tiled_4)                                                                     \
    K(conv_cuda, conv_tiled_dx)                                                                    \
    K(conv_cuda, conv_tiled_dx_4)                                                                  \
    K(conv_cuda, conv_tiled_dw)                                                                    \
    K(conv_cuda, conv_mma)                                                                         \
    K(conv_cuda, conv_mma_dx)                                                                      \
    K(conv_cuda, conv_mma_dw)

enum {
#define NN_KERNEL_ID(text, name) NN_K_##name,
    NN_KERNELS(NN_KERNEL_ID)
#undef NN_KERNEL_ID
        NN_K_COUNT
};

enum { NN_TEXT_COUNT = 10, NN_SUMS_BLOCKS = 256 };

typedef struct dm_nn_cuda {
    dm_device *device;
    dm_module *modules[NN_TEXT_COUNT];
    dm_function *kernels[NN_K_COUNT];
    dm_device_buffer *parts; /* of nn_sums */
    dm_cublaslt *products;   /* NULL: our own kernels */
    dm_nn_profile *profile;  /* NULL: off */
    bool flash90;            /* flash90.h is there */
    bool conv_mma;           /* conv_mma.h is used */
    char products_text[1100];
} dm_nn_cuda;

/* Queue one kernel on the exec's stream. */
dm_status dm_nn_cuda_launch(dm_nn_exec *e, int kernel, dm_grid grid, const void *args, size_t size,
                            dm_error *err);
/* The blocks of a loop over n items with 256 threads each, at most 4,096. */
dm_grid dm_nn_cuda_loop(uint64_t n);
/* Can rows of `columns` numbers at these addresses be read in pieces of 16 bytes? NULL addresses do
 * not count. */
bool dm_nn_cuda_vectors(const dm_nn_exec *e, uint64_t columns, const void *const *p, size_t count);

#define NN_LAUNCH(e, kernel, grid, args, err)                                                      \
    dm_nn_cuda_launch(e, NN_K_##kernel, grid, args, sizeof *(args), err)

/* Chunks of rows whose columns are summed side by side. */
#define NN_CHUNKS_MAX 128u
static inline uint32_t nn_chunk_rows(uint32_t N)
{
    uint32_t rows = (N + NN_CHUNKS_MAX - 1) / NN_CHUNKS_MAX;
    return rows < 64 ? 64 : rows;
}
static inline uint32_t nn_chunks(uint32_t N)
{
    return (N + nn_chunk_rows(N) - 1) / nn_chunk_rows(N);
}

/* out[O] += the sums of partial[chunks][O], and likewise the second pair unless `out2` is NULL. */
dm_status dm_nn_cuda_partials(dm_nn_exec *e, const nn_partials_args *args, dm_error *err);

/* The fields that arguments of convolutions share, from a dm_nn_conv. */
/* clang-format off */
#define NN_CONV_SIZES(s)                                                                                               \
    .B = (s)->B, .I = (s)->I, .H = (s)->H, .W = (s)->W, .O = (s)->O, .K = (s)->K, .stride = (s)->stride,               \
    .OH = ((s)->H - (s)->K) / (s)->stride + 1, .OW = ((s)->W - (s)->K) / (s)->stride + 1,                              \
    .activation = (uint32_t)(s)->activation, .add_dx = (s)->add_dx
/* clang-format on */

/* conv_tiled.c: convolutions whose images fit in shared memory. `done` is false for others; nothing was queued. */
size_t dm_nn_cuda_tiled_scratch(const dm_nn_exec *e, const dm_nn_conv *s);
dm_status dm_nn_cuda_tiled(dm_nn_exec *e, const dm_nn_conv *s, const void *x, const void *w,
                           const void *b, void *y, bool *done, dm_error *err);
dm_status dm_nn_cuda_tiled_dx(dm_nn_exec *e, const dm_nn_conv *s, const void *w, const void *dy,
                              void *dx, bool *done, dm_error *err);
dm_status dm_nn_cuda_tiled_dw(dm_nn_exec *e, const dm_nn_conv *s, const void *x,
                              const void *results, const void *dy, float *dw, float *db, bool *done,
                              dm_error *err);
/* True when dm_nn_cuda_tiled_dw takes dy before the activation's slope, with the layer's results. */
bool dm_nn_cuda_tiled_takes_results(const dm_nn_exec *e, const dm_nn_conv *s);

/* Each file fills in its functions. */
void dm_nn_cuda_linear_fill(dm_nn_ops *ops);
void dm_nn_cuda_norm_fill(dm_nn_ops *ops);
void dm_nn_cuda_embed_fill(dm_nn_ops *ops);
void dm_nn_cuda_attention_fill(dm_nn_ops *ops);
void dm_nn_cuda_gru_fill(dm_nn_ops *ops);
void dm_nn_cuda_loss_fill(dm_nn_ops *ops);
void dm_nn_cuda_conv_fill(dm_nn_ops *ops);

#endif
