/* SPDX-License-Identifier: MIT */
/* test_predictive.c - whole runs that predict, on a small regression: what a proposal, a rejection,
 * an undone jump and a rollback do to every bit of the model. */
#include "tests/support/test.h"
#include "tests/train/predict/predictive_case.h"

#include <math.h>
#include <string.h>

/* ---- Proposals need a forecast ---- */

static void nothing_is_proposed_before_the_ensemble_can_forecast(void **state)
{
    (void)state;
    bed t;
    dm_predict_rules rules = bed_rules();
    rules.warmup_steps = 5; /* the ensemble is fitted after 50 */
    rules.confidence_needed = 0;
    bed_open(&t, &rules);
    while (dm_predictive_counts(t.predictive)->backward < 50) {
        bed_turn(&t, 200);
        assert_int_equal(dm_predictive_counts(t.predictive)->proposed, 0);
    }
    bed_run_to(&t, 200);
    assert_true(dm_predictive_counts(t.predictive)->proposed > 0);
    bed_close(&t);
}

/* The shipped ensemble is ready at once; with the rule ensemble_pretrained off a new one is made. */
static void a_pretrained_ensemble_is_ready_at_once(void **state)
{
    (void)state;
    for (int pretrained = 0; pretrained < 2; pretrained++) {
        bed t;
        dm_predict_rules rules = bed_rules();
        rules.warmup_steps = 20;
        rules.confidence_needed = 0;
        rules.ensemble_pretrained = (uint64_t)pretrained;
        bed_open_with(&t, &rules, 0.003, predictive_shipped());
        while (dm_predictive_counts(t.predictive)->backward < 45)
            bed_turn(&t, 200);
        assert_int_equal(dm_predictive_counts(t.predictive)->proposed > 0, pretrained);
        bed_close(&t);
    }
}

/* It knows how runs go on: closer from the first forecasts on than an ensemble that begins. */
static void a_pretrained_ensemble_forecasts_better(void **state)
{
    (void)state;
    double error[2];
    for (int pretrained = 0; pretrained < 2; pretrained++) {
        bed t;
        dm_predict_rules rules = bed_rules();
        rules.confidence_needed = 1.1; /* no jumps */
        bed_open_with(&t, &rules, 0.003, pretrained ? predictive_shipped() : NULL);
        bed_run_to(&t, 600);
        const dm_predict_counts *c = dm_predictive_counts(t.predictive);
        error[pretrained] = c->error_sum / (double)c->errors;
        bed_close(&t);
    }
    if (!(error[1] < 0.9 * error[0]))
        fail_msg("mean error of the next loss %g, of a new ensemble %g", error[1], error[0]);
}

/* ---- Acceptance and verdicts ---- */

static void an_accepted_proposal_changes_weights_and_stands_for_steps(void **state)
{
    (void)state;
    predictive_accepts("cpu:1");
}

static void refused_proposals_make_the_next_ones_rarer(void **state)
{
    (void)state;
    predictive_refuses_rarer("cpu:1");
}

/* ---- Rollback ---- */

static void a_strange_batch_costs_one_look(void **state)
{
    (void)state;
    predictive_looks_again("cpu:1");
}

static void a_run_that_always_diverges_stops_and_says_so(void **state)
{
    (void)state;
    dm_predict_rules rules = bed_rules();
    bed t;
    bed_open(&t, &rules);
    t.planted = 80;
    t.rate = 1e20; /* the weights leave what floats hold */
    dm_error err = {0};
    dm_status status = DM_OK;
    for (int i = 0; i < 2000 && status == DM_OK; i++) {
        dm_predict_turn got;
        status = dm_predictive_turn(t.predictive, 1000, &got, &err);
    }
    assert_int_equal(status, DM_EINVAL);
    assert_non_null(strstr(err.message, "diverges"));
    bed_close(&t);
}

/* A monitor that takes every step for a divergence costs the run some steps, not its end. */
static void a_monitor_that_is_wrong_leaves_a_plain_run(void **state)
{
    (void)state;
    enum { STEPS = 600 };
    dm_predict_rules rules = bed_rules();
    bed plain, t;
    rules.confidence_needed = 1.1;
    bed_open(&plain, &rules);
    double want = bed_final_loss(&plain, STEPS);
    bed_close(&plain);
    rules.confidence_needed = 0;
    rules.monitor_norm_critical = rules.monitor_norm_warning = 0.02; /* any norm */
    bed_open(&t, &rules);
    bool said = false;
    while (dm_predictive_progress(t.predictive) < STEPS) {
        dm_predict_turn got = bed_turn(&t, STEPS);
        const dm_predict_counts *c = dm_predictive_counts(t.predictive);
        said = said || (got.rolled_back && c->plain_from > 0);
        assert_true(c->plain_from == 0 || !got.proposed);
    }
    assert_true(said);
    const dm_predict_counts *c = dm_predictive_counts(t.predictive);
    assert_int_equal(c->rollbacks, rules.monitor_tries + 1);
    assert_true(c->backward <= STEPS + (rules.monitor_tries + 1) * 2 * rules.monitor_checkpoint);
    double got = bed_final_loss(&t, STEPS);
    if (!(got <= 1.01 * want))
        fail_msg("%g, without a monitor %g", got, want);
    bed_close(&t);
}

