/* SPDX-License-Identifier: MIT */
/* test_decide.c - rules of a sweep on recorded curves: which runs go on, what that costs, and when
 * forecasts are refused. */
#include "tests/support/test.h"
#include "train/sweep/replay.h"

#include "base/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKS = 20 };

/* Runs whose loss falls as a power of the step to a floor of their own. `kind` 1 is another task:
 * what falls fast at first ends high. */
static dm_sweep_curves pool_of(size_t count, uint64_t seed, int kind)
{
    dm_sweep_curves pool = {0};
    for (size_t i = 0; i < count; i++) {
        dm_philox4 r = dm_random4(seed, 5, i);
        double u = (double)dm_random_unit(r.v[0]), v = (double)dm_random_unit(r.v[1]);
        double values[CHECKS], end = 0.1 + 0.9 * u, speed = 0.6 + 0.8 * v;
        for (size_t c = 0; c < CHECKS; c++) {
            double t = (double)(c + 1) / CHECKS, early = pow(0.05 / t, speed);
            double noise =
                1 + 0.004 * ((double)dm_random_unit(dm_random4(seed, 6 + i, c).v[0]) - 0.5);
            values[c] = kind == 0 ? (end + 2.2 * early * end) * noise
                                  : (3 - 2.5 * u - (2.4 - 2.3 * u) * pow(t, 3)) * noise;
        }
        assert_ok(dm_sweep_curves_add(
            &pool,
            &(dm_sweep_curve){
                .run = i, .checks = CHECKS, .count = CHECKS, .complete = true, .values = values},
            err));
    }
    return pool;
}

static dm_replay_result play(const dm_sweep_curves *pool, dm_sweep_rule rule,
                             const dm_sweep_rules *rules, const dm_sweep_curves *history)
{
    dm_replay_result r;
    assert_ok(dm_sweep_replay(pool, rule, rules, history, &r, err));
    return r;
}

static void all_costs_all_and_finds_the_best(void **state)
{
    (void)state;
    dm_sweep_curves pool = pool_of(64, 1, 0);
    dm_replay_result r = play(&pool, DM_SWEEP_ALL, &dm_sweep_rules_default, NULL);
    assert_true(r.cost == 64 && r.regret == 0);
    dm_sweep_curves_deinit(&pool);
}

/* 64 to 20%, 22 to 60%, 8 to the end: 12.8 + 8.8 + 3.2. */
static void halving_costs_24_8_of_64(void **state)
{
    (void)state;
    dm_sweep_curves pool = pool_of(64, 1, 0);
    dm_replay_result r = play(&pool, DM_SWEEP_HALVING, &dm_sweep_rules_default, NULL);
    assert_true(fabs(r.cost - 24.8) < 1e-9);
    assert_true(r.regret < 0.01);
    dm_sweep_curves_deinit(&pool);
}

static void a_late_bloomer_is_lost_by_halving(void **state)
{
    (void)state;
    dm_sweep_curves pool = pool_of(27, 1, 0);
    for (size_t c = 0; c < CHECKS; c++)
        pool.items[5].values[c] = c < CHECKS - 1 ? 9 : 0.01;
    assert_true(play(&pool, DM_SWEEP_HALVING, &dm_sweep_rules_default, NULL).regret > 1);
    assert_true(play(&pool, DM_SWEEP_ALL, &dm_sweep_rules_default, NULL).regret == 0);
    dm_sweep_curves_deinit(&pool);
}

static void one_run_is_not_halved_away(void **state)
{
    (void)state;
    for (size_t count = 1; count < 6; count++) {
        dm_sweep_curves pool = pool_of(count, 2, 0);
        assert_true(isfinite(play(&pool, DM_SWEEP_HALVING, &dm_sweep_rules_default, NULL).regret));
        dm_sweep_curves_deinit(&pool);
    }
}

