/* SPDX-License-Identifier: MIT */
/* peer_case.c - models by name and sizes. */
#include "tests/nn/peer_case.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

static dm_status read_words(peer_case *c, const char *const *words, int count, dm_error *err)
{
    struct {
        const char *name;
        uint32_t *value;
    } sizes[] = {{"batch", &c->batch},
                 {"time", &c->time},
                 {"width", &c->width},
                 {"heads", &c->heads},
                 {"layers", &c->layers},
                 {"vocabulary", &c->vocabulary},
                 {"microbatches", &c->microbatches},
                 {"shards", &c->shards}};
    for (int i = 0; i < count; i++) {
        const char *equals = strchr(words[i], '=');
        uint32_t *found = NULL;
        for (size_t k = 0; equals && k < sizeof sizes / sizeof sizes[0]; k++)
            if (strlen(sizes[k].name) == (size_t)(equals - words[i]) &&
                strncmp(words[i], sizes[k].name, strlen(sizes[k].name)) == 0)
                found = sizes[k].value;
        if (!found)
            return dm_fail(err, DM_EINVAL, "peer: '%s' is not a size", words[i]);
        *found = (uint32_t)strtoul(equals + 1, NULL, 10);
    }
    return DM_OK;
}

static void make_xor(peer_case *c)
{
    c->layer[0] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = 4, .activation = DM_NN_TANH};
    c->layer[1] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = 1};
    c->desc.layer_count = 2;
    c->desc.input[0] = 2;
    c->desc.loss = DM_NN_LOSS_SIGMOID;
    c->desc.optimiser = (dm_nn_optimiser){.kind = DM_NN_ADAMW, .rate = 0.05f};
    c->input_size = c->batch * 2 * sizeof(float);
    c->target_size = c->batch * sizeof(float);
    c->samples = c->batch;
}

static void make_cnn(peer_case *c)
{
    c->layer[0] =
        (dm_nn_layer){.kind = DM_NN_LAYER_CONV, .size = 16, .kernel = 5, .activation = DM_NN_RELU};
    c->layer[1] = (dm_nn_layer){.kind = DM_NN_LAYER_POOL, .kernel = 2};
    c->layer[2] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = 10};
    c->desc.layer_count = 3;
    c->desc.input[0] = 1;
    c->desc.input[1] = c->desc.input[2] = 28;
    c->desc.loss = DM_NN_LOSS_SOFTMAX;
    c->desc.optimiser = (dm_nn_optimiser){.kind = DM_NN_ADAMW, .rate = 1e-3f, .decay = 0.01f};
    c->input_size = c->batch * 28 * 28 * sizeof(float);
    c->target_size = c->batch * sizeof(int32_t);
    c->samples = c->batch;
}

static void make_gpt(peer_case *c)
{
    dm_nn_layer *l = c->layer;
    uint32_t C = c->width, n = 0;
    l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_EMBED, .size = c->vocabulary, .width = C};
    for (uint32_t i = 0; i < c->layers; i++) {
        uint32_t before = n - 1, middle = n + 4;
        l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_NORM};
        l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = 3 * C, .init = 0.02f};
        l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_ATTENTION, .size = c->heads};
        l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = C, .init = 0.02f};
        l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_RESIDUAL, .from = before};
        l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_NORM};
        l[n++] = (dm_nn_layer){
            .kind = DM_NN_LAYER_LINEAR, .size = 4 * C, .activation = DM_NN_GELU, .init = 0.02f};
        l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = C, .init = 0.02f};
        l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_RESIDUAL, .from = middle};
    }
    l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_NORM};
    l[n++] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = c->vocabulary, .tied = true};
    c->desc.layer_count = n;
    c->desc.input[0] = c->time;
    c->desc.loss = DM_NN_LOSS_SOFTMAX;
    c->desc.optimiser =
        (dm_nn_optimiser){.kind = DM_NN_ADAMW, .rate = 1e-3f, .decay = 0.1f, .clip = 1};
    c->samples = (size_t)c->batch * c->time;
    c->input_size = c->target_size = c->samples * sizeof(int32_t);
}

/* Sequences of 5 numbers; one number is predicted at each step. */
static void make_gru(peer_case *c)
{
    c->layer[0] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = 3 * c->width};
    c->layer[1] = (dm_nn_layer){.kind = DM_NN_LAYER_GRU, .size = c->width};
    c->layer[2] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = 1};
    c->desc.layer_count = 3;
    c->desc.input[0] = 5;
    c->desc.input[1] = c->time;
    c->desc.loss = DM_NN_LOSS_SQUARE;
    c->desc.optimiser = (dm_nn_optimiser){.kind = DM_NN_ADAMW, .rate = 1e-2f, .decay = 0.01f};
    c->samples = (size_t)c->batch * c->time;
    c->input_size = c->samples * 5 * sizeof(float);
    c->target_size = c->samples * sizeof(float);
}

dm_status peer_case_init(peer_case *c, const char *name, const char *const *words, int count,
                         dm_error *err)
{
    static const struct {
        const char *name;
        void (*make)(peer_case *);
        uint32_t batch, time, width;
    } kinds[] = {{"xor", make_xor, 4, 1, 4},
                 {"cnn", make_cnn, 64, 1, 1},
                 {"gpt", make_gpt, 8, 128, 128},
                 {"gru", make_gru, 8, 32, 64}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (strcmp(kinds[k].name, name) != 0)
            continue;
        *c = (peer_case){.name = kinds[k].name,
                         .batch = kinds[k].batch,
                         .time = kinds[k].time,
                         .width = kinds[k].width,
                         .heads = 4,
                         .layers = 4,
                         .vocabulary = 65};
        dm_status status = read_words(c, words, count, err);
        if (status != DM_OK)
            return status;
        if (c->layers > (PEER_LAYERS - 3) / 9)
            return dm_fail(err, DM_EINVAL, "peer: %u layers are too many", c->layers);
        c->desc.layers = c->layer;
        c->desc.batch = c->batch;
        c->desc.microbatches = c->microbatches;
        c->desc.shards = c->shards;
        c->desc.seed = 1;
        kinds[k].make(c);
        return DM_OK;
    }
    return dm_fail(err, DM_EINVAL, "peer: there is no model '%s': xor, cnn, gpt or gru", name);
}

dm_status peer_case_load(dm_nn_model *model, const char *path, dm_error *err)
{
    char *bytes = NULL;
    size_t size = 0, at = 0;
    dm_status status = dm_file_read(path, 0, &bytes, &size, err);
    if (status == DM_OK && size != dm_nn_model_size(model) * sizeof(float))
        status = dm_fail(err, DM_EFORMAT, "%s: %zu bytes, but the model has %zu parameters", path,
                         size, dm_nn_model_size(model));
    for (size_t k = 0; status == DM_OK && k < dm_nn_model_parameter_count(model); k++) {
        status = dm_nn_model_write(model, k, DM_NN_VALUE, (const float *)(const void *)(bytes + at),
                                   err);
        at += dm_nn_model_parameter(model, k)->count * sizeof(float);
    }
    free(bytes);
    return status;
}
