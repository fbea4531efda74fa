/* SPDX-License-Identifier: MIT */
/* store_args.h - the argument blocks of store_text.h. */
#ifndef DM_NN_STORE_ARGS_H
#define DM_NN_STORE_ARGS_H

#include "base/port.h"

/* Partial sums of a reduction: sum p is of the numbers p, p + parts, p + 2 parts, ... */
#define DM_STORE_PARTS 65536u
#define DM_STORE_TERMS 33u /* of a move, at most */

/* partial[p][2]: the sums of x and of x^2. */
typedef struct dm_store_sums_args {
    const float *x;
    double *partial;
    uint64_t n, parts;
} dm_store_sums_args;

/* partial[p]: the sums of (a1 - a0) (b1 - b0). */
typedef struct dm_store_product_args {
    const float *a0, *a1, *b0, *b1;
    double *partial;
    uint64_t n, parts;
} dm_store_product_args;

/* by = the sum of factor[k] term[k]; average = average + by; weights = weights + by, or the new average.
 * `bad` becomes 1 when a result is no number. */
typedef struct dm_store_move_args {
    const float *term[DM_STORE_TERMS];
    double factor[DM_STORE_TERMS];
    float *average, *weights;
    uint32_t *bad;
    uint64_t n;
    uint32_t terms, onto_average;
} dm_store_move_args;

#endif
