/* SPDX-License-Identifier: MIT */
/* The fast path (gb/simt/fast.h) beside the CPU's loop, in slices of any length: on our ROMs, on
 * generated programs, some of which do little else than meet devices or wait, and on the games of
 * the folder $DM_TEST_GAMES (or $DM_TEST_ROMS/games) where there is one. Every byte of state and
 * memory and every picture is the same, also when the CPU leaves no idle loop out. */
#include "gb/simt/predecode.h"
#include "gb/simt/uop_decode.h"
#include "tests/gb/block/twin.h"
#include "tests/support/random.h"
#include "tests/support/rom_cases.h"
#include "tests/support/snippets.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

/* Under the address sanitizer all of this takes ten minutes and more; a fifth of the seeds is enough there. */
#ifdef __SANITIZE_ADDRESS__
#define SEEDS(count) (((count) + 4) / 5)
#else
#define SEEDS(count) (count)
#endif
#define PROGRAM_SEEDS SEEDS(40)
#define OWN_FRAMES 40
#define GAME_FRAMES 400
#define DEVICE_SEEDS SEEDS(50)
#define DEVICE_FRAMES 8
#define WAITING_SEEDS SEEDS(70)
#define WAITING_FRAMES 10
#define PICTURE_SEEDS SEEDS(60)
#define PICTURE_FRAMES 12
#define TRANSFER_SEEDS SEEDS(70)
#define TRANSFER_FRAMES 6

/* Do packed pixels say what is on the screen? */
static bool packed_is_right(const dm_twin *t, dm_gb *gb)
{
    const uint8_t *picture = dm_gb_frame(gb), *packed = (const uint8_t *)t->packed;
    for (uint32_t i = 0; i < DM_SWARM_SMALL; i++) {
        const uint8_t *at =
            picture + i / DM_GB_SMALL_W * 2u * DM_GB_SCREEN_W + i % DM_GB_SMALL_W * 2u;
        const uint32_t sum = (uint32_t)at[0] + at[1] + at[DM_GB_SCREEN_W] + at[DM_GB_SCREEN_W + 1];
        if (((uint32_t)packed[i / 4u] >> i % 4u * 2u & 3u) != (sum + 2u) / 4u)
            return false;
    }
    return true;
}

static uint32_t run_length(dm_test_random *random)
{
    static const uint32_t steps[] = {1, 2, 24};
    if (dm_test_random_chance(random, 10))
        return steps[dm_test_random_below(random, 3)] * DM_GB_FRAME_CYCLES;
    return 1u + dm_test_random_below(
                    random, dm_test_random_chance(random, 20) ? 400 : 3 * DM_GB_FRAME_CYCLES);
}

/* Two machines side by side; ends the test at the first difference. */
static void compare(const char *name, const void *rom, size_t size, uint32_t frames, uint64_t seed)
{
    dm_gb *gb;
    dm_test_random random = dm_test_random_make(seed, 11);
    const uint8_t draw = dm_test_random_chance(&random, 40)   ? DM_GB_DRAW_NEVER
                         : dm_test_random_chance(&random, 50) ? DM_GB_DRAW_ALWAYS
                                                              : DM_GB_DRAW_LAST;
    const bool draws = draw != DM_GB_DRAW_NEVER;
    const dm_gb_options options = {.keep_idle_loops = dm_test_random_chance(&random, 50)};
    /* On the host lanes that wait cost as much as those that work: mostly a machine has a warp alone. */
    const bool alone = dm_test_random_chance(&random, 60);
    const dm_block_mode *mode =
        &dm_block_modes[alone ? 0 : dm_test_random_below(&random, DM_BLOCK_MODES)];
    assert_ok(dm_gb_create(rom, size, &options, &gb, err));
    dm_twin *t = dm_twin_create(gb, mode, dm_test_random_chance(&random, 80));
    for (uint64_t done = 0, end = (uint64_t)frames * DM_GB_FRAME_CYCLES; done < end;) {
        const uint32_t cycles = run_length(&random);
        uint8_t keys = dm_test_random_chance(&random, 50) ? 0 : dm_test_random_byte(&random);
        dm_gb_set_keys(gb, keys);
        dm_gb_run_cycles(gb, cycles, (enum dm_gb_draw)draw);
        dm_twin_run(t, mode, cycles, draw, keys);
        done += cycles;
        const unsigned at = (unsigned)(done / DM_GB_FRAME_CYCLES);
        if (memcmp(&t->m, &gb->machine, sizeof t->m) != 0)
            fail_msg("%s, %s, frame %u: the states differ; PC %04X and %04X", name, mode->name, at,
                     t->m.cpu.pc, gb->machine.cpu.pc);
        if (memcmp(t->ram, gb->ram, gb->ram_size) != 0)
            fail_msg("%s, %s, frame %u: memory differs; PC %04X", name, mode->name, at,
                     t->m.cpu.pc);
        if (draws && memcmp(t->pictures, gb->frames, sizeof t->pictures) != 0)
            fail_msg("%s, %s, frame %u: the pictures differ", name, mode->name, at);
        if (draws && !packed_is_right(t, gb))
            fail_msg("%s, %s, frame %u: the packed pixels differ", name, mode->name, at);
    }
    dm_twin_destroy(t);
    dm_gb_destroy(gb);
}

