/* SPDX-License-Identifier: MIT */
/* test_turns.c - what single turns of a run that predicts leave behind: decisions, accepted proposals, verdicts and
 * rollbacks, looked at from the inside. */
#include "tests/support/test.h"
#include "tests/train/predict/predictive_case.h"
#include "train/predict/run/internal.h"

#include <math.h>
#include <string.h>

/* Until a proposal was accepted, which is the last turn; its progress before that. */
static uint64_t run_to_a_jump(bed *t)
{
    const dm_predict_counts *c = dm_predictive_counts(t->predictive);
    uint64_t accepted = c->accepted, before = 0;
    for (int i = 0; i < 20000 && c->accepted == accepted; i++) {
        before = dm_predictive_progress(t->predictive);
        bed_turn(t, 1000000);
    }
    assert_int_equal(c->accepted, accepted + 1);
    return before;
}

/* ---- Decisions ---- */

static void a_warning_counts_for_one_decision(void **state)
{
    (void)state;
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 0;
    bed_open(&t, &rules);
    while (dm_predictive_phases(t.predictive)->phase != DM_PHASE_FULL ||
           dm_predictive_phases(t.predictive)->left > 0)
        bed_turn(&t, 10000);
    t.predictive->c.warned = 1;
    assert_true(bed_turn(&t, 10000).decided);
    assert_int_equal(t.predictive->decision.phase, DM_PHASE_FULL);
    assert_int_equal(t.predictive->decision.steps, 2 * rules.full_steps);
    assert_string_equal(t.predictive->decision.reason, "the monitor warns");
    assert_int_equal(t.predictive->c.outlook.steps, 10); /* whose spread the confidence is of */
    while (dm_predictive_phases(t.predictive)->left > 0)
        assert_true(bed_turn(&t, 10000).level < DM_MONITOR_WARNING);
    bed_turn(&t, 10000);
    assert_int_equal(t.predictive->decision.phase, DM_PHASE_PREDICT);
    bed_close(&t);
}

static void nothing_is_proposed_while_a_verdict_is_open(void **state)
{
    (void)state;
    dm_predict_rules rules = bed_rules();
    bed t;
    int waited = 0;
    rules.confidence_needed = 0;
    rules.full_steps = 4; /* ends before the verdict */
    bed_open(&t, &rules);
    t.lie = true;
    for (int i = 0; i < 600; i++) {
        bool open = t.predictive->c.proposal.made != 0;
        dm_predict_turn got = bed_turn(&t, 1000000);
        assert_false(open && got.proposed);
        waited += got.decided && t.predictive->c.proposal.made &&
                  strcmp(t.predictive->decision.reason, "a proposal waits for its verdict") == 0;
    }
    assert_true(waited > 0);
    bed_close(&t);
}

/* ---- What the forecasts learn from ---- */

/* A real step after a forecast is an error for the confidence, a residual, and a lesson of the corrector. */
static void a_real_step_is_compared_with_its_forecast(void **state)
{
    (void)state;
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 1.1;
    bed_open_with(&t, &rules, 0.003, predictive_shipped());
    bed_run_to(&t, 40);
    const dm_predictive_core *c = &t.predictive->c;
    for (int i = 0; i < 5; i++) {
        dm_predictive_core before = *c;
        assert_true(c->has_next);
        double loss = bed_turn(&t, 1000).loss, error = loss - before.next_raw;
        assert_int_equal(c->confidence.error_count, before.confidence.error_count + 1);
        assert_near(c->confidence.errors[before.confidence.error_count % DM_CONFIDENCE_ERRORS],
                    fabs(error), 1e-12);
        assert_int_equal(c->corrector.taught, before.corrector.taught + 1);
        assert_near(
            t.predictive->residuals.entries[before.corrector.taught % DM_RESIDUALS_MAX].residual,
            error, 1e-12);
        assert_near(c->counts.error_sum - before.counts.error_sum, fabs(loss - before.next), 1e-9);
    }
    bed_close(&t);
}

/* CORRECT looks at the next batches: a forward pass each, an error each, and nothing of the model. */
static void correct_looks_and_changes_nothing(void **state)
{
    (void)state;
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 0;
    rules.bandit = 0;
    bed_open(&t, &rules);
    while (dm_predictive_phases(t.predictive)->phase != DM_PHASE_PREDICT)
        bed_turn(&t, 10000);
    const dm_predictive_core *c = &t.predictive->c;
    for (uint64_t i = 0; i < rules.correct_steps; i++) {
        dm_predictive_core before = *c;
        host_state was = bed_state(&t);
        dm_predict_turn got = bed_turn(&t, 10000);
        host_state is = bed_state(&t);
        assert_int_equal(got.phase, DM_PHASE_CORRECT);
        assert_true(isfinite(got.loss));
        assert_true(host_state_same(&was, &is));
        assert_near(c->counts.forward, before.counts.forward + 1, 0);
        assert_int_equal(c->counts.backward, before.counts.backward);
        assert_int_equal(c->confidence.error_count, before.confidence.error_count + 1);
        host_state_free(&was);
        host_state_free(&is);
    }
    bed_turn(&t, 10000);
    assert_int_equal(dm_predictive_phases(t.predictive)->phase, DM_PHASE_FULL);
    bed_close(&t);
}

/* ---- Accepted proposals ---- */

/* As many steps as would have lowered the held-out loss as far, and no more; the next pace counts from there, and the
 * path of snapshots begins anew. */
