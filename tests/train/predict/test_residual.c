/* SPDX-License-Identifier: MIT */
/* test_residual.c - the store of residuals, and the corrections that are made from it. */
#include "base/philox.h"
#include "tests/support/test.h"
#include "train/predict/corrector.h"

#include <math.h>
#include <string.h>

static const dm_predict_rules *const rules = &dm_predict_rules_default;

/* Features in the plane of the first two, at an angle. */
static dm_residual at_angle(double angle, double residual, uint64_t step, double confidence)
{
    dm_residual r = {.step = step, .residual = residual, .confidence = confidence};
    r.features[0] = (float)cos(angle);
    r.features[1] = (float)sin(angle);
    return r;
}

static void nearest_are_those_of_the_largest_cosine(void **state)
{
    (void)state;
    dm_residual_store store;
    assert_ok(dm_residual_store_init(&store, err));
    for (int i = 0; i < 40; i++) {
        dm_residual r = at_angle(0.05 * ((i * 17) % 40), (i * 17) % 40, (uint64_t)i, 1);
        for (int k = 0; k < 2; k++)
            r.features[k] *= (float)(1 + i); /* lengths do not matter */
        assert_true(dm_residual_store_add(&store, &r));
    }
    dm_residual_match near[10];
    dm_residual today = at_angle(0, 0, 0, 1);
    assert_int_equal(dm_residual_store_nearest(&store, today.features, near, 10), 10);
    for (int i = 0; i < 10; i++)
        assert_near(near[i].residual->residual, i, 1e-9);
    assert_near(near[3].cosine, cos(0.15), 1e-6);
    dm_residual_store_deinit(&store);
}

static void the_ring_keeps_the_last_thousand(void **state)
{
    (void)state;
    dm_residual_store store;
    assert_ok(dm_residual_store_init(&store, err));
    for (int i = 0; i < 1500; i++) {
        dm_residual r = at_angle(0, i, (uint64_t)i, 1);
        dm_residual_store_add(&store, &r);
    }
    assert_int_equal(dm_residual_store_count(&store), 1000);
    dm_residual_match near[1000];
    dm_residual today = at_angle(0, 0, 0, 1);
    assert_int_equal(dm_residual_store_nearest(&store, today.features, near, 1000), 1000);
    assert_int_equal(near[0].residual->step, 1499); /* of equal ones the newest first */
    assert_int_equal(near[999].residual->step, 500);
    dm_residual_store_deinit(&store);
}

static void residuals_that_are_no_numbers_are_not_taken(void **state)
{
    (void)state;
    dm_residual_store store;
    assert_ok(dm_residual_store_init(&store, err));
    dm_residual r = at_angle(0, NAN, 0, 1);
    assert_false(dm_residual_store_add(&store, &r));
    r = at_angle(0, 1, 0, 1);
    r.features[63] = INFINITY;
    assert_false(dm_residual_store_add(&store, &r));
    assert_int_equal(dm_residual_store_count(&store), 0);
    dm_residual_store_deinit(&store);
}

static void correction_of_one_residual_by_hand(void **state)
{
    (void)state;
    dm_residual_store store;
    dm_corrector corrector;
    assert_ok(dm_residual_store_init(&store, err));
    dm_corrector_init(&corrector);
    dm_residual r = at_angle(0.3, 0.5, 100, 0.8), today = at_angle(0, 0, 0, 1);
    assert_near(dm_corrector_correction(&corrector, rules, &store, 200, today.features, 10), 0, 0);
    dm_residual_store_add(&store, &r);
    /* The weight falls out of the mean of one; 0.7 * 0.5 * (0.5 + 0.5). */
    assert_near(dm_corrector_correction(&corrector, rules, &store, 200, today.features, 10), 0.35,
                1e-9);
    dm_residual_store_deinit(&store);
}

static void older_and_less_confident_residuals_weigh_less(void **state)
{
    (void)state;
    dm_residual_store store;
    dm_corrector corrector;
    assert_ok(dm_residual_store_init(&store, err));
    dm_corrector_init(&corrector);
    dm_residual old = at_angle(0, 1, 100, 0.5), new = at_angle(0, -1, 300, 1);
    dm_residual_store_add(&store, &old);
    dm_residual_store_add(&store, &new);
    double a = pow(0.95, 2) * 0.5, b = 1;
    assert_near(dm_corrector_correction(&corrector, rules, &store, 300, old.features, 100),
                0.7 * (a - b) / (a + b) * 1.5, 1e-9);
    dm_residual_store_deinit(&store);
}

