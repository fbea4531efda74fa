/* SPDX-License-Identifier: MIT */
/* test_layers.c - models of every kind of layer in double: the gradient of each parameter against
 * finite differences of the loss; sizes of zero are refused, for every kind; bits are the same for
 * any number of threads. */
#include "base/philox.h"
#include "nn/run.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINEAR(n, act)                                                                             \
    {                                                                                              \
        .kind = DM_NN_LAYER_LINEAR, .size = (n), .activation = (act)                               \
    }

static const dm_nn_layer dense[] = {LINEAR(7, DM_NN_TANH), LINEAR(5, DM_NN_SIGMOID),
                                    LINEAR(6, DM_NN_GELU), LINEAR(3, DM_NN_RELU),
                                    LINEAR(2, DM_NN_LINEAR)};
static const dm_nn_layer images[] = {
    {.kind = DM_NN_LAYER_CONV, .size = 3, .kernel = 3, .activation = DM_NN_RELU},
    {.kind = DM_NN_LAYER_POOL, .kernel = 2},
    {.kind = DM_NN_LAYER_CONV, .size = 4, .kernel = 2, .stride = 2, .activation = DM_NN_TANH},
    LINEAR(5, DM_NN_LINEAR)};
static const dm_nn_layer texts[] = {{.kind = DM_NN_LAYER_EMBED, .size = 7, .width = 6},
                                    {.kind = DM_NN_LAYER_NORM},
                                    LINEAR(18, DM_NN_LINEAR),
                                    {.kind = DM_NN_LAYER_ATTENTION, .size = 2},
                                    LINEAR(6, DM_NN_LINEAR),
                                    {.kind = DM_NN_LAYER_RESIDUAL, .from = 0},
                                    {.kind = DM_NN_LAYER_NORM},
                                    LINEAR(11, DM_NN_GELU),
                                    LINEAR(6, DM_NN_LINEAR),
                                    {.kind = DM_NN_LAYER_RESIDUAL, .from = 5},
                                    {.kind = DM_NN_LAYER_NORM},
                                    {.kind = DM_NN_LAYER_LINEAR, .size = 7, .tied = true}};
static const dm_nn_layer recurrent[] = {
    LINEAR(15, DM_NN_LINEAR),   {.kind = DM_NN_LAYER_GRU, .size = 5},
    LINEAR(8, DM_NN_TANH),      {.kind = DM_NN_LAYER_MINGRU, .size = 4},
    {.kind = DM_NN_LAYER_NORM}, LINEAR(2, DM_NN_LINEAR)};

#define LAYERS(list) .layers = (list), .layer_count = sizeof(list) / sizeof(list)[0]
static const dm_nn_model_desc models[] = {
    {LAYERS(dense), .input = {4}, .batch = 5, .shards = 1, .loss = DM_NN_LOSS_SQUARE},
    {LAYERS(images), .input = {2, 10, 9}, .batch = 3, .shards = 1, .loss = DM_NN_LOSS_SOFTMAX},
    {LAYERS(texts), .input = {5}, .batch = 3, .shards = 1, .loss = DM_NN_LOSS_SOFTMAX},
    {LAYERS(recurrent), .input = {3, 7}, .batch = 2, .shards = 1, .loss = DM_NN_LOSS_SIGMOID},
};

/* A model in double on the plain operations, and all that a pass needs. */
typedef struct exact {
    dm_nn_plan plan;
    dm_nn_exec exec;
    dm_nn_shard shard;
    dm_nn_loss loss;
    double *weights;
} exact;

static void *zeros(size_t bytes)
{
    void *memory = calloc(1, bytes + 1);
    assert_non_null(memory);
    return memory;
}

static double normal(uint64_t stream, size_t i)
{
    dm_philox4 r = dm_random4(11, stream, i);
    double sum = -6; /* twelve uniforms are near enough */
    for (uint64_t k = 0; k < 3; k++, r = dm_random4(11 + k, stream, i))
        for (int l = 0; l < 4; l++)
            sum += (double)dm_random_unit(r.v[l]);
    return sum;
}

