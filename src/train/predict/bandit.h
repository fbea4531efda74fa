/* SPDX-License-Identifier: MIT */
/* bandit.h - which proposal to make, and over how many steps: diagonal LinUCB over the features.
 *
 * An arm is a kind of proposal with a length (10, 20, 40, 60 or 80 steps). For each arm a linear
 * model of the reward over x, the features and a 1, scaled to |x| = 1, with a diagonal matrix:
 *
 *     score = theta . x + alpha sqrt(sum of x_i^2 / A_i)       A_i = ridge + sum of x_i^2 so far
 *     theta_i += (reward - theta . x) x_i / A_i
 *
 * The step goes towards what theta . x misses; b_i / A_i, as a full matrix would have it, counts the
 * same reward once for each of the 65 inputs.
 *
 * The arm with the largest score is taken; a share of 0.05 of the decisions is drawn instead, by a
 * counter-based number. The reward of a decision:
 *
 *     0.4 min(speedup - 1, 10) + 0.4 (1 - gap) + 0.2 stability
 *
 * speedup: steps that the proposal stands for over what it cost in steps; gap: how far the loss
 * ended above the forecast, as a share of it, 0 to 1. A rejected proposal stands for no steps: a
 * speedup of 0. An undone one has a gap of 1 besides: a negative reward. Plain state without
 * pointers. */
#ifndef DM_TRAIN_PREDICT_BANDIT_H
#define DM_TRAIN_PREDICT_BANDIT_H

#include "train/predict/rules.h"

#include <dotmatrix/dynamics.h>

/* Kinds of proposals: proposal.h. */
typedef enum dm_proposal_kind {
    DM_PROPOSAL_NONE,
    DM_PROPOSAL_SHIFT,
    DM_PROPOSAL_EXTRAPOLATE,
    DM_PROPOSAL_NESTEROV,
    DM_PROPOSALS
} dm_proposal_kind;

extern const char *const dm_proposal_names[DM_PROPOSALS];

enum { DM_BANDIT_LENGTHS = 5, DM_BANDIT_ARMS = DM_PROPOSALS * DM_BANDIT_LENGTHS };
enum { DM_BANDIT_INPUTS = DM_DYNAMICS_ENCODER_FEATURES + 1 }; /* the last: 1 */

extern const uint32_t dm_bandit_lengths[DM_BANDIT_LENGTHS];

static inline dm_proposal_kind dm_bandit_kind(size_t arm)
{
    return (dm_proposal_kind)(arm / DM_BANDIT_LENGTHS);
}

static inline uint32_t dm_bandit_length(size_t arm)
{
    return dm_bandit_lengths[arm % DM_BANDIT_LENGTHS];
}

typedef struct dm_bandit {
    double squares[DM_BANDIT_ARMS][DM_BANDIT_INPUTS]; /* without the ridge */
    double theta[DM_BANDIT_ARMS][DM_BANDIT_INPUTS];
    double taken[DM_BANDIT_ARMS], sum[DM_BANDIT_ARMS]; /* times, and of rewards */
    uint64_t decisions;
} dm_bandit;

void dm_bandit_init(dm_bandit *bandit);
/* x / (1 + |x|) of each feature, and a 1; then all divided by their length. */
void dm_bandit_inputs(const float features[DM_DYNAMICS_ENCODER_FEATURES],
                      double inputs[DM_BANDIT_INPUTS]);
double dm_bandit_score(const dm_bandit *bandit, const dm_predict_rules *rules, size_t arm,
                       const double inputs[DM_BANDIT_INPUTS]);
/* `drawn` (may be NULL): true when the arm was drawn, not chosen. */
size_t dm_bandit_choose(dm_bandit *bandit, const dm_predict_rules *rules, uint64_t seed,
                        const double inputs[DM_BANDIT_INPUTS], bool *drawn);
void dm_bandit_learn(dm_bandit *bandit, const dm_predict_rules *rules, size_t arm,
                     const double inputs[DM_BANDIT_INPUTS], double reward);
double dm_bandit_reward(double speedup, double gap, double stability);

#endif
