/* SPDX-License-Identifier: MIT */
/* render_words.h - the bit-plane renderer: 32 pixels of two lines at a time; kernel text.
 *
 * The CPU (cpu/spans.h) composes a line in a buffer, byte by byte, and copies it. A GPU has 32-bit words, and each
 * access to memory is a long wait, local memory included. So here a lane makes words of pixels in registers: bit planes
 * of 32 pixels, the leftmost in bit 31, as tiles have them, for a pair of lines one above the other. Lines of a pair
 * mostly show the same tiles, whose rows for both then come with one load. A lane loads all tile numbers, then all
 * rows, and stores each word of pixels once.
 *
 * The registers that draw a line are one word of 64 bits:
 *
 *   byte   0     1    2    3    4     5     6   7
 *          LCDC  SCY  SCX  BGP  OBP0  OBP1  WX  line of the window
 *
 * LCDC bit 7 tells them from pixels, which are 0..3; bit 5 is set where the window is on.
 * tests/gb/test_render.c compares words with lines that the CPU draws. */
#ifndef DM_SIMT_RENDER_WORDS_H
#define DM_SIMT_RENDER_WORDS_H

#include "gb/machine/sprites.h"

#define DM_GB_LINE_WORDS (DM_GB_SCREEN_W / 32u)
#define DM_GB_PAIRS (DM_GB_SCREEN_H / 2u)
#define DM_GB_PAIR_BYTES (2u * DM_GB_SCREEN_W)

#define DM_GB_LINE_LOGGED 0x80u
#define DM_GB_LINE_WINDOW 0x20u
#define DM_GB_LINE_TALL 4u
#define DM_GB_LINE_SPRITES 2u
#define DM_GB_LINE_GROUND 1u
#define DM_GB_LINE_NEXT (1ull << 56) /* the window's next line */

/* Something of each line of a pair: its registers, or its sprites, one bit each. */
typedef struct dm_gb_both {
    uint64_t upper, lower;
} dm_gb_both;

/* Colours or shades of 32 pixels. */
typedef struct dm_gb_planes {
    uint32_t low, high;
} dm_gb_planes;

typedef struct dm_gb_two_planes {
    dm_gb_planes upper, lower;
} dm_gb_two_planes;

/* Is this bit of LCDC set? */
DM_FN bool dm_gb_registers_have(uint64_t registers, uint32_t bit)
{
    return ((uint32_t)registers & bit) != 0;
}

/* Is it set in the registers of either line? */
DM_FN bool dm_gb_either_has(dm_gb_both registers, uint32_t bit)
{
    return (((uint32_t)registers.upper | (uint32_t)registers.lower) & bit) != 0;
}

DM_FN bool dm_gb_logged(uint64_t registers)
{
    return dm_gb_registers_have(registers, DM_GB_LINE_LOGGED);
}

/* ---- Palettes ---- */

/* For each colour the two bits of its shade, each as a mask. */
typedef struct dm_gb_shader {
    uint32_t low[4], high[4];
} dm_gb_shader;

/* The palette is in bits 0..7; what is above them does not matter. */
DM_FN dm_gb_shader dm_gb_shader_of(uint32_t palette)
{
    /* Bits 0, 2, 4, 6 become the signs of bytes 0..3. Copies of the palette meet in bits between
     * those, whose carries go no further than the next bit, which is empty. */
    const uint32_t low = (palette & 0x55u) * 0x02082080u, high = (palette & 0xAAu) * 0x01041040u;
    dm_gb_shader shader;
    for (uint32_t i = 0; i < 4u; i++) {
        shader.low[i] = dm_byte_pick(low, 0, 0x8888u + 0x1111u * i);
        shader.high[i] = dm_byte_pick(high, 0, 0x8888u + 0x1111u * i);
    }
    return shader;
}

/* The background's palette. Where the background is off everything is colour 0. */
DM_FN uint32_t dm_gb_ground_palette(uint64_t registers)
{
    const uint32_t palette = (uint32_t)registers >> 24;
    return dm_gb_registers_have(registers, DM_GB_LINE_GROUND) ? palette : (palette & 3u) * 0x55u;
}

DM_FN uint32_t dm_gb_shade_bits(const uint32_t masks[4], dm_gb_planes colours)
{
    return dm_choose_u32(colours.high, dm_choose_u32(colours.low, masks[3], masks[2]),
                         dm_choose_u32(colours.low, masks[1], masks[0]));
}

