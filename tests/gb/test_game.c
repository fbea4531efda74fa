/* SPDX-License-Identifier: MIT */
/* STARFALL as an agent sees it: through the buttons and the addresses that docs/game.md lists. */
#include "base/hash.h"
#include "romtools/asm.h"
#include "tests/support/test.h"

#include <dotmatrix/gb.h>

#include <stdio.h>
#include <stdlib.h>

#define ROMS DM_TEST_SOURCE_ROOT "/roms"

enum {
    STATE = 0xC000,
    SCORE = 0xC001,
    LIVES = 0xC003,
    CATCHER = 0xC004,
    LEVEL = 0xC005,
    EVENT = 0xC006,
    BEST = 0xC00D,
    SHOWN = 0xC00F,
    OBJECTS = 0xC020,
};
enum { TITLE, PLAYING, OVER };
enum { NOTHING, CAUGHT, MISSED, BURNT };

static int setup(void **state)
{
    dm_gb_asm_result rom;
    const dm_gb_asm_options options = {.include_dir = ROMS "/include"};
    dm_gb *gb = NULL;
    assert_ok(dm_gb_asm_file(ROMS "/game/STARFALL.asm", &options, &rom, err));
    assert_ok(dm_gb_create(rom.rom, rom.rom_size, NULL, &gb, err));
    dm_gb_asm_result_deinit(&rom);
    *state = gb;
    return 0;
}

static int teardown(void **state)
{
    dm_gb_destroy(*state);
    return 0;
}

static void run(dm_gb *gb, uint8_t keys, uint32_t frames)
{
    dm_gb_set_keys(gb, keys);
    dm_gb_run_frames(gb, frames, DM_GB_DRAW_NEVER);
}

static unsigned word(dm_gb *gb, uint16_t address)
{
    return dm_gb_peek(gb, address) | (unsigned)dm_gb_peek(gb, (uint16_t)(address + 1)) << 8;
}

static void begin(dm_gb *gb, uint32_t wait)
{
    run(gb, 0, wait);
    assert_int_equal(dm_gb_peek(gb, STATE), TITLE);
    run(gb, DM_GB_KEY_START, 4);
    run(gb, 0, 4);
    assert_int_equal(dm_gb_peek(gb, STATE), PLAYING);
    assert_int_equal(dm_gb_peek(gb, LIVES), 3);
    assert_int_equal(word(gb, SCORE), 0);
}

/* Go under the lowest star. */
static uint8_t choose(dm_gb *gb)
{
    int best_y = -1, target = 0, catcher = dm_gb_peek(gb, CATCHER);
    for (unsigned i = 0; i < 4; i++) {
        uint16_t at = (uint16_t)(OBJECTS + 4 * i);
        int y = dm_gb_peek(gb, (uint16_t)(at + 2));
        if (dm_gb_peek(gb, at) == 1 && y > best_y) {
            best_y = y;
            target = dm_gb_peek(gb, (uint16_t)(at + 1)) + 4 - 12;
        }
    }
    if (best_y < 0 || abs(target - catcher) < 3)
        return 0;
    return DM_GB_KEY_A | (target < catcher ? DM_GB_KEY_LEFT : DM_GB_KEY_RIGHT);
}

/* A player who does nothing sees the title, loses, and comes back with START. */
static void idle_game_ends(void **state)
{
    dm_gb *gb = *state;
    begin(gb, 60);
    unsigned lives = 3;
    for (int frame = 0; frame < 6000 && dm_gb_peek(gb, STATE) == PLAYING; frame++) {
        run(gb, 0, 1);
        unsigned now = dm_gb_peek(gb, LIVES);
        unsigned event = dm_gb_peek(gb, EVENT);
        assert_int_equal(lives - now, event == MISSED || event == BURNT ? 1 : 0);
        lives = now;
    }
    assert_int_equal(dm_gb_peek(gb, STATE), OVER);
    assert_int_equal(lives, 0);
    run(gb, 0, 100);
    assert_int_equal(dm_gb_peek(gb, STATE), OVER);
    run(gb, DM_GB_KEY_START, 4);
    assert_int_equal(dm_gb_peek(gb, STATE), TITLE);
    run(gb, DM_GB_KEY_START, 60); /* still held: not pressed again */
    assert_int_equal(dm_gb_peek(gb, STATE), TITLE);
}

/* A simple rule goes far, each catch is one event and one point, and the digits follow. */
static void a_simple_rule_scores(void **state)
{
    dm_gb *gb = *state;
    unsigned score = 0, lost = 0, caught = 0;
    begin(gb, 60);
    for (int frame = 0; frame < 20000 && dm_gb_peek(gb, STATE) == PLAYING; frame++) {
        run(gb, choose(gb), 1);
        unsigned event = dm_gb_peek(gb, EVENT);
        unsigned now = word(gb, SCORE);
        caught += event == CAUGHT;
        lost += event == MISSED || event == BURNT;
        assert_true(now - score <= 1);
        assert_true(event != CAUGHT || now == score + 1);
        score = now;
        assert_in_range(dm_gb_peek(gb, CATCHER), 0, 136);
        for (unsigned i = 0; i < 4; i++)
            assert_in_range(dm_gb_peek(gb, (uint16_t)(OBJECTS + 4 * i + 1)), 0, 152);
    }
    assert_true(score >= 30);
    assert_int_equal(caught, score);
    assert_int_equal(dm_gb_peek(gb, LEVEL), score / 8 < 24 ? score / 8 : 24);
    assert_int_equal(dm_gb_peek(gb, STATE), OVER);
    assert_int_equal(lost, 3);
    assert_int_equal(word(gb, BEST), score);
    char digits[8], shown[8];
    snprintf(digits, sizeof digits, "%04u", score);
    snprintf(shown, sizeof shown, "%02x%02x", (unsigned)dm_gb_peek(gb, SHOWN),
             (unsigned)dm_gb_peek(gb, SHOWN + 1));
    assert_string_equal(shown, digits);
}

static uint64_t play(dm_gb *gb, uint32_t wait)
{
    dm_gb_reset(gb);
    begin(gb, wait);
    uint8_t places[256];
    for (size_t i = 0; i < sizeof places; i++) {
        run(gb, choose(gb), 2);
        places[i] = dm_gb_peek(gb, (uint16_t)(OBJECTS + 1 + 4 * (i % 4)));
    }
    return dm_hash64(places, sizeof places);
}

/* The moment of START decides what falls, and nothing else does. */
static void same_input_same_game(void **state)
{
    dm_gb *gb = *state;
    uint64_t first = play(gb, 60);
    assert_true(first == play(gb, 60));
    assert_true(first != play(gb, 61));
    assert_true(first != play(gb, 100));
}

static void the_machine_sleeps_most_of_the_time(void **state)
{
    dm_gb *gb = *state;
    begin(gb, 60);
    dm_gb_counters before = dm_gb_get_counters(gb);
    run(gb, 0, 100);
    dm_gb_counters after = dm_gb_get_counters(gb);
    assert_true((after.halted - before.halted) * 10 > (after.cycles - before.cycles) * 8);
}

#define GAME_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
DM_TESTS("gb/game", GAME_TEST(idle_game_ends), GAME_TEST(a_simple_rule_scores),
         GAME_TEST(same_input_same_game), GAME_TEST(the_machine_sleeps_most_of_the_time));
