/* SPDX-License-Identifier: MIT */
/* linear.h - y = act(x w^T + b): a product that adds the bias and applies the activation to sums
 * as it stores them. */

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
    product(exec, N, O, C, (strided){x, C, 1}, (strided){w, 1, C}, y, O,
            (product_end){.bias = b, .activation = op->activation, .pre = pre});
    return DM_OK;
}

static dm_status linear_backward(dm_nn_exec *exec, const dm_nn_linear *op, const void *x,
                                 const void *w, const void *y, const void *pre, void *dy, void *dx,
                                 void *dw, void *db, dm_error *err)
{
    (void)err;
    size_t N = op->N, C = op->C, O = op->O;
    slope_rows(op->activation, y, pre, dy, N, O, db);
    if (dw)
        product(exec, O, C, N, (strided){dy, 1, O}, (strided){x, C, 1}, dw, C,
                (product_end){.add = true});
    if (dx)
        product(exec, N, C, O, (strided){dy, O, 1}, (strided){w, C, 1}, dx, C,
                (product_end){.add = op->add_dx});
    return DM_OK;
}
