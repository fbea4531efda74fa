/* SPDX-License-Identifier: MIT */
/* test_muon.c - Muon: its matrices and its steps beside plain doubles, what other parameters do, and
 * that it learns, with the same bits on any number of threads. */
#include "tests/nn/model_case.h"
#include "tests/nn/muon_case.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static dm_nn_model *model_on(const char *device_id, const dm_nn_model_desc *desc)
{
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    assert_ok(dm_device_open(device_id, &device, err));
    assert_ok(dm_nn_model_create(device, desc, &model, err));
    dm_device_close(device);
    return model;
}

static void matrices_become_orthogonal(void **state)
{
    (void)state;
    static const char *const names[] = {"portable", "avx2", "avx512"};
    dm_device *device = NULL;
    assert_ok(dm_device_open("cpu:1", &device, err));
    muon_case_compare(device, &(dm_nn_exec){.ops = &dm_nn_plain_f64, .type = DM_NN_F64}, 1e-9);
    muon_case_compare(device, &(dm_nn_exec){.ops = &dm_nn_plain_f32}, 1e-5);
    for (int i = 0; i < 3; i++)
        if (dm_nn_cpu_named(names[i]))
            muon_case_compare(device, &(dm_nn_exec){.ops = dm_nn_cpu_named(names[i])}, 1e-5);
    dm_device_close(device);
}

/* A linear layer of one shape: ten steps, each with the gradient that the model had. */
static void follow(int rows, int columns)
{
    enum { SAMPLES = 24, MOST = 129 * 67 };
    static float x[SAMPLES * 129], y[SAMPLES * 129], w[MOST], g[MOST];
    static double want[MOST], first[MOST], momentum[MOST], gradient[MOST];
    const muon_rule rule = {.rate = 0.02, .momentum = 0.95, .decay = 0.3};
    dm_nn_layer layer = {.kind = DM_NN_LAYER_LINEAR, .size = (uint32_t)rows};
    dm_nn_model_desc desc = {.layers = &layer,
                             .layer_count = 1,
                             .input = {(uint32_t)columns},
                             .batch = SAMPLES,
                             .loss = DM_NN_LOSS_SQUARE,
                             .seed = 4,
                             .optimiser = {.kind = DM_NN_MUON, .rate = 0.02f, .decay = 0.3f}};
    dm_nn_model *model = model_on("cpu:2", &desc);
    size_t count = (size_t)rows * (size_t)columns;
    assert_true(count <= MOST && dm_nn_model_parameter(model, 0)->count == count);
    for (int i = 0; i < SAMPLES * columns; i++)
        x[i] = (float)((i * 7919 + i / 13 * 31) % 1009) / 500 - 1;
    for (int i = 0; i < SAMPLES * rows; i++)
        y[i] = (float)((i * 6007 + i / 11 * 17) % 1013) / 500 - 1;
    assert_ok(dm_nn_model_read(model, 0, DM_NN_VALUE, w, err));
    for (size_t i = 0; i < count; i++) {
        first[i] = want[i] = (double)w[i];
        momentum[i] = 0;
    }
    for (int step = 1; step <= 10; step++) {
        assert_ok(dm_nn_model_step(model, x, y, NULL, err));
        assert_ok(dm_nn_model_read(model, 0, DM_NN_GRADIENT, g, err));
        for (size_t i = 0; i < count; i++)
            gradient[i] = (double)g[i];
        muon_plain_step(&rule, rows, columns, want, momentum, gradient);
        if (step != 1 && step != 10)
            continue;
        double off = 0, moved = 0;
        assert_ok(dm_nn_model_read(model, 0, DM_NN_VALUE, w, err));
        for (size_t i = 0; i < count; i++) {
            off += pow((double)w[i] - want[i], 2);
            moved += pow(want[i] - first[i], 2);
        }
        if (!(moved > 0 && sqrt(off) <= 1e-4 * sqrt(moved)))
            fail_msg("%d x %d, step %d: off by %g of %g", rows, columns, step, sqrt(off),
                     sqrt(moved));
    }
    dm_nn_model_destroy(model);
}