/* Once with pictures and once without, or nearly: the seed decides. */
static void compare_twice(const char *name, const void *rom, size_t size, uint32_t frames,
                          uint64_t seed)
{
    compare(name, rom, size, frames, 2 * seed);
    compare(name, rom, size, frames, 2 * seed + 1);
}

DM_ROM_TEST(our_roms, dm_each_own_rom(compare_twice, OWN_FRAMES))
DM_ROM_TEST(programs, dm_each_program(compare, 6, PROGRAM_SEEDS))
DM_ROM_TEST(devices, dm_each_device_program(compare, DEVICE_FRAMES, DEVICE_SEEDS))
DM_ROM_TEST(waiting, dm_each_waiting_program(compare, WAITING_FRAMES, WAITING_SEEDS))

/* A loop at 0150. */
static void compare_code(const char *name, const uint8_t *code, size_t size)
{
    static uint8_t rom[0x8000];
    memset(rom, 0, sizeof rom);
    memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
    memcpy(rom + 0x150, code, size);
    for (uint64_t seed = 0; seed < 8; seed++)
        compare(name, rom, sizeof rom, 4, seed);
}

/* HALT with a request pending and IME 0 (the HALT bug): the byte behind it is read twice, as an instruction of one
 * byte, as an opcode and its operand, and behind CB. */
static void halt_bug(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0xF3, 0x21, 0x00, 0xC0, 0x3E, 0x04, 0xE0, 0xFF, 0xE0, 0x0F, /* IE and IF: the timer */
        0x76, 0x04, 0x78, 0x22,                                     /* B goes up by two */
        0x76, 0x3E, 0x14, 0x22, 0x7A, 0x22,                         /* A is 3E, and D goes up */
        0x76, 0xCB, 0x37, 0xF5, 0xC1, 0x79, 0x22, 0x18, 0xE3,       /* SET 1,E, then SCF */
    };
    compare_code("HALT bug", code, sizeof code);
}

/* Three passes make a round, two of which begin with the same registers; what the third writes
 * counts, although the pass before the skip wrote what it had written a round ago. */
static void rounds(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0xF0, 0x80, 0x3C, 0xFE, 0x03, 0x20, 0x01, 0xAF, 0xE0, 0x80, /* FF80: 0, 1, 2, 0 ... */
        0xFE, 0x01, 0x20, 0x04, 0x21, 0x00, 0xC1, 0x34,             /* at 1 C100 goes up */
        0xF0, 0x80, 0xE6, 0x01, 0x18, 0xE8,                         /* A: 0, 1, 0, 0 ... */
    };
    compare_code("rounds", code, sizeof code);
}

/* Two passes take turns that write the same values to other places: 9 bytes further on, 9 back, 679
 * and 601 further on. Sums of products alone would not tell them apart (dm_gb_fast_mix_write). */
