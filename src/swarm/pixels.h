/* SPDX-License-Identifier: MIT */
/* pixels.h - pictures and memory regions as observations; kernel text.
 *
 * The picture is the one on the screen when the step ends. Stacks hold the last k, newest last;
 * after a reset all k are the picture of the snapshot. Halving takes the sum s of the four shades
 * of a 2 x 2 square, 0 (light) to 12 (dark):
 *
 *   small    (85 s + 2) / 4, rounded down: 0 to 255
 *   packed   (s + 2) / 4, rounded down: 0 to 3; four pixels a byte, the leftmost in the lowest bits
 *
 * A warp works on the pictures of its machines one after the other, all lanes on each. */
#ifndef DM_SWARM_PIXELS_H
#define DM_SWARM_PIXELS_H

#include "swarm/epilog.h"

/* Where the newest picture goes: the others have moved down by one. */
DM_FN uint8_t *dm_swarm_push(uint8_t *stack, uint32_t size, uint32_t depth)
{
    for (uint32_t k = 0; k + 1u < depth; k++) {
        dm_warp_copy(stack + k * size, stack + (k + 1u) * size, size);
        dm_warp_sync();
    }
    return stack + (depth - 1u) * size;
}

/* After a reset: the newest over all the others. */
DM_FN void dm_swarm_fill_stack(uint8_t *stack, uint32_t size, uint32_t depth)
{
    dm_warp_sync();
    for (uint32_t k = 0; k + 1u < depth; k++)
        dm_warp_copy(stack + k * size, stack + (depth - 1u) * size, size);
}

/* Shades of a 2 x 2 square added up; `at` is its upper left pixel. */
DM_FN uint32_t dm_swarm_square(const uint8_t *at)
{
    return (uint32_t)at[0] + at[1] + at[DM_GB_SCREEN_W] + at[DM_GB_SCREEN_W + 1];
}

DM_FN const uint8_t *dm_swarm_square_at(const uint8_t *picture, uint32_t pixel)
{
    uint32_t y = pixel / DM_SWARM_SMALL_W, x = pixel % DM_SWARM_SMALL_W;
    return picture + y * 2u * DM_GB_SCREEN_W + x * 2u;
}

/* The columns of four squares side by side, added up, at most 6 each; `at` is the upper left pixel
 * and, as eight pixels from the left edge are eight bytes, begins a word. */
DM_FN uint64_t dm_swarm_columns(const uint8_t *at)
{
    const uint64_t *upper = (const uint64_t *)(const void *)at;
    const uint64_t *lower = (const uint64_t *)(const void *)(at + DM_GB_SCREEN_W);
    return *upper + *lower;
}

/* Those squares, packed. */
DM_FN uint8_t dm_swarm_pack_squares(uint64_t sums)
{
    const uint64_t bytes = 0x00FF00FF00FF00FFu;
    sums = (sums & bytes) + (sums >> 8 & bytes);
    sums = (sums + 0x0002000200020002u) >> 2 & 0x0003000300030003u;
    return (uint8_t)(sums | sums >> 14 | sums >> 28 | sums >> 42);
}

#if DM_MANY_LANES

/* Sixteen squares in a row, packed, from the shades of two lines: sums bit by bit. */
DM_FN uint32_t dm_swarm_pack_planes(dm_gb_two_planes two)
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
DM_FN_SLOW uint32_t dm_swarm_pack_word(const uint8_t *at)
{
    uint32_t packed = 0;
    for (uint32_t i = 0; i < 4u; i++)
        packed |= (uint32_t)dm_swarm_pack_squares(dm_swarm_columns(at + 8u * i)) << 8u * i;
    return packed;
}

/* Draw the lines of a picture that are kept (gb/simt/render.h), with all lanes of the warp, and if
 * `packed` is not 0 its packed pixels with them. */
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
                *(uint32_t *)(void *)(packed + i * bytes) = dm_swarm_pack_planes(two);
        } else {
            dm_gb_store_logged(out, registers, two);
            if (packed != 0)
                *(uint32_t *)(void *)(packed + i * bytes) = dm_swarm_pack_word(out);
        }
    }
}

#endif

/* Bytes that a lane reads for before it writes them, so that it waits for memory less often. */
#define DM_SWARM_AT_ONCE 5u
DM_STATIC_ASSERT(DM_SWARM_PACKED % (DM_SWARM_AT_ONCE * 32u) == 0, "packed pixels come out even");

