/* SPDX-License-Identifier: MIT */
/* idx.h - labelled images, and IDX files (MNIST's format), gzip or plain.
 *
 * An IDX file is 0, 0, the type (8: unsigned bytes, the only one read here), the number of
 * dimensions, each dimension as a big-endian 32-bit number, then the values. A file must be exactly
 * as long as its header says. */
#ifndef DM_TRAIN_IDX_H
#define DM_TRAIN_IDX_H

#include <dotmatrix/base.h>

typedef struct dm_images {
    uint8_t *pixels; /* count x height x width */
    uint8_t *labels; /* count, each below `classes` */
    uint32_t count, height, width, classes;
} dm_images;

void dm_images_deinit(dm_images *images);

/* Images and their labels. Counts that differ, an empty set and a label of `classes` or more are
 * refused; the message names the file and the offset in it (of the inflated bytes). */
dm_status dm_images_load_idx(const char *images_path, const char *labels_path, uint32_t classes,
                             dm_images *out, dm_error *err);
/* A CSV file whose rows are height x width pixels, integers of 0 .. max_value scaled to 0 .. 255,
 * with the label in the last column. */
dm_status dm_images_load_csv(const char *path, uint32_t height, uint32_t width, uint32_t max_value,
                             uint32_t classes, dm_images *out, dm_error *err);
/* Write both files, plain, each atomically. */
dm_status dm_images_save_idx(const dm_images *images, const char *images_path,
                             const char *labels_path, dm_error *err);

#endif
