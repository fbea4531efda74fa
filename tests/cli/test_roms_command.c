/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "gb/host/rom.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <string.h>

#define ROMS DM_TEST_SOURCE_ROOT "/roms"
static const char roms_folder[] = ROMS;

static void builds_by_name(void **state)
{
    const char *out = dm_test_path(state, "new/folder");
    dm_test_result r;
    dm_test_dotmatrix(&r, "roms", "build", "alu_loop", "MBC5_SWITCH", "--source", roms_folder,
                      "--out", out);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_string_equal(r.out, "ALU_LOOP               32 KiB\nMBC5_SWITCH           128 KiB\n");
    dm_test_result_free(&r);
    dm_gb_rom rom;
    assert_ok(dm_gb_rom_load(&rom, dm_test_path(state, "new/folder/MBC5_SWITCH.gb"), err));
    assert_string_equal(rom.title, "MBC5_SWITCH");
    assert_int_equal(rom.warnings, DM_GB_ROM_BAD_LOGO);
    dm_gb_rom_deinit(&rom);
    assert_true(dm_file_exists(dm_test_path(state, "new/folder/ALU_LOOP.sym")));
}

static void shows_all_errors(void **state)
{
    const char *source = dm_test_path(state, "bad.asm");
    static const char text[] = " foo\n bar\n";
    dm_test_result r;
    assert_ok(dm_file_write(source, text, sizeof text - 1, err));
    dm_test_dotmatrix(&r, "roms", "build", source, "--out", dm_test_dir(state));
    dm_test_expect_exit(&r, DM_EXIT_COMPILE);
    assert_non_null(strstr(r.err, "bad.asm:1: error: unknown instruction"));
    assert_non_null(strstr(r.err, "bad.asm:2: error: unknown instruction"));
    assert_non_null(strstr(r.err, "bad.asm: 2 errors\n"));
    assert_false(dm_file_exists(dm_test_path(state, "bad.gb")));
    dm_test_result_free(&r);
}

static void check_says_what_differs(void **state)
{
    const char *source = dm_test_path(state, "t.asm");
    static const char text[] = "; expect frames=1 A=$12\n; expect frames=1 A=$13\n"
                               "SECTION \"e\",ROM0[$100]\n ld a,$12\n jr @\n";
    dm_test_result r;
    assert_ok(dm_file_write(source, text, sizeof text - 1, err));
    dm_test_dotmatrix(&r, "roms", "check", source);
    dm_test_expect_exit(&r, DM_EXIT_NEGATIVE);
    assert_non_null(strstr(r.out, "1 of 2 as expected"));
    assert_non_null(strstr(r.err, "t.asm:2:\nA is $12, expected $13\n"));
    dm_test_result_free(&r);
}

static void list_as_json(void **state)
{
    (void)state;
    dm_test_result r;
    dm_test_dotmatrix(&r, "roms", "list", "--json", "--source", roms_folder);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    json_t *root;
    assert_ok(dm_json_parse(r.out, r.out_size, NULL, &root, err));
    json_t *roms = json_object_get(root, "roms");
    assert_true(json_array_size(roms) >= 24);
    assert_non_null(json_object_get(json_array_get(roms, 0), "proves"));
    json_decref(root);
    dm_test_result_free(&r);
}

static void wrong_use(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[5];
        int code;
        const char *says;
    } cases[] = {
        {{"roms", "buld"}, DM_EXIT_USAGE, "did you mean build?"},
        {{"roms", "xyzzy"}, DM_EXIT_USAGE, "there are build, list, check and info"},
        {{"roms", "info"}, DM_EXIT_USAGE, "usage: dotmatrix roms info [OPTIONS] ROM.gb..."},
        {{"roms", "build", "NOPE", "--source=" ROMS}, DM_EXIT_INPUT, "no ROM called NOPE in " ROMS},
        {{"roms", "list", "--source=" ROMS "/include"},
         DM_EXIT_INPUT,
         "no source (.asm) in the folder"},
        {{"roms", "list", "--source=/nowhere"}, DM_EXIT_INPUT, "there is no folder /nowhere"},
        {{"roms", "build", "./no.asm"}, DM_EXIT_INPUT, "no.asm"},
        {{"roms", "info", ROMS "/meson.build"}, DM_EXIT_INPUT, "meson.build"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_test_result r;
        dm_test_run_dotmatrix(NULL, cases[i].arguments, &r);
        dm_test_expect_exit(&r, cases[i].code);
        assert_string_equal(r.out, "");
        if (!strstr(r.err, cases[i].says))
            fail_msg("%s", r.err);
        dm_test_result_free(&r);
    }
}

DM_TESTS("cli/roms", DM_TEST_IN_DIR(builds_by_name), DM_TEST_IN_DIR(shows_all_errors),
         DM_TEST_IN_DIR(check_says_what_differs), DM_TEST(list_as_json), DM_TEST(wrong_use));