static void steps_follow_the_formula(void **state)
{
    (void)state;
    static const int shapes[][2] = {{1, 1}, {1, 19}, {19, 1}, {13, 5}, {5, 13}, {9, 9}, {67, 129}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        follow(shapes[i][0], shapes[i][1]);
}

/* What is no matrix of a linear layer, and what is tied, moves as with AdamW of that rate. */
static void others_move_as_with_adamw(void **state)
{
    (void)state;
    int32_t ids[BATCH * T], next[BATCH * T];
    text(ids, next);
    dm_nn_optimiser muon = {
        .kind = DM_NN_MUON, .rate = 0.02f, .others = 0.25f, .decay = 0.1f, .average = 0.5f};
    dm_nn_optimiser adamw = {
        .kind = DM_NN_ADAMW, .rate = 0.02f * 0.25f, .decay = 0.1f, .average = 0.5f};
    dm_nn_model_desc desc[2] = {gpt_desc(2, muon), gpt_desc(2, adamw)};
    dm_nn_model *a = model_on("cpu:1", &desc[0]), *b = model_on("cpu:1", &desc[1]);
    assert_ok(dm_nn_model_step(a, ids, next, NULL, err));
    assert_ok(dm_nn_model_step(b, ids, next, NULL, err));
    int same = 0, other = 0;
    for (size_t k = 0; k < dm_nn_model_parameter_count(a); k++) {
        const dm_nn_parameter *p = dm_nn_model_parameter(a, k), *q = dm_nn_model_parameter(b, k);
        bool matrix = gpt_layers[atoi(p->name)].kind == DM_NN_LAYER_LINEAR && p->shape[1] != 0;
        float average[2][4 * C * C];
        if (memcmp(p->value, q->value, p->count * sizeof(float)) == 0 ? matrix : !matrix)
            fail_msg("%s moved as the wrong optimiser", p->name);
        for (size_t i = 0; matrix && i < p->count; i++)
            assert_true(p->second[i] == 0);
        assert_ok(dm_nn_model_read(a, k, DM_NN_AVERAGE, average[0], err));
        assert_ok(dm_nn_model_read(b, k, DM_NN_AVERAGE, average[1], err));
        assert_int_equal(memcmp(average[0], average[1], p->count * sizeof(float)) != 0, matrix);
        matrix ? other++ : same++;
    }
    assert_int_equal(other, 4);
    assert_int_equal(same, 2 + 3 * 2 + 4); /* the embeddings, norms, biases */
    dm_nn_model_destroy(a);
    dm_nn_model_destroy(b);
}

/* A regression whose inputs are of very different size; infinite when it diverges. */
static float loss_after(const dm_nn_optimiser *optimiser, int steps)
{
    enum { SAMPLES = 64, INPUTS = 16, OUTPUTS = 8 };
    static float x[SAMPLES][INPUTS], y[SAMPLES][OUTPUTS];
    static const dm_nn_layer layers[] = {
        {.kind = DM_NN_LAYER_LINEAR, .size = 32, .activation = DM_NN_TANH},
        {.kind = DM_NN_LAYER_LINEAR, .size = OUTPUTS}};
    for (int n = 0; n < SAMPLES; n++) {
        double sum[OUTPUTS] = {0};
        for (int i = 0; i < INPUTS; i++) {
            double value = (n * 7919 + i * 104729 + n * i * 31) % 1009 / 504.5 - 1;
            x[n][i] = (float)(value * pow(0.7, i));
            for (int k = 0; k < OUTPUTS; k++)
                sum[k] += value * sin(i * k + 1 + k);
        }
        for (int k = 0; k < OUTPUTS; k++)
            y[n][k] = (float)tanh(sum[k]);
    }
    dm_nn_model_desc desc = {.layers = layers,
                             .layer_count = 2,
                             .input = {INPUTS},
                             .batch = SAMPLES,
                             .loss = DM_NN_LOSS_SQUARE,
                             .seed = 3,
                             .optimiser = *optimiser};
    dm_nn_model *model = model_on("cpu:1", &desc);
    float loss = 0;
    dm_status status = DM_OK;
    for (int i = 0; i < steps && status == DM_OK; i++)
        status = dm_nn_model_step(model, x, y, NULL, NULL);
    if (status == DM_OK)
        assert_ok(dm_nn_model_evaluate(model, x, y, NULL, &loss, err));
    dm_nn_model_destroy(model);
    return status == DM_OK ? loss : INFINITY;
}

/* Of SGD's rates the best; it is neither the smallest nor the largest that is tried. */
static void learns_faster_than_sgd(void **state)
{
    (void)state;
    static const float rates[] = {0.03f, 0.1f, 0.3f, 1, 3};
    enum { RATES = sizeof rates / sizeof rates[0], STEPS = 40 };
    int best = 0;
    float sgd[RATES];
    for (int i = 0; i < RATES; i++) {
        dm_nn_optimiser o = {.kind = DM_NN_SGD, .rate = rates[i], .momentum = 0.9f};
        sgd[i] = loss_after(&o, STEPS);
        best = sgd[i] < sgd[best] ? i : best;
    }
    dm_nn_optimiser muon = {.kind = DM_NN_MUON, .rate = 0.1f, .others = 1};
    float loss = loss_after(&muon, STEPS);
    if (!(loss < 0.75f * sgd[best] && best > 0 && best < RATES - 1))
        fail_msg("Muon comes to %.3f, SGD with a rate of %g to %.3f", (double)loss,
                 (double)rates[best], (double)sgd[best]);
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    int32_t ids[BATCH * T], next[BATCH * T];
    text(ids, next);
    dm_nn_optimiser muon = {.kind = DM_NN_MUON, .rate = 0.02f, .decay = 0.1f, .clip = 0.5f};
    dm_nn_model_desc desc = gpt_desc(8, muon);
    dm_nn_model *one = model_on("cpu:1", &desc), *many = model_on("cpu:3", &desc);
    for (int i = 0; i < 20; i++) {
        assert_ok(dm_nn_model_step(one, ids, next, NULL, err));
        assert_ok(dm_nn_model_step(many, ids, next, NULL, err));
    }
    for (size_t k = 0; k < dm_nn_model_parameter_count(one); k++) {
        const dm_nn_parameter *a = dm_nn_model_parameter(one, k),
                              *b = dm_nn_model_parameter(many, k);
        assert_memory_equal(a->value, b->value, a->count * sizeof(float));
        assert_memory_equal(a->first, b->first, a->count * sizeof(float));
        assert_memory_equal(a->second, b->second, a->count * sizeof(float));
    }
    dm_nn_model_destroy(one);
    dm_nn_model_destroy(many);
}

static void a_loss_that_is_no_number_changes_nothing(void **state)
{
    (void)state;
    dm_error err;
    dm_nn_model_desc desc = xor_desc(1);
    desc.optimiser = (dm_nn_optimiser){.kind = DM_NN_MUON, .rate = 0.05f};
    dm_nn_model *model = model_on("cpu:1", &desc);
    float bad[4][2] = {{0, 0}, {0, NAN}, {1, 0}, {1, 1}}, before[8], loss = 0;
    assert_ok(dm_nn_model_read(model, 0, DM_NN_VALUE, before, err));
    assert_int_equal(dm_nn_model_step(model, bad, xor_target, NULL, &err), DM_EINVAL);
    assert_memory_equal(dm_nn_model_parameter(model, 0)->value, before, sizeof before);
    for (int i = 0; i < 300; i++)
        assert_ok(dm_nn_model_step(model, xor_input, xor_target, &loss, err));
    assert_true(loss < 0.1f);
    dm_nn_model_destroy(model);
}

DM_TESTS("nn/muon", DM_TEST(matrices_become_orthogonal), DM_TEST(steps_follow_the_formula),
         DM_TEST(others_move_as_with_adamw), DM_TEST(learns_faster_than_sgd),
         DM_TEST(bits_do_not_depend_on_threads), DM_TEST(a_loss_that_is_no_number_changes_nothing));
