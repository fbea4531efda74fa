/* SPDX-License-Identifier: MIT */
/* A libretro core beside ours: Debian's gambatte, where it is installed. */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "lab/reference/libretro.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <stdio.h>
#include <string.h>

static void need_gambatte(void)
{
    char version[128];
    dm_error why;
    if (dm_libretro_version(NULL, version, sizeof version, &why) != DM_OK)
        dm_test_skip("%s", why.message);
}

static const char *rom(const char *name)
{
    static char path[DM_PATH_MAX];
    snprintf(path, sizeof path, "%s/roms/%s.gb", DM_TEST_BUILD_ROOT, name);
    return path;
}

static void run_in(void **state, dm_test_result *r, const char *const *arguments)
{
    dm_test_run_dotmatrix(&(dm_test_command){.folder = dm_test_dir(state)}, arguments, r);
}
#define command(r, ...) run_in(state, r, (const char *const[]){__VA_ARGS__, NULL})

static void expect_error(void **state, int code, const char *text, const char *const *arguments)
{
    dm_test_result r;
    run_in(state, &r, arguments);
    dm_test_expect_exit(&r, code);
    if (strstr(r.err, text) == NULL)
        fail_msg("'%s' is not in: %s", text, r.err);
    dm_test_result_free(&r);
}
#define refuses(code, text, ...)                                                                   \
    expect_error(state, code, text, (const char *const[]){__VA_ARGS__, NULL})

/* Scrolled tiles, the window, and sprites that overlap, of which mGBA shows another on top. */
static void pictures_agree(void **state)
{
    static const char *const names[] = {"BG_STATIC", "BG_SCROLL_SIGNED", "PPU_WINDOW",
                                        "PPU_SPRITES"};
    need_gambatte();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        dm_test_result r;
        command(&r, "verify", "--rom", rom(names[i]), "--ref-backend", "gambatte", "--start",
                "post-boot", "--compare-frame", "--settle", "16", "--verify-steps", "32");
        dm_test_expect_exit(&r, 0);
        assert_non_null(strstr(r.out, "17 comparisons"));
        assert_non_null(strstr(r.out, "not compared: pc,sp,a,f,b,c,d,e,h,l,cycles"));
        dm_test_result_free(&r);
    }
}

/* A game under random buttons: it rests where a picture ends, so that memory agrees too. */
static void a_game_agrees(void **state)
{
    need_gambatte();
    dm_test_result r;
    command(&r, "verify", "--rom", rom("SWITCHBACK"), "--ref-backend", "gambatte", "--start",
            "post-boot", "--compare-frame", "--mem-region", "C000:C100", "--settle", "60",
            "--verify-steps", "600", "--action-gen", "seeded_random");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "541 comparisons"));
    dm_test_result_free(&r);
}

/* Pictures that differ are told, kept in a bundle, and found again by a replay. */
static void a_picture_that_differs_is_found(void **state)
{
    need_gambatte();
    dm_test_result r;
    command(&r, "verify", "--rom", rom("SWITCHBACK"), "--ref-backend", "gambatte", "--dut-backend",
            "wrong_single", "--start", "post-boot", "--compare-frame", "--settle", "60",
            "--verify-steps", "64", "--bundle", "found");
    dm_test_expect_exit(&r, DM_EXIT_NEGATIVE);
    assert_non_null(strstr(r.out, "picture: "));
    dm_test_result_free(&r);
    assert_true(dm_file_exists(dm_test_path(state, "found/reference.png")));
    command(&r, "replay", "found");
    dm_test_expect_exit(&r, DM_EXIT_NEGATIVE);
    dm_test_result_free(&r);
}

static void what_a_core_does_not_show_is_refused(void **state)
{
    need_gambatte();
    const char *path = rom("MEM_RWB");
    refuses(DM_EXIT_USAGE, "gambatte shows no registers", "verify", "--rom", path, "--ref-backend",
            "gambatte", "--start", "post-boot");
    refuses(DM_EXIT_INPUT, "starts as after the boot ROM", "verify", "--rom", path, "--ref-backend",
            "gambatte", "--compare-frame");
    refuses(DM_EXIT_INPUT, "it shows C000:E000 alone", "verify", "--rom", path, "--ref-backend",
            "gambatte", "--start", "post-boot", "--mem-region", "FF80:FF90");
}

static void files_that_are_no_cores_are_refused(void **state)
{
    const char *path = rom("MEM_RWB");
    assert_ok(dm_file_write(dm_test_path(state, "text.so"), "text", 4, err));
    refuses(DM_EXIT_MISSING, "libretro: ", "verify", "--rom", path, "--ref-backend",
            "libretro:./text.so", "--start", "post-boot", "--compare-frame");
    refuses(DM_EXIT_USAGE, "with a / in it", "verify", "--rom", path, "--ref-backend",
            "libretro:text.so", "--start", "post-boot", "--compare-frame");
    refuses(DM_EXIT_USAGE, "the path of a core is missing", "bench", "--backends", "libretro:");
}

/* One machine beside it: the same keys bring both to the same picture, and the artifact says who
 * draws what. */
static void one_machine_is_measured_beside_it(void **state)
{
    need_gambatte();
    dm_test_result r;
    command(&r, "bench", "--backends", "single,gambatte", "--rom", rom("STARFALL"), "--env-counts",
            "1", "--stages", "emulate_only,full_step", "--frames-per-step", "8", "--draw", "every",
            "--diverge-frames", "304", "--warmup-seconds", "0", "--steps", "2", "--repeat", "1",
            "--out", "a.json");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    json_t *root;
    assert_ok(dm_json_load(dm_test_path(state, "a.json"), &root, err));
    const json_t *rows = json_object_get(root, "results"), *row;
    char pictures[2][32] = {"", ""};
    int drawn = 0;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *stage = json_string_value(json_object_get(row, "stage"));
        const char *skipped = json_string_value(json_object_get(row, "skipped"));
        bool theirs = json_is_true(json_object_get(row, "is_reference"));
        if (strcmp(stage, "full_step") != 0) {
            assert_int_equal(skipped != NULL, theirs);
            if (skipped != NULL)
                assert_non_null(strstr(skipped, "it draws every frame"));
            continue;
        }
        const json_t *settings = json_object_get(row, "settings");
        assert_string_equal(json_string_value(json_object_get(settings, "draws")),
                            theirs ? "every picture; it cannot leave one out" : "every picture");
        assert_int_equal(json_integer_value(json_object_get(row, "blank_at_the_end")), 0);
        const json_t *after = json_object_get(row, "after_warmup");
        snprintf(pictures[drawn++ % 2], sizeof pictures[0], "%s",
                 json_string_value(json_object_get(after, "pictures")));
    }
    assert_int_equal(drawn, 2);
    assert_string_equal(pictures[0], pictures[1]);
    json_decref(root);
}

DM_TESTS("lab/libretro", DM_TEST_IN_DIR(pictures_agree), DM_TEST_IN_DIR(a_game_agrees),
         DM_TEST_IN_DIR(a_picture_that_differs_is_found),
         DM_TEST_IN_DIR(what_a_core_does_not_show_is_refused),
         DM_TEST_IN_DIR(files_that_are_no_cores_are_refused),
         DM_TEST_IN_DIR(one_machine_is_measured_beside_it));
