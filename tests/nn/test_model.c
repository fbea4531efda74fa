/* SPDX-License-Identifier: MIT */
/* test_model.c - whole models: gradients reach every parameter, XOR is learned, bits do not depend
 * on threads. */
#include <dotmatrix/nn.h>

#include "base/file.h"
#include "tests/nn/model_case.h"
#include "tests/support/command.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

static dm_nn_model *model_on(const char *device_id, const dm_nn_model_desc *desc)
{
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    assert_ok(dm_device_open(device_id, &device, err));
    assert_ok(dm_nn_model_create(device, desc, &model, err));
    dm_device_close(device); /* the model's kernels keep it alive */
    return model;
}

static void xor_is_solved(void **state)
{
    (void)state;
    int solved = 0;
    dm_device *device = NULL;
    assert_ok(dm_device_open("cpu:1", &device, err));
    for (uint64_t seed = 1; seed <= 20; seed++)
        solved += solves_xor(device, seed);
    dm_device_close(device);
    if (solved < 19)
        fail_msg("XOR was solved with %d of 20 seeds", solved);
}

/* One step of plain descent changes each weight by the gradient times the rate: compare that with
 * differences of the loss, for some elements of every parameter. */
static void gradients_of_a_model_equal_differences(void **state)
{
    (void)state;
    int32_t ids[BATCH * T], next[BATCH * T];
    text(ids, next);
    dm_nn_model_desc desc = gpt_desc(2, (dm_nn_optimiser){.kind = DM_NN_SGD, .rate = 1.0f});
    dm_nn_model *model = model_on("cpu:1", &desc), *moved = model_on("cpu:1", &desc);
    assert_ok(dm_nn_model_step(moved, ids, next, NULL, err));
    for (size_t k = 0; k < dm_nn_model_parameter_count(model); k++) {
        const dm_nn_parameter *p = dm_nn_model_parameter(model, k);
        for (size_t i = 0; i < p->count; i += p->count / 5 + 1) {
            float was = p->value[i], by = 0.004f, up, down;
            p->value[i] = was + by;
            assert_ok(dm_nn_model_evaluate(model, ids, next, NULL, &up, err));
            p->value[i] = was - by;
            assert_ok(dm_nn_model_evaluate(model, ids, next, NULL, &down, err));
            p->value[i] = was;
            double want = ((double)up - down) / (2 * by);
            double given = (double)was - dm_nn_model_parameter(moved, k)->value[i];
            if (!(fabs(want - given) <= 2e-4 + 0.02 * fabs(want)))
                fail_msg("%s[%zu]: gradient %g, difference %g", p->name, i, given, want);
        }
    }
    dm_nn_model_destroy(model);
    dm_nn_model_destroy(moved);
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    int32_t ids[BATCH * T], next[BATCH * T];
    text(ids, next);
    dm_nn_optimiser adamw = {.kind = DM_NN_ADAMW, .rate = 1e-2f, .decay = 0.1f, .clip = 0.5f};
    dm_nn_model_desc desc = gpt_desc(8, adamw);
    dm_nn_model *one = model_on("cpu:1", &desc), *many = model_on("cpu:3", &desc);
    float first = 0, last = 0;
    for (int i = 0; i < 60; i++) {
        assert_ok(dm_nn_model_step(one, ids, next, i == 0 ? &first : &last, err));
        assert_ok(dm_nn_model_step(many, ids, next, NULL, err));
    }
    assert_true(last < 0.7f * first);
    for (size_t k = 0; k < dm_nn_model_parameter_count(one); k++) {
        const dm_nn_parameter *a = dm_nn_model_parameter(one, k),
                              *b = dm_nn_model_parameter(many, k);
        assert_memory_equal(a->value, b->value, a->count * sizeof(float));
        assert_memory_equal(a->first, b->first, a->count * sizeof(float));
    }
    dm_nn_model_destroy(one);
    dm_nn_model_destroy(many);
}

