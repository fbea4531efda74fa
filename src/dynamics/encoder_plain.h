/* SPDX-License-Identifier: MIT */
/* encoder_plain.h - the 64 features computed from all samples: the reference of encoder_text.h. */
#ifndef DM_DYNAMICS_ENCODER_PLAIN_H
#define DM_DYNAMICS_ENCODER_PLAIN_H

#include <dotmatrix/dynamics.h>

/* The features after the last of `count` >= 1 samples, with windows of `losses` and `norms`. */
void dm_plain_encode(const dm_dynamics_sample *samples, size_t count, uint32_t losses,
                     uint32_t norms, float features[DM_DYNAMICS_ENCODER_FEATURES]);

#endif
