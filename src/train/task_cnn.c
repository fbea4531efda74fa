/* SPDX-License-Identifier: MIT */
/* task_cnn.c - labelled images: a convolution with ReLU, max pooling, a linear layer.
 *
 * A folder has images as MNIST names them: train-images-idx3-ubyte, train-labels-idx1-ubyte, and
 * t10k-... to test on, plain or .gz. The folders that the user names are looked into in their
 * order, then the cache folder's mnist5k. */
#include "base/file.h"
#include "train/data/idx.h"
#include "train/data/order.h"
#include "train/data/prepare.h"
#include "train/task.h"

#include <stdlib.h>

#define HELD_SEED UINT64_C(0x68656c64) /* of the fixed order: "held" */

typedef struct image_data {
    dm_images train, test; /* test.count 0: there is none */
} image_data;

/* ---- The model ---- */

static dm_status describe(dm_task *task, dm_error *err)
{
    const dm_train_config *c = &task->config;
    const image_data *data = task->data;
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

/* ---- Files ---- */

/* "folder/name" or "folder/name.gz"; false when neither is there. */
static bool find_file(const char *folder, const char *name, char path[DM_PATH_MAX])
{
    if (dm_path_join(path, folder, name, NULL) != DM_OK)
        return false;
    if (dm_file_exists(path))
        return true;
    size_t length = strlen(path);
    if (length + 4 > DM_PATH_MAX)
        return false;
    memcpy(path + length, ".gz", 4);
    return dm_file_exists(path);
}

/* The first folder that has images of this kind; labels must lie beside them. */
static dm_status load_part(const char *const *folders, size_t count, const char *part,
                           uint32_t classes, dm_images *out, dm_error *err)
{
    char name[64], images[DM_PATH_MAX], labels[DM_PATH_MAX];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
        if (!find_file(folders[i], name, images))
            continue;
        snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
        if (!find_file(folders[i], name, labels))
            return dm_fail(err, DM_ENOENT, "%.900s has images but no %s", folders[i], name);
        return dm_images_load_idx(images, labels, classes, out, err);
    }
    return DM_OK;
}

static void hash_images(dm_hasher *hasher, const dm_images *images)
{
    const uint32_t shape[3] = {images->count, images->height, images->width};
    dm_hasher_part(hasher, shape, sizeof shape);
    if (images->count == 0)
        return;
    dm_hasher_part(hasher, images->pixels, (size_t)images->count * images->height * images->width);
    dm_hasher_part(hasher, images->labels, images->count);
}

static dm_status load_all(dm_task *task, const char *const *folders, size_t count, dm_error *err)
{
    image_data *data = task->data;
    uint32_t classes = (uint32_t)task->config.classes;
    dm_status status = load_part(folders, count, "train", classes, &data->train, err);
    if (status == DM_OK && data->train.count == 0)
        return dm_fail(err, DM_ENOENT,
                       "cnn: no train-images-idx3-ubyte in %.300s; dotmatrix train data --set "
                       "mnist5k makes 5,000 images",
                       folders[0]);
    if (status == DM_OK)
        status = load_part(folders, count, "t10k", classes, &data->test, err);
    if (status == DM_OK && data->test.count > 0 &&
        (data->test.height != data->train.height || data->test.width != data->train.width))
        status =
            dm_fail(err, DM_EFORMAT, "cnn: images to train on are %ux%u, to test on %ux%u",
                    data->train.height, data->train.width, data->test.height, data->test.width);
    return status;
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
    char cache[DM_PATH_MAX], set[DM_PATH_MAX];
    const char **folders = calloc(count + 1, sizeof *folders);
    dm_hasher *hasher = dm_hasher_create();
    image_data *data = task->data = calloc(1, sizeof *data);
    dm_status status = DM_OK;
    if (folders == NULL || data == NULL || hasher == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        folders[i] = paths[i];
        if (!dm_dir_exists(paths[i]))
            status = dm_fail(err, DM_ENOENT, "cnn: --data %.900s is no folder", paths[i]);
    }
    if (status == DM_OK)
        status = dm_data_folder(cache, err);
    if (status == DM_OK)
        status = dm_path_join(set, cache, "mnist5k", err);
    if (status == DM_OK) {
        folders[count] = set;
        status = load_all(task, folders, count + 1, err);
    }
    if (status == DM_OK) {
        hash_images(hasher, &data->train);
        hash_images(hasher, &data->test);
        dm_hash128_hex(dm_hasher_finish(hasher), task->hash);
        task->samples = data->train.count;
        if (task->config.predict)
            status = hold(task, err);
    }
    if (status == DM_OK) {
        snprintf(task->about, sizeof task->about, "%u images of %ux%u, %u to test on",
                 data->train.count, data->train.height, data->train.width, data->test.count);
    }
    dm_hasher_destroy(hasher);
    free(folders);
    return status;
}

static void unload(dm_task *task)
{
    image_data *data = task->data;
    if (data == NULL)
        return;
    dm_images_deinit(&data->train);
    dm_images_deinit(&data->test);
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
    const image_data *data = task->data;
    uint64_t count = task->samples;
    uint64_t place = dm_order_at(task->config.seed, position / count, count, position % count);
    put(&data->train, image_at(task, place), input, target);
}

static void fill_held(const dm_task *task, uint64_t index, void *input, void *target)
{
    const image_data *data = task->data;
    put(&data->train, image_at(task, task->samples + index), input, target);
}

static dm_status held_out(const dm_task *task, dm_nn_model *model, double *loss, dm_error *err)
{
    return dm_task_measure(task, model, task->held, fill_held, loss, NULL, err);
}

static void fill_train(const dm_task *task, uint64_t index, void *input, void *target)
{
    put(&((const image_data *)task->data)->train, index, input, target);
}

static void fill_test(const dm_task *task, uint64_t index, void *input, void *target)
{
    put(&((const image_data *)task->data)->test, index, input, target);
}

/* Without images to test on the figures are those of the training images, under another name. */
static dm_status evaluate(const dm_task *task, dm_nn_model *model, dm_metric *metrics,
                          size_t *count, dm_error *err)
{
    const image_data *data = task->data;
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
