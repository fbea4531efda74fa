/* SPDX-License-Identifier: MIT */
/* loss.h - softmax cross-entropy in vectors. */

static dm_status softmax_loss(dm_nn_exec *exec, const dm_nn_softmax_loss *op, void *logits,
                              const int32_t *target, void *losses, dm_error *err)
{
    (void)exec, (void)err;
    for (size_t n = 0; n < op->N; n++) {
        float *row = (float *)logits + n * op->P, most = row[0], sum = 0;
        vec total = vec_all(0);
        for (size_t v = 1; v < op->V; v++)
            most = row[v] > most ? row[v] : most;
        size_t i = 0;
        for (; i + LANES <= op->V; i += LANES)
            total += vec_exp(vec_load(row + i) - vec_all(most));
        for (; i < op->V; i++)
            sum += expf(row[i] - most);
        float norm_ = most + logf(sum + vec_sum(total));
        bool counts = target[n] >= 0;
        ((float *)losses)[n] = counts ? norm_ - row[target[n]] : 0;
        if (op->scale == 0)
            continue;
        memset(row + op->V, 0, (op->P - op->V) * sizeof(float));
        if (!counts) {
            memset(row, 0, op->V * sizeof(float));
            continue;
        }
        exp_all(row, op->V, norm_);
        for (size_t v = 0; v < op->V; v++)
            row[v] *= op->scale;
        row[target[n]] -= op->scale;
    }
    return DM_OK;
}
