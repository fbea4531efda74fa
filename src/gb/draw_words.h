/* SPDX-License-Identifier: MIT */
/* draw_words.h - a line of the picture, the GPU's way; kernel text.
 *
 * draw.h puts a line together in a buffer, at any byte, and copies it. A GPU pays for each access
 * to memory and for memory of its own, so here the picture is made in place, eight pixels at a time
 * that lie in one word: "groups" 0..19 of a line. What a group shows of two tiles is joined while
 * it is still bits, the leftmost pixel in bit 7. Lanes of a warp may share a line, each with groups
 * of its own (lane.part), so that what they store at a time lies side by side.
 * tests/gb/test_quick.c compares the pictures. */
#ifndef DM_GB_DRAW_WORDS_H
#define DM_GB_DRAW_WORDS_H

#define DM_GB_GROUPS (DM_GB_SCREEN_W / 8u)

typedef struct dm_gb_canvas {
    uint64_t *out;                /* lines begin at words */
    uint32_t part, mask;          /* groups of this lane: group & mask == part */
    uint8_t opaque[DM_GB_GROUPS]; /* where the background is not colour 0 */
    uint8_t taken[DM_GB_GROUPS];  /* where a sprite has been */
} dm_gb_canvas;

DM_FN void dm_gb_canvas_begin(const dm_gb_lane *lane, const dm_gb_ppu *ppu, dm_gb_canvas *line)
{
    line->out = (uint64_t *)(void *)dm_gb_back_line(lane, ppu);
    line->part = lane->part;
    line->mask = lane->parts_mask;
}

/* The first group from `group` on that is this lane's. */
DM_FN uint32_t dm_gb_canvas_first(const dm_gb_canvas *line, uint32_t group)
{
    return group + ((line->part - group) & line->mask);
}

/* Four pixels of a bit plane, the leftmost in bit 3: each to a byte, the leftmost to the lowest. */
DM_FN uint32_t dm_gb_spread4(uint32_t bits)
{
    return bits * 0x08040201u >> 3 & 0x01010101u;
}

DM_FN uint64_t dm_gb_both_halves(uint32_t left, uint32_t right)
{
    return left | (uint64_t)right << 32;
}

/* FF in the bytes of the pixels of `bits`. */
DM_FN uint64_t dm_gb_bytes_of(uint32_t bits)
{
    return dm_gb_both_halves(dm_gb_spread4(bits >> 4) * 0xFFu, dm_gb_spread4(bits & 15u) * 0xFFu);
}

/* dm_gb_shades for four pixels: words of 32 bits are what a GPU multiplies at once. */
DM_FN uint32_t dm_gb_shades4(const dm_gb_palette *palette, uint32_t low, uint32_t high)
{
    const uint32_t l = dm_gb_spread4(low), h = dm_gb_spread4(high);
    return (uint32_t)palette->base + l * (uint32_t)palette->low + h * (uint32_t)palette->high +
           (l & h) * (uint32_t)palette->both;
}

DM_FN uint64_t dm_gb_shades8(const dm_gb_palette *palette, uint32_t low, uint32_t high)
{
    return dm_gb_both_halves(dm_gb_shades4(palette, low >> 4, high >> 4),
                             dm_gb_shades4(palette, low & 15u, high & 15u));
}

/* Both planes of a tile or sprite row, the low one in bits 0..7. */
DM_FN uint32_t dm_gb_planes(const uint8_t *ram, uint32_t data)
{
    return *(const uint16_t *)(const void *)(ram + data); /* two bytes, from an even one on */
}

