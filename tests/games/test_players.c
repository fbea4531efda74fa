/* SPDX-License-Identifier: MIT */
/* Every game can be learnt: a simple rule scores at least ten times as much as random buttons. */
#include "tests/games/players.h"

#include "tests/support/test.h"

#include <stdio.h>

enum { GAMES = 6 };

static void scores(const game_player *player)
{
    dm_gb *gb = game_create(player->name);
    unsigned by_rule = 0, at_random = 0;
    for (uint32_t game = 0; game < GAMES; game++) {
        dm_gb_reset(gb);
        game_begin(gb, 60 + 7 * game);
        by_rule += game_play(gb, player);
        dm_gb_reset(gb);
        game_begin(gb, 60 + 7 * game);
        at_random += game_play_randomly(gb, player, game);
    }
    dm_gb_destroy(gb);
    printf("%s: by the rule %.1f, at random %.1f\n", player->name, (double)by_rule / GAMES,
           (double)at_random / GAMES);
    assert_true(by_rule > 0 && by_rule >= 10 * at_random);
}

static void starfall(void **state)
{
    (void)state;
    scores(&player_starfall);
}

static void switchback(void **state)
{
    (void)state;
    scores(&player_switchback);
}

static void warren(void **state)
{
    (void)state;
    scores(&player_warren);
}

DM_TESTS("games/players", DM_TEST(starfall), DM_TEST(switchback), DM_TEST(warren));
