/* SPDX-License-Identifier: MIT */
/* The short road (gb/quick.h) beside the CPU's loop, in slices of any length: on our ROMs, on
 * generated programs, some of which do little else than meet devices or wait, and on the games of
 * the folder $DM_TEST_GAMES (or $DM_TEST_ROMS/games) where there is one. Every byte of state and
 * memory and every picture is the same, also when the CPU leaves no polling loop out. */
#include "gb/core.h"
#include "gb/quick_rows.h"
#include "tests/gb/gpu_form.h"
#include "tests/support/random.h"
#include "tests/support/rom_cases.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM_SEEDS 120
#define OWN_FRAMES 90
#define GAME_FRAMES 400

static uint32_t *words_of(const dm_gb_rom *rom)
{
    uint32_t *words = calloc(rom->size, sizeof *words);
    assert_non_null(words);
    for (size_t i = 0; i < rom->size; i++)
        for (size_t k = 0; k < 3 && i + k < rom->size; k++)
            words[i] |= (uint32_t)rom->bytes[i + k] << (8 * k);
    return words;
}

/* Two machines side by side; ends the test at the first difference. */
static void compare(const char *name, const void *rom, size_t size, uint32_t frames, uint64_t seed)
{
    dm_gb *gb;
    dm_test_random random = dm_test_random_make(seed, 11);
    const size_t picture = sizeof gb->frames;
    const bool draws = dm_test_random_chance(&random, 50);
    const dm_gb_options options = {.keep_polling = dm_test_random_chance(&random, 50)};
    assert_ok(dm_gb_create(rom, size, &options, &gb, err));
    dm_gb_machine m = gb->machine;
    uint8_t *ram = malloc(gb->ram_size), *pictures = calloc(1, picture);
    assert_non_null(ram);
    assert_non_null(pictures);
    memcpy(ram, gb->ram, gb->ram_size);
    uint32_t *words = dm_test_random_chance(&random, 80) ? words_of(&gb->rom) : NULL;
    dm_test_gpu_form form = {&m, ram, gb->rom.bytes, words, draws ? pictures : NULL, true};
    for (uint64_t done = 0, end = (uint64_t)frames * DM_GB_FRAME_CYCLES; done < end;) {
        const uint32_t cycles = dm_test_random_chance(&random, 20)
                                    ? 1u + dm_test_random_below(&random, 400)
                                    : 1u + dm_test_random_below(&random, 3 * DM_GB_FRAME_CYCLES);
        uint8_t keys = dm_test_random_chance(&random, 50) ? 0 : dm_test_random_byte(&random);
        dm_gb_set_keys(gb, keys);
        m.joypad = gb->machine.joypad;
        m.int_flags = gb->machine.int_flags;
        dm_gb_run_cycles(gb, cycles, draws ? DM_GB_DRAW_ALWAYS : DM_GB_DRAW_NEVER);
        dm_test_gpu_form_run(&form, cycles);
        done += cycles;
        const unsigned at = (unsigned)(done / DM_GB_FRAME_CYCLES);
        if (memcmp(&m, &gb->machine, sizeof m) != 0)
            fail_msg("%s, frame %u: the states differ; PC %04X and %04X", name, at, m.cpu.pc,
                     gb->machine.cpu.pc);
        if (memcmp(ram, gb->ram, gb->ram_size) != 0)
            fail_msg("%s, frame %u: memory differs; PC %04X", name, at, m.cpu.pc);
        if (draws && memcmp(pictures, gb->frames, picture) != 0)
            fail_msg("%s, frame %u: the pictures differ", name, at);
    }
    free(words);
    free(ram);
    free(pictures);
    dm_gb_destroy(gb);
}

/* Once with pictures and once without, or nearly: the seed decides. */
static void compare_twice(const char *name, const void *rom, size_t size, uint32_t frames,
                          uint64_t seed)
{
    compare(name, rom, size, frames, 2 * seed);
    compare(name, rom, size, frames, 2 * seed + 1);
}

static void our_roms(void **state)
{
    (void)state;
    dm_each_own_rom(compare_twice, OWN_FRAMES);
}

static void programs(void **state)
{
    (void)state;
    dm_each_program(compare, 6, PROGRAM_SEEDS);
}

/* ---- Programs that look at devices all the time ---- */

#define DEVICE_SEEDS 150
#define DEVICE_FRAMES 8
#define DEVICE_ROM (128u * 1024u)
#define DEVICE_BODY 0x150u
#define DEVICE_END 0x3E00u

typedef struct writer {
    uint8_t *rom;
    uint32_t at;
    dm_test_random random;
} writer;

