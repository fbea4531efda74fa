/* SPDX-License-Identifier: MIT */
/* WARREN: go to the nearest crystal through cells where no hunter can be earlier; without such a way, away from
 * the hunters. Ways are found by breadth-first search in the grid at C200. */
#include "tests/games/players.h"

#include <string.h>

enum {
    SPEED = 0xC013,
    BODIES =
        0xC020, /* active, column, row, direction, pixels gone, fraction, x, y; the first is the mole */
    BODY = 8,
    COUNT = 5,
    GRID = 0xC200,
    WIDTH = 32,
    ROWS = 18,
    CELLS = WIDTH * ROWS,
    WALL = 0,
    CRYSTAL = 2,
    OUTSIDE = 3,
    FAR = 10000,
};
static const int offsets[4] = {1, -1, -WIDTH, WIDTH};

/* Pixels from the sources (distances already set) to every cell; `allowed` may refuse one. */
typedef struct search {
    const uint8_t *grid;
    const int *
        hunters; /* NULL, or frames in which hunters reach a cell: mole's ways only where it is earlier */
    int distance[CELLS], first[CELLS], queue[CELLS], end;
} search;

static void search_from(search *s, int cell, int distance, int first)
{
    if (cell < 0 || cell >= CELLS || s->grid[cell] == WALL || s->grid[cell] == OUTSIDE)
        return;
    if (s->distance[cell] <= distance || (s->hunters && distance + 10 > s->hunters[cell]))
        return;
    s->distance[cell] = distance;
    s->first[cell] = first;
    s->queue[s->end++] = cell;
}

static void search_all(search *s)
{
    for (int i = 0; i < s->end && s->end < CELLS - 4; i++)
        for (int d = 0; d < 4; d++)
            search_from(s, s->queue[i] + offsets[d], s->distance[s->queue[i]] + 8,
                        s->first[s->queue[i]] < 0 ? d : s->first[s->queue[i]]);
}

static void search_clear(search *s, const uint8_t *grid, const int *hunters)
{
    memset(s, 0, sizeof *s);
    s->grid = grid;
    s->hunters = hunters;
    for (int i = 0; i < CELLS; i++)
        s->distance[i] = FAR;
}

static uint8_t choose(dm_gb *gb)
{
    uint8_t grid[CELLS], body[COUNT][BODY];
    for (int i = 0; i < CELLS; i++)
        grid[i] = dm_gb_peek(gb, (uint16_t)(GRID + i));
    for (int i = 0; i < COUNT * BODY; i++)
        body[i / BODY][i % BODY] = dm_gb_peek(gb, (uint16_t)(BODIES + i));
    int cell[COUNT];
    for (int i = 0; i < COUNT; i++)
        cell[i] = body[i][2] * WIDTH + body[i][1];

    static search hunters, mole;
    search_clear(&hunters, grid, NULL);
    for (int i = 1; i < COUNT; i++) {
        if (!body[i][0])
            continue;
        int ahead = cell[i] + offsets[body[i][3] & 3];
        search_from(&hunters, cell[i], body[i][4], -1);
        if (body[i][4])
            search_from(&hunters, ahead, 8 - body[i][4], -1);
    }
    search_all(&hunters);
    int speed = dm_gb_peek(gb, SPEED), reached[CELLS];
    for (int i = 0; i < CELLS; i++)
        reached[i] = hunters.distance[i] * 256 / (speed ? speed : 1);

    search_clear(&mole, grid, reached);
    int direction = body[0][3] & 3, gone = body[0][4];
    if (gone) { /* between two cells: on, or back */
        search_from(&mole, cell[0] + offsets[direction], 8 - gone, direction);
        search_from(&mole, cell[0], gone, direction ^ 1);
    } else
        search_from(&mole, cell[0], 0, -1);
    search_all(&mole);
    int best = -1;
    for (int i = 0; i < CELLS; i++)
        if (mole.distance[i] < FAR && grid[i] == CRYSTAL &&
            (best < 0 || mole.distance[i] < mole.distance[best]))
            best = i;
    if (best < 0) /* flee: to where it is earliest before the hunters */
        for (int i = 0; i < CELLS; i++)
            if (mole.distance[i] < FAR && mole.first[i] >= 0 &&
                (best < 0 || reached[i] - mole.distance[i] > reached[best] - mole.distance[best]))
                best = i;
    return best < 0 || mole.first[best] < 0 ? 0 : (uint8_t)(1u << mole.first[best]);
}

const game_player player_warren = {
    .name = "WARREN",
    .choose = choose,
    .keys = DM_GB_KEY_LEFT | DM_GB_KEY_RIGHT | DM_GB_KEY_UP | DM_GB_KEY_DOWN,
    .frames = 30000,
};
