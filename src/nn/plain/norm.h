/* SPDX-License-Identifier: MIT */
/* norm.h - residual and layer norm, plain. */

static dm_status PLAIN(norm)(dm_nn_exec *exec, const dm_nn_norm *op, const void *x_,
                             const void *residual_, const void *gain_, const void *bias_,
                             void *sum_, void *y_, void *mean_, void *rstd_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *x = x_, *residual = residual_, *gain = gain_, *bias = bias_;
    REAL *sum = sum_, *y = y_, *mean = mean_, *rstd = rstd_;
    for (size_t n = 0; n < op->N; n++) {
        const REAL *row = x + n * op->C;
        if (residual) {
            for (size_t c = 0; c < op->C; c++)
                sum[n * op->C + c] = row[c] + residual[n * op->C + c];
            row = sum + n * op->C;
        }
        REAL m = 0, v = 0;
        for (size_t c = 0; c < op->C; c++)
            m += row[c];
        m /= (REAL)op->C;
        for (size_t c = 0; c < op->C; c++)
            v += (row[c] - m) * (row[c] - m);
        REAL r = 1 / MATH(sqrt)(v / (REAL)op->C + (REAL)1e-5);
        for (size_t c = 0; c < op->C; c++)
            y[n * op->C + c] = (row[c] - m) * r * gain[c] + bias[c];
        mean[n] = m;
        rstd[n] = r;
    }
    return DM_OK;
}

static dm_status PLAIN(norm_backward)(dm_nn_exec *exec, const dm_nn_norm *op, const void *sum_,
                                      const void *gain_, const void *mean_, const void *rstd_,
                                      const void *dy_, void *dx_, void *dgain_, void *dbias_,
                                      dm_error *err)
{
    (void)exec, (void)err;
    const REAL *sum = sum_, *gain = gain_, *mean = mean_, *rstd = rstd_, *dy = dy_;
    REAL *dx = dx_, *dgain = dgain_, *dbias = dbias_;
    for (size_t n = 0; n < op->N; n++) {
        const REAL *row = sum + n * op->C, *d = dy + n * op->C;
        REAL mean_d = 0, mean_dx = 0; /* of d * gain, and of that times the normalised row */
        for (size_t c = 0; c < op->C; c++) {
            REAL unit = (row[c] - mean[n]) * rstd[n];
            dgain[c] += d[c] * unit;
            dbias[c] += d[c];
            mean_d += d[c] * gain[c] / (REAL)op->C;
            mean_dx += d[c] * gain[c] * unit / (REAL)op->C;
        }
        for (size_t c = 0; c < op->C; c++) {
            REAL unit = (row[c] - mean[n]) * rstd[n];
            PLAIN(give)
            (&dx[n * op->C + c], (d[c] * gain[c] - mean_d - unit * mean_dx) * rstd[n], op->add_dx);
        }
    }
    return DM_OK;
}
