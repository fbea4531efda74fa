/* SPDX-License-Identifier: MIT */
/* draw_words.h - a line of the picture, the GPU's way; kernel text.
 *
 * draw.h puts a line together in a buffer, at any byte, and copies it. A GPU waits long for each
 * access to memory, also to memory of a thread's own. So here a lane makes a quarter of a line at a
 * time, in registers: every fourth of its 20 groups of eight pixels, one per byte of a word. It
 * asks for the numbers of all their tiles, then for all their rows, and stores each group once.
 * Four lanes of a warp may share a line, each with a quarter, so that what they store lies side by
 * side (lane.part). While a group is made of two tiles it is bits, the leftmost pixel in bit 7.
 * tests/gb/test_quick.c compares the pictures. */
#ifndef DM_GB_DRAW_WORDS_H
#define DM_GB_DRAW_WORDS_H

#define DM_GB_GROUPS (DM_GB_SCREEN_W / 8u)
#define DM_GB_DRAW_PARTS 4u
#define DM_GB_PART_GROUPS (DM_GB_GROUPS / DM_GB_DRAW_PARTS)

/* Groups part, part + 4, ... of a line. */
typedef struct dm_gb_quarter {
    uint32_t part;
    uint64_t shades[DM_GB_PART_GROUPS];
    uint64_t opaque; /* where the background is not colour 0: a byte of bits for each group */
    uint64_t taken;  /* where a sprite has been */
} dm_gb_quarter;

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

/* ---- Background and window ---- */

/* What pixels show of a map: pixel x its column x + shift. */
typedef struct dm_gb_plate {
    dm_gb_tiles tiles;
    uint32_t shift;
} dm_gb_plate;

/* A group of pixels before it has colours. */
typedef struct dm_gb_group {
    uint32_t low, high;
} dm_gb_group;

/* From the rows of two tiles side by side. */
DM_FN dm_gb_group dm_gb_group_of(uint32_t left, uint32_t right, uint32_t shift)
{
    const uint32_t across = 8u - (shift & 7u);
    dm_gb_group group;
    group.low = ((left & 0xFFu) << 8 | (right & 0xFFu)) >> across & 0xFFu;
    group.high = ((left & 0xFF00u) | right >> 8) >> across & 0xFFu;
    return group;
}

/* The window begins within `group`, which is one of the quarter's: its pixels there. */
DM_FN void dm_gb_quarter_edge(const uint8_t *ram, dm_gb_quarter *q, uint32_t group,
                              const dm_gb_plate *window, uint32_t window_x,
                              const dm_gb_palette *palette)
{
    const uint32_t column = group + (window->shift >> 3), number = group / DM_GB_DRAW_PARTS;
    const uint32_t left = dm_gb_tile_data(ram, &window->tiles, column);
    const uint32_t right = dm_gb_tile_data(ram, &window->tiles, column + 1u);
    const dm_gb_group pixels =
        dm_gb_group_of(dm_gb_planes(ram, left), dm_gb_planes(ram, right), window->shift);
    const uint32_t mask = 0xFFu >> (window_x & 7u);
    const uint64_t shades = dm_gb_shades8(palette, pixels.low, pixels.high);
    for (uint32_t k = 0; k < DM_GB_PART_GROUPS; k++) {
        const uint64_t bytes = dm_gb_bytes_of(k == number ? mask : 0u);
        q->shades[k] = (q->shades[k] & ~bytes) | (shades & bytes);
    }
    q->opaque &= ~((uint64_t)mask << 8u * number);
    q->opaque |= (uint64_t)((pixels.low | pixels.high) & mask) << 8u * number;
}

/* The window covers all from pixel `window_x` on. */
DM_FN void dm_gb_quarter_maps(const uint8_t *ram, dm_gb_quarter *q, const dm_gb_plate *background,
                              const dm_gb_plate *window, uint32_t window_x,
                              const dm_gb_palette *palette)
{
    uint32_t left[DM_GB_PART_GROUPS], right[DM_GB_PART_GROUPS];
    for (uint32_t k = 0; k < DM_GB_PART_GROUPS; k++) {
        const uint32_t group = q->part + k * DM_GB_DRAW_PARTS;
        const dm_gb_plate from = group * 8u >= window_x ? *window : *background;
        const uint32_t column = group + (from.shift >> 3);
        left[k] = dm_gb_tile_data(ram, &from.tiles, column);
        right[k] = dm_gb_tile_data(ram, &from.tiles, column + 1u);
    }
    for (uint32_t k = 0; k < DM_GB_PART_GROUPS; k++) {
        left[k] = dm_gb_planes(ram, left[k]);
        right[k] = dm_gb_planes(ram, right[k]);
    }
    for (uint32_t k = 0; k < DM_GB_PART_GROUPS; k++) {
        const uint32_t group = q->part + k * DM_GB_DRAW_PARTS;
        const uint32_t shift = group * 8u >= window_x ? window->shift : background->shift;
        const dm_gb_group pixels = dm_gb_group_of(left[k], right[k], shift);
        q->shades[k] = dm_gb_shades8(palette, pixels.low, pixels.high);
        q->opaque |= (uint64_t)(pixels.low | pixels.high) << 8u * k;
    }
    const uint32_t edge = window_x / 8u;
    if ((window_x & 7u) != 0 && edge < DM_GB_GROUPS && edge % DM_GB_DRAW_PARTS == q->part)
        dm_gb_quarter_edge(ram, q, edge, window, window_x, palette);
}

