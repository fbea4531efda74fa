/* SPDX-License-Identifier: MIT */
/* conv.h - convolution as a product: each image becomes a matrix of the I*K*K values under the
 * filter at P*Q places. */

static size_t conv_columns(const dm_nn_conv *op)
{
    size_t P = (op->H - op->K) / op->stride + 1, Q = (op->W - op->K) / op->stride + 1;
    return (size_t)op->I * op->K * op->K * P * Q;
}

static size_t conv_scratch(const dm_nn_exec *exec, const dm_nn_conv *op)
{
    (void)exec;
    return product_scratch() + conv_columns(op) * sizeof(float);
}

/* columns[I][K][K][P][Q] = what lies under the filter, or add that back into the image. */
static void image_columns(const dm_nn_conv *op, float *image, float *columns, bool back)
{
    size_t K = op->K, H = op->H, W = op->W, s = op->stride;
    size_t P = (H - K) / s + 1, Q = (W - K) / s + 1;
    for (size_t i = 0; i < op->I; i++)
        for (size_t k = 0; k < K; k++)
            for (size_t l = 0; l < K; l++)
                for (size_t p = 0; p < P; p++) {
                    float *row = image + (i * H + p * s + k) * W + l;
                    if (back)
                        for (size_t q = 0; q < Q; q++)
                            row[q * s] += columns[q];
                    else
                        for (size_t q = 0; q < Q; q++)
                            columns[q] = row[q * s];
                    columns += Q;
                }
}

static dm_status conv(dm_nn_exec *exec, const dm_nn_conv *op, const void *x, const void *w,
                      const void *b, void *y, dm_error *err)
{
    (void)err;
    size_t rows = (size_t)op->I * op->K * op->K, places = conv_columns(op) / rows;
    float *columns = scratch_after_product(exec);
    for (size_t n = 0; n < op->B; n++) {
        /* Reading only: the image is not changed with back = false. */
        image_columns(op, (float *)(uintptr_t)x + n * op->I * op->H * op->W, columns, false);
        float *out = (float *)y + n * op->O * places;
        product(exec, op->O, places, rows, (strided){w, rows, 1}, (strided){columns, places, 1},
                out, places, (product_end){.row_bias = b, .activation = op->activation});
    }
    return DM_OK;
}

static dm_status conv_backward(dm_nn_exec *exec, const dm_nn_conv *op, const void *x, const void *w,
                               const void *y, void *dy, void *dx, void *dw, void *db, dm_error *err)
{
    (void)err;
    size_t rows = (size_t)op->I * op->K * op->K, places = conv_columns(op) / rows;
    size_t image = (size_t)op->I * op->H * op->W;
    float *columns = scratch_after_product(exec);
    slope_rows(op->activation, y, NULL, dy, op->B, op->O * places, NULL);
    if (dx && !op->add_dx)
        memset(dx, 0, op->B * image * sizeof(float));
    for (size_t n = 0; n < op->B; n++) {
        const float *d = (const float *)dy + n * op->O * places;
        for (size_t o = 0; db && o < op->O; o++)
            for (size_t q = 0; q < places; q++)
                ((float *)db)[o] += d[o * places + q];
        image_columns(op, (float *)(uintptr_t)x + n * image, columns, false);
        product(exec, op->O, rows, places, (strided){d, places, 1}, (strided){columns, 1, places},
                dw, rows, (product_end){.add = true});
        if (dx) {
            product(exec, rows, places, op->O, (strided){w, 1, rows}, (strided){d, places, 1},
                    columns, places, (product_end){0});
            image_columns(op, (float *)dx + n * image, columns, true);
        }
    }
    return DM_OK;
}
