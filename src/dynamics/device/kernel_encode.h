/* SPDX-License-Identifier: MIT */
/* kernel_encode.h - many encoders take a sample each: one thread per encoder. */
#include "dynamics/device/encode_args.h"

DM_KERNEL(dm_encode_batch, dm_encode_args)
{
    for (uint64_t i = dm_thread_index(); i < args.count; i += dm_thread_count())
        dm_enc_update(args.states + i, args.samples + i, args.features + i * 64);
}
