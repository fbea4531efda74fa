/* SPDX-License-Identifier: MIT */
/* test_model.c - whole models: gradients reach every parameter, XOR is learned, bits do not depend
 * on threads. */
#include <dotmatrix/nn.h>

#include "tests/support/test.h"

#include <math.h>
#include <string.h>

static const float xor_input[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
static const float xor_target[4] = {0, 1, 1, 0};
static const dm_nn_layer xor_layers[] = {
    {.kind = DM_NN_LAYER_LINEAR, .size = 4, .activation = DM_NN_TANH},
    {.kind = DM_NN_LAYER_LINEAR, .size = 1},
};

static dm_nn_model_desc xor_desc(uint64_t seed)
{
    return (dm_nn_model_desc){.layers = xor_layers,
                              .layer_count = 2,
                              .input = {2},
                              .batch = 4,
                              .shards = 1,
                              .loss = DM_NN_LOSS_SIGMOID,
                              .seed = seed,
                              .optimiser = {.kind = DM_NN_ADAMW, .rate = 0.05f}};
}

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
    for (uint64_t seed = 1; seed <= 20; seed++) {
        dm_nn_model_desc desc = xor_desc(seed);
        dm_nn_model *model = model_on("cpu:1", &desc);
        assert_int_equal(dm_nn_model_size(model), 17);
        for (int i = 0; i < 500; i++)
            assert_ok(dm_nn_model_step(model, xor_input, xor_target, NULL, err));
        float out[4];
        assert_ok(dm_nn_model_evaluate(model, xor_input, xor_target, out, NULL, err));
        int right = 0;
        for (int i = 0; i < 4; i++)
            right += (out[i] > 0) == (xor_target[i] > 0.5f);
        solved += right == 4;
        dm_nn_model_destroy(model);
    }
    if (solved < 19)
        fail_msg("XOR was solved with %d of 20 seeds", solved);
}

/* A small GPT: an embedding, one block, tied weights. */
enum { T = 12, C = 16, V = 11, BATCH = 8 };
static const dm_nn_layer gpt_layers[] = {
    {.kind = DM_NN_LAYER_EMBED, .size = V, .width = C},
    {.kind = DM_NN_LAYER_NORM},
    {.kind = DM_NN_LAYER_LINEAR, .size = 3 * C, .init = 0.2f},
    {.kind = DM_NN_LAYER_ATTENTION, .size = 2},
    {.kind = DM_NN_LAYER_LINEAR, .size = C, .init = 0.2f},
    {.kind = DM_NN_LAYER_RESIDUAL, .from = 0},
    {.kind = DM_NN_LAYER_NORM},
    {.kind = DM_NN_LAYER_LINEAR, .size = 4 * C, .activation = DM_NN_GELU, .init = 0.2f},
    {.kind = DM_NN_LAYER_LINEAR, .size = C, .init = 0.2f},
    {.kind = DM_NN_LAYER_RESIDUAL, .from = 5},
    {.kind = DM_NN_LAYER_NORM},
    {.kind = DM_NN_LAYER_LINEAR, .size = V, .tied = true},
};

static dm_nn_model_desc gpt_desc(uint32_t shards, dm_nn_optimiser optimiser)
{
    return (dm_nn_model_desc){.layers = gpt_layers,
                              .layer_count = sizeof gpt_layers / sizeof gpt_layers[0],
                              .input = {T},
                              .batch = BATCH,
                              .shards = shards,
                              .loss = DM_NN_LOSS_SOFTMAX,
                              .seed = 3,
                              .optimiser = optimiser};
}

static void text(int32_t *ids, int32_t *next)
{
    for (int i = 0; i < BATCH * T; i++) {
        ids[i] = (i * i + i / 7) % V;
        next[i] = i % 13 == 5 ? -1 : (ids[i] * 3 + 1) % V;
    }
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

DM_TESTS("nn/model", DM_TEST(xor_is_solved), DM_TEST(gradients_of_a_model_equal_differences),
         DM_TEST(bits_do_not_depend_on_threads), DM_TEST(wrong_descriptions_are_refused),
         DM_TEST(a_loss_that_is_no_number_stops_the_step), DM_TEST(wrong_tokens_are_refused));