/* Were the packed pixels of what is on the screen now made when it was drawn (dm_simt_render)? */
DM_FN bool dm_swarm_packed_already(const dm_swarm_view *view)
{
#if DM_MANY_LANES
    return dm_gb_shows(&view->m->ppu, view->context->complete);
#else
    (void)view;
    return false;
#endif
}

/* One machine's picture into every kind that is wanted, but packed pixels only if `packs`. A blank
 * screen has all pixels 0. */
DM_FN void dm_swarm_picture(const dm_swarm_args *args, uint64_t machine, bool fresh, bool packs)
{
    const dm_gb_ppu *ppu = &dm_swarm_machine(args, machine)->ppu;
    const uint8_t *picture =
        args->frames + machine * DM_SWARM_FRAMES + ppu->front * DM_SWARM_PICTURE;
    bool blank = ppu->blank != 0;
    uint32_t depth = args->stack;
    if (args->shades != 0) {
        uint8_t *stack = args->shades + machine * depth * DM_SWARM_PICTURE;
        uint8_t *out = dm_swarm_push(stack, DM_SWARM_PICTURE, depth);
        if (blank)
            for (uint32_t i = dm_lane(); i < DM_SWARM_PICTURE; i += DM_LANES)
                out[i] = 0;
        else
            dm_warp_copy(out, picture, DM_SWARM_PICTURE);
        if (fresh)
            dm_swarm_fill_stack(stack, DM_SWARM_PICTURE, depth);
    }
    if (args->small != 0) {
        uint8_t *stack = args->small + machine * depth * DM_SWARM_SMALL;
        uint8_t *out = dm_swarm_push(stack, DM_SWARM_SMALL, depth);
        for (uint32_t i = dm_lane(); i < DM_SWARM_SMALL; i += DM_LANES)
            out[i] =
                blank
                    ? (uint8_t)0
                    : (uint8_t)((85u * dm_swarm_square(dm_swarm_square_at(picture, i)) + 2u) / 4u);
        if (fresh)
            dm_swarm_fill_stack(stack, DM_SWARM_SMALL, depth);
    }
    if (packs) {
        uint8_t *stack = args->packed + machine * depth * DM_SWARM_PACKED;
        uint8_t *out = dm_swarm_push(stack, DM_SWARM_PACKED, depth);
        for (uint32_t i = dm_lane(); i < DM_SWARM_PACKED; i += DM_SWARM_AT_ONCE * DM_LANES) {
            uint64_t sums[DM_SWARM_AT_ONCE];
            for (uint32_t k = 0; k < DM_SWARM_AT_ONCE; k++)
                sums[k] = dm_swarm_columns(dm_swarm_square_at(picture, (i + k * DM_LANES) * 4u));
            for (uint32_t k = 0; k < DM_SWARM_AT_ONCE; k++)
                out[i + k * DM_LANES] = blank ? (uint8_t)0 : dm_swarm_pack_squares(sums[k]);
        }
        if (fresh)
            dm_swarm_fill_stack(stack, DM_SWARM_PACKED, depth);
    }
}

/* This lane's memory regions, one after the other. */
DM_FN void dm_swarm_copy_regions(const dm_swarm_args *args, const dm_swarm_view *view)
{
    uint8_t *out = args->regions + view->machine * args->region_bytes;
    for (uint32_t r = 0; r < args->region_count; r++)
        for (uint32_t i = 0; i < args->spans[r].size; i++)
            *out++ = (uint8_t)dm_swarm_peek(view, args->spans[r].address + i);
}

/* Everything but the vector, which is the epilog's. */
DM_FN void dm_swarm_observe_pixels(const dm_swarm_args *args, const dm_simt_slot *slot,
                                   const dm_swarm_view *view, bool fresh)
{
    if (args->regions != 0 && slot->valid)
        dm_swarm_copy_regions(args, view);
    if (args->shades == 0 && args->small == 0 && args->packed == 0)
        return;
    uint32_t lanes = dm_ballot(slot->valid), fresh_lanes = dm_ballot(fresh);
    const bool packs = slot->valid && (fresh || !dm_swarm_packed_already(view));
    const uint32_t pack_lanes = args->packed != 0 ? dm_ballot(packs) : 0u;
    dm_warp_sync();
    for (; lanes != 0; lanes &= lanes - 1u) {
        uint32_t lane = dm_ffs_u32(lanes) - 1u;
        dm_swarm_picture(args, dm_from_lane(slot->machine, lane), ((fresh_lanes >> lane) & 1u) != 0,
                         ((pack_lanes >> lane) & 1u) != 0);
    }
}

#endif
