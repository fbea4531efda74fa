/* SPDX-License-Identifier: MIT */
/* attention.h - causal attention in blocks of rows: for ATTENTION_ROWS queries at a time the scores
 * with all keys up to the last of them are a product. */

enum { ATTENTION_ROWS = 48 };

static size_t attention_scratch(const dm_nn_exec *exec, const dm_nn_attention *op)
{
    (void)exec;
    return product_scratch() + 2 * (size_t)ATTENTION_ROWS * op->T * sizeof(float);
}

/* Rows t0 .. of one head of a packed array: stride is that from one step to the next. */
typedef struct head {
    size_t D, step, out_step;
    const float *q, *k, *v;
} head;

static head head_of(const dm_nn_attention *op, const float *qkv, size_t b, size_t h)
{
    size_t D = op->C / op->H, step = 3 * (size_t)op->C;
    const float *at = qkv + b * op->T * step + h * D;
    return (head){D, step, op->C, at, at + op->C, at + 2 * (size_t)op->C};
}

/* x[i] = exp(x[i] - shift) for n of them; gives their sum. */
static float exp_all(float *x, size_t n, float shift)
{
    vec total = vec_all(0);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec e = vec_exp(vec_load(x + i) - vec_all(shift));
        vec_store(x + i, e);
        total += e;
    }
    float sum = 0;
    for (; i < n; i++)
        sum += x[i] = expf(x[i] - shift);
    return sum + vec_sum(total);
}

static dm_status attention(dm_nn_exec *exec, const dm_nn_attention *op, const void *qkv, void *y,
                           void *lse, dm_error *err)
{
    (void)err;
    size_t T = op->T, C = op->C;
    float *scores = scratch_after_product(exec);
    for (size_t b = 0; b < op->B; b++)
        for (size_t h = 0; h < op->H; h++) {
            head at = head_of(op, qkv, b, h);
            float scale = 1 / sqrtf((float)at.D);
            for (size_t t0 = 0; t0 < T; t0 += ATTENTION_ROWS) {
                size_t rows = T - t0 < ATTENTION_ROWS ? T - t0 : ATTENTION_ROWS, keys = t0 + rows;
                product(exec, rows, keys, at.D, (strided){at.q + t0 * at.step, at.step, 1},
                        (strided){at.k, 1, at.step}, scores, keys, false);
                for (size_t r = 0; r < rows; r++) {
                    float *row = scores + r * keys, most = -INFINITY;
                    size_t seen = t0 + r + 1;
                    for (size_t s = 0; s < seen; s++) {
                        row[s] *= scale;
                        most = row[s] > most ? row[s] : most;
                    }
                    float total = exp_all(row, seen, most);
                    ((float *)lse)[(b * op->H + h) * T + t0 + r] = most + logf(total);
                    for (size_t s = 0; s < seen; s++)
                        row[s] *= 1 / total;
                    memset(row + seen, 0, (keys - seen) * sizeof(float));
                }
                product(exec, rows, at.D, keys, (strided){scores, keys, 1},
                        (strided){at.v, at.step, 1}, (float *)y + (b * T + t0) * C + h * at.D, C,
                        false);
            }
        }
    return DM_OK;
}

static dm_status attention_backward(dm_nn_exec *exec, const dm_nn_attention *op, const void *qkv,
                                    const void *y, const void *lse, const void *dy, void *dqkv,
                                    dm_error *err)
{
    (void)err;
    size_t T = op->T, C = op->C, H = op->H;
    float *p = scratch_after_product(exec), *dp = p + (size_t)ATTENTION_ROWS * T;
    memset(dqkv, 0, op->B * T * 3 * C * sizeof(float));
    for (size_t b = 0; b < op->B; b++)
        for (size_t h = 0; h < H; h++) {
            head at = head_of(op, qkv, b, h);
            float scale = 1 / sqrtf((float)at.D);
            float *dq = (float *)dqkv + b * T * at.step + h * at.D, *dk = dq + C, *dv = dk + C;
            for (size_t t0 = 0; t0 < T; t0 += ATTENTION_ROWS) {
                size_t rows = T - t0 < ATTENTION_ROWS ? T - t0 : ATTENTION_ROWS, keys = t0 + rows;
                size_t out = (b * T + t0) * C + h * at.D;
                const float *d = (const float *)dy + out, *o = (const float *)y + out;
                product(exec, rows, keys, at.D, (strided){at.q + t0 * at.step, at.step, 1},
                        (strided){at.k, 1, at.step}, p, keys, false);
                product(exec, rows, keys, at.D, (strided){d, C, 1}, (strided){at.v, 1, at.step}, dp,
                        keys, false);
                for (size_t r = 0; r < rows; r++) {
                    float *pr = p + r * keys, *dr = dp + r * keys, own = 0;
                    size_t seen = t0 + r + 1;
                    for (size_t i = 0; i < at.D; i++)
                        own += d[r * C + i] * o[r * C + i];
                    for (size_t s = 0; s < seen; s++)
                        pr[s] *= scale;
                    exp_all(pr, seen, ((const float *)lse)[(b * H + h) * T + t0 + r]);
                    for (size_t s = 0; s < seen; s++)
                        dr[s] = pr[s] * (dr[s] - own) * scale;
                    memset(pr + seen, 0, (keys - seen) * sizeof(float));
                    memset(dr + seen, 0, (keys - seen) * sizeof(float));
                }
                product(exec, rows, at.D, keys, (strided){dp, keys, 1}, (strided){at.k, at.step, 1},
                        dq + t0 * at.step, at.step, false);
                product(exec, keys, at.D, rows, (strided){dp, 1, keys},
                        (strided){at.q + t0 * at.step, at.step, 1}, dk, at.step, true);
                product(exec, keys, at.D, rows, (strided){p, 1, keys}, (strided){d, C, 1}, dv,
                        at.step, true);
            }
        }
    return DM_OK;
}
