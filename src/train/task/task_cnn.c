/* SPDX-License-Identifier: MIT */
/* task_cnn.c - labelled images (images.h): a convolution with ReLU, max pooling, a linear layer. */
#include "train/data/order.h"
#include "train/task/images.h"
#include "train/task/task.h"

#include <stdlib.h>

#define HELD_SEED UINT64_C(0x68656c64) /* of the fixed order: "held" */

/* ---- The model ---- */

static dm_status describe(dm_task *task, dm_error *err)
{
    const dm_train_config *c = &task->config;
    const dm_image_sets *data = task->data;
    dm_status status = dm_task_take_layers(task, 3, err);
    if (status != DM_OK)
        return status;
    uint32_t H = data->train.height, W = data->train.width;
    if (c->kernel + c->pool - 1 > H || c->kernel + c->pool - 1 > W)
        return dm_fail(err, DM_EINVAL,
                       "cnn: a filter of %u with pooling by %u does not fit images of %ux%u",
                       (unsigned)c->kernel, (unsigned)c->pool, H, W);
    /* Sequential(Conv2d, ReLU, MaxPool2d, Flatten, Linear) */
    task->layers[0] = (dm_nn_layer){.kind = DM_NN_LAYER_CONV,
                                    .size = (uint32_t)c->channels,
                                    .kernel = (uint32_t)c->kernel,
                                    .activation = DM_NN_RELU};
    task->layers[1] = (dm_nn_layer){.kind = DM_NN_LAYER_POOL, .kernel = (uint32_t)c->pool};
    task->layers[2] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = (uint32_t)c->classes};
    snprintf(task->names[0], DM_TASK_NAME_MAX, "0");
    snprintf(task->names[1], DM_TASK_NAME_MAX, "2");
    snprintf(task->names[2], DM_TASK_NAME_MAX, "4");
    task->input[0] = 1;
    task->input[1] = H;
    task->input[2] = W;
    task->loss = DM_NN_LOSS_SOFTMAX;
    task->input_size = (size_t)H * W * sizeof(float);
    task->target_size = sizeof(int32_t);
    task->units = 1;
    return DM_OK;
}

/* ---- Images ---- */

static void hash_images(dm_hasher *hasher, const dm_images *images)
{
    const uint32_t shape[3] = {images->count, images->height, images->width};
    dm_hasher_part(hasher, shape, sizeof shape);
    if (images->count == 0)
        return;
    dm_hasher_part(hasher, images->pixels, (size_t)images->count * images->height * images->width);
    dm_hasher_part(hasher, images->labels, images->count);
}

/* The last of a fixed order of the images are kept for checks of proposals. */
static dm_status hold(dm_task *task, dm_error *err)
{
    uint64_t held = task->config.rules.proposal_checked;
    if (held >= task->samples)
        return dm_fail(err, DM_EINVAL,
                       "cnn: %llu held-out images leave none of %llu to train on "
                       "(predict.proposal_checked)",
                       (unsigned long long)held, (unsigned long long)task->samples);
    task->held = held;
    task->samples -= held;
    return DM_OK;
}

static dm_status load(dm_task *task, const char *const *paths, size_t count, dm_error *err)
{
    const dm_train_config *c = &task->config;
    dm_hasher *hasher = dm_hasher_create();
    dm_image_sets *data = task->data = calloc(1, sizeof *data);
    dm_status status =
        data == NULL || hasher == NULL
            ? dm_fail(err, DM_ENOMEM, "out of memory")
            : dm_image_sets_load(paths, count, (uint32_t)c->classes, c->validation, data, err);
    if (status == DM_OK) {
        hash_images(hasher, &data->train);
        hash_images(hasher, &data->test);
        dm_hash128_hex(dm_hasher_finish(hasher), task->hash);
        task->samples = data->train.count;
        snprintf(task->about, sizeof task->about, "%u images of %ux%u, %u %s", data->train.count,
                 data->train.height, data->train.width, data->test.count,
                 data->apart ? "to test with" : "held out");
        if (c->predict)
            status = hold(task, err);
    }
    dm_hasher_destroy(hasher);
    return status;
}

static void unload(dm_task *task)
{
    dm_image_sets *data = task->data;
    if (data == NULL)
        return;
    dm_image_sets_deinit(data);
    free(data);
    task->data = NULL;
}

/* ---- Samples ---- */

static void put(const dm_images *images, uint64_t index, void *input, void *target)
{
    size_t size = (size_t)images->height * images->width;
    const uint8_t *pixels = images->pixels + index * size;
    for (size_t i = 0; i < size; i++)
        ((float *)input)[i] = (float)pixels[i] / 255.0f;
    *(int32_t *)target = images->labels[index];
}

/* The image at a place of the fixed order; without held-out images the order of the file. */
static uint64_t image_at(const dm_task *task, uint64_t place)
{
    uint64_t all = task->samples + task->held;
    return task->held > 0 ? dm_order_at(HELD_SEED, 0, all, place) : place;
}

static void sample(const dm_task *task, uint64_t position, void *input, void *target)
{
    const dm_image_sets *data = task->data;
    uint64_t count = task->samples;
    uint64_t place = dm_order_at(task->config.seed, position / count, count, position % count);
    put(&data->train, image_at(task, place), input, target);
}

static void fill_held(const dm_task *task, uint64_t index, void *input, void *target)
{
    const dm_image_sets *data = task->data;
    put(&data->train, image_at(task, task->samples + index), input, target);
}

static dm_status held_out(const dm_task *task, dm_nn_model *model, double *loss, dm_error *err)
{
    return dm_task_measure(task, model, task->held, fill_held, loss, NULL, err);
}

static void fill_train(const dm_task *task, uint64_t index, void *input, void *target)
{
    put(&((const dm_image_sets *)task->data)->train, index, input, target);
}

static void fill_test(const dm_task *task, uint64_t index, void *input, void *target)
{
    put(&((const dm_image_sets *)task->data)->test, index, input, target);
}

/* Without images to test with, and without ones held out, the figures are those of the training
 * images, under another name. */
static dm_status evaluate(const dm_task *task, dm_nn_model *model, dm_metric *metrics,
                          size_t *count, dm_error *err)
{
    const dm_image_sets *data = task->data;
    bool test = data->test.count > 0;
    uint64_t images = test ? data->test.count : data->train.count, right = 0;
    double loss = 0;
    dm_status status =
        dm_task_measure(task, model, images, test ? fill_test : fill_train, &loss, &right, err);
    metrics[0] = (dm_metric){test ? "val_loss" : "train_loss", loss};
    metrics[1] = (dm_metric){test ? "accuracy" : "train_accuracy", (double)right / (double)images};
    *count = 2;
    return status;
}

const dm_task_kind dm_task_cnn = {
    .name = "cnn",
    .unit = "images",
    .describe = describe,
    .load = load,
    .unload = unload,
    .sample = sample,
    .evaluate = evaluate,
    .held_out = held_out,
};
