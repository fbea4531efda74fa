/* SPDX-License-Identifier: MIT */
/* proposal.h - changes of the weights that stand for steps that were not made.
 *
 * E_t is the model's running average of its weights (the optimiser's `average`), s_0 .. s_k its last
 * snapshots, the newest last, `every` steps apart. A proposal is the new average E' and new weights:
 *
 *     none         nothing
 *     shift        E' = E + a (s_k - s_{k-1}), a = steps / every; w' = w + (E' - E)
 *     extrapolate  reduced rank: E' = sum of g_i s_i with sum g_i = 1 and |sum of g_i (s_{i+1} - s_i)|
 *                  least (Tikhonov-regularised); w' = w + (E' - E)
 *     nesterov     E' = E + m (s_k - s_{k-1}); w' = E'
 *
 * Snapshots are flat arrays of all parameters in the model's order, in host memory: all sums are in
 * float64 and in one order, so that the same run gives the same bits. */
#ifndef DM_TRAIN_PREDICT_PROPOSAL_H
#define DM_TRAIN_PREDICT_PROPOSAL_H

#include "train/predict/bandit.h"

typedef struct dm_snapshots {
    size_t count;   /* numbers in one */
    uint64_t kept;  /* at most */
    uint64_t taken; /* so far; the ring's oldest is overwritten */
    float *values;  /* [kept][count] */
} dm_snapshots;

dm_status dm_snapshots_init(dm_snapshots *snapshots, size_t count, uint64_t kept, dm_error *err);
void dm_snapshots_deinit(dm_snapshots *snapshots);
/* Where the next snapshot is to be written; it counts from then on. */
float *dm_snapshots_next(dm_snapshots *snapshots);
/* How many there are, and the one that is `back` before the newest (0). */
uint64_t dm_snapshots_held(const dm_snapshots *snapshots);
const float *dm_snapshots_at(const dm_snapshots *snapshots, uint64_t back);
/* Forget all: the weights jumped, and the path begins anew. */
void dm_snapshots_clear(dm_snapshots *snapshots);

/* The coefficients g[k] of the reduced-rank extrapolation over the k + 1 snapshots that are held,
 * for s_0 .. s_{k-1}. False when the system has no solution. */
bool dm_extrapolation(const dm_snapshots *snapshots, double regularise, double *g);

/* Write E' over average[count] and w' over weights[count]. False, with nothing written, when there
 * are too few snapshots or the result is not finite. */
bool dm_proposal_make(dm_proposal_kind kind, const dm_predict_rules *rules, uint64_t steps,
                      const dm_snapshots *snapshots, float *average, float *weights);

#endif