/* While others are on their way to the cut, only floor(n / eta) of those that are there go on. */
static void workers_do_not_wait_and_do_not_promote_too_many(void **state)
{
    (void)state;
    dm_decider *d = NULL;
    dm_sweep_action a;
    double values[CHECKS] = {0};
    assert_ok(
        dm_decider_create(DM_SWEEP_HALVING, &dm_sweep_rules_default, 4, CHECKS, NULL, &d, err));
    for (size_t i = 0; i < 4; i++) {
        assert_ok(dm_decider_next(d, &a, err));
        assert_true(a.kind == DM_SWEEP_RUN && a.run == i && a.until == 4);
    }
    assert_ok(dm_decider_next(d, &a, err));
    assert_int_equal(a.kind, DM_SWEEP_WAIT);
    for (size_t i = 0; i < 3; i++) {
        assert_ok(dm_decider_next(d, &a, err));
        assert_int_equal(a.kind, DM_SWEEP_WAIT); /* of one or two none may go on */
        for (size_t c = 0; c < 4; c++)
            values[c] = 3 - (double)i;
        assert_ok(dm_decider_reached(d, i, values, err));
    }
    assert_ok(dm_decider_next(d, &a, err)); /* of three one: the best */
    assert_true(a.kind == DM_SWEEP_RUN && a.run == 2 && a.until == 12);
    assert_ok(dm_decider_next(d, &a, err));
    assert_int_equal(a.kind, DM_SWEEP_WAIT);
    dm_decider_failed(d, 3, "exit code 1");
    assert_ok(dm_decider_next(d, &a, err)); /* three are there, nothing more comes: one of them */
    assert_int_equal(a.kind, DM_SWEEP_WAIT);
    dm_decider_destroy(d);
}

static void runs_that_diverge_are_failed_and_never_win(void **state)
{
    (void)state;
    dm_sweep_curves pool = pool_of(9, 3, 0);
    for (size_t i = 0; i < 9; i += 2)
        pool.items[i].values[2] = NAN;
    dm_replay_result r = play(&pool, DM_SWEEP_HALVING, &dm_sweep_rules_default, NULL);
    assert_true(isfinite(r.regret));
    dm_sweep_curves_deinit(&pool);
}

static void forecasts_with_a_history_cost_less_than_halving(void **state)
{
    (void)state;
    dm_sweep_curves history = pool_of(128, 10, 0);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        dm_sweep_curves pool = pool_of(64, seed, 0);
        dm_replay_result r = play(&pool, DM_SWEEP_FORECAST, &dm_sweep_rules_default, &history);
        assert_true(r.forecasts);
        assert_true(r.cost < 24.8);
        assert_true(r.regret < 0.01);
        assert_true(r.calibration.coverage >= 0.75);
        dm_sweep_curves_deinit(&pool);
    }
    dm_sweep_curves_deinit(&history);
}

/* The same rules with curves of another task: the calibration refuses them, and what is left is
 * halving, with the calibration's runs on top. */
static void a_forecaster_of_another_task_is_refused(void **state)
{
    (void)state;
    dm_sweep_curves history = pool_of(128, 10, 1);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        dm_sweep_curves pool = pool_of(64, seed, 0);
        dm_replay_result r = play(&pool, DM_SWEEP_FORECAST, &dm_sweep_rules_default, &history);
        assert_false(r.forecasts);
        assert_true(r.regret < 0.01);
        dm_sweep_curves_deinit(&pool);
    }
    dm_sweep_curves_deinit(&history);
}

/* Six runs of a pool among the curves of a history. */
static double apart_from(const dm_sweep_curves *pool, const dm_sweep_curves *history)
{
    dm_final_forecaster *f = NULL;
    dm_final_calibration c;
    double logs[CHECKS];
    assert_ok(dm_final_forecaster_create(CHECKS, &f, err));
    for (size_t i = 0; i < history->count + 6; i++) {
        bool own = i >= history->count;
        const dm_sweep_curve *curve = own ? &pool->items[i - history->count] : &history->items[i];
        assert_true(dm_sweep_curve_logs(curve, CHECKS, logs));
        assert_ok(dm_final_forecaster_add(f, logs, own, err));
    }
    assert_ok(dm_final_calibrate(f, 1, &c, err));
    dm_final_forecaster_destroy(f);
    return c.apart;
}

