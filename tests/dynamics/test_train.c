/* SPDX-License-Identifier: MIT */
/* test_train.c - gradients of the vectorised loops, the optimisers, and whether the ensemble learns
 * to forecast. */
#include "tests/dynamics/dynamics_case.h"

#include "base/philox.h"
#include "dynamics/backward.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Gradients ---- */

static void check_gradients(dm_dynamics_config config, uint32_t forced, uint32_t steps,
                            const dm_simd *simd)
{
    dm_dynamics *model = dyn_model(config, 3);
    model->shift[0] = 0.2f;
    model->scale[0] = 0.6f;
    size_t H = config.hidden, I = config.input, S = config.stochastic, Y = steps,
           total = model->layout.total;
    float *x = dyn_random(forced * I, 1, 1), *h0 = dyn_random(H, 2, 1),
          *dloss = dyn_random(Y, 3, 1);
    float *got = calloc(model->layout.stride, sizeof *got);
    double *want = calloc(total, sizeof *want), *x64 = dyn_to_double(x, forced * I),
           *h64 = dyn_to_double(h0, H), *d64 = dyn_to_double(dloss, Y);
    double *memory =
        malloc((Y + (Y + 1) * H + Y * (I + 4 * H + S) + 8 * H + I + S) * sizeof *memory);
    assert_true(got != NULL && want != NULL && memory != NULL);
    dyn_member64 m;
    dyn_member64_init(&m, model, 1);
    dm_ref64_sequence q = {.steps = steps, .forced = forced, .x = x64, .h0 = h64, .loss = memory};
    q.h = q.loss + Y;
    q.inputs = q.h + (Y + 1) * H;
    q.gates = q.inputs + Y * I;
    q.s = q.gates + Y * 4 * H;
    dm_ref64_sequence_forward(&m.member, &q);
    dm_ref64_sequence_backward(&m.member, &q, d64, want, NULL, NULL, q.s + Y * S);
    dm_tape tape;
    assert_ok(dm_tape_init(&tape, &config, steps + 2, err));
    dm_cell cell = dm_cell_of(model, 1, simd);
    dm_tape_forward(&tape, &cell, x, forced, steps, h0, model->shift[0], model->scale[0]);
    dm_tape_backward(&tape, &cell, &model->layout, forced, steps, dloss, model->scale[0], got);
    assert_true(dm_reference_distance(tape.loss, q.loss, Y) < 1e-5);
    for (int part = 0; part < DM_DYNAMICS_PART_COUNT; part++) {
        size_t at = model->layout.offset[part], count = model->layout.count[part];
        double distance = dm_reference_distance(got + at, want + at, count);
        if (count > 0 && !(distance < 2e-5))
            fail_msg("%s, %s: gradient %g away", simd->name, dm_dynamics_part_names[part],
                     distance);
    }
    dm_tape_deinit(&tape);
    dyn_member64_deinit(&m);
    free(x);
    free(h0);
    free(dloss);
    free(got);
    free(want);
    free(x64);
    free(h64);
    free(d64);
    free(memory);
    dm_dynamics_destroy(model);
}

static void gradients_follow_the_reference(void **state)
{
    (void)state;
    static const char *const sets[] = {"portable", "avx2", "avx512"};
    for (size_t i = 0; i < 3; i++) {
        const dm_simd *simd = dm_simd_named(sets[i]);
        for (int kind = 0; kind < 2 && simd != NULL; kind++) {
            check_gradients(
                (dm_dynamics_config){2, 37, 9, 11, (dm_dynamics_gru_kind)kind, kind == 0}, 4, 9,
                simd);
            check_gradients((dm_dynamics_config){2, 64, 32, 64, (dm_dynamics_gru_kind)kind, false},
                            1, 12, simd);
            check_gradients((dm_dynamics_config){2, 1, 1, 1, (dm_dynamics_gru_kind)kind, true}, 3,
                            3, simd);
        }
    }
}

/* ---- Optimisers ---- */