static void put(writer *w, const uint8_t *bytes, uint32_t count)
{
    memcpy(w->rom + w->at, bytes, count);
    w->at += count;
}
#define PUT(w, ...) put((w), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* Somewhere among `count` addresses from `first`. */
static uint32_t near(writer *w, uint32_t first, uint32_t count)
{
    return first + dm_test_random_below(&w->random, count);
}

/* One thing that programs do with STAT, VRAM, the mapper, the stack or interrupts. */
static void put_snippet(writer *w)
{
    static const uint8_t registers[] = {0x42, 0x43, 0x45, 0x47, 0x4A, 0x4B, 0x41, 0x0F};
    const uint8_t byte = dm_test_random_byte(&w->random);
    const uint32_t vram = near(w, 0x8000, 0x2000), any = near(w, 0, 0x10000);
    const uint32_t control = near(w, 0, 0x8000), other = near(w, 0xA000, 0x2000);
    const uint32_t echo = near(w, 0xDFF0, 0x1E20); /* and a little before and behind */
    switch (dm_test_random_below(&w->random, 20)) {
    case 0: /* wait until the PPU leaves VRAM alone, then write there */
        PUT(w, 0xF0, 0x41, 0xE6, 0x02, 0x20, 0xFA, 0x21, (uint8_t)vram, (uint8_t)(vram >> 8), 0x22);
        break;
    case 1: /* wait for another mode, at most until it comes */
        PUT(w, 0xF0, 0x41, 0xE6, 0x03, 0xFE, byte & 3, 0x28, 0xF8);
        break;
    case 2:
        PUT(w, 0xF0, 0x41, 0x47, 0xF0, 0x44, 0x4F);
        break;
    case 3:
        PUT(w, 0x21, (uint8_t)vram, (uint8_t)(vram >> 8), 0x7E, 0x34, 0x77);
        break;
    case 4: /* a stack in VRAM */
        PUT(w, 0x31, (uint8_t)vram, (uint8_t)(vram >> 8), 0xC5, 0xD1, 0x31, 0xFE, 0xDF);
        break;
    case 5: /* a stack anywhere: in ROM, where it writes to the mapper, in the echo, in OAM */
        PUT(w, 0x31, (uint8_t)any, (uint8_t)(any >> 8), 0xC5, 0xF5, 0x31, 0xFE, 0xDF);
        break;
    case 6:
    case 7: /* a bank, often the one that is there */
        PUT(w, 0x3E, byte & 7, 0xEA, 0x00, 0x20 | (byte >> 3 & 0x1F), 0xCD, 0x00, 0x40);
        break;
    case 8:
        PUT(w, 0x3E, byte & 1 ? 0x0A : byte, 0xEA, (uint8_t)control, (uint8_t)(control >> 8));
        break;
    case 9:
        PUT(w, 0xFA, (uint8_t)other, (uint8_t)(other >> 8), 0x3C, 0xEA, (uint8_t)other,
            (uint8_t)(other >> 8));
        break;
    case 10:
        PUT(w, 0xFA, (uint8_t)echo, (uint8_t)(echo >> 8), 0x3C, 0xEA, (uint8_t)echo,
            (uint8_t)(echo >> 8));
        break;
    case 11:
        PUT(w, 0xFB);
        break;
    case 12:
        PUT(w, 0xF3, 0x00, 0xFB, 0x00, 0x00);
        break;
    case 13:
        PUT(w, 0xF3);
        break;
    case 14: /* some time */
        PUT(w, 0x06, byte, 0x05, 0x20, 0xFD);
        break;
    case 15:
        PUT(w, 0x3E, byte, 0xE0, registers[byte & 7]);
        break;
    case 16:
        PUT(w, 0x3E, 0x80 | byte, 0xE0, 0x40);
        break;
    case 17:
        if (byte < 40)
            PUT(w, 0x3E, 0xC0, 0xE0, 0x46);
        else if (byte < 60)
            PUT(w, 0x3E, 0x11, 0xE0, 0x40); /* the LCD off */
        break;
    case 18: /* interrupts that come one by one */
        PUT(w, 0x3E, byte & 0x1F, 0xE0, 0xFF, 0xF0, 0x0F);
        break;
    default:
        PUT(w, 0xFF, 0x7E, 0x2A, 0x12, 0x0B);
        break;
    }
}