/* Runs of another task lie beside the curves, not among them. */
static void runs_that_keep_apart_from_the_curves_are_not_forecast(void **state)
{
    (void)state;
    dm_sweep_curves other = pool_of(128, 10, 1), own = pool_of(128, 10, 0);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        dm_sweep_curves pool = pool_of(64, seed, 0);
        dm_sweep_rules rules = dm_sweep_rules_default;
        assert_true(apart_from(&pool, &other) > 0.7);
        assert_true(apart_from(&pool, &own) < 0.3);
        assert_true(play(&pool, DM_SWEEP_FORECAST, &rules, &own).forecasts);
        rules.apart = -1; /* now nothing is near enough */
        assert_false(play(&pool, DM_SWEEP_FORECAST, &rules, &own).forecasts);
        dm_sweep_curves_deinit(&pool);
    }
    dm_sweep_curves_deinit(&other);
    dm_sweep_curves_deinit(&own);
}

static void without_a_history_it_is_halving_and_the_reason_is_told(void **state)
{
    (void)state;
    dm_decider *d = NULL;
    dm_sweep_action a;
    assert_ok(
        dm_decider_create(DM_SWEEP_FORECAST, &dm_sweep_rules_default, 8, CHECKS, NULL, &d, err));
    assert_ok(dm_decider_next(d, &a, err));
    assert_int_equal(a.kind, DM_SWEEP_SWITCH);
    assert_false(a.forecasts);
    assert_string_equal(a.reason,
                        "halving alone: 0 complete curves to learn from, forecasts need 24");
    assert_ok(dm_decider_next(d, &a, err));
    assert_true(a.kind == DM_SWEEP_RUN && a.until == 4);
    dm_decider_destroy(d);
}

/* The band of a pool's own kind holds about as often as it says. */
static void bands_of_held_out_runs_hold(void **state)
{
    (void)state;
    dm_sweep_curves history = pool_of(128, 10, 0), pool = pool_of(64, 77, 0);
    dm_final_forecaster *f = NULL;
    double logs[CHECKS];
    size_t within = 0, count = 0;
    assert_ok(dm_final_forecaster_create(CHECKS, &f, err));
    for (size_t i = 0; i < history.count; i++) {
        assert_true(dm_sweep_curve_logs(&history.items[i], CHECKS, logs));
        assert_ok(dm_final_forecaster_add(f, logs, false, err));
    }
    for (size_t i = 0; i < pool.count; i++)
        for (size_t c = 1; c <= 12; c++) {
            double mean, deviation;
            assert_true(dm_sweep_curve_logs(&pool.items[i], CHECKS, logs));
            assert_ok(dm_final_forecast(f, logs, c, &mean, &deviation, err));
            within += fabs(logs[CHECKS - 1] - mean) <= DM_FINAL_BAND * deviation;
            count++;
        }
    assert_in_range(100 * within / count, 82, 97);
    dm_final_forecaster_destroy(f);
    dm_sweep_curves_deinit(&history);
    dm_sweep_curves_deinit(&pool);
}

DM_TESTS("train/sweep/decide", DM_TEST(all_costs_all_and_finds_the_best),
         DM_TEST(halving_costs_24_8_of_64), DM_TEST(a_late_bloomer_is_lost_by_halving),
         DM_TEST(one_run_is_not_halved_away),
         DM_TEST(workers_do_not_wait_and_do_not_promote_too_many),
         DM_TEST(runs_that_diverge_are_failed_and_never_win),
         DM_TEST(forecasts_with_a_history_cost_less_than_halving),
         DM_TEST(a_forecaster_of_another_task_is_refused),
         DM_TEST(runs_that_keep_apart_from_the_curves_are_not_forecast),
         DM_TEST(without_a_history_it_is_halving_and_the_reason_is_told),
         DM_TEST(bands_of_held_out_runs_hold))
