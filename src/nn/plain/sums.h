/* SPDX-License-Identifier: MIT */
/* sums.h - the sum and the sum of squares of an array, plain. */

static dm_status PLAIN(sums)(dm_nn_exec *exec, uint64_t n, const void *x, void *out, dm_error *err)
{
    (void)exec, (void)err;
    REAL sum = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += ((const REAL *)x)[i];
        squares += ((const REAL *)x)[i] * ((const REAL *)x)[i];
    }
    ((REAL *)out)[0] = sum;
    ((REAL *)out)[1] = squares;
    return DM_OK;
}
