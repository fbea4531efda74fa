/* SPDX-License-Identifier: MIT */
/* game.h - what an agent's configuration says about its game: keys, and the states to start from. */
#ifndef DM_AGENT_GAME_H
#define DM_AGENT_GAME_H

#include "agent/config.h"
#include "base/sha256.h"

#include <dotmatrix/gb.h>
#include <dotmatrix/program.h>

enum { DM_AGENT_ACTIONS_MAX = 64, DM_AGENT_RANDOM_MAX = 32 };

typedef struct dm_agent_game {
    char *rom, *reward; /* the files' bytes; the reward's text ends with NUL */
    size_t rom_size, reward_size;
    char rom_sha256[DM_SHA256_HEX_SIZE];
    dm_program *
        program; /* the reward's, when its file's name ends with .py; NULL: it is an epilog's text */
    uint8_t keys[DM_AGENT_ACTIONS_MAX]; /* masks of DM_GB_KEY_ */
    uint32_t actions;
    uint16_t random[DM_AGENT_RANDOM_MAX]; /* addresses */
    uint32_t random_count;
    uint32_t wait; /* frames that a start waits at most */
    dm_gb *gb;     /* after the start's keys */
    void *state;
    size_t state_bytes;
} dm_agent_game;

/* Read the files and play the keys of the start. `reward`: the reward's file, NULL: the configuration's. A program's
 * symbol file is found by the configuration in both cases. */
dm_status dm_agent_game_open(const dm_agent_config *config, const char *reward, dm_agent_game *out,
                             dm_error *err);
/* Whether a reward is a program. */
bool dm_agent_is_program(const char *reward);
void dm_agent_game_close(dm_agent_game *game);
/* Start number `index`, in the form that dm_gb_load_state_bytes reads: the machine after the keys and some more frames,
 * with random nonzero bytes at the configured addresses. `held_out` starts differ from those to train from. */
dm_status dm_agent_game_start(dm_agent_game *game, uint64_t seed, bool held_out, uint64_t index,
                              void *to, dm_error *err);

#endif
