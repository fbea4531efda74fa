/* SPDX-License-Identifier: MIT */
/* players.h - our games as an agent sees them: the addresses that all share, a player of each game that follows
 * a simple rule, and one that presses buttons at random (docs/games.md). */
#ifndef DM_TESTS_GAMES_PLAYERS_H
#define DM_TESTS_GAMES_PLAYERS_H

#include <dotmatrix/gb.h>

/* In every game. */
enum {
    GAME_STATE = 0xC000,
    GAME_SCORE = 0xC001,
    GAME_LIVES = 0xC003,
    GAME_BEST = 0xC00D,
    GAME_SHOWN = 0xC00F,
};
enum { GAME_TITLE, GAME_PLAYING, GAME_OVER };

typedef struct game_player {
    const char *name;             /* of the ROM */
    uint8_t (*choose)(dm_gb *gb); /* the simple rule: what to press in the next frame */
    uint8_t keys;                 /* the buttons that mean something in play */
    uint32_t frames;              /* of a game, at most */
} game_player;

extern const game_player player_starfall, player_switchback, player_warren;

/* From the title into a game: START after `wait` frames. */
void game_begin(dm_gb *gb, uint32_t wait);
/* Play until the game is over or its frames are used up; the score. */
unsigned game_play(dm_gb *gb, const game_player *player);
unsigned game_play_randomly(dm_gb *gb, const game_player *player, uint64_t seed);
/* Any of the player's buttons, others every eighth frame. */
uint8_t game_random_choice(const game_player *player, uint64_t seed, uint32_t frame);

/* Assemble and create the game; the caller destroys it. */
dm_gb *game_create(const char *name);
/* The teardown of test cases whose state is a game. */
int game_teardown(void **state);
void game_run(dm_gb *gb, uint8_t keys, uint32_t frames);

/* A byte of memory as a number from -128 to 127. */
int game_peek_signed(dm_gb *gb, uint16_t address);
unsigned game_word(dm_gb *gb, uint16_t address);
/* The two bytes of decimal digits as a number. */
unsigned game_digits(dm_gb *gb, uint16_t address);

#endif
