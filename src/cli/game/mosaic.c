/* SPDX-License-Identifier: MIT */
/* mosaic.c - see mosaic.h. */
#include "cli/game/mosaic.h"

#include <stdlib.h>
#include <string.h>

static uint32_t border(const dm_mosaic *mosaic)
{
    return mosaic->columns * mosaic->rows > 1 ? DM_MOSAIC_BORDER : 0;
}

/* A number of at most three digits; NULL when there is none at `text`. */
static const char *number(const char *text, uint32_t *out)
{
    const char *at = text;
    for (*out = 0; *at >= '0' && *at <= '9' && at - text < 3; at++)
        *out = *out * 10 + (uint32_t)(*at - '0');
    return at > text ? at : NULL;
}

dm_status dm_mosaic_parse(const char *text, dm_mosaic *out, dm_error *err)
{
    uint32_t columns = 0, rows = 1;
    const char *end = number(text, &columns);
    if (end != NULL && *end == 'x') {
        end = number(end + 1, &rows);
        out->count = columns * rows;
    } else {
        out->count = columns;
        for (columns = 1; columns * columns < out->count;)
            columns++;
        rows = (out->count + columns - 1) / columns;
    }
    if (end == NULL || *end != 0 || out->count == 0 || columns > DM_MOSAIC_SIDE_MAX ||
        rows > DM_MOSAIC_SIDE_MAX)
        return dm_fail(err, DM_EINVAL,
                       "--mosaic: '%s' is neither 1 to 64 machines nor a grid of 1x1 to 8x8", text);
    out->columns = columns;
    out->rows = rows;
    out->width = columns * (DM_GB_SCREEN_W + border(out)) + border(out);
    out->height = rows * (DM_GB_SCREEN_H + border(out)) + border(out);
    return DM_OK;
}

void dm_mosaic_clear(const dm_mosaic *mosaic, uint8_t *picture)
{
    memset(picture, DM_MOSAIC_BORDER_SHADE, (size_t)mosaic->width * mosaic->height);
}

void dm_mosaic_place(const dm_mosaic *mosaic, uint32_t i, const uint8_t *screen, uint8_t *picture)
{
    uint32_t x = border(mosaic) + i % mosaic->columns * (DM_GB_SCREEN_W + border(mosaic));
    uint32_t y = border(mosaic) + i / mosaic->columns * (DM_GB_SCREEN_H + border(mosaic));
    for (uint32_t line = 0; line < DM_GB_SCREEN_H; line++)
        memcpy(picture + (size_t)(y + line) * mosaic->width + x, screen + line * DM_GB_SCREEN_W,
               DM_GB_SCREEN_W);
}
