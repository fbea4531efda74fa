/* SPDX-License-Identifier: MIT */
/* norm.h - residual and layer norm in vectors. */

static dm_status norm(dm_nn_exec *exec, const dm_nn_norm *op, const void *x, const void *residual,
                      const void *gain, const void *bias, void *sum, void *y, void *mean,
                      void *rstd, dm_error *err)
{
    (void)exec, (void)err;
    size_t C = op->C, whole = C / LANES * LANES, rest = C - whole;
    const float *g = gain, *b = bias;
    for (size_t n = 0; n < op->N; n++) {
        const float *row = (const float *)x + n * C;
        float *out = (float *)y + n * C;
        if (residual) {
            const float *r = (const float *)residual + n * C;
            float *s = (float *)sum + n * C;
            for (size_t c = 0; c < C; c++)
                s[c] = row[c] + r[c];
            row = s;
        }
        vec total = vec_all(0);
        for (size_t c = 0; c < whole; c += LANES)
            total += vec_load(row + c);
        if (rest)
            total += vec_load_some(row + whole, rest);
        float m = vec_sum(total) / (float)C, v = 0;
        total = vec_all(0);
        for (size_t c = 0; c < whole; c += LANES) {
            vec d = vec_load(row + c) - vec_all(m);
            total = vec_fma(d, d, total);
        }
        for (size_t c = whole; c < C; c++)
            v += (row[c] - m) * (row[c] - m);
        float r = 1 / sqrtf((v + vec_sum(total)) / (float)C + 1e-5f);
        for (size_t c = 0; c < C; c++)
            out[c] = (row[c] - m) * r * g[c] + b[c];
        ((float *)mean)[n] = m;
        ((float *)rstd)[n] = r;
    }
    return DM_OK;
}

static dm_status norm_backward(dm_nn_exec *exec, const dm_nn_norm *op, const void *sum,
                               const void *gain, const void *mean, const void *rstd, const void *dy,
                               void *dx, void *dgain, void *dbias, dm_error *err)
{
    (void)exec, (void)err;
    size_t C = op->C, whole = C / LANES * LANES;
    const float *g = gain;
    float *dg = dgain, *db = dbias;
    for (size_t n = 0; n < op->N; n++) {
        const float *row = (const float *)sum + n * C, *d = (const float *)dy + n * C;
        float *out = (float *)dx + n * C, m = ((const float *)mean)[n];
        float r = ((const float *)rstd)[n], mean_d = 0, mean_dx = 0;
        vec sum_d = vec_all(0), sum_dx = vec_all(0);
        for (size_t c = 0; c < whole; c += LANES) {
            vec unit = (vec_load(row + c) - vec_all(m)) * vec_all(r), dc = vec_load(d + c);
            vec_store(dg + c, vec_fma(dc, unit, vec_load(dg + c)));
            vec_store(db + c, vec_load(db + c) + dc);
            dc *= vec_load(g + c);
            sum_d += dc;
            sum_dx = vec_fma(dc, unit, sum_dx);
        }
        for (size_t c = whole; c < C; c++) {
            float unit = (row[c] - m) * r;
            dg[c] += d[c] * unit;
            db[c] += d[c];
            mean_d += d[c] * g[c];
            mean_dx += d[c] * g[c] * unit;
        }
        mean_d = (mean_d + vec_sum(sum_d)) / (float)C;
        mean_dx = (mean_dx + vec_sum(sum_dx)) / (float)C;
        for (size_t c = 0; c < C; c++) {
            float dc = (d[c] * g[c] - mean_d - (row[c] - m) * r * mean_dx) * r;
            out[c] = op->add_dx ? out[c] + dc : dc;
        }
    }
    return DM_OK;
}
