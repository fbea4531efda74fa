/* SPDX-License-Identifier: MIT */
/* WARREN as an agent sees it: through the buttons and the addresses that docs/games.md lists. */
#include "base/hash.h"
#include "tests/games/players.h"
#include "tests/support/test.h"

enum {
    FRAME = 0xC007,
    LEVEL = 0xC004,
    CRYSTALS = 0xC005,
    EVENT = 0xC006,
    SPEED = 0xC013,
    HUNTERS = 0xC014,
    GRID = 0xC200
};
enum { NOTHING, CRYSTAL_TAKEN, CAUGHT, CLEARED };
enum { WALL, FLOOR, CRYSTAL, OUTSIDE };
enum { DIGGING = 3, COLUMNS = 19, FIRST_ROW = 1, LAST_ROW = 17 };

static int setup(void **state)
{
    *state = game_create("WARREN");
    return 0;
}

static uint8_t cell(dm_gb *gb, int column, int row)
{
    return dm_gb_peek(gb, (uint16_t)(GRID + 32 * row + column));
}

/* Walls all round, crystals in all rooms but the mole's, no dead end, and every room reached from every other. */
static void a_warren_is_whole(dm_gb *gb)
{
    int crystals = 0, reached = 0, end = 0, queue[COLUMNS * (LAST_ROW + 1)];
    bool seen[LAST_ROW + 2][COLUMNS + 1] = {{false}};
    for (int i = 0; i < COLUMNS; i++) {
        assert_int_equal(cell(gb, i, FIRST_ROW), WALL);
        assert_int_equal(cell(gb, i, LAST_ROW), WALL);
    }
    for (int row = FIRST_ROW; row <= LAST_ROW; row++) {
        assert_int_equal(cell(gb, 0, row), WALL);
        assert_int_equal(cell(gb, COLUMNS - 1, row), WALL);
        for (int column = 0; column < COLUMNS; column++)
            crystals += cell(gb, column, row) == CRYSTAL;
    }
    assert_int_equal(crystals, 9 * 8 - 1);
    assert_int_equal(dm_gb_peek(gb, CRYSTALS), crystals);
    queue[end++] = 16 * COLUMNS + 9;
    seen[16][9] = true;
    for (int i = 0; i < end; i++) {
        static const int step[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
        int column = queue[i] % COLUMNS, row = queue[i] / COLUMNS, ways = 0;
        reached += column % 2 == 1 && row % 2 == 0;
        for (int d = 0; d < 4; d++) {
            int to_column = column + step[d][0], to_row = row + step[d][1];
            if (cell(gb, to_column, to_row) == WALL)
                continue;
            ways++;
            if (!seen[to_row][to_column])
                queue[end++] = to_row * COLUMNS + to_column;
            seen[to_row][to_column] = true;
        }
        assert_true(ways >= 2);
    }
    assert_int_equal(reached, 9 * 8);
}

static void warrens_are_whole(void **state)
{
    dm_gb *gb = *state;
    uint64_t hashes[4];
    for (uint32_t i = 0; i < 4; i++) {
        uint8_t grid[18 * 32];
        dm_gb_reset(gb);
        game_begin(gb, 60 + i);
        a_warren_is_whole(gb);
        for (size_t k = 0; k < sizeof grid; k++)
            grid[k] = dm_gb_peek(gb, (uint16_t)(GRID + k));
        hashes[i] = dm_hash64(grid, sizeof grid);
        for (uint32_t k = 0; k < i; k++)
            assert_true(hashes[k] != hashes[i]);
    }
}

/* Each crystal is one event and one point, each hunter's touch one life, and the digits follow. A touch in the
 * frame of a crystal is the event that is told. */
static void events_and_score_agree(void **state)
{
    dm_gb *gb = *state;
    unsigned score = 0, caught = 0, cleared = 0;
    game_begin(gb, 60);
    for (int frame = 0; frame < 30000 && dm_gb_peek(gb, GAME_STATE) != GAME_OVER; frame++) {
        unsigned number = game_word(gb, FRAME);
        game_run(gb, player_warren.choose(gb), 1);
        assert_int_equal(game_word(gb, FRAME),
                         number + 1); /* thinking ends before the picture does */
        unsigned event = dm_gb_peek(gb, EVENT);
        unsigned taken = game_word(gb, GAME_SCORE) - score;
        score += taken;
        if (event == CAUGHT)
            assert_in_range(taken, 0, 1);
        else
            assert_int_equal(taken, event == CRYSTAL_TAKEN || event == CLEARED);
        caught += event == CAUGHT;
        if (event == CLEARED) {
            cleared++;
            assert_int_equal(dm_gb_peek(gb, GAME_STATE), DIGGING);
        }
        assert_int_equal(dm_gb_peek(gb, GAME_LIVES), 3 - caught);
        assert_int_equal(dm_gb_peek(gb, LEVEL), cleared);
    }
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_OVER);
    assert_true(cleared >= 1);
    assert_int_equal(dm_gb_peek(gb, HUNTERS), 2 + (cleared < 2 ? cleared : 2));
    assert_true(dm_gb_peek(gb, SPEED) > 128);
    assert_int_equal(game_word(gb, GAME_BEST), score);
    assert_int_equal(game_digits(gb, GAME_SHOWN), score);
    game_run(gb, DM_GB_KEY_START, 4);
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_TITLE);
    game_run(gb, DM_GB_KEY_START, 60); /* still held: not pressed again */
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_TITLE);
}

/* It polls and computes: the processor never rests. */
static void it_is_always_busy(void **state)
{
    dm_gb *gb = *state;
    game_begin(gb, 60);
    uint64_t halted = dm_gb_get_counters(gb).halted;
    for (int i = 0; i < 500; i++)
        game_run(gb, player_warren.choose(gb), 1);
    assert_true(dm_gb_get_counters(gb).halted == halted);
}

#define GAME_TEST(function) cmocka_unit_test_setup_teardown(function, setup, game_teardown)
DM_TESTS("games/warren", GAME_TEST(warrens_are_whole), GAME_TEST(events_and_score_agree),
         GAME_TEST(it_is_always_busy));