/* Forecasts that are far off, while the run itself is fine: the jump is undone before its time, the
 * rate stays as it was. */
static void a_forecast_that_fails_costs_the_jump_alone(void **state)
{
    (void)state;
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 0;
    rules.monitor_error_caution = rules.monitor_error_warning = 1e-6; /* any loss above it */
    rules.monitor_warnings = 2;
    bed_open(&t, &rules);
    t.lie = true;
    bool early = false;
    while (dm_predictive_progress(t.predictive) < 2000 && !early) {
        uint64_t undone = dm_predictive_counts(t.predictive)->undone;
        dm_predict_turn got = bed_turn(&t, 3000);
        early = got.level == DM_MONITOR_CRITICAL && got.judged;
        assert_true(!early || dm_predictive_counts(t.predictive)->undone == undone + 1);
    }
    assert_true(early);
    assert_int_equal(dm_predictive_counts(t.predictive)->rollbacks, 0);
    bed_close(&t);
}

/* ---- Checkpoints ---- */

static void damaged_states_are_refused(void **state)
{
    (void)state;
    dm_predict_rules rules = bed_rules();
    bed t;
    dm_error err = {0};
    dm_predict_part parts[DM_PREDICT_PARTS_MAX];
    size_t count;
    bed_open(&t, &rules);
    assert_ok(dm_predictive_parts(t.predictive, parts, &count, err));
    memset(parts[0].data, 0xff, parts[0].size);
    assert_int_equal(dm_predictive_loaded(t.predictive, &err), DM_EFORMAT);
    bed_close(&t);
}

/* ---- What holds on every device ---- */

static void a_thousand_rejected_proposals_leave_every_bit(void **state)
{
    (void)state;
    predictive_rejects("cpu:1", 1000);
}

static void a_jump_that_was_wrong_is_undone_to_the_bit(void **state)
{
    (void)state;
    predictive_undoes("cpu:1");
}

static void a_planted_divergence_is_rolled_back(void **state)
{
    (void)state;
    predictive_rolls_back("cpu:1", 5);
}

static void a_resumed_run_makes_the_same_bits(void **state)
{
    (void)state;
    predictive_resumes("cpu:1");
}

/* ---- The end ---- */

static void a_run_ends_at_its_last_step_with_nothing_unjudged(void **state)
{
    (void)state;
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 0;
    bed_open(&t, &rules);
    t.lie = true;
    bed_run_to(&t, 400);
    assert_int_equal(dm_predictive_progress(t.predictive), 400);
    const dm_predict_counts *c = dm_predictive_counts(t.predictive);
    assert_true(c->accepted > 0);
    assert_true(c->backward < 400 + 20 * (c->undone + 1));
    bed_close(&t);
}

DM_TESTS("train/predict/predictive", DM_TEST(nothing_is_proposed_before_the_ensemble_can_forecast),
         DM_TEST(a_pretrained_ensemble_is_ready_at_once),
         DM_TEST(a_pretrained_ensemble_forecasts_better),
         DM_TEST(a_thousand_rejected_proposals_leave_every_bit),
         DM_TEST(an_accepted_proposal_changes_weights_and_stands_for_steps),
         DM_TEST(refused_proposals_make_the_next_ones_rarer),
         DM_TEST(a_jump_that_was_wrong_is_undone_to_the_bit),
         DM_TEST(a_planted_divergence_is_rolled_back), DM_TEST(a_strange_batch_costs_one_look),
         DM_TEST(a_run_that_always_diverges_stops_and_says_so),
         DM_TEST(a_monitor_that_is_wrong_leaves_a_plain_run),
         DM_TEST(a_forecast_that_fails_costs_the_jump_alone),
         DM_TEST(a_resumed_run_makes_the_same_bits), DM_TEST(damaged_states_are_refused),
         DM_TEST(a_run_ends_at_its_last_step_with_nothing_unjudged))
