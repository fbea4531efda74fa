/* SPDX-License-Identifier: MIT */
/* Drawing, against the same picture made pixel by pixel from the rules in Pan Docs ("Rendering",
 * "Scrolling", "OAM"): slow, plain, without spans, words of eight pixels or state between pixels.
 *
 * Contents are random, with the values that matter more often than chance would have them. Either
 * nothing changes during a frame, or one register changes in each HBlank, written by an interrupt
 * handler from a list. Changes in the middle of a line are the business of the public test ROMs. */
#include "gb/host/core.h"
#include "romtools/asm.h"
#include "tests/support/test.h"

#include <string.h>

#define W DM_GB_SCREEN_W
#define H DM_GB_SCREEN_H

enum { LCDC = 0xFF40, SCY = 0xFF42, SCX, BGP = 0xFF47, OBP0, OBP1, WY, WX };

/* ---- The reference ---- */

/* A frame's registers as they are while its present line is drawn, and the window's two memories.
 */
typedef struct reference {
    const uint8_t *vram, *oam;
    uint8_t lcdc, scy, scx, bgp, obp0, obp1, wy, wx;
    bool window_on;   /* WY has matched in this frame */
    int window_lines; /* how many lines of the window have been shown */
    bool carried;     /* WX was 166 on the line before: this one begins in the window */
} reference;

static int colour_of(const uint8_t *row, int x)
{
    return ((row[0] >> (7 - x)) & 1) | ((row[1] >> (7 - x)) & 1) << 1;
}

static int shade_of(int palette, int colour)
{
    return (palette >> (2 * colour)) & 3;
}

static bool window_shown(const reference *r)
{
    return r->window_on && (r->lcdc & 0x20) != 0 && r->wx < 166;
}

/* Colour of a map of 256 x 256 pixels. */
static int map_colour(const reference *r, bool high_map, int x, int y)
{
    int number = r->vram[(high_map ? 0x1C00 : 0x1800) + ((y & 255) / 8) * 32 + (x & 255) / 8];
    int tile = r->lcdc & 0x10 ? number * 16 : 0x1000 + (int8_t)number * 16;
    return colour_of(r->vram + tile + (y & 7) * 2, x & 7);
}

static int ground_colour(const reference *r, int x, int line)
{
    if ((r->lcdc & 1) == 0)
        return 0;
    if (r->carried && (r->lcdc & 0x20) != 0) {
        /* From the second tile on, moved by SCX mod 8; where WX matches at the start of a tile, a
         * pixel of colour 0 comes in. */
        if (x + 7 == r->wx && (x + r->scx) % 8 == 0)
            return 0;
        return map_colour(r, r->lcdc & 0x40, 8 + x + (r->scx & 7), r->window_lines - 1);
    }
    if (window_shown(r) && x + 7 >= r->wx)
        return map_colour(r, r->lcdc & 0x40, x + 7 - r->wx, r->window_lines);
    return map_colour(r, r->lcdc & 8, x + r->scx, line + r->scy);
}

/* The first ten sprites on a line, by their place in OAM. */
static int sprites_of(const reference *r, int line, int numbers[10])
{
    int count = 0, height = r->lcdc & 4 ? 16 : 8;
    for (int i = 0; i < 40 && count < 10; i++) {
        int top = r->oam[4 * i] - 16;
        if (line >= top && line < top + height)
            numbers[count++] = i;
    }
    return count;
}

static int sprite_colour(const reference *r, int number, int x, int line)
{
    const uint8_t *sprite = r->oam + 4 * number;
    int height = r->lcdc & 4 ? 16 : 8;
    int column = x - (sprite[1] - 8), row = line - (sprite[0] - 16);
    if (column < 0 || column > 7)
        return 0;
    if (sprite[3] & 0x20)
        column = 7 - column;
    if (sprite[3] & 0x40)
        row = height - 1 - row;
    int tile = height == 16 ? sprite[2] & 0xFE : sprite[2];
    return colour_of(r->vram + tile * 16 + row * 2, column);
}

static int pixel(const reference *r, const int *numbers, int count, int x, int line)
{
    int ground = ground_colour(r, x, line);
    int best = -1, colour = 0;
    for (int i = 0; i < count; i++) {
        int c = sprite_colour(r, numbers[i], x, line);
        /* Smaller x wins, then the earlier place. */
        if (c != 0 && (best < 0 || r->oam[4 * numbers[i] + 1] < r->oam[4 * best + 1])) {
            best = numbers[i];
            colour = c;
        }
    }
    if (best >= 0 && (r->lcdc & 2) != 0) {
        int attributes = r->oam[4 * best + 3];
        if ((attributes & 0x80) == 0 || ground == 0)
            return shade_of(attributes & 0x10 ? r->obp1 : r->obp0, colour);
    }
    return shade_of(r->bgp, ground);
}

