/* SPDX-License-Identifier: MIT */
/* muon_case.h - Muon's matrices in plain double, and any table of operations beside that. */
#ifndef DM_TESTS_NN_MUON_CASE_H
#define DM_TESTS_NN_MUON_CASE_H

#include "nn/ops.h"

/* u[rows][columns] becomes sqrt(max(1, rows / columns)) X after five Newton-Schulz steps, as the
 * formula reads: a tall matrix is transposed. */
void muon_plain(double *u, int rows, int columns);

/* One step of w[rows][columns] with the gradient g; m is the momentum. */
typedef struct muon_rule {
    double rate, momentum, decay;
} muon_rule;
void muon_plain_step(const muon_rule *rule, int rows, int columns, double *w, double *m,
                     const double *g);

/* dm_nn_orthogonalise of tall, wide, square and single-row matrices, and of zeros: fails the test
 * when one is off by more than this share of its norm. */
void muon_case_compare(dm_device *device, dm_nn_exec *exec, double tolerance);

#endif