DM_FN dm_gb_planes dm_gb_shades_of(const dm_gb_shader *shader, dm_gb_planes colours)
{
    dm_gb_planes shades;
    shades.low = dm_gb_shade_bits(shader->low, colours);
    shades.high = dm_gb_shade_bits(shader->high, colours);
    return shades;
}

/* ---- Background and window ---- */

/* A view: what a word of pixels shows of a map.
 *
 *   bits 0..7     LCDC, of which bit 3 chooses the map and bit 4 the tiles
 *        8..15    the column of the map's 256 pixels under the leftmost pixel
 *        24..31   the map's line
 */
#define DM_GB_VIEW_NEXT (1u << 24) /* the line below */

DM_FN uint32_t dm_gb_view(uint64_t registers, uint32_t line, uint32_t word)
{
    return dm_byte_perm((uint32_t)registers, 0, 0x1420u) + line * DM_GB_VIEW_NEXT +
           (word * 32u << 8);
}

DM_FN uint32_t dm_gb_window_view(uint64_t registers, uint32_t word)
{
    const uint32_t column = word * 32u + 7u - ((uint32_t)(registers >> 48) & 0xFFu);
    return ((uint32_t)registers & 0x10u) | ((uint32_t)registers >> 3 & 8u) | (column & 0xFFu) << 8 |
           (uint32_t)(registers >> 56) * DM_GB_VIEW_NEXT;
}

/* Pixels of the line left of the window; 160 if it does not show. */
DM_FN uint32_t dm_gb_logged_window(uint64_t registers)
{
    const uint32_t wx = (uint32_t)(registers >> 48) & 0xFFu;
    if (!dm_gb_registers_have(registers, DM_GB_LINE_WINDOW) || wx >= 166u)
        return DM_GB_SCREEN_W;
    return wx < 7u ? 0u : wx - 7u;
}

/* The five tiles under a word, the leftmost in the lowest byte, and where the rows of tile 0 lie
 * that it shows. */
typedef struct dm_gb_five {
    uint32_t four, fifth;
    const uint8_t *rows;
} dm_gb_five;

DM_FN dm_gb_five dm_gb_five_of(const uint8_t *ram, uint32_t view)
{
    const uint32_t map = DM_GB_VRAM + 0x1800u + ((view & 8u) << 7) + (view >> 27) * 32u;
    const uint8_t *words = ram + map; /* four tiles each */
    const uint32_t left = *(const uint32_t *)(const void *)(words + (view >> 11 & 0x1Cu));
    const uint32_t right = *(const uint32_t *)(const void *)(words + (((view >> 11) + 4u) & 0x1Cu));
    const uint32_t shift = view >> 8 & 0x18u;
    /* Numbers are signed around 9000 when LCDC bit 4 is off. */
    const uint32_t flip = (view & 0x10u) != 0 ? 0u : 0x80808080u;
    dm_gb_five five;
    five.four = (uint32_t)((left | (uint64_t)right << 32) >> shift) ^ flip;
    five.fifth = right >> shift ^ flip;
    five.rows = ram + (DM_GB_VRAM + (view >> 23 & 14u) + (flip & 0x800000u) / 0x1000u);
    return five;
}

DM_FN const void *dm_gb_five_row(const dm_gb_five *five, uint32_t i)
{
    const uint32_t tile =
        i < 4u ? dm_byte_pick(five->four, 0, 0x4440u + i) : dm_byte_pick(five->fifth, 0, 0x4440u);
    return dm_element(five->rows, tile, 16);
}

/* The rows of both lines, five tiles each: bytes 0 and 1 are the planes of the upper line, 2 and 3
 * those of the lower. */
DM_FN void dm_gb_tile_rows(const uint8_t *ram, uint32_t upper, uint32_t lower, uint32_t rows[5])
{
    const dm_gb_five five = dm_gb_five_of(ram, upper);
    if ((upper & DM_GB_VIEW_NEXT) == 0 && upper + DM_GB_VIEW_NEXT == lower) {
        for (uint32_t i = 0; i < 5u; i++)
            rows[i] = *(const uint32_t *)dm_gb_five_row(&five, i);
    } else {
        const dm_gb_five below = dm_gb_five_of(ram, lower);
        uint32_t more[5];
        for (uint32_t i = 0; i < 5u; i++) {
            rows[i] = *(const uint16_t *)dm_gb_five_row(&five, i);
            more[i] = *(const uint16_t *)dm_gb_five_row(&below, i);
        }
        for (uint32_t i = 0; i < 5u; i++)
            rows[i] |= more[i] << 16;
    }
}