DM_FN void dm_gb_quarter_background(const uint8_t *ram, dm_gb_quarter *q, const dm_gb_ppu *ppu)
{
    const dm_gb_palette palette = dm_gb_palette_of(ppu->bgp);
    q->opaque = 0;
    if ((ppu->lcdc & 1u) == 0) { /* everything is colour 0 */
        for (uint32_t k = 0; k < DM_GB_PART_GROUPS; k++)
            q->shades[k] = palette.base;
        return;
    }
    dm_gb_plate background, window;
    background.tiles = dm_gb_tiles_of(ppu, (ppu->lcdc & 8u) != 0 ? 0x1C00u : 0x1800u,
                                      ppu->line + (uint32_t)ppu->scy);
    background.shift = ppu->scx;
    window.tiles =
        dm_gb_tiles_of(ppu, (ppu->lcdc & 0x40u) != 0 ? 0x1C00u : 0x1800u, ppu->window_line);
    window.shift = 256u + 7u - ppu->wx;
    dm_gb_quarter_maps(ram, q, &background, &window, dm_gb_window_left(ppu), &palette);
}

/* ---- Sprites ---- */

/* Those on the line, one bit each. Lanes that share a line share the search. */
DM_FN uint64_t dm_gb_sprites_here(const dm_gb_lane *lane, uint32_t bottom, uint32_t height)
{
    const uint64_t *words = (const uint64_t *)(const void *)(lane->ram + DM_GB_OAM); /* two each */
    uint32_t first = 0, step = 1;
    uint64_t here = 0;
#if DM_ON_CUDA
    if (lane->shares != 0) {
        first = lane->part;
        step = DM_GB_DRAW_PARTS;
    }
#endif
    for (uint32_t i = first; i < DM_GB_SPRITES / 2u; i += step) {
        const uint32_t even = (uint32_t)words[i] & 0xFFu;
        const uint32_t odd = (uint32_t)(words[i] >> 32) & 0xFFu;
        const uint32_t both =
            (bottom - even < height ? 1u : 0u) | (bottom - odd < height ? 2u : 0u);
        here |= (uint64_t)both << 2u * i;
    }
#if DM_ON_CUDA
    if (lane->shares != 0) {
        const uint32_t four = 15u << (dm_lane() & 28u);
        here |= __shfl_xor_sync(four, here, 1);
        here |= __shfl_xor_sync(four, here, 2);
    }
#endif
    return here;
}

DM_FN uint32_t dm_gb_lowest64(uint64_t bits)
{
    return (uint32_t)bits != 0 ? dm_ffs_u32((uint32_t)bits) - 1u
                               : dm_ffs_u32((uint32_t)(bits >> 32)) + 31u;
}

/* An entry of OAM as a word: y, x, tile, attributes. */
#define DM_GB_ENTRY_X(entry) ((entry) >> 8 & 0xFFu)

/* Which of its two groups, if any, is the quarter's: it lies in groups x / 8 - 1 and x / 8. */
DM_FN bool dm_gb_quarter_has(const dm_gb_quarter *q, uint32_t entry, uint32_t *group, bool *right)
{
    const uint32_t last = DM_GB_ENTRY_X(entry) / 8u, away = (last - q->part) % DM_GB_DRAW_PARTS;
    *right = away == 0;
    *group = last - away;
    return away <= 1u && *group < DM_GB_GROUPS;
}

/* The row of it that the line shows. */
DM_FN uint32_t dm_gb_entry_planes(const uint8_t *ram, uint32_t entry, uint32_t bottom,
                                  uint32_t height)
{
    const uint32_t row = (bottom - (entry & 0xFFu)) & (height - 1u);
    const uint32_t tile = entry >> 16 & (height == 16u ? 0xFEu : 0xFFu);
    return dm_gb_planes(ram, DM_GB_VRAM + tile * 16u +
                                 ((entry >> 30 & 1u) != 0 ? height - 1u - row : row) * 2u);
}

