/* SPDX-License-Identifier: MIT */
/* test_predictive.c - whole runs that predict, on a small regression: what a proposal, a rejection,
 * an undone jump and a rollback do to every bit of the model. */
#include "base/file.h"
#include "base/philox.h"
#include "tests/support/test.h"
#include "train/predict/predictive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, INPUTS = 6, OUTPUTS = 3 };

typedef struct bed {
    dm_device *device;
    dm_nn_model *model;
    dm_predictive *predictive;
    double rate;
    uint64_t planted; /* progress at which the rate is 30 times too high; 0: never */
    bool spoiled;     /* it is now */
    uint64_t strange; /* progress of a batch with targets far away; 0: none */
    bool lie;         /* the held-out loss falls at every look */
    double told;
} bed;

/* The curve model that comes with the program; in a static array. */
static const char *shipped(void)
{
    static char path[DM_PATH_MAX];
    assert_ok(dm_path_join(path, dm_test_source_root(), "share/dynamics/curves.safetensors", err));
    return path;
}

/* A fixed function of the inputs with a little noise. */
static void batch_at(uint64_t at, float *x, float *y)
{
    for (int b = 0; b < BATCH; b++) {
        for (int i = 0; i < INPUTS; i++)
            x[b * INPUTS + i] =
                2 * dm_random_unit(dm_random4(5, (uint64_t)(b * INPUTS + i), at).v[0]) - 1;
        for (int o = 0; o < OUTPUTS; o++)
            y[b * OUTPUTS + o] =
                sinf(x[b * INPUTS + o] * 2) * 0.5f + x[b * INPUTS + o + 3] * (float)(o + 1) * 0.3f +
                0.2f * (dm_random_unit(dm_random4(6, (uint64_t)(b * 8 + o), at).v[0]) - 0.5f);
    }
}

static dm_status step(void *user, uint64_t progress, double factor, double *loss, double *norm,
                      double *rate, dm_error *err)
{
    bed *t = user;
    float x[BATCH * INPUTS], y[BATCH * OUTPUTS], got = 0, length = 0;
    dm_error ignored = {0};
    (void)err;
    batch_at(progress, x, y);
    for (int i = 0; t->strange > 0 && progress == t->strange && i < BATCH * OUTPUTS; i++)
        y[i] += 3;
    t->spoiled = t->spoiled || (t->planted > 0 && progress == t->planted);
    *rate = t->rate * factor * (t->spoiled ? 30 : 1);
    dm_nn_model_set_rate(t->model, (float)*rate);
    dm_status status = dm_nn_model_step(t->model, x, y, NULL, &ignored);
    dm_status told = dm_nn_model_loss(t->model, &got, &length, &ignored);
    *loss = status == DM_OK && told == DM_OK ? (double)got : NAN;
    *norm = status == DM_OK && told == DM_OK ? (double)length : NAN;
    return DM_OK;
}

static dm_status peek(void *user, uint64_t progress, double *loss, dm_error *err)
{
    bed *t = user;
    float x[BATCH * INPUTS], y[BATCH * OUTPUTS], got = 0;
    batch_at(progress, x, y);
    dm_status status = dm_nn_model_evaluate(t->model, x, y, NULL, &got, err);
    *loss = (double)got;
    return status;
}

static dm_status held_out(void *user, double *loss, dm_error *err)
{
    bed *t = user;
    dm_status status = DM_OK;
    double sum = 0;
    for (uint64_t i = 0; i < 8 && status == DM_OK; i++) {
        double one = 0;
        status = peek(user, UINT64_C(1) << 40 | i, &one, err);
        sum += one / 8;
    }
    *loss = t->lie ? (t->told *= 0.9) : sum;
    return status;
}

static void open_bed_with(bed *t, const dm_predict_rules *rules, double rate,
                          const char *forecaster)
{
    static const dm_nn_layer layers[] = {
        {.kind = DM_NN_LAYER_LINEAR, .size = 12, .activation = DM_NN_TANH},
        {.kind = DM_NN_LAYER_LINEAR, .size = OUTPUTS},
    };
    dm_nn_model_desc desc = {
        .layers = layers,
        .layer_count = 2,
        .input = {INPUTS},
        .batch = BATCH,
        .shards = 1,
        .loss = DM_NN_LOSS_SQUARE,
        .seed = 3,
        .optimiser = {.kind = DM_NN_ADAMW, .rate = (float)rate, .average = 0.98f}};
    *t = (bed){.rate = rate, .told = 1};
    assert_ok(dm_device_open("cpu:1", &t->device, err));
    assert_ok(dm_nn_model_create(t->device, &desc, &t->model, err));
    dm_predict_run run = {.user = t,
                          .model = t->model,
                          .step = step,
                          .peek = peek,
                          .held_out = held_out,
                          .beta1 = 0.9,
                          .beta2 = 0.999,
                          .held_batches = 8};
    assert_ok(dm_predictive_create(rules, &run, forecaster, 1, &t->predictive, err));
}

