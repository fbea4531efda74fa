/* SPDX-License-Identifier: MIT */
/* pixels.h - pictures and memory regions as observations; kernel text.
 *
 * The picture is the one on the screen when the step ends. Stacks hold the last k, newest last;
 * after a reset all k are the picture of the snapshot. At half size (gb/half_size.h) pixels are packed, or bytes: of
 * the sum s of the four shades of a square, (85 s + 2) / 4, rounded down, 0 to 255.
 *
 * All lanes of a warp work on one picture together, machine after machine. */
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

/* Bytes that a lane reads for before it writes them, so that it waits for memory less often. */
#define DM_SWARM_AT_ONCE 5u
DM_STATIC_ASSERT(DM_SWARM_PACKED % (DM_SWARM_AT_ONCE * 32u) == 0, "packed pixels come out even");

/* One machine's picture into every kind that is wanted, but packed pixels only if `packs`. A blank
 * screen has all pixels 0. */
DM_FN void dm_swarm_picture(const dm_swarm_args *args, uint64_t machine, bool fresh, bool packs)
{
    const dm_gb_ppu *ppu = &dm_gb_batch_machine(&args->batch, machine)->ppu;
    const uint8_t *picture =
        args->batch.frames + machine * DM_GB_FRAMES_SIZE + ppu->front * DM_SWARM_PICTURE;
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
            out[i] = blank ? (uint8_t)0
                           : (uint8_t)((85u * dm_gb_square(dm_gb_square_at(picture, i)) + 2u) / 4u);
        if (fresh)
            dm_swarm_fill_stack(stack, DM_SWARM_SMALL, depth);
    }
    if (packs) {
        uint8_t *stack = args->packed + machine * depth * DM_SWARM_PACKED;
        uint8_t *out = dm_swarm_push(stack, DM_SWARM_PACKED, depth);
        for (uint32_t i = dm_lane(); i < DM_SWARM_PACKED; i += DM_SWARM_AT_ONCE * DM_LANES) {
            uint64_t sums[DM_SWARM_AT_ONCE];
            for (uint32_t k = 0; k < DM_SWARM_AT_ONCE; k++)
                sums[k] = dm_gb_columns(dm_gb_square_at(picture, (i + k * DM_LANES) * 4u));
            for (uint32_t k = 0; k < DM_SWARM_AT_ONCE; k++)
                out[i + k * DM_LANES] = blank ? (uint8_t)0 : dm_gb_pack_squares(sums[k]);
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
    const bool packs = slot->valid && (fresh || !dm_simt_packed(view->context, view->m));
    const uint32_t pack_lanes = args->packed != 0 ? dm_ballot(packs) : 0u;
    dm_warp_sync();
    for (; lanes != 0; lanes &= lanes - 1u) {
        uint32_t lane = dm_ffs_u32(lanes) - 1u;
        dm_swarm_picture(args, dm_from_lane(slot->machine, lane), ((fresh_lanes >> lane) & 1u) != 0,
                         ((pack_lanes >> lane) & 1u) != 0);
    }
}

#endif