/* Tile rows as planes: four tiles are a word, shifted left by the pixels of the first tile that are not
 * shown, and filled up from the fifth. */
DM_FN dm_gb_two_planes dm_gb_two_planes_of(const uint32_t rows[5], uint32_t upper, uint32_t lower)
{
    const uint32_t left = dm_byte_perm(rows[1], rows[0], 0x5140u),
                   right = dm_byte_perm(rows[3], rows[2], 0x5140u),
                   lower_left = dm_byte_perm(rows[1], rows[0], 0x7362u),
                   lower_right = dm_byte_perm(rows[3], rows[2], 0x7362u);
    const uint32_t upper_lost = upper >> 8 & 7u, lower_lost = lower >> 8 & 7u;
    dm_gb_two_planes two;
    two.upper.low = dm_funnel_u32(dm_byte_perm(right, left, 0x5410u), rows[4] << 24, upper_lost);
    two.upper.high = dm_funnel_u32(dm_byte_perm(right, left, 0x7632u), rows[4] << 16, upper_lost);
    two.lower.low =
        dm_funnel_u32(dm_byte_perm(lower_right, lower_left, 0x5410u), rows[4] << 8, lower_lost);
    two.lower.high =
        dm_funnel_u32(dm_byte_perm(lower_right, lower_left, 0x7632u), rows[4], lower_lost);
    return two;
}

/* The planes of one line alone, in 64 bits. */
DM_FN_SLOW uint64_t dm_gb_one_line(const uint8_t *ram, uint32_t view)
{
    const dm_gb_five five = dm_gb_five_of(ram, view);
    uint32_t rows[5];
    for (uint32_t i = 0; i < 5u; i++)
        rows[i] = *(const uint16_t *)dm_gb_five_row(&five, i);
    const dm_gb_planes planes = dm_gb_two_planes_of(rows, view, view).upper;
    return planes.low | (uint64_t)planes.high << 32;
}

/* The window begins `left` pixels from the left edge of the word, within it: lay it over. */
DM_FN dm_gb_planes dm_gb_window_edge(const uint8_t *ram, uint64_t registers, uint32_t word,
                                     uint32_t left, dm_gb_planes planes)
{
    const uint64_t window = dm_gb_one_line(ram, dm_gb_window_view(registers, word));
    const uint32_t mask = 0xFFFFFFFFu >> left;
    planes.low = dm_choose_u32(mask, (uint32_t)window, planes.low);
    planes.high = dm_choose_u32(mask, (uint32_t)(window >> 32), planes.high);
    return planes;
}

/* Colours of background and window, as if they were on. */
DM_FN dm_gb_two_planes dm_gb_ground(const uint8_t *ram, uint32_t pair, uint32_t word,
                                    dm_gb_both registers)
{
    uint32_t upper = dm_gb_view(registers.upper, 2u * pair, word);
    uint32_t lower = dm_gb_view(registers.lower, 2u * pair + 1u, word);
    uint32_t upper_left = 0, lower_left = 0; /* where the window begins within the word, or 0 */
    if (dm_gb_either_has(registers, DM_GB_LINE_WINDOW)) {
        const uint32_t x = word * 32u;
        upper_left = dm_gb_logged_window(registers.upper);
        lower_left = dm_gb_logged_window(registers.lower);
        upper = upper_left <= x ? dm_gb_window_view(registers.upper, word) : upper;
        lower = lower_left <= x ? dm_gb_window_view(registers.lower, word) : lower;
        upper_left = upper_left - x < 32u ? upper_left - x : 0u;
        lower_left = lower_left - x < 32u ? lower_left - x : 0u;
    }
    uint32_t rows[5];
    dm_gb_tile_rows(ram, upper, lower, rows);
    dm_gb_two_planes two = dm_gb_two_planes_of(rows, upper, lower);
    if (DM_UNLIKELY((upper_left | lower_left) != 0)) {
        if (upper_left != 0)
            two.upper = dm_gb_window_edge(ram, registers.upper, word, upper_left, two.upper);
        if (lower_left != 0)
            two.lower = dm_gb_window_edge(ram, registers.lower, word, lower_left, two.lower);
    }
    return two;
}

/* ---- Sprites ----
 * An entry of OAM is a word: y, x, tile, attributes. */

/* How far right of the word's left edge the sprite's right edge lies (which is its x); the sprite touches
 * the word if that is 1..39. */
