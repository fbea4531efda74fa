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
/* The dot at which mode 2 looks at sprite 0 of OAM, and from one to the next. */
#define DM_GB_SCAN_DOT 6u
#define DM_GB_SCAN_STEP 2u
#define DM_GB_SPRITES 40u
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

/* T-cycles that the present OAM DMA has run by `now`; it stands still from the second M-cycle of a
 * HALT on. */
DM_FN uint32_t dm_gb_dma_elapsed(const dm_gb_machine *m, uint32_t now)
{
    uint32_t still = m->cpu.halted_at + 4u;
    if (m->cpu.mode == DM_GB_HALTED && dm_gb_before(still, now))
        now = still;
    return now - m->dma.start;
}

/* Does OAM DMA keep the PPU from seeing OAM at T-cycle `when`? */
DM_FN bool dm_gb_scan_blocked(const dm_gb_machine *m, uint32_t when)
{
    uint32_t elapsed = dm_gb_dma_elapsed(m, when);
    return m->dma.active != 0 && (elapsed >= 8u || m->dma.restarted) && elapsed < 648u;
}

/* Is any of the 40 sprites on the line? Most lines have none. */
DM_FN bool dm_gb_any_sprite(const dm_gb_lane *lane, uint32_t bottom, uint32_t height)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < DM_GB_SPRITES; i++)
        any |= (uint32_t)(bottom - dm_gb_oam_byte(lane, i, 0) < height);
    return any != 0;
}

/* Look at the sprites up to number `end` for the first ten on the line, sorted by x (then by
 * number): that is their priority. */
DM_FN_SLOW void dm_gb_scan_sprites(dm_gb_lane *lane, uint32_t end)
{
    dm_gb_machine *m = lane->m;
    dm_gb_ppu *ppu = &m->ppu;
    uint32_t height = (ppu->lcdc & 4u) != 0 ? 16u : 8u;
    uint32_t bottom = ppu->line + 16u; /* a sprite's y of this shows its row 0 here */
    uint32_t count = ppu->sprites;
    uint32_t i = ppu->scanned;
    ppu->scanned = (uint8_t)end;
    if (i == 0 && !m->dma.active && !dm_gb_any_sprite(lane, bottom, height))
        return;
    for (; i < end && count < 10; i++) {
        if (m->dma.active &&
            dm_gb_scan_blocked(m, ppu->line_start + DM_GB_SCAN_DOT + i * DM_GB_SCAN_STEP))
            continue;
        if (bottom - dm_gb_oam_byte(lane, i, 0) >= height)
            continue;
        uint32_t x = dm_gb_oam_byte(lane, i, 1);
        uint32_t at = count++;
        for (; at > 0 && dm_gb_oam_byte(lane, ppu->sprite[at - 1], 1) > x; at--)
            ppu->sprite[at] = ppu->sprite[at - 1];
        ppu->sprite[at] = (uint8_t)i;
    }
    ppu->sprites = (uint8_t)count;
}

/* Before something changes at T-cycle `when` that the search for sprites depends on: look at those
 * whose turn was earlier. */
DM_FN void dm_gb_scan_until(dm_gb_lane *lane, uint32_t when)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    uint32_t dot = when - ppu->line_start;
    if ((ppu->lcdc & 0x80u) == 0 || ppu->line >= DM_GB_SCREEN_H || ppu->scanned == DM_GB_SPRITES ||
        dot <= DM_GB_SCAN_DOT)
        return;
    uint32_t end = (dot - DM_GB_SCAN_DOT + DM_GB_SCAN_STEP - 1u) / DM_GB_SCAN_STEP;
    if (end > ppu->scanned)
        dm_gb_scan_sprites(lane, end < DM_GB_SPRITES ? end : DM_GB_SPRITES);
}

