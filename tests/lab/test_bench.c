/* SPDX-License-Identifier: MIT */
/* `dotmatrix bench` and `dotmatrix report` from outside, with short windows: no figure is checked
 * but that there are some and that they fit together. */
#include "base/file.h"
#include "base/host/machine.h"
#include "base/json.h"
#include "cli/command.h"
#include "lab/bench/bench.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char game[] = DM_TEST_BUILD_ROOT "/roms/STARFALL.gb";
static const char joypad[] = DM_TEST_BUILD_ROOT "/roms/JOY_DIVERGE_PERSIST.gb";
static const char program[] = DM_TEST_BUILD_ROOT "/src/cli/dotmatrix";

static void run_in(void **state, dm_test_result *r, const char *const *env,
                   const char *const *arguments)
{
    dm_test_run_dotmatrix(&(dm_test_command){.folder = dm_test_dir(state), .env = env}, arguments,
                          r);
}
#define command(r, ...) run_in(state, r, NULL, (const char *const[]){__VA_ARGS__, NULL})

static void expect_error(void **state, int code, const char *text, const char *const *env,
                         const char *const *arguments)
{
    dm_test_result r;
    run_in(state, &r, env, arguments);
    dm_test_expect_exit(&r, code);
    if (strstr(r.err, text) == NULL)
        fail_msg("'%s' is not in: %s", text, r.err);
    dm_test_result_free(&r);
}
#define refuses(code, text, ...)                                                                   \
    expect_error(state, code, text, NULL, (const char *const[]){__VA_ARGS__, NULL})

static json_t *load(void **state, const char *name)
{
    json_t *root;
    assert_ok(dm_json_load(dm_test_path(state, name), &root, err));
    return root;
}

static double number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

/* Figures that follow from each other do. */
static void check_row(const json_t *row)
{
    double machines = number(row, "machines"), each[8] = {0}, fps = number(row, "fps");
    const json_t *windows = json_object_get(row, "window_seconds");
    size_t count = json_array_size(windows);
    assert_int_equal(count, 3);
    const json_t *steps = json_object_get(row, "window_steps");
    for (size_t i = 0; i < count; i++) {
        double length = json_number_value(json_array_get(windows, i));
        assert_true(length >= 0.01); /* as long as asked for, whatever the warm-up promised */
        each[i] = json_number_value(json_array_get(steps, i)) * 4 * machines / length;
    }
    double middle = fmax(fmin(each[0], each[1]), fmin(fmax(each[0], each[1]), each[2]));
    assert_true(fabs(fps - middle) < 1e-6 * fps);
    assert_true(number(row, "fps_low") <= fps && fps <= number(row, "fps_high"));
    assert_true(fabs(number(row, "steps_per_second") * 4 - fps) < 1e-6 * fps);
    assert_true(json_is_true(json_object_get(row, "synchronized")));
    const json_t *receipt = json_object_get(row, "divergence");
    assert_true(number(receipt, "unique_pcs") >= 1);
    assert_true(number(receipt, "unique_pcs") <= number(receipt, "machines_seen"));
    assert_true(number(receipt, "lanes_same_pc") >= 1 && number(receipt, "lanes_same_pc") <= 32);
}

static void sweep(void **state, const char *backends, const char *out)
{
    dm_test_result r;
    command(&r, "bench", "--backends", backends, "--rom", game, "--env-counts", "1,3,20",
            "--stages", "emulate_only,full_step", "--frames-per-step", "4", "--seconds", "0.01",
            "--warmup-seconds", "0", "--diverge-frames", "16", "--diverge-machines", "4",
            "--ref-machines", "5", "--ref-threads", "1,2", "--out", out);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
}