static void places(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0xFA, 0x00, 0xC1, 0xB7, 0x20, 0x13, /* which one? */
        0x3E, 0x01, 0xEA, 0x00, 0xC1, 0xAF, 0xEA, 0x09, 0xC1, 0x3E,
        0x01, 0xEA, 0x00, 0xC2, 0xEA, 0x00, 0xC8, 0x18, 0xE7, /* C100, C109, C200, C800 */
        0x3E, 0x01, 0xEA, 0x09, 0xC1, 0xAF, 0xEA, 0x00, 0xC1, 0x3E,
        0x01, 0xEA, 0xA7, 0xC4, 0xEA, 0x59, 0xCA, 0x18, 0xD4, /* C109, C100, C4A7, CA59 */
    };
    compare_code("places", code, sizeof code);
}

/* Every line is waited for in each way, from some other time of a line each time, and now and then
 * by who jumps into the loop with flags that say nothing of LY. */
static void lines(void **state)
{
    (void)state;
    static const uint8_t jumps[] = {0x20, 0x38, 0x30, 0x30}; /* JR NZ, C, NC */
    static uint8_t rom[0x8000];
    for (uint32_t i = 0; i < 4; i++) {
        const bool off = i == 3; /* then only what does not wait for ever */
        memset(rom, 0, sizeof rom);
        memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
        memcpy(rom + 0x150, (const uint8_t[]){0x21, 0x00, 0xC0, 0x3E, off ? 0x11 : 0x91}, 5);
        memcpy(rom + 0x155, (const uint8_t[]){0xE0, 0x40}, 2);
        uint8_t *at = rom + 0x157;
        for (uint32_t k = 0; k < 153; k++) { /* LY is 153 too shortly */
            const uint8_t line = (uint8_t)(k * 37u % 153u);
            const uint8_t jump = line == 0 ? 0x20 : jumps[i];
            at += line % 9; /* so many NOPs */
            if (off || k % 3 == 0) {
                const uint8_t carry[] = {0x00, 0x37, 0x18, 0x04}, none[] = {0xF6, 0x01, 0x18, 0x04};
                memcpy(at, jump == 0x38 ? carry : none, 4);
                at += 4;
            } else if (jump == 0x30) { /* a time at which NC waits */
                memcpy(at, (const uint8_t[]){0xF0, 0x44, 0xFE, line, 0x38, 0xFA}, 6);
                at += 6;
            }
            memcpy(at, (const uint8_t[]){0xF0, 0x44, 0xFE, line, jump, 0xFA}, 6);
            memcpy(at + 6, (const uint8_t[]){0xF0, 0x44, 0x22, 0xF0, 0x04, 0x22}, 6); /* when? */
            at += 12;
        }
        memcpy(at, (const uint8_t[]){0xC3, 0x57, 0x01}, 3);
        for (uint64_t seed = 0; seed < 3; seed++)
            compare("lines", rom, sizeof rom, off ? 2 : 80, seed);
    }
}

/* A program that goes on at `base` with `code` and then, over and over, notes LY and DIV. */
static void place_loop(uint8_t *rom, uint32_t base, const uint8_t *code, size_t size)
{
    static const uint8_t note[] = {0xF0, 0x44, 0x22, 0xF0, 0x04, 0x22, 0xCB, 0xA4};
    const uint8_t low = (uint8_t)base, high = (uint8_t)(base >> 8);
    memset(rom, 0, 0x8000);
    memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
    memcpy(rom + 0x150, (const uint8_t[]){0x21, 0x00, 0xC0, 0x31, 0xFE, 0xDF, 0xC3, low, high}, 9);
    memcpy(rom + base, code, size);
    memcpy(rom + base + size, note, sizeof note);
    memcpy(rom + base + size + sizeof note, (const uint8_t[]){0xC3, low, high}, 3);
}

/* Loops that wait or count stand across the end of a bank, at each of their bytes. */
static void borders(void **state)
{
    (void)state;
    static const uint8_t loops[][6] = {{0xF0, 0x44, 0xFE, 0x90, 0x20, 0xFA},
                                       {0xF0, 0x41, 0xE6, 0x03, 0x20, 0xFA},
                                       {0x06, 0x90, 0x05, 0x20, 0xFD, 0x00}};
    static uint8_t rom[0x8000];
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t base = 0x3FF6; base < 0x4002; base++) {
            place_loop(rom, base, loops[i], sizeof loops[i]);
            for (uint64_t seed = 0; seed < 2; seed++)
                compare("borders", rom, sizeof rom, 8, seed);
        }
}

