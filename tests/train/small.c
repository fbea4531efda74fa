/* SPDX-License-Identifier: MIT */
/* small.c - see small.h. */
#include "tests/train/small.h"
#include "base/file.h"
#include "tests/support/tmpdir.h"
#include "train/data/idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void small_images(void **state, const char *folder, const char *part, uint32_t count)
{
    enum { SIDE = 12 };
    dm_images images = {.pixels = malloc((size_t)count * SIDE * SIDE),
                        .labels = malloc(count),
                        .count = count,
                        .height = SIDE,
                        .width = SIDE,
                        .classes = 4};
    char name[128], other[128];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t label = (i * 7 + i / 5) % 4;
        images.labels[i] = (uint8_t)label;
        for (uint32_t y = 0; y < SIDE; y++)
            for (uint32_t x = 0; x < SIDE; x++) {
                bool bright = (y < 4) == (label < 2) && (x < 4) == (label % 2 == 0) &&
                              (y < 4 || y > 7) && (x < 4 || x > 7);
                uint32_t noise = (i * 31 + y * 17 + x * 13) * 2654435761u >> 26;
                images.pixels[((size_t)i * SIDE + y) * SIDE + x] =
                    (uint8_t)(noise + (bright ? 180 : 0));
            }
    }
    assert_ok(dm_dir_create(dm_test_path(state, folder), err));
    snprintf(name, sizeof name, "%s/%s-images-idx3-ubyte", folder, part);
    snprintf(other, sizeof other, "%s/%s-labels-idx1-ubyte", folder, part);
    assert_ok(
        dm_images_save_idx(&images, dm_test_path(state, name), dm_test_path(state, other), err));
    dm_images_deinit(&images);
}

void small_text(void **state, const char *name)
{
    char text[6000];
    size_t size = 0;
    static const char *const words[] = {"the cat ", "sat on ", "a mat. ", "why not? ", "\n"};
    while (size + 10 < sizeof text) {
        const char *word = words[(size * 2654435761u >> 16) % 5];
        memcpy(text + size, word, strlen(word));
        size += strlen(word);
    }
    assert_ok(dm_file_write(dm_test_path(state, name), text, size, err));
}

const char *small_data(void **state, dm_train_task task)
{
    if (task == DM_TRAIN_CNN) {
        small_images(state, "images", "train", 100);
        small_images(state, "images", "t10k", 37);
        return dm_test_path(state, "images");
    }
    if (task == DM_TRAIN_GPT) {
        small_text(state, "text.txt");
        return dm_test_path(state, "text.txt");
    }
    return NULL;
}
