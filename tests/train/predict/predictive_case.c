/* SPDX-License-Identifier: MIT */
/* predictive_case.c - see predictive_case.h. */
#include "tests/train/predict/predictive_case.h"

#include "base/file.h"
#include "base/philox.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, INPUTS = 6, OUTPUTS = 3 };

/* The curve model that comes with the program; in a static array. */
const char *predictive_shipped(void)
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
                2 * dm_random_unit(dm_random4(5, (uint64_t)b * INPUTS + (uint64_t)i, at).v[0]) - 1;
        for (int o = 0; o < OUTPUTS; o++)
            y[b * OUTPUTS + o] =
                sinf(x[b * INPUTS + o] * 2) * 0.5f + x[b * INPUTS + o + 3] * (float)(o + 1) * 0.3f +
                0.2f *
                    (dm_random_unit(dm_random4(6, (uint64_t)b * 8 + (uint64_t)o, at).v[0]) - 0.5f);
    }
}

static void spoil(const bed *t, uint64_t progress, float *y)
{
    uint64_t count = t->strange_count > 0 ? t->strange_count : 1;
    if (t->strange > 0 && progress >= t->strange && progress < t->strange + count)
        for (int i = 0; i < BATCH * OUTPUTS; i++)
            y[i] += 3;
}

static dm_status step(void *user, uint64_t progress, double factor, double *loss, double *norm,
                      double *rate, dm_error *err)
{
    bed *t = user;
    float x[BATCH * INPUTS], y[BATCH * OUTPUTS], got = 0, length = 0;
    dm_error ignored = {0};
    (void)err;
    batch_at(progress, x, y);
    spoil(t, progress, y);
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
    spoil(t, progress, y);
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
    if (t->lie) /* a little between two proposals, half by each */
        sum =
            t->looks++ % 2 == 0 ? (t->told *= 0.999) : (t->gain > 0 ? 1 - t->gain : 0.5) * t->told;
    *loss = sum;
    return status;
}

void bed_open_on(bed *t, const char *device, const dm_predict_rules *rules, double rate,
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
    assert_ok(dm_device_open(device, &t->device, err));
    assert_ok(dm_nn_model_create(t->device, &desc, &t->model, err));
    dm_predict_run run = {.user = t,
                          .device = t->device,
                          .model = t->model,
                          .step = step,
                          .peek = peek,
                          .held_out = held_out,
                          .beta1 = 0.9,
                          .beta2 = 0.999,
                          .held_batches = 8};
    assert_ok(dm_predictive_create(rules, &run, forecaster, 1, &t->predictive, err));
}

void bed_open_with(bed *t, const dm_predict_rules *rules, double rate, const char *forecaster)
{
    bed_open_on(t, "cpu:1", rules, rate, forecaster);
}

void bed_open_at(bed *t, const dm_predict_rules *rules, double rate)
{
    bed_open_with(t, rules, rate, NULL);
}

void bed_open(bed *t, const dm_predict_rules *rules)
{
    bed_open_at(t, rules, 0.003);
}

void bed_close(bed *t)
{
    dm_predictive_destroy(t->predictive);
    dm_nn_model_destroy(t->model);
    dm_device_close(t->device);
}

dm_predict_turn bed_turn(bed *t, uint64_t steps)
{
    dm_predict_turn got;
    assert_ok(dm_predictive_turn(t->predictive, steps, &got, err));
    return got;
}

void bed_run_to(bed *t, uint64_t steps)
{
    while (dm_predictive_progress(t->predictive) < steps)
        bed_turn(t, steps);
}

void host_state_free(host_state *state)
{
    free(state->values);
    *state = (host_state){0};
}

host_state bed_state(bed *t)
{
    host_state state = {.count = dm_nn_model_size(t->model),
                        .steps = dm_nn_model_steps(t->model),
                        .progress = dm_predictive_progress(t->predictive)};
    float *to = state.values = calloc(BED_PARTS * state.count, sizeof *to);
    assert_non_null(to);
    for (int part = 0; part < BED_PARTS; part++)
        for (size_t k = 0; k < dm_nn_model_parameter_count(t->model); k++) {
            assert_ok(dm_nn_model_read(t->model, k, (dm_nn_part)part, to, err));
            to += dm_nn_model_parameter(t->model, k)->count;
        }
    return state;
}

bool host_state_same(const host_state *a, const host_state *b)
{
    return a->steps == b->steps && a->progress == b->progress &&
           memcmp(a->values, b->values, BED_PARTS * a->count * sizeof(float)) == 0;
}

