/* SPDX-License-Identifier: MIT */
/* value_loss.h - squared error and sigmoid cross-entropy, plain. */

static dm_status PLAIN(square_loss)(dm_nn_exec *exec, const dm_nn_value_loss *op, void *y_,
                                    const void *target_, void *losses_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *target = target_;
    REAL *y = y_, *losses = losses_;
    for (size_t n = 0; n < op->N; n++) {
        REAL sum = 0;
        for (size_t i = n * op->C; i < (n + 1) * op->C; i++) {
            REAL d = y[i] - target[i];
            sum += d * d;
            if (op->scale != 0)
                y[i] = 2 * d / (REAL)op->C * (REAL)op->scale;
        }
        losses[n] = sum / (REAL)op->C;
    }
    return DM_OK;
}

static dm_status PLAIN(sigmoid_loss)(dm_nn_exec *exec, const dm_nn_value_loss *op, void *y_,
                                     const void *target_, void *losses_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *target = target_;
    REAL *y = y_, *losses = losses_;
    for (size_t n = 0; n < op->N; n++) {
        REAL sum = 0;
        for (size_t i = n * op->C; i < (n + 1) * op->C; i++) {
            /* -t log s(y) - (1-t) log(1 - s(y)), without overflow */
            REAL size = y[i] < 0 ? -y[i] : y[i];
            sum += (y[i] > 0 ? y[i] : 0) - y[i] * target[i] + MATH(log1p)(MATH(exp)(-size));
            if (op->scale != 0)
                y[i] = (PLAIN(sigmoid)(y[i]) - target[i]) / (REAL)op->C * (REAL)op->scale;
        }
        losses[n] = sum / (REAL)op->C;
    }
    return DM_OK;
}