/* With the LCD off: ten sprites on lines 56 to 63, x from 110 on. */
static const uint8_t ten_sprites[] = {0x3E, 0x11, 0xE0, 0x40, 0x21, 0x00, 0xFE, 0x06, 0x6E,
                                      0x3E, 0x48, 0x22, 0x78, 0x22, 0xAF, 0x22, 0x22, 0x78,
                                      0xC6, 0x05, 0x47, 0xFE, 0xA0, 0x20, 0xF0};

/* Loops that leave all registers as they were but damage OAM (oam_bug.h) are not idle. */
static void damages(void **state)
{
    (void)state;
    static const uint8_t loops[][5] = {{0x23, 0x2B, 0x18, 0xFC},
                                       {0xF9, 0x18, 0xFD},
                                       {0xF9, 0x00, 0x7B, 0x18, 0xFB},
                                       {0x33, 0x3B, 0x18, 0xFC},
                                       {0x46, 0x00, 0x18, 0xFC}};
    static uint8_t rom[0x8000];
    for (uint32_t i = 0; i < 5; i++) {
        memset(rom, 0, sizeof rom);
        memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
        memcpy(rom + 0x150, ten_sprites, sizeof ten_sprites);
        uint8_t *at = rom + 0x150 + sizeof ten_sprites;
        memcpy(at, (const uint8_t[]){0x21, 0x20, 0xFE, 0x31, 0x30, 0xFE, 0x3E, 0x91}, 8);
        memcpy(at + 8, (const uint8_t[]){0xE0, 0x40}, 2);
        memcpy(at + 10, loops[i], sizeof loops[i]);
        for (uint64_t seed = 0; seed < 5; seed++) /* the CPU skips idle loops in some */
            compare("damages", rom, sizeof rom, 6, seed);
    }
}

/* An interrupt handler that notes where it came from. */
static const uint8_t handler[] = {0xC1, 0xC5, 0x79, 0x22, 0xCB, 0xA4, 0xD9};

/* LYC is written near the end of that line, at each M-cycle, and interrupts go on while that is
 * still to be made: in the first dots of the next line it is an interrupt still. */
static void still_compared(void **state)
{
    (void)state;
    static const uint8_t lines[] = {0, 1, 100, 143, 152};
    static uint8_t rom[0x8000];
    for (uint32_t i = 0; i < sizeof lines; i++) {
        memset(rom, 0, sizeof rom);
        memcpy(rom + 0x48, (const uint8_t[]){0xC3, 0x70, 0x00}, 3);
        memcpy(rom + 0x70, handler, sizeof handler);
        memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
        memcpy(rom + 0x150, (const uint8_t[]){0x31, 0xFE, 0xDF, 0x21, 0x00, 0xC0}, 6);
        memcpy(rom + 0x156, (const uint8_t[]){0x3E, 0x02, 0xE0, 0xFF, 0x3E, 0x40, 0xE0, 0x41}, 8);
        uint8_t *at = rom + 0x15E;
        for (uint32_t nops = 80; nops < 125; nops++) {
            memcpy(at, (const uint8_t[]){0xF3, 0xF0, 0x44, 0xFE, lines[i], 0x20, 0xFA}, 7);
            at += 7 + nops + (lines[i] == 0 ? 114 : 0); /* LY is 0 from line 153 on */
            memcpy(at, (const uint8_t[]){0xAF, 0xE0, 0x0F, 0x3E, lines[i], 0xE0, 0x45}, 7);
            memcpy(at + 7, (const uint8_t[]){0x00, 0x00, 0xFB}, 3);
            at += 10 + 30;
            memcpy(at, (const uint8_t[]){0x3E, 0xC8, 0xE0, 0x45}, 4);
            at += 4;
        }
        memcpy(at, (const uint8_t[]){0xC3, 0x5E, 0x01}, 3);
        for (uint64_t seed = 0; seed < 2; seed++)
            compare("still compared", rom, sizeof rom, 50, seed);
    }
}