static void begin(exact *e, const dm_nn_model_desc *desc)
{
    *e = (exact){.exec = {.ops = &dm_nn_plain_f64, .type = DM_NN_F64}, .loss = desc->loss};
    assert_ok(dm_nn_plan_init(desc, &e->exec, &e->plan, err));
    const dm_nn_plan *plan = &e->plan;
    size_t rows = dm_nn_shape_rows(plan->output), inputs = dm_nn_shape_count(plan->input);
    size_t outputs = dm_nn_shape_count(plan->output);
    double *input = zeros(inputs * sizeof(double)), *target = zeros(outputs * sizeof(double));
    e->weights = zeros(plan->parameter_room * sizeof(double));
    for (size_t i = 0; i < plan->parameter_room; i++)
        e->weights[i] = 0.5 * normal(1, i);
    for (size_t i = 0; i < inputs; i++)
        if (desc->layers[0].kind == DM_NN_LAYER_EMBED)
            ((int32_t *)(void *)input)[i] = (int32_t)(i * 5 % desc->layers[0].size);
        else
            input[i] = normal(2, i);
    for (size_t i = 0; i < outputs; i++)
        if (desc->loss != DM_NN_LOSS_SOFTMAX)
            target[i] = 0.5 + 0.1 * normal(3, i);
        else if (i < rows) /* one row has no target */
            ((int32_t *)(void *)target)[i] = i == 1 ? -1 : (int32_t)(i * 3 % plan->output.C);
    e->shard = (dm_nn_shard){.memory = zeros(plan->shard_bytes),
                             .gradients = zeros(plan->parameter_room * sizeof(double)),
                             .losses = zeros(rows * sizeof(double)),
                             .weights = e->weights,
                             .input = input,
                             .target = target};
}

static void end(exact *e)
{
    free(e->weights);
    free(e->shard.memory);
    free(e->shard.gradients);
    free(e->shard.losses);
    free((void *)(uintptr_t)e->shard.input);
    free((void *)(uintptr_t)e->shard.target);
    dm_nn_plan_deinit(&e->plan);
}

/* The sum of the rows' losses; with `scale` their gradients are in the shard. */
static double loss_of(exact *e, float scale)
{
    assert_ok(dm_nn_shard_forward(&e->plan, &e->exec, &e->shard, err));
    assert_ok(dm_nn_shard_loss(&e->plan, &e->exec, e->loss, &e->shard, scale, err));
    double sum = 0;
    for (size_t i = 0; i < dm_nn_shape_rows(e->plan.output); i++)
        sum += ((double *)(void *)e->shard.losses)[i];
    return sum;
}

static void gradients_of_layers_equal_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof models[0]; k++) {
        exact e;
        begin(&e, &models[k]);
        loss_of(&e, 1);
        assert_ok(dm_nn_shard_backward(&e.plan, &e.exec, &e.shard, err));
        const double *given = (double *)(void *)e.shard.gradients;
        for (size_t p = 0; p < e.plan.parameter_count; p++) {
            double largest = 0;
            for (size_t i = 0; i < e.plan.parameters[p].count; i++) {
                size_t at = e.plan.offsets[p] + i;
                double was = e.weights[at], by = 1e-5;
                e.weights[at] = was + by;
                double up = loss_of(&e, 0);
                e.weights[at] = was - by;
                double want = (up - loss_of(&e, 0)) / (2 * by);
                e.weights[at] = was;
                largest = fabs(want) > largest ? fabs(want) : largest;
                if (!(fabs(given[at] - want) <= 1e-7 + 1e-6 * fabs(want)))
                    fail_msg("model %zu, %s[%zu]: gradient %.9g, difference %.9g", k,
                             e.plan.parameters[p].name, i, given[at], want);
            }
            assert_true(largest > 1e-6); /* the parameter matters */
        }
        end(&e);
    }
}

static void refused(dm_device *device, const dm_nn_model_desc *desc, const char *what)
{
    dm_nn_model *model = NULL;
    dm_error err = {0};
    if (dm_nn_model_create(device, desc, &model, &err) != DM_EINVAL)
        fail_msg("%s of zero is not refused: %s", what, err.message);
    assert_null(model);
    assert_null(strchr(err.message, '\n'));
    assert_true(strncmp(err.message, "nn: ", 4) == 0);
}

