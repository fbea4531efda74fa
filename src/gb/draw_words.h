/* SPDX-License-Identifier: MIT */
/* draw_words.h - a line of the picture, the GPU's way; kernel text.
 *
 * draw.h puts a line together in a buffer, at any byte, and copies it. A GPU pays for each access
 * to memory and for memory of its own, so here the picture is made in place, eight pixels at a time
 * that lie in one word: "groups" 0..19 of a line. What a group shows of two tiles is joined while
 * it is still bits, the leftmost pixel in bit 7. tests/gb/test_quick.c compares the pictures. */
#ifndef DM_GB_DRAW_WORDS_H
#define DM_GB_DRAW_WORDS_H

#define DM_GB_GROUPS (DM_GB_SCREEN_W / 8u)

/* What sprites need to know of a line, by groups. */
typedef struct dm_gb_cover {
    uint8_t opaque[DM_GB_GROUPS]; /* where the background is not colour 0 */
    uint8_t taken[DM_GB_GROUPS];  /* where a sprite has been */
} dm_gb_cover;

/* FF in the bytes of the pixels of `bits`. */
DM_FN uint64_t dm_gb_bytes_of(uint32_t bits)
{
    return dm_gb_spread(bits) * 0xFFu;
}

/* Both planes of the tile row at map column `column`: the low one in bits 0..7. */
DM_FN uint32_t dm_gb_tile_row(const dm_gb_lane *lane, uint32_t map_row, uint32_t data_row,
                              uint32_t flip, uint32_t column)
{
    uint32_t tile = dm_gb_ram_load(lane, map_row + (column & 31u)) ^ flip;
    uint32_t data = data_row + tile * 16u;
    return dm_gb_ram_load(lane, data) | (uint32_t)dm_gb_ram_load(lane, data + 1u) << 8;
}

/* Pixels x0..x1-1 from a map: pixel x shows map column x + shift. */
DM_FN void dm_gb_map_words(const dm_gb_lane *lane, uint64_t *out, dm_gb_cover *cover, uint32_t x0,
                           uint32_t x1, uint32_t map, uint32_t shift, uint32_t y)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    const dm_gb_palette palette = dm_gb_palette_of(ppu->bgp);
    const uint32_t map_row = DM_GB_VRAM + map + ((y >> 3) & 31u) * 32u;
    /* Tile numbers are signed around 9000 when LCDC bit 4 is off. */
    const uint32_t flip = (ppu->lcdc & 0x10u) != 0 ? 0u : 0x80u;
    const uint32_t data_row = DM_GB_VRAM + (flip != 0 ? 0x800u : 0u) + (y & 7u) * 2u;
    const uint32_t first = x0 / 8u, end = (x1 + 7u) / 8u, across = 8u - (shift & 7u);
    uint32_t column = first + (shift >> 3);
    uint32_t left = dm_gb_tile_row(lane, map_row, data_row, flip, column);
    DM_NO_UNROLL
    for (uint32_t group = first; group < end; group++) {
        const uint32_t right = dm_gb_tile_row(lane, map_row, data_row, flip, ++column);
        const uint32_t low = ((left & 0xFFu) << 8 | (right & 0xFFu)) >> across & 0xFFu;
        const uint32_t high = ((left & 0xFF00u) | right >> 8) >> across & 0xFFu;
        uint64_t shades = dm_gb_shades(&palette, dm_gb_spread(low), dm_gb_spread(high));
        uint32_t opaque = low | high;
        if (group * 8u < x0) { /* the window begins within the group */
            const uint32_t mask = 0xFFu >> (x0 & 7u);
            const uint64_t bytes = dm_gb_bytes_of(mask);
            shades = (shades & bytes) | (out[group] & ~bytes);
            opaque = (opaque & mask) | (cover->opaque[group] & ~mask);
        }
        out[group] = shades;
        cover->opaque[group] = (uint8_t)opaque;
        left = right;
    }
}

/* The part of a sprite that falls into a group: `low` and `high` are its planes there, `behind` is
 * what hides it. */
