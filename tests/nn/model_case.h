/* SPDX-License-Identifier: MIT */
/* model_case.h - small models that tests train on the CPU and on GPUs. */
#ifndef DM_TESTS_NN_MODEL_CASE_H
#define DM_TESTS_NN_MODEL_CASE_H

#include "tests/support/test.h"

#include <dotmatrix/nn.h>

static const float xor_input[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
static const float xor_target[4] = {0, 1, 1, 0};
static const dm_nn_layer xor_layers[] = {
    {.kind = DM_NN_LAYER_LINEAR, .size = 4, .activation = DM_NN_TANH},
    {.kind = DM_NN_LAYER_LINEAR, .size = 1},
};

static inline dm_nn_model_desc xor_desc(uint64_t seed)
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

/* A small GPT: an embedding, one block, tied weights. */
enum { T = 12, C = 16, V = 11, BATCH = 8 };
/* clang-format off */
#define GPT_LAYERS(words, wide, spread)                                                                                \
    {.kind = DM_NN_LAYER_EMBED, .size = words, .width = wide, .init = spread},                                         \
    {.kind = DM_NN_LAYER_NORM},                                                                                        \
    {.kind = DM_NN_LAYER_LINEAR, .size = 3 * wide, .init = spread},                                                    \
    {.kind = DM_NN_LAYER_ATTENTION, .size = 2},                                                                        \
    {.kind = DM_NN_LAYER_LINEAR, .size = wide, .init = spread},                                                        \
    {.kind = DM_NN_LAYER_RESIDUAL, .from = 0},                                                                         \
    {.kind = DM_NN_LAYER_NORM},                                                                                        \
    {.kind = DM_NN_LAYER_LINEAR, .size = 4 * wide, .activation = DM_NN_GELU, .init = spread},                          \
    {.kind = DM_NN_LAYER_LINEAR, .size = wide, .init = spread},                                                        \
    {.kind = DM_NN_LAYER_RESIDUAL, .from = 5},                                                                         \
    {.kind = DM_NN_LAYER_NORM},                                                                                        \
    {.kind = DM_NN_LAYER_LINEAR, .size = words, .tied = true}
/* clang-format on */
static const dm_nn_layer gpt_layers[] = {GPT_LAYERS(V, C, 0.2f)};

static inline dm_nn_model_desc gpt_desc(uint32_t shards, dm_nn_optimiser optimiser)
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

static inline void text(int32_t *ids, int32_t *next)
{
    for (int i = 0; i < BATCH * T; i++) {
        ids[i] = (i * i + i / 7) % V;
        next[i] = i % 13 == 5 ? -1 : (ids[i] * 3 + 1) % V;
    }
}

/* A longer text of more words, with heads of 32. */
enum { LONG = 70, WIDE = 64, TEXTS = 4, TOKENS = LONG * TEXTS };
static inline void words_text(int32_t *ids, int32_t *next, int words)
{
    for (int i = 0; i < TOKENS; i++) {
        ids[i] = i % 4 == 0 ? 7 : (i * 37 + i / 11) % words;
        next[i] = i % 29 == 3 ? -1 : (ids[i] * 5 + 1) % words;
    }
}

/* Both recurrent cells between others; three sequences of seven steps. */
static const dm_nn_layer recurrent_layers[] = {{.kind = DM_NN_LAYER_LINEAR, .size = 24},
                                               {.kind = DM_NN_LAYER_GRU, .size = 8},
                                               {.kind = DM_NN_LAYER_LINEAR, .size = 10},
                                               {.kind = DM_NN_LAYER_MINGRU, .size = 5},
                                               {.kind = DM_NN_LAYER_LINEAR, .size = 3}};
static inline void recurrent_data(float x[3][7][2], float y[3][7][3])
{
    for (int i = 0; i < 42; i++)
        (&x[0][0][0])[i] = (float)(i * 13 % 11) / 11 - 0.5f;
    for (int i = 0; i < 63; i++)
        (&y[0][0][0])[i] = (float)(i * 7 % 5) / 5;
}

/* Does the model of this seed learn XOR? */
static inline bool solves_xor(dm_device *device, uint64_t seed)
{
    dm_nn_model_desc desc = xor_desc(seed);
    dm_nn_model *model = NULL;
    float out[4];
    int right = 0;
    assert_ok(dm_nn_model_create(device, &desc, &model, err));
    assert_int_equal(dm_nn_model_size(model), 17);
    for (int i = 0; i < 500; i++)
        assert_ok(dm_nn_model_step(model, xor_input, xor_target, NULL, err));
    assert_ok(dm_nn_model_evaluate(model, xor_input, xor_target, out, NULL, err));
    for (int i = 0; i < 4; i++)
        right += (out[i] > 0) == (xor_target[i] > 0.5f);
    dm_nn_model_destroy(model);
    return right == 4;
}

#endif
