/* SPDX-License-Identifier: MIT */
/* args.h - the argument blocks of the CUDA kernels; both the host and the kernels include it.
 * `void *` is the exec's type, float or bfloat16. */
#ifndef DM_NN_CUDA_ARGS_H
#define DM_NN_CUDA_ARGS_H

#include "base/port.h"

/* c[M][N] = act(sum over k of a(m, k) b(n, k) + bias[N]); element (i, k) lies at i * row + k *
 * column. */
typedef struct nn_product_args {
    const void *a, *b, *bias;
    void *c, *pre;
    uint64_t a_row, a_column, b_row, b_column;
    uint32_t M, N, K, activation;
    uint32_t c_float, add; /* c is float; add to it */
} nn_product_args;

/* dy[N][O] *= act'; partial[chunks][O] = the sums of columns over each chunk of rows. */
typedef struct nn_columns_args {
    const void *y, *pre, *mean, *rstd;
    void *dy;
    float *partial, *partial2;
    uint32_t N, O, chunks, chunk_rows, activation;
} nn_columns_args;

typedef struct nn_partials_args {
    const float *partial, *partial2;
    float *out, *out2;
    uint32_t chunks, O;
} nn_partials_args;

typedef struct nn_conv_args {
    const void *x, *w, *b, *y;
    void *out; /* y, dx */
    float *dw, *db;
    uint32_t B, I, H, W, O, K, stride, OH, OW, activation, add_dx;
} nn_conv_args;

/* A division by multiplying: n / by is the high word of n * magic, for n * by < 2^32; magic 0: by 1. */
typedef struct nn_divisor {
    uint32_t by, magic;
} nn_divisor;

/* conv_tiled.h: `tiles` of 16 channels; `group` samples at a time (dw: of a chunk), `groups` times; images lie in rows
 * of `row` = stride * Wp words, Wp = ceil(W / stride). */
typedef struct nn_conv_tiled_args {
    const void *x, *w, *b, *y;
    void *out;      /* y, dx */
    float *dw, *db; /* of each chunk */
    const void
        *results; /* conv_mma.h's dw: y is what comes before the activation's slope, at these */
    uint32_t B, I, H, W, O, K, stride, OH, OW, activation, add_dx;
    uint32_t Wp, row, tiles, group, groups, item_blocks;
    const int32_t *rows; /* packed: x has sample rows[b] at place b; NULL: b */
    uint32_t packed; /* x is bytes of four pixels each, the leftmost lowest: 0 to 3 are 0 to 1 */
    nn_divisor of_W, of_stride, of_P, of_OW, of_Q, of_Wp, of_pitch, of_eights, of_words;
} nn_conv_tiled_args;

typedef struct nn_pool_args {
    const void *x;
    void *y;
    uint8_t *from;
    uint32_t B, C, H, W, K, add_dx;
} nn_pool_args;

#define NN_EMBED_PIECE 32 /* rows of a piece of the embeddings' gradient */

typedef struct nn_embed_args {
    const int32_t *ids;
    const void *token, *position, *dy;
    void *y;
    float *dtoken, *dposition;
    uint32_t *start, *cursor, *list, *sorted; /* [V+1], [V], [N], [N] */
    float *head, *tail;                       /* [pieces][C] */
    uint32_t B, T, C, V;
} nn_embed_args;

typedef struct nn_norm_args {
    const void *x, *residual, *gain, *bias, *dy;
    void *sum, *y;
    float *mean, *rstd, *partial, *partial2;
    uint32_t N, C, add_dx, chunk_rows;
} nn_norm_args;

typedef struct nn_attention_args {
    const void *qkv, *y, *dy;
    void *out; /* y, dqkv */
    float *lse, *delta;
    uint32_t B, T, H, D;
} nn_attention_args;

typedef struct nn_gru_args {
    const void *a, *u, *h0;
    const uint8_t *starts;
    void *h, *tape, *dh, *da, *dh0;
    float *du;
    uint32_t B, T, H;
} nn_gru_args;

typedef struct nn_loss_args {
    void *y;
    const void *target;
    float *losses;
    float scale;
    uint32_t N, V, P;
} nn_loss_args;

typedef struct nn_rows_args {
    const void *a, *b;
    void *y;
    const int32_t *index;
    uint64_t n;
    uint32_t C;
} nn_rows_args;

/* y[n] = p a[n] + q b[n] */
typedef struct nn_blend_args {
    const void *a, *b;
    void *y;
    uint64_t n;
    float p, q;
} nn_blend_args;

/* The results of a step. The optimisers read the first two (kernels/nn/optimisers.py). */
typedef struct nn_control {
    float scale, ok; /* of the gradients; 0: nothing changes */
    float loss, norm;
    float bad_loss, bad_norm; /* of the first step that came to no number, from 1 on; 0: none did */
    uint64_t bad_step;
    uint32_t not_finite, unused;
} nn_control;

typedef struct nn_control_args {
    nn_control *control;
    const float *losses;    /* [microbatches][2] */
    const float *gradients; /* [2] */
    float clip, counted;
    uint64_t step;
    uint32_t microbatches, learn;
} nn_control_args;

#endif
