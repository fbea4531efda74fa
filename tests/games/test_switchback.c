/* SPDX-License-Identifier: MIT */
/* SWITCHBACK as an agent sees it: through the buttons and the addresses that docs/games.md lists. */
#include "tests/games/players.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STAGE = 0xC004, SPEED = 0xC005, EVENT = 0xC006, FRAME = 0xC007, X = 0xC013, CURVE = 0xC015 };
enum { NOTHING, OVERTOOK, CRASHED, STAGE_DONE };

static int setup(void **state)
{
    *state = game_create("SWITCHBACK");
    return 0;
}

/* Nobody at the wheel: the first bends end three cars. */
static void idle_game_ends(void **state)
{
    dm_gb *gb = *state;
    game_begin(gb, 88);
    unsigned crashes = 0;
    for (int i = 0; i < 6000 && dm_gb_peek(gb, GAME_STATE) == GAME_PLAYING; i++) {
        game_run(gb, 0, 1);
        crashes += dm_gb_peek(gb, EVENT) == CRASHED;
        assert_int_equal(dm_gb_peek(gb, GAME_LIVES), 3 - crashes);
    }
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_OVER);
    game_run(gb, DM_GB_KEY_START, 4);
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_TITLE);
}

/* Each car overtaken is a point; no picture is missed; stages follow each other with other bends. */
static void events_and_score_agree(void **state)
{
    dm_gb *gb = *state;
    unsigned score = 0, lost = 0, stages = 0;
    int sharpest = 0;
    game_begin(gb, 88);
    for (int i = 0; i < 10000 && dm_gb_peek(gb, GAME_STATE) == GAME_PLAYING; i++) {
        unsigned number = game_word(gb, FRAME);
        game_run(gb, player_switchback.choose(gb), 1);
        assert_int_equal(game_word(gb, FRAME), (number + 1) & 0xFFFF);
        unsigned event = dm_gb_peek(gb, EVENT), now = game_word(gb, GAME_SCORE);
        assert_in_range(now - score, 0, 1);
        assert_true(event != OVERTOOK || now == score + 1);
        assert_true(event != NOTHING || now == score);
        score = now;
        lost = 3u - dm_gb_peek(gb, GAME_LIVES);
        stages = dm_gb_peek(gb, STAGE);
        int curve = game_peek_signed(gb, CURVE);
        sharpest = curve > sharpest ? curve : sharpest;
        assert_in_range(game_peek_signed(gb, X + 1) + 100, 100 - 73, 100 + 73);
    }
    print_message("score %u, %u lives lost, %u stages, sharpest bend %d\n", score, lost, stages,
                  sharpest);
    assert_true(stages >= 4);
    assert_int_equal(sharpest, 6);
    assert_int_equal(game_digits(gb, GAME_SHOWN), score % 10000);
}

/* The best score is in the cartridge: a battery file carries it into the next power-on. */
static void the_best_score_survives(void **state)
{
    dm_gb *gb = *state, *next = game_create("SWITCHBACK");
    char path[] = "switchback-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    game_begin(gb, 88);
    for (int i = 0; i < 2500; i++)
        game_run(gb, player_switchback.choose(gb), 1);
    for (int i = 0; i < 6000 && dm_gb_peek(gb, GAME_STATE) == GAME_PLAYING; i++)
        game_run(gb, 0, 1);
    unsigned best = game_word(gb, GAME_BEST);
    assert_true(best > 10);
    assert_ok(dm_gb_save_battery(gb, path, 0, err));
    assert_ok(dm_gb_load_battery(next, path, 0, err));
    game_run(next, 0, 60);
    assert_int_equal(game_word(next, GAME_BEST), best);
    assert_int_equal(game_digits(next, 0xC011), best);
    remove(path);
    dm_gb_destroy(next);
}

#define GAME_TEST(function) cmocka_unit_test_setup_teardown(function, setup, game_teardown)
DM_TESTS("games/switchback", GAME_TEST(idle_game_ends), GAME_TEST(events_and_score_agree),
         GAME_TEST(the_best_score_survives));
