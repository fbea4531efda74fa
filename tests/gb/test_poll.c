/* SPDX-License-Identifier: MIT */
/* Skipping polling loops, drawing or not, and how many frames a call runs change nothing that a
 * program can see: on our ROMs, on generated programs, and on the games of the folder
 * $DM_TEST_GAMES (or $DM_TEST_ROMS/games) where there is one. */
#include "tests/support/command.h"
#include "tests/support/random.h"
#include "tests/support/rom_cases.h"
#include "tests/support/same_machine.h"
#include "tests/support/test.h"

#include <string.h>

#define PROGRAM_SEEDS 60
#define OWN_FRAMES 120
#define GAME_FRAMES 600

/* Two machines side by side; ends the test at the first difference. */
static void compare(const char *name, const void *rom, size_t size, uint32_t frames, uint64_t seed)
{
    dm_gb *skips, *keeps;
    char why[256];
    dm_test_random random = dm_test_random_make(seed, 7);
    const dm_gb_options keep = {.keep_polling = true};
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

static void our_roms_run_the_same(void **state)
{
    (void)state;
    dm_each_own_rom(compare, OWN_FRAMES);
}

static void programs_run_the_same(void **state)
{
    (void)state;
    dm_each_program(compare, 12, PROGRAM_SEEDS);
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

static void games_run_the_same(void **state)
{
    (void)state;
    dm_each_game(compare, GAME_FRAMES);
}

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

DM_TESTS("gb/poll", DM_TEST(our_roms_run_the_same), DM_TEST(programs_run_the_same),
         DM_TEST(counting_loops_run_the_same), DM_TEST(games_run_the_same),
         DM_TEST(fuzzed_roms_run_the_same));
