/* SPDX-License-Identifier: MIT */
/* conv.h - convolution: directly where conv_direct.h can, else as a product, for which each image
 * becomes a matrix of the I*K*K values under the filter at P*Q places. */
#include "nn/cpu/conv_direct.h"

static size_t conv_places(const dm_nn_conv *op)
{
    return (size_t)((op->H - op->K) / op->stride + 1) * ((op->W - op->K) / op->stride + 1);
}

/* The columns of an image, or the offsets of taps and the columns for dx. */
static size_t conv_scratch(const dm_nn_exec *exec, const dm_nn_conv *op)
{
    (void)exec;
    return product_scratch() + conv_taps(op) * (conv_places(op) + 1) * sizeof(float);
}

/* columns[I][K][K][P][Q] = what lies under the filter. */
static void image_columns(const dm_nn_conv *op, const float *image, float *columns)
{
    size_t K = op->K, H = op->H, W = op->W, s = op->stride;
    size_t P = (H - K) / s + 1, Q = (W - K) / s + 1;
    for (size_t i = 0; i < op->I; i++)
        for (size_t k = 0; k < K; k++)
            for (size_t l = 0; l < K; l++)
                for (size_t p = 0; p < P; p++, columns += Q) {
                    const float *row = image + (i * H + p * s + k) * W + l;
                    for (size_t q = 0; q < Q; q++)
                        columns[q] = row[q * s];
                }
}

/* Columns are added back into the image. */
static void columns_image(const dm_nn_conv *op, float *image, const float *columns)
{
    size_t K = op->K, H = op->H, W = op->W, s = op->stride;
    size_t P = (H - K) / s + 1, Q = (W - K) / s + 1;
    for (size_t i = 0; i < op->I; i++)
        for (size_t k = 0; k < K; k++)
            for (size_t l = 0; l < K; l++)
                for (size_t p = 0; p < P; p++, columns += Q) {
                    float *row = image + (i * H + p * s + k) * W + l;
                    if (s == 1)
                        add_all(row, columns, row, Q);
                    else
                        for (size_t q = 0; q < Q; q++)
                            row[q * s] += columns[q];
                }
}

static dm_status conv(dm_nn_exec *exec, const dm_nn_conv *op, const void *x_, const void *w,
                      const void *b, void *y, dm_error *err)
{
    (void)err;
    const float *x = x_;
    size_t rows = conv_taps(op), places = conv_places(op), image = (size_t)op->I * op->H * op->W;
    float *columns = scratch_after_product(exec);
    uint32_t *offsets = (uint32_t *)(void *)columns;
    bool direct = conv_is_direct(op);
    if (direct)
        conv_offsets(op, offsets);
    for (size_t n = 0; n < op->B; n++) {
        float *out = (float *)y + n * op->O * places;
        if (direct) {
            conv_direct(op, offsets, x + n * image, w, b, out);
            continue;
        }
        image_columns(op, x + n * image, columns);
        product(exec, op->O, places, rows, (strided){w, rows, 1}, (strided){columns, places, 1},
                out, places, (product_end){.row_bias = b, .activation = op->activation});
    }
    return DM_OK;
}

static dm_status conv_backward(dm_nn_exec *exec, const dm_nn_conv *op, const void *x_,
                               const void *w, const void *y, void *dy, void *dx_, void *dw,
                               void *db, dm_error *err)
{
    (void)err;
    const float *x = x_, *d = dy;
    float *dx = dx_;
    size_t rows = conv_taps(op), places = conv_places(op), image = (size_t)op->I * op->H * op->W;
    float *columns = scratch_after_product(exec);
    bool direct = conv_is_direct(op);
    slope_rows(op->activation, y, NULL, dy, op->B, op->O * places, NULL);
    if (dx && !op->add_dx)
        memset(dx, 0, op->B * image * sizeof(float));
    if (direct) {
        uint32_t *offsets = (uint32_t *)(void *)columns;
        conv_offsets(op, offsets);
        conv_direct_weights(op, offsets, x, d, dw);
    }
    for (size_t n = 0; n < op->B; n++, d += op->O * places) {
        for (size_t o = 0; db && o < op->O; o++)
            ((float *)db)[o] += sum_of(d + o * places, places);
        if (!direct) {
            image_columns(op, x + n * image, columns);
            product(exec, op->O, rows, places, (strided){d, places, 1},
                    (strided){columns, 1, places}, dw, rows, (product_end){.add = true});
        }
        if (dx) {
            product(exec, rows, places, op->O, (strided){w, 1, rows}, (strided){d, places, 1},
                    columns, places, (product_end){0});
            columns_image(op, dx + n * image, columns);
        }
    }
    return DM_OK;
}
