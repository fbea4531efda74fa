/* SPDX-License-Identifier: MIT */
/* muon.h - Muon's update of a matrix: its momentum's nearest orthogonal matrix, about. */
#ifndef DM_NN_MUON_H
#define DM_NN_MUON_H

#include "nn/ops.h"

/* Bytes of `work` for a matrix, on an exec of this type. */
size_t dm_nn_orthogonalise_bytes(dm_nn_type type, uint32_t rows, uint32_t columns);
/* The largest scratch that its products need. */
size_t dm_nn_orthogonalise_scratch(const dm_nn_exec *exec, uint32_t rows, uint32_t columns);

/* u[rows][columns] (float; double with double) becomes sqrt(max(1, rows / columns)) X, where X is u
 * after five Newton-Schulz steps: its singular values are between 0.7 and 1.2, unless they were
 * below a thousandth of the largest. Zeros stay zeros. */
dm_status dm_nn_orthogonalise(dm_nn_exec *exec, uint32_t rows, uint32_t columns, void *u,
                              void *work, dm_error *err);

#endif
