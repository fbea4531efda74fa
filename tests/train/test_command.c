/* SPDX-License-Identifier: MIT */
/* dotmatrix train as its users meet it: a run's folder, Ctrl-C, measures, text, weights, and what is
 * said of what is missing. */
#include "base/file.h"
#include "base/json.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"
#include "tests/train/small.h"

#include <stdlib.h>
#include <string.h>

#define SMALL "--set", "layers=1", "--set", "width=16", "--set", "heads=2", "--set", "context=16"

/* Runs in the test's folder with an empty cache folder. */
static void run_train(void **state, dm_test_result *r, const char *const *arguments)
{
    static char cache[DM_PATH_MAX + 16];
    snprintf(cache, sizeof cache, "DM_CACHE_DIR=%s/cache", dm_test_dir(state));
    const dm_test_command command = {.folder = dm_test_dir(state),
                                     .env = (const char *const[]){cache, NULL}};
    dm_test_run_dotmatrix(&command, arguments, r);
}
#define train(state, r, ...) run_train(state, r, (const char *const[]){"train", __VA_ARGS__, NULL})

static void a_run_leaves_its_files(void **state)
{
    static const char *const names[] = {"checkpoint.safetensors", "metrics.jsonl",
                                        "model.safetensors", "run.json"};
    dm_test_result r;
    json_t *run = NULL;
    train(state, &r, "xor", "--steps", "50");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "xor: four rows; 17 weights; on cpu by "));
    assert_non_null(strstr(r.out, "runs/xor-1: 50 steps, loss "));
    assert_non_null(strstr(r.err, "rows/s"));
    dm_test_result_free(&r);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "runs/xor-1/%s", names[i]);
        assert_true(dm_file_exists(dm_test_path(state, path)));
    }
    assert_ok(dm_json_load(dm_test_path(state, "runs/xor-1/run.json"), &run, err));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(run, "config"), "steps")),
                     50);
    assert_non_null(json_object_get(json_object_get(run, "result"), "accuracy"));
    assert_non_null(json_object_get(run, "provenance"));
    json_decref(run);
    train(state, &r, "xor", "--steps", "2"); /* the next folder */
    assert_non_null(strstr(r.out, "runs/xor-2: 2 steps"));
    dm_test_result_free(&r);
}

/* A run of many steps is interrupted as soon as it has a checkpoint; it says how to go on, and that
 * command works. */
static void ctrl_c_saves_and_says_how_to_go_on(void **state)
{
    static const char script[] =
        "\"$0\" train gpt --data text.txt --steps 1000000 --set checkpoint_every=5 --out run "
        "--set layers=1 --set width=16 --set heads=2 --set context=16 2>said & p=$!; "
        "until [ -s run/checkpoint.safetensors ]; do sleep 0.02; done; kill -INT $p; wait $p; "
        "code=$?; step=$(sed -n 's/.*checkpoint of step \\([0-9]*\\) of.*/\\1/p' said); "
        "tail -1 said; "
        "$(sed -n \"s|.*go on with: dotmatrix|$0|p\" said) --steps $((step + 3)) 2>&1; exit $code";
    const char *program = getenv("DM_TEST_COMMAND");
    const char *argv[] = {"sh", "-c", script,
                          program != NULL ? program : DM_TEST_BUILD_ROOT "/src/cli/dotmatrix",
                          NULL};
    dm_test_result r;
    small_text(state, "text.txt");
    dm_test_run(&(dm_test_command){.argv = argv, .folder = dm_test_dir(state)}, &r);
    dm_test_expect_exit(&r, 130);
    assert_non_null(strstr(r.out, "dotmatrix train: interrupted; the checkpoint of step "));
    assert_non_null(
        strstr(r.out, "of 1000000 is saved; go on with: dotmatrix train gpt --resume run"));
    assert_non_null(strstr(r.out, "run: "));
    assert_non_null(strstr(r.out, "val_loss"));
    dm_test_result_free(&r);
}

static void a_run_is_measured_sampled_and_exported(void **state)
{
    dm_test_result r, again;
    json_t *measured = NULL;
    small_text(state, "text.txt");
    train(state, &r, "gpt", "--data", "text.txt", "--steps", "30", "--out", "run", SMALL);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    train(state, &r, "eval", "run", "--json");
    dm_test_expect_exit(&r, 0);
    assert_ok(dm_json_parse(r.out, r.out_size, "eval", &measured, err));
    assert_int_equal(json_integer_value(json_object_get(measured, "step")), 30);
    assert_true(json_real_value(json_object_get(measured, "val_loss")) > 0);
    json_decref(measured);
    dm_test_result_free(&r);
    train(state, &r, "sample", "run", "--prompt", "the ", "--tokens", "20", "--seed", "3");
    train(state, &again, "sample", "run", "--prompt", "the ", "--tokens", "20", "--seed", "3");
    dm_test_expect_exit(&r, 0);
    assert_int_equal(r.out_size, 4 + 20 + 1);
    assert_string_equal(r.out, again.out);
    dm_test_result_free(&r);
    dm_test_result_free(&again);
    train(state, &r, "export", "run", "--out", "w.safetensors");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    train(state, &r, "gpt", "--data", "text.txt", "--steps", "2", "--import", "w.safetensors",
          "--out", "more", SMALL);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    train(state, &r, "gpt", "--data", "text.txt", "--out", "run", SMALL);
    dm_test_expect_exit(&r, 2);
    assert_non_null(strstr(r.err, "run has a checkpoint: --resume run goes on with it"));
    dm_test_result_free(&r);
}