static void a_sweep_writes_one_artifact(void **state)
{
    sweep(state, "vec_cpu,mgba_vec_mt", "a.json");
    json_t *root = load(state, "a.json");
    assert_string_equal(json_string_value(json_object_get(root, "schema")), DM_LAB_BENCH_SCHEMA);
    assert_true(json_is_false(json_object_get(root, "partial")));
    assert_non_null(json_object_get(json_object_get(root, "provenance"), "machine"));
    const json_t *rows = json_object_get(root, "results"), *row;
    size_t i;
    assert_int_equal(json_array_size(rows), 2 * (3 + 2));
    json_array_foreach(rows, i, row)
    {
        bool reference = json_is_true(json_object_get(row, "is_reference"));
        if (reference && json_object_get(row, "skipped") != NULL)
            continue; /* not installed */
        check_row(row);
        double threads = number(row, "threads"), machines = number(row, "machines");
        /* A reference: as many machines for each thread, at least as many as asked for. */
        assert_true(machines == (reference ? 4 + threads : number(row, "envs")));
        assert_string_equal(json_string_value(json_object_get(row, "folder")), "roms");
        if (!reference)
            assert_true(number(row, "instructions_per_frame") > 100);
    }
    json_decref(root);
}

static const char *text(const json_t *row, const char *object, const char *key)
{
    const char *value = json_string_value(json_object_get(json_object_get(row, object), key));
    return value != NULL ? value : "";
}

/* What is compared is written down: the ROM, who makes sound or pictures on how many threads, and
 * where the machines were. Ours are in the same place wherever they run. */
static void settings_and_hashes_are_in_the_artifact(void **state)
{
    static const char *const threads[] = {"1", "2"};
    char first[2][32] = {"", ""};
    for (int i = 0; i < 2; i++) {
        dm_test_result r;
        command(&r, "bench", "--backends", "single,vec_cpu,mgba_vec_mt", "--rom", game,
                "--env-counts", "1", "--stages", "emulate_only,full_step", "--steps", "2",
                "--repeat", "1", "--warmup-seconds", "0", "--diverge-frames", "240",
                "--ref-threads", "1", "--ref-machines", "1", "--workers", threads[i], "--out",
                "a.json");
        dm_test_expect_exit(&r, 0);
        dm_test_result_free(&r);
        json_t *root = load(state, "a.json");
        const json_t *rows = json_object_get(root, "results"), *row;
        const json_t *seen =
            json_object_get(json_object_get(root, "configuration"), "observations");
        assert_string_equal(json_string_value(json_array_get(seen, 0)), "packed");
        size_t k;
        json_array_foreach(rows, k, row)
        {
            if (json_object_get(row, "skipped") != NULL)
                continue;
            bool draws = strcmp(json_string_value(json_object_get(row, "stage")), "full_step") == 0;
            assert_int_equal(strlen(json_string_value(json_object_get(row, "rom_sha256"))), 64);
            assert_string_equal(text(row, "settings", "draws"),
                                draws ? "the last picture of each step" : "nothing");
            assert_string_equal(text(row, "settings", "sound"), "registers, no samples");
            assert_int_equal(number(json_object_get(row, "settings"), "workers"), 1);
            assert_int_equal(strlen(text(row, "after_warmup", "pictures")), draws ? 16 : 0);
            if (json_is_true(json_object_get(row, "is_reference")))
                continue;
            const char *parts[] = {"work_ram", "pictures"};
            for (int part = 0; part < 1 + draws; part++) {
                if (first[part][0] == 0)
                    snprintf(first[part], sizeof first[part], "%s",
                             text(row, "after_warmup", parts[part]));
                assert_string_equal(text(row, "after_warmup", parts[part]), first[part]);
            }
        }
        json_decref(root);
    }
}

/* Machines that are copies get keys of their own: they do what a swarm driven apart does. */
static void copies_diverge(void **state)
{
    dm_test_result r;
    command(&r, "bench", "--backends", "vec_cpu", "--rom", joypad, "--env-counts", "64", "--steps",
            "4", "--warmup-seconds", "0", "--repeat", "2", "--diverge-frames", "0",
            "--diverge-machines", "1", "--out", "a.json");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    json_t *root = load(state, "a.json");
    const json_t *row = json_array_get(json_object_get(root, "results"), 0);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(row, "window_steps"), 0)),
                     4);
    assert_true(number(json_object_get(row, "divergence"), "unique_pcs") > 8);
    json_decref(root);
}