static dm_dynamics_trainer *trainer_of(dm_dynamics *model, dm_dynamics_trainer_config config)
{
    dm_dynamics_trainer *trainer = NULL;
    assert_ok(dm_dynamics_trainer_create(model, &config, &trainer, err));
    return trainer;
}

/* The first step of Adam moves every weight with a gradient by the learning rate. */
static void adam_begins_with_the_learning_rate(void **state)
{
    (void)state;
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){1, 4, 2, 3, DM_DYNAMICS_GRU_RESET_FIRST, false}, 1);
    dm_dynamics *before =
        dyn_model((dm_dynamics_config){1, 4, 2, 3, DM_DYNAMICS_GRU_RESET_FIRST, false}, 1);
    dm_dynamics_trainer_config config = DM_DYNAMICS_TRAINER_DEFAULT;
    dm_dynamics_trainer *trainer = trainer_of(model, config);
    const float features[3] = {1, -2, 0.5f}, targets[1] = {3};
    float objective = 0;
    assert_ok(dm_dynamics_trainer_sequence(trainer, features, 1, 1, 0, targets, &objective, err));
    assert_true(objective > 0);
    size_t moved = 0;
    for (size_t i = 0; i < model->layout.total; i++) {
        float distance = fabsf(model->weights[i] - before->weights[i]);
        assert_true(distance < 1.01e-3f);
        moved += distance > 0.98e-3f;
    }
    /* h was 0: U of z and r has no gradient, nor has r. */
    assert_true(moved >= 4 * 3 * 2 + 4 + 4 + 2);
    dm_dynamics_trainer_destroy(trainer);
    dm_dynamics_destroy(model);
    dm_dynamics_destroy(before);
}

static double moved_by_sgd(float clip, float target)
{
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){1, 4, 2, 3, DM_DYNAMICS_GRU_RESET_LAST, true}, 1);
    dm_dynamics *before =
        dyn_model((dm_dynamics_config){1, 4, 2, 3, DM_DYNAMICS_GRU_RESET_LAST, true}, 1);
    dm_dynamics_trainer_config config = DM_DYNAMICS_TRAINER_DEFAULT;
    config.optimiser = DM_DYNAMICS_OPTIMISER_SGD;
    config.learning_rate = 0.5f;
    config.clip = clip;
    dm_dynamics_trainer *trainer = trainer_of(model, config);
    const float features[3] = {1, -2, 0.5f};
    double squares = 0;
    assert_ok(dm_dynamics_trainer_sequence(trainer, features, 1, 1, 0, &target, NULL, err));
    for (size_t i = 0; i < model->layout.total; i++)
        squares += pow((double)model->weights[i] - (double)before->weights[i], 2);
    dm_dynamics_trainer_destroy(trainer);
    dm_dynamics_destroy(model);
    dm_dynamics_destroy(before);
    return sqrt(squares);
}

static void gradients_are_clipped(void **state)
{
    (void)state;
    double whole = moved_by_sgd(0, 4000);
    assert_true(whole > 0.5 * 3);
    assert_true(fabs(moved_by_sgd(2, 4000) - 0.5 * 2) < 1e-5);
    assert_true(fabs(moved_by_sgd(1e6f, 4000) - whole) < 1e-6);
    /* No update from what is not a number. */
    assert_true(moved_by_sgd(2, NAN) == 0);
}