DM_FN uint32_t dm_gb_entry_right(uint32_t entry, uint32_t word)
{
    return (entry >> 8 & 0xFFu) - word * 32u;
}

DM_FN bool dm_gb_entry_touches(uint32_t entry, uint32_t word)
{
    return dm_gb_entry_right(entry, word) - 1u < 39u;
}

/* Rows of sprites on a line; 0: it shows none. */
DM_FN uint32_t dm_gb_logged_height(uint64_t registers)
{
    if (!dm_gb_logged(registers) || !dm_gb_registers_have(registers, DM_GB_LINE_SPRITES))
        return 0;
    return dm_gb_registers_have(registers, DM_GB_LINE_TALL) ? 16u : 8u;
}

/* Is a sprite on the line whose number plus 16 is `bottom`? */
DM_FN bool dm_gb_entry_on(uint32_t entry, uint32_t bottom, uint32_t height)
{
    return bottom - (entry & 0xFFu) < height;
}

DM_FN uint32_t dm_gb_popcount64(uint64_t bits)
{
    return dm_popcount_u32((uint32_t)bits) + dm_popcount_u32((uint32_t)(bits >> 32));
}

DM_FN uint32_t dm_gb_lowest64(uint64_t bits)
{
    return (uint32_t)bits != 0 ? dm_ffs_u32((uint32_t)bits) - 1u
                               : dm_ffs_u32((uint32_t)(bits >> 32)) + 31u;
}

/* A line shows at most ten sprites: the first in OAM. */
DM_FN uint64_t dm_gb_first_ten(uint64_t sprites)
{
    uint64_t rest = sprites;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < 10u; i++)
        rest &= rest - 1u;
    return sprites ^ rest;
}

DM_FN dm_gb_both dm_gb_ten_each(dm_gb_both sprites)
{
    if (DM_UNLIKELY(dm_gb_popcount64(sprites.upper) > 10u ||
                    dm_gb_popcount64(sprites.lower) > 10u)) {
        sprites.upper = dm_gb_first_ten(sprites.upper);
        sprites.lower = dm_gb_first_ten(sprites.lower);
    }
    return sprites;
}

/* The sprites that the lines show, found by a lane alone. */
DM_FN dm_gb_both dm_gb_sprites_on(const uint8_t *ram, uint32_t pair, dm_gb_both registers)
{
    const uint32_t *entries = (const uint32_t *)(const void *)(ram + DM_GB_OAM);
    const uint32_t bottom = 2u * pair + 16u;
    const uint32_t upper = dm_gb_logged_height(registers.upper),
                   lower = dm_gb_logged_height(registers.lower);
    dm_gb_both on = {0, 0};
    if ((upper | lower) == 0)
        return on;
    DM_NO_UNROLL
    for (uint32_t i = 0; i < DM_GB_SPRITES; i += 8u) {
        uint32_t above = 0, below = 0;
        for (uint32_t k = 0; k < 8u; k++) {
            above |= dm_gb_entry_on(entries[i + k], bottom, upper) ? 1u << k : 0u;
            below |= dm_gb_entry_on(entries[i + k], bottom + 1u, lower) ? 1u << k : 0u;
        }
        on.upper |= (uint64_t)above << i;
        on.lower |= (uint64_t)below << i;
    }
    return dm_gb_ten_each(on);
}

/* Sprites over 32 pixels of a line: shades, where there are any, and where they lie behind the
 * background. Of two sprites over the same pixel the one with the smaller x is seen, which is the one
 * that shows a column further right in its own tile; of two with the same x the first in OAM. So
 * sprites can be added in the order of OAM if each pixel's column is stored: three planes. */
typedef struct dm_gb_layer {
    dm_gb_planes shades;
    uint32_t taken, behind, column[3];
} dm_gb_layer;

/* Add a sprite. */
DM_FN void dm_gb_layer_add(dm_gb_layer *layer, dm_gb_planes colours, const uint32_t column[3],
                           const dm_gb_shader *shader, uint32_t behind)
{
    const uint32_t bits = colours.low | colours.high;
    uint32_t seen = column[0] & ~layer->column[0];
    for (uint32_t i = 1; i < 3u; i++) /* where they differ the new one's bit decides */
        seen = dm_choose_u32(column[i] ^ layer->column[i], column[i], seen);
    seen = bits & (seen | ~layer->taken);
    layer->taken |= bits;
    for (uint32_t i = 0; i < 3u; i++)
        layer->column[i] = dm_choose_u32(seen, column[i], layer->column[i]);
    layer->behind = dm_choose_u32(seen, behind, layer->behind);
    layer->shades.low = dm_choose_u32(
        seen,
        dm_choose_u32(colours.high, dm_choose_u32(colours.low, shader->low[3], shader->low[2]),
                      shader->low[1]),
        layer->shades.low);
    layer->shades.high = dm_choose_u32(
        seen,
        dm_choose_u32(colours.high, dm_choose_u32(colours.low, shader->high[3], shader->high[2]),
                      shader->high[1]),
        layer->shades.high);
}

