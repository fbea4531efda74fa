/* SPDX-License-Identifier: MIT */
/* STARFALL as an agent sees it: through the buttons and the addresses that docs/games.md lists. */
#include "base/hash.h"
#include "tests/games/players.h"
#include "tests/support/test.h"

enum { CATCHER = 0xC004, LEVEL = 0xC005, EVENT = 0xC006, OBJECTS = 0xC020 };
enum { NOTHING, CAUGHT, MISSED, BURNT };

static int setup(void **state)
{
    *state = game_create("STARFALL");
    return 0;
}

/* A player who does nothing sees the title, loses, and comes back with START. */
static void idle_game_ends(void **state)
{
    dm_gb *gb = *state;
    game_begin(gb, 60);
    unsigned lives = 3;
    for (int frame = 0; frame < 6000 && dm_gb_peek(gb, GAME_STATE) == GAME_PLAYING; frame++) {
        game_run(gb, 0, 1);
        unsigned now = dm_gb_peek(gb, GAME_LIVES);
        unsigned event = dm_gb_peek(gb, EVENT);
        assert_int_equal(lives - now, event == MISSED || event == BURNT ? 1 : 0);
        lives = now;
    }
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_OVER);
    assert_int_equal(lives, 0);
    game_run(gb, 0, 100);
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_OVER);
    game_run(gb, DM_GB_KEY_START, 4);
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_TITLE);
    game_run(gb, DM_GB_KEY_START, 60); /* still held: not pressed again */
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_TITLE);
}

/* A simple rule goes far, each catch is one event and one point, and the digits follow. */
static void a_simple_rule_scores(void **state)
{
    dm_gb *gb = *state;
    unsigned score = 0, lost = 0, caught = 0;
    game_begin(gb, 60);
    for (int frame = 0; frame < 20000 && dm_gb_peek(gb, GAME_STATE) == GAME_PLAYING; frame++) {
        game_run(gb, player_starfall.choose(gb), 1);
        unsigned event = dm_gb_peek(gb, EVENT);
        unsigned now = game_word(gb, GAME_SCORE);
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
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_OVER);
    assert_int_equal(lost, 3);
    assert_int_equal(game_word(gb, GAME_BEST), score);
    assert_int_equal(game_digits(gb, GAME_SHOWN), score);
}

static uint64_t play(dm_gb *gb, uint32_t wait)
{
    dm_gb_reset(gb);
    game_begin(gb, wait);
    uint8_t places[256];
    for (size_t i = 0; i < sizeof places; i++) {
        game_run(gb, player_starfall.choose(gb), 2);
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
    game_begin(gb, 60);
    dm_gb_counters before = dm_gb_get_counters(gb);
    game_run(gb, 0, 100);
    dm_gb_counters after = dm_gb_get_counters(gb);
    assert_true((after.halted - before.halted) * 10 > (after.cycles - before.cycles) * 8);
}

#define GAME_TEST(function) cmocka_unit_test_setup_teardown(function, setup, game_teardown)
DM_TESTS("games/starfall", GAME_TEST(idle_game_ends), GAME_TEST(a_simple_rule_scores),
         GAME_TEST(same_input_same_game), GAME_TEST(the_machine_sleeps_most_of_the_time));
