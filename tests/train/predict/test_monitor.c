/* SPDX-License-Identifier: MIT */
/* test_monitor.c - confidence, and each threshold of the divergence monitor from both sides. */
#include "tests/support/test.h"
#include "train/predict/confidence.h"
#include "train/predict/monitor.h"

#include <math.h>

static const dm_predict_rules *const rules = &dm_predict_rules_default;

/* ---- Confidence ---- */

static void confidence_is_a_weighted_sum(void **state)
{
    (void)state;
    dm_predict_confidence c;
    dm_predict_confidence_init(&c);
    dm_predict_confidence_loss(&c, rules, 2);
    assert_near(dm_predict_confidence_value(&c, rules, 0), 0.4 + 0.28 + 0.2, 1e-12);
    assert_near(dm_predict_confidence_value(&c, rules, 1), 0.2 + 0.28 + 0.2, 1e-12);
    assert_near(dm_predict_confidence_value(&c, rules, INFINITY), 0.28 + 0.2, 1e-12);
    assert_near(dm_predict_confidence_value(&c, rules, NAN), 0.28 + 0.2, 1e-12);
}

static void history_counts_from_ten_errors_on_and_the_last_fifty(void **state)
{
    (void)state;
    dm_predict_confidence c;
    dm_predict_confidence_init(&c);
    for (int i = 0; i < 9; i++)
        dm_predict_confidence_error(&c, 1);
    assert_near(dm_predict_history(&c, rules), 0.7, 1e-12);
    dm_predict_confidence_error(&c, 1);
    assert_near(dm_predict_history(&c, rules), 0.5, 1e-12);
    for (int i = 0; i < 25; i++)
        dm_predict_confidence_error(&c, 3);
    assert_near(dm_predict_history(&c, rules), 1 / (1 + (10 + 75) / 35.0), 1e-12);
    for (int i = 0; i < 50; i++)
        dm_predict_confidence_error(&c, 0);
    assert_near(dm_predict_history(&c, rules), 0.99, 1e-12);
    dm_predict_confidence_error(&c, NAN);
    assert_true(dm_predict_history(&c, rules) < 1e-6);
}

static void stability_compares_two_averages(void **state)
{
    (void)state;
    dm_predict_confidence c;
    dm_predict_confidence_init(&c);
    assert_near(dm_predict_stability(&c), 0.5, 1e-12);
    dm_predict_confidence_loss(&c, rules, 1);
    assert_near(dm_predict_stability(&c), 1, 1e-12);
    dm_predict_confidence_loss(&c, rules, 2);
    double fast = 1.25, slow = 1 + 1 / 64.0;
    assert_near(dm_predict_stability(&c), 1 / (1 + 2 * (fast - slow) / slow), 1e-12);
    dm_predict_confidence_loss(&c, rules, 100);
    assert_near(dm_predict_stability(&c), 0.5, 1e-12);
    double before = c.fast;
    dm_predict_confidence_loss(&c, rules, NAN);
    assert_near(c.fast, before, 0);
}

/* ---- Monitor ---- */

static dm_monitor_verdict step(dm_monitor *m, double loss, double norm)
{
    return dm_monitor_step(m, rules, &(dm_monitor_sample){loss, norm, NAN});
}

/* 90 losses, 45 times 1.01, 0.99 in pairs, so that they turn at every second step only; norms of 1. */
static dm_monitor quiet(void)
{
    dm_monitor m;
    dm_monitor_init(&m);
    for (int i = 0; i < 90; i++)
        assert_int_equal(step(&m, i / 2 % 2 == 0 ? 1.01 : 0.99, 1).level, DM_MONITOR_FINE);
    return m;
}

