/* SPDX-License-Identifier: MIT */
/* model_case.h - small models that tests train on the CPU and on GPUs. */
#ifndef DM_TESTS_NN_MODEL_CASE_H
#define DM_TESTS_NN_MODEL_CASE_H

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

#endif
