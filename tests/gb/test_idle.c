/* SPDX-License-Identifier: MIT */
/* Skipping idle loop, drawing or not, and how many frames a call runs change nothing that a
 * program can see: on our ROMs, on generated programs, and on the games of the folder
 * $DM_TEST_GAMES (or $DM_TEST_ROMS/games) where there is one. */
#include "gb/host/core.h"
#include "tests/support/command.h"
#include "tests/support/random.h"
#include "tests/support/rom_cases.h"
#include "tests/support/same_machine.h"
#include "tests/support/snippets.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM_SEEDS 60
#define SNIPPET_SEEDS 200
#define SNIPPET_FRAMES 10
#define OWN_FRAMES 120
#define GAME_FRAMES 600

/* Two machines side by side; ends the test at the first difference. */
static void compare(const char *name, const void *rom, size_t size, uint32_t frames, uint64_t seed)
{
    dm_gb *skips, *keeps;
    char why[256];
    dm_test_random random = dm_test_random_make(seed, 7);
    const dm_gb_options keep = {.keep_idle_loops = true};
    assert_ok(dm_gb_create(rom, size, NULL, &skips, err));
    assert_ok(dm_gb_create(rom, size, &keep, &keeps, err));
    for (uint32_t done = 0; done < frames;) {
        const uint32_t now = 1 + dm_test_random_below(&random, 4);
        uint8_t keys = dm_test_random_chance(&random, 50) ? 0 : dm_test_random_byte(&random);
        dm_gb_set_keys(skips, keys);
        dm_gb_set_keys(keeps, keys);
        dm_gb_run_frames(skips, now, DM_GB_DRAW_LAST);
        for (uint32_t i = 0; i < now; i++)
            dm_gb_run_frames(keeps, 1, DM_GB_DRAW_ALWAYS);
        done += now;
        if (!dm_same_machine(skips, keeps, why, sizeof why))
            fail_msg("%s, %u frames: %s", name, done, why);
        if (memcmp(dm_gb_frame(skips), dm_gb_frame(keeps), DM_GB_SCREEN_W * DM_GB_SCREEN_H) != 0)
            fail_msg("%s, %u frames: the pictures differ", name, done);
    }
    dm_gb_destroy(skips);
    dm_gb_destroy(keeps);
}

DM_ROM_TEST(our_roms_run_the_same, dm_each_own_rom(compare, OWN_FRAMES))
DM_ROM_TEST(programs_run_the_same, dm_each_program(compare, 12, PROGRAM_SEEDS))

static void devices_and_waiting_run_the_same(void **state)
{
    (void)state;
    dm_each_device_program(compare, SNIPPET_FRAMES, SNIPPET_SEEDS);
    dm_each_waiting_program(compare, SNIPPET_FRAMES, SNIPPET_SEEDS);
}

static size_t put(uint8_t *rom, size_t at, const uint8_t *bytes, size_t size)
{
    memcpy(rom + at, bytes, size);
    return at + size;
}

/* A loop at `at` that only counts: filling, a decrement, and a jump back. Returns its end. */
static size_t put_counting_loop(uint8_t *rom, size_t at, unsigned counter, unsigned variant)
{
    static const uint8_t fill[][4] = {{0, 0, 0, 0}, {0x18, 0, 0, 0}, {0x18, 0, 0x18, 0}};
    static const uint8_t count_bc[] = {0x0B, 0x78, 0xB1}, count_de[] = {0x1B, 0x7A, 0xB3};
    const size_t head = at;
    at = put(rom, at, fill[variant % 3], variant / 3 % 3 * 2);
    if (counter < 8)
        rom[at++] = (uint8_t)(0x05 | counter << 3);
    else
        at = put(rom, at, counter == 8 ? count_bc : count_de, 3);
    at = put(rom, at, fill[variant / 2 % 3], variant % 2 * 2);
    if (variant % 4 < 2) {
        rom[at] = 0x20;
        rom[at + 1] = (uint8_t)(head - (at + 2));
        return at + 2;
    }
    rom[at] = 0xC2;
    rom[at + 1] = (uint8_t)head;
    rom[at + 2] = (uint8_t)(head >> 8);
    return at + 3;
}

/* Loops that only count, of all registers, while the timer interrupts; BC and DE also come by
 * values whose decrement may damage OAM. */
