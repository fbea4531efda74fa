/* SPDX-License-Identifier: MIT */
/* Lines made dot by dot (fifo.h) against lines made at once (draw.h): with no write in mode 3 both
 * must give the same pixels and the same length. And that a line in pieces is the line in one go.
 */
#include "gb/cpu/run.h"
#include "gb/host/core.h"
#include "support/test.h"

#include <string.h>

#define W DM_GB_SCREEN_W

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

static dm_gb *make(void)
{
    static uint8_t rom[0x8000];
    dm_gb *gb = NULL;
    assert_ok(dm_gb_create(rom, sizeof rom, NULL, &gb, err));
    return gb;
}

/* A random line, just before its mode 3. */
static void random_line(dm_gb *gb)
{
    dm_gb_ppu *ppu = &gb->machine.ppu;
    for (unsigned i = 0; i < 0x2000; i++)
        gb->ram[DM_GB_VRAM + i] = byte();
    memset(ppu, 0, sizeof *ppu);
    ppu->lcdc = (uint8_t)(0x80 | byte());
    ppu->scx = byte(), ppu->scy = byte();
    ppu->bgp = byte(), ppu->obp0 = byte(), ppu->obp1 = byte();
    ppu->wx = (uint8_t)(below(2) ? below(16) : below(166)); /* 166 is not draw.h's */
    ppu->line = (uint8_t)below(144);
    ppu->first_line = below(8) == 0;
    ppu->window_on = below(2) == 0;
    ppu->window_line = (uint8_t)below(ppu->line + 1u);
    ppu->drawing = 1;
    unsigned count = below(2) ? 0 : below(41), columns = 1 + below(176);
    for (unsigned i = 0; i < 40; i++) {
        uint8_t *sprite = gb->ram + DM_GB_OAM + 4 * i;
        sprite[0] = (uint8_t)(i < count ? ppu->line + 16u - below(8) : 200);
        sprite[1] = (uint8_t)below(columns);
        sprite[2] = byte(), sprite[3] = byte();
    }
}

static void undisturbed_lines_are_alike(void **state)
{
    (void)state;
    dm_gb *gb = make();
    dm_gb_ppu *ppu = &gb->machine.ppu;
    seed = 1;
    for (unsigned n = 0; n < 20000; n++) {
        random_line(gb);
        uint8_t at_once[W], by_dot[W];
        uint32_t end = dm_gb_mode0_dot(&gb->context);
        dm_gb_draw_line(&gb->context);
        memcpy(at_once, dm_gb_back_line(&gb->context, ppu), W);
        dm_gb_fifo_begin(ppu, &ppu->fifo);
        dm_gb_fifo_run(&gb->context, &ppu->fifo, DM_GB_LINE_CYCLES, by_dot);
        if (ppu->fifo.dot != end || memcmp(at_once, by_dot, W) != 0) {
            unsigned x = 0;
            while (x < W && at_once[x] == by_dot[x])
                x++;
            fail_msg("line %u: mode 3 ends at %u, by dots %u; differs at %u; LCDC %02X SCX %u "
                     "WX %u window %u sprites %u first at %u, first line %u",
                     n, end, ppu->fifo.dot, x, ppu->lcdc, ppu->scx, ppu->wx, ppu->window_on,
                     ppu->sprites, ppu->sprite_x[0], ppu->first_line);
        }
    }
    dm_gb_destroy(gb);
}

/* However a line is cut, with the same changes at the same dots it comes out the same. */
static void pieces_make_the_same_line(void **state)
{
    (void)state;
    dm_gb *gb = make();
    dm_gb_ppu *ppu = &gb->machine.ppu;
    seed = 2;
    for (unsigned n = 0; n < 5000; n++) {
        random_line(gb);
        unsigned change = 85 + below(200);
        uint8_t lcdc = (uint8_t)(0x80 | byte()), scx = byte();
        dm_gb_fifo results[2];
        uint8_t lines[2][W];
        dm_gb_ppu before = *ppu;
        for (unsigned cut = 0; cut < 2; cut++) {
            *ppu = before;
            dm_gb_fifo_begin(ppu, &ppu->fifo);
            for (unsigned dot = 80; cut == 1 && dot < change; dot += 1 + below(9)) {
                dm_gb_fifo_run(&gb->context, &ppu->fifo, dot, lines[cut]);
                dm_gb_fifo_end(&gb->context); /* looking ahead changes nothing */
            }
            dm_gb_fifo_run(&gb->context, &ppu->fifo, change, lines[cut]);
            ppu->lcdc = lcdc, ppu->scx = scx;
            uint32_t end = dm_gb_fifo_end(&gb->context);
            dm_gb_fifo_run(&gb->context, &ppu->fifo, DM_GB_LINE_CYCLES, lines[cut]);
            assert_int_equal(end, ppu->fifo.dot);
            results[cut] = ppu->fifo;
        }
        assert_memory_equal(&results[0], &results[1], sizeof results[0]);
        assert_memory_equal(lines[0], lines[1], W);
    }
    dm_gb_destroy(gb);
}

/* Line 2 without sprites or window, SCX as given; where mode 3 ends when a register is written at
 * an access in dot `dot`. */
static uint32_t end_after_write(dm_gb *gb, uint8_t scx, uint16_t address, uint8_t value,
                                uint32_t dot)
{
    dm_gb_ppu *ppu = &gb->machine.ppu;
    memset(ppu, 0, sizeof *ppu);
    ppu->lcdc = 0xB1, ppu->scx = scx, ppu->wy = 0xFF, ppu->wx = 0x0F;
    ppu->line = 2, ppu->edge = 2, ppu->next_dot = 84;
    ppu->scanned = DM_GB_SPRITES;
    ppu->line_start = gb->machine.clock - dot;
    dm_gb_ppu_write(&gb->context, gb->machine.clock, address, value);
    return dm_gb_mode0_dot(&gb->context);
}

/* The last dot in which a write still makes mode 3 longer, as gambatte's window/arg/late_wy,
 * scx_during_m3/scx_m3_extend and enable_display/ly0_late_scx7 bracket it. */
static void late_writes(void **state)
{
    (void)state;
    static const struct {
        uint16_t address;
        uint8_t value, scx;
        uint32_t last, before, after; /* the dot; the end of mode 3 up to it, and from there on */
    } cases[] = {
        {0xFF43, 7, 0, 90, 263, 256}, {0xFF43, 7, 3, 93, 263, 259}, {0xFF4A, 2, 0, 104, 262, 256}};
    dm_gb *gb = make();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t dot = 88; dot < 140; dot++) {
            uint32_t wanted = dot <= cases[i].last ? cases[i].before : cases[i].after;
            uint32_t end = end_after_write(gb, cases[i].scx, cases[i].address, cases[i].value, dot);
            if (end != wanted)
                fail_msg("%04X written in dot %u, SCX %u: mode 3 ends at %u, not %u",
                         cases[i].address, dot, cases[i].scx, end, wanted);
        }
    dm_gb_destroy(gb);
}

DM_TESTS("gb/fifo", DM_TEST(undisturbed_lines_are_alike), DM_TEST(pieces_make_the_same_line),
         DM_TEST(late_writes))
