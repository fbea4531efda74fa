/* SPDX-License-Identifier: MIT */
/* images.c - see images.h. */
#include "train/task/images.h"
#include "base/file.h"
#include "train/data/csv.h"
#include "train/data/prepare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dm_image_sets_deinit(dm_image_sets *sets)
{
    dm_images_deinit(&sets->train);
    dm_images_deinit(&sets->test);
}

/* ---- Folders ---- */

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

/* The images of a folder, "train" or "t10k", unless there are some already. */
static dm_status load_folder(const char *folder, const char *part, uint32_t classes, dm_images *out,
                             dm_error *err)
{
    char name[64], images[DM_PATH_MAX], labels[DM_PATH_MAX];
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
    if (out->count > 0 || !find_file(folder, name, images))
        return DM_OK;
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
    if (!find_file(folder, name, labels))
        return dm_fail(err, DM_ENOENT, "%.900s has images but no %s", folder, name);
    return dm_images_load_idx(images, labels, classes, out, err);
}

/* ---- Tables ---- */

static dm_status load_table(const char *path, uint32_t classes, dm_image_sets *out, dm_error *err)
{
    dm_csv csv = {0};
    dm_status status = dm_csv_load(path, DM_CSV_HEADER_AUTO, &csv, err);
    if (status != DM_OK)
        return status;
    size_t pixels = csv.columns - 1, side = (size_t)lround(sqrt((double)pixels));
    dm_csv_deinit(&csv);
    if (pixels == 0 || side * side != pixels)
        return dm_fail(err, DM_EFORMAT,
                       "%.900s: rows of %zu columns; a square image and its label are expected",
                       path, pixels + 1);
    if (out->train.count > 0 && out->test.count > 0)
        return dm_fail(err, DM_EINVAL, "cnn: %.900s: there are images to test with already", path);
    return dm_images_load_csv(path, (uint32_t)side, (uint32_t)side, 255, classes,
                              out->train.count == 0 ? &out->train : &out->test, err);
}

static dm_status load_path(const char *path, uint32_t classes, dm_image_sets *out, dm_error *err)
{
    if (!dm_dir_exists(path))
        return load_table(path, classes, out, err);
    dm_status status = load_folder(path, "train", classes, &out->train, err);
    return status == DM_OK ? load_folder(path, "t10k", classes, &out->test, err) : status;
}

/* ---- Images held out ---- */

/* Whether image i is one of a share of them, spread evenly. */
static bool is_held(uint32_t i, double share)
{
    return floor((i + 1.0) * share) > floor(i * share);
}

static dm_status take_out(double share, dm_image_sets *sets, dm_error *err)
{
    dm_images *from = &sets->train, *to = &sets->test;
    size_t size = (size_t)from->height * from->width;
    uint32_t held = 0, kept = 0;
    for (uint32_t i = 0; i < from->count; i++)
        held += is_held(i, share);
    if (held == 0)
        return DM_OK;
    *to = (dm_images){.pixels = malloc(held * size),
                      .labels = malloc(held),
                      .height = from->height,
                      .width = from->width,
                      .classes = from->classes};
    if (to->pixels == NULL || to->labels == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory for %u images", held);
    for (uint32_t i = 0; i < from->count; i++) {
        bool out = is_held(i, share);
        dm_images *set = out ? to : from;
        uint32_t at = out ? to->count++ : kept++;
        memmove(set->pixels + at * size, from->pixels + i * size, size);
        set->labels[at] = from->labels[i];
    }
    from->count = kept;
    return DM_OK;
}

/* ---- All of it ---- */

dm_status dm_image_sets_load(const char *const *paths, size_t count, uint32_t classes,
                             double validation, dm_image_sets *out, dm_error *err)
{
    char cache[DM_PATH_MAX], set[DM_PATH_MAX];
    dm_status status = dm_data_folder(cache, err);
    if (status == DM_OK)
        status = dm_path_join(set, cache, "mnist5k", err);
    for (size_t i = 0; i < count && status == DM_OK; i++)
        status = load_path(paths[i], classes, out, err);
    if (status == DM_OK && dm_dir_exists(set))
        status = load_path(set, classes, out, err);
    if (status == DM_OK && out->train.count == 0)
        status = dm_fail(err, DM_ENOENT,
                         "cnn: no train-images-idx3-ubyte in %.300s; dotmatrix train data --set "
                         "mnist5k makes 5,000 images",
                         count > 0 ? paths[0] : set);
    out->apart = out->test.count > 0;
    if (status == DM_OK && !out->apart && validation > 0)
        status = take_out(validation, out, err);
    if (status == DM_OK && out->test.count > 0 &&
        (out->test.height != out->train.height || out->test.width != out->train.width))
        status = dm_fail(err, DM_EFORMAT, "cnn: images to train on are %ux%u, to test with %ux%u",
                         out->train.height, out->train.width, out->test.height, out->test.width);
    return status;
}