/* Pixels x0..x1-1 from a map: pixel x shows map column x + shift. */
DM_FN void dm_gb_canvas_map(const dm_gb_lane *lane, const dm_gb_ppu *ppu, dm_gb_canvas *line,
                            uint32_t x0, uint32_t x1, const dm_gb_tiles *tiles, uint32_t shift,
                            bool sprites)
{
    /* Copies, so that nobody thinks that stores to the picture change them. */
    const uint8_t *ram = lane->ram;
    uint64_t *out = line->out;
    const dm_gb_tiles from = *tiles;
    DM_ASSUME_GLOBAL(ram);
    DM_ASSUME_GLOBAL(out);
    const dm_gb_palette palette = dm_gb_palette_of(ppu->bgp);
    const uint32_t end = (x1 + 7u) / 8u, across = 8u - (shift & 7u), step = line->mask + 1u;
    uint32_t group = dm_gb_canvas_first(line, x0 / 8u), column = group + (shift >> 3);
    /* What comes next is asked for one group ahead: the numbers of its two tiles. */
    uint32_t data = dm_gb_tile_data(ram, &from, column);
    uint32_t data_after = dm_gb_tile_data(ram, &from, column + 1u);
    DM_NO_UNROLL
    for (; group < end; group += step) {
        const uint32_t left = dm_gb_planes(ram, data), right = dm_gb_planes(ram, data_after);
        column += step;
        data = dm_gb_tile_data(ram, &from, column);
        data_after = dm_gb_tile_data(ram, &from, column + 1u);
        const uint32_t low = ((left & 0xFFu) << 8 | (right & 0xFFu)) >> across & 0xFFu;
        const uint32_t high = ((left & 0xFF00u) | right >> 8) >> across & 0xFFu;
        uint64_t shades = dm_gb_shades8(&palette, low, high);
        uint32_t opaque = low | high;
        if (group * 8u < x0) { /* the window begins within the group */
            const uint32_t mask = 0xFFu >> (x0 & 7u);
            const uint64_t bytes = dm_gb_bytes_of(mask);
            shades = (shades & bytes) | (out[group] & ~bytes);
            opaque = (opaque & mask) | (sprites ? line->opaque[group] & ~mask : 0u);
        }
        out[group] = shades;
        if (sprites)
            line->opaque[group] = (uint8_t)opaque;
    }
}

DM_FN void dm_gb_canvas_clear(dm_gb_canvas *line, uint32_t shade)
{
    for (uint32_t i = line->part; i < DM_GB_GROUPS; i += line->mask + 1u) {
        line->out[i] = shade * DM_GB_ONES;
        line->opaque[i] = 0;
    }
}

/* The part of a sprite that falls into a group: `low` and `high` are its planes there, `behind` is
 * what hides it. */
DM_FN void dm_gb_sprite_group(dm_gb_canvas *line, uint32_t group, uint32_t low, uint32_t high,
                              uint32_t behind, const dm_gb_palette *palette)
{
    const uint32_t bits = low | high;
    if (group >= DM_GB_GROUPS || (group & line->mask) != line->part || bits == 0)
        return;
    const uint32_t free = bits & ~(uint32_t)line->taken[group];
    line->taken[group] |= (uint8_t)bits;
    const uint64_t bytes = dm_gb_bytes_of(free & ~(behind & line->opaque[group]));
    const uint64_t over = dm_gb_shades8(palette, low, high);
    line->out[group] = (line->out[group] & ~bytes) | (over & bytes);
}

/* Lay the line's sprites over it, those of higher priority first. */
DM_FN void dm_gb_canvas_sprites(const dm_gb_lane *lane, const dm_gb_ppu *ppu, dm_gb_canvas *line)
{
    for (uint32_t i = line->part; i < DM_GB_GROUPS; i += line->mask + 1u)
        line->taken[i] = 0;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < ppu->sprites; i++) {
        const uint32_t x = ppu->sprite_x[i]; /* the screen's plus 8 */
        const uint32_t attributes = dm_gb_oam_byte(lane, ppu->sprite[i], 3);
        const uint32_t planes =
            dm_gb_planes(lane->ram, dm_gb_sprite_data(lane, ppu, i, attributes));
        uint32_t low = planes & 0xFFu, high = planes >> 8;
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
        dm_gb_sprite_group(line, x / 8u - 1u, low >> 8, high >> 8, behind, &palette);
        dm_gb_sprite_group(line, x / 8u, low & 0xFFu, high & 0xFFu, behind, &palette);
    }
}

DM_FN void dm_gb_canvas_end(const dm_gb_lane *lane, const dm_gb_ppu *ppu, const dm_gb_canvas *line)
{
    (void)lane;
    (void)ppu;
    (void)line;
}

#endif
