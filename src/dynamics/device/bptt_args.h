/* SPDX-License-Identifier: MIT */
/* bptt_args.h - what the kernels for learning get; kernel text, also included by the host.
 *
 * Letters: E members, R sequences, T steps, I inputs, H hidden units, S stochastic values. Rows of
 * a member follow each other by step, then by sequence, so that a product over all steps is one. */
#ifndef DM_DYNAMICS_BPTT_ARGS_H
#define DM_DYNAMICS_BPTT_ARGS_H

#include "base/port.h"

/* For every member: C[m][n] = sum over k of A[m][k] B[k][n], with any strides (in elements). */
typedef struct dm_product_args {
    uint32_t members;
    uint32_t accumulate; /* add to C */
    uint64_t M, N, K;
    const float *a, *b;
    float *c;
    uint64_t a_member, a_m, a_k;
    uint64_t b_member, b_k, b_n;
    uint64_t c_member, c_m; /* columns lie side by side */
} dm_product_args;

#define DM_PRODUCT_TILE 64
#define DM_PRODUCT_THREADS 256
#define DM_PRODUCT_FEW 8 /* rows of A that dm_bptt_product_few takes */

typedef struct dm_bptt_args {
    uint32_t members, sequences, steps, forced, input, hidden, stochastic;
    uint32_t reset_last, projection;
    uint32_t t;                                 /* the step, or the first of `step_count` */
    uint32_t step_count;                        /* dm_bptt_inputs only */
    uint32_t from;                              /* the first step that is scored */
    uint64_t stride, at_w, at_b, at_c, at_head; /* of and in a member's weights */
    const float *weights;                       /* [E][stride] */
    float *grad;                                /* [E][stride] */
    const float *shift, *scale;                 /* [I] */
    const float *features;                      /* [R][forced][I] */
    const float *targets;                       /* [R][T] */
    const float *h0;                            /* [R][E][H]; NULL: zeros */
    /* Written on the way forward. */
    float *h;      /* [E][T + 1][R][H] */
    float *inputs; /* [E][T][R][I] */
    float *gates;  /* [E][T][R][3 H]: z, r, n */
    float *q;      /* [E][T][R][H]: r * h, or Un h + cn */
    float *s;      /* [E][T][R][S] */
    float *u;      /* [E][T][R]: before clamp and exp */
    float *loss;   /* [E][T][R] */
    float *dloss;  /* [E][T][R] */
    /* And on the way back. */
    float *a;          /* [E][T][R][3 H]: gradients before sigmoid and tanh */
    float *work;       /* [E][T][R][H]: of r * h, or of Un h + cn */
    float *du;         /* [E][T][R] */
    float *ds;         /* [E][T][R][S]: of the logits */
    float *fed_back;   /* [E][R]: what the step after gave to the loss */
    float *dout;       /* [E][R][H]: of h after the step */
    float *dh;         /* [E][R][H]: of h before it */
    double *objective; /* [E][R] */
} dm_bptt_args;

/* Adam, or SGD with momentum beta1. */
typedef struct dm_update_args {
    uint32_t members, sgd;
    uint64_t total, stride;
    float *weights, *first, *second; /* [E][stride] */
    const float *grad;               /* [E][stride] */
    double *partial;                 /* [E][DM_UPDATE_PARTS]: sums of squares */
    float *factor;                   /* [E]: what a gradient is multiplied by */
    float clip, rate, beta1, beta2, epsilon;
} dm_update_args;

#define DM_UPDATE_PARTS 1024 /* fixed, so that the order of sums does not depend on the GPU */

#endif