static void open_bed_at(bed *t, const dm_predict_rules *rules, double rate)
{
    open_bed_with(t, rules, rate, NULL);
}

static void open_bed(bed *t, const dm_predict_rules *rules)
{
    open_bed_at(t, rules, 0.003);
}

static void close_bed(bed *t)
{
    dm_predictive_destroy(t->predictive);
    dm_nn_model_destroy(t->model);
    dm_device_close(t->device);
}

static dm_predict_turn turn(bed *t, uint64_t steps)
{
    dm_predict_turn got;
    assert_ok(dm_predictive_turn(t->predictive, steps, &got, err));
    return got;
}

static void run_to(bed *t, uint64_t steps)
{
    while (dm_predictive_progress(t->predictive) < steps)
        turn(t, steps);
}

/* Everything that a step changes; the caller frees. */
static dm_model_state state_of(bed *t)
{
    dm_model_state state;
    assert_ok(dm_model_state_init(&state, t->model, err));
    assert_ok(dm_model_state_take(&state, t->model, dm_predictive_progress(t->predictive), err));
    return state;
}

static bool same(const dm_model_state *a, const dm_model_state *b)
{
    return a->steps == b->steps && a->progress == b->progress &&
           memcmp(a->values, b->values, DM_MODEL_STATE_PARTS * a->count * sizeof(float)) == 0;
}

static dm_predict_rules small(void)
{
    dm_predict_rules rules = dm_predict_rules_default;
    rules.ensemble_members = 2;
    rules.ensemble_hidden = 16;
    rules.warmup_steps = 60;
    rules.monitor_loss_warning = rules.monitor_loss_critical = 1000; /* small batches are noisy */
    rules.monitor_signs_warning = 1;
    return rules;
}

/* ---- Proposals need a forecast ---- */

static void nothing_is_proposed_before_the_ensemble_can_forecast(void **state)
{
    (void)state;
    bed t;
    dm_predict_rules rules = small();
    rules.warmup_steps = 5; /* the ensemble is fitted after 50 */
    rules.confidence_needed = 0;
    open_bed(&t, &rules);
    while (dm_predictive_counts(t.predictive)->backward < 50) {
        turn(&t, 200);
        assert_int_equal(dm_predictive_counts(t.predictive)->proposed, 0);
    }
    run_to(&t, 200);
    assert_true(dm_predictive_counts(t.predictive)->proposed > 0);
    close_bed(&t);
}

/* The shipped ensemble is ready at once; with the rule ensemble_pretrained off a new one is made. */
static void a_pretrained_ensemble_is_ready_at_once(void **state)
{
    (void)state;
    for (int pretrained = 0; pretrained < 2; pretrained++) {
        bed t;
        dm_predict_rules rules = small();
        rules.warmup_steps = 20;
        rules.confidence_needed = 0;
        rules.ensemble_pretrained = (uint64_t)pretrained;
        open_bed_with(&t, &rules, 0.003, shipped());
        while (dm_predictive_counts(t.predictive)->backward < 45)
            turn(&t, 200);
        assert_int_equal(dm_predictive_counts(t.predictive)->proposed > 0, pretrained);
        close_bed(&t);
    }
}

/* It knows how runs go on: closer from the first forecasts on than an ensemble that begins. */
static void a_pretrained_ensemble_forecasts_better(void **state)
{
    (void)state;
    double error[2];
    for (int pretrained = 0; pretrained < 2; pretrained++) {
        bed t;
        dm_predict_rules rules = small();
        rules.confidence_needed = 1.1; /* no jumps */
        open_bed_with(&t, &rules, 0.003, pretrained ? shipped() : NULL);
        run_to(&t, 600);
        const dm_predict_counts *c = dm_predictive_counts(t.predictive);
        error[pretrained] = c->error_sum / (double)c->errors;
        close_bed(&t);
    }
    if (!(error[1] < 0.9 * error[0]))
        fail_msg("mean error of the next loss %g, of a new ensemble %g", error[1], error[0]);
}