/* A register is written that moves the next interrupt, and interrupts go on while that write is
 * still to be made (write_queue.h). The handler notes where it came from. */
static void moved(void **state)
{
    (void)state;
    static const uint8_t stat[] = {0x40, 0x60, 0x50, 0x08};
    static uint8_t rom[0x8000];
    for (uint32_t i = 0; i < 4; i++) {
        const bool by_line =
            i < 3; /* LYC; or LCDC, with sprites or not: mode 0 comes then or now */
        memset(rom, 0, sizeof rom);
        memcpy(rom + 0x48, (const uint8_t[]){0xC3, 0x70, 0x00}, 3);
        memcpy(rom + 0x70, handler, sizeof handler);
        memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
        memcpy(rom + 0x150, ten_sprites, sizeof ten_sprites);
        uint8_t *at = rom + 0x150 + sizeof ten_sprites;
        memcpy(at, (const uint8_t[]){0x31, 0xFE, 0xDF, 0x21, 0x00, 0xC0}, 6);
        memcpy(at + 6, (const uint8_t[]){0x3E, 0x02, 0xE0, 0xFF, 0x3E, stat[i], 0xE0, 0x41}, 8);
        at += 14;
        const uint32_t loop = (uint32_t)(at - rom);
        for (uint32_t k = 0; k < (by_line ? 154u : 120u); k++) {
            const uint8_t lyc = (uint8_t)(k * 37u % 154u), lcdc = k & 1 ? 0x91 : 0x93;
            const uint8_t before = (uint8_t)(!by_line ? 60u : lyc == 0 ? 152u : lyc - 1u);
            memcpy(at, (const uint8_t[]){0xF3, 0x3E, lcdc, 0xE0, 0x40, 0xF0, 0x44, 0xFE}, 8);
            memcpy(at + 8, (const uint8_t[]){before, 0x20, 0xFA, 0xAF, 0xE0, 0x0F}, 6);
            at += 14 + (by_line ? k % 9 : k / 4); /* and NOPs */
            memcpy(at, (const uint8_t[]){0xAF, 0xE0, 0x0F}, 3);
            memcpy(at + 3, (const uint8_t[]){0x3E, by_line ? lyc : lcdc ^ 2}, 2);
            memcpy(at + 5, (const uint8_t[]){0xE0, by_line ? 0x45 : 0x40, 0xFB}, 3);
            at += 8 + 130;
        }
        memcpy(at, (const uint8_t[]){0xC3, (uint8_t)loop, (uint8_t)(loop >> 8)}, 3);
        for (uint64_t seed = 0; seed < 2; seed++)
            compare("moved", rom, sizeof rom, 150, seed);
    }
}

/* STAT is read at every dot of every line there is, with LYC where it is compared at odd times, and
 * mostly with the window somewhere. */
static void every_dot(void **state)
{
    (void)state;
    static const uint8_t compared[] = {0, 1, 77, 143, 144, 145, 152, 153, 255};
    static const uint8_t loop[] = {0xF0, 0x41, 0x22, 0xCB, 0xA4, 0x00, 0x00, 0x00, 0x18, 0xF6};
    static uint8_t rom[0x8000];
    memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
    for (uint64_t i = 0; i < sizeof compared; i++) {
        const uint8_t lcdc = i % 3 == 0 ? 0x91 : 0xB1, wy = (uint8_t)(i * 97 % 160);
        memcpy(rom + 0x150, (const uint8_t[]){0x3E, compared[i], 0xE0, 0x45, 0x21, 0x00, 0xC0}, 7);
        memcpy(rom + 0x157, (const uint8_t[]){0x3E, wy, 0xE0, 0x4A, 0x3E, 50, 0xE0, 0x4B}, 8);
        memcpy(rom + 0x15F, (const uint8_t[]){0x3E, lcdc, 0xE0, 0x40}, 4);
        memcpy(rom + 0x163, loop, sizeof loop); /* 52 T-cycles: 24 before or after, a frame later */
        compare("every dot", rom, sizeof rom, 42, i);
    }
}

