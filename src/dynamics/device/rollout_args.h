/* SPDX-License-Identifier: MIT */
/* rollout_args.h - what the rollout kernels get; kernel text, also included by the host. */
#ifndef DM_DYNAMICS_ROLLOUT_ARGS_H
#define DM_DYNAMICS_ROLLOUT_ARGS_H

#include "base/port.h"

/* Addresses are the device's. R rollouts, E members, Y steps, I inputs, H hidden, S stochastic; P
 * is H rounded up to what the kernel wants, with weights of 0 in between. */
typedef struct dm_rollout_args {
    uint32_t rollouts, members, steps, input, hidden, stochastic;
    uint32_t reset_last, projection;
    uint64_t stride;                                         /* of a member's weights */
    const float *weights;                                    /* [E][stride], as on the host */
    uint64_t at_w, at_u, at_b, at_c, at_projection, at_head; /* parts of a member */
    const float *packed; /* U as the kernel wants it: [E][3][P][P], or by columns [E][P][3][P] */
    const float *shift, *scale;   /* [I] */
    const float *features;        /* [R][I] */
    const float *h0;              /* [R][E][H]; NULL: zeros */
    float *loss, *entropy, *norm; /* [R][E][Y] */
    float *last;                  /* [R][E][H] */
    float *scratch;               /* dm_rollout_batch: W x + b, 3 P tile elements per block */
} dm_rollout_args;

#endif