static void counting_loops_run_the_same(void **state)
{
    (void)state;
    static uint8_t rom[0x8000];
    static const uint8_t start[] = {0x31, 0xF0, 0xDF,             /* LD SP,$DFF0 */
                                    0x3E, 0x05, 0xE0, 0x07,       /* TAC: every 16 cycles */
                                    0x3E, 0x04, 0xE0, 0xFF, 0xFB, /* IE: timer; EI */
                                    0x3E, 0x91, 0xE0, 0x40};      /* LCD on */
    memset(rom, 0, sizeof rom);
    rom[0x50] = 0x34; /* INC [HL] */
    rom[0x51] = 0xD9; /* RETI */
    rom[0x100] = 0xC3;
    rom[0x101] = 0x50;
    rom[0x102] = 0x01;
    size_t at = put(rom, 0x150, start, sizeof start);
    const size_t again = at;
    for (unsigned counter = 0; counter < 10; counter++) {
        if (counter == 6) /* [HL] is not a register */
            continue;
        for (unsigned variant = 0; variant < 18; variant++) {
            const uint8_t high = counter < 8 ? 0 : variant == 5 ? 0xFF : (uint8_t)(variant % 3);
            const uint8_t low = (uint8_t)(variant * 41 + counter * 7 + 3);
            const uint8_t load[] = {0x01, low, high, 0x11, low, high, 0x21, low, 0xC0, 0x3E, low};
            at = put(rom, at, load, sizeof load);
            if (counter == 4 || counter == 5) /* HL must not point into ROM for long */
                rom[at - 3] = 0xC1;
            const size_t head = at;
            at = put_counting_loop(rom, at, counter, variant);
            if (variant % 2 != 0)
                rom[at++] = 0x37; /* SCF: DEC keeps it */
            if (counter < 5 && variant < 4) {
                /* DEC of the next register, JR NZ to the same head: passes of two lengths. */
                rom[at] = (uint8_t)(0x0D + 8 * counter);
                rom[at + 1] = 0x20;
                rom[at + 2] = (uint8_t)(head - (at + 3));
                at += 3;
            }
        }
    }
    rom[at] = 0xC3;
    rom[at + 1] = (uint8_t)again;
    rom[at + 2] = (uint8_t)(again >> 8);
    compare("counting loops", rom, sizeof rom, 300, 1);
    rom[0x158] = 0; /* IE: no interrupts */
    compare("counting loops without interrupts", rom, sizeof rom, 300, 1);
}

/* A game that waits for a key: a subroutine asks the joypad, V-blank counts in HRAM, and `extra` is
 * done in every pass. */
static void make_waiting_rom(uint8_t *rom, const uint8_t *extra, size_t size, bool timer)
{
    static const uint8_t vblank[] = {0xF5, 0xF0, 0x80, 0x3C, 0xE0, 0x80, 0xF1, 0xD9};
    static const uint8_t start[] = {0x31, 0xF0, 0xDF, 0x3E, 0x01, 0xE0, 0xFF, /* SP; IE: V-blank */
                                    0x3E, 0x91, 0xE0, 0x40, 0xFB};            /* LCD on; EI */
    static const uint8_t clock[] = {0x3E, 0x05, 0xE0, 0x07};
    static const uint8_t pad[] = {0xC5, 0x3E, 0x20, 0xE0, 0x00, 0xF0, 0x00, 0xF0, 0x00,
                                  0x2F, 0xE6, 0x0F, 0xCB, 0x37, 0x47, 0x3E, 0x10, 0xE0,
                                  0x00, 0xF0, 0x00, 0xF0, 0x00, 0x2F, 0xE6, 0x0F, 0xB0,
                                  0x47, 0x3E, 0x30, 0xE0, 0x00, 0x78, 0xC1, 0xC9}; /* both rows into
                                                                                      A; P1 = $30 */
    memset(rom, 0, 0x8000);
    put(rom, 0x40, vblank, sizeof vblank);
    put(rom, 0x100, (const uint8_t[]){0xC3, 0x50, 0x01}, 3);
    put(rom, 0x300, pad, sizeof pad);
    size_t at = put(rom, 0x150, start, sizeof start);
    if (timer)
        at = put(rom, at, clock, sizeof clock);
    const size_t head = at;
    at = put(rom, at, (const uint8_t[]){0xCD, 0x00, 0x03}, 3); /* CALL pad */
    at = put(rom, at, extra, size);
    at = put(rom, at, (const uint8_t[]){0xA7, 0x28, (uint8_t)(head - (at + 3))},
             3);                                                     /* AND A; JR Z */
    at = put(rom, at, (const uint8_t[]){0x21, 0x00, 0xC0, 0x34}, 4); /* a key: INC [$C000] */
    put(rom, at, (const uint8_t[]){0x18, (uint8_t)(head - (at + 2))}, 2);
}

typedef struct waiting {
    const char *name;
    uint8_t size, extra[10];
    bool passes; /* written nothing new: it may be left out */
} waiting;