static void wrong_configurations_are_refused(void **state)
{
    (void)state;
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){1, 4, 2, 3, DM_DYNAMICS_GRU_RESET_LAST, true}, 1);
    dm_dynamics_trainer_config configs[7];
    for (int i = 0; i < 7; i++)
        configs[i] = (dm_dynamics_trainer_config)DM_DYNAMICS_TRAINER_DEFAULT;
    configs[0].optimiser = (dm_dynamics_optimiser)7;
    configs[1].learning_rate = NAN;
    configs[2].beta1 = 1;
    configs[3].beta2 = -0.1f;
    configs[4].clip = -1;
    configs[5].window = 0;
    configs[6].window = UINT32_MAX;
    for (int i = 0; i < 7; i++) {
        dm_dynamics_trainer *trainer = NULL;
        assert_int_equal(dm_dynamics_trainer_create(model, &configs[i], &trainer, NULL), DM_EINVAL);
        assert_null(trainer);
    }
    dm_dynamics_trainer *trainer =
        trainer_of(model, (dm_dynamics_trainer_config)DM_DYNAMICS_TRAINER_DEFAULT);
    const float zeros[16] = {0};
    assert_int_equal(dm_dynamics_trainer_sequence(trainer, zeros, 0, 3, 0, zeros, NULL, NULL),
                     DM_EINVAL);
    assert_int_equal(dm_dynamics_trainer_sequence(trainer, zeros, 4, 3, 0, zeros, NULL, NULL),
                     DM_EINVAL);
    assert_int_equal(dm_dynamics_trainer_sequence(trainer, zeros, 1, 3, 3, zeros, NULL, NULL),
                     DM_EINVAL);
    assert_int_equal(dm_dynamics_trainer_set_learning_rate(trainer, -1, NULL), DM_EINVAL);
    dm_dynamics_trainer_destroy(trainer);
    dm_dynamics_trainer_destroy(NULL);
    dm_dynamics_destroy(model);
}

/* ---- Following a run ---- */

/* A repeating curve is learnt while it is watched; the same seed learns the same bits. */
static void observing_learns_a_repeating_curve(void **state)
{
    (void)state;
    float last[2][2];
    for (int again = 0; again < 2; again++) {
        for (uint32_t window = 1; window <= 4; window += 3) {
            dm_dynamics *model =
                dyn_model((dm_dynamics_config){2, 16, 4, 2, DM_DYNAMICS_GRU_RESET_FIRST, false}, 1);
            dm_dynamics_trainer_config config = DM_DYNAMICS_TRAINER_DEFAULT;
            config.window = window;
            config.learning_rate = 5e-3f;
            dm_dynamics_trainer *trainer = trainer_of(model, config);
            double early = 0, late = 0;
            for (int i = 0; i < 3000; i++) {
                float x[2] = {1.5f + sinf(0.5f * (float)i), cosf(0.5f * (float)i)}, objective;
                assert_ok(dm_dynamics_trainer_observe(trainer, x, &objective, err));
                early += i > 0 && i <= 100 ? (double)objective / 100 : 0;
                late += i >= 2900 ? (double)objective / 100 : 0;
                last[again][window > 1] = objective;
            }
            assert_true(late < 0.02 * early);
            dm_dynamics_trainer_destroy(trainer);
            dm_dynamics_destroy(model);
        }
    }
    assert_memory_equal(last[0], last[1], sizeof last[0]);
}

/* What dm_dynamics_trainer_hidden gives is the state that the observed features lead to. */
static void hidden_states_move_on(void **state)
{
    (void)state;
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){2, 5, 2, 3, DM_DYNAMICS_GRU_RESET_FIRST, false}, 1);
    dm_dynamics_trainer_config config = DM_DYNAMICS_TRAINER_DEFAULT;
    config.learning_rate = 0;
    config.window = 3;
    dm_dynamics_trainer *trainer = trainer_of(model, config);
    float h[2][5] = {{0}}, *x = dyn_random(3 * 20, 4, 1);
    for (int i = 0; i < 20; i++) {
        assert_ok(dm_dynamics_trainer_observe(trainer, x + 3 * i, NULL, err));
        const float *got = dm_dynamics_trainer_hidden(trainer);
        for (int k = 0; k < 10; k++)
            assert_true(fabsf(got[k] - h[k / 5][k % 5]) < 1e-6f);
        for (uint32_t e = 0; e < 2; e++)
            assert_ok(dm_dynamics_gru(model, e, 1, x + 3 * i, h[e], h[e], err));
    }
    dm_dynamics_trainer_restart(trainer);
    for (int k = 0; k < 10; k++)
        assert_true(dm_dynamics_trainer_hidden(trainer)[k] == 0);
    free(x);
    dm_dynamics_trainer_destroy(trainer);
    dm_dynamics_destroy(model);
}

/* ---- Forecasts ---- */

