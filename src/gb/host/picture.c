/* SPDX-License-Identifier: MIT */
/* picture.c - see picture.h. */
#include "gb/host/picture.h"

#include <dotmatrix/gb.h>

#include <gif_lib.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#define W DM_GB_SCREEN_W
#define H DM_GB_SCREEN_H

static dm_status check_scale(unsigned scale, dm_error *err)
{
    if (scale < 1 || scale > DM_GB_PICTURE_SCALE_MAX)
        return dm_fail(err, DM_EINVAL, "picture: a scale of %u is not 1 to %d", scale,
                       DM_GB_PICTURE_SCALE_MAX);
    return DM_OK;
}

/* Pixels left..left+count of a row, each `scale` times; `flip` is xored to every shade. */
static void widen(uint8_t *out, const uint8_t *row, int count, unsigned scale, uint8_t flip)
{
    for (int x = 0; x < count; x++)
        for (unsigned k = 0; k < scale; k++)
            *out++ = (row[x] & 3u) ^ flip;
}

/* ---- PNG ---- */

static void png_append(png_structp png, png_bytep bytes, png_size_t size)
{
    dm_buffer_append(png_get_io_ptr(png), bytes, size);
}

static void png_flush_nothing(png_structp png)
{
    (void)png;
}

static void png_say_nothing(png_structp png, png_const_charp text)
{
    (void)png, (void)text;
}

/* libpng leaves by longjmp; no local changes between setjmp and that. */
static bool write_png(png_structp png, png_infop info, const uint8_t *shades, unsigned width,
                      unsigned height, unsigned scale, uint8_t *row)
{
    if (setjmp(png_jmpbuf(png)) != 0)
        return false;
    png_set_IHDR(png, info, width * scale, height * scale, 2, PNG_COLOR_TYPE_GRAY,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    png_set_packing(png);
    for (unsigned y = 0; y < height * scale; y++) {
        widen(row, shades + (size_t)(y / scale) * width, (int)width, scale,
              3); /* in a grey PNG 3 is white */
        png_write_row(png, row);
    }
    png_write_end(png, info);
    return true;
}

dm_status dm_gb_picture_png(const uint8_t *shades, unsigned scale, dm_buffer *out, dm_error *err)
{
    return dm_gb_picture_png_sized(shades, W, H, scale, out, err);
}

dm_status dm_gb_picture_png_sized(const uint8_t *shades, unsigned width, unsigned height,
                                  unsigned scale, dm_buffer *out, dm_error *err)
{
    dm_status status = check_scale(scale, err);
    if (status != DM_OK)
        return status;
    uint8_t *row = malloc((size_t)width * scale);
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, png_say_nothing, png_say_nothing);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    bool done = false;
    if (row != NULL && info != NULL) {
        png_set_write_fn(png, out, png_append, png_flush_nothing);
        done = write_png(png, info, shades, width, height, scale, row);
    }
    png_destroy_write_struct(&png, &info);
    free(row);
    if (!done || out->failed)
        return dm_fail(err, DM_ENOMEM, "png: out of memory");
    return DM_OK;
}

/* ---- GIF ---- */

struct dm_gb_gif {
    GifFileType *file;
    dm_buffer bytes;
    unsigned scale;
    int width, height; /* of a picture as it is given */
    uint8_t *row;
    bool any;         /* `pending` holds a picture, not written yet */
    bool first;       /* nothing was written yet */
    uint8_t *pending; /* the newest picture */
    uint8_t *written; /* the one before it */
    uint64_t cycles;  /* T-cycles that all pictures together are to be seen */
    uint64_t shown;   /* centiseconds given out so far */
};

typedef struct rectangle {
    int left, top, right, bottom; /* the last two are just outside */
} rectangle;

static int gif_append(GifFileType *file, const GifByteType *bytes, int size)
{
    dm_gb_gif *gif = file->UserData;
    if (gif->bytes.size + (size_t)size > DM_GB_GIF_SIZE_MAX)
        return 0;
    dm_buffer_append(&gif->bytes, bytes, (size_t)size);
    return gif->bytes.failed ? 0 : size;
}

static size_t picture_size(const dm_gb_gif *gif)
{
    return (size_t)gif->width * (size_t)gif->height;
}

/* The smallest rectangle that holds all differences. */
static rectangle changed(const dm_gb_gif *gif)
{
    const uint8_t *a = gif->pending, *b = gif->written;
    int width = gif->width, height = gif->height;
    rectangle r = {width, height, 0, 0};
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            if (a[y * width + x] == b[y * width + x])
                continue;
            if (x < r.left)
                r.left = x;
            if (x >= r.right)
                r.right = x + 1;
            if (y < r.top)
                r.top = y;
            r.bottom = y + 1;
        }
    }
    return r;
}

static dm_status gif_failed(const dm_gb_gif *gif, dm_error *err)
{
    if (!gif->bytes.failed && gif->bytes.size + (1u << 16) > DM_GB_GIF_SIZE_MAX)
        return dm_fail(err, DM_EINVAL,
                       "gif: it would be larger than %u MiB; take fewer frames or a smaller scale",
                       DM_GB_GIF_SIZE_MAX >> 20);
    return dm_fail(err, DM_ENOMEM, "gif: out of memory");
}

