/* SPDX-License-Identifier: MIT */
/* test_phase.c - each transition of the predictive trainer, driven by exactly what it hangs on. */
#include "tests/support/test.h"
#include "train/predict/phase.h"

#include <math.h>
#include <string.h>

static const dm_predict_view sure = {0.95, false, 0}, unsure = {0.5, false, 0},
                             warned = {0.95, true, 0};

static dm_predict_decision decide(dm_predict_phases *p, const dm_predict_view *view)
{
    return dm_predict_decide(p, &dm_predict_rules_default, view);
}

static void check(dm_predict_decision d, dm_predict_phase phase, uint64_t steps)
{
    if (d.phase != phase || d.steps != steps)
        fail_msg("%s of %llu steps, not %s of %llu", dm_predict_phase_names[d.phase],
                 (unsigned long long)d.steps, dm_predict_phase_names[phase],
                 (unsigned long long)steps);
}

static void finish(dm_predict_phases *p)
{
    while (p->left > 0)
        dm_predict_phases_step(p);
}

/* After the warm-up and the first FULL, which do not ask for confidence. */
static dm_predict_phases settled(void)
{
    dm_predict_phases p;
    dm_predict_phases_init(&p);
    for (int i = 0; i < 2; i++) {
        decide(&p, &sure);
        finish(&p);
    }
    return p;
}

static void begins_with_a_warm_up_of_100_steps(void **state)
{
    (void)state;
    dm_predict_phases p;
    dm_predict_phases_init(&p);
    check(decide(&p, &sure), DM_PHASE_WARMUP, 100);
    for (int i = 0; i < 99; i++)
        dm_predict_phases_step(&p);
    assert_int_equal(p.left, 1);
    dm_predict_phases_step(&p);
    assert_int_equal(p.left, 0);
    assert_int_equal(p.steps[DM_PHASE_WARMUP], 100);
}

static void first_decision_after_it_is_full_whatever_the_confidence(void **state)
{
    (void)state;
    dm_predict_phases p;
    dm_predict_phases_init(&p);
    decide(&p, &sure);
    finish(&p);
    check(decide(&p, &sure), DM_PHASE_FULL, 20);
}

static void without_a_warm_up_full_is_first(void **state)
{
    (void)state;
    dm_predict_rules rules = dm_predict_rules_default;
    rules.warmup_steps = 0;
    dm_predict_phases p;
    dm_predict_phases_init(&p);
    check(dm_predict_decide(&p, &rules, &sure), DM_PHASE_FULL, 20);
}

static void full_goes_on_without_confidence(void **state)
{
    (void)state;
    dm_predict_phases p = settled();
    check(decide(&p, &unsure), DM_PHASE_FULL, 20);
    finish(&p);
    check(decide(&p, &(dm_predict_view){0.8499, false, 0}), DM_PHASE_FULL, 20);
    finish(&p);
    check(decide(&p, &(dm_predict_view){NAN, false, 0}), DM_PHASE_FULL, 20);
}

static void full_to_predict_at_085(void **state)
{
    (void)state;
    dm_predict_phases p = settled();
    check(decide(&p, &(dm_predict_view){0.85, false, 0}), DM_PHASE_PREDICT, 11);
}

static void predict_is_always_followed_by_five_steps_of_correct(void **state)
{
    (void)state;
    const dm_predict_view *views[] = {&sure, &unsure, &warned};
    for (int i = 0; i < 3; i++) {
        dm_predict_phases p = settled();
        decide(&p, &sure);
        finish(&p);
        check(decide(&p, views[i]), DM_PHASE_CORRECT, 5);
    }
}

static void correct_to_predict_when_confident(void **state)
{
    (void)state;
    dm_predict_phases p = settled();
    for (int i = 0; i < 2; i++) {
        decide(&p, &sure);
        finish(&p);
    }
    assert_int_equal(p.phase, DM_PHASE_CORRECT);
    assert_int_equal(decide(&p, &sure).phase, DM_PHASE_PREDICT);
    assert_int_equal(p.in_row, 2);
}

static void correct_to_full_when_not_and_the_count_begins_anew(void **state)
{
    (void)state;
    dm_predict_phases p = settled();
    for (int i = 0; i < 2; i++) {
        decide(&p, &sure);
        finish(&p);
    }
    check(decide(&p, &unsure), DM_PHASE_FULL, 20);
    assert_int_equal(p.in_row, 0);
}

static void five_predictions_in_a_row_at_most(void **state)
{
    (void)state;
    dm_predict_phases p = settled();
    for (int i = 0; i < 5; i++) {
        assert_int_equal(decide(&p, &sure).phase, DM_PHASE_PREDICT);
        finish(&p);
        assert_int_equal(decide(&p, &sure).phase, DM_PHASE_CORRECT);
        finish(&p);
    }
    check(decide(&p, &sure), DM_PHASE_FULL, 20);
    finish(&p);
    assert_int_equal(decide(&p, &sure).phase, DM_PHASE_PREDICT);
}

