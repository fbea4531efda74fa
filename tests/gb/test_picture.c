/* SPDX-License-Identifier: MIT */
/* Every file that is written is read again by libpng or giflib and compared pixel by pixel. */
#include "gb/host/picture.h"

#include "tests/support/test.h"

#include <dotmatrix/gb.h>

#include <gif_lib.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#define W DM_GB_SCREEN_W
#define H DM_GB_SCREEN_H

static const uint8_t greys[4] = {0xFF, 0xAA, 0x55, 0x00};

/* All shades, no symmetry: a mirrored or shifted picture differs. */
static void make_screen(uint8_t *shades, unsigned seed)
{
    for (unsigned y = 0; y < H; y++)
        for (unsigned x = 0; x < W; x++)
            shades[y * W + x] = (uint8_t)((x * 7 + y * y * 3 + x * y + seed) >> 3 & 3);
}

static void check_png(const dm_buffer *bytes, const uint8_t *shades, unsigned scale)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, bytes->data, bytes->size));
    assert_int_equal(image.width, W * scale);
    assert_int_equal(image.height, H * scale);
    image.format = PNG_FORMAT_GRAY;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    for (unsigned y = 0; y < H * scale; y++)
        for (unsigned x = 0; x < W * scale; x++)
            assert_int_equal(pixels[y * W * scale + x], greys[shades[(y / scale) * W + x / scale]]);
    free(pixels);
}

static void png_reads_back_at_every_scale(void **state)
{
    (void)state;
    uint8_t shades[W * H];
    make_screen(shades, 5);
    for (unsigned scale = 1; scale <= DM_GB_PICTURE_SCALE_MAX; scale += scale < 4 ? 1 : 6) {
        dm_buffer out = DM_BUFFER_EMPTY;
        assert_ok(dm_gb_picture_png(shades, scale, &out, err));
        check_png(&out, shades, scale);
        dm_buffer_deinit(&out);
    }
}

static void png_appends(void **state)
{
    (void)state;
    uint8_t shades[W * H];
    make_screen(shades, 0);
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_buffer_puts(&out, "before");
    assert_ok(dm_gb_picture_png(shades, 1, &out, err));
    assert_memory_equal(out.data, "before\x89PNG", 10);
    dm_buffer_deinit(&out);
}

static void refuses_bad_scales(void **state)
{
    (void)state;
    static const unsigned bad[] = {0, DM_GB_PICTURE_SCALE_MAX + 1, ~0u};
    uint8_t shades[W * H] = {0};
    for (size_t i = 0; i < 3; i++) {
        dm_error err;
        dm_buffer out = DM_BUFFER_EMPTY;
        dm_gb_gif *gif = NULL;
        assert_int_equal(dm_gb_picture_png(shades, bad[i], &out, &err), DM_EINVAL);
        assert_non_null(strstr(err.message, "not 1 to 16"));
        assert_int_equal(out.size, 0);
        assert_int_equal(dm_gb_gif_create(bad[i], &gif, &err), DM_EINVAL);
        assert_null(gif);
    }
}

/* ---- GIF ---- */

typedef struct reading {
    const dm_buffer *bytes;
    size_t at;
} reading;

static int gif_bytes(GifFileType *file, GifByteType *out, int size)
{
    reading *r = file->UserData;
    size_t left = r->bytes->size - r->at;
    size_t now = (size_t)size < left ? (size_t)size : left;
    memcpy(out, r->bytes->data + r->at, now);
    r->at += now;
    return (int)now;
}

/* A decoded animation, and the screen after each of its pictures. */
typedef struct animation {
    GifFileType *file;
    reading source;
    uint8_t *screen;
    int shown;
    long centiseconds; /* of the pictures shown so far */
} animation;

