/* SPDX-License-Identifier: MIT */
/* draw.h - pixels: sprites of a line, the length of mode 3, background, window; kernel text.
 *
 * A line is drawn in spans. Before anything that shows changes (a register, VRAM, OAM), the line is
 * drawn up to the pixel that the hardware has reached by then; what is left is drawn when the line
 * ends. A line that nobody disturbs is one span of 160 pixels.
 *
 * Pixel x leaves at dot 97 + SCX mod 8 + x plus the delays of window and sprites to its left. */
#ifndef DM_GB_DRAW_H
#define DM_GB_DRAW_H

#include "gb/memory.h"

#define DM_GB_FIRST_PIXEL_DOT 97u
#define DM_GB_MODE0_BASE 256u
/* No line is longer: 7 for SCX, 7 for the window, 11 for each of ten sprites, 2 on the first line.
 */
#define DM_GB_MODE0_LATEST (DM_GB_MODE0_BASE + 7u + 7u + 110u + 2u)

DM_FN uint8_t *dm_gb_back_line(const dm_gb_lane *lane)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    return lane->frames + (ppu->front ^ 1u) * (DM_GB_SCREEN_W * DM_GB_SCREEN_H) +
           (uint32_t)ppu->line * DM_GB_SCREEN_W;
}

/* ---- Sprites ---- */

DM_FN uint32_t dm_gb_oam_byte(const dm_gb_lane *lane, uint32_t sprite, uint32_t byte)
{
    return dm_gb_ram_load(lane, DM_GB_OAM + sprite * 4u + byte);
}

/* Does OAM DMA keep the PPU from seeing OAM while it looks for this line's sprites? */
DM_FN bool dm_gb_scan_blocked(const dm_gb_machine *m)
{
    uint32_t middle = m->ppu.line_start + 44u;
    return m->dma.active != 0 && middle - m->dma.start < 648u;
}

/* Find the first ten sprites on the line, sorted by x (then by number): that is their priority. */
DM_FN_SLOW void dm_gb_scan_sprites(dm_gb_lane *lane)
{
    dm_gb_ppu *ppu = &lane->m->ppu;
    uint32_t height = (ppu->lcdc & 4u) != 0 ? 16u : 8u;
    uint32_t count = 0;
    uint8_t xs[10];
    if (!dm_gb_scan_blocked(lane->m)) {
        for (uint32_t i = 0; i < 40 && count < 10; i++) {
            uint32_t row = ppu->line + 16u - dm_gb_oam_byte(lane, i, 0);
            if (row >= height)
                continue;
            uint32_t x = dm_gb_oam_byte(lane, i, 1);
            uint32_t at = count++;
            for (; at > 0 && xs[at - 1] > x; at--) {
                xs[at] = xs[at - 1];
                ppu->sprite[at] = ppu->sprite[at - 1];
            }
            xs[at] = (uint8_t)x;
            ppu->sprite[at] = (uint8_t)i;
        }
    }
    ppu->sprites = (uint8_t)count;
}

DM_FN uint32_t dm_gb_sprite_count(dm_gb_lane *lane)
{
    if (lane->m->ppu.sprites == DM_GB_NONE)
        dm_gb_scan_sprites(lane);
    return lane->m->ppu.sprites;
}

/* ---- The length of mode 3 ---- */

DM_FN bool dm_gb_window_shown(const dm_gb_ppu *ppu)
{
    return ppu->window_on && (ppu->lcdc & 0x20u) != 0 && ppu->wx <= 166u;
}

/* Delays that happen before pixel `x` leaves: 6 for the window, and for each sprite the fetch (6)
 * and the wait for the background fetch under it, which sprites over the same tile share. */