static void a_jump_stands_for_what_it_is_worth(void **state)
{
    (void)state;
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 0;
    rules.bandit = 0; /* shifts of the rule's own length */
    rules.predict_least = 2;
    rules.predict_most = 60;
    bed_open(&t, &rules);
    const dm_predictive *p = t.predictive;
    t.lie = true;
    t.gain = 0.0004; /* of the held-out loss; real steps bring 0.001 between two proposals */
    for (int jump = 0; jump < 3; jump++) {
        uint64_t before = run_to_a_jump(&t);
        double worth = log(p->proposed.before / p->proposed.after) / p->c.pace.pace;
        assert_true(p->c.pace.known && worth > 2 && worth < 30);
        assert_int_equal(dm_predictive_progress(p) - before, (uint64_t)worth);
        assert_int_equal(p->c.proposal.length, (uint64_t)worth);
        assert_int_equal(p->c.pace.at, dm_predictive_progress(p));
        assert_near(p->c.pace.loss, p->proposed.after, 0);
        assert_int_equal(dm_snapshots_held(&p->snapshots), 0);
    }
    bed_close(&t);
}

/* ---- Verdicts ---- */

/* After so many real steps, whether it is undone or not; the arm is paid by what came of it. */
static void a_verdict_comes_after_its_steps_and_pays_the_arm(void **state)
{
    (void)state;
    for (int undo = 0; undo < 2; undo++) {
        dm_predict_rules rules = bed_rules();
        bed t;
        rules.confidence_needed = 0;
        rules.proposal_momentum = undo ? 10 : 0.01;
        rules.bandit_explore = 1; /* all kinds and lengths */
        rules.monitor_error_warning = rules.monitor_error_caution = 1000;
        bed_open(&t, &rules);
        t.lie = true;
        const dm_predictive *p = t.predictive;
        const dm_predict_counts *c = dm_predictive_counts(p);
        bool seen = false;
        for (int jump = 0; jump < 40 && !seen; jump++) {
            uint64_t before = run_to_a_jump(&t), backward = c->backward,
                     length = p->c.proposal.length, skipped = c->skipped, arm = p->c.proposal.arm;
            double paid = p->c.bandit.sum[arm], cost = p->c.proposal.cost;
            dm_predict_turn got = {.judged = false};
            for (int i = 0; i < 100 && !got.judged; i++)
                got = bed_turn(&t, 1000000);
            assert_true(got.judged);
            assert_int_equal(c->backward - backward, rules.verdict_steps);
            assert_true(p->judged.undone == !(p->judged.loss <= p->judged.forecast));
            double stability = dm_predict_stability(&p->c.confidence);
            double reward = p->judged.undone
                                ? dm_bandit_reward(0, 1, stability)
                                : dm_bandit_reward((double)length / cost, 0, stability);
            assert_near(p->judged.reward, reward, 1e-12);
            assert_near(p->c.bandit.sum[arm] - paid, reward, 1e-9);
            assert_true(!p->judged.undone || reward < 0);
            assert_int_equal(c->skipped, p->judged.undone ? skipped - length : skipped);
            assert_true(!p->judged.undone || dm_predictive_progress(p) == before);
            seen = p->judged.undone == (undo == 1);
        }
        assert_true(seen);
        bed_close(&t);
    }
}

/* ---- Rollbacks ---- */

/* Two batches of their own kind in a row look like a divergence, once: the run goes back, meets the first again at a
 * lower rate, and then knows that it is the batch. */
static void a_batch_that_is_met_again_is_no_divergence(void **state)
{
    (void)state;
    enum { STEPS = 400 };
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 1.1;
    rules.monitor_loss_critical = 6;
    rules.monitor_loss_warning = 5;
    bed_open(&t, &rules);
    t.strange = 200;
    t.strange_count = 2;
    bed_run_to(&t, STEPS);
    assert_int_equal(dm_predictive_counts(t.predictive)->rollbacks, 1);
    assert_int_equal(dm_predictive_counts(t.predictive)->plain_from, 0);
    bed_close(&t);
}

/* A rollback goes to the older of two states and halves the rate, which then returns step by step. */
static void a_rollback_goes_to_the_older_state_at_half_the_rate(void **state)
{
    (void)state;
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 1.1;
    rules.monitor_loss_critical = 6;
    rules.monitor_loss_warning = 5;
    bed_open_at(&t, &rules, 0.02);
    t.planted = 310; /* the states are those of step 275 and 300 */
    dm_predict_turn got = {.rolled_back = false};
    while (!got.rolled_back)
        got = bed_turn(&t, 2000);
    assert_int_equal(got.progress, 275);
    t.spoiled = false;
    t.planted = 0;
    for (uint64_t i = 0; i < 3; i++)
        assert_near(bed_turn(&t, 2000).rate,
                    0.02 * (0.5 + 0.5 * (double)i / (double)rules.monitor_recover), 1e-9);
    bed_close(&t);
}

DM_TESTS("train/predict/turns", DM_TEST(a_warning_counts_for_one_decision),
         DM_TEST(nothing_is_proposed_while_a_verdict_is_open),
         DM_TEST(a_real_step_is_compared_with_its_forecast),
         DM_TEST(correct_looks_and_changes_nothing), DM_TEST(a_jump_stands_for_what_it_is_worth),
         DM_TEST(a_verdict_comes_after_its_steps_and_pays_the_arm),
         DM_TEST(a_batch_that_is_met_again_is_no_divergence),
         DM_TEST(a_rollback_goes_to_the_older_state_at_half_the_rate))
