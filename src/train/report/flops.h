/* SPDX-License-Identifier: MIT */
/* flops.h - floating point operations of a model's products: what the report's costs are counted in. */
#ifndef DM_TRAIN_REPORT_FLOPS_H
#define DM_TRAIN_REPORT_FLOPS_H

#include <dotmatrix/nn.h>

/* Of a forward pass of a batch: two for each multiplication of a linear layer, a convolution, a recurrent layer, or of
 * causal attention. A backward pass counts as two of these. */
double dm_report_forward_flops(const dm_nn_model *model);
/* Of a step of the optimiser beyond that: Muon's Newton-Schulz products. */
double dm_report_optimiser_flops(const dm_nn_model *model);

#endif
