/* SPDX-License-Identifier: MIT */
/* loss.h - softmax cross-entropy, plain. */

static dm_status PLAIN(softmax_loss)(dm_nn_exec *exec, const dm_nn_softmax_loss *op, void *logits_,
                                     const int32_t *target, void *losses_, dm_error *err)
{
    (void)exec, (void)err;
    REAL *logits = logits_, *losses = losses_;
    for (size_t n = 0; n < op->N; n++) {
        REAL *row = logits + n * op->P, most = row[0];
        bool counts = target[n] >= 0;
        for (size_t v = 1; v < op->V; v++)
            most = row[v] > most ? row[v] : most;
        REAL total = MATH(exp)(row[0] - most);
        for (size_t v = 1; v < op->V; v++)
            total += MATH(exp)(row[v] - most);
        REAL norm = most + MATH(log)(total);
        losses[n] = counts ? norm - row[target[n]] : 0;
        if (op->scale == 0)
            continue;
        for (size_t v = 0; v < op->P; v++) {
            REAL d = v < op->V ? MATH(exp)(row[v] - norm) - (REAL)(v == (size_t)target[n]) : 0;
            row[v] = counts ? d * (REAL)op->scale : 0;
        }
    }
    return DM_OK;
}
