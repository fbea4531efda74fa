/* SPDX-License-Identifier: MIT */
/* attention.h - causal attention, plain. */

/* Where the q (0), k (1) or v (2) of step t and head h begins. */
static size_t PLAIN(head_at)(const dm_nn_attention *op, size_t b, size_t t, size_t part, size_t h)
{
    size_t D = op->C / op->H;
    return (((b * op->T + t) * 3 + part) * op->H + h) * D;
}

/* The score of query t with key s. */
static REAL PLAIN(score)(const dm_nn_attention *op, const REAL *qkv, size_t b, size_t t, size_t s,
                         size_t h)
{
    size_t D = op->C / op->H;
    const REAL *q = qkv + PLAIN(head_at)(op, b, t, 0, h), *k = qkv + PLAIN(head_at)(op, b, s, 1, h);
    REAL sum = 0;
    for (size_t d = 0; d < D; d++)
        sum += q[d] * k[d];
    return sum / MATH(sqrt)((REAL)D);
}

static dm_status PLAIN(attention)(dm_nn_exec *exec, const dm_nn_attention *op, const void *qkv_,
                                  void *y_, void *lse_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *qkv = qkv_;
    REAL *y = y_, *lse = lse_;
    size_t D = op->C / op->H;
    for (size_t b = 0; b < op->B; b++)
        for (size_t h = 0; h < op->H; h++)
            for (size_t t = 0; t < op->T; t++) {
                REAL most = PLAIN(score)(op, qkv, b, t, 0, h), total = 0;
                for (size_t s = 1; s <= t; s++) {
                    REAL x = PLAIN(score)(op, qkv, b, t, s, h);
                    most = x > most ? x : most;
                }
                for (size_t s = 0; s <= t; s++)
                    total += MATH(exp)(PLAIN(score)(op, qkv, b, t, s, h) - most);
                REAL norm = most + MATH(log)(total);
                lse[(b * op->H + h) * op->T + t] = norm;
                REAL *out = y + ((b * op->T + t) * op->H + h) * D;
                for (size_t d = 0; d < D; d++)
                    out[d] = 0;
                for (size_t s = 0; s <= t; s++) {
                    REAL p = MATH(exp)(PLAIN(score)(op, qkv, b, t, s, h) - norm);
                    const REAL *v = qkv + PLAIN(head_at)(op, b, s, 2, h);
                    for (size_t d = 0; d < D; d++)
                        out[d] += p * v[d];
                }
            }
    return DM_OK;
}

static dm_status PLAIN(attention_backward)(dm_nn_exec *exec, const dm_nn_attention *op,
                                           const void *qkv_, const void *y_, const void *lse_,
                                           const void *dy_, void *dqkv_, dm_error *err)
{
    (void)exec, (void)err;
    const REAL *qkv = qkv_, *y = y_, *lse = lse_, *dy = dy_;
    REAL *dqkv = dqkv_;
    size_t D = op->C / op->H;
    for (size_t i = 0; i < (size_t)op->B * op->T * 3 * op->C; i++)
        dqkv[i] = 0;
    for (size_t b = 0; b < op->B; b++)
        for (size_t h = 0; h < op->H; h++)
            for (size_t t = 0; t < op->T; t++) {
                size_t out = ((b * op->T + t) * op->H + h) * D;
                REAL own = 0; /* the sum over s of p * dp */
                for (size_t d = 0; d < D; d++)
                    own += dy[out + d] * y[out + d];
                size_t qt = PLAIN(head_at)(op, b, t, 0, h);
                for (size_t s = 0; s <= t; s++) {
                    size_t ks = PLAIN(head_at)(op, b, s, 1, h);
                    size_t vs = PLAIN(head_at)(op, b, s, 2, h);
                    REAL p = MATH(exp)(PLAIN(score)(op, qkv, b, t, s, h) -
                                       lse[(b * op->H + h) * op->T + t]);
                    REAL dp = 0;
                    for (size_t d = 0; d < D; d++) {
                        dp += dy[out + d] * qkv[vs + d];
                        dqkv[vs + d] += p * dy[out + d];
                    }
                    REAL dscore = p * (dp - own) / MATH(sqrt)((REAL)D);
                    for (size_t d = 0; d < D; d++) {
                        dqkv[qt + d] += dscore * qkv[ks + d];
                        dqkv[ks + d] += dscore * qkv[qt + d];
                    }
                }
            }
    return DM_OK;
}