/* ---- Rejections ---- */

static void a_thousand_rejected_proposals_leave_every_bit(void **state)
{
    (void)state;
    dm_predict_rules rules = small();
    bed t;
    uint64_t proposals = 0, real = 0;
    rules.proposal_margin = 1; /* nothing is ever good enough */
    rules.confidence_needed = 0;
    rules.full_steps = 1;
    open_bed(&t, &rules);
    while (proposals < 1000) {
        dm_predict_turn got;
        dm_model_state before = state_of(&t);
        got = turn(&t, 1000000);
        if (got.proposed) {
            dm_model_state after = state_of(&t);
            assert_true(same(&before, &after));
            dm_model_state_deinit(&after);
            proposals++;
        }
        real += got.phase == DM_PHASE_FULL || got.phase == DM_PHASE_WARMUP;
        dm_model_state_deinit(&before);
    }
    const dm_predict_counts *counts = dm_predictive_counts(t.predictive);
    assert_int_equal(counts->rejected, 1000);
    assert_int_equal(counts->accepted, 0);
    assert_true(counts->forward > 5 * 1000); /* they were checked, and that is counted */
    /* And a plain run of as many steps ends with the same bits. */
    bed plain;
    rules.confidence_needed = 1;
    open_bed(&plain, &rules);
    run_to(&plain, real);
    dm_model_state a = state_of(&t), b = state_of(&plain);
    assert_true(same(&a, &b));
    dm_model_state_deinit(&a);
    dm_model_state_deinit(&b);
    close_bed(&plain);
    close_bed(&t);
}

/* ---- Acceptance and verdicts ---- */

static void an_accepted_proposal_changes_weights_and_stands_for_steps(void **state)
{
    (void)state;
    dm_predict_rules rules = small();
    bed t;
    rules.confidence_needed = 0;
    open_bed(&t, &rules);
    t.lie = true;
    int seen = 0;
    while (seen < 3) {
        dm_model_state before = state_of(&t);
        uint64_t accepted = dm_predictive_counts(t.predictive)->accepted;
        dm_predict_turn got = turn(&t, 100000);
        if (dm_predictive_counts(t.predictive)->accepted > accepted) {
            dm_model_state after = state_of(&t);
            size_t weights = before.count * sizeof(float);
            assert_true(memcmp(before.values, after.values, weights) != 0);
            /* moments and steps are as they were; the average moved as well */
            assert_memory_equal(before.values + before.count, after.values + before.count,
                                2 * weights);
            assert_true(memcmp(before.values + 3 * before.count, after.values + 3 * before.count,
                               weights) != 0);
            assert_int_equal(before.steps, after.steps);
            assert_true(got.progress >= before.progress + 10);
            dm_model_state_deinit(&after);
            seen++;
        }
        dm_model_state_deinit(&before);
    }
    close_bed(&t);
}

static void a_jump_that_was_wrong_is_undone_to_the_bit(void **state)
{
    (void)state;
    dm_predict_rules rules = small();
    bed t;
    rules.confidence_needed = 0;
    rules.proposal_momentum = 10; /* far beyond anything sensible */
    rules.monitor_error_warning = rules.monitor_error_caution = 1000;
    open_bed(&t, &rules);
    t.lie = true; /* so that the check lets it through, and only the verdict can tell */
    dm_model_state before = {0};
    bool undone = false;
    for (int i = 0; i < 20000 && !undone; i++) {
        dm_model_state now = state_of(&t);
        uint64_t accepted = dm_predictive_counts(t.predictive)->accepted;
        dm_predict_turn got = turn(&t, 1000000);
        if (dm_predictive_counts(t.predictive)->accepted > accepted) {
            dm_model_state_deinit(&before);
            before = now;
        } else {
            dm_model_state_deinit(&now);
        }
        undone = got.judged && dm_predictive_counts(t.predictive)->undone > 0;
    }
    assert_true(undone);
    dm_model_state after = state_of(&t);
    assert_true(same(&before, &after));
    dm_model_state_deinit(&before);
    dm_model_state_deinit(&after);
    close_bed(&t);
}

/* ---- Rollback ---- */

static double final_loss(bed *t, uint64_t steps)
{
    double loss;
    run_to(t, steps);
    assert_ok(dm_nn_model_swap_average(t->model, err));
    assert_ok(held_out(t, &loss, err));
    return loss;
}

