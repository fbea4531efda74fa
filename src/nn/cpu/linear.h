/* SPDX-License-Identifier: MIT */
/* linear.h - y = act(x w^T + b) in vectors. */

static size_t linear_scratch(const dm_nn_exec *exec, const dm_nn_linear *op)
{
    (void)exec, (void)op;
    return product_scratch();
}

static dm_status linear(dm_nn_exec *exec, const dm_nn_linear *op, const void *x, const void *w,
                        const void *b, void *y, void *pre, dm_error *err)
{
    (void)err;
    size_t N = op->N, C = op->C, O = op->O;
    float *sum = pre ? pre : y;
    if (b)
        for (size_t n = 0; n < N; n++)
            memcpy(sum + n * O, b, O * sizeof(float));
    product(exec, N, O, C, (strided){x, C, 1}, (strided){w, 1, C}, sum, O, b != NULL);
    if (op->activation != DM_NN_LINEAR || pre)
        activate_all(op->activation, sum, y, N * O);
    return DM_OK;
}

static dm_status linear_backward(dm_nn_exec *exec, const dm_nn_linear *op, const void *x,
                                 const void *w, const void *y, const void *pre, void *dy, void *dx,
                                 void *dw, void *db, dm_error *err)
{
    (void)err;
    size_t N = op->N, C = op->C, O = op->O;
    slope_all(op->activation, y, pre, dy, N * O);
    if (db)
        add_column_sums(dy, N, O, db);
    product(exec, O, C, N, (strided){dy, 1, O}, (strided){x, C, 1}, dw, C, true);
    if (dx)
        product(exec, N, C, O, (strided){dy, O, 1}, (strided){w, C, 1}, dx, C, op->add_dx);
    return DM_OK;
}
