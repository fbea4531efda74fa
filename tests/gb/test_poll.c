/* SPDX-License-Identifier: MIT */
/* Skipping polling loops, drawing or not, and how many frames a call runs change nothing that a
 * program can see: on our ROMs, on generated programs, and on the games of the folder
 * $DM_TEST_GAMES (or $DM_TEST_ROMS/games) where there is one. */
#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/program_gen.h"
#include "tests/support/random.h"
#include "tests/support/same_machine.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM_SEEDS 60
#define OWN_FRAMES 120
#define GAME_FRAMES 600

/* Two machines side by side; ends the test at the first difference. */
static void compare(const char *name, const void *rom, size_t size, uint32_t frames, uint64_t seed)
{
    dm_gb *skips, *keeps;
    char why[256];
    dm_test_random random = dm_test_random_make(seed, 7);
    const dm_gb_options keep = {.keep_polling = true};
    assert_ok(dm_gb_create(rom, size, NULL, &skips, err));
    assert_ok(dm_gb_create(rom, size, &keep, &keeps, err));
    for (uint32_t done = 0; done < frames;) {
        const uint32_t now = 1 + dm_test_random_below(&random, 4);
        uint8_t keys = dm_test_random_chance(&random, 50) ? 0 : dm_test_random_byte(&random);
        dm_gb_set_keys(skips, keys);
        dm_gb_set_keys(keeps, keys);
        dm_gb_run_frames(skips, now, DM_GB_DRAW_LAST);
        for (uint32_t i = 0; i < now; i++)
            dm_gb_run_frames(keeps, 1, DM_GB_DRAW_ALWAYS);
        done += now;
        if (!dm_same_machine(skips, keeps, why, sizeof why))
            fail_msg("%s, %u frames: %s", name, done, why);
        if (memcmp(dm_gb_frame(skips), dm_gb_frame(keeps), DM_GB_SCREEN_W * DM_GB_SCREEN_H) != 0)
            fail_msg("%s, %u frames: the pictures differ", name, done);
    }
    dm_gb_destroy(skips);
    dm_gb_destroy(keeps);
}

typedef struct folder_walk {
    uint32_t frames;
    unsigned count;
} folder_walk;

static dm_status compare_file(const char *root, const dm_dir_entry *entry, void *user,
                              dm_error *err)
{
    folder_walk *walk = user;
    size_t length = strlen(entry->path);
    char path[DM_PATH_MAX], *bytes;
    size_t size;
    if (entry->is_dir || length < 3 || strcmp(entry->path + length - 3, ".gb") != 0)
        return DM_OK;
    assert_ok(dm_path_join(path, root, entry->path, err));
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    compare(entry->path, bytes, size, walk->frames, walk->count);
    walk->count++;
    free(bytes);
    (void)err;
    return DM_OK;
}

static void our_roms_run_the_same(void **state)
{
    (void)state;
    folder_walk walk = {.frames = OWN_FRAMES};
    assert_ok(dm_dir_walk(DM_TEST_BUILD_ROOT "/roms", compare_file, &walk, err));
    assert_true(walk.count >= 24);
}

static void programs_run_the_same(void **state)
{
    (void)state;
    static dm_program program;
    for (uint64_t seed = 1; seed <= PROGRAM_SEEDS; seed++) {
        char name[32];
        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        dm_program_make(&program, seed, seed % 2 != 0 ? DM_PROGRAM_TIMING : DM_PROGRAM_PLAIN);
        compare(name, program.rom, program.size, 12, seed);
    }
}

static void games_run_the_same(void **state)
{
    (void)state;
    char folder[DM_PATH_MAX] = "";
    const char *games = getenv("DM_TEST_GAMES"), *roms = getenv("DM_TEST_ROMS");
    if (games != NULL)
        assert_ok(dm_path_join(folder, "", games, err));
    else if (roms != NULL)
        assert_ok(dm_path_join(folder, roms, "games", err));
    if (folder[0] == '\0' || !dm_dir_exists(folder))
        dm_test_skip("no games: DM_TEST_GAMES names no folder");
    folder_walk walk = {.frames = GAME_FRAMES};
    assert_ok(dm_dir_walk(folder, compare_file, &walk, err));
    assert_true(walk.count > 0);
}

/* The fuzzer for a moment; `make fuzz` for longer, under the sanitizers. */
static void fuzzed_roms_run_the_same(void **state)
{
    (void)state;
    static const char program[] = DM_TEST_BUILD_ROOT "/tests/dm-fuzz-rom";
    const char *const argv[] = {program, "--frames", "4000", "--seed", "1", NULL};
    dm_test_result result;
    dm_test_run(&(dm_test_command){.argv = argv, .seconds = 300}, &result);
    dm_test_expect_exit(&result, 0);
    assert_non_null(strstr(result.out, " 0 failed"));
    dm_test_result_free(&result);
}

DM_TESTS("gb/poll", DM_TEST(our_roms_run_the_same), DM_TEST(programs_run_the_same),
         DM_TEST(games_run_the_same), DM_TEST(fuzzed_roms_run_the_same));
