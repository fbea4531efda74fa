/* SPDX-License-Identifier: MIT */
/* proposal.h - changes of the weights that replace training steps.
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
 * Snapshots are slots of a store (nn/store.h), in the memory of the model's device; what is computed from them is
 * computed there, in float64 and in one order, so that the same run gives the same bits. */
#ifndef DM_TRAIN_PREDICT_PROPOSAL_H
#define DM_TRAIN_PREDICT_PROPOSAL_H

#include "nn/store.h"
#include "train/predict/bandit.h"

typedef struct dm_snapshots {
    dm_nn_store *store;
    size_t first;   /* slots first .. first + kept - 1 are theirs */
    uint64_t kept;  /* at most */
    uint64_t taken; /* so far; the ring's oldest is overwritten */
} dm_snapshots;

enum { DM_SNAPSHOTS_MAX = 32 }; /* as the rule has it */

dm_status dm_snapshots_init(dm_snapshots *snapshots, dm_nn_store *store, size_t first,
                            uint64_t kept, dm_error *err);
/* The slot that the next snapshot is to be written to; it counts from then on. */
size_t dm_snapshots_next(dm_snapshots *snapshots);
/* How many there are, and the slot of the one that is `back` before the newest (0). */
uint64_t dm_snapshots_held(const dm_snapshots *snapshots);
size_t dm_snapshots_at(const dm_snapshots *snapshots, uint64_t back);
/* Forget all: the weights jumped, and the path begins anew. */
void dm_snapshots_clear(dm_snapshots *snapshots);

/* The coefficients g[k] of the reduced-rank extrapolation over the k + 1 snapshots that are held,
 * for s_0 .. s_{k-1}. *solved is false when there are too few or the system has no solution. */
dm_status dm_extrapolation(const dm_snapshots *snapshots, double regularise, double *g,
                           bool *solved, dm_error *err);

/* Make E' of the slot `average` and w' of the slot `weights`. *made is false, and the two slots may hold anything,
 * when there are too few snapshots or the result is not finite. */
dm_status dm_proposal_make(dm_proposal_kind kind, const dm_predict_rules *rules, uint64_t steps,
                           const dm_snapshots *snapshots, size_t average, size_t weights,
                           bool *made, dm_error *err);

#endif
