/* SPDX-License-Identifier: MIT */
/* render_packed.h - a logged picture rendered by a warp, and its packed pixels (half_size.h) with it; kernel text.
 *
 * Packed pixels are made from the bit planes of two lines while they are at hand, so that the picture need not be read
 * again. */
#ifndef DM_SIMT_RENDER_PACKED_H
#define DM_SIMT_RENDER_PACKED_H

#include "gb/half_size.h"
#include "gb/simt/render.h"

/* Sixteen squares in a row, packed, from the shades of two lines: sums bit by bit. */
DM_FN uint32_t dm_simt_pack_planes(dm_gb_two_planes two)
{
    const dm_gb_planes a = two.upper, b = two.lower;
    /* Columns: 0..6, three bits. */
    const uint32_t both = a.low & b.low, c0 = a.low ^ b.low, c1 = a.high ^ b.high ^ both,
                   c2 = (a.high & b.high) | (both & (a.high ^ b.high));
    /* Two side by side, in the even bits: bits 1..3 of 0..12. */
    const uint32_t d0 = c0 >> 1, d1 = c1 >> 1, d2 = c2 >> 1;
    const uint32_t carry = c0 & d0, s1 = c1 ^ d1 ^ carry, more = (c1 & d1) | (carry & (c1 ^ d1)),
                   s2 = c2 ^ d2 ^ more, s3 = (c2 & d2) | (more & (c2 ^ d2));
    /* Adding 2 flips bit 1, and carries if that was set. */
    const uint32_t low = s2 ^ s1, high = s3 ^ (s2 & s1);
    return dm_reverse_u32(dm_choose_u32(0x55555555u, high, low << 1));
}

/* The same from the picture. */
DM_FN_SLOW uint32_t dm_simt_pack_word(const uint8_t *at)
{
    uint32_t packed = 0;
    for (uint32_t i = 0; i < 4u; i++)
        packed |= (uint32_t)dm_gb_pack_squares(dm_gb_columns(at + 8u * i)) << 8u * i;
    return packed;
}

/* Draw the logged lines of a picture (render.h) with all lanes of the warp, and if `packed` is not 0
 * store its packed pixels too. */
DM_FN_SLOW void dm_simt_render_picture(const uint8_t *ram, uint8_t *picture,
                                       const dm_gb_line_log *log, uint8_t *packed)
{
    dm_gb_share share = dm_gb_share_begin(ram, picture, log, dm_lane());
    const uint32_t bytes =
        DM_GB_SHARED_PAIRS * DM_GB_LINE_WORDS * 4u; /* that lanes pack together */
    if (packed != 0)
        packed = share.pair < DM_GB_PAIRS ? packed + dm_lane() * 4u : 0;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < DM_GB_PAIRS / DM_GB_SHARED_PAIRS; i++) {
        dm_gb_both registers;
        dm_gb_two_planes two;
        uint8_t *out = dm_gb_share_next(&share, &registers, &two);
        if (DM_LIKELY(dm_gb_logged(registers.upper & registers.lower))) {
            dm_gb_store_word(out, two.upper);
            dm_gb_store_word(out + DM_GB_SCREEN_W, two.lower);
            if (packed != 0)
                *(uint32_t *)(void *)(packed + i * bytes) = dm_simt_pack_planes(two);
        } else {
            dm_gb_store_logged(out, registers, two);
            if (packed != 0)
                *(uint32_t *)(void *)(packed + i * bytes) = dm_simt_pack_word(out);
        }
    }
}

#endif