static void wrong_descriptions_are_refused(void **state)
{
    (void)state;
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    dm_error err;
    assert_ok(dm_device_open("cpu:1", &device, err));
    static const dm_nn_layer bad[][2] = {
        {{.kind = DM_NN_LAYER_LINEAR}, {.kind = DM_NN_LAYER_LINEAR, .size = 1}},
        {{.kind = DM_NN_LAYER_CONV, .size = 2, .kernel = 9},
         {.kind = DM_NN_LAYER_LINEAR, .size = 1}},
        {{.kind = DM_NN_LAYER_POOL, .kernel = 3}, {.kind = DM_NN_LAYER_LINEAR, .size = 1}},
        {{.kind = DM_NN_LAYER_LINEAR, .size = 4},
         {.kind = DM_NN_LAYER_EMBED, .size = 3, .width = 2}},
        {{.kind = DM_NN_LAYER_LINEAR, .size = 4}, {.kind = DM_NN_LAYER_ATTENTION, .size = 3}},
        {{.kind = DM_NN_LAYER_LINEAR, .size = 4}, {.kind = DM_NN_LAYER_RESIDUAL, .from = 7}},
        {{.kind = DM_NN_LAYER_LINEAR, .size = 4},
         {.kind = DM_NN_LAYER_LINEAR, .size = 4, .tied = true}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        dm_nn_model_desc desc = xor_desc(1);
        desc.layers = bad[i];
        assert_int_equal(dm_nn_model_create(device, &desc, &model, &err), DM_EINVAL);
        assert_non_null(strstr(err.message, "layer"));
    }
    dm_nn_model_desc desc = xor_desc(1);
    desc.batch = 0;
    assert_int_equal(dm_nn_model_create(device, &desc, &model, &err), DM_EINVAL);
    desc.batch = 5;
    desc.shards = 2;
    assert_int_equal(dm_nn_model_create(device, &desc, &model, &err), DM_EINVAL);
    assert_int_equal(dm_nn_model_create(NULL, &desc, &model, &err), DM_EINVAL);
    assert_int_equal(dm_nn_model_create(device, NULL, &model, &err), DM_EINVAL);
    dm_device_close(device);
}

static void a_loss_that_is_no_number_stops_the_step(void **state)
{
    (void)state;
    dm_error err;
    dm_nn_model_desc desc = xor_desc(1);
    dm_nn_model *model = model_on("cpu:1", &desc);
    float input[4][2] = {{0, 0}, {0, NAN}, {1, 0}, {1, 1}};
    float before = dm_nn_model_parameter(model, 0)->value[0];
    assert_int_equal(dm_nn_model_step(model, input, xor_target, NULL, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "step 1"));
    assert_non_null(strstr(err.message, "layer 0"));
    assert_true(before == dm_nn_model_parameter(model, 0)->value[0]);
    assert_ok(dm_nn_model_step(model, xor_input, xor_target, NULL, err));
    dm_nn_model_destroy(model);
}

static void wrong_tokens_are_refused(void **state)
{
    (void)state;
    int32_t ids[BATCH * T], next[BATCH * T];
    dm_error err;
    dm_nn_model_desc desc = gpt_desc(1, (dm_nn_optimiser){.kind = DM_NN_SGD, .rate = 0.1f});
    dm_nn_model *model = model_on("cpu:1", &desc);
    text(ids, next);
    ids[3] = V;
    assert_int_equal(dm_nn_model_step(model, ids, next, NULL, &err), DM_EINVAL);
    ids[3] = -1;
    assert_int_equal(dm_nn_model_step(model, ids, next, NULL, &err), DM_EINVAL);
    text(ids, next);
    next[0] = V;
    assert_int_equal(dm_nn_model_step(model, ids, next, NULL, &err), DM_EINVAL);
    dm_nn_model_destroy(model);
}

/* A batch in parts is the same batch: gradients differ by rounding only. */
static void microbatches_are_one_batch(void **state)
{
    (void)state;
    int32_t ids[BATCH * T], next[BATCH * T];
    text(ids, next);
    dm_nn_optimiser sgd = {.kind = DM_NN_SGD, .rate = 0.1f};
    dm_nn_model_desc desc = gpt_desc(2, sgd), parts = gpt_desc(2, sgd);
    parts.microbatches = 4;
    dm_nn_model *whole = model_on("cpu:1", &desc), *cut = model_on("cpu:2", &parts);
    float loss[2], out[2][BATCH * T * V];
    for (int i = 0; i < 3; i++) {
        assert_ok(dm_nn_model_step(whole, ids, next, &loss[0], err));
        assert_ok(dm_nn_model_step(cut, ids, next, &loss[1], err));
        assert_true(fabsf(loss[0] - loss[1]) < 1e-5f);
    }
    float norm[2];
    assert_ok(dm_nn_model_loss(whole, NULL, &norm[0], err));
    assert_ok(dm_nn_model_loss(cut, NULL, &norm[1], err));
    assert_true(norm[0] > 0 && fabsf(norm[0] - norm[1]) < 1e-4f * norm[0]);
    assert_ok(dm_nn_model_evaluate(whole, ids, NULL, out[0], NULL, err));
    assert_ok(dm_nn_model_evaluate(cut, ids, NULL, out[1], NULL, err));
    for (int i = 0; i < BATCH * T * V; i++)
        assert_true(fabsf(out[0][i] - out[1][i]) < 1e-4f);
    dm_nn_memory all[2];
    dm_device *device = NULL;
    assert_ok(dm_device_open("cpu:1", &device, err));
    assert_ok(dm_nn_model_memory(device, &desc, &all[0], err));
    assert_ok(dm_nn_model_memory(device, &parts, &all[1], err));
    assert_true(all[1].activations < all[0].activations);
    assert_true(all[0].total == all[0].parameters + all[0].activations + all[0].scratch);
    dm_device_close(device);
    dm_nn_model_destroy(whole);
    dm_nn_model_destroy(cut);
}

/* One step from the same weights: each optimiser changes them as its formula says. */
static void optimisers_follow_their_formulas(void **state)
{
    (void)state;
    int32_t ids[BATCH * T], next[BATCH * T];
    text(ids, next);
    for (int kind = DM_NN_SGD; kind <= DM_NN_ADAM; kind++) {
        dm_nn_optimiser o = {.kind = (dm_nn_optimiser_kind)kind,
                             .rate = 0.01f,
                             .momentum = 0.9f,
                             .decay = 0.5f,
                             .average = 0.75f};
        dm_nn_model_desc desc = gpt_desc(2, o);
        dm_nn_model *model = model_on("cpu:1", &desc), *before = model_on("cpu:1", &desc);
        float norm;
        double squares = 0;
        assert_ok(dm_nn_model_step(model, ids, next, NULL, err));
        assert_ok(dm_nn_model_loss(model, NULL, &norm, err));
        for (size_t k = 0; k < dm_nn_model_parameter_count(model); k++) {
            const dm_nn_parameter *p = dm_nn_model_parameter(model, k);
            float g[3 * C * C + 4 * C * C], m[7 * C * C], v[7 * C * C], w[7 * C * C],
                average[7 * C * C], was[7 * C * C];
            assert_true(p->count <= 7 * C * C);
            assert_ok(dm_nn_model_read(before, k, DM_NN_VALUE, was, err));
            assert_ok(dm_nn_model_read(model, k, DM_NN_VALUE, w, err));
            assert_ok(dm_nn_model_read(model, k, DM_NN_FIRST, m, err));
            assert_ok(dm_nn_model_read(model, k, DM_NN_SECOND, v, err));
            assert_ok(dm_nn_model_read(model, k, DM_NN_GRADIENT, g, err));
            assert_ok(dm_nn_model_read(model, k, DM_NN_AVERAGE, average, err));
            for (size_t i = 0; i < p->count; i++) {
                double decay = p->shape[1] ? 0.5 : 0, d = g[i], want;
                squares += d * d;
                if (kind != DM_NN_ADAMW)
                    d += decay * was[i];
                if (kind == DM_NN_SGD) {
                    want = was[i] - 0.01 * d;
                } else { /* the first step: m / correct1 is d, v / correct2 its square */
                    want = was[i] - 0.01 * d / (fabs(d) + 1e-8);
                    want -= kind == DM_NN_ADAMW ? 0.01 * decay * was[i] : 0;
                    assert_true(fabs(m[i] - 0.1 * d) <= 1e-6 * fabs(d) + 1e-12);
                    assert_true(fabs(v[i] - 0.001 * d * d) <= 1e-4 * d * d + 1e-12);
                }
                /* Next to zero the quotient of an Adam step is rounding. */
                if (kind == DM_NN_SGD || fabs(d) > 1e-6)
                    assert_true(fabs(w[i] - want) <= 1e-5);
                assert_true(fabs(average[i] - (0.75 * was[i] + 0.25 * w[i])) <= 1e-6);
            }
            assert_ok(dm_nn_model_write(model, k, DM_NN_FIRST, was, err));
            assert_memory_equal(p->first, was, p->count * sizeof(float));
        }
        assert_true(fabs(sqrt(squares) - (double)norm) <= 1e-4 * (double)norm);
        dm_nn_model_destroy(model);
        dm_nn_model_destroy(before);
    }
}

static void averages_take_the_place_of_weights(void **state)
{
    (void)state;
    dm_nn_model_desc desc = xor_desc(1);
    desc.optimiser.average = 0.9f;
    dm_nn_model *model = model_on("cpu:1", &desc);
    float w[8], average[8], now[8], loss[3];
    for (int i = 0; i < 100; i++)
        assert_ok(dm_nn_model_step(model, xor_input, xor_target, NULL, err));
    assert_ok(dm_nn_model_evaluate(model, xor_input, xor_target, NULL, &loss[0], err));
    assert_ok(dm_nn_model_read(model, 0, DM_NN_VALUE, w, err));
    assert_ok(dm_nn_model_read(model, 0, DM_NN_AVERAGE, average, err));
    assert_memory_not_equal(w, average, sizeof w);
    assert_ok(dm_nn_model_swap_average(model, err));
    assert_ok(dm_nn_model_read(model, 0, DM_NN_VALUE, now, err));
    assert_memory_equal(now, average, sizeof now);
    assert_ok(dm_nn_model_evaluate(model, xor_input, xor_target, NULL, &loss[1], err));
    assert_true(loss[1] != loss[0]);
    assert_ok(dm_nn_model_swap_average(model, err));
    assert_ok(dm_nn_model_evaluate(model, xor_input, xor_target, NULL, &loss[2], err));
    assert_true(loss[2] == loss[0]);
    dm_nn_model_destroy(model);
    dm_error err;
    desc.optimiser.average = 0;
    model = model_on("cpu:1", &desc);
    assert_int_equal(dm_nn_model_swap_average(model, &err), DM_EINVAL);
    assert_int_equal(dm_nn_model_read(model, 0, DM_NN_AVERAGE, w, &err), DM_EINVAL);
    assert_int_equal(dm_nn_model_read(model, 99, DM_NN_VALUE, w, &err), DM_EINVAL);
    assert_int_equal(dm_nn_model_write(model, 0, DM_NN_GRADIENT, w, &err), DM_EINVAL);
    dm_nn_model_destroy(model);
}

static void schedules_rise_and_fall(void **state)
{
    (void)state;
    dm_nn_schedule s = {
        .kind = DM_NN_SCHEDULE_COSINE, .rate = 2, .last = 1, .warmup = 4, .steps = 104};
    static const struct {
        dm_nn_schedule_kind kind;
        uint64_t step;
        float rate;
    } rows[] = {
        {DM_NN_SCHEDULE_COSINE, 0, 0.5f},   {DM_NN_SCHEDULE_COSINE, 3, 2},
        {DM_NN_SCHEDULE_COSINE, 4, 2},      {DM_NN_SCHEDULE_COSINE, 54, 1.5f},
        {DM_NN_SCHEDULE_COSINE, 104, 1},    {DM_NN_SCHEDULE_COSINE, 9999, 1},
        {DM_NN_SCHEDULE_LINEAR, 29, 1.75f}, {DM_NN_SCHEDULE_LINEAR, 79, 1.25f},
        {DM_NN_SCHEDULE_CONSTANT, 79, 2},   {DM_NN_SCHEDULE_CONSTANT, 9999, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        s.kind = rows[i].kind;
        assert_true(fabsf(dm_nn_schedule_rate(&s, rows[i].step) - rows[i].rate) < 1e-6f);
    }
    assert_true(dm_nn_schedule_rate(&(dm_nn_schedule){.rate = 3}, 0) == 3);
}

/* Remember a sign over six rows: what came first is asked for at the end. */
static void recurrent_layers_learn(void **state)
{
    (void)state;
    enum { ROWS = 6, SAMPLES = 16 };
    for (int kind = 0; kind < 2; kind++) {
        dm_nn_layer layers[] = {
            {.kind = DM_NN_LAYER_LINEAR, .size = kind == 0 ? 24 : 16},
            {.kind = kind == 0 ? DM_NN_LAYER_GRU : DM_NN_LAYER_MINGRU, .size = 8},
            {.kind = DM_NN_LAYER_LINEAR, .size = 2}};
        dm_nn_model_desc desc = {.layers = layers,
                                 .layer_count = 3,
                                 .input = {2, ROWS},
                                 .batch = SAMPLES,
                                 .loss = DM_NN_LOSS_SOFTMAX,
                                 .seed = 5,
                                 .optimiser = {.kind = DM_NN_ADAM, .rate = 0.02f}};
        dm_nn_model *model = model_on("cpu:2", &desc);
        assert_int_equal(dm_nn_model_rows(model), SAMPLES * ROWS);
        float x[SAMPLES][ROWS][2], loss = 0;
        int32_t y[SAMPLES][ROWS];
        for (int s = 0; s < SAMPLES; s++)
            for (int r = 0; r < ROWS; r++) {
                x[s][r][0] = r == 0 ? (s & 1 ? 1.0f : -1.0f) : 0;
                x[s][r][1] = (float)((s * 7 + r * 3) % 5) - 2;
                y[s][r] = r == ROWS - 1 ? s & 1 : -1;
            }
        for (int i = 0; i < 400; i++)
            assert_ok(dm_nn_model_step(model, x, y, &loss, err));
        if (!(loss < 0.05f))
            fail_msg("kind %d: the loss is %g", kind, (double)loss);
        dm_nn_model_destroy(model);
    }
}

/* The program of thirty lines that the header speaks of. */
static void the_example_learns_xor(void **state)
{
    (void)state;
    const char *program = DM_TEST_BUILD_ROOT "/examples/example-xor";
    if (!dm_file_exists(program))
        dm_test_skip("%s is not built here", program);
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = (const char *const[]){program, NULL}}, &r);
    dm_test_expect_exit(&r, 0);
    assert_string_equal(r.out, "0 xor 0 = 0\n0 xor 1 = 1\n1 xor 0 = 1\n1 xor 1 = 0\n");
    dm_test_result_free(&r);
}

DM_TESTS("nn/model", DM_TEST(xor_is_solved), DM_TEST(gradients_of_a_model_equal_differences),
         DM_TEST(bits_do_not_depend_on_threads), DM_TEST(wrong_descriptions_are_refused),
         DM_TEST(a_loss_that_is_no_number_stops_the_step), DM_TEST(wrong_tokens_are_refused),
         DM_TEST(microbatches_are_one_batch), DM_TEST(optimisers_follow_their_formulas),
         DM_TEST(averages_take_the_place_of_weights), DM_TEST(schedules_rise_and_fall),
         DM_TEST(recurrent_layers_learn), DM_TEST(the_example_learns_xor));
