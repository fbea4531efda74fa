/* SPDX-License-Identifier: MIT */
#include "tests/games/players.h"

#include "base/philox.h"
#include "romtools/asm.h"
#include "tests/support/test.h"

#include <stdio.h>

dm_gb *game_create(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, DM_TEST_SOURCE_ROOT "/roms/game/%s.asm", name);
    const dm_gb_asm_options options = {.include_dir = DM_TEST_SOURCE_ROOT "/roms/include"};
    dm_gb_asm_result rom;
    dm_gb *gb = NULL;
    assert_ok(dm_gb_asm_file(path, &options, &rom, err));
    assert_ok(dm_gb_create(rom.rom, rom.rom_size, NULL, &gb, err));
    dm_gb_asm_result_deinit(&rom);
    return gb;
}

int game_teardown(void **state)
{
    dm_gb_destroy(*state);
    return 0;
}

void game_run(dm_gb *gb, uint8_t keys, uint32_t frames)
{
    dm_gb_set_keys(gb, keys);
    dm_gb_run_frames(gb, frames, DM_GB_DRAW_NEVER);
}

unsigned game_word(dm_gb *gb, uint16_t address)
{
    return dm_gb_peek(gb, address) | (unsigned)dm_gb_peek(gb, (uint16_t)(address + 1)) << 8;
}

unsigned game_digits(dm_gb *gb, uint16_t address)
{
    unsigned high = dm_gb_peek(gb, address), low = dm_gb_peek(gb, (uint16_t)(address + 1));
    return (high >> 4) * 1000 + (high & 15) * 100 + (low >> 4) * 10 + (low & 15);
}

void game_begin(dm_gb *gb, uint32_t wait)
{
    game_run(gb, 0, wait);
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_TITLE);
    game_run(gb, DM_GB_KEY_START, 4);
    for (int i = 0; i < 600 && dm_gb_peek(gb, GAME_STATE) != GAME_PLAYING; i++)
        game_run(gb, 0, 1);
    assert_int_equal(dm_gb_peek(gb, GAME_STATE), GAME_PLAYING);
    assert_int_equal(dm_gb_peek(gb, GAME_LIVES), 3);
    assert_int_equal(game_word(gb, GAME_SCORE), 0);
}

int game_peek_signed(dm_gb *gb, uint16_t address)
{
    int value = dm_gb_peek(gb, address);
    return value < 128 ? value : value - 256;
}

uint8_t game_random_choice(const game_player *player, uint64_t seed, uint32_t frame)
{
    return (uint8_t)(dm_random4(seed, 0, frame / 8).v[0] & player->keys);
}

unsigned game_play(dm_gb *gb, const game_player *player)
{
    for (uint32_t i = 0; i < player->frames && dm_gb_peek(gb, GAME_STATE) != GAME_OVER; i++)
        game_run(gb, player->choose(gb), 1);
    return game_word(gb, GAME_SCORE);
}

unsigned game_play_randomly(dm_gb *gb, const game_player *player, uint64_t seed)
{
    for (uint32_t i = 0; i < player->frames && dm_gb_peek(gb, GAME_STATE) != GAME_OVER; i++)
        game_run(gb, game_random_choice(player, seed, i), 1);
    return game_word(gb, GAME_SCORE);
}