/* The rate is 30 times too high from a random step on, until the monitor goes back before it. */
static void a_planted_divergence_is_rolled_back(void **state)
{
    (void)state;
    enum { STEPS = 1500 };
    dm_predict_rules rules = small();
    bed undisturbed;
    rules.confidence_needed = 1.1; /* rollbacks alone */
    rules.monitor_loss_critical = 6;
    rules.monitor_loss_warning = 5;
    open_bed_at(&undisturbed, &rules, 0.02);
    double want = final_loss(&undisturbed, STEPS);
    assert_int_equal(dm_predictive_counts(undisturbed.predictive)->rollbacks, 0);
    close_bed(&undisturbed);
    for (uint64_t seed = 0; seed < 5; seed++) {
        bed t;
        open_bed_at(&t, &rules, 0.02);
        t.planted = 150 + dm_random_below(dm_random4(11, 0, seed).v[0], 1000);
        while (dm_predictive_progress(t.predictive) < STEPS)
            if (turn(&t, STEPS).rolled_back) {
                t.spoiled = false;
                t.planted = 0;
            }
        double got = final_loss(&t, STEPS);
        assert_true(dm_predictive_counts(t.predictive)->rollbacks > 0);
        if (!(got <= 1.02 * want))
            fail_msg("planted divergence %llu: %g, undisturbed %g", (unsigned long long)seed, got,
                     want);
        close_bed(&t);
    }
}

/* A batch whose loss is ten times that of the others is no divergence: after one rollback it is
 * taken as it is. */
static void a_strange_batch_costs_one_rollback(void **state)
{
    (void)state;
    enum { STEPS = 400 };
    dm_predict_rules rules = small();
    bed t;
    rules.confidence_needed = 1.1;
    rules.monitor_loss_critical = 6;
    rules.monitor_loss_warning = 5;
    open_bed(&t, &rules);
    t.strange = 200;
    run_to(&t, STEPS);
    assert_int_equal(dm_predictive_counts(t.predictive)->rollbacks, 1);
    assert_true(dm_predictive_counts(t.predictive)->backward <= STEPS + 51);
    close_bed(&t);
}

static void a_run_that_always_diverges_stops_and_says_so(void **state)
{
    (void)state;
    dm_predict_rules rules = small();
    bed t;
    open_bed(&t, &rules);
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
    close_bed(&t);
}

/* A monitor that takes every step for a divergence costs the run some steps, not its end. */
static void a_monitor_that_is_wrong_leaves_a_plain_run(void **state)
{
    (void)state;
    enum { STEPS = 600 };
    dm_predict_rules rules = small();
    bed plain, t;
    rules.confidence_needed = 1.1;
    open_bed(&plain, &rules);
    double want = final_loss(&plain, STEPS);
    close_bed(&plain);
    rules.confidence_needed = 0;
    rules.monitor_norm_critical = rules.monitor_norm_warning = 0.02; /* any norm */
    open_bed(&t, &rules);
    bool said = false;
    while (dm_predictive_progress(t.predictive) < STEPS) {
        dm_predict_turn got = turn(&t, STEPS);
        const dm_predict_counts *c = dm_predictive_counts(t.predictive);
        said = said || (got.rolled_back && c->plain_from > 0);
        assert_true(c->plain_from == 0 || !got.proposed);
    }
    assert_true(said);
    const dm_predict_counts *c = dm_predictive_counts(t.predictive);
    assert_int_equal(c->rollbacks, rules.monitor_tries + 1);
    assert_true(c->backward <= STEPS + (rules.monitor_tries + 1) * 2 * rules.monitor_checkpoint);
    double got = final_loss(&t, STEPS);
    if (!(got <= 1.01 * want))
        fail_msg("%g, without a monitor %g", got, want);
    close_bed(&t);
}

/* Forecasts that are far off, while the run itself is fine: the jump is undone before its time, the
 * rate stays as it was. */
static void a_forecast_that_fails_costs_the_jump_alone(void **state)
{
    (void)state;
    dm_predict_rules rules = small();
    bed t;
    rules.confidence_needed = 0;
    rules.monitor_error_caution = rules.monitor_error_warning = 1e-6; /* any loss above it */
    rules.monitor_warnings = 2;
    open_bed(&t, &rules);
    t.lie = true;
    bool early = false;
    while (dm_predictive_progress(t.predictive) < 2000 && !early) {
        uint64_t undone = dm_predictive_counts(t.predictive)->undone;
        dm_predict_turn got = turn(&t, 3000);
        early = got.level == DM_MONITOR_CRITICAL && got.judged;
        assert_true(!early || dm_predictive_counts(t.predictive)->undone == undone + 1);
    }
    assert_true(early);
    assert_int_equal(dm_predictive_counts(t.predictive)->rollbacks, 0);
    close_bed(&t);
}