/* Before the first window there are as many states as were driven apart, and the copies of them. */
static void the_receipt_counts_states(void **state)
{
    static const char *const few[] = {"2", "16"};
    double states[2];
    for (int i = 0; i < 2; i++) {
        dm_test_result r;
        command(&r, "bench", "--backends", "vec_cpu", "--rom", game, "--env-counts", "32",
                "--steps", "1", "--warmup-steps", "1", "--warmup-seconds", "0", "--repeat", "1",
                "--diverge-frames", "900", "--diverge-machines", few[i], "--frames-per-step", "1",
                "--out", "a.json");
        dm_test_expect_exit(&r, 0);
        dm_test_result_free(&r);
        json_t *root = load(state, "a.json");
        const json_t *row = json_array_get(json_object_get(root, "results"), 0);
        const json_t *receipt = json_object_get(row, "divergence");
        assert_int_equal(number(receipt, "machines_seen"), 32);
        states[i] = number(receipt, "different_states");
        json_decref(root);
    }
    assert_true(states[0] >= 2 && states[0] < states[1] && states[1] <= 32);
}

static void folders_of_games_are_measured(void **state)
{
    dm_test_result r;
    char *bytes;
    size_t size;
    assert_ok(dm_dir_create(dm_test_path(state, "mine/more"), err));
    assert_ok(dm_file_read(game, 0, &bytes, &size, err));
    assert_ok(dm_file_write(dm_test_path(state, "mine/b.gb"), bytes, size, err));
    assert_ok(dm_file_write(dm_test_path(state, "mine/a.GB"), bytes, size, err));
    assert_ok(dm_file_write(dm_test_path(state, "mine/more/c.gb"), bytes, size, err));
    assert_ok(dm_file_write(dm_test_path(state, "mine/note.txt"), bytes, size, err));
    free(bytes);
    command(&r, "bench", "--backends", "vec_cpu", "--games", "mine", "--env-counts", "1", "--steps",
            "1", "--warmup-seconds", "0", "--diverge-frames", "0", "--out", "a.json");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    json_t *root = load(state, "a.json");
    const json_t *rows = json_object_get(root, "results");
    static const char *const names[] = {"a.GB", "b.gb", "c.gb"};
    assert_int_equal(json_array_size(rows), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(rows, i), "rom")),
                            names[i]);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "folder")),
                        "mine");
    json_decref(root);
    assert_ok(dm_dir_create(dm_test_path(state, "empty"), err));
    refuses(DM_EXIT_INPUT, "there is no .gb file", "bench", "--games", "empty");
}

static void missing_references_are_told_and_left_out(void **state)
{
    dm_test_result r;
    run_in(state, &r, (const char *const[]){"DM_PYTHON=/bin/false", NULL},
           (const char *const[]){"bench", "--backends", "vec_cpu,pyboy_vec_mp", "--rom", game,
                                 "--env-counts", "2", "--steps", "1", "--diverge-frames", "0",
                                 "--ref-threads", "1", "--out", "a.json", NULL});
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "not measured: pyboy worker 0"));
    assert_non_null(strstr(r.out, "tools/bootstrap --again"));
    dm_test_result_free(&r);
    expect_error(state, DM_EXIT_MISSING, "tools/bootstrap --again",
                 (const char *const[]){"DM_PYTHON=/bin/false", NULL},
                 (const char *const[]){"bench", "--backends", "pyboy_vec_mp", "--rom", game,
                                       "--env-counts", "2", NULL});
}

static void ctrl_c_keeps_what_was_measured(void **state)
{
    static const char script[] =
        "\"$0\" bench --backends vec_cpu --rom \"$1\" --env-counts 1 --stages "
        "emulate_only,full_step,reward_only,obs_only --steps 4000 --diverge-frames 0 "
        "--warmup-seconds 0 --out a.json >out & p=$!; "
        "until grep -q STARFALL out; do sleep 0.05; done; kill -INT $p; wait $p";
    const char *argv[] = {"sh", "-c", script, program, game, NULL};
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = argv, .folder = dm_test_dir(state)}, &r);
    dm_test_expect_exit(&r, DM_EXIT_INTERRUPTED);
    assert_non_null(strstr(r.err, "marked as partial"));
    dm_test_result_free(&r);
    json_t *root = load(state, "a.json");
    assert_true(json_is_true(json_object_get(root, "partial")));
    size_t rows = json_array_size(json_object_get(root, "results"));
    assert_true(rows >= 1 && rows < 4);
    json_decref(root);
}

