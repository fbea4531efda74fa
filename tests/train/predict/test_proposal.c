/* SPDX-License-Identifier: MIT */
/* test_proposal.c - the bandit over proposals, and the proposals on paths whose end is known. */
#include "tests/support/test.h"
#include "train/predict/pace.h"
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
    x[DM_DYNAMICS_ENCODER_FEATURES] = 0.8;
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
    float features[DM_DYNAMICS_ENCODER_FEATURES];
    double x[DM_BANDIT_INPUTS], square = 0;
    for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++)
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
        float features[DM_DYNAMICS_ENCODER_FEATURES] = {0};
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

enum { N = 40, KEPT = 6, AVERAGE = KEPT, WEIGHTS };

/* Snapshots with slots for an average and weights behind them. */
typedef struct path {
    dm_device *device;
    dm_nn_store *store;
    dm_snapshots s;
    float average[N], weights[N]; /* before and after a proposal */
} path;

static void open_path(path *p)
{
    memset(p, 0, sizeof *p);
    assert_ok(dm_device_open("cpu:2", &p->device, err));
    assert_ok(dm_nn_store_create(p->device, N, KEPT + 2, &p->store, err));
    assert_ok(dm_snapshots_init(&p->s, p->store, 0, KEPT, err));
}

static void close_path(path *p)
{
    dm_nn_store_destroy(p->store);
    dm_device_close(p->device);
}

static void snapshot(path *p, const float *values)
{
    assert_ok(dm_nn_store_write(p->store, dm_snapshots_next(&p->s), NULL, values, err));
}

static bool propose(path *p, dm_proposal_kind kind, const dm_predict_rules *how, uint64_t steps)
{
    bool made;
    assert_ok(dm_nn_store_write(p->store, AVERAGE, NULL, p->average, err));
    assert_ok(dm_nn_store_write(p->store, WEIGHTS, NULL, p->weights, err));
    assert_ok(dm_proposal_make(kind, how, steps, &p->s, AVERAGE, WEIGHTS, &made, err));
    if (made) {
        assert_ok(dm_nn_store_read(p->store, AVERAGE, NULL, p->average, err));
        assert_ok(dm_nn_store_read(p->store, WEIGHTS, NULL, p->weights, err));
    }
    return made;
}

