/* SPDX-License-Identifier: MIT */
/* `dotmatrix run --backend vec_cpu`: figures, pictures, and what it refuses. */
#include "base/file.h"
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
                          "--json");
        dm_test_expect_exit(&r, 0);
        assert_non_null(strstr(r.out, "\"backend\": \"vec_cpu\""));
        assert_non_null(strstr(r.out, "\"fps\""));
        dm_test_result_free(&r);
        char *bytes = NULL;
        size_t size = 0;
        assert_ok(dm_file_read(picture, 0, &bytes, &size, err));
        assert_memory_equal(bytes, heads[i], strlen(heads[i]));
        free(bytes);
    }
}

static void refusals(void **state)
{
    static const struct {
        const char *option, *value, *message;
    } cases[] = {{"--stage", "half_step", "there are full_step, emulate_only"},
                 {"--action-gen", "monkey", "seeded_random"},
                 {"--obs", "smell", "none, vector"},
                 {"--mosaic", "3", "1, 4 or 16"},
                 {"--envs", "0", "--envs"},
                 {"--record", "x.jpg", "neither .gif nor .png"}};
    char rom[DM_PATH_MAX];
    rom_file(state, rom);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_test_result r;
        dm_test_dotmatrix(&r, "run", "--backend", "vec_cpu", "--rom", rom, cases[i].option,
                          cases[i].value);
        dm_test_expect_exit(&r, 2);
        if (strstr(r.err, cases[i].message) == NULL)
            fail_msg("%s: %s", cases[i].option, r.err);
        dm_test_result_free(&r);
    }
}

#define RUN_TEST(function)                                                                         \
    cmocka_unit_test_setup_teardown(function, dm_test_dir_setup, dm_test_dir_teardown)
DM_TESTS("swarm/run", RUN_TEST(figures_and_pictures), RUN_TEST(refusals));
