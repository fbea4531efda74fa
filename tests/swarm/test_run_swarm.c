/* SPDX-License-Identifier: MIT */
/* `dotmatrix run --backend vec_cpu`: figures, pictures, and what it refuses. */
#include "base/file.h"
#include "cli/game/mosaic.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"
#include "tests/swarm/swarm_case.h"

#include <stdlib.h>
#include <string.h>

/* A ROM file in the test's folder. */
static void rom_file(void **state, char path[DM_PATH_MAX])
{
    dm_swarm_rom_source rom = dm_case_rom("STARFALL");
    assert_ok(dm_path_join(path, dm_test_dir(state), "game.gb", err));
    assert_ok(dm_file_write(path, rom.bytes, rom.size, err));
}

static void figures_and_pictures(void **state)
{
    char rom[DM_PATH_MAX], picture[DM_PATH_MAX];
    dm_test_result r;
    rom_file(state, rom);
    static const char *const names[] = {"mosaic.png", "mosaic.gif"};
    static const char *const heads[] = {"\x89PNG", "GIF89a"};
    for (int i = 0; i < 2; i++) {
        assert_ok(dm_path_join(picture, dm_test_dir(state), names[i], err));
        dm_test_dotmatrix(&r, "run", "--backend", "vec_cpu", "--rom", rom, "--envs", "5", "--steps",
                          "3", "--frames-per-step", "6", "--record", picture, "--mosaic", "4",
                          "--scale", "2", "--json");
        dm_test_expect_exit(&r, 0);
        assert_non_null(strstr(r.out, "\"backend\": \"vec_cpu\""));
        assert_non_null(strstr(r.out, "\"fps\""));
        dm_test_result_free(&r);
        char *bytes = NULL;
        size_t size = 0;
        assert_ok(dm_file_read(picture, 0, &bytes, &size, err));
        assert_memory_equal(bytes, heads[i], strlen(heads[i]));
        /* Two by two screens with borders, twice as large: 652 x 588. */
        const uint8_t *u = (const uint8_t *)bytes;
        assert_int_equal(i == 0 ? u[18] << 8 | u[19] : u[7] << 8 | u[6], 652);
        assert_int_equal(i == 0 ? u[22] << 8 | u[23] : u[9] << 8 | u[8], 588);
        free(bytes);
    }
}

static void refusals(void **state)
{
    static const struct {
        const char *option, *value, *message;
    } cases[] = {{"--stage", "half_step", "there are full_step, emulate_only"},
                 {"--action-gen", "monkey", "seeded_random"},
                 {"--obs", "smell", "there are vector, shades"},
                 {"--mosaic", "9x1", "8x8"},
                 {"--envs", "0", "--envs"},
                 {"--record", "x.jpg", "neither .gif nor .png"},
                 {"--mosaic", "65", "8x8"},
                 {"--mosaic", "2x", "8x8"},
                 {"--mosaic", "0", "8x8"},
                 {"--scale", "2", "--scale does nothing without --record"},
                 {"--gif", "x.gif",
                  "--gif is for one machine, and --backend vec_cpu runs a swarm; "
                  "there is --record FILE.gif"},
                 {"--save", "x.state", "--save is for one machine"},
                 {"--battery", "x.sav", "--battery is for one machine"},
                 {"--frames", "60", "there is --steps and --frames-per-step"}};
    char rom[DM_PATH_MAX];
    rom_file(state, rom);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_test_result r;
        bool mosaic = strcmp(cases[i].option, "--mosaic") == 0;
        dm_test_dotmatrix(&r, "run", "--backend", "vec_cpu", "--rom", rom, cases[i].option,
                          cases[i].value, mosaic ? "--record" : "--envs", mosaic ? "x.gif" : "4");
        dm_test_expect_exit(&r, 2);
        if (strstr(r.err, cases[i].message) == NULL)
            fail_msg("%s: %s", cases[i].option, r.err);
        dm_test_result_free(&r);
    }
}

