/* SPDX-License-Identifier: MIT */
/* test_curve_stream.c - a curve model beside a run: the same forecasts as from the whole curve at once, lessons, going
 * back, states. */
#include "base/file.h"
#include "base/philox.h"
#include "dynamics/curve/stream.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 60 };

static dm_dynamics *shipped(void)
{
    char path[DM_PATH_MAX];
    dm_dynamics *model = NULL;
    assert_ok(dm_path_join(path, dm_test_source_root(), "share/dynamics/curves.safetensors", err));
    assert_ok(dm_dynamics_load(path, &model, err));
    return model;
}

static double smooth(uint64_t i)
{
    return 2 * pow((double)i + 5, -0.3);
}

/* Sample i of a noisy power law with a falling rate. */
static dm_dynamics_sample sample_at(uint64_t i)
{
    float noise = dm_random_unit(dm_random4(9, 0, i).v[0]) - 0.5f;
    return (dm_dynamics_sample){.step = i + 1,
                                .loss = (float)smooth(i) * expf(0.1f * noise),
                                .gradient_norm = 1 + noise,
                                .learning_rate = 1e-3f / (1 + (float)i / 500)};
}

static void add(dm_curve_stream *stream, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        dm_dynamics_sample s = sample_at(i);
        assert_ok(dm_curve_stream_add(stream, &s, err));
    }
}

typedef struct told {
    float mean[AHEAD], band[AHEAD], spread[AHEAD];
} told;

static told ask(dm_curve_stream *stream)
{
    told t;
    assert_ok(dm_curve_stream_forecast(stream, AHEAD, t.mean, t.band, t.spread, err));
    return t;
}

static void without_lessons_it_says_what_the_whole_curve_says(void **state)
{
    (void)state;
    dm_dynamics *model = shipped();
    dm_curve_stream *stream = NULL;
    dm_dynamics_sample samples[300];
    assert_ok(dm_curve_stream_create(model, NULL, &stream, err));
    for (uint64_t i = 0; i < 300; i++)
        samples[i] = sample_at(i);
    for (uint64_t n = 15; n <= 300; n += 15) {
        dm_dynamics_curve_forecast *f = NULL;
        add(stream, n - 15, n);
        told t = ask(stream);
        assert_ok(dm_dynamics_curve_forecast_create(model, samples, n, AHEAD, &f, err));
        assert_memory_equal(t.mean, f->mean, sizeof t.mean);
        for (int a = 0; a < AHEAD; a++) {
            assert_float_equal(t.band[a], (f->high[a] - f->low[a]) / (2 * 1.6448536f), 1e-6);
            assert_true(t.spread[a] >= 0 && t.spread[a] < 10 * t.band[a]);
        }
        dm_dynamics_curve_forecast_destroy(f);
    }
    /* Between two views the last one's forecast is moved. */
    told before = ask(stream);
    add(stream, 300, 303);
    told moved = ask(stream);
    assert_memory_equal(moved.mean, before.mean + 3, (AHEAD - 3) * sizeof(float));
    dm_curve_stream_destroy(stream);
    dm_dynamics_destroy(model);
}

static void it_needs_15_losses_and_passes_over_bad_ones(void **state)
{
    (void)state;
    dm_dynamics *model = shipped();
    dm_curve_stream *stream = NULL;
    dm_error error = {0};
    told t;
    assert_ok(dm_curve_stream_create(model, NULL, &stream, err));
    add(stream, 0, 14);
    dm_dynamics_sample bad = {.step = 15, .loss = NAN};
    assert_ok(dm_curve_stream_add(stream, &bad, err));
    assert_false(dm_curve_stream_ready(stream));
    assert_int_equal(dm_curve_stream_forecast(stream, AHEAD, t.mean, t.band, t.spread, &error),
                     DM_EINVAL);
    add(stream, 15, 16);
    assert_true(dm_curve_stream_ready(stream));
    dm_curve_stream_destroy(stream);
    dm_dynamics_destroy(model);
}