dm_predict_rules bed_rules(void)
{
    dm_predict_rules rules = dm_predict_rules_default;
    rules.ensemble_members = 2;
    rules.ensemble_hidden = 16;
    rules.warmup_steps = 60;
    rules.monitor_loss_warning = rules.monitor_loss_critical = 1000; /* small batches are noisy */
    rules.monitor_signs_warning = 1;
    return rules;
}

double bed_final_loss(bed *t, uint64_t steps)
{
    double loss;
    bed_run_to(t, steps);
    assert_ok(dm_nn_model_swap_average(t->model, err));
    assert_ok(held_out(t, &loss, err));
    return loss;
}

void predictive_rejects(const char *device, uint64_t count)
{
    dm_predict_rules rules = bed_rules();
    bed t;
    uint64_t proposals = 0, real = 0;
    rules.proposal_margin = 1; /* nothing is ever good enough */
    rules.full_doubles = 0;
    rules.confidence_needed = 0;
    rules.full_steps = 1;
    bed_open_on(&t, device, &rules, 0.003, NULL);
    while (proposals < count) {
        dm_predict_turn got;
        host_state before = bed_state(&t);
        got = bed_turn(&t, 1000000);
        if (got.proposed) {
            host_state after = bed_state(&t);
            assert_true(host_state_same(&before, &after));
            host_state_free(&after);
            proposals++;
        }
        real += got.phase == DM_PHASE_FULL || got.phase == DM_PHASE_WARMUP;
        host_state_free(&before);
    }
    const dm_predict_counts *counts = dm_predictive_counts(t.predictive);
    assert_int_equal(counts->rejected, count);
    assert_int_equal(counts->accepted, 0);
    assert_true(counts->forward > 5.0 * (double)count); /* they were checked, and that is counted */
    /* And a plain run of as many steps ends with the same bits. */
    bed plain;
    rules.confidence_needed = 1;
    bed_open_on(&plain, device, &rules, 0.003, NULL);
    bed_run_to(&plain, real);
    host_state a = bed_state(&t), b = bed_state(&plain);
    assert_true(host_state_same(&a, &b));
    host_state_free(&a);
    host_state_free(&b);
    bed_close(&plain);
    bed_close(&t);
}

void predictive_accepts(const char *device)
{
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 0;
    bed_open_on(&t, device, &rules, 0.003, NULL);
    t.lie = true;
    int seen = 0;
    while (seen < 3) {
        host_state before = bed_state(&t);
        uint64_t accepted = dm_predictive_counts(t.predictive)->accepted;
        dm_predict_turn got = bed_turn(&t, 100000);
        if (dm_predictive_counts(t.predictive)->accepted > accepted) {
            host_state after = bed_state(&t);
            size_t weights = before.count * sizeof(float);
            assert_true(memcmp(before.values, after.values, weights) != 0);
            /* moments and steps are as they were; the average moved as well */
            assert_memory_equal(before.values + before.count, after.values + before.count,
                                2 * weights);
            assert_true(memcmp(before.values + 3 * before.count, after.values + 3 * before.count,
                               weights) != 0);
            assert_int_equal(before.steps, after.steps);
            assert_true(got.progress >= before.progress + 10);
            host_state_free(&after);
            seen++;
        }
        host_state_free(&before);
    }
    bed_close(&t);
}

void predictive_undoes(const char *device)
{
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 0;
    rules.proposal_momentum = 10; /* far beyond anything sensible */
    rules.monitor_error_warning = rules.monitor_error_caution = 1000;
    bed_open_on(&t, device, &rules, 0.003, NULL);
    t.lie = true; /* so that the check lets it through, and only the verdict can tell */
    host_state before = {0};
    bool undone = false;
    for (int i = 0; i < 20000 && !undone; i++) {
        host_state now = bed_state(&t);
        uint64_t accepted = dm_predictive_counts(t.predictive)->accepted;
        dm_predict_turn got = bed_turn(&t, 1000000);
        if (dm_predictive_counts(t.predictive)->accepted > accepted) {
            host_state_free(&before);
            before = now;
        } else {
            host_state_free(&now);
        }
        undone = got.judged && dm_predictive_counts(t.predictive)->undone > 0;
    }
    assert_true(undone);
    host_state after = bed_state(&t);
    assert_true(host_state_same(&before, &after));
    host_state_free(&before);
    host_state_free(&after);
    bed_close(&t);
}