DM_FN void dm_gb_sprite_word(uint64_t *out, dm_gb_cover *cover, uint32_t group, uint32_t low,
                             uint32_t high, uint32_t behind, const dm_gb_palette *palette)
{
    const uint32_t bits = low | high;
    if (group >= DM_GB_GROUPS || bits == 0)
        return;
    const uint32_t free = bits & ~(uint32_t)cover->taken[group];
    cover->taken[group] |= (uint8_t)bits;
    const uint64_t bytes = dm_gb_bytes_of(free & ~(behind & cover->opaque[group]));
    const uint64_t over = dm_gb_shades(palette, dm_gb_spread(low), dm_gb_spread(high));
    out[group] = (out[group] & ~bytes) | (over & bytes);
}

/* Lay the line's sprites over it, those of higher priority first. */
DM_FN void dm_gb_sprite_words(dm_gb_lane *lane, uint64_t *out, dm_gb_cover *cover)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    const uint32_t height = (ppu->lcdc & 4u) != 0 ? 16u : 8u;
    for (uint32_t i = 0; i < DM_GB_GROUPS; i++)
        cover->taken[i] = 0;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < ppu->sprites; i++) {
        const uint32_t sprite = ppu->sprite[i], x = ppu->sprite_x[i]; /* the screen's plus 8 */
        const uint32_t attributes = dm_gb_oam_byte(lane, sprite, 3);
        uint32_t row = (ppu->line + 16u - ppu->sprite_y[i]) & (height - 1u);
        if ((attributes & 0x40u) != 0)
            row = height - 1u - row;
        const uint32_t tile = dm_gb_oam_byte(lane, sprite, 2) & (height == 16u ? 0xFEu : 0xFFu);
        const uint32_t data = DM_GB_VRAM + tile * 16u + row * 2u;
        uint32_t low = dm_gb_ram_load(lane, data), high = dm_gb_ram_load(lane, data + 1u);
        if ((attributes & 0x20u) != 0) {
            low = dm_reverse_u32(low) >> 24;
            high = dm_reverse_u32(high) >> 24;
        }
        const dm_gb_palette palette =
            dm_gb_palette_of((attributes & 0x10u) != 0 ? ppu->obp1 : ppu->obp0);
        const uint32_t behind = (attributes & 0x80u) != 0 ? 0xFFu : 0u;
        low <<= 8u - (x & 7u);
        high <<= 8u - (x & 7u);
        /* Group -1 is left of the screen. */
        dm_gb_sprite_word(out, cover, x / 8u - 1u, low >> 8, high >> 8, behind, &palette);
        dm_gb_sprite_word(out, cover, x / 8u, low & 0xFFu, high & 0xFFu, behind, &palette);
    }
}

/* The present line without what fifo.h is needed for, with the registers as they are. */
DM_FN void dm_gb_draw_plain(dm_gb_lane *lane)
{
    const dm_gb_ppu *ppu = &lane->m->ppu;
    uint64_t *out = (uint64_t *)(void *)dm_gb_back_line(lane); /* lines begin at words */
    dm_gb_cover cover;
    const bool sprites = (ppu->lcdc & 2u) != 0 && dm_gb_sprite_count(lane) != 0;
    if ((ppu->lcdc & 1u) != 0) {
        uint32_t window_x = DM_GB_SCREEN_W;
        if (dm_gb_window_shown(ppu))
            window_x = ppu->wx < 7u ? 0u : ppu->wx - 7u;
        if (window_x > 0)
            dm_gb_map_words(lane, out, &cover, 0, window_x,
                            (ppu->lcdc & 8u) != 0 ? 0x1C00u : 0x1800u, ppu->scx,
                            ppu->line + (uint32_t)ppu->scy);
        if (window_x < DM_GB_SCREEN_W)
            dm_gb_map_words(lane, out, &cover, window_x, DM_GB_SCREEN_W,
                            (ppu->lcdc & 0x40u) != 0 ? 0x1C00u : 0x1800u, 256u + 7u - ppu->wx,
                            ppu->window_line);
    } else {
        /* Without background everything is colour 0. */
        for (uint32_t i = 0; i < DM_GB_GROUPS; i++) {
            out[i] = (ppu->bgp & 3u) * DM_GB_ONES;
            cover.opaque[i] = 0;
        }
    }
    if (sprites)
        dm_gb_sprite_words(lane, out, &cover);
}

#endif
