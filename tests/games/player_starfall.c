/* SPDX-License-Identifier: MIT */
/* STARFALL: go under the lowest star. Embers are not looked at, so a game ends. */
#include "tests/games/players.h"

#include <stdlib.h>

enum { CATCHER = 0xC004, OBJECTS = 0xC020, STAR = 1, TO_MIDDLE = 4 - 12 };

static uint8_t choose(dm_gb *gb)
{
    int best_y = -1, target = 0, catcher = dm_gb_peek(gb, CATCHER);
    for (unsigned i = 0; i < 4; i++) {
        uint16_t at = (uint16_t)(OBJECTS + 4 * i);
        int y = dm_gb_peek(gb, (uint16_t)(at + 2));
        if (dm_gb_peek(gb, at) == STAR && y > best_y) {
            best_y = y;
            target = dm_gb_peek(gb, (uint16_t)(at + 1)) + TO_MIDDLE;
        }
    }
    if (best_y < 0 || abs(target - catcher) < 3)
        return 0;
    return DM_GB_KEY_A | (target < catcher ? DM_GB_KEY_LEFT : DM_GB_KEY_RIGHT);
}

const game_player player_starfall = {
    .name = "STARFALL",
    .choose = choose,
    .keys = DM_GB_KEY_LEFT | DM_GB_KEY_RIGHT | DM_GB_KEY_A,
    .frames = 20000,
};