static void make_device_program(uint8_t *rom, uint64_t seed)
{
    static const uint8_t mappers[] = {0x00, 0x02, 0x03, 0x06, 0x10, 0x13, 0x1A, 0x1E};
    writer w = {rom, DEVICE_BODY, dm_test_random_make(seed, 12)};
    memset(rom, 0, DEVICE_ROM);
    for (uint32_t bank = 0; bank < DEVICE_ROM; bank += 0x4000u)
        memcpy(rom + bank, (const uint8_t[]){0x3E, (uint8_t)(bank >> 14), 0xF0, 0x41, 0xC9}, 5);
    memset(rom, 0, 0x100);
    for (uint32_t vector = 0; vector <= 0x60; vector += 8)
        rom[vector] = vector < 0x40 ? 0xC9 : 0xD9;
    memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
    rom[0x147] = mappers[seed % sizeof mappers];
    rom[0x148] = rom[0x147] == 0x00 ? 0 : 2;
    rom[0x149] = rom[0x147] == 0x06 ? 0 : 3;
    PUT(&w, 0x31, 0xFE, 0xDF, 0x3E, (uint8_t)(seed & 3), 0xE0, 0xFF, 0x3E, 0x48, 0xE0, 0x41, 0xFB);
    const uint32_t start = w.at;
    while (w.at < DEVICE_END)
        put_snippet(&w);
    PUT(&w, 0xC3, (uint8_t)start, (uint8_t)(start >> 8));
}

static void devices(void **state)
{
    (void)state;
    uint8_t *rom = malloc(DEVICE_ROM);
    assert_non_null(rom);
    for (uint64_t seed = 0; seed < DEVICE_SEEDS; seed++) {
        char name[32];
        snprintf(name, sizeof name, "devices, seed %u", (unsigned)seed);
        make_device_program(rom, seed);
        compare(name, rom, rom[0x148] == 0 ? 0x8000u : DEVICE_ROM, DEVICE_FRAMES, seed);
    }
    free(rom);
}

/* ---- Programs that go round and round ---- */

#define IDLE_SEEDS 300
#define IDLE_FRAMES 10
#define IDLE_HELPERS 0x60u /* where small functions are */

/* One thing that a loop does which waits for an interrupt; most leave all as it was. */
static void put_idle_snippet(writer *w)
{
    const uint8_t byte = dm_test_random_byte(&w->random);
    const uint8_t low = (uint8_t)(0x80u | (byte & 7)), page = byte & 0x80 ? 0xC1 : 0xD1;
    switch (dm_test_random_below(&w->random, 24)) {
    case 0:
    case 1: /* keys, by a function and a stack that is written to */
        PUT(w, 0xC5, 0xCD, IDLE_HELPERS, 0x00, 0xC1);
        break;
    case 2: /* a byte, the same again and again */
        PUT(w, 0x3E, byte, 0xEA, low, page);
        break;
    case 3: /* two bytes that change places and back */
        PUT(w, 0x21, low, page, 0x2A, 0x46, 0x77, 0x2B, 0x70, 0x46, 0x23, 0x7E, 0x70, 0x2B, 0x77);
        break;
    case 4: /* two that only change places */
        PUT(w, 0x21, low, page, 0x2A, 0x46, 0x77, 0x2B, 0x70);
        break;
    case 5: /* one counts up, the next one down */
        if (byte < 100)
            PUT(w, 0x21, low, page, 0x34, 0x23, 0x35);
        break;
    case 6: /* up and down again */
        PUT(w, 0x21, low, page, 0x34, 0x35);
        break;
    case 7: /* arguments on the stack, as compilers pass them */
        PUT(w, 0x3E, byte, 0xF5, 0x33, 0xF8, 0x00, 0x7E, 0xE8, 0x01);
        break;
    case 8:
        PUT(w, 0x21, 0x34, byte, 0xE5, 0xF8, byte & 3, 0x4E, 0xE8, 0x02);
        break;
    case 9: /* what interrupts have counted */
        PUT(w, 0xFA, 0x00, 0xC1, 0xE6, 0x07, 0xEA, low, page);
        break;
    case 10: /* and now and then something happens */
        PUT(w, 0xFA, 0x00, 0xC1, 0xE6, 0x0F, 0x20, 0x04, 0x21, low, page, 0x34);
        break;
    case 11:
        PUT(w, 0xF0, byte & 1 ? 0x44 : 0x42, 0xFE, byte & 0x7F, 0x20, 0x01, 0x04);
        break;
    case 12:
        PUT(w, 0xF5, 0xCB, 0x37, 0xF1);
        break;
    case 13: /* keys without a function */
        PUT(w, 0x3E, byte & 0x30, 0xE0, 0x00, 0xF0, 0x00, 0xF0, 0x00, 0x2F, 0xE6, 0x0F);
        break;
    case 14: /* in high memory, cartridge RAM, or where nothing is */
        PUT(w, 0x3E, byte & 0x0F, 0xE0, 0x80 | (byte & 0x3F));
        break;
    case 15:
        PUT(w, 0x3E, byte, 0xEA, low, byte & 1 ? 0xA1 : 0xFE);
        break;
    case 16:
        if (byte < 60)
            PUT(w, 0xF0, 0x04, 0xEA, low, page); /* DIV */
        break;
    case 17: /* which keys are asked for changes, and nothing else */
        PUT(w, 0xF0, 0x00, 0xEE, 0x30, 0xE0, 0x00, 0xAF);
        break;
    case 18: /* the picture, where the same is already, or another byte */
        PUT(w, 0x3E, byte & 1, 0xEA, low, 0x98);
        break;
    case 19: /* one counts on the stack, in a high byte */
        if (byte < 100)
            PUT(w, 0xF1, 0x3C, 0xF5, 0xAF);
        break;
    case 20: /* the picture scrolls to and fro */
        PUT(w, 0x3E, byte, 0xE0, 0x43, 0xAF, 0xE0, 0x43);
        break;
    default: /* a switch that does nothing */
        PUT(w, 0x21, low, page, 0x7E, 0xFE, byte, 0xC2, (uint8_t)(w->at + 10u),
            (uint8_t)((w->at + 10u) >> 8));
        break;
    }
}

