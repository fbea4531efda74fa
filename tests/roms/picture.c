/* SPDX-License-Identifier: MIT */
/* picture.c - frames as PNG files. */
#include "tests/roms/verdict.h"

#include <png.h>
#include <stdlib.h>

#define PIXELS (DM_GB_SCREEN_W * DM_GB_SCREEN_H)

/* FF AA 55 00 stand for the shades 0 to 3; other colours for the shade nearest in brightness. */
static uint8_t shade_of(const uint8_t rgba[4])
{
    unsigned brightness = (299u * rgba[0] + 587u * rgba[1] + 114u * rgba[2]) / 1000u;
    return (uint8_t)(3u - (brightness + 42u) / 85u);
}

dm_status dm_rom_picture_read(const char *path, uint8_t shades[PIXELS], dm_error *err)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path))
        return dm_fail(err, DM_EFORMAT, "%s: %s", path, image.message);
    if (image.width != DM_GB_SCREEN_W || image.height != DM_GB_SCREEN_H) {
        unsigned width = image.width, height = image.height;
        png_image_free(&image);
        return dm_fail(err, DM_EINVAL, "%s: %u x %u pixels, not the screen's 160 x 144", path,
                       width, height);
    }
    image.format = PNG_FORMAT_RGBA;
    uint8_t *pixels = malloc((size_t)PIXELS * 4);
    if (pixels == NULL) {
        png_image_free(&image);
        return dm_fail(err, DM_ENOMEM, "%s: no memory for the picture", path);
    }
    dm_status status = DM_OK;
    if (!png_image_finish_read(&image, NULL, pixels, 0, NULL))
        status = dm_fail(err, DM_EFORMAT, "%s: %s", path, image.message);
    for (size_t i = 0; status == DM_OK && i < PIXELS; i++)
        shades[i] = shade_of(pixels + 4 * i);
    free(pixels);
    return status;
}

dm_status dm_rom_picture_write(const char *path, const uint8_t shades[PIXELS], dm_error *err)
{
    static const uint8_t greys[4] = {0xFF, 0xAA, 0x55, 0x00};
    uint8_t pixels[PIXELS];
    for (size_t i = 0; i < PIXELS; i++)
        pixels[i] = greys[shades[i] & 3u];
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = DM_GB_SCREEN_W,
                       .height = DM_GB_SCREEN_H,
                       .format = PNG_FORMAT_GRAY};
    if (!png_image_write_to_file(&image, path, 0, pixels, 0, NULL))
        return dm_fail(err, DM_EIO, "%s: %s", path, image.message);
    return DM_OK;
}
