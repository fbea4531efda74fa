/* SPDX-License-Identifier: MIT */
/* picture.h - screens as files: PNG through libpng, animated GIF through giflib.
 *
 * A screen is 160 x 144 shades, 0 (light) to 3 (dark), as dm_gb_frame gives it. In a picture they
 * are the greys FF, AA, 55 and 00, and each pixel is a square of `scale` pixels. Bytes are appended
 * to a buffer; nothing here touches files. */
#ifndef DM_GB_PICTURE_H
#define DM_GB_PICTURE_H

#include "base/buffer.h"

#define DM_GB_PICTURE_SCALE_MAX 16
#define DM_GB_GIF_SIZE_MAX (256u << 20) /* bytes, so that a long run cannot fill memory */

/* A PNG of two bits per pixel. DM_ENOMEM, or DM_EINVAL for a scale that is not 1 to 16. */
dm_status dm_gb_picture_png(const uint8_t *shades, unsigned scale, dm_buffer *out, dm_error *err);
/* The same of `width` x `height` shades. */
dm_status dm_gb_picture_png_sized(const uint8_t *shades, unsigned width, unsigned height,
                                  unsigned scale, dm_buffer *out, dm_error *err);

/* An endless animation. Pictures that equal the one before only make it last longer; of the others
 * only the rectangle that changed is stored. GIF counts in centiseconds, of which a frame
 * has 1.674, so delays vary by one to keep the pace, and none is shorter than the 2 that viewers
 * honour. */
typedef struct dm_gb_gif dm_gb_gif;

dm_status dm_gb_gif_create(unsigned scale, dm_gb_gif **out, dm_error *err);
/* Of pictures of another size; enlarged they may have at most 65,535 pixels a side. */
dm_status dm_gb_gif_create_sized(unsigned width, unsigned height, unsigned scale, dm_gb_gif **out,
                                 dm_error *err);
/* `shades` is on the screen for `frames` frames. */
dm_status dm_gb_gif_add(dm_gb_gif *gif, const uint8_t *shades, uint32_t frames, dm_error *err);
/* Complete it and append its bytes; at least one picture must have been added. */
dm_status dm_gb_gif_finish(dm_gb_gif *gif, dm_buffer *out, dm_error *err);
void dm_gb_gif_destroy(dm_gb_gif *gif);

#endif
