/* SPDX-License-Identifier: MIT */
/* The GPU's way to draw (gb/simt/render_words.h, gb/simt/render.h) against the CPU's (gb/machine/draw.h), and the
 * packed pixels that come with it against those of the picture (gb/half_size.h): memory and
 * registers of each line at random, by a lane alone and by a warp. Lines that are not noted keep
 * what they show. */
#include "gb/batch.h"
#include "gb/half_size.h"
#include "tests/gb/block/kernels.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

#include <string.h>

#define W DM_GB_SCREEN_W
#define H DM_GB_SCREEN_H

static dm_test_random numbers;

static unsigned below(unsigned bound)
{
    return dm_test_random_below(&numbers, bound);
}

static uint8_t byte(void)
{
    return dm_test_random_byte(&numbers);
}

typedef struct scene {
    _Alignas(64) uint8_t ram[DM_GB_CART_RAM];
    _Alignas(64) uint8_t noted[W * H], wanted[W * H], drawn[W * H], packed[DM_GB_PACKED_SIZE];
    dm_gb_machine machine;
    uint8_t registers[H][8]; /* as a note has them */
} scene;

static scene s;

static void fill_memory(void)
{
    uint8_t *vram = s.ram + DM_GB_VRAM, *oam = s.ram + DM_GB_OAM;
    const bool holes = below(2) == 0; /* more of colour 0, so that layers show through each other */
    for (int i = 0; i < 0x2000; i++)
        vram[i] = (uint8_t)(byte() & (holes && i < 0x1800 ? byte() : 0xFF));
    const unsigned rows = 1 + below(160), columns = 1 + below(170);
    const unsigned top = below(170), left = below(170);
    const bool hidden = below(8) == 0;
    for (int i = 0; i < 40; i++) {
        oam[4 * i] = hidden ? 0 : (uint8_t)(top + below(rows));
        oam[4 * i + 1] = (uint8_t)(left + below(columns));
        oam[4 * i + 2] = byte();
        oam[4 * i + 3] = byte();
    }
}

/* Registers change rarely, sometimes or at every line, as games go. */
static void choose_registers(unsigned often)
{
    uint8_t now[8] = {0};
    for (int i = 0; i < 8; i++)
        now[i] = byte();
    now[0] |= below(4) != 0 ? 0x23 : 0;
    now[1] &= below(2) == 0 ? 0xFE : 0xFF;
    for (int line = 0; line < H; line++) {
        if (below(100) < often)
            now[below(8)] = byte();
        if (below(100) < often)
            now[6] = (uint8_t)(below(2) == 0 ? below(12) : 150 + below(20));
        memcpy(s.registers[line], now, 8);
        now[7] = (uint8_t)(now[7] + ((now[0] & 0x20) != 0 ? 1 : 0));
    }
}

/* The lines that are noted, in `noted`, and the whole picture as the CPU draws it, in `wanted`. */
static void make_scene(unsigned often)
{
    fill_memory();
    choose_registers(often);
    for (int i = 0; i < W * H; i++)
        s.noted[i] = s.wanted[i] = (uint8_t)below(4);
    dm_gb_context context = {.m = &s.machine, .ram = s.ram, .frames = s.wanted};
    const unsigned kept = below(3) == 0 ? 90 : 100;
    for (int line = 0; line < H; line++) {
        if (below(100) >= kept)
            continue;
        uint8_t *registers = s.registers[line];
        registers[0] |= 0x80;
        memcpy(s.noted + line * W, registers, 8);
        s.machine.ppu = (dm_gb_ppu){.front = 1,
                                    .line = (uint8_t)line,
                                    .lcdc = registers[0],
                                    .scy = registers[1],
                                    .scx = registers[2],
                                    .bgp = registers[3],
                                    .obp0 = registers[4],
                                    .obp1 = registers[5],
                                    .wx = registers[6],
                                    .window_line = registers[7],
                                    .window_on = (registers[0] & 0x20) != 0};
        dm_gb_sprite_count(&context);
        dm_gb_draw_spans(&context, &s.machine.ppu);
    }
}

static void compare(unsigned scene_number)
{
    for (int i = 0; i < W * H; i++)
        if (s.drawn[i] != s.wanted[i]) {
            const uint8_t *r = s.registers[i / W];
            fail_msg("scene %u, line %d, x %d: shade %d, should be %d (LCDC %02X SCY %d SCX %d BGP "
                     "%02X OBP %02X %02X WX %d, line of the window %d)",
                     scene_number, i / W, i % W, s.drawn[i], s.wanted[i], (unsigned)r[0], r[1],
                     r[2], (unsigned)r[3], (unsigned)r[4], (unsigned)r[5], r[6], r[7]);
        }
}

static void compare_packed(unsigned scene_number)
{
    for (uint32_t i = 0; i < DM_GB_SMALL_SIZE; i++) {
        const uint32_t wanted = (dm_gb_square(dm_gb_square_at(s.wanted, i)) + 2u) / 4u;
        const uint32_t packed = (uint32_t)s.packed[i / 4u] >> i % 4u * 2u & 3u;
        if (packed != wanted)
            fail_msg("scene %u, small pixel %u: %u, should be %u", scene_number, i, packed, wanted);
    }
}

static const unsigned how_often[] = {0, 3, 40};

static void lines_are_drawn_alone(void **state)
{
    (void)state;
    numbers = dm_test_random_make(1, 0);
    for (unsigned i = 0; i < 300; i++) {
        make_scene(how_often[i % 3]);
        memcpy(s.drawn, s.noted, sizeof s.drawn);
        const unsigned middle = below(H + 1); /* in two goes, whose border may split a pair */
        dm_test_render_alone(s.ram, s.drawn, 0, middle);
        dm_test_render_alone(s.ram, s.drawn, middle, H);
        compare(i);
    }
}

static void pictures_are_drawn_by_a_warp(void **state)
{
    (void)state;
    numbers = dm_test_random_make(2, 0);
    for (unsigned i = 0; i < 300; i++) {
        make_scene(how_often[i % 3]);
        memcpy(s.drawn, s.noted, sizeof s.drawn);
        memset(s.packed, 0xA5, sizeof s.packed);
        dm_test_render_warp(s.ram, s.drawn, s.packed);
        compare(i);
        compare_packed(i);
    }
}

static void packed_pixels_are_made_on_request(void **state)
{
    (void)state;
    numbers = dm_test_random_make(3, 0);
    make_scene(3);
    memcpy(s.drawn, s.noted, sizeof s.drawn);
    dm_test_render_warp(s.ram, s.drawn, NULL);
    compare(0);
}

DM_TESTS("gb/render", DM_TEST(lines_are_drawn_alone), DM_TEST(pictures_are_drawn_by_a_warp),
         DM_TEST(packed_pixels_are_made_on_request))
