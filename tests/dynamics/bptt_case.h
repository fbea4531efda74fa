/* SPDX-License-Identifier: MIT */
/* bptt_case.h - checks of learning on a device, for any device. */
#ifndef DM_TESTS_BPTT_CASE_H
#define DM_TESTS_BPTT_CASE_H

#include "tests/dynamics/dynamics_case.h"

/* Gradients of a batch of sequences against the float64 reference, part by part. */
void bptt_check_sequences(dm_device *device, dm_dynamics_config config, uint32_t sequences,
                          uint32_t forced, uint32_t steps, bool with_hidden);
/* Gradients of one step of the cell against finite differences in float64. */
void bptt_check_cell(dm_device *device, dm_dynamics_config config, uint32_t batch);
/* Updates against dm_dynamics_trainer's, with both optimisers and with clipping; the same bits again. */
void bptt_check_updates(dm_device *device, dm_dynamics_config config);
/* Two runs followed step by step, as dm_dynamics_trainer_observe follows one. */
void bptt_check_online(dm_device *device);
/* A batch of curves is learnt. */
void bptt_check_learning(dm_device *device);

#endif
