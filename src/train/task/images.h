/* SPDX-License-Identifier: MIT */
/* images.h - labelled images to train on and to test with, from a user's files.
 *
 * A folder has them as MNIST names them: train-images-idx3-ubyte, train-labels-idx1-ubyte, and
 * t10k-... to test with, plain or .gz. A file is a CSV of square images: pixels of 0 to 255, the
 * label in the last column; the first is to train on, a second to test with. */
#ifndef DM_TRAIN_IMAGES_H
#define DM_TRAIN_IMAGES_H

#include "train/data/idx.h"

#include <stdbool.h>

typedef struct dm_image_sets {
    dm_images train, test;
    bool apart; /* test images came from files of their own */
} dm_image_sets;

/* Paths in their order, then the cache folder's mnist5k for what they lack. Where there is nothing
 * to test with, the share `validation` of the images, spread evenly over them, is taken out of the
 * others for that; test.count is 0 when that is none. */
dm_status dm_image_sets_load(const char *const *paths, size_t count, uint32_t classes,
                             double validation, dm_image_sets *out, dm_error *err);
void dm_image_sets_deinit(dm_image_sets *sets);

#endif