static void loss_above_its_average(void **state)
{
    (void)state;
    static const struct {
        double deviations;
        dm_monitor_level level;
    } cases[] = {{2.0, DM_MONITOR_FINE},    {2.2, DM_MONITOR_CAUTION}, {2.9, DM_MONITOR_CAUTION},
                 {3.1, DM_MONITOR_WARNING}, {5.9, DM_MONITOR_WARNING}, {6.1, DM_MONITOR_CRITICAL},
                 {-50, DM_MONITOR_FINE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_monitor m = quiet();
        double loss = m.loss_average + cases[i].deviations * dm_monitor_deviation(&m);
        assert_int_equal(step(&m, loss, 1).level, cases[i].level);
    }
}

static void a_short_window_has_no_deviation(void **state)
{
    (void)state;
    dm_monitor m;
    dm_monitor_init(&m);
    for (int i = 0; i < 19; i++)
        step(&m, 1 + i % 2, 1);
    assert_int_equal(step(&m, 1000, 1).level, DM_MONITOR_FINE);
}

static void gradient_norm_over_its_baseline(void **state)
{
    (void)state;
    static const struct {
        double norm;
        dm_monitor_level level;
    } cases[] = {{99, DM_MONITOR_FINE},     {101, DM_MONITOR_WARNING},
                 {999, DM_MONITOR_WARNING}, {1001, DM_MONITOR_CRITICAL},
                 {0.011, DM_MONITOR_FINE},  {0.009, DM_MONITOR_WARNING},
                 {-1, DM_MONITOR_FINE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_monitor m = quiet();
        assert_int_equal(step(&m, 1, cases[i].norm).level, cases[i].level);
    }
}

static void small_gradients_of_a_converged_run_are_fine(void **state)
{
    (void)state;
    dm_monitor m = quiet();
    assert_int_equal(step(&m, 0.4, 0.001).level, DM_MONITOR_FINE);
    assert_int_equal(step(&m, 0.9, 0.001).level, DM_MONITOR_WARNING);
}

static void the_baseline_is_of_the_first_fifty_norms(void **state)
{
    (void)state;
    dm_monitor m;
    dm_monitor_init(&m);
    for (int i = 0; i < 49; i++)
        step(&m, 1, 2);
    assert_int_equal(step(&m, 1, 1e9).level, DM_MONITOR_FINE); /* there is none yet */
    dm_monitor_init(&m);
    for (int i = 0; i < 50; i++)
        step(&m, 1, i < 25 ? 1 : 3);
    assert_near(m.baseline, 2, 1e-12);
    step(&m, 1, 50);
    assert_near(m.baseline, 2, 1e-12);
}

static void what_is_no_number_is_critical_and_not_taken_in(void **state)
{
    (void)state;
    const double bad[][2] = {{NAN, 1}, {INFINITY, 1}, {1, NAN}, {1, INFINITY}};
    for (int i = 0; i < 4; i++) {
        dm_monitor m = quiet();
        double average = m.loss_average;
        assert_int_equal(step(&m, bad[i][0], bad[i][1]).level, DM_MONITOR_CRITICAL);
        assert_near(m.loss_average, average, 0);
        assert_int_equal(m.losses, 90);
    }
}

static void error_of_a_prediction(void **state)
{
    (void)state;
    static const struct {
        double predicted;
        dm_monitor_level level;
    } cases[] = {{0.81, DM_MONITOR_FINE},
                 {1.21, DM_MONITOR_CAUTION},
                 {0.51, DM_MONITOR_CAUTION},
                 {1.51, DM_MONITOR_CAUTION}, /* the loss is below it */
                 {0.49, DM_MONITOR_WARNING}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_monitor m = quiet();
        dm_monitor_sample sample = {1, 1, cases[i].predicted};
        assert_int_equal(dm_monitor_step(&m, rules, &sample).level, cases[i].level);
    }
}

/* Losses that turn at `turns` of 98 places; the deviation stays the same. */
static dm_monitor turning(int turns)
{
    dm_monitor m;
    dm_monitor_init(&m);
    double loss = 1, direction = -0.01; /* down in the end: no loss is far above the average */
    for (int i = 0; i < 100; i++) {
        step(&m, loss, 1);
        m.warnings = 0;
        if (i >= 1 && i <= turns)
            direction = -direction;
        loss += direction;
    }
    return m;
}

static void share_of_turns(void **state)
{
    (void)state;
    dm_monitor m = turning(48);
    assert_near(dm_monitor_turns(&m), 48 / 98.0, 1e-12);
    m = turning(50);
    assert_int_equal(step(&m, m.loss_average, 1).level, DM_MONITOR_CAUTION);
    m = turning(80);
    assert_int_equal(step(&m, m.loss_average, 1).level, DM_MONITOR_WARNING);
}

static void three_warnings_in_a_row_are_critical(void **state)
{
    (void)state;
    dm_monitor m = quiet();
    assert_int_equal(step(&m, 1, 200).level, DM_MONITOR_WARNING);
    assert_int_equal(step(&m, 1, 200).level, DM_MONITOR_WARNING);
    assert_int_equal(step(&m, 1, 200).level, DM_MONITOR_CRITICAL);
    m = quiet();
    step(&m, 1, 200);
    step(&m, 1, 200);
    assert_int_equal(step(&m, 1, 1).level, DM_MONITOR_FINE);
    assert_int_equal(step(&m, 1, 200).level, DM_MONITOR_WARNING);
    dm_monitor_calm(&m);
    step(&m, 1, 200);
    assert_int_equal(step(&m, 1, 200).level, DM_MONITOR_WARNING);
}

static void forecasts_alone_blame_the_forecast(void **state)
{
    (void)state;
    const dm_monitor_sample missed = {1, 1, 0.4}, norm = {1, 200, NAN}, both = {1, 200, 0.4};
    const struct {
        dm_monitor_sample samples[3];
        bool forecasts;
    } cases[] = {{{missed, missed, missed}, true},
                 {{missed, norm, missed}, false},
                 {{missed, missed, both}, false},
                 {{norm, norm, norm}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_monitor m = quiet();
        dm_monitor_verdict v = {0};
        for (int k = 0; k < 3; k++)
            v = dm_monitor_step(&m, rules, &cases[i].samples[k]);
        assert_int_equal(v.level, DM_MONITOR_CRITICAL);
        assert_int_equal(v.forecasts, cases[i].forecasts);
    }
}

static void a_rollback_lowers_the_rate_for_a_while(void **state)
{
    (void)state;
    dm_monitor_rate rate;
    dm_monitor_rate_init(&rate);
    assert_near(dm_monitor_rate_value(&rate, rules), 1, 0);
    dm_monitor_rate_lower(&rate, rules);
    assert_near(dm_monitor_rate_value(&rate, rules), 0.5, 0);
    for (int i = 0; i < 50; i++)
        dm_monitor_rate_step(&rate);
    assert_near(dm_monitor_rate_value(&rate, rules), 0.75, 1e-12);
    dm_monitor_rate_lower(&rate, rules);
    assert_near(dm_monitor_rate_value(&rate, rules), 0.375, 1e-12);
    for (int i = 0; i < 100; i++)
        dm_monitor_rate_step(&rate);
    assert_near(dm_monitor_rate_value(&rate, rules), 1, 0);
}

/* The averages keep 0.99 of themselves: after a step up, 0.99^n of it is still to come. */
static void averages_follow_slowly(void **state)
{
    (void)state;
    dm_monitor m;
    dm_monitor_init(&m);
    (void)step(&m, 1, 1);
    for (int n = 1; n <= 9; n++) { /* a window this short judges no loss */
        (void)step(&m, 1.5, 3);
        assert_near(m.loss_average, 1.5 - 0.5 * pow(0.99, n), 1e-12);
        assert_near(m.norm_average, 3 - 2 * pow(0.99, n), 1e-12);
    }
}

DM_TESTS("train/predict/monitor", DM_TEST(confidence_is_a_weighted_sum),
         DM_TEST(history_counts_from_ten_errors_on_and_the_last_fifty),
         DM_TEST(stability_compares_two_averages), DM_TEST(loss_above_its_average),
         DM_TEST(a_short_window_has_no_deviation), DM_TEST(averages_follow_slowly),
         DM_TEST(gradient_norm_over_its_baseline),
         DM_TEST(small_gradients_of_a_converged_run_are_fine),
         DM_TEST(the_baseline_is_of_the_first_fifty_norms),
         DM_TEST(what_is_no_number_is_critical_and_not_taken_in), DM_TEST(error_of_a_prediction),
         DM_TEST(share_of_turns), DM_TEST(three_warnings_in_a_row_are_critical),
         DM_TEST(forecasts_alone_blame_the_forecast),
         DM_TEST(a_rollback_lowers_the_rate_for_a_while))
