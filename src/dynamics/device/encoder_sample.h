/* SPDX-License-Identifier: MIT */
/* encoder_sample.h - dm_dynamics_sample for kernel text: on the host it is the public header's. */
#ifndef DM_DYNAMICS_ENCODER_SAMPLE_H
#define DM_DYNAMICS_ENCODER_SAMPLE_H

#include "base/port.h"

#ifndef DOTMATRIX_DYNAMICS_H
typedef struct dm_dynamics_sample {
    uint64_t step;
    float loss;
    float gradient_norm;
    float first_mean, first_std;
    float second_mean, second_std;
    float learning_rate;
    float beta1, beta2;
    uint32_t phase;
    uint32_t phase_step;
} dm_dynamics_sample;
#endif
DM_STATIC_ASSERT(sizeof(dm_dynamics_sample) == 56, "the host's samples are the device's");

#endif