DM_FN uint32_t dm_gb_sprite_count(dm_gb_lane *lane)
{
    if (lane->m->ppu.scanned < DM_GB_SPRITES)
        dm_gb_scan_sprites(lane, DM_GB_SPRITES);
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

/* ---- Spans ----
 * Eight pixels at a time, one per byte of a 64-bit word, the leftmost in the lowest byte. A line is
 * put together in a buffer with eight bytes to spare on either side, so that whole tiles can be
 * stored. tests/gb/test_draw.c has the same picture pixel by pixel. */

#define DM_GB_ONES 0x0101010101010101u
#define DM_GB_MARGIN 8u

typedef struct dm_gb_line {
    uint8_t shade[DM_GB_SCREEN_W + 2u * DM_GB_MARGIN];
    uint8_t
        opaque[DM_GB_SCREEN_W + 2u * DM_GB_MARGIN];    /* FF where the background is not colour 0 */
    uint8_t taken[DM_GB_SCREEN_W + 2u * DM_GB_MARGIN]; /* FF where a sprite has been */
} dm_gb_line;

#if DM_GB_GPU_FORM
/* One bit plane of a tile row: byte i is bit 7 - i. */
DM_FN uint64_t dm_gb_spread(uint32_t plane)
{
    /* Multiplying puts a copy of the plane under every byte, the mask keeps one bit of each, and
     * the sum carries it to bit 7. */
    uint64_t bits = ((uint64_t)plane * DM_GB_ONES) & 0x0102040810204080u;
    return ((bits + 0x7F7E7C7870604000u) >> 7) & DM_GB_ONES;
}
#else
#define DM_GB_SPREAD_1(n)                                                                          \
    ((((n) >> 7) & 1ull) | (((n) >> 6) & 1ull) << 8 | (((n) >> 5) & 1ull) << 16 |                  \
     (((n) >> 4) & 1ull) << 24 | (((n) >> 3) & 1ull) << 32 | (((n) >> 2) & 1ull) << 40 |           \
     (((n) >> 1) & 1ull) << 48 | ((n)&1ull) << 56)
#define DM_GB_SPREAD_4(n)                                                                          \
    DM_GB_SPREAD_1(n), DM_GB_SPREAD_1((n) + 1), DM_GB_SPREAD_1((n) + 2), DM_GB_SPREAD_1((n) + 3)
#define DM_GB_SPREAD_16(n)                                                                         \
    DM_GB_SPREAD_4(n), DM_GB_SPREAD_4((n) + 4), DM_GB_SPREAD_4((n) + 8), DM_GB_SPREAD_4((n) + 12)
#define DM_GB_SPREAD_64(n)                                                                         \
    DM_GB_SPREAD_16(n), DM_GB_SPREAD_16((n) + 16), DM_GB_SPREAD_16((n) + 32),                      \
        DM_GB_SPREAD_16((n) + 48)
static const uint64_t dm_gb_spread_table[256] = {DM_GB_SPREAD_64(0), DM_GB_SPREAD_64(64),
                                                 DM_GB_SPREAD_64(128), DM_GB_SPREAD_64(192)};

/* One bit plane of a tile row: byte i is bit 7 - i. */
DM_FN uint64_t dm_gb_spread(uint32_t plane)
{
    return dm_gb_spread_table[plane];
}
#endif

/* A palette as the coefficients of shade = base + low * l + high * h + both * (l & h), which holds
 * for each byte alone and so for eight of them in one word, modulo 2^64. */
typedef struct dm_gb_palette {
    uint64_t base, low, high, both;
} dm_gb_palette;

DM_FN dm_gb_palette dm_gb_palette_of(uint32_t reg)
{
    uint64_t p0 = reg & 3u, p1 = (reg >> 2) & 3u, p2 = (reg >> 4) & 3u, p3 = (reg >> 6) & 3u;
    dm_gb_palette palette;
    palette.base = p0 * DM_GB_ONES;
    palette.low = p1 - p0;
    palette.high = p2 - p0;
    palette.both = p3 - p2 - p1 + p0;
    return palette;
}

DM_FN uint64_t dm_gb_shades(const dm_gb_palette *palette, uint64_t low, uint64_t high)
{
    return palette->base + low * palette->low + high * palette->high + (low & high) * palette->both;
}

/* Tiles of a map under pixels x0..x1-1: pixel x shows map column x + shift. Whole tiles are stored,
 * so up to seven bytes on either side change too. */
DM_FN void dm_gb_map_span(const dm_gb_lane *lane, dm_gb_line *line, uint32_t x0, uint32_t x1,
                          uint32_t map, uint32_t shift, uint32_t y, bool sprites)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    const dm_gb_palette palette = dm_gb_palette_of(ppu->bgp);
    uint32_t map_row = DM_GB_VRAM + map + ((y >> 3) & 31u) * 32u;
    /* Tile numbers are signed around 9000 when LCDC bit 4 is off. */
    uint32_t flip = (ppu->lcdc & 0x10u) != 0 ? 0u : 0x80u;
    uint32_t data_row = DM_GB_VRAM + (flip != 0 ? 0x800u : 0u) + (y & 7u) * 2u;
    uint32_t column = (x0 + shift) >> 3;
    uint32_t end = x1 + DM_GB_MARGIN;
    for (uint32_t at = x0 + DM_GB_MARGIN - ((x0 + shift) & 7u); at < end; at += 8u) {
        uint32_t tile = dm_gb_ram_load(lane, map_row + (column++ & 31u)) ^ flip;
        uint32_t data = data_row + tile * 16u;
        uint64_t low = dm_gb_spread(dm_gb_ram_load(lane, data));
        uint64_t high = dm_gb_spread(dm_gb_ram_load(lane, data + 1u));
        dm_store_u64(line->shade + at, dm_gb_shades(&palette, low, high));
        if (sprites)
            dm_store_u64(line->opaque + at, (low | high) * 0xFFu);
    }
}