static void animation_open(animation *a, const dm_buffer *bytes, unsigned scale)
{
    int code = 0;
    *a = (animation){.source = {bytes, 0}};
    a->file = DGifOpen(&a->source, gif_bytes, &code);
    assert_non_null(a->file);
    assert_int_equal(DGifSlurp(a->file), GIF_OK);
    assert_int_equal(a->file->SWidth, W * scale);
    assert_int_equal(a->file->SHeight, H * scale);
    const ColorMapObject *map = a->file->SColorMap;
    assert_int_equal(map->ColorCount, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(map->Colors[i].Red, greys[i]);
        assert_int_equal(map->Colors[i].Green, greys[i]);
        assert_int_equal(map->Colors[i].Blue, greys[i]);
    }
    a->screen = malloc((size_t)W * H * scale * scale);
    memset(a->screen, 0xEE, (size_t)W * H * scale * scale);
}

static int animation_next(animation *a)
{
    const SavedImage *image = &a->file->SavedImages[a->shown];
    const GifImageDesc *d = &image->ImageDesc;
    GraphicsControlBlock control;
    assert_int_equal(DGifSavedExtensionToGCB(a->file, a->shown, &control), GIF_OK);
    assert_int_equal(control.TransparentColor, NO_TRANSPARENT_COLOR);
    for (int y = 0; y < d->Height; y++)
        memcpy(a->screen + (d->Top + y) * a->file->SWidth + d->Left,
               image->RasterBits + y * d->Width, (size_t)d->Width);
    a->shown++;
    a->centiseconds += control.DelayTime;
    return control.DelayTime;
}

static void check_screen(const animation *a, const uint8_t *shades, unsigned scale)
{
    for (unsigned y = 0; y < H * scale; y++)
        for (unsigned x = 0; x < W * scale; x++)
            assert_int_equal(a->screen[y * W * scale + x], shades[(y / scale) * W + x / scale]);
}

static void animation_close(animation *a)
{
    int code;
    free(a->screen);
    DGifCloseFile(a->file, &code);
}

static void gif_reads_back_picture_by_picture(void **state)
{
    (void)state;
    for (unsigned scale = 1; scale <= 3; scale += 2) {
        uint8_t shades[5][W * H];
        dm_gb_gif *gif = NULL;
        dm_buffer out = DM_BUFFER_EMPTY;
        assert_ok(dm_gb_gif_create(scale, &gif, err));
        make_screen(shades[0], 0);
        make_screen(shades[1], 9);
        memcpy(shades[2], shades[1], sizeof shades[2]);
        shades[2][0] ^= 1; /* one corner, then the opposite one, then one pixel inside */
        memcpy(shades[3], shades[2], sizeof shades[3]);
        shades[3][W * H - 1] ^= 2;
        memcpy(shades[4], shades[3], sizeof shades[4]);
        shades[4][77 * W + 31] ^= 3;
        for (int i = 0; i < 5; i++)
            assert_ok(dm_gb_gif_add(gif, shades[i], 2, err));
        assert_ok(dm_gb_gif_finish(gif, &out, err));
        dm_gb_gif_destroy(gif);
        animation a;
        animation_open(&a, &out, scale);
        assert_int_equal(a.file->ImageCount, 5);
        for (int i = 0; i < 5; i++) {
            animation_next(&a);
            check_screen(&a, shades[i], scale);
        }
        assert_int_equal(a.file->SavedImages[4].ImageDesc.Width, scale);
        animation_close(&a);
        dm_buffer_deinit(&out);
    }
}

static void gif_keeps_the_pace(void **state)
{
    (void)state;
    /* A frame lasts 1.6742706 centiseconds; 600 pictures of 2 frames: 2009. */
    uint8_t shades[W * H] = {0};
    dm_gb_gif *gif = NULL;
    dm_buffer out = DM_BUFFER_EMPTY;
    assert_ok(dm_gb_gif_create(1, &gif, err));
    for (int i = 0; i < 600; i++) {
        shades[i] ^= 1;
        assert_ok(dm_gb_gif_add(gif, shades, 2, err));
    }
    assert_ok(dm_gb_gif_finish(gif, &out, err));
    dm_gb_gif_destroy(gif);
    animation a;
    animation_open(&a, &out, 1);
    assert_int_equal(a.file->ImageCount, 600);
    for (int i = 0; i < 600; i++)
        assert_in_range(animation_next(&a), 3, 4);
    assert_int_equal(a.centiseconds, 2009);
    animation_close(&a);
    dm_buffer_deinit(&out);
}

