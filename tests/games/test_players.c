/* SPDX-License-Identifier: MIT */
/* Every game can be learnt: a simple rule scores at least ten times as much as random buttons, and docs/games.md says
 * how much. */
#include "tests/games/players.h"

#include "base/file.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAMES = 6 };

static void is_in_the_document(const char *name, double by_rule, double at_random)
{
    char path[DM_PATH_MAX], row[64], cells[64], *text;
    size_t size;
    snprintf(path, sizeof path, "%s/docs/games.md", dm_test_source_root());
    assert_ok(dm_file_read(path, 0, &text, &size, err));
    snprintf(row, sizeof row, "\n| %s | ", name);
    snprintf(cells, sizeof cells, " | %.1f | %.1f |\n", by_rule, at_random);
    const char *found = strstr(text, row), *end = found != NULL ? strstr(found, cells) : NULL;
    if (end == NULL || strchr(found + 1, '\n') != end + strlen(cells) - 1)
        fail_msg("%s: no row of %s with%s", path, name, cells);
    free(text);
}

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
    is_in_the_document(player->name, (double)by_rule / GAMES, (double)at_random / GAMES);
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