static void only_the_ten_nearest_count(void **state)
{
    (void)state;
    dm_residual_store store;
    dm_corrector corrector;
    assert_ok(dm_residual_store_init(&store, err));
    dm_corrector_init(&corrector);
    for (int i = 0; i < 30; i++) {
        dm_residual r = at_angle(i < 10 ? 0 : 1.5, i < 10 ? 0.1 : 100, 0, 1);
        dm_residual_store_add(&store, &r);
    }
    dm_residual today = at_angle(0, 0, 0, 1);
    assert_near(dm_corrector_correction(&corrector, rules, &store, 0, today.features, 100),
                0.7 * 0.1 * 0.6, 1e-9);
    dm_residual_store_deinit(&store);
}

static void corrections_stay_within_a_fifth_of_the_loss(void **state)
{
    (void)state;
    dm_residual_store store;
    dm_corrector corrector;
    assert_ok(dm_residual_store_init(&store, err));
    dm_corrector_init(&corrector);
    dm_residual r = at_angle(0, 50, 0, 1);
    dm_residual_store_add(&store, &r);
    assert_near(dm_corrector_correction(&corrector, rules, &store, 0, r.features, 2), 0.4, 1e-12);
    r.residual = -500;
    for (int i = 0; i < 10; i++)
        dm_residual_store_add(&store, &r);
    assert_near(dm_corrector_correction(&corrector, rules, &store, 0, r.features, 2), -0.4, 1e-12);
    dm_residual_store_deinit(&store);
}

/* A residual that is a linear function of the features is learned, at any scale of them. */
static void the_linear_model_learns(void **state)
{
    (void)state;
    static const float scales[] = {1e-4f, 1, 1e6f};
    for (int s = 0; s < 3; s++) {
        dm_corrector corrector;
        dm_corrector_init(&corrector);
        double first = 0, last = 0;
        for (int i = 0; i < 4000; i++) {
            float features[DM_DYNAMICS_ENCODER_FEATURES];
            for (int k = 0; k < DM_DYNAMICS_ENCODER_FEATURES; k++)
                features[k] = scales[s] *
                              (dm_random_unit(dm_random4(1, (uint64_t)k, (uint64_t)i).v[0]) - 0.5f);
            double residual = 2 * features[3] / scales[s] - features[7] / scales[s] + 0.5;
            double error = fabs(residual - dm_corrector_linear(&corrector, features));
            first += i < 100 ? error / 100 : 0;
            last += i >= 3900 ? error / 100 : 0;
            dm_corrector_teach(&corrector, rules, features, residual);
        }
        assert_true(first > 0.3);
        assert_true(last < 0.1 * first);
    }
}

/* From nothing a lesson makes up for a hundredth of the residual per feature of unit length and the constant. */
static void a_lesson_is_a_hundredth_of_the_error(void **state)
{
    (void)state;
    float features[DM_DYNAMICS_ENCODER_FEATURES] = {0};
    dm_corrector corrector;
    dm_corrector_init(&corrector);
    features[3] = -2;
    dm_corrector_teach(&corrector, rules, features, 0.5);
    assert_near(corrector.weights[3], -0.01 * 0.5, 1e-12);
    assert_near(corrector.weights[DM_DYNAMICS_ENCODER_FEATURES], 0.01 * 0.5, 1e-12);
    assert_near(dm_corrector_linear(&corrector, features), 2 * 0.01 * 0.5, 1e-12);
}

DM_TESTS("train/predict/residual", DM_TEST(nearest_are_those_of_the_largest_cosine),
         DM_TEST(the_ring_keeps_the_last_thousand),
         DM_TEST(residuals_that_are_no_numbers_are_not_taken),
         DM_TEST(correction_of_one_residual_by_hand),
         DM_TEST(older_and_less_confident_residuals_weigh_less),
         DM_TEST(only_the_ten_nearest_count), DM_TEST(corrections_stay_within_a_fifth_of_the_loss),
         DM_TEST(a_lesson_is_a_hundredth_of_the_error), DM_TEST(the_linear_model_learns))