DM_FN_SLOW uint32_t dm_gb_delays(dm_gb_lane *lane, uint32_t x)
{
    dm_gb_ppu *ppu = &lane->m->ppu;
    uint32_t delay = 0;
    uint32_t window_x = DM_GB_SCREEN_W;
    if (dm_gb_window_shown(ppu)) {
        window_x = ppu->wx < 7u ? 0u : ppu->wx - 7u;
        if (x >= window_x)
            delay += 6u + (ppu->wx == 0 && (ppu->scx & 7u) != 0 ? 1u : 0u);
    }
    if ((ppu->lcdc & 2u) == 0)
        return delay;
    uint32_t count = dm_gb_sprite_count(lane);
    uint32_t last_tile = 0xFFFFu;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sprite_x = dm_gb_oam_byte(lane, ppu->sprite[i], 1);
        if (sprite_x >= 168u || (sprite_x >= 8u && sprite_x - 8u > x))
            break;
        /* The background column under the sprite's left edge; the window starts its own count. */
        bool in_window = sprite_x >= window_x + 8u;
        uint32_t column = in_window ? sprite_x + 255u - ppu->wx : sprite_x + (ppu->scx & 7u);
        uint32_t tile = (column >> 3) + (in_window ? 0x100u : 0u);
        delay += 6u;
        if (tile != last_tile) {
            uint32_t wait = sprite_x == 0 ? 0u : column & 7u;
            delay += wait < 5u ? 5u - wait : 0u;
            last_tile = tile;
        }
    }
    return delay;
}

/* The dot at which mode 3 of this line ends. Only asked from dot 84 on. */
DM_FN uint32_t dm_gb_mode0_dot(dm_gb_lane *lane)
{
    dm_gb_ppu *ppu = &lane->m->ppu;
    if (ppu->mode0_dot == 0) {
        uint32_t dot = DM_GB_MODE0_BASE + (ppu->scx & 7u) + (ppu->first_line ? 2u : 0u);
        if (ppu->window_on || (ppu->lcdc & 2u) != 0)
            dot += dm_gb_delays(lane, DM_GB_SCREEN_W - 1u);
        ppu->mode0_dot = (uint16_t)dot;
    }
    return ppu->mode0_dot;
}

/* How many pixels have left before dot `dot` of the line. */
DM_FN_SLOW uint32_t dm_gb_pixels_before(dm_gb_lane *lane, uint32_t dot)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    uint32_t first = DM_GB_FIRST_PIXEL_DOT + (ppu->scx & 7u) + (ppu->first_line ? 2u : 0u);
    if (dot <= first)
        return 0;
    if (dot > dm_gb_mode0_dot(lane))
        return DM_GB_SCREEN_W;
    uint32_t x = dot - first;
    if (x > DM_GB_SCREEN_W)
        x = DM_GB_SCREEN_W;
    if (!ppu->window_on && (ppu->lcdc & 2u) == 0)
        return x;
    /* The pixel that leaves at dot - 1 is the last x with first + delays(x) + x < dot. */
    while (x > 0 && first + dm_gb_delays(lane, x - 1u) + x - 1u >= dot)
        x--;
    return x;
}

/* ---- Spans ---- */

/* The eight colour numbers of a tile row, one per byte, leftmost pixel in the lowest byte. */
DM_FN uint64_t dm_gb_spread(uint32_t low, uint32_t high)
{
    /* Bit 7 of a plane goes to byte 0, bit 0 to byte 7: multiply puts a copy of the plane under
     * every byte, the mask keeps one bit of each. */
    uint64_t a = (((uint64_t)low * 0x0101010101010101u) & 0x0102040810204080u);
    uint64_t b = (((uint64_t)high * 0x0101010101010101u) & 0x0102040810204080u);
    a = ((a + 0x7F7E7C7870604000u) >> 7) & 0x0101010101010101u;
    b = ((b + 0x7F7E7C7870604000u) >> 6) & 0x0202020202020202u;
    return a | b;
}

/* Offset in VRAM of row `row` of tile `tile` as the background names tiles. */
DM_FN uint32_t dm_gb_tile_row(const dm_gb_ppu *ppu, uint32_t tile, uint32_t row)
{
    uint32_t base = (ppu->lcdc & 0x10u) != 0 || tile >= 0x80u ? 0u : 0x1000u;
    return DM_GB_VRAM + base + tile * 16u + row * 2u;
}