static void gif_delays_are_never_below_two(void **state)
{
    (void)state;
    uint8_t shades[W * H] = {0};
    dm_gb_gif *gif = NULL;
    dm_buffer out = DM_BUFFER_EMPTY;
    assert_ok(dm_gb_gif_create(1, &gif, err));
    for (int i = 0; i < 20; i++) {
        shades[i] ^= 1;
        assert_ok(dm_gb_gif_add(gif, shades, 1, err));
    }
    assert_ok(dm_gb_gif_finish(gif, &out, err));
    dm_gb_gif_destroy(gif);
    animation a;
    animation_open(&a, &out, 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(animation_next(&a), 2);
    animation_close(&a);
    dm_buffer_deinit(&out);
}

static void gif_merges_equal_pictures(void **state)
{
    (void)state;
    uint8_t shades[W * H];
    dm_gb_gif *gif = NULL;
    dm_buffer out = DM_BUFFER_EMPTY;
    make_screen(shades, 3);
    assert_ok(dm_gb_gif_create(1, &gif, err));
    for (int i = 0; i < 300; i++)
        assert_ok(dm_gb_gif_add(gif, shades, 2, err));
    assert_ok(dm_gb_gif_finish(gif, &out, err));
    dm_gb_gif_destroy(gif);
    animation a;
    animation_open(&a, &out, 1);
    assert_int_equal(a.file->ImageCount, 1);
    assert_int_equal(animation_next(&a), 1005);
    animation_close(&a);
    dm_buffer_deinit(&out);
}

static void gif_of_a_still_hour(void **state)
{
    (void)state;
    /* Longer than the 655 seconds that a delay can say. */
    uint8_t shades[W * H] = {0};
    dm_gb_gif *gif = NULL;
    dm_buffer out = DM_BUFFER_EMPTY;
    assert_ok(dm_gb_gif_create(1, &gif, err));
    for (int i = 0; i < 3600; i++)
        assert_ok(dm_gb_gif_add(gif, shades, 60, err));
    assert_ok(dm_gb_gif_finish(gif, &out, err));
    dm_gb_gif_destroy(gif);
    animation a;
    animation_open(&a, &out, 1);
    while (a.shown < a.file->ImageCount)
        assert_in_range(animation_next(&a), 1, 65535);
    assert_int_equal(a.centiseconds, 361642);
    check_screen(&a, shades, 1);
    animation_close(&a);
    dm_buffer_deinit(&out);
}

static void gif_without_pictures_is_refused(void **state)
{
    (void)state;
    dm_gb_gif *gif = NULL;
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_error err;
    assert_ok(dm_gb_gif_create(1, &gif, err));
    assert_int_equal(dm_gb_gif_finish(gif, &out, &err), DM_EINVAL);
    assert_int_equal(out.size, 0);
    dm_gb_gif_destroy(gif);
    dm_gb_gif_destroy(NULL);
}

DM_TESTS("gb/picture", DM_TEST(png_reads_back_at_every_scale), DM_TEST(png_appends),
         DM_TEST(refuses_bad_scales), DM_TEST(gif_reads_back_picture_by_picture),
         DM_TEST(gif_keeps_the_pace), DM_TEST(gif_delays_are_never_below_two),
         DM_TEST(gif_merges_equal_pictures), DM_TEST(gif_of_a_still_hour),
         DM_TEST(gif_without_pictures_is_refused))
