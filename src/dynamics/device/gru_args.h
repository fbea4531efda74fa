/* SPDX-License-Identifier: MIT */
/* gru_args.h - what the kernels for one step of a batch get; kernel text, also included by the
 * host. */
#ifndef DM_DYNAMICS_GRU_ARGS_H
#define DM_DYNAMICS_GRU_ARGS_H

#include "base/port.h"

typedef struct dm_gru_args {
    uint32_t batch, input, hidden;
    const float *W, *U, *b, *c; /* [3][H][I], [3][H][H], [3][H], [H] */
    const float *x, *h;         /* [batch][I], [batch][H] */
    float *out;                 /* [batch][H]; not h */
    float *z, *q; /* [batch][H], between the two kernels of DM_DYNAMICS_GRU_RESET_FIRST */
    /* For the matrix units: a row of W (padded with zeros to input_p elements), then one of U
     * (hidden_p), as the sum of two bfloat16 numbers: [3][H][input_p + hidden_p]. */
    const uint16_t *high, *low;
    uint32_t input_p, hidden_p; /* multiples of 32 */
} dm_gru_args;

#endif
