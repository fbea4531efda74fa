/* SPDX-License-Identifier: MIT */
/* game.c - see game.h. */
#include "agent/game.h"

#include "base/file.h"
#include "base/philox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Keys ---- */

/* "A+LEFT", "NONE" */
static dm_status parse_keys(const char *field, const char *word, uint8_t *out, dm_error *err)
{
    static const struct {
        const char *name;
        uint8_t key;
    } names[] = {{"NONE", 0},
                 {"A", DM_GB_KEY_A},
                 {"B", DM_GB_KEY_B},
                 {"START", DM_GB_KEY_START},
                 {"SELECT", DM_GB_KEY_SELECT},
                 {"UP", DM_GB_KEY_UP},
                 {"DOWN", DM_GB_KEY_DOWN},
                 {"LEFT", DM_GB_KEY_LEFT},
                 {"RIGHT", DM_GB_KEY_RIGHT}};
    char copy[DM_AGENT_TEXT_MAX], *save = NULL;
    snprintf(copy, sizeof copy, "%s", word);
    *out = 0;
    for (char *w = strtok_r(copy, "+", &save); w != NULL; w = strtok_r(NULL, "+", &save)) {
        size_t i = 0;
        while (i < sizeof names / sizeof names[0] && strcasecmp(names[i].name, w) != 0)
            i++;
        if (i == sizeof names / sizeof names[0])
            return dm_fail(err, DM_EINVAL,
                           "agent: %s has '%.32s'; keys are NONE, A, B, START, SELECT, UP, DOWN, "
                           "LEFT and RIGHT, joined by +",
                           field, w);
        *out |= names[i].key;
    }
    return DM_OK;
}

static dm_status parse_actions(const dm_agent_config *config, dm_agent_game *game, dm_error *err)
{
    char copy[DM_AGENT_TEXT_MAX], *save = NULL;
    dm_status status = DM_OK;
    snprintf(copy, sizeof copy, "%s", config->actions);
    for (char *w = strtok_r(copy, ", ", &save); w != NULL && status == DM_OK;
         w = strtok_r(NULL, ", ", &save)) {
        if (game->actions == DM_AGENT_ACTIONS_MAX)
            return dm_fail(err, DM_EINVAL, "agent: more than %d actions", DM_AGENT_ACTIONS_MAX);
        status = parse_keys("actions", w, &game->keys[game->actions++], err);
    }
    return status;
}

/* Play "88*NONE,4*START" on the machine. */
static dm_status play_start(const dm_agent_config *config, dm_gb *gb, dm_error *err)
{
    char copy[DM_AGENT_TEXT_MAX], *save = NULL;
    dm_status status = DM_OK;
    snprintf(copy, sizeof copy, "%s", config->start);
    for (char *w = strtok_r(copy, ", ", &save); w != NULL && status == DM_OK;
         w = strtok_r(NULL, ", ", &save)) {
        char *end = NULL;
        uint8_t keys = 0;
        unsigned long frames = strtoul(w, &end, 10);
        if (end == w || *end != '*' || frames == 0 || frames > 1000000)
            return dm_fail(err, DM_EINVAL, "agent: start has '%.32s', which is not FRAMES*KEYS", w);
        status = parse_keys("start", end + 1, &keys, err);
        dm_gb_set_keys(gb, keys);
        if (status == DM_OK)
            dm_gb_run_frames(gb, (uint32_t)frames, DM_GB_DRAW_LAST);
    }
    return status;
}

/* "C009:2,FF84:4" */
static dm_status parse_random(const dm_agent_config *config, dm_agent_game *game, dm_error *err)
{
    char copy[DM_AGENT_TEXT_MAX], *save = NULL;
    snprintf(copy, sizeof copy, "%s", config->random);
    for (char *w = strtok_r(copy, ", ", &save); w != NULL; w = strtok_r(NULL, ", ", &save)) {
        char *end = NULL, *last = NULL;
        unsigned long address = strtoul(w, &end, 16);
        unsigned long count = end != w && *end == ':' ? strtoul(end + 1, &last, 10) : 0;
        if (count == 0 || *last != 0 || address < 0xC000 || address + count > 0x10000 ||
            (address + count > 0xFF00 && address < 0xFF80) ||
            count > DM_AGENT_RANDOM_MAX - game->random_count)
            return dm_fail(err, DM_EINVAL,
                           "agent: random has '%.32s'; it is ADDRESS:COUNT of work RAM (C000 on) "
                           "or FF80 on, at most %d bytes in all",
                           w, DM_AGENT_RANDOM_MAX);
        for (unsigned long i = 0; i < count; i++)
            game->random[game->random_count++] = (uint16_t)(address + i);
    }
    return DM_OK;
}