/* Colour numbers of pixels x0..x1-1 of a tile map: pixel x shows map column x + shift. Up to seven
 * bytes past x1 are written too. */
DM_FN void dm_gb_map_span(const dm_gb_lane *lane, uint8_t *out, uint32_t x0, uint32_t x1,
                          uint32_t map, uint32_t shift, uint32_t y)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    uint32_t map_row = DM_GB_VRAM + map + ((y >> 3) & 31u) * 32u;
    uint32_t row = y & 7u;
    for (uint32_t x = x0; x < x1;) {
        uint32_t column = x + shift;
        uint32_t tile = dm_gb_ram_load(lane, map_row + ((column >> 3) & 31u));
        uint32_t data = dm_gb_tile_row(ppu, tile, row);
        uint64_t pixels = dm_gb_spread(dm_gb_ram_load(lane, data), dm_gb_ram_load(lane, data + 1u));
        pixels >>= (column & 7u) * 8u;
        /* Bytes past the tile's last pixel are overwritten by the next tile, or lie past x1. */
        for (uint32_t i = 0; i < 8; i++)
            out[x + i] = (uint8_t)(pixels >> (8u * i));
        x += 8u - (column & 7u);
    }
}

/* Overlay the line's sprites on the colour numbers x0..x1-1 in `colours`, giving shades in `out`.
 */
DM_FN void dm_gb_sprite_span(dm_gb_lane *lane, const uint8_t *colours, uint8_t *out, uint32_t x0,
                             uint32_t x1)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    uint32_t count = dm_gb_sprite_count(lane);
    uint32_t height = (ppu->lcdc & 4u) != 0 ? 16u : 8u;
    uint32_t taken[DM_GB_SCREEN_W / 32];
    for (uint32_t i = 0; i < DM_GB_SCREEN_W / 32; i++)
        taken[i] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sprite = ppu->sprite[i];
        uint32_t left = dm_gb_oam_byte(lane, sprite, 1);
        if (left == 0 || left >= 168u || left <= x0 || left >= x1 + 8u)
            continue;
        uint32_t attributes = dm_gb_oam_byte(lane, sprite, 3);
        uint32_t row = (ppu->line + 16u - dm_gb_oam_byte(lane, sprite, 0)) & (height - 1u);
        if ((attributes & 0x40u) != 0)
            row = height - 1u - row;
        uint32_t tile = dm_gb_oam_byte(lane, sprite, 2);
        if (height == 16u)
            tile &= 0xFEu;
        uint32_t data = DM_GB_VRAM + tile * 16u + row * 2u;
        uint64_t pixels = dm_gb_spread(dm_gb_ram_load(lane, data), dm_gb_ram_load(lane, data + 1u));
        if (pixels == 0)
            continue;
        uint32_t palette = (attributes & 0x10u) != 0 ? ppu->obp1 : ppu->obp0;
        for (uint32_t k = 0; k < 8; k++) {
            uint32_t x = left - 8u + k; /* wraps below zero, then fails the test */
            uint32_t from = (attributes & 0x20u) != 0 ? 7u - k : k;
            uint32_t colour = (uint32_t)(pixels >> (8u * from)) & 3u;
            if (colour == 0 || x < x0 || x >= x1 || ((taken[x >> 5] >> (x & 31u)) & 1u) != 0)
                continue;
            taken[x >> 5] |= 1u << (x & 31u);
            if ((attributes & 0x80u) == 0 || colours[x] == 0)
                out[x] = (uint8_t)((palette >> (2u * colour)) & 3u);
        }
    }
}

