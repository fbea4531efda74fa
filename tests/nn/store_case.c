/* SPDX-License-Identifier: MIT */
/* store_case.c - see store_case.h. */
#include "tests/nn/store_case.h"

#include "base/philox.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 6, AVERAGE = 4, WEIGHTS = 5 };

static float number(uint64_t slot, uint64_t i)
{
    return 4 * dm_random_unit(dm_random4(31, slot, i).v[0]) - 2;
}

/* values[SLOTS][n] */
static void fill(dm_nn_store *store, float *values, size_t n)
{
    for (size_t s = 0; s < SLOTS; s++) {
        for (size_t i = 0; i < n; i++)
            values[s * n + i] = number(s, i);
        assert_ok(dm_nn_store_write(store, s, NULL, values + s * n, err));
    }
}

static void check_move(dm_nn_store *store, float *values, size_t n, bool onto_average)
{
    static const size_t slots[] = {2, 0, 3, AVERAGE};
    static const double factors[] = {1.25, -0.375, 1.0 / 3, -1};
    dm_nn_move move = {4, slots, factors, AVERAGE, WEIGHTS, onto_average};
    float *got = malloc(n * sizeof *got);
    bool finite = false;
    assert_non_null(got);
    fill(store, values, n);
    assert_ok(dm_nn_store_move(store, &move, &finite, err));
    assert_true(finite);
    for (size_t i = 0; i < n; i++) {
        double by = 0;
        for (size_t k = 0; k < 4; k++)
            by += factors[k] * (double)values[slots[k] * n + i];
        float average = (float)((double)values[AVERAGE * n + i] + by);
        float weight = onto_average ? average : (float)((double)values[WEIGHTS * n + i] + by);
        values[AVERAGE * n + i] = average;
        values[WEIGHTS * n + i] = weight;
    }
    assert_ok(dm_nn_store_read(store, AVERAGE, NULL, got, err));
    assert_memory_equal(got, values + AVERAGE * n, n * sizeof *got);
    assert_ok(dm_nn_store_read(store, WEIGHTS, NULL, got, err));
    assert_memory_equal(got, values + WEIGHTS * n, n * sizeof *got);
    free(got);
}

/* One number that is none among all, at the end. */
static void check_not_finite(dm_nn_store *store, float *values, size_t n)
{
    static const size_t slots[] = {1};
    static const double factors[] = {1e30};
    dm_nn_move move = {1, slots, factors, AVERAGE, WEIGHTS, false};
    bool finite = true;
    fill(store, values, n);
    memset(values + n, 0, n * sizeof *values);
    values[n + n - 1] = 1e30f;
    assert_ok(dm_nn_store_write(store, 1, NULL, values + n, err));
    assert_ok(dm_nn_store_move(store, &move, &finite, err));
    assert_false(finite);
}

static void check_product(dm_nn_store *store, float *values, size_t n)
{
    long double sum = 0, size = 0;
    double got;
    fill(store, values, n);
    assert_ok(dm_nn_store_product(store, 1, 0, 3, 2, &got, err));
    for (size_t i = 0; i < n; i++) {
        double a = (double)values[n + i] - (double)values[i],
               b = (double)values[3 * n + i] - (double)values[2 * n + i];
        sum += a * b;
        size += fabs(a * b);
    }
    assert_near(got, (double)sum, 1e-13 * (double)size);
}

static void check_copies(dm_nn_store *store, float *values, size_t n)
{
    fill(store, values, n);
    float *got = malloc(n * sizeof *got);
    assert_non_null(got);
    assert_ok(dm_nn_store_copy(store, 0, 3, err));
    for (size_t s = 0; s < SLOTS; s++) { /* no other slot changed */
        assert_ok(dm_nn_store_read(store, s, NULL, got, err));
        assert_memory_equal(got, values + (s == 0 ? 3 : s) * n, n * sizeof *got);
    }
    free(got);
}

void store_case_compare(const char *device)
{
    static const size_t sizes[] = {1, 17, 4096, 65536, 65537, 300001};
    dm_device *on = NULL;
    assert_ok(dm_device_open(device, &on, err));
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t n = sizes[k];
        dm_nn_store *store = NULL;
        float *values = malloc(SLOTS * n * sizeof *values);
        assert_non_null(values);
        assert_ok(dm_nn_store_create(on, n, SLOTS, &store, err));
        check_copies(store, values, n);
        check_move(store, values, n, false);
        check_move(store, values, n, true);
        check_not_finite(store, values, n);
        check_product(store, values, n);
        dm_error refused = {0};
        assert_int_equal(dm_nn_store_copy(store, 0, SLOTS, &refused), DM_EINVAL);
        dm_nn_store_destroy(store);
        free(values);
    }
    dm_device_close(on);
}

