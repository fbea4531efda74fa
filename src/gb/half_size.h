/* SPDX-License-Identifier: MIT */
/* half_size.h - pictures at half their width and height; kernel text.
 *
 * A pixel is a 2 x 2 square of the screen: the sum s of its four shades, 0 (light) to 12 (dark). Packed pixels are
 * (s + 2) / 4, rounded down: 0 to 3; four pixels a byte, the leftmost in the lowest bits. */
#ifndef DM_GB_HALF_SIZE_H
#define DM_GB_HALF_SIZE_H

#include "base/port.h"
#include "gb/machine/machine.h"

#define DM_GB_SMALL_W (DM_GB_SCREEN_W / 2u)
#define DM_GB_SMALL_H (DM_GB_SCREEN_H / 2u)
#define DM_GB_SMALL_SIZE (DM_GB_SMALL_W * DM_GB_SMALL_H) /* bytes, one for each pixel */
#define DM_GB_PACKED_SIZE (DM_GB_SMALL_SIZE / 4u)        /* with four pixels a byte */

/* Shades of a 2 x 2 square added up; `at` is its upper left pixel. */
DM_FN uint32_t dm_gb_square(const uint8_t *at)
{
    return (uint32_t)at[0] + at[1] + at[DM_GB_SCREEN_W] + at[DM_GB_SCREEN_W + 1];
}

DM_FN const uint8_t *dm_gb_square_at(const uint8_t *picture, uint32_t pixel)
{
    uint32_t y = pixel / DM_GB_SMALL_W, x = pixel % DM_GB_SMALL_W;
    return picture + y * 2u * DM_GB_SCREEN_W + x * 2u;
}

/* The columns of four squares side by side, added up, at most 6 each; `at` is the upper left pixel
 * and, as eight pixels from the left edge are eight bytes, begins a word. */
DM_FN uint64_t dm_gb_columns(const uint8_t *at)
{
    const uint64_t *upper = (const uint64_t *)(const void *)at;
    const uint64_t *lower = (const uint64_t *)(const void *)(at + DM_GB_SCREEN_W);
    return *upper + *lower;
}

/* The four squares whose columns dm_gb_columns added up, packed into a byte. */
DM_FN uint8_t dm_gb_pack_squares(uint64_t sums)
{
    const uint64_t bytes = 0x00FF00FF00FF00FFu;
    sums = (sums & bytes) + (sums >> 8 & bytes);
    sums = (sums + 0x0002000200020002u) >> 2 & 0x0003000300030003u;
    return (uint8_t)(sums | sums >> 14 | sums >> 28 | sums >> 42);
}

#endif