DM_FN void dm_gb_layer_lay(const dm_gb_layer *layer, uint32_t opaque, dm_gb_planes *shades)
{
    const uint32_t seen = layer->taken & ~(layer->behind & opaque);
    shades->low = dm_choose_u32(seen, layer->shades.low, shades->low);
    shades->high = dm_choose_u32(seen, layer->shades.high, shades->high);
}

/* The rows of a sprite that two lines show, the upper one with number `bottom` - 16: both planes of
 * each, the upper line's in bits 0..15. */
DM_FN uint32_t dm_gb_entry_rows(const uint8_t *ram, uint32_t entry, uint32_t bottom,
                                uint64_t registers)
{
    const uint32_t last = dm_gb_registers_have(registers, DM_GB_LINE_TALL) ? 15u : 7u;
    const uint32_t tile = entry >> 16 & 0xFFu & ~(last >> 3);
    const uint32_t flip = (entry >> 30 & 1u) != 0 ? last : 0u, row = bottom - entry;
    const void *rows = dm_element(ram + DM_GB_VRAM, tile, 16);
    const uint16_t *upper = (const uint16_t *)dm_element(rows, (row ^ flip) & last, 2);
    const uint16_t *lower = (const uint16_t *)dm_element(rows, ((row + 1u) ^ flip) & last, 2);
    const uint32_t above = *upper, below = *lower;
    return above | below << 16;
}

/* Eight pixels in their place in the word. */
DM_FN uint32_t dm_gb_entry_place(uint32_t byte, uint32_t right)
{
    return (uint32_t)((uint64_t)byte << 32 >> right);
}

/* Where background and window are not colour 0. */
DM_FN uint32_t dm_gb_opaque(uint64_t registers, dm_gb_planes ground)
{
    return (ground.low | ground.high) & (0u - ((uint32_t)registers & DM_GB_LINE_GROUND));
}

/* Draw sprites in one pass, with the height and the palettes of `registers`. */
DM_FN void dm_gb_lay_pass(const uint8_t *ram, uint32_t bottom, uint32_t word, uint64_t registers,
                          dm_gb_both sprites, dm_gb_layer *upper, dm_gb_layer *lower)
{
    const uint32_t *entries = (const uint32_t *)(const void *)(ram + DM_GB_OAM);
    DM_NO_UNROLL
    for (uint64_t left = sprites.upper | sprites.lower; left != 0; left &= left - 1u) {
        const uint32_t number = dm_gb_lowest64(left), entry = entries[number];
        const uint32_t right = dm_gb_entry_right(entry, word);
        if (right - 1u >= 39u)
            continue;
        uint32_t rows = dm_gb_entry_rows(ram, entry, bottom, registers);
        rows &= (sprites.upper >> number & 1u) != 0 ? 0xFFFFFFFFu : 0xFFFF0000u;
        rows &= (sprites.lower >> number & 1u) != 0 ? 0xFFFFFFFFu : 0x0000FFFFu;
        if ((entry >> 29 & 1u) != 0)
            rows = dm_byte_perm(dm_reverse_u32(rows), 0, 0x0123u);
        const uint32_t column[3] = {dm_gb_entry_place(0x55u, right),
                                    dm_gb_entry_place(0x33u, right),
                                    dm_gb_entry_place(0x0Fu, right)};
        const uint32_t behind = (entry >> 31) != 0 ? 0xFFFFFFFFu : 0u;
        const dm_gb_shader shader =
            dm_gb_shader_of((uint32_t)(registers >> 32) >> (entry >> 25 & 8u));
        dm_gb_planes colours;
        colours.low = dm_gb_entry_place(rows & 0xFFu, right);
        colours.high = dm_gb_entry_place(rows >> 8 & 0xFFu, right);
        dm_gb_layer_add(upper, colours, column, &shader, behind);
        colours.low = dm_gb_entry_place(rows >> 16 & 0xFFu, right);
        colours.high = dm_gb_entry_place(rows >> 24, right);
        dm_gb_layer_add(lower, colours, column, &shader, behind);
    }
}

