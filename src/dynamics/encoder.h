/* SPDX-License-Identifier: MIT */
/* encoder.h - the state of the training-run encoder (encoder_text.h), and the kernel for many of them. */
#ifndef DM_DYNAMICS_ENCODER_H
#define DM_DYNAMICS_ENCODER_H

#include <dotmatrix/dynamics.h>

#include "dynamics/device/encode_args.h"

/* The kernel as compiled into the library, for the CPU. */
void dm_encode_batch(const void *args, uint64_t first, uint64_t last, uint64_t count);

struct dm_dynamics_encoder {
    dm_enc_state state;
};

#endif