/* clamp(15 conf^2 (1 - min(0.1 in a row, 0.5)), 10, 15) */
/* 20, 40, 80, 160, 160 real steps after so many refusals; one that is accepted ends it. */
static void refused_proposals_make_the_next_ones_rarer(void **state)
{
    (void)state;
    dm_predict_phases p = settled();
    static const uint64_t lengths[] = {40, 80, 160, 160};
    for (int i = 0; i < 4; i++) {
        check(decide(&p, &sure), DM_PHASE_PREDICT, 14);
        dm_predict_phases_answer(&p, false);
        dm_predict_phases_cut(&p);
        check(decide(&p, &sure), DM_PHASE_CORRECT, 5);
        finish(&p);
        check(decide(&p, &sure), DM_PHASE_FULL, lengths[i]);
        finish(&p);
    }
    check(decide(&p, &sure), DM_PHASE_PREDICT, 14);
    dm_predict_phases_answer(&p, true);
    dm_predict_phases_cut(&p);
    check(decide(&p, &sure), DM_PHASE_CORRECT, 5);
    finish(&p);
    assert_int_equal(decide(&p, &sure).phase, DM_PHASE_PREDICT); /* no FULL between */
    finish(&p);
    check(decide(&p, &sure), DM_PHASE_CORRECT, 5);
    finish(&p);
    check(decide(&p, &unsure), DM_PHASE_FULL, 20);
}

static void length_of_a_prediction(void **state)
{
    (void)state;
    const dm_predict_rules *r = &dm_predict_rules_default;
    assert_int_equal(dm_predict_length(r, 1, 0), 15);
    assert_int_equal(dm_predict_length(r, 0.9, 0), 12);
    assert_int_equal(dm_predict_length(r, 0.9, 1), 11);
    assert_int_equal(dm_predict_length(r, 0.5, 0), 10);
    assert_int_equal(dm_predict_length(r, 1, 3), 11);
    dm_predict_rules wide = *r;
    wide.predict_least = 1;
    wide.predict_most = 100;
    assert_int_equal(dm_predict_length(&wide, 1, 5), 50);
    assert_int_equal(dm_predict_length(&wide, 1, 9), 50);
    assert_int_equal(dm_predict_length(&wide, 0.1, 0), 1);
}

static void the_bandit_may_choose_the_length(void **state)
{
    (void)state;
    dm_predict_phases p = settled();
    check(decide(&p, &(dm_predict_view){0.95, false, 40}), DM_PHASE_PREDICT, 40);
}

static void a_warning_doubles_full_and_forbids_predictions(void **state)
{
    (void)state;
    dm_predict_phases p = settled();
    check(decide(&p, &warned), DM_PHASE_FULL, 40);
}

static void a_cut_ends_the_phase_now(void **state)
{
    (void)state;
    dm_predict_phases p = settled();
    decide(&p, &sure);
    dm_predict_phases_step(&p);
    dm_predict_phases_cut(&p);
    assert_int_equal(p.left, 0);
    assert_int_equal(p.steps[DM_PHASE_PREDICT], 1);
    check(decide(&p, &sure), DM_PHASE_CORRECT, 5);
}

static void rules_out_of_order_are_refused(void **state)
{
    (void)state;
    dm_error err = {0};
    assert_ok(dm_predict_rules_check(&dm_predict_rules_default, err));
    dm_predict_rules rules = dm_predict_rules_default;
    rules.predict_least = 20;
    assert_int_equal(dm_predict_rules_check(&rules, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "predict_least is 20, above predict_most, which is 15"));
    rules = dm_predict_rules_default;
    rules.monitor_loss_critical = 2.5;
    assert_int_equal(dm_predict_rules_check(&rules, &err), DM_EINVAL);
}

DM_TESTS("train/predict/phase", DM_TEST(begins_with_a_warm_up_of_100_steps),
         DM_TEST(first_decision_after_it_is_full_whatever_the_confidence),
         DM_TEST(without_a_warm_up_full_is_first), DM_TEST(full_goes_on_without_confidence),
         DM_TEST(full_to_predict_at_085),
         DM_TEST(predict_is_always_followed_by_five_steps_of_correct),
         DM_TEST(correct_to_predict_when_confident),
         DM_TEST(correct_to_full_when_not_and_the_count_begins_anew),
         DM_TEST(five_predictions_in_a_row_at_most),
         DM_TEST(refused_proposals_make_the_next_ones_rarer), DM_TEST(length_of_a_prediction),
         DM_TEST(the_bandit_may_choose_the_length),
         DM_TEST(a_warning_doubles_full_and_forbids_predictions), DM_TEST(a_cut_ends_the_phase_now),
         DM_TEST(rules_out_of_order_are_refused))
