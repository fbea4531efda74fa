/* SPDX-License-Identifier: MIT */
/* norm.h - residual and layer norm in vectors. A row is read from the cache three times: for its
 * sum, for the squares about the mean, for the result. */

VEC_FN vec row_load(const float *row, size_t c, size_t C)
{
    return c + LANES <= C ? vec_load(row + c) : vec_load_some(row + c, C - c);
}

VEC_FN void row_store(float *row, size_t c, size_t C, vec v)
{
    if (c + LANES <= C)
        vec_store(row + c, v);
    else
        vec_store_some(row + c, v, C - c);
}

/* Lanes that lie within a row of C. */
VEC_FN ivec row_lanes(size_t c, size_t C)
{
    ivec lane = {0};
    for (int i = 0; i < LANES; i++)
        lane[i] = i;
    return lane < (int32_t)(C - c < LANES ? C - c : LANES);
}

static dm_status norm(dm_nn_exec *exec, const dm_nn_norm *op, const void *x, const void *residual,
                      const void *gain, const void *bias, void *sum, void *y, void *mean,
                      void *rstd, dm_error *err)
{
    (void)exec, (void)err;
    size_t C = op->C;
    for (size_t n = 0; n < op->N; n++) {
        const float *row = (const float *)x + n * C;
        float *out = (float *)y + n * C;
        if (residual) {
            float *s = (float *)sum + n * C;
            add_all(row, (const float *)residual + n * C, s, C);
            row = s;
        }
        vec total = vec_all(0);
        for (size_t c = 0; c < C; c += LANES)
            total += row_load(row, c, C);
        float m = vec_sum(total) / (float)C;
        total = vec_all(0);
        for (size_t c = 0; c < C; c += LANES) {
            vec d = row_load(row, c, C) - vec_all(m);
            if (c + LANES > C)
                d = (vec)((ivec)d & row_lanes(c, C));
            total = vec_fma(d, d, total);
        }
        float r = 1 / sqrtf(vec_sum(total) / (float)C + 1e-5f);
        for (size_t c = 0; c < C; c += LANES) {
            vec unit = (row_load(row, c, C) - vec_all(m)) * vec_all(r);
            row_store(out, c, C, vec_fma(unit, row_load(gain, c, C), row_load(bias, c, C)));
        }
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
    size_t C = op->C;
    float *dg = dgain, *db = dbias;
    for (size_t n = 0; n < op->N; n++) {
        const float *row = (const float *)sum + n * C, *d = (const float *)dy + n * C;
        float *out = (float *)dx + n * C, m = ((const float *)mean)[n];
        float r = ((const float *)rstd)[n];
        /* Lanes beyond the row are 0 in d, and so in all that follows. */
        vec sum_d = vec_all(0), sum_dx = vec_all(0);
        for (size_t c = 0; c < C; c += LANES) {
            vec unit = (row_load(row, c, C) - vec_all(m)) * vec_all(r), dc = row_load(d, c, C);
            row_store(dg, c, C, vec_fma(dc, unit, row_load(dg, c, C)));
            row_store(db, c, C, row_load(db, c, C) + dc);
            dc *= row_load(gain, c, C);
            sum_d += dc;
            sum_dx = vec_fma(dc, unit, sum_dx);
        }
        vec mean_d = vec_all(vec_sum(sum_d) / (float)C);
        vec mean_dx = vec_all(vec_sum(sum_dx) / (float)C);
        for (size_t c = 0; c < C; c += LANES) {
            vec unit = (row_load(row, c, C) - vec_all(m)) * vec_all(r);
            vec dc = row_load(d, c, C) * row_load(gain, c, C) - mean_d - unit * mean_dx;
            dc *= vec_all(r);
            if (op->add_dx)
                dc += row_load(out, c, C);
            row_store(out, c, C, dc);
        }
    }
    return DM_OK;
}