/* From a save state everything begins at its machine; the codec says what is pressed. */
static void a_state_and_a_codec_can_be_chosen(void **state)
{
    static const char *const codecs[] = {"buttons_v1", "raw"};
    char first[2][32];
    dm_test_result r;
    command(&r, "run", "--rom", game, "--frames", "600", "--save", "s.state");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    for (int i = 0; i < 2; i++) {
        command(&r, "bench", "--backends", "single,vec_cpu,mgba_vec_mt", "--rom", game, "--state",
                "s.state", "--codec", codecs[i], "--env-counts", "1", "--steps", "1", "--repeat",
                "1", "--warmup-seconds", "0", "--warmup-steps", "20", "--diverge-frames", "0",
                "--ref-threads", "1", "--out", "a.json");
        dm_test_expect_exit(&r, 0);
        dm_test_result_free(&r);
        json_t *root = load(state, "a.json");
        const json_t *rows = json_object_get(root, "results"), *row;
        const json_t *configuration = json_object_get(root, "configuration");
        assert_string_equal(json_string_value(json_object_get(configuration, "codec")), codecs[i]);
        assert_string_equal(json_string_value(json_object_get(configuration, "state")), "s.state");
        size_t k, measured = 0;
        json_array_foreach(rows, k, row)
        {
            const char *skipped = json_string_value(json_object_get(row, "skipped"));
            if (json_is_true(json_object_get(row, "is_reference"))) {
                assert_non_null(skipped);
                continue;
            }
            const char *states = text(row, "after_warmup", "states");
            if (measured++ == 0)
                snprintf(first[i], sizeof first[i], "%s", states);
            assert_string_equal(states, first[i]);
            assert_true(number(row, "halt_share") > 0.5);
        }
        assert_int_equal(measured, 2);
        json_decref(root);
    }
    assert_string_not_equal(first[0], first[1]);
    refuses(DM_EXIT_USAGE, "is of one game", "bench", "--rom", game, "--rom", joypad, "--state",
            "s.state");
    refuses(DM_EXIT_USAGE, "codec", "bench", "--codec", "buttons_v9");
    refuses(DM_EXIT_INPUT, "no.state", "bench", "--backends", "single", "--env-counts", "1",
            "--state", "no.state");
    refuses(DM_EXIT_USAGE, "made with another ROM", "bench", "--backends", "single", "--env-counts",
            "1", "--rom", joypad, "--state", "s.state");
}

static void details_are_shown_and_kept(void **state)
{
    dm_test_result r;
    command(&r, "bench", "--backends", "vec_cpu", "--rom", game, "--env-counts", "2", "--steps",
            "1", "--repeat", "1", "--warmup-seconds", "0", "--diverge-frames", "0", "--details",
            "--keep-idle-loops", "--hooks", "8", "--out", "a.json");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, " bytes a machine\n"));
    dm_test_result_free(&r);
    json_t *root = load(state, "a.json");
    const json_t *row = json_array_get(json_object_get(root, "results"), 0);
    assert_true(number(row, "bytes_per_machine") > 16384);
    assert_int_equal(number(json_object_get(root, "configuration"), "hooks"), 8);
    assert_null(json_object_get(row, "kernel")); /* of a GPU alone */
    assert_true(
        json_is_true(json_object_get(json_object_get(root, "configuration"), "keep_idle_loops")));
    json_decref(root);
    refuses(DM_EXIT_INPUT, "--frames-per-step 1", "bench", "--backends", "vec_cpu", "--rom", game,
            "--env-counts", "1", "--stages", "full_step", "--draw", "every");
}

