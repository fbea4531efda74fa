/* SPDX-License-Identifier: MIT */
/* test_proposal.c - the bandit over proposals, and the proposals on paths whose end is known. */
#include "tests/support/test.h"
#include "train/predict/proposal.h"

#include <math.h>
#include <string.h>

static const dm_predict_rules *const rules = &dm_predict_rules_default;

/* ---- Bandit ---- */

static void rewards_as_stated(void **state)
{
    (void)state;
    assert_near(dm_bandit_reward(3, 0.25, 0.5), 0.4 * 2 + 0.4 * 0.75 + 0.1, 1e-12);
    assert_near(dm_bandit_reward(100, 0, 1), 4 + 0.4 + 0.2, 1e-12);
    assert_near(dm_bandit_reward(1, -3, 1), 0.4 + 0.2, 1e-12);
    assert_true(dm_bandit_reward(0, 1, 1) < 0); /* undone */
}

static void arms_are_kinds_and_lengths(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {10, 20, 40, 60, 80};
    for (size_t arm = 0; arm < DM_BANDIT_ARMS; arm++) {
        assert_int_equal(dm_bandit_kind(arm), arm / 5);
        assert_int_equal(dm_bandit_length(arm), lengths[arm % 5]);
    }
}

static void score_by_hand(void **state)
{
    (void)state;
    dm_bandit b;
    double x[DM_BANDIT_INPUTS] = {0};
    dm_bandit_init(&b);
    x[DM_ENCODER_FEATURES] = 0.8;
    x[0] = 0.6;
    assert_near(dm_bandit_score(&b, rules, 3, x), 1, 1e-12);
    dm_bandit_learn(&b, rules, 3, x, 2);
    /* A = 1.36 and 1.64; theta = 2 * 0.6 / 1.36 and 2 * 0.8 / 1.64 */
    double theta = 1.2 / 1.36 * 0.6 + 1.6 / 1.64 * 0.8;
    assert_near(dm_bandit_score(&b, rules, 3, x), theta + sqrt(0.36 / 1.36 + 0.64 / 1.64), 1e-12);
    assert_near(dm_bandit_score(&b, rules, 4, x), 1, 1e-12);
    for (int i = 0; i < 200; i++) /* what is learned is the reward, not a multiple of it */
        dm_bandit_learn(&b, rules, 3, x, 2);
    assert_near(dm_bandit_score(&b, rules, 3, x), 2, 0.2);
}

static void inputs_have_length_one(void **state)
{
    (void)state;
    float features[DM_ENCODER_FEATURES];
    double x[DM_BANDIT_INPUTS], square = 0;
    for (int i = 0; i < DM_ENCODER_FEATURES; i++)
        features[i] = i == 5 ? NAN : (float)(i * i) - 50;
    dm_bandit_inputs(features, x);
    for (int i = 0; i < DM_BANDIT_INPUTS; i++)
        square += x[i] * x[i];
    assert_near(square, 1, 1e-12);
    assert_near(x[5], 0, 0);
}

/* The best arm hangs on the features: it is found, and a share of 5% is drawn. */
static void learns_which_arm_is_best_where(void **state)
{
    (void)state;
    dm_bandit b;
    dm_bandit_init(&b);
    int right = 0, drawn_count = 0;
    for (int i = 0; i < 4000; i++) {
        float features[DM_ENCODER_FEATURES] = {0};
        double x[DM_BANDIT_INPUTS];
        bool drawn;
        features[5] = i / 3 % 2 == 0 ? 4 : -4;
        dm_bandit_inputs(features, x);
        size_t arm = dm_bandit_choose(&b, rules, 7, x, &drawn), best = features[5] > 0 ? 6 : 13;
        drawn_count += drawn;
        if (i >= 3000 && !drawn)
            right += arm == best;
        dm_bandit_learn(&b, rules, arm, x, arm == best ? 1 : -0.2);
    }
    assert_true(right > 900);
    assert_in_range(drawn_count, 150, 250);
}

static void choices_are_the_same_for_the_same_seed(void **state)
{
    (void)state;
    dm_bandit a, b;
    dm_bandit_init(&a);
    dm_bandit_init(&b);
    double x[DM_BANDIT_INPUTS] = {0.1, 0.2};
    for (int i = 0; i < 200; i++) {
        size_t arm = dm_bandit_choose(&a, rules, 3, x, NULL);
        assert_int_equal(arm, dm_bandit_choose(&b, rules, 3, x, NULL));
        dm_bandit_learn(&a, rules, arm, x, arm == 2);
        dm_bandit_learn(&b, rules, arm, x, arm == 2);
    }
    assert_memory_equal(&a, &b, sizeof a);
}

/* ---- Proposals ---- */

enum { N = 40 };

/* Snapshots of x_t = end + sum of modes c_m r_m^t: what gradient descent does near a minimum. */
static void converge(dm_snapshots *s, int count, int modes, float *end)
{
    static const double ratios[] = {0.9, 0.6, -0.4, 0.2};
    for (int n = 0; n < N; n++)
        end[n] = (float)sin(n * 1.3);
    for (int t = 0; t < count; t++) {
        float *to = dm_snapshots_next(s);
        for (int n = 0; n < N; n++) {
            double x = end[n];
            for (int m = 0; m < modes; m++)
                x += cos(n * (m + 1) + m) * pow(ratios[m], t);
            to[n] = (float)x;
        }
    }
}

