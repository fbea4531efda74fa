/* SPDX-License-Identifier: MIT */
/* spans.h - a CPU draws a line when it ends, in spans of eight pixels; kernel text.
 *
 * Eight pixels are the bytes of a 64-bit word, the leftmost in the lowest byte. A line is put together in a buffer with
 * eight bytes to spare on either side, so that whole tiles can be stored. (simt/render_words.h draws on a GPU.)
 * tests/gb/test_draw.c compares with a plain renderer that goes pixel by pixel. */
#ifndef DM_GB_CPU_SPANS_H
#define DM_GB_CPU_SPANS_H

#include "gb/machine/draw.h"

#define DM_GB_ONES 0x0101010101010101u

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

DM_FN uint64_t dm_gb_shades(const dm_gb_palette *palette, uint64_t low, uint64_t high)
{
    return palette->base + low * palette->low + high * palette->high + (low & high) * palette->both;
}

/* Where the rows of a map's tiles lie that line `y` of the map shows. */
typedef struct dm_gb_tiles {
    uint32_t map_row, data_row, flip;
} dm_gb_tiles;

DM_FN dm_gb_tiles dm_gb_tiles_of(const dm_gb_ppu *ppu, uint32_t map, uint32_t y)
{
    dm_gb_tiles tiles;
    /* Tile numbers are signed around 9000 when LCDC bit 4 is off. */
    tiles.flip = (ppu->lcdc & 0x10u) != 0 ? 0u : 0x80u;
    tiles.map_row = DM_GB_VRAM + map + ((y >> 3) & 31u) * 32u;
    tiles.data_row = DM_GB_VRAM + (tiles.flip != 0 ? 0x800u : 0u) + (y & 7u) * 2u;
    return tiles;
}

/* The two planes of the tile row in a column. */
DM_FN uint32_t dm_gb_tile_data(const uint8_t *ram, const dm_gb_tiles *tiles, uint32_t column)
{
    uint32_t tile = (uint32_t)ram[tiles->map_row + (column & 31u)] ^ tiles->flip;
    return tiles->data_row + tile * 16u;
}

/* Those of the row that a sprite of this line shows; `i` counts the line's sprites. */
DM_FN uint32_t dm_gb_sprite_data(const dm_gb_context *context, const dm_gb_ppu *ppu, uint32_t i,
                                 uint32_t attributes)
{
    const uint32_t height = (ppu->lcdc & 4u) != 0 ? 16u : 8u;
    uint32_t row = (ppu->line + 16u - ppu->sprite_y[i]) & (height - 1u);
    if ((attributes & 0x40u) != 0)
        row = height - 1u - row;
    uint32_t tile = dm_gb_oam_byte(context, ppu->sprite[i], 2) & (height == 16u ? 0xFEu : 0xFFu);
    return DM_GB_VRAM + tile * 16u + row * 2u;
}

/* The first pixel of the window, or 160. */
DM_FN uint32_t dm_gb_window_left(const dm_gb_ppu *ppu)
{
    if (!dm_gb_window_shown(ppu))
        return DM_GB_SCREEN_W;
    return ppu->wx < 7u ? 0u : ppu->wx - 7u;
}

#define DM_GB_MARGIN 8u

typedef struct dm_gb_canvas {
    uint8_t shade[DM_GB_SCREEN_W + 2u * DM_GB_MARGIN];
    uint8_t
        opaque[DM_GB_SCREEN_W + 2u * DM_GB_MARGIN];    /* FF where the background is not colour 0 */
    uint8_t taken[DM_GB_SCREEN_W + 2u * DM_GB_MARGIN]; /* FF where a sprite has been */
} dm_gb_canvas;

/* Tiles of a map under pixels x0..x1-1: pixel x shows map column x + shift. Whole tiles are stored,
 * so up to seven bytes on either side change too. */
DM_FN void dm_gb_canvas_map(const dm_gb_context *context, const dm_gb_ppu *ppu, dm_gb_canvas *line,
                            uint32_t x0, uint32_t x1, const dm_gb_tiles *tiles, uint32_t shift,
                            bool sprites)
{
    const dm_gb_palette palette = dm_gb_palette_of(ppu->bgp);
    uint32_t column = (x0 + shift) >> 3;
    uint32_t end = x1 + DM_GB_MARGIN;
    for (uint32_t at = x0 + DM_GB_MARGIN - ((x0 + shift) & 7u); at < end; at += 8u) {
        uint32_t data = dm_gb_tile_data(context->ram, tiles, column++);
        uint64_t low = dm_gb_spread(dm_gb_ram_load(context, data));
        uint64_t high = dm_gb_spread(dm_gb_ram_load(context, data + 1u));
        dm_store_u64(line->shade + at, dm_gb_shades(&palette, low, high));
        if (sprites)
            dm_store_u64(line->opaque + at, (low | high) * 0xFFu);
    }
}