#define SEEN 64 /* steps of a curve before the forecast */
#define AHEAD 25
/* Instrumented code is slow: there the loops are run, and the margins are left to other builds. */
#if defined(__SANITIZE_ADDRESS__)
#define CURVES 400
#define MARGIN_LAST 3.0
#define MARGIN_LINE 3.0
#else
#define CURVES 10000
#define MARGIN_LAST 0.7
#define MARGIN_LINE 0.75
#endif
#define HELD_OUT 200

typedef struct curve {
    float loss[SEEN + AHEAD];
    float features[SEEN][DM_DYNAMICS_ENCODER_FEATURES];
} curve;

/* A noisy power law: a t^-b + c, with 3% of noise. */
static void make_curve(curve *out, dm_dynamics_encoder *encoder, uint64_t number)
{
    dm_philox4 p = dm_random4(31, 1, number);
    double a = 0.5 + 4 * (double)dm_random_unit(p.v[0]),
           b = 0.2 + 0.8 * (double)dm_random_unit(p.v[1]);
    double c = 0.3 * (double)dm_random_unit(p.v[2]),
           start = 1 + 40 * (double)dm_random_unit(p.v[3]);
    dm_dynamics_encoder_reset(encoder);
    for (int t = 0; t < SEEN + AHEAD; t++) {
        dm_philox4 n = dm_random4(32, number, (uint64_t)t);
        double noise = 0; /* four uniform numbers are near enough to a normal one */
        for (int i = 0; i < 4; i++)
            noise += (double)dm_random_unit(n.v[i]) - 0.5;
        double loss = (a * pow(start + t, -b) + c) * exp(0.03 * sqrt(3) * noise);
        out->loss[t] = (float)loss;
        dm_dynamics_sample sample = {.step = (uint64_t)t + 1,
                                     .loss = (float)loss,
                                     .gradient_norm = (float)(2 * loss),
                                     .learning_rate = 1e-3f,
                                     .beta1 = 0.9f,
                                     .beta2 = 0.999f,
                                     .phase = 1,
                                     .phase_step = (uint32_t)t};
        if (t < SEEN)
            dm_dynamics_encoder_update(encoder, &sample, out->features[t]);
    }
}

/* Mean square of log(forecast / loss) over the 25 steps. */
static double error_of(const float *forecast, const curve *c)
{
    double sum = 0;
    for (int t = 0; t < AHEAD; t++)
        sum += pow(log(fmax((double)forecast[t], 1e-3) / (double)c->loss[SEEN + t]), 2);
    return sum / AHEAD;
}

static void last_value(const curve *c, float *forecast)
{
    for (int t = 0; t < AHEAD; t++)
        forecast[t] = c->loss[SEEN - 1];
}

/* The straight line through the last 25 losses with the least squares. */
static void linear_trend(const curve *c, float *forecast)
{
    double n = AHEAD, sum_t = 0, sum_y = 0, tt = 0, ty = 0;
    for (int i = 0; i < AHEAD; i++) {
        double y = (double)c->loss[SEEN - AHEAD + i];
        sum_t += i;
        sum_y += y;
        tt += i * i;
        ty += i * y;
    }
    double slope = (n * ty - sum_t * sum_y) / (n * tt - sum_t * sum_t);
    for (int t = 0; t < AHEAD; t++)
        forecast[t] = (float)((sum_y - slope * sum_t) / n + slope * (AHEAD + t));
}

/* The state after all features but the last, and the forecast from there. */
static void forecast_by_model(dm_dynamics *model, dm_dynamics_forecast *rollout, const curve *c,
                              float *forecast)
{
    uint32_t E = model->config.members, H = model->config.hidden;
    float *h = calloc((size_t)E * H, sizeof *h), x[DM_DYNAMICS_ENCODER_FEATURES];
    assert_non_null(h);
    for (int t = 0; t + 1 < SEEN; t++) {
        for (int i = 0; i < DM_DYNAMICS_ENCODER_FEATURES; i++)
            x[i] = (c->features[t][i] - model->shift[i]) * model->scale[i];
        for (uint32_t e = 0; e < E; e++)
            assert_ok(dm_dynamics_gru(model, e, 1, x, h + e * H, h + e * H, err));
    }
    assert_ok(dm_dynamics_rollout(model, c->features[SEEN - 1], h, rollout, err));
    memcpy(forecast, rollout->mean, AHEAD * sizeof *forecast);
    free(h);
}

