/* SPDX-License-Identifier: MIT */
/* test_gpu_small.c - every kernel of nn once, small enough for compute-sanitizer: each operation, and
 * three steps of models with every kind of layer, loss and optimiser (called, recorded, repeated).
 *
 * Our own products throughout: what a tool says of NVIDIA's library is not ours to mend, and
 * racecheck reports hazards inside its kernels. */
#include "tests/device/gpu.h"
#include "tests/nn/model_case.h"
#include "tests/nn/op_case.h"

#include <math.h>
#include <string.h>

/* Of attention alone, or of everything. */
static void every_case(dm_nn_type type, const char *only)
{
    dm_test_gpu();
    dm_nn_exec exec;
    setenv("DM_CUBLASLT", "/nonexistent", 1);
    assert_ok(dm_nn_cuda_create(dm_test_gpu_device, type, &exec, err));
    int wrong = 0, run = 0;
    for (size_t i = 0; i < op_case_count(); i++) {
        const op_case *c = op_case_get(i);
        if (strncmp(c->name, only, strlen(only)) != 0)
            continue;
        wrong += !op_case_is_right(c, &exec, dm_test_gpu_device, 1, NULL);
        run++;
    }
    dm_nn_cuda_destroy(&exec);
    assert_true(run > 0);
    assert_int_equal(wrong, 0);
}

static void operations_in_float32(void **state)
{
    (void)state;
    every_case(DM_NN_F32, "");
}

static void operations_in_bfloat16(void **state)
{
    (void)state;
    every_case(DM_NN_BF16, "");
}

static void attention_without_wgmma(void **state)
{
    (void)state;
    setenv("DM_NN_FLASH", "mma", 1);
    every_case(DM_NN_BF16, "attention");
    unsetenv("DM_NN_FLASH");
}

/* In both precisions; the same batch again and again must be learned. */
static void three_steps(dm_nn_model_desc desc, const void *x, const void *y)
{
    dm_test_gpu();
    setenv("DM_CUBLASLT", "/nonexistent", 1);
    for (int precision = DM_NN_FLOAT32; precision <= DM_NN_BFLOAT16; precision++) {
        desc.precision = (dm_nn_precision)precision;
        dm_nn_model *model = NULL;
        assert_ok(dm_nn_model_create(dm_test_gpu_device, &desc, &model, err));
        float loss[4];
        for (int i = 0; i < 3; i++)
            assert_ok(dm_nn_model_step(model, x, y, &loss[i], err));
        assert_ok(dm_nn_model_evaluate(model, x, y, NULL, &loss[3], err));
        if (!(loss[3] < loss[0]))
            fail_msg("the losses are %g %g %g %g", (double)loss[0], (double)loss[1],
                     (double)loss[2], (double)loss[3]);
        if (desc.optimiser.average > 0) {
            assert_ok(dm_nn_model_swap_average(model, err));
            assert_ok(dm_nn_model_evaluate(model, x, y, NULL, &loss[3], err));
            assert_true(isfinite(loss[3]));
        }
        dm_nn_model_destroy(model);
    }
}

static void words(void **state)
{
    (void)state;
    enum { WORDS = 130 };
    static const dm_nn_layer layers[] = {GPT_LAYERS(WORDS, WIDE, 0.1f)};
    static int32_t ids[TOKENS], next[TOKENS];
    words_text(ids, next, WORDS);
    three_steps((dm_nn_model_desc){.layers = layers,
                                   .layer_count = sizeof layers / sizeof layers[0],
                                   .input = {LONG},
                                   .batch = TEXTS,
                                   .microbatches = 2,
                                   .loss = DM_NN_LOSS_SOFTMAX,
                                   .seed = 11,
                                   .optimiser = {.kind = DM_NN_ADAMW,
                                                 .rate = 1e-2f,
                                                 .decay = 0.1f,
                                                 .clip = 1,
                                                 .average = 0.9f}},
                ids, next);
}

static void images(void **state)
{
    (void)state;
    enum { IMAGES = 6, SIDE = 9 };
    static const dm_nn_layer layers[] = {
        {.kind = DM_NN_LAYER_CONV, .size = 4, .kernel = 3, .activation = DM_NN_RELU},
        {.kind = DM_NN_LAYER_POOL, .kernel = 2},
        {.kind = DM_NN_LAYER_LINEAR, .size = 10}};
    static float x[IMAGES][SIDE * SIDE];
    static int32_t y[IMAGES];
    for (int i = 0; i < IMAGES; i++) {
        y[i] = i % 10;
        for (int k = 0; k < SIDE * SIDE; k++)
            x[i][k] = (float)((i * 31 + k * 17) % 23) / 23;
    }
    three_steps((dm_nn_model_desc){.layers = layers,
                                   .layer_count = 3,
                                   .input = {1, SIDE, SIDE},
                                   .batch = IMAGES,
                                   .shards = 1,
                                   .loss = DM_NN_LOSS_SOFTMAX,
                                   .optimiser = {.kind = DM_NN_ADAM, .rate = 1e-2f}},
                x, y);
}

static void recurrent(void **state)
{
    (void)state;
    static float x[3][7][2], y[3][7][3];
    recurrent_data(x, y);
    static const dm_nn_optimiser_kind kinds[] = {DM_NN_ADAM, DM_NN_SGD};
    static const dm_nn_loss losses[] = {DM_NN_LOSS_SQUARE, DM_NN_LOSS_SIGMOID};
    static const float rates[] = {1e-2f,
                                  0.3f}; /* what is learned is more than bfloat16 rounds away */
    for (int i = 0; i < 2; i++)
        three_steps(
            (dm_nn_model_desc){.layers = recurrent_layers,
                               .layer_count = 5,
                               .input = {2, 7},
                               .batch = 3,
                               .loss = losses[i],
                               .optimiser = {.kind = kinds[i], .rate = rates[i], .momentum = 0.9f}},
            x, y);
}

DM_TESTS("gpu/nn_small", DM_TEST(operations_in_float32), DM_TEST(operations_in_bfloat16),
         DM_TEST(attention_without_wgmma), DM_TEST(words), DM_TEST(images), DM_TEST(recurrent))
