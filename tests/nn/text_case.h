/* SPDX-License-Identifier: MIT */
/* text_case.h - the texts of kernels/nn beside the operations that are written by hand. */
#ifndef DM_TESTS_NN_TEXT_CASE_H
#define DM_TESTS_NN_TEXT_CASE_H

#include "nn/ops.h"

/* Activations and losses with random inputs: outputs and gradients of the exec's operations against
 * those of the compiled texts, on the device that the exec runs on. Fails the test with the name of
 * what differs. */
void text_case_activations(dm_device *device, dm_nn_exec *exec);
void text_case_losses(dm_device *device, dm_nn_exec *exec);
/* Adam and AdamW with averages, two steps: the same bits. For tables that have it. */
void text_case_adam(dm_device *device, dm_nn_exec *exec);

#endif
