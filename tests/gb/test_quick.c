/* SPDX-License-Identifier: MIT */
/* The short road (gb/quick.h) beside the CPU's loop, in slices of any length: on our ROMs, on
 * generated programs, and on the games of the folder $DM_TEST_GAMES (or $DM_TEST_ROMS/games) where
 * there is one. Every byte of state and memory and every picture is the same. */
#include "base/file.h"
#include "gb/core.h"
#include "gb/quick_rows.h"
#include "tests/gb/gpu_form.h"
#include "tests/support/program_gen.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM_SEEDS 120
#define OWN_FRAMES 90
#define GAME_FRAMES 400

static uint32_t *words_of(const dm_gb_rom *rom)
{
    uint32_t *words = calloc(rom->size, sizeof *words);
    assert_non_null(words);
    for (size_t i = 0; i < rom->size; i++)
        for (size_t k = 0; k < 3 && i + k < rom->size; k++)
            words[i] |= (uint32_t)rom->bytes[i + k] << (8 * k);
    return words;
}

/* Two machines side by side; ends the test at the first difference. */
static void compare(const char *name, const void *rom, size_t size, uint32_t frames, uint64_t seed)
{
    dm_gb *gb;
    dm_test_random random = dm_test_random_make(seed, 11);
    const size_t picture = sizeof gb->frames;
    const bool draws = dm_test_random_chance(&random, 50);
    assert_ok(dm_gb_create(rom, size, NULL, &gb, err));
    dm_gb_machine m = gb->machine;
    uint8_t *ram = malloc(gb->ram_size), *pictures = calloc(1, picture);
    assert_non_null(ram);
    assert_non_null(pictures);
    memcpy(ram, gb->ram, gb->ram_size);
    uint32_t *words = dm_test_random_chance(&random, 80) ? words_of(&gb->rom) : NULL;
    dm_test_gpu_form form = {&m, ram, gb->rom.bytes, words, draws ? pictures : NULL, true};
    for (uint64_t done = 0, end = (uint64_t)frames * DM_GB_FRAME_CYCLES; done < end;) {
        const uint32_t cycles = dm_test_random_chance(&random, 20)
                                    ? 1u + dm_test_random_below(&random, 400)
                                    : 1u + dm_test_random_below(&random, 3 * DM_GB_FRAME_CYCLES);
        uint8_t keys = dm_test_random_chance(&random, 50) ? 0 : dm_test_random_byte(&random);
        dm_gb_set_keys(gb, keys);
        m.joypad = gb->machine.joypad;
        m.int_flags = gb->machine.int_flags;
        dm_gb_run_cycles(gb, cycles, draws ? DM_GB_DRAW_ALWAYS : DM_GB_DRAW_NEVER);
        dm_test_gpu_form_run(&form, cycles);
        done += cycles;
        const unsigned at = (unsigned)(done / DM_GB_FRAME_CYCLES);
        if (memcmp(&m, &gb->machine, sizeof m) != 0)
            fail_msg("%s, frame %u: the states differ; PC %04X and %04X", name, at, m.cpu.pc,
                     gb->machine.cpu.pc);
        if (memcmp(ram, gb->ram, gb->ram_size) != 0)
            fail_msg("%s, frame %u: memory differs; PC %04X", name, at, m.cpu.pc);
        if (draws && memcmp(pictures, gb->frames, picture) != 0)
            fail_msg("%s, frame %u: the pictures differ", name, at);
    }
    free(words);
    free(ram);
    free(pictures);
    dm_gb_destroy(gb);
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
    for (uint64_t seed = 0; seed < 2; seed++)
        compare(entry->path, bytes, size, walk->frames, 2 * walk->count + seed);
    walk->count++;
    free(bytes);
    (void)err;
    return DM_OK;
}

static void our_roms(void **state)
{
    (void)state;
    folder_walk walk = {.frames = OWN_FRAMES};
    assert_ok(dm_dir_walk(DM_TEST_BUILD_ROOT "/roms", compare_file, &walk, err));
    assert_true(walk.count >= 24);
}

static void programs(void **state)
{
    (void)state;
    dm_program *program = malloc(sizeof *program);
    assert_non_null(program);
    for (uint64_t seed = 0; seed < PROGRAM_SEEDS; seed++) {
        char name[40];
        snprintf(name, sizeof name, "program %u", (unsigned)seed);
        dm_program_make(program, seed, seed % 2 == 0 ? DM_PROGRAM_PLAIN : DM_PROGRAM_TIMING);
        compare(name, program->rom, program->size, 6, seed);
    }
    free(program);
}

static void games(void **state)
{
    (void)state;
    char path[DM_PATH_MAX];
    const char *folder = getenv("DM_TEST_GAMES"), *roms = getenv("DM_TEST_ROMS");
    if (folder == NULL && roms != NULL) {
        assert_ok(dm_path_join(path, roms, "games", err));
        folder = path;
    }
    if (folder == NULL)
        dm_test_skip("DM_TEST_GAMES and DM_TEST_ROMS are not set");
    folder_walk walk = {.frames = GAME_FRAMES};
    assert_ok(dm_dir_walk(folder, compare_file, &walk, err));
}

/* What the rows of both roads say must agree. */
static void rows_agree(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 512; i++) {
        const dm_gb_quick_row row = dm_gb_quick_rows[i];
        const uint32_t plain = dm_gb_rows[i];
        assert_int_equal(DM_GB_Q_OPERATION(row), DM_GB_ROW_OPERATION(plain));
        assert_int_equal(DM_GB_Q_EXTRA(row), DM_GB_ROW_EXTRA(plain));
        assert_int_equal(DM_GB_Q_LENGTH(row), DM_GB_ROW_LENGTH(plain));
        for (uint32_t nibble = 0; nibble < 4; nibble++) {
            /* Selectors name one of eight bytes. */
            assert_true((row.registers >> (4 * nibble) & 8u) == 0);
            assert_true((row.registers >> (16 + 4 * nibble) & 8u) == 0);
            assert_true((row.address >> (4 * nibble) & 8u) == 0);
        }
        const bool reads =
            DM_GB_ROW_SOURCE(plain) == DM_GB_ARG_MEM || DM_GB_ROW_SOURCE(plain) == DM_GB_ARG_STACK;
        assert_int_equal((row.flags & DM_GB_Q_READS) != 0, reads);
    }
}

DM_TESTS("gb/quick", cmocka_unit_test(rows_agree), cmocka_unit_test(our_roms),
         cmocka_unit_test(programs), cmocka_unit_test(games))