/* ---- Beside a model ---- */

static void read_part(dm_nn_model *model, dm_nn_part part, float *to)
{
    for (size_t k = 0; k < dm_nn_model_parameter_count(model); k++) {
        assert_ok(dm_nn_model_read(model, k, part, to, err));
        to += dm_nn_model_parameter(model, k)->count;
    }
}

void store_case_model(const char *device)
{
    static const dm_nn_layer layers[] = {
        {.kind = DM_NN_LAYER_LINEAR, .size = 37, .activation = DM_NN_TANH},
        {.kind = DM_NN_LAYER_LINEAR, .size = 3}};
    dm_nn_model_desc desc = {.layers = layers,
                             .layer_count = 2,
                             .input = {5},
                             .batch = 4,
                             .shards = 1,
                             .loss = DM_NN_LOSS_SQUARE,
                             .seed = 3,
                             .optimiser = {.kind = DM_NN_ADAMW, .rate = 0.01f, .average = 0.9f}};
    dm_device *on = NULL;
    dm_nn_model *model = NULL;
    dm_nn_store *store = NULL;
    float x[20], y[12], loss, told[2];
    assert_ok(dm_device_open(device, &on, err));
    assert_ok(dm_nn_model_create(on, &desc, &model, err));
    assert_ok(dm_nn_store_create(on, dm_nn_store_room(model), 4, &store, err));
    size_t size = dm_nn_model_size(model);
    float *before = malloc(4 * size * sizeof *before), *now = malloc(size * sizeof *now);
    assert_true(before != NULL && now != NULL);
    for (uint64_t step = 0; step < 8; step++) {
        for (uint64_t i = 0; i < 20; i++)
            x[i] = number(40 + step, i);
        for (uint64_t i = 0; i < 12; i++)
            y[i] = number(60 + step, i);
        assert_ok(dm_nn_model_step(model, x, y, &loss, err));
        if (step == 3)
            for (size_t part = 0; part < 4; part++) {
                assert_ok(dm_nn_store_take(store, part, model, (dm_nn_part)part, err));
                read_part(model, (dm_nn_part)part, before + part * size);
            }
    }
    for (size_t part = 0; part < 4; part++) {
        read_part(model, (dm_nn_part)part, now);
        assert_true(memcmp(now, before + part * size, size * sizeof *now) != 0);
        assert_ok(dm_nn_store_put(store, part, model, (dm_nn_part)part, err));
        read_part(model, (dm_nn_part)part, now);
        assert_memory_equal(now, before + part * size, size * sizeof *now);
        assert_ok(dm_nn_store_read(store, part, model, now, err));
        assert_memory_equal(now, before + part * size, size * sizeof *now);
        memset(now, 0, size * sizeof *now);
        double sum = 0, squares = 0;
        for (size_t i = 0; i < size; i++)
            sum += (double)before[part * size + i];
        for (size_t i = 0; i < size; i++)
            squares += pow((double)before[part * size + i] - sum / (double)size, 2);
        assert_ok(dm_nn_store_moments(store, model, (dm_nn_part)part, told, err));
        assert_near(told[0], sum / (double)size, 1e-6);
        assert_near(told[1], sqrt(squares / (double)size), 1e-6);
    }
    /* The next step begins with what was put back: on CUDA also its copies of the weights. */
    dm_nn_model *fresh = NULL;
    float again;
    assert_ok(dm_nn_model_create(on, &desc, &fresh, err));
    const float *from = before;
    for (size_t part = 0; part < 4; part++)
        for (size_t k = 0; k < dm_nn_model_parameter_count(fresh); k++) {
            assert_ok(dm_nn_model_write(fresh, k, (dm_nn_part)part, from, err));
            from += dm_nn_model_parameter(fresh, k)->count;
        }
    dm_nn_model_set_steps(model, 4);
    dm_nn_model_set_steps(fresh, 4);
    assert_ok(dm_nn_model_step(model, x, y, &loss, err));
    assert_ok(dm_nn_model_step(fresh, x, y, &again, err));
    assert_memory_equal(&loss, &again, sizeof loss);
    dm_nn_model_destroy(fresh);
    free(before);
    free(now);
    dm_nn_store_destroy(store);
    dm_nn_model_destroy(model);
    dm_device_close(on);
}
