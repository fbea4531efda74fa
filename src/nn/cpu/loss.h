/* SPDX-License-Identifier: MIT */
/* loss.h - softmax cross-entropy, squared error and sigmoid cross-entropy in vectors. What is
 * elementwise in them is in kernels/nn/losses.py as a text of the kernel dialect. */

/* The row's exponentials are stored once and scaled afterwards, where the gradient is wanted. */
static dm_status softmax_loss(dm_nn_exec *exec, const dm_nn_softmax_loss *op, void *logits,
                              const int32_t *target, void *losses, dm_error *err)
{
    (void)exec, (void)err;
    for (size_t n = 0; n < op->N; n++) {
        float *row = (float *)logits + n * op->P, most = most_of(row, op->V), sum = 0;
        bool counts = target[n] >= 0, learns = counts && op->scale != 0;
        float own = counts ? row[target[n]] : 0;
        if (learns) {
            sum = exp_all(row, op->V, 1, most);
            scale_all(row, op->V, op->scale / sum);
            row[target[n]] -= op->scale;
            memset(row + op->V, 0, (op->P - op->V) * sizeof(float));
        } else if (counts) {
            vec total = vec_all(0);
            size_t i = 0;
            for (; i + LANES <= op->V; i += LANES)
                total += vec_exp(vec_load(row + i) - vec_all(most));
            for (; i < op->V; i++)
                sum += expf(row[i] - most);
            sum += vec_sum(total);
        } else if (op->scale != 0) {
            memset(row, 0, op->P * sizeof(float));
        }
        ((float *)losses)[n] = counts ? most + logf(sum) - own : 0;
    }
    return DM_OK;
}

static dm_status square_loss(dm_nn_exec *exec, const dm_nn_value_loss *op, void *y_,
                             const void *target_, void *losses, dm_error *err)
{
    (void)exec, (void)err;
    float by = 2 * op->scale / (float)op->C;
    for (size_t n = 0; n < op->N; n++) {
        float *y = (float *)y_ + n * op->C;
        const float *target = (const float *)target_ + n * op->C;
        vec sum = vec_all(0);
        for (size_t i = 0; i < op->C; i += LANES) {
            size_t some = op->C - i < LANES ? op->C - i : LANES;
            vec d = vec_load_some(y + i, some) - vec_load_some(target + i, some);
            sum = vec_fma(d, d, sum);
            if (op->scale != 0)
                vec_store_some(y + i, d * vec_all(by), some);
        }
        ((float *)losses)[n] = vec_sum(sum) / (float)op->C;
    }
    return DM_OK;
}

/* Logarithms one by one: there are few of them beside what made the outputs. */
static dm_status sigmoid_loss(dm_nn_exec *exec, const dm_nn_value_loss *op, void *y_,
                              const void *target_, void *losses, dm_error *err)
{
    (void)exec, (void)err;
    float by = op->scale / (float)op->C;
    for (size_t n = 0; n < op->N; n++) {
        float *y = (float *)y_ + n * op->C, sum = 0;
        const float *target = (const float *)target_ + n * op->C;
        for (size_t i = 0; i < op->C; i++)
            sum += (y[i] > 0 ? y[i] : 0) - y[i] * target[i] + log1pf(expf(-fabsf(y[i])));
        for (size_t i = 0; op->scale != 0 && i < op->C; i += LANES) {
            size_t some = op->C - i < LANES ? op->C - i : LANES;
            vec s = vec_sigmoid(vec_load_some(y + i, some));
            vec_store_some(y + i, (s - vec_load_some(target + i, some)) * vec_all(by), some);
        }
        ((float *)losses)[n] = sum / (float)op->C;
    }
    return DM_OK;
}