static void bad_sweeps_are_refused(void **state)
{
    refuses(DM_EXIT_USAGE, "is no backend", "bench", "--backends", "vec_cpu,vba");
    refuses(DM_EXIT_USAGE, "is no number of machines", "bench", "--env-counts", "8,many");
    refuses(DM_EXIT_USAGE, "is no number of threads", "bench", "--ref-threads", "0");
    refuses(DM_EXIT_USAGE, "unknown", "bench", "--stages", "half_step");
    refuses(DM_EXIT_USAGE, "is unknown; there are vector, shades", "bench", "--obs", "sounds");
    refuses(DM_EXIT_USAGE, "more than 0", "bench", "--seconds", "0");
    refuses(DM_EXIT_IO, "there is no folder", "bench", "--out", "no/where.json");
    refuses(DM_EXIT_IO, "a folder cannot be written to", "bench", "--out", ".");
    refuses(DM_EXIT_INPUT, "no.gb", "bench", "--rom", "no.gb", "--backends", "vec_cpu");
}

/* ---- Report ---- */

static void need_gnuplot(void)
{
    char path[DM_PATH_MAX];
    if (!dm_program_find(path, "gnuplot"))
        dm_test_skip("gnuplot is not installed");
}

/* An artifact with figures that are easy to compare. */
static void write_artifact(void **state, const char *name, const char *schema, const char *more)
{
    char text[4096];
    int size = snprintf(
        text, sizeof text,
        "{\"schema\": \"%s\", \"partial\": false, \"configuration\": {\"note\": \"<b>&\"}, "
        "\"results\": ["
        "{\"backend\": \"vec_cpu\", \"is_reference\": false, \"rom\": \"GAME.gb\", \"folder\": "
        "\"mine\", \"stage\": "
        "\"emulate_only\", \"envs\": 1, \"machines\": 1, \"synchronized\": true, \"fps\": 50000, "
        "\"fps_low\": 45000, \"fps_high\": 55000},"
        "{\"backend\": \"mgba_vec_mt\", \"is_reference\": true, \"threads\": 2, \"rom\": "
        "\"GAME.gb\", \"folder\": \"mine\", \"stage\": "
        "\"emulate_only\", \"envs\": 1, \"machines\": 1, \"synchronized\": true, \"fps\": 4000, "
        "\"fps_low\": 4000, \"fps_high\": 4000},"
        "{\"backend\": \"vec_cpu\", \"is_reference\": false, \"rom\": \"GAME.gb\", \"folder\": "
        "\"mine\", \"stage\": "
        "\"emulate_only\", \"envs\": 64, \"machines\": 64, \"synchronized\": true, \"fps\": "
        "1200000, \"fps_low\": 1100000, \"fps_high\": 1300000}%s]}",
        schema, more);
    assert_ok(dm_file_write(dm_test_path(state, name), text, (size_t)size, err));
}

static void has_text(void **state, const char *name, const char *text, bool wanted)
{
    char *bytes;
    size_t size;
    assert_ok(dm_file_read(dm_test_path(state, name), 0, &bytes, &size, err));
    if ((strstr(bytes, text) != NULL) != wanted)
        fail_msg("%s: '%s' is %s", name, text, wanted ? "missing" : "there");
    free(bytes);
}

/* Not all of one colour: something was drawn. */
static void check_png(void **state, const char *name)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, dm_test_path(state, name)) != 0);
    image.format = PNG_FORMAT_GRAY;
    assert_int_equal(image.width, 960);
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(pixels);
    assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL) != 0);
    size_t dark = 0;
    for (size_t i = 0; i < PNG_IMAGE_SIZE(image); i++)
        dark += pixels[i] < 128;
    assert_true(dark > 1000);
    free(pixels);
}