/* Every training curve is seen once, as it would come in: one update each. It is measured on curves
 * on which nothing was tuned. The margins are stated in docs/dynamics.md. */
static void forecasts_beat_simple_ones(void **state)
{
    (void)state;
    dm_dynamics *model = NULL;
    dm_dynamics_encoder *encoder = NULL;
    dm_dynamics_forecast *rollout = NULL;
    curve *c = malloc(sizeof *c);
    float *rows = malloc((size_t)40 * SEEN * DM_DYNAMICS_ENCODER_FEATURES * sizeof *rows);
    assert_true(c != NULL && rows != NULL);
    assert_ok(dm_dynamics_create(
        &(dm_dynamics_config){3, 32, 8, 64, DM_DYNAMICS_GRU_RESET_FIRST, false}, 21, &model, err));
    assert_ok(dm_dynamics_encoder_create(256, 64, &encoder, err));
    for (uint64_t i = 0; i < 40; i++) {
        make_curve(c, encoder, i);
        memcpy(rows + i * SEEN * DM_DYNAMICS_ENCODER_FEATURES, c->features, sizeof c->features);
    }
    assert_ok(dm_dynamics_fit_scaling(model, rows, (size_t)40 * SEEN, err));
    dm_dynamics_trainer_config config = DM_DYNAMICS_TRAINER_DEFAULT;
    dm_dynamics_trainer *trainer = trainer_of(model, config);
    for (uint64_t i = 0; i < CURVES; i++) {
        double rate = 3e-3 * (0.5 + 0.5 * cos(3.14159265 * (double)i / CURVES));
        assert_ok(dm_dynamics_trainer_set_learning_rate(trainer, (float)rate, err));
        make_curve(c, encoder, i);
        assert_ok(dm_dynamics_trainer_sequence(trainer, c->features[0], SEEN, SEEN + AHEAD - 1,
                                               SEEN - 1, c->loss + 1, NULL, err));
    }
    assert_ok(dm_dynamics_forecast_create(model, 1, AHEAD, &rollout, err));
    double ours = 0, last = 0, line = 0;
    for (uint64_t i = 0; i < HELD_OUT; i++) {
        float forecast[AHEAD];
        make_curve(c, encoder, 5000000 + i);
        forecast_by_model(model, rollout, c, forecast);
        ours += error_of(forecast, c) / HELD_OUT;
        last_value(c, forecast);
        last += error_of(forecast, c) / HELD_OUT;
        linear_trend(c, forecast);
        line += error_of(forecast, c) / HELD_OUT;
    }
    printf("    error of 25-step forecasts: ours %.4f, last value %.4f, linear trend %.4f\n",
           sqrt(ours), sqrt(last), sqrt(line));
    assert_true(sqrt(ours) < MARGIN_LAST * sqrt(last));
    assert_true(sqrt(ours) < MARGIN_LINE * sqrt(line));
    dm_dynamics_forecast_destroy(rollout);
    dm_dynamics_trainer_destroy(trainer);
    dm_dynamics_encoder_destroy(encoder);
    dm_dynamics_destroy(model);
    free(c);
    free(rows);
}