/* Does WY match now? Looked at where a line begins, and whenever LCDC or WY is written. */
static void look_at_wy(reference *r, int line)
{
    if ((r->lcdc & 0x20) != 0 && r->wy == line)
        r->window_on = true;
}

static void draw_line(reference *r, int line, uint8_t *shades)
{
    int numbers[10];
    look_at_wy(r, line);
    int count = sprites_of(r, line, numbers);
    for (int x = 0; x < W; x++)
        shades[x] = (uint8_t)pixel(r, numbers, count, x, line);
    bool last_pixel = r->window_on && (r->lcdc & 0x20) != 0 && r->wx == 166;
    if (last_pixel)
        r->window_lines += r->carried ? 1 : 2;
    else if (window_shown(r) && !r->carried)
        r->window_lines++;
    r->carried = last_pixel;
}

static void write_register(reference *r, int address, uint8_t value, int line)
{
    switch (address) {
    case LCDC:
        r->lcdc = value;
        break;
    case SCY:
        r->scy = value;
        break;
    case SCX:
        r->scx = value;
        break;
    case BGP:
        r->bgp = value;
        break;
    case OBP0:
        r->obp0 = value;
        break;
    case OBP1:
        r->obp1 = value;
        break;
    case WY:
        r->wy = value;
        break;
    default:
        r->wx = value;
        break;
    }
    if (address == LCDC || address == WY)
        look_at_wy(r, line);
}

/* ---- Random contents ---- */

static uint32_t seed;

static unsigned below(unsigned bound)
{
    seed = seed * 1664525u + 1013904223u;
    return (unsigned)(((uint64_t)seed * bound) >> 32);
}

static uint8_t byte(void)
{
    return (uint8_t)below(256);
}

static const uint16_t registers[] = {LCDC, SCY, SCX, BGP, OBP0, OBP1, WY, WX};
#define REGISTERS (sizeof registers / sizeof registers[0])

static uint8_t value_for(int address, int line)
{
    switch (address) {
    case LCDC: /* on; mostly with background, window and sprites */
        return (uint8_t)(0x80 | byte() | (below(4) != 0 ? 0x23 : 0));
    case WY:
        return below(3) == 0 ? byte() : (uint8_t)(line + (int)below(12) - 2);
    case WX:
        if (below(8) == 0)
            return 166;
        return (uint8_t)(below(3) == 0 ? below(10) : below(2) == 0 ? 158 + below(12) : below(256));
    default:
        return byte();
    }
}

static void fill_memory(uint8_t *ram)
{
    uint8_t *vram = ram + DM_GB_VRAM, *oam = ram + DM_GB_OAM;
    bool holes = below(2) == 0; /* more of colour 0, so that layers show through each other */
    for (int i = 0; i < 0x2000; i++)
        vram[i] = (uint8_t)(byte() & (holes && i < 0x1800 ? byte() : 0xFF));
    unsigned rows = 1 + below(160), columns = 1 + below(170);
    unsigned top = below(170), left = below(170);
    for (int i = 0; i < 40; i++) {
        oam[4 * i] = (uint8_t)(top + below(rows));
        oam[4 * i + 1] = (uint8_t)(left + below(columns));
        oam[4 * i + 2] = byte();
        oam[4 * i + 3] = byte();
    }
}

static dm_gb *make(const char *source)
{
    dm_gb_asm_result rom;
    dm_gb *gb = NULL;
    assert_ok(dm_gb_asm_text("draw", source, strlen(source), NULL, &rom, err));
    assert_ok(dm_gb_create(rom.rom, rom.rom_size, NULL, &gb, err));
    dm_gb_asm_result_deinit(&rom);
    return gb;
}

static reference start(dm_gb *gb)
{
    reference r = {.vram = gb->ram + DM_GB_VRAM,
                   .oam = gb->ram + DM_GB_OAM,
                   .carried = gb->machine.ppu.window_carry != 0};
    r.window_lines = r.carried; /* line 0 begins in the window's first line */
    for (size_t i = 0; i < REGISTERS; i++) {
        uint8_t value = value_for(registers[i], (int)below(144));
        dm_gb_poke(gb, registers[i], value);
        write_register(&r, registers[i], value, -1);
    }
    return r;
}