/* ---- The game ---- */

bool dm_agent_is_program(const char *reward)
{
    size_t length = strlen(reward);
    return length > 3 && strcmp(reward + length - 3, ".py") == 0;
}

/* The reward: its text, and the compiled program where it is one. */
static dm_status read_reward(const dm_agent_config *config, const char *path, dm_agent_game *out,
                             dm_error *err)
{
    dm_status status = dm_file_read(path, 1u << 20, &out->reward, &out->reward_size, err);
    if (status != DM_OK)
        return status;
    if (strlen(out->reward) != out->reward_size)
        return dm_fail(err, DM_EFORMAT, "%.900s: a zero byte; this is no text", path);
    if (out->reward[strspn(out->reward, " \t\r\n")] == 0)
        return dm_fail(err, DM_EFORMAT, "%.900s: empty; nothing says what is good play", path);
    if (!dm_agent_is_program(config->reward))
        return DM_OK;
    if (strstr(out->reward, ".reward") == NULL)
        return dm_fail(err, DM_EFORMAT,
                       "%.900s: sets no reward; out.reward says what a step is worth", path);
    return dm_program_create(config->reward, out->reward, out->reward_size, NULL, &out->program,
                             err);
}

/* The game, and is it the one that is meant? */
static dm_status read_rom(const dm_agent_config *config, dm_agent_game *out, dm_error *err)
{
    dm_status status = dm_file_read(config->rom, 8u << 20, &out->rom, &out->rom_size, err);
    if (status != DM_OK)
        return status;
    dm_sha256_hex(out->rom, out->rom_size, out->rom_sha256);
    if (config->rom_sha256[0] != 0 && strcmp(config->rom_sha256, out->rom_sha256) != 0)
        return dm_fail(err, DM_EINVAL,
                       "%.400s: another game than the one that is meant (its SHA-256 is %s, not "
                       "%.64s)",
                       config->rom, out->rom_sha256, config->rom_sha256);
    return DM_OK;
}

dm_status dm_agent_game_open(const dm_agent_config *config, const char *reward, dm_agent_game *out,
                             dm_error *err)
{
    *out = (dm_agent_game){.wait = (uint32_t)config->wait};
    dm_status status = read_rom(config, out, err);
    if (status == DM_OK)
        status = read_reward(config, reward ? reward : config->reward, out, err);
    if (status == DM_OK)
        status = parse_actions(config, out, err);
    if (status == DM_OK)
        status = parse_random(config, out, err);
    if (status == DM_OK)
        status = dm_gb_create(out->rom, out->rom_size, NULL, &out->gb, err);
    if (status == DM_OK)
        status = play_start(config, out->gb, err);
    if (status == DM_OK) {
        out->state_bytes = dm_gb_state_bytes(out->gb);
        out->state = malloc(out->state_bytes);
        if (out->state == NULL)
            status = dm_fail(err, DM_ENOMEM, "agent: no memory");
    }
    if (status == DM_OK)
        status = dm_gb_save_state_bytes(out->gb, out->state, out->state_bytes, err);
    if (status != DM_OK)
        dm_agent_game_close(out);
    return status;
}

void dm_agent_game_close(dm_agent_game *game)
{
    dm_gb_destroy(game->gb);
    dm_program_destroy(game->program);
    free(game->state);
    free(game->rom);
    free(game->reward);
    *game = (dm_agent_game){0};
}

dm_status dm_agent_game_start(dm_agent_game *game, uint64_t seed, bool held_out, uint64_t index,
                              void *to, dm_error *err)
{
    dm_status status = dm_gb_load_state_bytes(game->gb, game->state, game->state_bytes, err);
    /* Held-out starts do not depend on the seed, so that runs are measured on the same games. */
    uint64_t from = held_out ? UINT64_MAX : seed, stream = held_out ? 0x5EED : 0xA11;
    if (status == DM_OK && game->wait > 0) {
        uint32_t word = dm_random4(from, stream + 1, index).v[0];
        dm_gb_set_keys(game->gb, 0);
        dm_gb_run_frames(game->gb, dm_random_below(word, game->wait + 1), DM_GB_DRAW_LAST);
    }
    for (uint32_t i = 0; i < game->random_count; i++) {
        uint32_t word = dm_random4(from, stream, index * DM_AGENT_RANDOM_MAX + i).v[0];
        dm_gb_poke(game->gb, game->random[i], (uint8_t)(1 + dm_random_below(word, 255)));
    }
    return status != DM_OK ? status : dm_gb_save_state_bytes(game->gb, to, game->state_bytes, err);
}