/* On a line with ten sprites LCDC is written, which shows them or not, and then STAT is read from
 * time to time, on that line and the next. */
static void asked(void **state)
{
    (void)state;
    static uint8_t rom[0x8000];
    for (uint32_t before = 0x91; before <= 0x93; before += 2) {
        memset(rom, 0, sizeof rom);
        memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
        memcpy(rom + 0x150, ten_sprites, sizeof ten_sprites);
        uint8_t *at = rom + 0x150 + sizeof ten_sprites;
        memcpy(at, (const uint8_t[]){0x21, 0x00, 0xC0}, 3);
        at += 3;
        const uint32_t loop = (uint32_t)(at - rom);
        for (uint32_t k = 0; k < 90; k++) {
            const uint8_t lcdc = (uint8_t)before, other = lcdc ^ 2;
            memcpy(at, (const uint8_t[]){0x3E, lcdc, 0xE0, 0x40, 0xF0, 0x44}, 6);
            memcpy(at + 6, (const uint8_t[]){0xFE, 0x3A, 0x20, 0xFA, 0xF0, 0x41}, 6);
            at += 12 + k; /* and NOPs */
            memcpy(at, (const uint8_t[]){0x3E, other, 0xE0, 0x40}, 4);
            at += 4 + (k < 45 ? k % 5 : 70 + k * 7 % 45);        /* also not before the next line */
            for (uint32_t read = 0; read < 14; read++, at += 10) /* and NOPs */
                memcpy(at, (const uint8_t[]){0xF0, 0x41, 0x22}, 3);
            memcpy(at, (const uint8_t[]){0xCB, 0xA4}, 2);
            at += 2;
        }
        memcpy(at, (const uint8_t[]){0xC3, (uint8_t)loop, (uint8_t)(loop >> 8)}, 3);
        for (uint64_t seed = 0; seed < 2; seed++)
            compare("asked", rom, sizeof rom, 95, seed);
    }
}

/* LCDC is written on a line with ten sprites, which changes when its mode 3 ends, and VRAM some
 * time after it: whether that is let through depends on a write that is still to be made (write_queue.h).
 */
static void blocked(void **state)
{
    (void)state;
    static const uint8_t line[] = {0xF0, 0x44, 0xFE, 0x3C, 0x20, 0xFA}; /* wait for line 60 */
    static uint8_t rom[0x8000];
    for (uint32_t before = 0x91; before <= 0x93; before += 2) { /* sprites go on, or off */
        memset(rom, 0, sizeof rom);
        memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
        memcpy(rom + 0x150, ten_sprites, sizeof ten_sprites);
        uint8_t *at = rom + 0x150 + sizeof ten_sprites;
        memcpy(at, (const uint8_t[]){0x21, 0x00, 0x80}, 3);
        at += 3;
        for (uint32_t delay = 20; delay < 60; delay++) {
            const uint8_t lcdc[] = {0x3E, (uint8_t)before, 0xE0, 0x40};
            memcpy(at, lcdc, sizeof lcdc);
            memcpy(at + 4, line, sizeof line);
            at += 4 + sizeof line + 16; /* mode 3 has begun; reading VRAM finds its end */
            memcpy(at, (const uint8_t[]){0x46, 0x3E, (uint8_t)(before ^ 2), 0xE0, 0x40}, 5);
            at += 5 + delay;
            *at++ = 0x22; /* to VRAM, and on */
        }
        memcpy(at, (const uint8_t[]){0xC3, 0x50, 0x01}, 3);
        for (uint64_t seed = 0; seed < 2; seed++)
            compare("blocked", rom, sizeof rom, 45, seed);
    }
}

DM_ROM_TEST(pictures, dm_each_picture_program(compare, PICTURE_FRAMES, PICTURE_SEEDS))
DM_ROM_TEST(transfers, dm_each_transfer_program(compare, TRANSFER_FRAMES, TRANSFER_SEEDS))
DM_ROM_TEST(games, dm_each_game(compare_twice, GAME_FRAMES))