/* Lay it over the quarter, after those of higher priority. */
DM_FN void dm_gb_quarter_sprite(dm_gb_quarter *q, uint32_t entry, uint32_t planes,
                                const dm_gb_ppu *ppu)
{
    uint32_t low = planes & 0xFFu, high = planes >> 8, group;
    bool right;
    dm_gb_quarter_has(q, entry, &group, &right);
    if ((entry >> 29 & 1u) != 0) {
        low = dm_reverse_u32(low) >> 24;
        high = dm_reverse_u32(high) >> 24;
    }
    const uint32_t across = 8u - (DM_GB_ENTRY_X(entry) & 7u);
    low = right ? low << across & 0xFFu : low << across >> 8;
    high = right ? high << across & 0xFFu : high << across >> 8;
    const uint32_t number = group / DM_GB_DRAW_PARTS, bits = low | high;
    const uint32_t opaque = (uint32_t)(q->opaque >> 8u * number) & 0xFFu;
    const uint32_t hidden =
        (uint32_t)(q->taken >> 8u * number) | ((entry >> 31) != 0 ? opaque : 0u);
    q->taken |= (uint64_t)bits << 8u * number;
    const dm_gb_palette palette = dm_gb_palette_of((entry >> 28 & 1u) != 0 ? ppu->obp1 : ppu->obp0);
    const uint64_t over = dm_gb_shades8(&palette, low, high);
    const uint64_t bytes = dm_gb_bytes_of(bits & ~hidden);
    for (uint32_t k = 0; k < DM_GB_PART_GROUPS; k++) {
        const uint64_t here = k == number ? bytes : 0u;
        q->shades[k] = (q->shades[k] & ~here) | (over & here);
    }
}

/* The first ten sprites of OAM that are on the line, as far as they touch the quarter, those of
 * higher priority first: by x, then by number. */
DM_FN void dm_gb_quarter_sprites(const dm_gb_lane *lane, dm_gb_quarter *q, const dm_gb_ppu *ppu)
{
    const uint8_t *ram = lane->ram;
    const uint32_t *entries = (const uint32_t *)(const void *)(ram + DM_GB_OAM);
    const uint32_t height = (ppu->lcdc & 4u) != 0 ? 16u : 8u;
    const uint32_t bottom = ppu->line + 16u; /* a sprite's y of this shows its row 0 here */
    uint64_t here = dm_gb_sprites_here(lane, bottom, height);
    uint32_t list[10], count = 0, group;
    bool right;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < 10u && here != 0; i++) {
        const uint32_t entry = entries[dm_gb_lowest64(here)];
        here &= here - 1u;
        if (!dm_gb_quarter_has(q, entry, &group, &right))
            continue;
        uint32_t at = count++;
        DM_NO_UNROLL
        for (; at > 0 && DM_GB_ENTRY_X(list[at - 1]) > DM_GB_ENTRY_X(entry); at--)
            list[at] = list[at - 1];
        list[at] = entry;
    }
    q->taken = 0;
    uint32_t next = count != 0 ? dm_gb_entry_planes(ram, list[0], bottom, height) : 0u;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t planes = next; /* that of the one after it is on its way meanwhile */
        if (i + 1u < count)
            next = dm_gb_entry_planes(ram, list[i + 1u], bottom, height);
        dm_gb_quarter_sprite(q, list[i], planes, ppu);
    }
}

/* ---- Lines ---- */

/* Draw line ppu.line with the registers as they are there: this lane's quarter, or all four. */
DM_FN void dm_gb_draw_spans(const dm_gb_lane *lane, const dm_gb_ppu *ppu)
{
    uint64_t *out = (uint64_t *)(void *)dm_gb_back_line(lane, ppu);
    const uint32_t end = lane->shares != 0 ? lane->part + 1u : DM_GB_DRAW_PARTS;
    DM_NO_UNROLL
    for (uint32_t part = lane->shares != 0 ? lane->part : 0u; part < end; part++) {
        dm_gb_quarter q;
        q.part = part;
        dm_gb_quarter_background(lane->ram, &q, ppu);
        if ((ppu->lcdc & 2u) != 0)
            dm_gb_quarter_sprites(lane, &q, ppu);
        for (uint32_t k = 0; k < DM_GB_PART_GROUPS; k++)
            out[part + k * DM_GB_DRAW_PARTS] = q.shades[k];
    }
}

#endif