/* Draw sprites over the shades of background and window, whose colours are in `ground`. Lines with
 * different heights or palettes of sprites take two passes. */
DM_FN void dm_gb_lay_sprites(const uint8_t *ram, uint32_t pair, uint32_t word, dm_gb_both registers,
                             dm_gb_both sprites, const dm_gb_two_planes *ground,
                             dm_gb_two_planes *two)
{
    const uint64_t differ =
        (registers.upper ^ registers.lower) & (0xFFFFull << 32 | DM_GB_LINE_TALL);
    dm_gb_layer upper = {{0, 0}, 0, 0, {0, 0, 0}}, lower = {{0, 0}, 0, 0, {0, 0, 0}};
    dm_gb_both now = sprites;
    uint64_t shown = registers.upper, second_pass = 0;
    if (DM_UNLIKELY(differ != 0)) {
        now.lower = 0;
        second_pass = sprites.lower;
    }
    DM_NO_UNROLL
    for (;;) {
        dm_gb_lay_pass(ram, 2u * pair + 16u, word, shown, now, &upper, &lower);
        if (DM_LIKELY(second_pass == 0))
            break;
        now.upper = 0;
        now.lower = second_pass;
        shown = registers.lower;
        second_pass = 0;
    }
    dm_gb_layer_lay(&upper, dm_gb_opaque(registers.upper, ground->upper), &two->upper);
    dm_gb_layer_lay(&lower, dm_gb_opaque(registers.lower, ground->lower), &two->lower);
}

/* ---- Words ---- */

/* Sixteen pixels: bytes 2 and 3 have those of the left tile, 0 and 1 those of the right one. Of
 * each two, the lower has pixels 0, 2, 4 and 6, the upper 1, 3, 5 and 7, two bits each, from the
 * highest down. */
DM_FN void dm_gb_store_half(uint8_t *out, uint32_t fields)
{
    const uint32_t six = fields >> 6 & 0x03030303u, four = fields >> 4 & 0x03030303u,
                   two = fields >> 2 & 0x03030303u, none = fields & 0x03030303u;
    dm_store_u32x4(out, dm_byte_perm(six, four, 0x7632u), dm_byte_perm(two, none, 0x7632u),
                   dm_byte_perm(six, four, 0x5410u), dm_byte_perm(two, none, 0x5410u));
}

/* Shades to bytes. */
DM_FN void dm_gb_store_word(uint8_t *out, dm_gb_planes shades)
{
    /* Fields of two bits: the pixels in even bits of the planes, and those left of them. */
    const uint32_t even = dm_choose_u32(0x55555555u, shades.low, shades.high << 1);
    const uint32_t odd = dm_choose_u32(0x55555555u, shades.low >> 1, shades.high);
    dm_gb_store_half(out, dm_byte_perm(odd, even, 0x7362u));
    dm_gb_store_half(out + 16, dm_byte_perm(odd, even, 0x5140u));
}

/* The shades of a word of the lines of a pair, as far as those are logged, with those of `sprites` that touch it. */
DM_FN dm_gb_two_planes dm_gb_word_shades(const uint8_t *ram, uint32_t pair, uint32_t word,
                                         dm_gb_both registers, dm_gb_both sprites)
{
    const dm_gb_two_planes ground = dm_gb_ground(ram, pair, word, registers);
    const uint32_t upper = dm_gb_ground_palette(registers.upper),
                   lower = dm_gb_ground_palette(registers.lower);
    dm_gb_two_planes two;
    dm_gb_shader shader = dm_gb_shader_of(upper);
    two.upper = dm_gb_shades_of(&shader, ground.upper);
    if (DM_UNLIKELY(upper != lower))
        shader = dm_gb_shader_of(lower);
    two.lower = dm_gb_shades_of(&shader, ground.lower);
    if ((sprites.upper | sprites.lower) != 0)
        dm_gb_lay_sprites(ram, pair, word, registers, sprites, &ground, &two);
    return two;
}

/* Store a word of the lines that are logged, to `out` and the line below. */
DM_FN_SLOW void dm_gb_store_logged(uint8_t *out, dm_gb_both registers, dm_gb_two_planes two)
{
    if (dm_gb_logged(registers.upper))
        dm_gb_store_word(out, two.upper);
    if (dm_gb_logged(registers.lower))
        dm_gb_store_word(out + DM_GB_SCREEN_W, two.lower);
}

#endif