/* A model whose answers are shifted learns from the run that they are. */
static void lessons_correct_a_model_that_is_off(void **state)
{
    (void)state;
    double error[2] = {0};
    for (int learns = 0; learns < 2; learns++) {
        dm_dynamics *model = shipped();
        dm_dynamics_trainer *trainer = NULL;
        dm_curve_stream *stream = NULL;
        dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
        size_t count;
        how.learning_rate = 1e-3f;
        for (uint32_t e = 0; e < dm_dynamics_get_config(model)->members; e++) {
            float *head = dm_dynamics_weights(model, e, DM_DYNAMICS_HEAD, &count);
            for (size_t i = 0; i < count; i++)
                head[i] += 0.6f * (dm_random_unit(dm_random4(4, e, i).v[0]) - 0.5f);
        }
        assert_ok(dm_dynamics_trainer_create(model, &how, &trainer, err));
        assert_ok(dm_curve_stream_create(model, learns ? trainer : NULL, &stream, err));
        add(stream, 0, 600);
        /* Views come after 5, 10 ..; those of 15 to 545 samples know what came 52 later. */
        assert_int_equal(dm_curve_stream_lessons(stream), learns ? 107 : 0);
        for (uint64_t n = 600; n < 1000; n += 50) {
            told t = ask(stream);
            for (uint64_t a = 0; a < 50; a++)
                error[learns] += fabs(log((double)t.mean[a] / smooth(n + a)));
            add(stream, n, n + 50);
        }
        dm_curve_stream_destroy(stream);
        dm_dynamics_trainer_destroy(trainer);
        dm_dynamics_destroy(model);
    }
    if (!(error[1] < 0.9 * error[0]))
        fail_msg("error with lessons %g, without %g", error[1], error[0]);
}

static void going_back_forgets_the_samples_after_a_step(void **state)
{
    (void)state;
    dm_dynamics *model = shipped();
    dm_curve_stream *stream = NULL;
    assert_ok(dm_curve_stream_create(model, NULL, &stream, err));
    add(stream, 0, 100);
    told want = ask(stream);
    dm_dynamics_sample high = sample_at(0);
    for (uint64_t i = 0; i < 23; i++) {
        high.step = 141 + i;
        high.loss = 50;
        assert_ok(dm_curve_stream_add(stream, &high, err));
    }
    told other = ask(stream);
    assert_true(other.mean[0] > 2 * want.mean[0]);
    dm_curve_stream_back(stream, 100);
    told got = ask(stream);
    assert_memory_equal(&got, &want, sizeof got);
    dm_curve_stream_destroy(stream);
    dm_dynamics_destroy(model);
}

/* 9,000 samples are more than are kept. */
static void a_long_run_keeps_its_later_part(void **state)
{
    (void)state;
    dm_dynamics *model = shipped();
    dm_curve_stream *stream = NULL;
    assert_ok(dm_curve_stream_create(model, NULL, &stream, err));
    for (uint64_t n = 0; n < 9000; n += 500) {
        add(stream, n, n + 500);
        told t = ask(stream);
        for (uint64_t a = 0; a < AHEAD; a++) {
            if (!(fabs(log((double)t.mean[a] / smooth(n + 500 + a))) < 0.1))
                fail_msg("after %d samples: %g, the curve has %g", (int)n + 500, (double)t.mean[a],
                         smooth(n + 500 + a));
        }
    }
    dm_curve_stream_destroy(stream);
    dm_dynamics_destroy(model);
}

static void a_state_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    static const uint64_t stops[] = {3, 77, 4100};
    for (size_t k = 0; k < 3; k++) {
        dm_dynamics *model = shipped();
        dm_curve_stream *one = NULL, *two = NULL;
        char *bytes = malloc(dm_curve_stream_state_size());
        assert_ok(dm_curve_stream_create(model, NULL, &one, err));
        assert_ok(dm_curve_stream_create(model, NULL, &two, err));
        add(one, 0, stops[k]);
        add(two, 500, 700); /* to be forgotten */
        dm_curve_stream_state_get(one, bytes);
        assert_ok(dm_curve_stream_state_set(two, bytes, err));
        add(one, stops[k], stops[k] + 90);
        add(two, stops[k], stops[k] + 90);
        told a = ask(one), b = ask(two);
        assert_memory_equal(&a, &b, sizeof a);
        /* Damage: a count beyond what is kept, a loss without a logarithm. */
        dm_error error = {0};
        memset(bytes, 0xff, 8);
        assert_int_equal(dm_curve_stream_state_set(two, bytes, &error), DM_EFORMAT);
        dm_curve_stream_state_get(one, bytes);
        memset(bytes + dm_curve_stream_state_size() - DM_STREAM_VIEWS * sizeof(dm_view) -
                   DM_STREAM_SAMPLES * sizeof(dm_dynamics_sample),
               0xff, sizeof(dm_dynamics_sample));
        assert_int_equal(dm_curve_stream_state_set(two, bytes, &error), DM_EFORMAT);
        told c = ask(two);
        assert_memory_equal(&b, &c, sizeof b);
        free(bytes);
        dm_curve_stream_destroy(one);
        dm_curve_stream_destroy(two);
        dm_dynamics_destroy(model);
    }
}

DM_TESTS("dynamics/curve-stream", DM_TEST(without_lessons_it_says_what_the_whole_curve_says),
         DM_TEST(it_needs_15_losses_and_passes_over_bad_ones),
         DM_TEST(lessons_correct_a_model_that_is_off),
         DM_TEST(going_back_forgets_the_samples_after_a_step),
         DM_TEST(a_long_run_keeps_its_later_part), DM_TEST(a_state_goes_on_to_the_same_bits))
