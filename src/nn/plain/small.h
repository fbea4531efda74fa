/* SPDX-License-Identifier: MIT */
/* small.h - sums of two arrays, rows by index, plain. */

static dm_status PLAIN(add)(dm_nn_exec *exec, uint64_t n, const void *a, const void *b, void *y,
                            dm_error *err)
{
    (void)exec, (void)err;
    for (uint64_t i = 0; i < n; i++)
        ((REAL *)y)[i] = ((const REAL *)a)[i] + ((const REAL *)b)[i];
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
