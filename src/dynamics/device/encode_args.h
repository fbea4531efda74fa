/* SPDX-License-Identifier: MIT */
/* encode_args.h - what the encoder's kernel gets; kernel text, also included by the host. */
#ifndef DM_DYNAMICS_ENCODE_ARGS_H
#define DM_DYNAMICS_ENCODE_ARGS_H

#include "dynamics/encoder_text.h"

typedef struct dm_encode_args {
    uint64_t count;
    dm_enc_state *states;
    const dm_dynamics_sample *samples; /* [count] */
    float *features;                   /* [count][64] */
} dm_encode_args;

#endif
