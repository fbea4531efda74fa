/* SPDX-License-Identifier: MIT */
/* peer_case.h - the models that are put beside another framework's, with sizes as text. The same
 * models are written in JAX in peer_models.py, which knows the order of the parameters. */
#ifndef DM_TESTS_NN_PEER_CASE_H
#define DM_TESTS_NN_PEER_CASE_H

#include <dotmatrix/nn.h>

enum { PEER_LAYERS = 160 };

/* Sizes that the words of a case change: "batch=8", "time=128", "width=128", "heads=4", "layers=4",
 * "vocabulary=65", "microbatches=1", "shards=8". */
typedef struct peer_case {
    const char *name; /* "xor", "cnn", "gpt", "gru" */
    uint32_t batch, time, width, heads, layers, vocabulary, microbatches, shards;
    dm_nn_layer layer[PEER_LAYERS];
    dm_nn_model_desc desc;          /* its layers are those above */
    size_t input_size, target_size; /* bytes of a batch */
    size_t samples;                 /* what speed counts in a step: tokens, or images */
} peer_case;

/* DM_EINVAL names the word that is not understood. */
dm_status peer_case_init(peer_case *out, const char *name, const char *const *words, int count,
                         dm_error *err);
/* Parameters one after the other, as peer_models.py writes them. */
dm_status peer_case_load(dm_nn_model *model, const char *path, dm_error *err);

#endif