/* Of those that are checked: an arm that proposes nothing asks for nothing. */
void predictive_refuses_rarer(const char *device)
{
    enum { SEEN = 7 };
    dm_predict_rules rules = bed_rules();
    bed t;
    uint64_t since = 0, gaps[SEEN] = {0}, before = 0;
    size_t seen = 0;
    rules.proposal_margin = 1; /* nothing is ever good enough */
    rules.confidence_needed = 0;
    rules.bandit = 0; /* a shift every time */
    rules.full_steps = 4;
    bed_open_on(&t, device, &rules, 0.003, NULL);
    while (seen < SEEN) {
        bool proposed = bed_turn(&t, 1000000).proposed;
        uint64_t backward = dm_predictive_counts(t.predictive)->backward;
        since += backward - before;
        before = backward;
        if (proposed) {
            gaps[seen++] = since;
            since = 0;
        }
    }
    assert_int_equal(dm_predictive_counts(t.predictive)->rejected, SEEN);
    for (uint64_t i = 1; i < SEEN; i++) /* gaps[0] is the warm-up's */
        assert_int_equal(gaps[i],
                         rules.full_steps << (i < rules.full_doubles ? i : rules.full_doubles));
    bed_close(&t);
}

/* A batch whose loss is ten times that of the others is no divergence: the next one has a loss as ever, so that it
 * costs a forward pass and no step. */
void predictive_looks_again(const char *device)
{
    enum { STEPS = 400 };
    dm_predict_rules rules = bed_rules();
    bed t;
    rules.confidence_needed = 1.1;
    rules.monitor_loss_critical = 6;
    rules.monitor_loss_warning = 5;
    bed_open_on(&t, device, &rules, 0.003, NULL);
    t.strange = 200;
    bed_run_to(&t, STEPS);
    const dm_predict_counts *c = dm_predictive_counts(t.predictive);
    assert_int_equal(c->rollbacks, 0);
    assert_int_equal(c->backward, STEPS);
    assert_true(c->forward == 1);
    bed_close(&t);
}

/* The rate is 30 times too high from a random step on, until the monitor goes back before it. */
void predictive_rolls_back(const char *device, uint64_t seeds)
{
    enum { STEPS = 1500 };
    dm_predict_rules rules = bed_rules();
    bed undisturbed;
    rules.confidence_needed = 1.1; /* rollbacks alone */
    rules.monitor_loss_critical = 6;
    rules.monitor_loss_warning = 5;
    bed_open_on(&undisturbed, device, &rules, 0.02, NULL);
    double want = bed_final_loss(&undisturbed, STEPS);
    assert_int_equal(dm_predictive_counts(undisturbed.predictive)->rollbacks, 0);
    bed_close(&undisturbed);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        bed t;
        bed_open_on(&t, device, &rules, 0.02, NULL);
        t.planted = 150 + dm_random_below(dm_random4(11, 0, seed).v[0], 1000);
        while (dm_predictive_progress(t.predictive) < STEPS)
            if (bed_turn(&t, STEPS).rolled_back) {
                t.spoiled = false;
                t.planted = 0;
            }
        double got = bed_final_loss(&t, STEPS);
        assert_true(dm_predictive_counts(t.predictive)->rollbacks > 0);
        if (!(got <= 1.02 * want))
            fail_msg("planted divergence %llu: %g, undisturbed %g", (unsigned long long)seed, got,
                     want);
        bed_close(&t);
    }
}

/* What bed_state gave, back into another model. */
static void put(bed *t, const host_state *state)
{
    const float *from = state->values;
    for (int part = 0; part < BED_PARTS; part++)
        for (size_t k = 0; k < dm_nn_model_parameter_count(t->model); k++) {
            assert_ok(dm_nn_model_write(t->model, k, (dm_nn_part)part, from, err));
            from += dm_nn_model_parameter(t->model, k)->count;
        }
    dm_nn_model_set_steps(t->model, state->steps);
}

void predictive_resumes(const char *device)
{
    enum { STEPS = 700 };
    dm_predict_rules rules = bed_rules();
    bed whole, second;
    rules.confidence_needed = 0;
    for (int stop = 30; stop < 500; stop += 117) {
        const char *forecaster = stop % 2 == 0 ? NULL : predictive_shipped();
        bed_open_on(&whole, device, &rules, 0.003, forecaster);
        bed_open_on(&second, device, &rules, 0.003, forecaster);
        for (int i = 0; i < stop; i++)
            bed_turn(&whole, STEPS);
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
        host_state now = bed_state(&whole);
        put(&second, &now);
        host_state_free(&now);
        bed_run_to(&whole, STEPS);
        bed_run_to(&second, STEPS);
        host_state a = bed_state(&whole), b = bed_state(&second);
        assert_true(host_state_same(&a, &b));
        assert_memory_equal(dm_predictive_counts(whole.predictive),
                            dm_predictive_counts(second.predictive), sizeof(dm_predict_counts));
        host_state_free(&a);
        host_state_free(&b);
        bed_close(&whole);
        bed_close(&second);
    }
}
