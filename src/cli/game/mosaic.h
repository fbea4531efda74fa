/* SPDX-License-Identifier: MIT */
/* mosaic.h - pictures of several machines side by side, in full, with thin borders.
 *
 *     +--+--+--+   2 pixels of dark grey around and between the pictures; cells without a machine
 *     | 0| 1| 2|   are of that grey too. One machine alone has no border.
 *     +--+--+--+
 *     | 3| 4|  |
 *     +--+--+--+ */
#ifndef DM_CLI_MOSAIC_H
#define DM_CLI_MOSAIC_H

#include <dotmatrix/gb.h>

#define DM_MOSAIC_SIDE_MAX 8
#define DM_MOSAIC_BORDER 2
#define DM_MOSAIC_BORDER_SHADE 2

typedef struct dm_mosaic {
    uint32_t columns, rows;
    uint32_t count;         /* machines; at most columns x rows */
    uint32_t width, height; /* of the whole, in pixels */
} dm_mosaic;

/* "12": so many machines, as square as can be; "4x3": columns and rows. At most 8 a side. */
dm_status dm_mosaic_parse(const char *text, dm_mosaic *out, dm_error *err);
/* Grey everywhere; `picture` has width x height shades. */
void dm_mosaic_clear(const dm_mosaic *mosaic, uint8_t *picture);
/* Put machine i's screen, 160 x 144 shades, into its cell. */
void dm_mosaic_place(const dm_mosaic *mosaic, uint32_t i, const uint8_t *screen, uint8_t *picture);

#endif