/* One sample that is not finite does not blind the trainer. */
static void bad_samples_are_skipped(void **state)
{
    (void)state;
    dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
    how.window = 4;
    dm_dynamics *model =
        dyn_model((dm_dynamics_config){2, 8, 4, 64, DM_DYNAMICS_GRU_RESET_FIRST, false}, 1);
    dm_dynamics_trainer *trainer = NULL;
    dm_dynamics_encoder *encoder = NULL;
    float features[64], objective = 0;
    assert_ok(dm_dynamics_trainer_create(model, &how, &trainer, err));
    assert_ok(dm_dynamics_encoder_create(256, 64, &encoder, err));
    for (uint64_t i = 0; i < 200; i++) {
        dm_dynamics_sample sample = dyn_sample(7, i);
        if (i == 20)
            sample.loss = NAN;
        if (i == 40)
            sample.gradient_norm = INFINITY;
        if (i == 60)
            sample.loss = -1;
        dm_dynamics_encoder_update(encoder, &sample, features);
        if (i == 80)
            features[9] = NAN; /* of another encoder */
        if (i == 90)
            features[9] = INFINITY;
        assert_ok(dm_dynamics_trainer_observe(trainer, features, &objective, err));
        assert_true(isfinite(objective));
        for (int k = 0; k < 16; k++)
            assert_true(isfinite(dm_dynamics_trainer_hidden(trainer)[k]));
    }
    assert_int_equal(dm_dynamics_encoder_passed(encoder), 2);
    assert_int_equal(dm_dynamics_trainer_skipped(trainer), 2);
    dm_dynamics_encoder_destroy(encoder);
    dm_dynamics_trainer_destroy(trainer);
    dm_dynamics_destroy(model);
}

/* A trainer and an encoder that go on from their states give the same bits as without a stop. */
static void states_go_on_to_the_same_bits(void **state)
{
    (void)state;
    dm_dynamics_config config = {
        2, 16, 4, DM_DYNAMICS_ENCODER_FEATURES, DM_DYNAMICS_GRU_RESET_FIRST, false};
    dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
    how.window = 3;
    dm_dynamics *models[2] = {dyn_model(config, 3), dyn_model(config, 4)};
    dm_dynamics_trainer *trainers[2];
    dm_dynamics_encoder *encoders[2];
    float features[DM_DYNAMICS_ENCODER_FEATURES], objective, seen[2][60];
    dm_error err = {0};
    for (int k = 0; k < 2; k++) {
        assert_ok(dm_dynamics_trainer_create(models[k], &how, &trainers[k], err));
        assert_ok(dm_dynamics_encoder_create(32, 16, &encoders[k], err));
    }
    for (uint64_t i = 0; i < 160; i++) {
        if (i == 100) { /* the second takes over */
            size_t size = dm_dynamics_trainer_state_size(trainers[0]),
                   es = dm_dynamics_encoder_state_size(encoders[0]);
            void *bytes = malloc(size), *encoder = malloc(es);
            dm_dynamics_trainer_state_get(trainers[0], bytes);
            dm_dynamics_encoder_state_get(encoders[0], encoder);
            memcpy(models[1]->weights, models[0]->weights,
                   config.members * models[0]->layout.stride * sizeof(float));
            assert_int_equal(dm_dynamics_trainer_state_set(trainers[1], bytes, size - 1, &err),
                             DM_EFORMAT);
            assert_int_equal(dm_dynamics_encoder_state_set(encoders[1], encoder, es + 1, &err),
                             DM_EFORMAT);
            assert_ok(dm_dynamics_trainer_state_set(trainers[1], bytes, size, err));
            assert_ok(dm_dynamics_encoder_state_set(encoders[1], encoder, es, err));
            free(bytes);
            free(encoder);
        }
        for (int k = 0; k < (i < 100 ? 1 : 2); k++) {
            dm_dynamics_sample sample = dyn_sample(7, i);
            dm_dynamics_encoder_update(encoders[k], &sample, features);
            assert_ok(dm_dynamics_trainer_observe(trainers[k], features, &objective, err));
            if (i >= 100)
                seen[k][i - 100] = objective;
        }
    }
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
    for (int k = 0; k < 2; k++) {
        dm_dynamics_trainer_destroy(trainers[k]);
        dm_dynamics_encoder_destroy(encoders[k]);
        dm_dynamics_destroy(models[k]);
    }
}