static void sizes_of_zero_are_refused(void **state)
{
    (void)state;
    dm_device *device = NULL;
    assert_ok(dm_device_open("cpu:1", &device, err));
    for (size_t k = 0; k < sizeof models / sizeof models[0]; k++) {
        dm_nn_layer layers[16];
        dm_nn_model_desc desc = models[k];
        desc.optimiser = (dm_nn_optimiser){.kind = DM_NN_SGD, .rate = 0.1f};
        desc.batch = 0;
        refused(device, &desc, "a batch");
        desc = models[k];
        desc.layer_count = 0;
        refused(device, &desc, "a number of layers");
        for (int i = 0; i < 3; i++)
            if (models[k].input[i] != 0 && (i == 0 || models[k].input[2] != 0)) {
                desc = models[k];
                desc.input[i] = 0;
                if (i != 1) /* {C, 0, W} is no image */
                    refused(device, &desc, "an input");
            }
        for (size_t i = 0; i < models[k].layer_count; i++) {
            desc = models[k];
            desc.layers = memcpy(layers, models[k].layers, desc.layer_count * sizeof *layers);
            layers[i].size = layers[i].kernel = layers[i].width = 0;
            if (models[k].layers[i].kind != DM_NN_LAYER_NORM &&
                models[k].layers[i].kind != DM_NN_LAYER_RESIDUAL)
                refused(device, &desc, "a layer's size");
        }
    }
    dm_device_close(device);
}

/* Five steps of a model of floats on so many threads: its parameters. */
static float *trained(const dm_nn_model_desc *from, const char *device_id, size_t *count)
{
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    dm_nn_model_desc desc = *from;
    desc.batch = desc.shards = 8;
    desc.seed = 5;
    desc.optimiser = (dm_nn_optimiser){.kind = DM_NN_ADAMW, .rate = 0.01f, .clip = 0.5f};
    assert_ok(dm_device_open(device_id, &device, err));
    assert_ok(dm_nn_model_create(device, &desc, &model, err));
    enum { ROOM = 8 * 2 * 10 * 9 };
    float input[ROOM], target[ROOM];
    for (size_t i = 0; i < ROOM; i++) {
        int32_t id = (int32_t)(i * 5 % 7), class = (int32_t)(i % 2);
        input[i] = (float)normal(4, i);
        target[i] = (float)(i % 3) / 2;
        if (desc.layers[0].kind == DM_NN_LAYER_EMBED)
            memcpy(&input[i], &id, sizeof id);
        if (desc.loss == DM_NN_LOSS_SOFTMAX)
            memcpy(&target[i], &class, sizeof class);
    }
    for (int i = 0; i < 5; i++)
        assert_ok(dm_nn_model_step(model, input, target, NULL, err));
    *count = dm_nn_model_size(model);
    float *out = zeros(*count * sizeof *out), *to = out;
    for (size_t k = 0; k < dm_nn_model_parameter_count(model); k++) {
        assert_ok(dm_nn_model_read(model, k, DM_NN_VALUE, to, err));
        to += dm_nn_model_parameter(model, k)->count;
    }
    dm_nn_model_destroy(model);
    dm_device_close(device);
    return out;
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const char *const devices[] = {"cpu:2", "cpu:3", "cpu:8"};
    for (size_t k = 0; k < sizeof models / sizeof models[0]; k++) {
        size_t count, same;
        float *one = trained(&models[k], "cpu:1", &count);
        for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
            float *many = trained(&models[k], devices[i], &same);
            assert_int_equal(count, same);
            if (memcmp(one, many, count * sizeof *one) != 0)
                fail_msg("model %zu: %s gives other bits than one thread", k, devices[i]);
            free(many);
        }
        free(one);
    }
}

DM_TESTS("nn/layers", DM_TEST(gradients_of_layers_equal_differences),
         DM_TEST(sizes_of_zero_are_refused), DM_TEST(bits_do_not_depend_on_threads));