/* What the rows of both paths say must agree. */
static void rows_agree(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 512; i++) {
        const uint32_t word = dm_gb_predecode(i < 256 ? i : 0xCBu, i & 0xFFu, 0x55u);
        const uint32_t number = dm_byte_pick(word, 0, 0x4430u) - DM_GB_UOP_FIRST;
        if (i == 0xCBu) /* not a word by itself */
            continue;
        assert_in_range(number, 1, DM_GB_UOPS - 1);
        const dm_gb_uop row = dm_gb_uop_table_at(number);
        const uint32_t plain = dm_gb_rows[i];
        assert_int_equal(DM_GB_UOP_OPERATION(row), DM_GB_ROW_OPERATION(plain));
        assert_int_equal(DM_GB_UOP_LENGTH(row), DM_GB_ROW_LENGTH(plain));
        const bool reads =
            DM_GB_ROW_SOURCE(plain) == DM_GB_ARG_MEM || DM_GB_ROW_SOURCE(plain) == DM_GB_ARG_STACK;
        assert_int_equal((row.flags & DM_GB_UOP_READS) != 0, reads);
        /* What is read is put where the source has zeros. */
        assert_true(!reads || dm_byte_pick(0xFFFFFFFFu, 0x00FFFFFFu, row.source) == 0);
        /* The halves of `mask` are for conditions and memory. */
        assert_int_equal(row.mask >> 16, 0);
        assert_int_equal(row.changes >> 9, 0);
    }
    assert_true((dm_gb_uop_table_at(0).flags & DM_GB_UOP_ODD) != 0);
}

/* Bytes by selectors: a nibble names one of eight, with 8 added its sign. */
static void picks(void **state)
{
    (void)state;
    const uint32_t x = 0x847F01FFu, y = 0x8000007Eu;
    assert_int_equal(dm_byte_pick(x, y, 0x3210u), x);
    assert_int_equal(dm_byte_pick(x, y, 0xAB7654u), y);
    assert_int_equal(dm_byte_pick(x, y, 0x4073u), 0x7EFF8084u);
    assert_int_equal(dm_byte_pick(x, y, 0xBA98u), 0xFF0000FFu);
    assert_int_equal(dm_byte_pick(x, y, 0xFC5Du), 0xFF000000u);
}

/* A ROM's words: an instruction each, but where a bank ends, and behind the ROM. */
static void predecoded(void **state)
{
    (void)state;
    static uint8_t rom[0x8000];
    for (size_t i = 0; i < sizeof rom; i++)
        rom[i] = (uint8_t)(i * 7u);
    rom[0x100] = 0xCB;
    for (uint64_t i = 0; i < dm_gb_predecoded_size(sizeof rom); i++) {
        const uint32_t word = dm_gb_predecode_at(rom, sizeof rom, i);
        const bool none = i >= sizeof rom || (i & 0x3FFFu) > 0x3FFDu;
        assert_int_equal(word == DM_GB_NO_WORD, none);
        if (none)
            continue;
        const uint32_t plain = (uint32_t)(rom[i + 2] << 16 | rom[i + 1] << 8 | rom[i]);
        assert_int_equal(word, rom[i] == 0xCB ? 0xFE000000u | rom[i + 1] : 0xFF000000u | plain);
    }
}

DM_TESTS("gb/fast", cmocka_unit_test(picks), cmocka_unit_test(predecoded),
         cmocka_unit_test(rows_agree), cmocka_unit_test(our_roms), cmocka_unit_test(programs),
         cmocka_unit_test(devices), cmocka_unit_test(waiting), cmocka_unit_test(halt_bug),
         cmocka_unit_test(rounds), cmocka_unit_test(places), cmocka_unit_test(lines),
         cmocka_unit_test(borders), cmocka_unit_test(damages), cmocka_unit_test(moved),
         cmocka_unit_test(still_compared), cmocka_unit_test(every_dot), cmocka_unit_test(asked),
         cmocka_unit_test(blocked), cmocka_unit_test(pictures), cmocka_unit_test(transfers),
         cmocka_unit_test(games))