static void a_report_has_tables_plots_and_a_page(void **state)
{
    need_gnuplot();
    dm_test_result r;
    write_artifact(state, "a.json", DM_LAB_BENCH_SCHEMA, "");
    command(&r, "report", "a.json", "--out", "out/rep's");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    has_text(state, "out/rep's/table.md",
             "| machines | vec_cpu, FPS | mgba_vec_mt, FPS | vec_cpu / mgba_vec_mt |", true);
    has_text(state, "out/rep's/table.md",
             "| 1 | 50,000 \xC2\xB1"
             "10% | 4,000 \xC2\xB1"
             "0% | 12.5 |",
             true);
    has_text(state, "out/rep's/table.md",
             "| 64 | 1,200,000 \xC2\xB1"
             "8% | 4,000 \xC2\xB1"
             "0% | 300 |",
             true);
    check_png(state, "out/rep's/fps_GAME_emulate_only.png");
    check_png(state, "out/rep's/speedup_GAME_emulate_only.png");
    has_text(state, "out/rep's/fps_GAME_emulate_only.svg", "frames per second", true);
    has_text(state, "out/rep's/index.html", "<svg", true);
    has_text(state, "out/rep's/index.html", "&lt;b>&amp;",
             true);                                         /* nothing of an artifact is markup */
    has_text(state, "out/rep's/index.html", "src=", false); /* self-contained */
    has_text(state, "out/rep's/index.html", "<div class=\"wide\"><table>", true);
    has_text(state, "out/rep's/index.html", "<pre>", false); /* tables, no raw JSON */
    has_text(state, "out/rep's/index.html", "<tr><th>note</th><td>", true);
    has_text(state, "out/rep's/fps_GAME_emulate_only.svg", "GAME, emulate_only: speed", true);
    assert_true(dm_file_exists(dm_test_path(state, "out/rep's/artifact-1.json")));
    refuses(DM_EXIT_IO, "exists already", "report", "a.json", "--out", "out/rep's");
}

/* A run with a GPU and one with references, elsewhere. */
static void runs_of_several_machines_are_told_apart(void **state)
{
    need_gnuplot();
    dm_test_result r;
    write_artifact(state, "a.json", DM_LAB_BENCH_SCHEMA, "");
    static const char gpu[] =
        "{\"schema\": \"" DM_LAB_BENCH_SCHEMA "\", \"partial\": true, \"results\": ["
        "{\"backend\": \"vec_cuda\", \"is_reference\": false, \"rom\": \"GAME.gb\", \"folder\": "
        "\"mine\", \"stage\": "
        "\"emulate_only\", \"envs\": 1, \"machines\": 1, \"synchronized\": true, \"fps\": 8000, "
        "\"fps_low\": 8000, \"fps_high\": 8000},"
        "{\"backend\": \"vec_cpu\", \"is_reference\": false, \"rom\": \"GAME.gb\", \"folder\": "
        "\"mine\", \"stage\": "
        "\"emulate_only\", \"envs\": 1, \"machines\": 1, \"synchronized\": true, \"fps\": 32000, "
        "\"fps_low\": 32000, \"fps_high\": 32000},"
        "{\"backend\": \"mgba_vec_mt\", \"is_reference\": true, \"threads\": 2, \"rom\": "
        "\"GAME.gb\", \"folder\": \"mine\", \"stage\": "
        "\"emulate_only\", \"envs\": 1, \"skipped\": \"not installed\"}]}";
    assert_ok(dm_file_write(dm_test_path(state, "g.json"), gpu, sizeof gpu - 1, err));
    command(&r, "report", "g.json", "a.json", "--out", "rep");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    has_text(state, "rep/table.md", "vec_cuda / vec_cpu", true);
    has_text(state, "rep/table.md", "| 0.25 | 2.00 (other run) |", true);
    has_text(state, "rep/index.html", "Partial: a run was interrupted", true);
}

/* A game of the folder "set": FPS of vec_cpu at 8 machines and of mGBA on 1 and 2 threads; 0: it
 * cannot play that. */
