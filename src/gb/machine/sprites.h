/* SPDX-License-Identifier: MIT */
/* sprites.h - which sprites are on a line; kernel text.
 *
 * Mode 2 looks at the 40 entries of OAM one after the other, two dots each, and keeps the first ten
 * that are on the line. The search is lazy: entries are looked at when the line is drawn or its
 * mode 3 measured, and those that are due before anything changes that the search depends on. */
#ifndef DM_GB_SPRITES_H
#define DM_GB_SPRITES_H

#include "gb/machine/dma.h"

/* The dot at which mode 2 looks at sprite 0 of OAM, and from one to the next. */
#define DM_GB_SCAN_DOT 6u
#define DM_GB_SCAN_STEP 2u
#define DM_GB_SPRITES 40u

DM_FN uint32_t dm_gb_oam_byte(const dm_gb_context *context, uint32_t sprite, uint32_t byte)
{
    return dm_gb_ram_load(context, DM_GB_OAM + sprite * 4u + byte);
}

/* Does OAM DMA keep the PPU from seeing OAM at T-cycle `when`? */
DM_FN bool dm_gb_scan_blocked(const dm_gb_machine *m, uint32_t when)
{
    uint32_t elapsed = dm_gb_dma_elapsed(m, when);
    return m->dma.active != 0 && (elapsed >= 8u || m->dma.restarted) && elapsed < 648u;
}

/* Is any of the 40 sprites on the line? Most lines have none. */
DM_FN bool dm_gb_any_sprite(const dm_gb_context *context, uint32_t bottom, uint32_t height)
{
    uint32_t any = 0;
    /* Two sprites in a word: a GPU pays for each access. */
    for (uint32_t i = 0; i < DM_GB_SPRITES / 2u; i++) {
        const uint64_t word = dm_gb_ram_load64(context, DM_GB_OAM + 8u * i);
        const uint32_t even = (uint32_t)word & 0xFFu, odd = (uint32_t)(word >> 32) & 0xFFu;
        any |= (uint32_t)(bottom - even < height) | (uint32_t)(bottom - odd < height);
    }
    return any != 0;
}

/* Look at the sprites up to number `end` for the first ten on the line, sorted by x (then by
 * number): that is their priority. */
DM_FN_SLOW void dm_gb_scan_sprites(const dm_gb_context *context, dm_gb_ppu *ppu, uint32_t end)
{
    const dm_gb_machine *m = dm_gb_m(context);
    uint32_t height = (ppu->lcdc & 4u) != 0 ? 16u : 8u;
    uint32_t bottom = ppu->line + 16u; /* a sprite's y of this shows its row 0 here */
    uint32_t count = ppu->sprites;
    uint32_t i = ppu->scanned;
    ppu->scanned = (uint8_t)end;
    if (i == 0 && !m->dma.active && !dm_gb_any_sprite(context, bottom, height))
        return;
    for (; i < end && count < 10; i++) {
        if (m->dma.active &&
            dm_gb_scan_blocked(m, ppu->line_start + DM_GB_SCAN_DOT + i * DM_GB_SCAN_STEP))
            continue;
        if (bottom - dm_gb_oam_byte(context, i, 0) >= height)
            continue;
        uint32_t x = dm_gb_oam_byte(context, i, 1);
        uint32_t at = count++;
        for (; at > 0 && ppu->sprite_x[at - 1] > x; at--) {
            ppu->sprite[at] = ppu->sprite[at - 1];
            ppu->sprite_x[at] = ppu->sprite_x[at - 1];
            ppu->sprite_y[at] = ppu->sprite_y[at - 1];
        }
        ppu->sprite[at] = (uint8_t)i;
        ppu->sprite_x[at] = (uint8_t)x;
        ppu->sprite_y[at] = (uint8_t)dm_gb_oam_byte(context, i, 0);
    }
    ppu->sprites = (uint8_t)count;
}

/* The same for the present line. */
DM_FN void dm_gb_scan_line(dm_gb_context *context, uint32_t end)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    const bool whole = ppu->scanned == 0 && end == DM_GB_SPRITES && !dm_gb_m(context)->dma.active;
    dm_gb_scanned_for(context, !whole ? 0u : (ppu->lcdc & 4u) != 0 ? 16u : 8u);
    dm_gb_scan_sprites(context, &dm_gb_m(context)->ppu, end);
}

/* Before something changes at T-cycle `when` that the search for sprites depends on: look at those
 * whose two dots came before it. */
DM_FN void dm_gb_scan_until(dm_gb_context *context, uint32_t when)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    uint32_t dot = when - ppu->line_start;
    if ((ppu->lcdc & 0x80u) == 0 || ppu->line >= DM_GB_SCREEN_H || ppu->scanned == DM_GB_SPRITES ||
        dot <= DM_GB_SCAN_DOT)
        return;
    uint32_t end = (dot - DM_GB_SCAN_DOT + DM_GB_SCAN_STEP - 1u) / DM_GB_SCAN_STEP;
    if (end > ppu->scanned)
        dm_gb_scan_line(context, end < DM_GB_SPRITES ? end : DM_GB_SPRITES);
}

DM_FN uint32_t dm_gb_sprite_count(dm_gb_context *context)
{
    if (dm_gb_m(context)->ppu.scanned < DM_GB_SPRITES)
        dm_gb_scan_line(context, DM_GB_SPRITES);
    return dm_gb_m(context)->ppu.sprites;
}

#endif