/* Every pixel of every machine is in the picture, between borders of one shade. */
static void mosaics_are_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t columns, rows, count;
    } cases[] = {{"1", 1, 1, 1},   {"2", 2, 1, 2},   {"3", 2, 2, 3},   {"4", 2, 2, 4},
                 {"12", 4, 3, 12}, {"8x1", 8, 1, 8}, {"64", 8, 8, 64}, {"8x8", 8, 8, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_mosaic m;
        assert_ok(dm_mosaic_parse(cases[i].text, &m, err));
        assert_int_equal(m.columns, cases[i].columns);
        assert_int_equal(m.rows, cases[i].rows);
        assert_int_equal(m.count, cases[i].count);
        uint32_t edge = i == 0 ? 0 : DM_MOSAIC_BORDER;
        assert_int_equal(m.width, m.columns * (160 + edge) + edge);
        assert_int_equal(m.height, m.rows * (144 + edge) + edge);
        uint8_t *picture = calloc(m.width, m.height), screen[160 * 144];
        dm_mosaic_clear(&m, picture);
        for (uint32_t k = 0; k < m.count; k++) {
            for (uint32_t p = 0; p < sizeof screen; p++)
                screen[p] = (uint8_t)(100 + k + p % 7);
            dm_mosaic_place(&m, k, screen, picture);
        }
        uint32_t inside = 0;
        for (uint32_t y = 0; y < m.height; y++) {
            for (uint32_t x = 0; x < m.width; x++) {
                uint8_t pixel = picture[y * m.width + x];
                uint32_t column = x / (160 + edge), row = y / (144 + edge);
                uint32_t px = x - column * (160 + edge) - edge, py = y - row * (144 + edge) - edge;
                if (px >= 160 || py >= 144 || row * m.columns + column >= m.count) {
                    assert_int_equal(pixel, DM_MOSAIC_BORDER_SHADE);
                } else {
                    assert_int_equal(pixel, 100 + row * m.columns + column + (py * 160 + px) % 7);
                    inside++;
                }
            }
        }
        assert_int_equal(inside, m.count * 160 * 144);
        free(picture);
    }
}

/* One saved state is one game until its random generator is set at random; own actions and hooks are taken. */
static void starts_actions_and_hooks(void **state)
{
    char rom[DM_PATH_MAX], saved[DM_PATH_MAX], keys[DM_PATH_MAX], list[DM_PATH_MAX];
    snprintf(rom, sizeof rom, "%s/roms/STARFALL.gb", DM_TEST_BUILD_ROOT);
    assert_ok(dm_path_join(saved, dm_test_dir(state), "s.state", err));
    assert_ok(dm_path_join(keys, dm_test_dir(state), "keys.txt", err));
    assert_ok(dm_path_join(list, dm_test_dir(state), "actions.txt", err));
    assert_ok(dm_file_write(keys, "88 START\n92 -\n", 14, err));
    assert_ok(dm_file_write(list, "-\nLEFT\n0x11\n", 12, err));
    dm_test_result r;
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--frames", "120", "--input", keys, "--save", saved);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--backend", "vec_cpu", "--envs", "16", "--steps",
                      "4", "--start-state", saved);
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "1 different games among 16 machines"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--backend", "vec_cpu", "--envs", "16", "--steps",
                      "4", "--start-state", saved, "--random", "C009:2", "--actions", list,
                      "--hook", "0040", "--json");
    dm_test_expect_exit(&r, 0);
    assert_null(strstr(r.out, "\"different_starts\": 1,"));
    assert_non_null(strstr(r.out, "\"different_starts\": "));
    assert_non_null(strstr(r.out, "\"times\": 64"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "run", "--rom", rom, "--backend", "vec_cpu", "--random", "C009:x");
    dm_test_expect_exit(&r, 2);
    dm_test_result_free(&r);
}

#define RUN_TEST(function)                                                                         \
    cmocka_unit_test_setup_teardown(function, dm_test_dir_setup, dm_test_dir_teardown)
DM_TESTS("swarm/run", RUN_TEST(figures_and_pictures), RUN_TEST(refusals),
         RUN_TEST(starts_actions_and_hooks), cmocka_unit_test(mosaics_are_whole));
