/* SPDX-License-Identifier: MIT */
/* conv.h - convolution without padding, plain. */

static dm_status PLAIN(conv)(dm_nn_exec *exec, const dm_nn_conv *op, const void *x_, const void *w_,
                             const void *b_, void *y_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *x = x_, *w = w_, *b = b_;
    REAL *y = y_;
    size_t I = op->I, H = op->H, W = op->W, K = op->K, s = op->stride;
    size_t P = (H - K) / s + 1, Q = (W - K) / s + 1; /* the output's height and width */
    for (size_t n = 0; n < op->B; n++)
        for (size_t o = 0; o < op->O; o++)
            for (size_t p = 0; p < P; p++)
                for (size_t q = 0; q < Q; q++) {
                    REAL sum = b ? b[o] : 0;
                    for (size_t i = 0; i < I; i++)
                        for (size_t k = 0; k < K; k++)
                            for (size_t l = 0; l < K; l++)
                                sum += w[((o * I + i) * K + k) * K + l] *
                                       x[((n * I + i) * H + p * s + k) * W + q * s + l];
                    y[((n * op->O + o) * P + p) * Q + q] = PLAIN(activate)(op->activation, sum);
                }
    return DM_OK;
}

static dm_status PLAIN(conv_backward)(dm_nn_exec *exec, const dm_nn_conv *op, const void *x_,
                                      const void *w_, const void *y_, void *dy_, void *dx_,
                                      void *dw_, void *db_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *x = x_, *w = w_, *y = y_;
    REAL *dy = dy_, *dx = dx_, *dw = dw_, *db = db_;
    size_t I = op->I, H = op->H, W = op->W, K = op->K, s = op->stride;
    size_t P = (H - K) / s + 1, Q = (W - K) / s + 1;
    if (dx && !op->add_dx)
        for (size_t i = 0; i < (size_t)op->B * I * H * W; i++)
            dx[i] = 0;
    for (size_t n = 0; n < op->B; n++)
        for (size_t o = 0; o < op->O; o++)
            for (size_t p = 0; p < P; p++)
                for (size_t q = 0; q < Q; q++) {
                    size_t at = ((n * op->O + o) * P + p) * Q + q;
                    REAL d = dy[at] *= PLAIN(slope)(op->activation, y[at], 0);
                    if (db)
                        db[o] += d;
                    for (size_t i = 0; i < I; i++)
                        for (size_t k = 0; k < K; k++)
                            for (size_t l = 0; l < K; l++) {
                                size_t wi = ((o * I + i) * K + k) * K + l;
                                size_t xi = ((n * I + i) * H + p * s + k) * W + q * s + l;
                                dw[wi] += d * x[xi];
                                if (dx)
                                    dx[xi] += d * w[wi];
                            }
                }
    return DM_OK;
}