static void add_game(char *text, size_t size, const char *rom, int ours, int one, int two)
{
    const struct {
        const char *backend, *how;
        int fps;
    } rows[] = {{"vec_cpu", "\"is_reference\": false, \"envs\": 8", ours},
                {"mgba_vec_mt", "\"is_reference\": true, \"threads\": 1", one},
                {"mgba_vec_mt", "\"is_reference\": true, \"threads\": 2", two}};
    for (size_t i = 0; i < 3; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used,
                 "%s{\"backend\": \"%s\", %s, \"rom\": \"%s.gb\", \"folder\": \"set\", \"stage\": "
                 "\"full_step\", \"synchronized\": true, ",
                 used > 0 ? ", " : "", rows[i].backend, rows[i].how, rom);
        used = strlen(text);
        snprintf(
            text + used, size - used,
            rows[i].fps > 0
                ? "\"instructions_per_frame\": 1500, \"divergence\": {\"different_states\": 7, "
                  "\"machines_seen\": 8}, \"fps\": %d, \"fps_low\": %d, \"fps_high\": %d}"
                : "\"skipped\": \"it stops\"}",
            rows[i].fps, rows[i].fps, rows[i].fps);
    }
}

/* 2, 8 and 50 times as fast on two threads; the last is left out where mGBA cannot play it. */
static void means_are_over_games_that_all_can_play(void **state)
{
    need_gnuplot();
    for (int all = 0; all < 2; all++) {
        static const char *const want[] = {"| 8 | 4,000 \xC2\xB1"
                                           "0% | 1,000 \xC2\xB1"
                                           "0% | 4.00 (2.00 to 8.00) |",
                                           "| 8 | 6,840 \xC2\xB1"
                                           "0% | 737 \xC2\xB1"
                                           "0% | 9.28 (2.00 to 50.0) |"};
        char rows[4096] = "", text[8192];
        const char *out = all ? "all" : "some";
        dm_test_result r;
        add_game(rows, sizeof rows, "X", 2000, 500, 1000);
        add_game(rows, sizeof rows, "Y", 8000, 600, 1000);
        add_game(rows, sizeof rows, "Z", 20000, 200 * all, 400 * all);
        int size = snprintf(text, sizeof text, "{\"schema\": \"%s\", \"results\": [%s]}",
                            DM_LAB_BENCH_SCHEMA, rows);
        assert_ok(dm_file_write(dm_test_path(state, "a.json"), text, (size_t)size, err));
        command(&r, "report", "a.json", "--out", out);
        dm_test_expect_exit(&r, 0);
        dm_test_result_free(&r);
        char table[64], file[128];
        snprintf(table, sizeof table, "%s/table.md", out);
        snprintf(file, sizeof file, "geometric mean of %d games (set), full_step:", 2 + all);
        has_text(state, table, file, true);
        has_text(state, table, want[all], true);
        /* Every game, also one that is not in the mean, with what it was measured on. */
        has_text(state, table, "| X | 1,500 | 7 of 8 | 2,000 \xC2\xB1", true);
        has_text(state, table, "| Z | 1,500 | 7 of 8 | 20,000 \xC2\xB1", true);
        snprintf(file, sizeof file, "%s/fps_set-mean-of-%d_full_step.svg", out, 2 + all);
        has_text(state, file, "mgba_vec_mt, 2 threads", true);
    }
}

static void a_real_sweep_can_be_reported(void **state)
{
    need_gnuplot();
    dm_test_result r;
    sweep(state, "vec_cpu,single", "a.json");
    command(&r, "report", "a.json", "--out", "rep");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    has_text(state, "rep/table.md", "STARFALL, full_step:", true);
}

/* `make bench` and `make bench-machine` say where their report is, and it is there. */
static void make_bench_ends_with_a_report(void **state)
{
    need_gnuplot();
    static const char script[] =
        "ROMS=\"$1\" ENVS=1,2 OUT=rep ARGS='--steps 1 --repeat 1 --warmup-seconds 0 "
        "--diverge-frames 24 --diverge-machines 2 --ref-machines 1 --ref-threads 1' "
        "\"$0\" \"$2\" cpu && "
        "ROMS=\"$1\" OUT=one ARGS='--steps 1 --repeat 1 --warmup-seconds 0 --diverge-frames 24' "
        "\"$0\" \"$2\" machine";
    static const char tool[] = DM_TEST_SOURCE_ROOT "/tools/bench";
    const char *argv[] = {"sh", "-c", script, tool, game, DM_TEST_BUILD_ROOT, NULL};
    dm_test_result r;
    dm_test_run(&(dm_test_command){.argv = argv, .folder = dm_test_dir(state)}, &r);
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "STARFALL, full_step:"));
    assert_non_null(strstr(r.out, "page:      rep/index.html"));
    assert_non_null(strstr(r.out, "artifact:  rep/artifact-1.json"));
    assert_true(dm_file_exists(dm_test_path(state, "rep/index.html")));
    assert_non_null(strstr(r.out, " single, FPS "));
    assert_non_null(strstr(r.out, "page:      one/index.html"));
    dm_test_result_free(&r);
}