/* Snapshots of x_t = end + sum of modes c_m r_m^t: what gradient descent does near a minimum. */
static void converge(path *p, int count, int modes, float *end)
{
    static const double ratios[] = {0.9, 0.6, -0.4, 0.2};
    for (int n = 0; n < N; n++)
        end[n] = (float)sin(n * 1.3);
    for (int t = 0; t < count; t++) {
        float to[N];
        for (int n = 0; n < N; n++) {
            double x = end[n];
            for (int m = 0; m < modes; m++)
                x += cos(n * (m + 1) + m) * pow(ratios[m], t);
            to[n] = (float)x;
        }
        snapshot(p, to);
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
    path p;
    float end[N];
    open_path(&p);
    converge(&p, 9, 3, end); /* three modes need five snapshots; the ring went round */
    assert_ok(dm_nn_store_read(p.store, dm_snapshots_at(&p.s, 0), NULL, p.average, err));
    memcpy(p.weights, p.average, sizeof p.weights);
    double before = distance(p.average, end);
    dm_predict_rules exact = *rules;
    exact.proposal_regularise = 1e-13;
    assert_true(propose(&p, DM_PROPOSAL_EXTRAPOLATE, &exact, 10));
    assert_true(distance(p.average, end) < 1e-3 * before);
    assert_true(distance(p.weights, end) < 1e-3 * before);
    close_path(&p);
}

static void coefficients_sum_to_one(void **state)
{
    (void)state;
    path p;
    float end[N];
    double g[DM_SNAPSHOTS_MAX], sum = 0;
    bool solved;
    open_path(&p);
    converge(&p, 6, 2, end);
    assert_ok(dm_extrapolation(&p.s, 1e-8, g, &solved, err));
    assert_true(solved);
    for (int i = 0; i < 5; i++)
        sum += g[i];
    assert_near(sum, 1, 1e-9);
    close_path(&p);
}

/* On a straight path all differences are alike and the system is singular: the Tikhonov term makes it their mean. */
static void a_straight_path_needs_the_regularisation(void **state)
{
    (void)state;
    path p;
    float to[N];
    double g[8];
    bool solved = true;
    open_path(&p);
    for (int t = 0; t < 4; t++) {
        for (int n = 0; n < N; n++)
            to[n] = (float)(n + t);
        snapshot(&p, to);
    }
    assert_ok(dm_extrapolation(&p.s, 0, g, &solved, err));
    assert_false(solved);
    assert_ok(dm_extrapolation(&p.s, rules->proposal_regularise, g, &solved, err));
    assert_true(solved);
    for (int i = 0; i < 3; i++)
        assert_near(g[i], 1.0 / 3, 1e-6);
    close_path(&p);
}

static void shift_goes_on_along_the_average(void **state)
{
    (void)state;
    path p;
    float to[N];
    open_path(&p);
    for (int t = 0; t < 3; t++) {
        for (int n = 0; n < N; n++)
            to[n] = (float)(n + t * 0.5);
        snapshot(&p, to);
    }
    for (int n = 0; n < N; n++) {
        p.average[n] = (float)n + 1;
        p.weights[n] = (float)n + 3;
    }
    assert_true(propose(&p, DM_PROPOSAL_SHIFT, rules, 20));
    for (int n = 0; n < N; n++) { /* 20 steps are 4 snapshots of 0.5 */
        assert_near(p.average[n], n + 3, 1e-5);
        assert_near(p.weights[n], n + 5, 1e-5);
    }
    close_path(&p);
}

static void nesterov_begins_anew_from_the_moved_average(void **state)
{
    (void)state;
    path p;
    float to[N];
    open_path(&p);
    for (int t = 0; t < 2; t++) {
        for (int n = 0; n < N; n++)
            to[n] = (float)t;
        snapshot(&p, to);
    }
    for (int n = 0; n < N; n++) {
        p.average[n] = 1;
        p.weights[n] = 9;
    }
    assert_true(propose(&p, DM_PROPOSAL_NESTEROV, rules, 20));
    assert_near(p.average[0], 1.5, 1e-6);
    assert_memory_equal(p.average, p.weights, sizeof p.average);
    close_path(&p);
}

static void what_cannot_be_made_is_no_proposal(void **state)
{
    (void)state;
    path p;
    float end[N], zeros[N] = {0}, huge[N] = {0};
    open_path(&p);
    converge(&p, 2, 1, end);
    for (int n = 0; n < N; n++)
        p.average[n] = p.weights[n] = (float)n;
    assert_false(propose(&p, DM_PROPOSAL_NONE, rules, 20));
    /* two snapshots are too few, equal ones have no direction, an overflow is no proposal */
    assert_false(propose(&p, DM_PROPOSAL_EXTRAPOLATE, rules, 20));
    dm_snapshots_clear(&p.s);
    assert_false(propose(&p, DM_PROPOSAL_SHIFT, rules, 20));
    for (int t = 0; t < KEPT; t++)
        snapshot(&p, zeros);
    assert_false(propose(&p, DM_PROPOSAL_EXTRAPOLATE, rules, 20));
    huge[N - 1] = 3e38f;
    snapshot(&p, zeros);
    snapshot(&p, huge);
    assert_false(propose(&p, DM_PROPOSAL_SHIFT, rules, 80));
    close_path(&p);
}

/* ---- What they are worth ---- */

static void a_gain_is_worth_the_steps_that_would_bring_it(void **state)
{
    (void)state;
    dm_pace p = {0};
    assert_int_equal(dm_pace_worth(&p, 2, 1, 40), 0); /* nothing is known */
    dm_pace_see(&p, 100, 2);
    assert_int_equal(dm_pace_worth(&p, 2, 1, 40), 0);
    dm_pace_see(&p, 105, 1.9); /* too early to tell */
    assert_int_equal(p.known, 0);
    dm_pace_see(&p, 120, 2 * exp(-0.2)); /* 1% a step */
    assert_near(p.pace, 0.01, 1e-12);
    assert_int_equal(dm_pace_worth(&p, 1, exp(-0.255), 40), 25);
    assert_int_equal(dm_pace_worth(&p, 1, exp(-0.9), 40), 40);
    assert_int_equal(dm_pace_worth(&p, 1, exp(-0.0001), 40), 0);
    assert_int_equal(dm_pace_worth(&p, 1, 1, 40), 0);
    assert_int_equal(dm_pace_worth(&p, 1, NAN, 40), 0);
    dm_pace_stand(&p, 160, 1); /* a jump: what came by it is no pace */
    assert_near(p.pace, 0.01, 1e-12);
    dm_pace_see(&p, 170, exp(-0.3)); /* 3% a step: the mean of both */
    assert_near(p.pace, 0.02, 1e-12);
    dm_pace_back(&p, 165);
    dm_pace_see(&p, 180, 0.1); /* the look at 170 was undone: nothing to compare with */
    assert_near(p.pace, 0.02, 1e-12);
    dm_pace_see(&p, 200, NAN);
    dm_pace_see(&p, 200, 0.1 * exp(1)); /* the loss rises: any fall is worth all */
    assert_true(p.pace < 0);
    assert_int_equal(dm_pace_worth(&p, 1, 0.999, 40), 40);
}

DM_TESTS("train/predict/proposal", DM_TEST(rewards_as_stated), DM_TEST(arms_are_kinds_and_lengths),
         DM_TEST(score_by_hand), DM_TEST(inputs_have_length_one),
         DM_TEST(learns_which_arm_is_best_where), DM_TEST(choices_are_the_same_for_the_same_seed),
         DM_TEST(extrapolation_finds_the_end_of_a_geometric_path), DM_TEST(coefficients_sum_to_one),
         DM_TEST(a_straight_path_needs_the_regularisation),
         DM_TEST(shift_goes_on_along_the_average),
         DM_TEST(nesterov_begins_anew_from_the_moved_average),
         DM_TEST(what_cannot_be_made_is_no_proposal),
         DM_TEST(a_gain_is_worth_the_steps_that_would_bring_it))
