/* SPDX-License-Identifier: MIT */
/* elementwise.h - loops over arrays in vectors: sums of two, rows by index, exponentials. */

/* x[i] = exp(scale * x[i] - shift) for n of them; gives their sum. */
static float exp_all(float *x, size_t n, float scale, float shift)
{
    vec total = vec_all(0);
    for (size_t i = 0; i < n; i += LANES) {
        size_t some = n - i < LANES ? n - i : LANES;
        if (some == LANES) {
            vec e = vec_exp(vec_fma(vec_load(x + i), vec_all(scale), vec_all(-shift)));
            vec_store(x + i, e);
            total += e;
        } else {
            vec e = vec_exp(vec_fma(vec_load_some(x + i, some), vec_all(scale), vec_all(-shift)));
            vec_store_some(x + i, e, some);
            total += vec_load_some(x + i, some);
        }
    }
    return vec_sum(total);
}

static void scale_all(float *x, size_t n, float by)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(x + i, vec_load(x + i) * vec_all(by));
    for (; i < n; i++)
        x[i] *= by;
}

/* The largest of n numbers; one that is none may be passed over. */
static float most_of(const float *x, size_t n)
{
    vec most = vec_all(-INFINITY);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        most = vec_max(most, vec_load(x + i));
    float out = vec_most(most);
    for (; i < n; i++)
        out = x[i] > out ? x[i] : out;
    return out;
}

static float sum_of(const float *x, size_t n)
{
    vec total = vec_all(0);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        total += vec_load(x + i);
    if (i < n)
        total += vec_load_some(x + i, n - i);
    return vec_sum(total);
}

static void add_all(const float *a, const float *b, float *y, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, vec_load(a + i) + vec_load(b + i));
    for (; i < n; i++)
        y[i] = a[i] + b[i];
}

static dm_status add(dm_nn_exec *exec, uint64_t n, const void *a, const void *b, void *y,
                     dm_error *err)
{
    (void)exec, (void)err;
    add_all(a, b, y, n);
    return DM_OK;
}

/* y[i] = p a[i] + q b[i] */
static void blend_all(float p, const float *a, float q, const float *b, float *y, size_t n)
{
    vec vp = vec_all(p), vq = vec_all(q);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, vec_fma(vp, vec_load(a + i), vq * vec_load(b + i)));
    if (i < n)
        vec_store_some(y + i,
                       vec_fma(vp, vec_load_some(a + i, n - i), vq * vec_load_some(b + i, n - i)),
                       n - i);
}

static dm_status blend(dm_nn_exec *exec, uint64_t n, double p, const void *a, double q,
                       const void *b, void *y, dm_error *err)
{
    (void)exec, (void)err;
    blend_all((float)p, a, b ? (float)q : 0, b ? b : a, y, n);
    return DM_OK;
}

static dm_status widen(dm_nn_exec *exec, uint64_t n, double scale, const void *x, void *y,
                       dm_error *err)
{
    return blend(exec, n, scale, x, 0, NULL, y, err);
}

static dm_status narrow(dm_nn_exec *exec, uint64_t n, const void *x, const void *sums, void *y,
                        dm_error *err)
{
    double scale = sums ? 1 / (sqrt((double)((const float *)sums)[1]) + 1e-7) : 1;
    return widen(exec, n, scale, x, y, err);
}

/* Short rows are copied sooner than memcpy is called. */
static void row_copy(float *to, const float *from, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(to + i, vec_load(from + i));
    if (i < n)
        vec_store_some(to + i, vec_load_some(from + i, n - i), n - i);
}

static dm_status gather(dm_nn_exec *exec, uint32_t N, uint32_t C, const void *x,
                        const int32_t *index, void *y, dm_error *err)
{
    (void)exec, (void)err;
    for (size_t i = 0; i < N; i++)
        row_copy((float *)y + i * C, (const float *)x + (size_t)index[i] * C, C);
    return DM_OK;
}
