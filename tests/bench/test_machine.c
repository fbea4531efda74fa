/* SPDX-License-Identifier: MIT */
/* dm-bench-machine from outside, with short runs: no figure is checked but that there are some. */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "romtools/asm.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sleeps through all frames but for an instruction or two. */
static const char program[] = "HEADER \"SLEEP\", ROM\n"
                              "SECTION \"vblank\", ROM0[$40]\n"
                              "    reti\n"
                              "SECTION \"entry\", ROM0[$100]\n"
                              "    nop\n"
                              "    jp $0150\n"
                              "SECTION \"main\", ROM0[$150]\n"
                              "    ld a, 1\n"
                              "    ldh [$FFFF], a\n"
                              "    ei\n"
                              "Loop:\n"
                              "    halt\n"
                              "    nop\n"
                              "    jr Loop\n";

static const char *bench_program(void)
{
    static const char path[] = DM_TEST_BUILD_ROOT "/bench/dm-bench-machine";
    if (!dm_file_exists(path))
        dm_test_skip("dm-bench-machine is not built here");
    return path;
}

static void run(dm_test_result *r, const char *const *arguments)
{
    const char *argv[16] = {bench_program()};
    for (int i = 0; arguments[i] != NULL; i++)
        argv[i + 1] = arguments[i];
    dm_test_run(&(dm_test_command){.argv = argv}, r);
}
#define bench(r, ...) run(r, (const char *const[]){__VA_ARGS__, NULL})

static const char *make_rom(void **state)
{
    const char *path = dm_test_path(state, "sleep.gb");
    dm_gb_asm_result result;
    assert_ok(dm_gb_asm_text("sleep", program, strlen(program), NULL, &result, err));
    assert_ok(dm_file_write(path, result.rom, result.rom_size, err));
    dm_gb_asm_result_deinit(&result);
    return path;
}

static void ours_alone_gives_table_and_artifact(void **state)
{
    make_rom(state);
    const char *artifact = dm_test_path(state, "figures.json");
    dm_test_result r;
    bench(&r, "--only", "ours", "--rounds", "3", "--frames", "64", "--sample", "0.001", "--json",
          artifact, dm_test_dir(state));
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_string_equal(r.err, "");
    assert_non_null(strstr(r.out, "\nsleep.gb "));
    assert_non_null(strstr(r.out, "drawing on, ours / libmgba                     not measured"));
    dm_test_result_free(&r);
    json_t *json = NULL;
    assert_ok(dm_json_load(artifact, &json, err));
    assert_int_equal(json_array_size(json_object_get(json, "roms")), 1);
    json_t *rom = json_array_get(json_object_get(json, "roms"), 0);
    json_t *on = json_object_get(json_object_get(rom, "drawing_on"), "ours");
    json_t *off = json_object_get(json_object_get(rom, "drawing_off"), "ours");
    assert_int_equal(json_array_size(json_object_get(on, "fps")), 3);
    assert_int_equal(json_array_size(json_object_get(off, "fps")), 3);
    double median = json_number_value(json_object_get(off, "fps_median"));
    double best = json_number_value(json_object_get(off, "fps_best"));
    assert_true(median > 60 && best >= median);
    /* Per frame: RETI, NOP, JR, HALT. */
    assert_true(fabs(json_number_value(json_object_get(rom, "instructions_per_frame")) - 4) < 0.1);
    assert_true(json_number_value(json_object_get(rom, "halt_share")) > 0.99);
    json_decref(json);
}

/* Every emulator that is installed runs the same frames; the others are named and left out. */
static void all_that_are_installed_take_part(void **state)
{
    const char *rom = make_rom(state);
    static const char *const names[] = {"ours", "libmgba", "gambatte", "pyboy"};
    const char *artifact = dm_test_path(state, "figures.json");
    dm_test_result r;
    bench(&r, "--rounds", "1", "--frames", "64", "--warmup", "16", "--sample", "0.001", "--json",
          artifact, rom);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    json_t *json = NULL;
    assert_ok(dm_json_load(artifact, &json, err));
    json_t *drawn = json_object_get(json_array_get(json_object_get(json, "roms"), 0), "drawing_on");
    for (size_t i = 0; i < 4; i++) {
        json_t *emulator = json_array_get(json_object_get(json, "emulators"), i);
        assert_string_equal(json_string_value(json_object_get(emulator, "name")), names[i]);
        bool used = json_is_true(json_object_get(emulator, "used"));
        assert_int_equal(used, json_object_get(drawn, names[i]) != NULL);
        assert_int_equal(used, json_is_string(json_object_get(emulator, "version")));
        char left_out[64];
        snprintf(left_out, sizeof left_out, "%s is left out: ", names[i]);
        assert_int_equal(used, strstr(r.out, left_out) == NULL);
    }
    json_decref(json);
    dm_test_result_free(&r);
}

static void bad_use_is_refused(void **state)
{
    const char *rom = make_rom(state);
    dm_test_result r;
    bench(&r, "--only", "bgb", rom);
    dm_test_expect_exit(&r, DM_EXIT_USAGE);
    assert_non_null(strstr(r.err, "no emulator is called 'bgb'"));
    dm_test_result_free(&r);
    bench(&r, "--rounds", "0", rom);
    dm_test_expect_exit(&r, DM_EXIT_USAGE);
    dm_test_result_free(&r);
    assert_ok(dm_dir_create(dm_test_path(state, "empty"), err));
    bench(&r, dm_test_path(state, "empty"));
    dm_test_expect_exit(&r, DM_EXIT_INPUT);
    assert_non_null(strstr(r.err, "no ROMs found"));
    dm_test_result_free(&r);
}

static void what_is_no_rom_is_left_out(void **state)
{
    const char *rom = make_rom(state), *bad = dm_test_path(state, "bad.gb");
    assert_ok(dm_file_write(bad, "x", 1, err));
    dm_test_result r;
    bench(&r, "--only", "ours", "--rounds", "1", "--frames", "8", "--sample", "0.001", bad,
          "/nonexistent.gb", rom);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "\nbad.gb                   left out: "));
    assert_non_null(strstr(r.out, "\nnonexistent.gb           left out: "));
    assert_non_null(strstr(r.out, "\nsleep.gb "));
    dm_test_result_free(&r);
}

DM_TESTS("bench/machine", DM_TEST_IN_DIR(ours_alone_gives_table_and_artifact),
         DM_TEST_IN_DIR(all_that_are_installed_take_part), DM_TEST_IN_DIR(bad_use_is_refused),
         DM_TEST_IN_DIR(what_is_no_rom_is_left_out))
