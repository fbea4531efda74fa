/* SPDX-License-Identifier: MIT */
/* bandit.c - see bandit.h. */
#include "train/predict/bandit.h"
#include "base/philox.h"

#include <math.h>
#include <string.h>

const uint32_t dm_bandit_lengths[DM_BANDIT_LENGTHS] = {10, 20, 40, 60, 80};
const char *const dm_proposal_names[DM_PROPOSALS] = {"none", "shift", "extrapolate", "nesterov"};

enum { STREAM = 0xBA2D17 }; /* of random numbers */

void dm_bandit_init(dm_bandit *b)
{
    memset(b, 0, sizeof *b);
}

void dm_bandit_inputs(const float features[DM_DYNAMICS_ENCODER_FEATURES],
                      double inputs[DM_BANDIT_INPUTS])
{
    double square = 1;
    for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++) {
        inputs[i] = isfinite(features[i]) ? features[i] / (1 + fabs((double)features[i])) : 0;
        square += inputs[i] * inputs[i];
    }
    inputs[DM_DYNAMICS_ENCODER_FEATURES] = 1;
    for (int i = 0; i < DM_BANDIT_INPUTS; i++)
        inputs[i] /= sqrt(square);
}

static double expected(const dm_bandit *b, size_t arm, const double *inputs)
{
    double mean = 0;
    for (int i = 0; i < DM_BANDIT_INPUTS; i++)
        mean += b->theta[arm][i] * inputs[i];
    return mean;
}

double dm_bandit_score(const dm_bandit *b, const dm_predict_rules *rules, size_t arm,
                       const double inputs[DM_BANDIT_INPUTS])
{
    double width = 0;
    for (int i = 0; i < DM_BANDIT_INPUTS; i++)
        width += inputs[i] * inputs[i] / (rules->bandit_ridge + b->squares[arm][i]);
    return expected(b, arm, inputs) + rules->bandit_alpha * sqrt(width);
}

size_t dm_bandit_choose(dm_bandit *b, const dm_predict_rules *rules, uint64_t seed,
                        const double inputs[DM_BANDIT_INPUTS], bool *drawn)
{
    dm_philox4 random = dm_random4(seed, STREAM, b->decisions++);
    bool explore = dm_random_unit(random.v[0]) < (float)rules->bandit_explore;
    if (drawn != NULL)
        *drawn = explore;
    if (explore)
        return dm_random_below(random.v[1], DM_BANDIT_ARMS);
    size_t best = 0;
    double best_score = -INFINITY;
    for (size_t arm = 0; arm < DM_BANDIT_ARMS; arm++) {
        double score = dm_bandit_score(b, rules, arm, inputs);
        if (score > best_score) {
            best = arm;
            best_score = score;
        }
    }
    return best;
}

void dm_bandit_learn(dm_bandit *b, const dm_predict_rules *rules, size_t arm,
                     const double inputs[DM_BANDIT_INPUTS], double reward)
{
    double missed = reward - expected(b, arm, inputs);
    for (int i = 0; i < DM_BANDIT_INPUTS; i++) {
        b->squares[arm][i] += inputs[i] * inputs[i];
        b->theta[arm][i] += missed * inputs[i] / (rules->bandit_ridge + b->squares[arm][i]);
    }
    b->taken[arm] += 1;
    b->sum[arm] += reward;
}

double dm_bandit_reward(double speedup, double gap, double stability)
{
    double lost = fmin(fmax(gap, 0), 1);
    return 0.4 * fmin(speedup - 1, 10) + 0.4 * (1 - lost) + 0.2 * fmin(fmax(stability, 0), 1);
}