static bool put_header(dm_gb_gif *gif)
{
    static const GifColorType greys[4] = {
        {0xFF, 0xFF, 0xFF}, {0xAA, 0xAA, 0xAA}, {0x55, 0x55, 0x55}, {0, 0, 0}};
    static const GifByteType for_ever[3] = {1, 0, 0};
    ColorMapObject *map = GifMakeMapObject(4, greys);
    if (map == NULL)
        return false;
    EGifSetGifVersion(gif->file, true);
    bool ok = EGifPutScreenDesc(gif->file, gif->width * (int)gif->scale,
                                gif->height * (int)gif->scale, 2, 0, map) == GIF_OK &&
              EGifPutExtensionLeader(gif->file, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
              EGifPutExtensionBlock(gif->file, 11, "NETSCAPE2.0") == GIF_OK &&
              EGifPutExtensionBlock(gif->file, 3, for_ever) == GIF_OK &&
              EGifPutExtensionTrailer(gif->file) == GIF_OK;
    GifFreeMapObject(map);
    return ok;
}

static bool put_picture(dm_gb_gif *gif, const uint8_t *shades, rectangle r, int delay)
{
    int scale = (int)gif->scale;
    GraphicsControlBlock control = {.DisposalMode = DISPOSE_DO_NOT,
                                    .DelayTime = delay,
                                    .TransparentColor = NO_TRANSPARENT_COLOR};
    GifByteType bytes[4];
    EGifGCBToExtension(&control, bytes);
    if (EGifPutExtension(gif->file, GRAPHICS_EXT_FUNC_CODE, 4, bytes) != GIF_OK ||
        EGifPutImageDesc(gif->file, r.left * scale, r.top * scale, (r.right - r.left) * scale,
                         (r.bottom - r.top) * scale, false, NULL) != GIF_OK)
        return false;
    for (int y = r.top * scale; y < r.bottom * scale; y++) {
        widen(gif->row, shades + (y / scale) * gif->width + r.left, r.right - r.left, gif->scale,
              0);
        if (EGifPutLine(gif->file, gif->row, (r.right - r.left) * scale) != GIF_OK)
            return false;
    }
    return true;
}

/* Write the picture that waits, now that it is known how long it lasts. */
static bool put_pending(dm_gb_gif *gif)
{
    /* A T-cycle is 1/4194304 s. */
    uint64_t end = (gif->cycles * 100 + (1u << 21)) >> 22;
    uint64_t delay = end > gif->shown + 2 ? end - gif->shown : 2;
    rectangle all = {0, 0, gif->width, gif->height};
    rectangle part = gif->first ? all : changed(gif);
    for (gif->shown += delay; delay > 0;) { /* longer than the field can say: again, one pixel */
        int now = delay > 60000 ? 60000 : (int)delay;
        if (!put_picture(gif, gif->pending, part, now))
            return false;
        delay -= (uint64_t)now;
        part = (rectangle){0, 0, 1, 1};
    }
    memcpy(gif->written, gif->pending, picture_size(gif));
    gif->first = false;
    return true;
}

dm_status dm_gb_gif_create(unsigned scale, dm_gb_gif **out, dm_error *err)
{
    return dm_gb_gif_create_sized(W, H, scale, out, err);
}

dm_status dm_gb_gif_create_sized(unsigned width, unsigned height, unsigned scale, dm_gb_gif **out,
                                 dm_error *err)
{
    *out = NULL;
    dm_status status = check_scale(scale, err);
    if (status != DM_OK)
        return status;
    if (width == 0 || height == 0 || width > 65535 / scale || height > 65535 / scale)
        return dm_fail(err, DM_EINVAL, "gif: %u x %u pixels, enlarged %u times, do not fit", width,
                       height, scale);
    dm_gb_gif *gif = calloc(1, sizeof *gif);
    if (gif == NULL)
        return dm_fail(err, DM_ENOMEM, "gif: out of memory");
    int code = 0;
    gif->scale = scale;
    gif->first = true;
    gif->width = (int)width;
    gif->height = (int)height;
    gif->row = malloc((size_t)width * scale);
    gif->pending = malloc(picture_size(gif));
    gif->written = malloc(picture_size(gif));
    gif->file = EGifOpen(gif, gif_append, &code);
    if (gif->row == NULL || gif->pending == NULL || gif->written == NULL || gif->file == NULL ||
        !put_header(gif)) {
        dm_gb_gif_destroy(gif);
        return dm_fail(err, DM_ENOMEM, "gif: out of memory");
    }
    *out = gif;
    return DM_OK;
}

dm_status dm_gb_gif_add(dm_gb_gif *gif, const uint8_t *shades, uint32_t frames, dm_error *err)
{
    if (gif->any && memcmp(gif->pending, shades, picture_size(gif)) != 0 && !put_pending(gif))
        return gif_failed(gif, err);
    memcpy(gif->pending, shades, picture_size(gif));
    gif->any = true;
    gif->cycles += (uint64_t)frames * DM_GB_FRAME_CYCLES;
    return DM_OK;
}

dm_status dm_gb_gif_finish(dm_gb_gif *gif, dm_buffer *out, dm_error *err)
{
    if (!gif->any)
        return dm_fail(err, DM_EINVAL, "gif: there is no picture to write");
    if (!put_pending(gif))
        return gif_failed(gif, err);
    int code = 0;
    GifFileType *file = gif->file;
    gif->file = NULL;
    if (EGifCloseFile(file, &code) != GIF_OK)
        return gif_failed(gif, err);
    dm_buffer_append(out, gif->bytes.data, gif->bytes.size);
    return dm_buffer_check(out, err);
}

void dm_gb_gif_destroy(dm_gb_gif *gif)
{
    if (gif == NULL)
        return;
    int code = 0;
    if (gif->file != NULL)
        EGifCloseFile(gif->file, &code);
    dm_buffer_deinit(&gif->bytes);
    free(gif->row);
    free(gif->pending);
    free(gif->written);
    free(gif);
}