/* Draw pixels ppu.drawn..end-1 of the present line with the registers as they are. */
DM_FN_SLOW void dm_gb_draw_span(dm_gb_lane *lane, uint32_t end)
{
    dm_gb_ppu *ppu = &lane->m->ppu;
    uint32_t begin = ppu->drawn;
    uint8_t *out = dm_gb_back_line(lane);
    uint8_t colours[DM_GB_SCREEN_W + 8];
    if ((ppu->lcdc & 1u) != 0) {
        uint32_t window_x = end;
        if (dm_gb_window_shown(ppu)) {
            uint32_t wx = ppu->wx < 7u ? 0u : ppu->wx - 7u;
            window_x = wx < begin ? begin : wx < end ? wx : end;
        }
        if (begin < window_x)
            dm_gb_map_span(lane, colours, begin, window_x,
                           (ppu->lcdc & 8u) != 0 ? 0x1C00u : 0x1800u, ppu->scx,
                           ppu->line + (uint32_t)ppu->scy);
        if (window_x < end)
            dm_gb_map_span(lane, colours, window_x, end,
                           (ppu->lcdc & 0x40u) != 0 ? 0x1C00u : 0x1800u, 256u + 7u - ppu->wx,
                           ppu->window_line);
        uint32_t palette = ppu->bgp;
        for (uint32_t x = begin; x < end; x++)
            out[x] = (uint8_t)((palette >> (2u * colours[x])) & 3u);
    } else {
        /* Without background everything is colour 0, shade 0 of the palette. */
        for (uint32_t x = begin; x < end; x++) {
            colours[x] = 0;
            out[x] = (uint8_t)(ppu->bgp & 3u);
        }
    }
    if ((ppu->lcdc & 2u) != 0)
        dm_gb_sprite_span(lane, colours, out, begin, end);
    ppu->drawn = (uint8_t)end;
}

/* Before VRAM, OAM or a palette changes at T-cycle `when`: draw what has left already. */
DM_FN void dm_gb_draw_until(dm_gb_lane *lane, uint32_t when)
{
    dm_gb_ppu *ppu = &lane->m->ppu;
    if (!ppu->drawing || ppu->line >= DM_GB_SCREEN_H || ppu->drawn == DM_GB_SCREEN_W)
        return;
    uint32_t dot = when - ppu->line_start;
    if (dot <= 84u || dot > DM_GB_LINE_CYCLES)
        return;
    uint32_t end = dm_gb_pixels_before(lane, dot);
    if (end > ppu->drawn)
        dm_gb_draw_span(lane, end);
}

/* Before something changes that also decides the length of mode 3 or the use of the window: settle
 * those, so that the outcome does not depend on whether anybody draws. */
DM_FN void dm_gb_draw_settle(dm_gb_lane *lane, uint32_t when)
{
    dm_gb_ppu *ppu = &lane->m->ppu;
    uint32_t dot = when - ppu->line_start;
    if ((ppu->lcdc & 0x80u) == 0 || ppu->line >= DM_GB_SCREEN_H || dot <= 84u)
        return;
    dm_gb_mode0_dot(lane);
    uint32_t pixels = dm_gb_pixels_before(lane, dot);
    if (ppu->window_used == DM_GB_WINDOW_OPEN) {
        if (dm_gb_window_shown(ppu) && pixels + 7u > ppu->wx)
            ppu->window_used = DM_GB_WINDOW_USED;
        else if (pixels >= DM_GB_SCREEN_W)
            ppu->window_used = DM_GB_WINDOW_UNUSED;
    }
    dm_gb_draw_until(lane, when);
}

/* The line is over: draw the rest, count the window's lines. A window switched on in HBlank was not
 * shown on that line and does not count (roms/micro/PPU_WINDOW). */
DM_FN void dm_gb_draw_finish_line(dm_gb_lane *lane)
{
    dm_gb_ppu *ppu = &lane->m->ppu;
    if (ppu->drawing && ppu->drawn < DM_GB_SCREEN_W)
        dm_gb_draw_span(lane, DM_GB_SCREEN_W);
    if (ppu->window_used == DM_GB_WINDOW_USED ||
        (ppu->window_used == DM_GB_WINDOW_OPEN && dm_gb_window_shown(ppu)))
        ppu->window_line++;
}

#endif