DM_FN void dm_gb_canvas_clear(dm_gb_canvas *line, uint32_t shade)
{
    for (uint32_t i = 0; i < sizeof line->shade; i += 8u) {
        dm_store_u64(line->shade + i, shade * DM_GB_ONES);
        dm_store_u64(line->opaque + i, 0);
    }
}

/* Lay the line's sprites over it, those of higher priority first. */
DM_FN void dm_gb_canvas_sprites(const dm_gb_context *context, const dm_gb_ppu *ppu,
                                dm_gb_canvas *line)
{
    for (uint32_t i = 0; i < sizeof line->taken; i += 8u)
        dm_store_u64(line->taken + i, 0);
    for (uint32_t i = 0; i < ppu->sprites; i++) {
        uint32_t left = ppu->sprite_x[i];
        if (left >= DM_GB_SCREEN_W + DM_GB_MARGIN)
            continue;
        uint32_t attributes = dm_gb_oam_byte(context, ppu->sprite[i], 3);
        uint32_t data = dm_gb_sprite_data(context, ppu, i, attributes);
        uint64_t low = dm_gb_spread(dm_gb_ram_load(context, data));
        uint64_t high = dm_gb_spread(dm_gb_ram_load(context, data + 1u));
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

DM_FN void dm_gb_canvas_end(const dm_gb_context *context, const dm_gb_ppu *ppu,
                            const dm_gb_canvas *line)
{
    uint8_t *out = dm_gb_back_line(context, ppu);
    for (uint32_t x = 0; x < DM_GB_SCREEN_W; x += 8u)
        dm_store_u64(out + x, dm_load_u64(line->shade + x + DM_GB_MARGIN));
}

/* Draw line ppu.line, whose sprites are known, with the registers as they are there. */
DM_FN void dm_gb_draw_spans(const dm_gb_context *context, const dm_gb_ppu *ppu)
{
    const bool sprites = (ppu->lcdc & 2u) != 0 && ppu->sprites != 0;
    dm_gb_canvas line;
    if ((ppu->lcdc & 1u) != 0) {
        const uint32_t window_x = dm_gb_window_left(ppu);
        if (window_x > 0) {
            const dm_gb_tiles tiles = dm_gb_tiles_of(ppu, (ppu->lcdc & 8u) != 0 ? 0x1C00u : 0x1800u,
                                                     ppu->line + (uint32_t)ppu->scy);
            dm_gb_canvas_map(context, ppu, &line, 0, window_x, &tiles, ppu->scx, sprites);
        }
        if (window_x < DM_GB_SCREEN_W) {
            const dm_gb_tiles tiles =
                dm_gb_tiles_of(ppu, (ppu->lcdc & 0x40u) != 0 ? 0x1C00u : 0x1800u, ppu->window_line);
            dm_gb_canvas_map(context, ppu, &line, window_x, DM_GB_SCREEN_W, &tiles,
                             256u + 7u - ppu->wx, sprites);
        }
    } else {
        dm_gb_canvas_clear(&line, ppu->bgp & 3u); /* everything is colour 0 */
    }
    if (sprites)
        dm_gb_canvas_sprites(context, ppu, &line);
    dm_gb_canvas_end(context, ppu, &line);
}

DM_FN bool dm_gb_draw_at_once(dm_gb_context *context)
{
    const dm_gb_ppu *ppu = &dm_gb_m(context)->ppu;
    if (dm_gb_only_by_dots(ppu))
        return false;
    if ((ppu->lcdc & 2u) != 0)
        dm_gb_sprite_count(context);
    dm_gb_draw_spans(context, ppu);
    return true;
}

/* No line is logged. */

DM_FN bool dm_gb_can_log_lines(const dm_gb_context *context)
{
    (void)context;
    return false;
}

DM_FN void dm_gb_log_all_lines(dm_gb_context *context, uint32_t end, uint32_t window)
{
    (void)context;
    (void)end;
    (void)window;
}

DM_FN void dm_gb_render_logged(dm_gb_context *context)
{
    (void)context;
}

#endif
