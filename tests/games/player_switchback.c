/* SPDX-License-Identifier: MIT */
/* SWITCHBACK: steer to the lane in which the next car is furthest away, and not across one that is near. */
#include "tests/games/players.h"

#include <stdlib.h>

enum {
    SPEED = 0xC005,
    X = 0xC013, /* 8.8, signed */
    CURVE = 0xC015,
    CARS = 0xC020, /* depth 8.8, lane, column */
    COUNT = 3,
    LANES = 3,
    LANE_WIDTH = 40,
    NEAR = 60,
};

static uint8_t choose(dm_gb *gb)
{
    int x = game_peek_signed(gb, X + 1), ahead[LANES] = {255, 255, 255};
    for (int i = 0; i < COUNT; i++) {
        int depth = dm_gb_peek(gb, (uint16_t)(CARS + 4 * i + 1));
        int lane = dm_gb_peek(gb, (uint16_t)(CARS + 4 * i + 2)) % LANES;
        if (depth < ahead[lane])
            ahead[lane] = depth;
    }
    int here = x < -LANE_WIDTH / 2 ? 0 : x > LANE_WIDTH / 2 ? 2 : 1, best = here;
    for (int lane = 0; lane < LANES; lane++)
        if (ahead[lane] > ahead[best] + (best == here ? 40 : 0) &&
            (abs(lane - here) < 2 || ahead[1] > NEAR))
            best = lane;
    if (best != here && ahead[here] > 150)
        best = here;
    /* Bends push outwards: hold against them a little in advance. */
    int curve = game_peek_signed(gb, CURVE), target = (best - 1) * (LANE_WIDTH - 4) + curve;
    if (abs(target - x) < 2)
        return 0;
    return x < target ? DM_GB_KEY_RIGHT : DM_GB_KEY_LEFT;
}

const game_player player_switchback = {
    .name = "SWITCHBACK",
    .choose = choose,
    .keys = DM_GB_KEY_LEFT | DM_GB_KEY_RIGHT | DM_GB_KEY_B,
    .frames = 8000,
};