static const waiting waits[] = {
    {"waits for a key", 0, {0}, true},
    {"stores what is there", 6, {0xF5, 0xAF, 0xEA, 0x00, 0xC2, 0xF1}, true},
    {"reads WRAM", 5, {0xF5, 0xFA, 0x00, 0xC2, 0xF1}, true},
    {"counts in WRAM", 4, {0x21, 0x00, 0xC1, 0x34}, false},
    {"counts in HRAM", 7, {0xF5, 0xF0, 0x90, 0x3C, 0xE0, 0x90, 0xF1}, false},
    {"counts in a register", 1, {0x13}, false},
    {"moves SP", 2, {0x33, 0x3B}, true},
    {"reads DIV", 4, {0xF5, 0xF0, 0x04, 0xF1}, false},
    {"reads LY", 4, {0xF5, 0xF0, 0x44, 0xF1}, false},
    {"reads TIMA into E", 5, {0xF5, 0xF0, 0x05, 0x5F, 0xF1}, false},
    {"reads VRAM", 5, {0xF5, 0xFA, 0x00, 0x80, 0xF1}, false},
    {"writes VRAM", 6, {0xF5, 0xAF, 0xEA, 0x00, 0x81, 0xF1}, false},
    {"writes OAM", 6, {0xF5, 0xAF, 0xEA, 0x00, 0xFE, 0xF1}, false},
    {"writes to the cartridge", 6, {0xF5, 0xAF, 0xEA, 0x00, 0x20, 0xF1}, false},
    {"writes IF", 5, {0xF5, 0xAF, 0xE0, 0x0F, 0xF1}, false},
    {"writes SCX", 4, {0xF5, 0xE0, 0x43, 0xF1}, false},
    {"writes sound", 4, {0xF5, 0xE0, 0x14, 0xF1}, false},
    {"DI and EI", 2, {0xF3, 0xFB}, false},
    {"HALT", 1, {0x76}, false},
    {"damages OAM", 6, {0xC5, 0x01, 0x20, 0xFE, 0x0B, 0xC1}, false},
};

static void waiting_for_a_key_runs_the_same(void **state)
{
    (void)state;
    static uint8_t rom[0x8000];
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        for (unsigned timer = 0; timer < 2; timer++) {
            make_waiting_rom(rom, waits[i].extra, waits[i].size, timer != 0);
            compare(waits[i].name, rom, sizeof rom, 60, 1 + i);
        }
    }
}

/* And it is left out where it can be: the last watch found it. */
static void waiting_for_a_key_is_left_out(void **state)
{
    (void)state;
    static uint8_t rom[0x8000];
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        dm_gb *gb;
        make_waiting_rom(rom, waits[i].extra, waits[i].size, false);
        assert_ok(dm_gb_create(rom, sizeof rom, NULL, &gb, err));
        dm_gb_run_frames(gb, 40, 0);
        /* Executed pass by pass there are hundreds of writes to P1 in each frame. */
        const bool found =
            gb->context.watch_level == 0 && gb->context.pad_writes < DM_GB_IDLE_WATCH_AFTER;
        if (found != waits[i].passes)
            fail_msg("a game that %s: found %d", waits[i].name, found);
        dm_gb_destroy(gb);
    }
}

/* A loop that begins with waiting for a line and goes on from there is not only waiting for it. */
static void waiting_for_a_line_and_more(void **state)
{
    static const uint8_t kinds[][2] = {{0x38, 10}, {0x38, 100}, {0x20, 10}, {0x20, 143}};
    (void)state;
    uint8_t *rom = calloc(1, 0x8000);
    assert_non_null(rom);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (uint8_t more = 0; more < 6; more++) {
            memset(rom, 0, 0x8000);
            memcpy(rom + 0x100, (const uint8_t[]){0x00, 0xC3, 0x50, 0x01}, 4);
            /* the wait, some NOPs, and back */
            size_t at = put(rom, 0x150,
                            (const uint8_t[]){0xF0, 0x44, 0xFE, kinds[i][1], kinds[i][0], 0xFA}, 6);
            at += more;
            put(rom, at, (const uint8_t[]){0xC3, 0x50, 0x01}, 3);
            compare("waiting for a line and more", rom, 0x8000, 12, i * 8u + more);
        }
    }
    free(rom);
}

DM_ROM_TEST(games_run_the_same, dm_each_game(compare, GAME_FRAMES))

/* The fuzzer for a moment; `make fuzz` for longer, under the sanitizers. */
static void fuzzed_roms_run_the_same(void **state)
{
    (void)state;
    static const char program[] = DM_TEST_BUILD_ROOT "/tests/dm-fuzz-rom";
    const char *const argv[] = {program, "--frames", "4000", "--seed", "1", NULL};
    dm_test_result result;
    dm_test_run(&(dm_test_command){.argv = argv, .seconds = 300}, &result);
    dm_test_expect_exit(&result, 0);
    assert_non_null(strstr(result.out, " 0 failed"));
    dm_test_result_free(&result);
}

DM_TESTS("gb/idle", DM_TEST(our_roms_run_the_same), DM_TEST(programs_run_the_same),
         DM_TEST(devices_and_waiting_run_the_same), DM_TEST(counting_loops_run_the_same),
         DM_TEST(waiting_for_a_key_runs_the_same), DM_TEST(waiting_for_a_key_is_left_out),
         DM_TEST(waiting_for_a_line_and_more), DM_TEST(games_run_the_same),
         DM_TEST(fuzzed_roms_run_the_same));
