/* SPDX-License-Identifier: MIT */
/* flops.h - floating point operations of a model's products: what the report's costs are counted in. */
#ifndef DM_TRAIN_REPORT_FLOPS_H
#define DM_TRAIN_REPORT_FLOPS_H

#include <dotmatrix/nn.h>

/* Operations of a forward pass of a batch: two for each multiplication of a linear layer, a convolution, a recurrent
 * layer, or causal attention. A backward pass counts as two forward passes. */
double dm_report_forward_flops(const dm_nn_model *model);
/* Operations of an optimiser's step: Muon's Newton-Schulz products; others count as 0. */
double dm_report_optimiser_flops(const dm_nn_model *model);

#endif
