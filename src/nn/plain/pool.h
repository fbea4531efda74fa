/* SPDX-License-Identifier: MIT */
/* pool.h - max pooling, plain. */

static dm_status PLAIN(pool)(dm_nn_exec *exec, const dm_nn_pool *op, const void *x_, void *y_,
                             uint8_t *from, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *x = x_;
    REAL *y = y_;
    size_t K = op->K, P = op->H / K, Q = op->W / K;
    for (size_t n = 0; n < (size_t)op->B * op->C; n++)
        for (size_t p = 0; p < P; p++)
            for (size_t q = 0; q < Q; q++) {
                const REAL *square = &x[(n * op->H + p * K) * op->W + q * K];
                size_t best = 0;
                for (size_t k = 1; k < K * K; k++)
                    if (square[k / K * op->W + k % K] > square[best / K * op->W + best % K])
                        best = k;
                y[(n * P + p) * Q + q] = square[best / K * op->W + best % K];
                from[(n * P + p) * Q + q] = (uint8_t)best;
            }
    return DM_OK;
}

static dm_status PLAIN(pool_backward)(dm_nn_exec *exec, const dm_nn_pool *op, const uint8_t *from,
                                      const void *dy_, void *dx_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *dy = dy_;
    REAL *dx = dx_;
    size_t K = op->K, P = op->H / K, Q = op->W / K;
    if (!op->add_dx)
        for (size_t i = 0; i < (size_t)op->B * op->C * op->H * op->W; i++)
            dx[i] = 0;
    for (size_t n = 0; n < (size_t)op->B * op->C; n++)
        for (size_t p = 0; p < P; p++)
            for (size_t q = 0; q < Q; q++) {
                size_t best = from[(n * P + p) * Q + q];
                dx[(n * op->H + p * K + best / K) * op->W + q * K + best % K] +=
                    dy[(n * P + p) * Q + q];
            }
    return DM_OK;
}
