/* SPDX-License-Identifier: MIT */
/* linear.h - y = act(x w^T + b), plain. */

static dm_status PLAIN(linear)(dm_nn_exec *exec, const dm_nn_linear *op, const void *x_,
                               const void *w_, const void *b_, void *y_, void *pre_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *x = x_, *w = w_, *b = b_;
    REAL *y = y_, *pre = pre_;
    for (size_t n = 0; n < op->N; n++)
        for (size_t o = 0; o < op->O; o++) {
            REAL sum = b ? b[o] : 0;
            for (size_t c = 0; c < op->C; c++)
                sum += x[n * op->C + c] * w[o * op->C + c];
            if (pre)
                pre[n * op->O + o] = sum;
            y[n * op->O + o] = PLAIN(activate)(op->activation, sum);
        }
    return DM_OK;
}

static dm_status PLAIN(linear_backward)(dm_nn_exec *exec, const dm_nn_linear *op, const void *x_,
                                        const void *w_, const void *y_, const void *pre_, void *dy_,
                                        void *dx_, void *dw_, void *db_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *x = x_, *w = w_, *y = y_, *pre = pre_;
    REAL *dy = dy_, *dx = dx_, *dw = dw_, *db = db_;
    for (size_t i = 0; i < (size_t)op->N * op->O; i++)
        dy[i] *= PLAIN(slope)(op->activation, y[i], pre ? pre[i] : 0);
    for (size_t n = 0; n < op->N; n++)
        for (size_t o = 0; o < op->O; o++) {
            if (db)
                db[o] += dy[n * op->O + o];
            for (size_t c = 0; dw && c < op->C; c++)
                dw[o * op->C + c] += dy[n * op->O + o] * x[n * op->C + c];
        }
    if (dx)
        for (size_t n = 0; n < op->N; n++)
            for (size_t c = 0; c < op->C; c++) {
                REAL sum = 0;
                for (size_t o = 0; o < op->O; o++)
                    sum += dy[n * op->O + o] * w[o * op->C + c];
                PLAIN(give)(&dx[n * op->C + c], sum, op->add_dx);
            }
    return DM_OK;
}