static double distance(const float *a, const float *b)
{
    double sum = 0;
    for (int n = 0; n < N; n++)
        sum += ((double)a[n] - b[n]) * ((double)a[n] - b[n]);
    return sqrt(sum);
}

static void extrapolation_finds_the_end_of_a_geometric_path(void **state)
{
    (void)state;
    dm_snapshots s;
    float end[N], average[N], weights[N];
    assert_ok(dm_snapshots_init(&s, N, 6, err));
    converge(&s, 9, 3, end); /* three modes need five snapshots; the ring went round */
    memcpy(average, dm_snapshots_at(&s, 0), sizeof average);
    memcpy(weights, average, sizeof weights);
    double before = distance(average, end);
    dm_predict_rules exact = *rules;
    exact.proposal_regularise = 1e-13;
    assert_true(dm_proposal_make(DM_PROPOSAL_EXTRAPOLATE, &exact, 10, &s, average, weights));
    assert_true(distance(average, end) < 1e-3 * before);
    assert_true(distance(weights, end) < 1e-3 * before);
    dm_snapshots_deinit(&s);
}

static void coefficients_sum_to_one(void **state)
{
    (void)state;
    dm_snapshots s;
    float end[N];
    double g[32], sum = 0;
    assert_ok(dm_snapshots_init(&s, N, 6, err));
    converge(&s, 6, 2, end);
    assert_true(dm_extrapolation(&s, 1e-8, g));
    for (int i = 0; i < 5; i++)
        sum += g[i];
    assert_near(sum, 1, 1e-9);
    dm_snapshots_deinit(&s);
}

static void shift_goes_on_along_the_average(void **state)
{
    (void)state;
    dm_snapshots s;
    float average[N], weights[N];
    assert_ok(dm_snapshots_init(&s, N, 6, err));
    for (int t = 0; t < 3; t++) {
        float *to = dm_snapshots_next(&s);
        for (int n = 0; n < N; n++)
            to[n] = (float)(n + t * 0.5);
    }
    for (int n = 0; n < N; n++) {
        average[n] = (float)n + 1;
        weights[n] = (float)n + 3;
    }
    assert_true(dm_proposal_make(DM_PROPOSAL_SHIFT, rules, 20, &s, average, weights));
    for (int n = 0; n < N; n++) { /* 20 steps are 4 snapshots of 0.5 */
        assert_near(average[n], n + 3, 1e-5);
        assert_near(weights[n], n + 5, 1e-5);
    }
    dm_snapshots_deinit(&s);
}

static void nesterov_begins_anew_from_the_moved_average(void **state)
{
    (void)state;
    dm_snapshots s;
    float average[N], weights[N];
    assert_ok(dm_snapshots_init(&s, N, 6, err));
    for (int t = 0; t < 2; t++) {
        float *to = dm_snapshots_next(&s);
        for (int n = 0; n < N; n++)
            to[n] = (float)t;
    }
    for (int n = 0; n < N; n++) {
        average[n] = 1;
        weights[n] = 9;
    }
    assert_true(dm_proposal_make(DM_PROPOSAL_NESTEROV, rules, 20, &s, average, weights));
    assert_near(average[0], 1.5, 1e-6);
    assert_memory_equal(average, weights, sizeof average);
    dm_snapshots_deinit(&s);
}

static void what_cannot_be_made_changes_nothing(void **state)
{
    (void)state;
    dm_snapshots s;
    float end[N], average[N], weights[N], copy[N];
    assert_ok(dm_snapshots_init(&s, N, 6, err));
    converge(&s, 2, 1, end);
    for (int n = 0; n < N; n++)
        average[n] = weights[n] = copy[n] = (float)n;
    assert_false(dm_proposal_make(DM_PROPOSAL_NONE, rules, 20, &s, average, weights));
    /* two snapshots are too few, equal ones have no direction, an overflow is no proposal */
    assert_false(dm_proposal_make(DM_PROPOSAL_EXTRAPOLATE, rules, 20, &s, average, weights));
    dm_snapshots_clear(&s);
    assert_false(dm_proposal_make(DM_PROPOSAL_SHIFT, rules, 20, &s, average, weights));
    for (int t = 0; t < 6; t++)
        memset(dm_snapshots_next(&s), 0, sizeof end);
    assert_false(dm_proposal_make(DM_PROPOSAL_EXTRAPOLATE, rules, 20, &s, average, weights));
    for (int n = 0; n < N; n++)
        dm_snapshots_next(&s)[0] = 3e38f;
    memset(dm_snapshots_next(&s), 0, sizeof end);
    dm_snapshots_next(&s)[N - 1] = 3e38f;
    assert_false(dm_proposal_make(DM_PROPOSAL_SHIFT, rules, 80, &s, average, weights));
    assert_memory_equal(average, copy, sizeof copy);
    assert_memory_equal(weights, copy, sizeof copy);
    dm_snapshots_deinit(&s);
}

DM_TESTS("train/predict/proposal", DM_TEST(rewards_as_stated), DM_TEST(arms_are_kinds_and_lengths),
         DM_TEST(score_by_hand), DM_TEST(inputs_have_length_one),
         DM_TEST(learns_which_arm_is_best_where), DM_TEST(choices_are_the_same_for_the_same_seed),
         DM_TEST(extrapolation_finds_the_end_of_a_geometric_path), DM_TEST(coefficients_sum_to_one),
         DM_TEST(shift_goes_on_along_the_average),
         DM_TEST(nesterov_begins_anew_from_the_moved_average),
         DM_TEST(what_cannot_be_made_changes_nothing))