static void bad_artifacts_are_refused(void **state)
{
    need_gnuplot();
    write_artifact(state, "a.json", DM_LAB_BENCH_SCHEMA, "");
    write_artifact(state, "old.json", "dotmatrix-bench-0", "");
    write_artifact(state, "loose.json", DM_LAB_BENCH_SCHEMA,
                   ",{\"backend\": \"vec_cuda\", \"rom\": \"G\", \"folder\": \"mine\", \"stage\": "
                   "\"full_step\", "
                   "\"envs\": 1, \"synchronized\": false, \"fps\": 1, \"fps_low\": 1, "
                   "\"fps_high\": 1}");
    assert_ok(dm_file_write(dm_test_path(state, "cut.json"), "{\"schema\": ", 11, err));
    assert_ok(dm_file_write(dm_test_path(state, "file"), "", 0, err));
    refuses(DM_EXIT_INPUT, "schema 'dotmatrix-bench-0', this program reads", "report", "old.json",
            "--out", "r");
    refuses(DM_EXIT_INPUT, "was not synchronised", "report", "a.json", "loose.json", "--out", "r");
    refuses(DM_EXIT_INPUT, "cut.json", "report", "cut.json", "--out", "r");
    refuses(DM_EXIT_INPUT, "none.json", "report", "none.json", "--out", "r");
    refuses(DM_EXIT_USAGE, "--out is missing", "report", "a.json");
    refuses(DM_EXIT_USAGE, "missing argument", "report", "--out", "r");
    refuses(DM_EXIT_IO, "file", "report", "a.json", "--out", "file/r");
    assert_false(dm_dir_exists(dm_test_path(state, "r")));
}

static void a_missing_gnuplot_is_told(void **state)
{
    write_artifact(state, "a.json", DM_LAB_BENCH_SCHEMA, "");
    expect_error(state, DM_EXIT_MISSING, "apt-get install gnuplot-nox",
                 (const char *const[]){"PATH=/nowhere", NULL},
                 (const char *const[]){"report", "a.json", "--out", "r", NULL});
    assert_false(dm_dir_exists(dm_test_path(state, "r")));
}

DM_TESTS("lab/bench", DM_TEST_IN_DIR(a_sweep_writes_one_artifact), DM_TEST_IN_DIR(copies_diverge),
         DM_TEST_IN_DIR(the_receipt_counts_states), DM_TEST_IN_DIR(folders_of_games_are_measured),
         DM_TEST_IN_DIR(means_are_over_games_that_all_can_play),
         DM_TEST_IN_DIR(settings_and_hashes_are_in_the_artifact),
         DM_TEST_IN_DIR(missing_references_are_told_and_left_out),
         DM_TEST_IN_DIR(a_state_and_a_codec_can_be_chosen),
         DM_TEST_IN_DIR(details_are_shown_and_kept), DM_TEST_IN_DIR(ctrl_c_keeps_what_was_measured),
         DM_TEST_IN_DIR(bad_sweeps_are_refused),
         DM_TEST_IN_DIR(a_report_has_tables_plots_and_a_page),
         DM_TEST_IN_DIR(runs_of_several_machines_are_told_apart),
         DM_TEST_IN_DIR(a_real_sweep_can_be_reported),
         DM_TEST_IN_DIR(make_bench_ends_with_a_report), DM_TEST_IN_DIR(bad_artifacts_are_refused),
         DM_TEST_IN_DIR(a_missing_gnuplot_is_told));