/* ---- Checkpoints ---- */

static void a_resumed_run_makes_the_same_bits(void **state)
{
    (void)state;
    enum { STEPS = 700 };
    dm_predict_rules rules = small();
    bed whole, second;
    rules.confidence_needed = 0;
    for (int stop = 30; stop < 500; stop += 117) {
        const char *forecaster = stop % 2 == 0 ? NULL : shipped();
        open_bed_with(&whole, &rules, 0.003, forecaster);
        open_bed_with(&second, &rules, 0.003, forecaster);
        for (int i = 0; i < stop; i++)
            turn(&whole, STEPS);
        dm_predict_part from[DM_PREDICT_PARTS_MAX], to[DM_PREDICT_PARTS_MAX];
        size_t count, other;
        assert_ok(dm_predictive_parts(whole.predictive, from, &count, err));
        assert_ok(dm_predictive_parts(second.predictive, to, &other, err));
        assert_int_equal(count, other);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(from[i].size, to[i].size);
            memcpy(to[i].data, from[i].data, from[i].size);
        }
        assert_ok(dm_predictive_loaded(second.predictive, err));
        dm_model_state now = state_of(&whole);
        assert_ok(dm_model_state_put_back(&now, second.model, err));
        dm_model_state_deinit(&now);
        run_to(&whole, STEPS);
        run_to(&second, STEPS);
        dm_model_state a = state_of(&whole), b = state_of(&second);
        assert_true(same(&a, &b));
        assert_memory_equal(dm_predictive_counts(whole.predictive),
                            dm_predictive_counts(second.predictive), sizeof(dm_predict_counts));
        dm_model_state_deinit(&a);
        dm_model_state_deinit(&b);
        close_bed(&whole);
        close_bed(&second);
    }
}

static void damaged_states_are_refused(void **state)
{
    (void)state;
    dm_predict_rules rules = small();
    bed t;
    dm_error err = {0};
    dm_predict_part parts[DM_PREDICT_PARTS_MAX];
    size_t count;
    open_bed(&t, &rules);
    assert_ok(dm_predictive_parts(t.predictive, parts, &count, err));
    memset(parts[0].data, 0xff, parts[0].size);
    assert_int_equal(dm_predictive_loaded(t.predictive, &err), DM_EFORMAT);
    close_bed(&t);
}

/* ---- The end ---- */

static void a_run_ends_at_its_last_step_with_nothing_unjudged(void **state)
{
    (void)state;
    dm_predict_rules rules = small();
    bed t;
    rules.confidence_needed = 0;
    open_bed(&t, &rules);
    t.lie = true;
    run_to(&t, 400);
    assert_int_equal(dm_predictive_progress(t.predictive), 400);
    const dm_predict_counts *c = dm_predictive_counts(t.predictive);
    assert_true(c->accepted > 0);
    assert_true(c->backward < 400 + 20 * (c->undone + 1));
    close_bed(&t);
}

DM_TESTS("train/predict/predictive", DM_TEST(nothing_is_proposed_before_the_ensemble_can_forecast),
         DM_TEST(a_pretrained_ensemble_is_ready_at_once),
         DM_TEST(a_pretrained_ensemble_forecasts_better),
         DM_TEST(a_thousand_rejected_proposals_leave_every_bit),
         DM_TEST(an_accepted_proposal_changes_weights_and_stands_for_steps),
         DM_TEST(a_jump_that_was_wrong_is_undone_to_the_bit),
         DM_TEST(a_planted_divergence_is_rolled_back), DM_TEST(a_strange_batch_costs_one_rollback),
         DM_TEST(a_run_that_always_diverges_stops_and_says_so),
         DM_TEST(a_monitor_that_is_wrong_leaves_a_plain_run),
         DM_TEST(a_forecast_that_fails_costs_the_jump_alone),
         DM_TEST(a_resumed_run_makes_the_same_bits), DM_TEST(damaged_states_are_refused),
         DM_TEST(a_run_ends_at_its_last_step_with_nothing_unjudged))