static void compare_line(unsigned frame, int line, const uint8_t *drawn, const uint8_t *wanted,
                         const reference *r, bool carried)
{
    /* The pixel that comes in moves the rest of the line, unless it is the last; WX = 247 matches
     * where the line's first pixels are dropped. */
    if (carried && r->wx != 166 && ((r->wx + r->scx + 1) % 8 == 0 || r->wx == 247))
        return;
    /* A window that is switched off leaves a pixel behind; with WX = 0 it moves with SCX: fifo.h.
     */
    if (r->window_on && r->wx == 0)
        return;
    if (r->window_on && (r->lcdc & 0x20) == 0 && r->wx <= 167 && (r->wx + r->scx + 1) % 8 == 0)
        return;
    for (int x = 0; x < W; x++)
        if (drawn[x] != wanted[x])
            fail_msg("frame %u, line %d, x %d: shade %d, should be %d (LCDC %02X SCX %d SCY %d "
                     "WX %d WY %d)",
                     frame, line, x, drawn[x], wanted[x], (unsigned)r->lcdc, r->scx, r->scy, r->wx,
                     r->wy);
}

/* ---- Tests ---- */

static void undisturbed_frames_are_right(void **state)
{
    (void)state;
    dm_gb *gb = make("HEADER \"DRAW\", ROM\n"
                     "SECTION \"entry\", ROM0[$100]\n di\n jp Main\n"
                     "SECTION \"main\", ROM0[$150]\nMain: jr Main\n");
    seed = 1;
    /* A frame of cycles begins and ends on line 153: contents are exchanged there. */
    for (unsigned frame = 0; frame < 3000; frame++) {
        fill_memory(gb->ram);
        reference r = start(gb);
        dm_gb_run_frames(gb, 1, DM_GB_DRAW_ALWAYS);
        const uint8_t *picture = dm_gb_frame(gb);
        assert_int_equal(gb->machine.ppu.line, 153);
        for (int line = 0; line < H; line++) {
            uint8_t shades[W];
            bool carried = r.carried;
            draw_line(&r, line, shades);
            compare_line(frame, line, picture + line * W, shades, &r, carried);
        }
    }
    dm_gb_destroy(gb);
}

/* The handler writes one register in each HBlank: address and value from a list at C000. With ten
 * sprites, the window and SCX mod 8 = 7 it still ends before the line does. */
static void registers_may_change_between_lines(void **state)
{
    (void)state;
    dm_gb *gb = make("HEADER \"DRAW\", ROM\n"
                     "SECTION \"vblank\", ROM0[$40]\n ld hl, $C000\n reti\n"
                     "SECTION \"stat\", ROM0[$48]\n"
                     " ld a, [hl+]\n ld c, a\n ld a, [hl+]\n ldh [c], a\n reti\n"
                     "SECTION \"entry\", ROM0[$100]\n jp Main\n"
                     "SECTION \"main\", ROM0[$150]\n"
                     "Main: ld a, $08\n ldh [$FF41], a\n ld a, 3\n ldh [$FFFF], a\n"
                     " ld hl, $C000\n xor a\n ldh [$FF0F], a\n ei\n"
                     "Wait: halt\n nop\n jr Wait\n");
    seed = 2;
    dm_gb_run_frames(gb, 2, DM_GB_DRAW_NEVER);
    for (unsigned frame = 0; frame < 2000; frame++) {
        uint8_t *list = gb->ram + DM_GB_WRAM;
        fill_memory(gb->ram);
        reference r = start(gb);
        for (int line = 0; line < H; line++) {
            uint16_t address = registers[below(REGISTERS)];
            list[2 * line] = (uint8_t)address;
            list[2 * line + 1] = value_for(address, line);
        }
        dm_gb_run_frames(gb, 1, DM_GB_DRAW_ALWAYS);
        const uint8_t *picture = dm_gb_frame(gb);
        assert_int_equal(gb->machine.ppu.line, 153);
        for (int line = 0; line < H; line++) {
            uint8_t shades[W];
            bool carried = r.carried;
            draw_line(&r, line, shades);
            compare_line(frame, line, picture + line * W, shades, &r, carried);
            write_register(&r, 0xFF00 | list[2 * line], list[2 * line + 1], line);
        }
    }
    dm_gb_destroy(gb);
}

DM_TESTS("gb/draw", DM_TEST(undisturbed_frames_are_right),
         DM_TEST(registers_may_change_between_lines))