/* Members learn the same whatever the threads, from sequences and from a run. */
static void threads_do_not_change_the_bits(void **state)
{
    (void)state;
    dm_dynamics_config config = {
        5, 24, 6, DM_DYNAMICS_ENCODER_FEATURES, DM_DYNAMICS_GRU_RESET_FIRST, false};
    dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
    how.window = 2;
    dm_dynamics *models[3];
    dm_dynamics_trainer *trainers[3];
    dm_dynamics_encoder *encoder;
    static const int threads[] = {1, 3, 64};
    float features[12 * DM_DYNAMICS_ENCODER_FEATURES], targets[20], objectives[3];
    for (int k = 0; k < 3; k++) {
        models[k] = dyn_model(config, 3);
        assert_ok(dm_dynamics_trainer_create(models[k], &how, &trainers[k], err));
        assert_ok(dm_dynamics_trainer_set_threads(trainers[k], threads[k], err));
    }
    assert_ok(dm_dynamics_encoder_create(32, 16, &encoder, err));
    for (uint64_t i = 0; i < 40; i++) {
        dm_dynamics_sample sample = dyn_sample(7, i);
        dm_dynamics_encoder_update(encoder, &sample,
                                   features + i % 12 * DM_DYNAMICS_ENCODER_FEATURES);
        targets[i % 20] = sample.loss;
        for (int k = 0; k < 3; k++) {
            assert_ok(dm_dynamics_trainer_observe(trainers[k],
                                                  features + i % 12 * DM_DYNAMICS_ENCODER_FEATURES,
                                                  &objectives[k], err));
            if (i > 20 && i % 5 == 0)
                assert_ok(dm_dynamics_trainer_sequence(trainers[k], features, 12, 20, 3, targets,
                                                       &objectives[k], err));
        }
        assert_true(objectives[0] == objectives[1] && objectives[0] == objectives[2]);
    }
    for (int k = 1; k < 3; k++) {
        assert_memory_equal(models[0]->weights, models[k]->weights,
                            config.members * models[0]->layout.stride * sizeof(float));
        assert_memory_equal(dm_dynamics_trainer_hidden(trainers[0]),
                            dm_dynamics_trainer_hidden(trainers[k]),
                            (size_t)config.members * config.hidden * sizeof(float));
    }
    assert_int_equal(dm_dynamics_trainer_set_threads(trainers[0], -1, NULL), DM_EINVAL);
    assert_int_equal(dm_dynamics_trainer_set_threads(NULL, 1, NULL), DM_EINVAL);
    for (int k = 0; k < 3; k++) {
        dm_dynamics_trainer_destroy(trainers[k]);
        dm_dynamics_destroy(models[k]);
    }
    dm_dynamics_encoder_destroy(encoder);
}

static void foreign_states_are_refused(void **state)
{
    (void)state;
    dm_error err = {0};
    dm_dynamics_encoder *wide, *narrow;
    assert_ok(dm_dynamics_encoder_create(32, 16, &wide, err));
    assert_ok(dm_dynamics_encoder_create(31, 16, &narrow, err));
    size_t size = dm_dynamics_encoder_state_size(wide);
    unsigned char *bytes = malloc(size);
    dm_dynamics_encoder_state_get(narrow, bytes);
    assert_int_equal(dm_dynamics_encoder_state_set(wide, bytes, size, &err), DM_EFORMAT);
    memset(bytes, 0xff, size); /* queues that point anywhere */
    assert_int_equal(dm_dynamics_encoder_state_set(wide, bytes, size, &err), DM_EFORMAT);
    free(bytes);
    dm_dynamics_encoder_destroy(wide);
    dm_dynamics_encoder_destroy(narrow);
}

DM_TESTS("dynamics/train", DM_TEST(states_go_on_to_the_same_bits),
         DM_TEST(threads_do_not_change_the_bits), DM_TEST(foreign_states_are_refused),
         DM_TEST(bad_samples_are_skipped), DM_TEST(gradients_follow_the_reference),
         DM_TEST(adam_begins_with_the_learning_rate), DM_TEST(gradients_are_clipped),
         DM_TEST(wrong_configurations_are_refused), DM_TEST(observing_learns_a_repeating_curve),
         DM_TEST(hidden_states_move_on), DM_TEST(forecasts_beat_simple_ones))
