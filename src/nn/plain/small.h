/* SPDX-License-Identifier: MIT */
/* small.h - sums and copies of arrays, rows by index, plain. */

static dm_status PLAIN(add)(dm_nn_exec *exec, uint64_t n, const void *a, const void *b, void *y,
                            dm_error *err)
{
    (void)exec, (void)err;
    for (uint64_t i = 0; i < n; i++)
        ((REAL *)y)[i] = ((const REAL *)a)[i] + ((const REAL *)b)[i];
    return DM_OK;
}

static dm_status PLAIN(blend)(dm_nn_exec *exec, uint64_t n, double p, const void *a, double q,
                              const void *b, void *y, dm_error *err)
{
    (void)exec, (void)err;
    for (uint64_t i = 0; i < n; i++) {
        REAL other = b ? (REAL)q * ((const REAL *)b)[i] : 0;
        ((REAL *)y)[i] = (REAL)p * ((const REAL *)a)[i] + other;
    }
    return DM_OK;
}

static dm_status PLAIN(narrow)(dm_nn_exec *exec, uint64_t n, const void *x, const void *sums,
                               void *y, dm_error *err)
{
    (void)exec, (void)err;
    REAL norm = sums ? MATH(sqrt)(((const REAL *)sums)[1]) + (REAL)1e-7 : 1;
    for (uint64_t i = 0; i < n; i++)
        ((REAL *)y)[i] = ((const REAL *)x)[i] / norm;
    return DM_OK;
}

static dm_status PLAIN(widen)(dm_nn_exec *exec, uint64_t n, double scale, const void *x, void *y,
                              dm_error *err)
{
    (void)exec, (void)err;
    for (uint64_t i = 0; i < n; i++)
        ((REAL *)y)[i] = (REAL)scale * ((const REAL *)x)[i];
    return DM_OK;
}

static dm_status PLAIN(gather)(dm_nn_exec *exec, uint32_t N, uint32_t C, const void *x,
                               const int32_t *index, void *y, dm_error *err)
{
    (void)exec, (void)err;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < C; c++)
            ((REAL *)y)[i * C + c] = ((const REAL *)x)[(size_t)index[i] * C + c];
    return DM_OK;
}
