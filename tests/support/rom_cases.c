/* SPDX-License-Identifier: MIT */
#include "tests/support/rom_cases.h"
#include "base/file.h"
#include "tests/support/program_gen.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct folder_walk {
    dm_rom_case *check;
    uint32_t frames;
    unsigned count;
} folder_walk;

static dm_status check_file(const char *root, const dm_dir_entry *entry, void *user, dm_error *err)
{
    folder_walk *walk = user;
    size_t length = strlen(entry->path);
    char path[DM_PATH_MAX], *bytes;
    size_t size;
    if (entry->is_dir || length < 3 || strcmp(entry->path + length - 3, ".gb") != 0)
        return DM_OK;
    assert_ok(dm_path_join(path, root, entry->path, err));
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    walk->check(entry->path, bytes, size, walk->frames, walk->count);
    walk->count++;
    free(bytes);
    (void)err;
    return DM_OK;
}

void dm_each_own_rom(dm_rom_case *check, uint32_t frames)
{
    folder_walk walk = {check, frames, 0};
    assert_ok(dm_dir_walk(DM_TEST_BUILD_ROOT "/roms", check_file, &walk, err));
    assert_true(walk.count >= 24);
}

void dm_each_program(dm_rom_case *check, uint32_t frames, uint64_t seeds)
{
    static dm_program program;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        char name[32];
        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        dm_program_make(&program, seed, seed % 2 != 0 ? DM_PROGRAM_TIMING : DM_PROGRAM_PLAIN);
        check(name, program.rom, program.size, frames, seed);
    }
}

void dm_each_game(dm_rom_case *check, uint32_t frames)
{
    folder_walk walk = {check, frames, 0};
    char folder[DM_PATH_MAX] = "";
    const char *games = getenv("DM_TEST_GAMES"), *roms = getenv("DM_TEST_ROMS");
    if (games != NULL)
        assert_ok(dm_path_join(folder, "", games, err));
    else if (roms != NULL)
        assert_ok(dm_path_join(folder, roms, "games", err));
    if (folder[0] == '\0' || !dm_dir_exists(folder))
        dm_test_skip("no games: DM_TEST_GAMES names no folder");
    assert_ok(dm_dir_walk(folder, check_file, &walk, err));
    assert_true(walk.count > 0);
}