/* Lay the line's sprites over it, those of higher priority first. */
DM_FN void dm_gb_sprite_span(dm_gb_lane *lane, dm_gb_line *line)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    uint32_t height = (ppu->lcdc & 4u) != 0 ? 16u : 8u;
    for (uint32_t i = 0; i < sizeof line->taken; i += 8u)
        dm_store_u64(line->taken + i, 0);
    for (uint32_t i = 0; i < ppu->sprites; i++) {
        uint32_t sprite = ppu->sprite[i];
        uint32_t left = dm_gb_oam_byte(lane, sprite, 1);
        if (left >= DM_GB_SCREEN_W + DM_GB_MARGIN)
            continue;
        uint32_t attributes = dm_gb_oam_byte(lane, sprite, 3);
        uint32_t row = (ppu->line + 16u - dm_gb_oam_byte(lane, sprite, 0)) & (height - 1u);
        if ((attributes & 0x40u) != 0)
            row = height - 1u - row;
        uint32_t tile = dm_gb_oam_byte(lane, sprite, 2) & (height == 16u ? 0xFEu : 0xFFu);
        uint32_t data = DM_GB_VRAM + tile * 16u + row * 2u;
        uint64_t low = dm_gb_spread(dm_gb_ram_load(lane, data));
        uint64_t high = dm_gb_spread(dm_gb_ram_load(lane, data + 1u));
        if ((attributes & 0x20u) != 0) {
            low = dm_bswap_u64(low);
            high = dm_bswap_u64(high);
        }
        dm_gb_palette palette = dm_gb_palette_of((attributes & 0x10u) != 0 ? ppu->obp1 : ppu->obp0);
        /* OAM's x is the screen's plus 8, which is the margin. A sprite that lies behind the
         * background still hides the ones after it. */
        uint64_t mask = (low | high) * 0xFFu & ~dm_load_u64(line->taken + left);
        dm_store_u64(line->taken + left, dm_load_u64(line->taken + left) | mask);
        if ((attributes & 0x80u) != 0)
            mask &= ~dm_load_u64(line->opaque + left);
        uint64_t under = dm_load_u64(line->shade + left);
        uint64_t over = dm_gb_shades(&palette, low, high);
        dm_store_u64(line->shade + left, (under & ~mask) | (over & mask));
    }
}

/* Draw pixels ppu.drawn..end-1 of the present line with the registers as they are. */
DM_FN_SLOW void dm_gb_draw_span(dm_gb_lane *lane, uint32_t end)
{
    dm_gb_ppu *ppu = &lane->m->ppu;
    uint32_t begin = ppu->drawn;
    bool sprites = (ppu->lcdc & 2u) != 0 && dm_gb_sprite_count(lane) != 0;
    dm_gb_line line;
    if ((ppu->lcdc & 1u) != 0) {
        uint32_t window_x = end;
        if (dm_gb_window_shown(ppu)) {
            uint32_t wx = ppu->wx < 7u ? 0u : ppu->wx - 7u;
            window_x = wx < begin ? begin : wx < end ? wx : end;
        }
        if (begin < window_x)
            dm_gb_map_span(lane, &line, begin, window_x, (ppu->lcdc & 8u) != 0 ? 0x1C00u : 0x1800u,
                           ppu->scx, ppu->line + (uint32_t)ppu->scy, sprites);
        if (window_x < end)
            dm_gb_map_span(lane, &line, window_x, end, (ppu->lcdc & 0x40u) != 0 ? 0x1C00u : 0x1800u,
                           256u + 7u - ppu->wx, ppu->window_line, sprites);
    } else {
        /* Without background everything is colour 0. */
        for (uint32_t i = 0; i < sizeof line.shade; i += 8u) {
            dm_store_u64(line.shade + i, (ppu->bgp & 3u) * DM_GB_ONES);
            dm_store_u64(line.opaque + i, 0);
        }
    }
    if (sprites)
        dm_gb_sprite_span(lane, &line);
    uint8_t *out = dm_gb_back_line(lane);
    for (uint32_t x = begin; x < end; x++)
        out[x] = line.shade[x + DM_GB_MARGIN];
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