static void seeds_are_reported(void **state)
{
    dm_test_result r;
    train(state, &r, "report", "xor", "--seeds", "3", "--twice", "--steps", "20");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "seed  3: loss"));
    assert_non_null(strstr(r.out, "identical bits in two runs: 3 of 3 seeds"));
    dm_test_result_free(&r);
}

static void what_is_missing_is_one_line(void **state)
{
    static const struct {
        const char *arguments[8];
        int code;
        const char *what;
    } cases[] = {
        {{"cnn"}, 4, "dotmatrix train data --set mnist5k makes 5,000 images"},
        {{"gpt"}, 4, "give one with --data FILE; dotmatrix train data --set bible brings one"},
        {{"gpt", "--data", "text.txt", "--set", "tokenizer=bpe"},
         4,
         "dotmatrix train data --set gpt2 brings it"},
        {{"gpt", "--data", "none.txt"}, 4, "--data none.txt: No such file"},
        {{"gpt", "--set", "layer=2"}, 2, "did you mean layers?"},
        {{"xor", "--tokens", "3"}, 2, "--tokens is for sample, not for xor"},
        {{"samples"}, 2, "did you mean sample?"},
        {{"eval"}, 2, "usage: dotmatrix train eval [OPTIONS] DIR"},
        {{"eval", "nothing"}, 4, "nothing has no checkpoint"},
        {{"xor", "--resume", "nothing"}, 4, "nothing has no checkpoint"},
        {{"xor", "--resume", "a", "--seed", "2"}, 2, "--seed is the run's own with --resume"},
        {{"xor", "--resume", "a", "--predict"}, 2, "--predict is the run's own with --resume"},
        {{"xor", "--resume", "a", "--fields"}, 2, "--fields is for a run that begins"},
        {{"gpt", "--resume", "a", "--plan"}, 2, "--plan is for a run that begins"},
        {{"gpt", "--plan", "--trace", "t.json"}, 2, "--trace does nothing where nothing is"},
        {{"xor", "--fields", "--out", "a"}, 2, "--out does nothing where nothing is trained"},
        {{"agent", "--resume", "a", "--steps", "9"}, 2, "--steps is the run's own with --resume"},
        {{"agent", "--resume", "a", "--fields"}, 2, "--fields is for a run that begins"},
        {{"agent", "--play", "a", "--lives", "1"}, 2, "--lives does nothing with --play"},
        {{"agent", "--resume", "a", "--eval", "3", "--until", "9"}, 2, "--until does nothing"},
        {{"agent", "--fields", "--lives", "1"}, 2, "--lives does nothing with --fields"},
        {{"export", "a"}, 2, "export needs --out"},
        {{"report", "mnist"}, 2, "'mnist' is not one of xor, cnn, gpt"},
    };
    small_text(state, "text.txt");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const *a = cases[i].arguments;
        dm_test_result r;
        train(state, &r, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
        if (r.exit_code != cases[i].code || strstr(r.err, cases[i].what) == NULL ||
            strchr(r.err, '\n') != r.err + strlen(r.err) - 1)
            fail_msg("%s: expected %d '%s', got %d '%s'", a[0], cases[i].code, cases[i].what,
                     r.exit_code, r.err);
        dm_test_result_free(&r);
    }
    assert_false(dm_dir_exists(dm_test_path(state, "runs")));
}

static void plans_and_fields_train_nothing(void **state)
{
    dm_test_result r;
    train(state, &r, "gpt", "--set", "preset=gpt2", "--plan");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "124439808 weights in 111 layers"));
    dm_test_result_free(&r);
    train(state, &r, "cnn", "--fields", "--set", "channels=7");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "channels          7 "));
    dm_test_result_free(&r);
    assert_false(dm_dir_exists(dm_test_path(state, "runs")));
}

DM_TESTS("train/command", DM_TEST_IN_DIR(a_run_leaves_its_files),
         DM_TEST_IN_DIR(ctrl_c_saves_and_says_how_to_go_on),
         DM_TEST_IN_DIR(a_run_is_measured_sampled_and_exported), DM_TEST_IN_DIR(seeds_are_reported),
         DM_TEST_IN_DIR(what_is_missing_is_one_line),
         DM_TEST_IN_DIR(plans_and_fields_train_nothing))
