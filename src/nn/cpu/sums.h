/* SPDX-License-Identifier: MIT */
/* sums.h - the sum and the sum of squares of an array: LANES partial sums in double, in order. */

static dm_status sums(dm_nn_exec *exec, uint64_t n, const void *x_, void *out, dm_error *err)
{
    (void)exec, (void)err;
    const float *x = x_;
    double sum[LANES] = {0}, squares[LANES] = {0};
    uint64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            sum[l] += x[i + (uint64_t)l];
            squares[l] += (double)x[i + (uint64_t)l] * x[i + (uint64_t)l];
        }
    for (int l = 0; i < n; i++, l++) {
        sum[l] += x[i];
        squares[l] += (double)x[i] * x[i];
    }
    double total[2] = {0, 0};
    for (int l = 0; l < LANES; l++) {
        total[0] += sum[l];
        total[1] += squares[l];
    }
    ((float *)out)[0] = (float)total[0];
    ((float *)out)[1] = (float)total[1];
    return DM_OK;
}