static void make_idle_program(uint8_t *rom, uint64_t seed)
{
    static const uint8_t count_up[] = {0xF5, 0xE5, 0x21, 0x00, 0xC1, 0x34, 0xE1, 0xF1, 0xD9};
    static const uint8_t keys[] = {0x3E, 0x20, 0xE0, 0x00, 0xF0, 0x00, 0xF0, 0x00, 0x2F,
                                   0xE6, 0x0F, 0xCB, 0x37, 0x47, 0x3E, 0x10, 0xE0, 0x00,
                                   0xF0, 0x00, 0xF0, 0x00, 0x2F, 0xE6, 0x0F, 0xB0, 0x47,
                                   0x3E, 0x30, 0xE0, 0x00, 0x78, 0xC9};
    writer w = {rom, DEVICE_BODY, dm_test_random_make(seed, 13)};
    memset(rom, 0, 0x8000);
    for (uint32_t vector = 0x40; vector <= 0x58; vector += 8)
        memcpy(rom + vector, (const uint8_t[]){0xC3, 0xA0, 0x00}, 3);
    memcpy(rom + IDLE_HELPERS, keys, sizeof keys);
    memcpy(rom + 0xA0, count_up, sizeof count_up);
    memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
    rom[0x147] = 0x08; /* with RAM */
    rom[0x149] = 2;
    PUT(&w, 0x31, 0xFE, 0xDF, 0x3E, (uint8_t)(seed % 8), 0xE0, 0xFF, 0x3E, 0x04 | (seed & 3), 0xE0,
        0x07, 0x3E, 0x40, 0xE0, 0x41, 0xFB);
    const uint32_t start = w.at, count = near(&w, 1, 12);
    for (uint32_t i = 0; i < count; i++)
        put_idle_snippet(&w);
    PUT(&w, 0xC3, (uint8_t)start, (uint8_t)(start >> 8));
}

static void idle(void **state)
{
    (void)state;
    uint8_t *rom = malloc(0x8000);
    assert_non_null(rom);
    for (uint64_t seed = 0; seed < IDLE_SEEDS; seed++) {
        char name[32];
        snprintf(name, sizeof name, "idle, seed %u", (unsigned)seed);
        make_idle_program(rom, seed);
        compare(name, rom, 0x8000, IDLE_FRAMES, seed);
    }
    free(rom);
}

static void games(void **state)
{
    (void)state;
    dm_each_game(compare_twice, GAME_FRAMES);
}

/* What the rows of both roads say must agree. */
static void rows_agree(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 512; i++) {
        const dm_gb_quick_row row = dm_gb_quick_rows[i];
        const uint32_t plain = dm_gb_rows[i];
        assert_int_equal(DM_GB_Q_OPERATION(row), DM_GB_ROW_OPERATION(plain));
        assert_int_equal(DM_GB_Q_EXTRA(row), DM_GB_ROW_EXTRA(plain));
        assert_int_equal(DM_GB_Q_LENGTH(row), DM_GB_ROW_LENGTH(plain));
        for (uint32_t nibble = 0; nibble < 4; nibble++) {
            /* Selectors name one of eight bytes. */
            assert_true(nibble >= 2 || (row.registers >> (4 * nibble) & 8u) == 0);
            assert_true((row.registers >> (16 + 4 * nibble) & 8u) == 0);
            assert_true((row.address >> (4 * nibble) & 8u) == 0);
        }
        const bool reads =
            DM_GB_ROW_SOURCE(plain) == DM_GB_ARG_MEM || DM_GB_ROW_SOURCE(plain) == DM_GB_ARG_STACK;
        assert_int_equal((row.flags & DM_GB_Q_READS) != 0, reads);
    }
}

DM_TESTS("gb/quick", cmocka_unit_test(rows_agree), cmocka_unit_test(our_roms),
         cmocka_unit_test(programs), cmocka_unit_test(devices), cmocka_unit_test(idle),
         cmocka_unit_test(games))
