/* SPDX-License-Identifier: MIT */
/* test_command.c - `dotmatrix dynamics`. */
#include "base/file.h"
#include "base/host/machine.h"
#include "base/json.h"
#include "cli/command.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double number_at(const json_t *root, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(root, key), i));
}

/* A power law, as a file. */
static const char *losses_file(void **state, int count)
{
    const char *path = dm_test_path(state, "losses.txt");
    dm_buffer text = DM_BUFFER_EMPTY;
    for (int i = 0; i < count; i++)
        dm_buffer_printf(&text, "%.6f\n", 2 * pow(i + 1, -0.5) + 0.5);
    assert_ok(dm_file_write(path, text.data, text.size, err));
    dm_buffer_deinit(&text);
    return path;
}

static void rollout_as_json(void **state)
{
    const char *losses = losses_file(state, 80), *model = dm_test_path(state, "m.safetensors");
    dm_test_result r;
    json_t *root = NULL;
    dm_test_dotmatrix(&r, "dynamics", "rollout", "--losses", losses, "--hidden", "24", "--members",
                      "3", "--steps", "12", "--save", model, "--json");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_ok(dm_json_parse(r.out, r.out_size, "out", &root, err));
    assert_int_equal(json_array_size(json_object_get(root, "mean")), 12);
    assert_int_equal(json_array_size(json_object_get(root, "step_deltas")), 11);
    assert_int_equal(json_array_size(json_object_get(root, "trajectories")), 3);
    /* It has learnt where the run stands. */
    assert_true(fabs(number_at(root, "mean", 0) - 0.72) < 0.15);
    double mean = 0;
    for (size_t e = 0; e < 3; e++)
        mean += number_at(json_array_get(json_object_get(root, "trajectories"), e), "loss", 4) / 3;
    assert_true(fabs(mean - number_at(root, "mean", 4)) < 1e-5);
    json_decref(root);
    dm_test_result_free(&r);
    /* The saved model goes on from there. */
    dm_test_dotmatrix(&r, "dynamics", "rollout", "--model", model, "--losses", losses, "--steps",
                      "5");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "3 members of 24 units, 5 steps ahead, after 80 losses"));
    dm_test_result_free(&r);
}

static void wrong_inputs(void **state)
{
    const char *bad = dm_test_path(state, "bad.txt");
    const struct {
        const char *text;
        const char *said;
    } files[] = {
        {"1\n2\nthree\n", "bad.txt:3"}, {"1\n2 3\n", "bad.txt:2"}, {"\n1\n\n", "at least 2"}};
    dm_test_result r;
    for (size_t i = 0; i < 3; i++) {
        assert_ok(dm_file_write(bad, files[i].text, strlen(files[i].text), err));
        dm_test_dotmatrix(&r, "dynamics", "rollout", "--losses", bad);
        dm_test_expect_exit(&r, DM_EXIT_INPUT);
        assert_non_null(strstr(r.err, files[i].said));
        dm_test_result_free(&r);
    }
    dm_test_dotmatrix(&r, "dynamics", "rollout", "--model", bad);
    dm_test_expect_exit(&r, DM_EXIT_INPUT);
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "dynamics", "rollout", "--members", "0");
    dm_test_expect_exit(&r, DM_EXIT_USAGE);
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "dynamics", "forecast");
    dm_test_expect_exit(&r, DM_EXIT_USAGE);
    dm_test_result_free(&r);
}

/* Losses that are no numbers are skipped, and said to be. */
static void losses_that_are_not_finite_are_skipped(void **state)
{
    const char *path = dm_test_path(state, "nan.txt");
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_test_result r;
    for (int i = 0; i < 60; i++)
        dm_buffer_printf(&text,
                         i == 0 || i == 30 ? "nan\n"
                         : i == 59         ? "inf\n"
                                           : "%.6f\n",
                         2 * pow(i + 1, -0.5) + 0.5);
    assert_ok(dm_file_write(path, text.data, text.size, err));
    dm_buffer_deinit(&text);
    dm_test_dotmatrix(&r, "dynamics", "rollout", "--losses", path, "--hidden", "16", "--members",
                      "2", "--passes", "3");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "after 57 losses"));
    assert_non_null(strstr(r.out, "3 that are not finite skipped"));
    assert_null(strstr(r.out, "nan "));
    assert_null(strstr(r.out, "-nan"));
    dm_test_result_free(&r);
    assert_ok(dm_file_write(path, "nan\n1\ninf\n", 10, err));
    dm_test_dotmatrix(&r, "dynamics", "rollout", "--losses", path);
    dm_test_expect_exit(&r, DM_EXIT_INPUT);
    assert_non_null(strstr(r.err, "1 of 3 losses are between"));
    dm_test_result_free(&r);
}

/* A bench of nothing is no success. */
static void unknown_parts_are_refused(void **state)
{
    static const char *const lists[] = {"foo",        "",      ",",      "memory,",
                                        "memory,foo", "memor", "memoryy"};
    const char *out = dm_test_path(state, "none");
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        dm_test_result r;
        dm_test_dotmatrix(&r, "dynamics", "bench", "--only", lists[i], "--out", out);
        dm_test_expect_exit(&r, DM_EXIT_USAGE);
        assert_non_null(strstr(r.err, "no part is called"));
        assert_false(dm_dir_exists(out));
        dm_test_result_free(&r);
    }
}

static void bench_leaves_an_artifact_and_plots(void **state)
{
    char path[DM_PATH_MAX];
    const char *out = dm_test_path(state, "bench");
    dm_test_result r;
    json_t *root = NULL;
    if (!dm_program_find(path, "gnuplot"))
        dm_test_skip("gnuplot is not installed");
    dm_test_dotmatrix(&r, "dynamics", "bench", "--only", "encoder", "--out", out);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    dm_test_result_free(&r);
    assert_ok(dm_json_load(dm_test_path(state, "bench/dynamics.json"), &root, err));
    const json_t *row = json_array_get(json_object_get(root, "encoder"), 5);
    assert_int_equal(json_integer_value(json_object_get(row, "history")), 256);
    assert_true(json_number_value(json_object_get(row, "update_us")) > 0);
    assert_string_equal(json_string_value(json_object_get(root, "benchmark")), "dynamics");
    json_decref(root);
    assert_true(dm_file_exists(dm_test_path(state, "bench/dynamics_encoder.png")));
    assert_true(dm_file_exists(dm_test_path(state, "bench/dynamics_encoder.svg")));
    assert_false(dm_file_exists(dm_test_path(state, "bench/dynamics_memory.svg")));
    const char *plot = dm_test_path(state, "rollout's.svg");
    dm_test_dotmatrix(&r, "dynamics", "rollout", "--hidden", "8", "--steps", "4", "--plot", plot);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    char *text = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(plot, 0, &text, &size, err));
    assert_non_null(strstr(text, "Forecast of the loss, 4 steps ahead"));
    free(text);
    dm_test_result_free(&r);
}

/* A noisy run, as metrics of training. */
static const char *run_file(void **state, int count)
{
    const char *path = dm_test_path(state, "metrics.jsonl");
    dm_buffer text = DM_BUFFER_EMPTY;
    for (int i = 0; i < count; i++)
        dm_buffer_printf(&text, "{\"step\": %d, \"loss\": %.6f, \"norm\": 1.5}\n", 10 * (i + 1),
                         (2 * pow(i + 1, -0.5) + 0.5) * (1 + 0.02 * sin(i * 12.9898)));
    assert_ok(dm_file_write(path, text.data, text.size, err));
    dm_buffer_deinit(&text);
    return path;
}

/* The model that comes with the program forecasts a run without learning from it. */
static void forecasts_by_the_shipped_model(void **state)
{
    char gnuplot[DM_PATH_MAX];
    const char *run = run_file(state, 150), *model = dm_test_path(state, "f.safetensors");
    const char *plot = dm_test_path(state, "forecast's.svg");
    dm_test_result r, again;
    json_t *root = NULL;
    dm_test_dotmatrix(&r, "dynamics", "forecast", run, "--steps", "40", "--json", "--save", model);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_ok(dm_json_parse(r.out, r.out_size, "out", &root, err));
    assert_int_equal(json_integer_value(json_object_get(root, "last_step")), 1500);
    assert_int_equal(json_integer_value(json_object_get(root, "steps_between")), 10);
    assert_true(fabs(number_at(root, "mean", 39) - (2 * pow(190, -0.5) + 0.5)) < 0.03);
    assert_true(number_at(root, "low", 39) < number_at(root, "mean", 39));
    assert_true(number_at(root, "high", 39) > number_at(root, "mean", 39));
    assert_int_equal(json_array_size(json_object_get(json_object_get(root, "baselines"), "power")),
                     40);
    json_decref(root);
    /* What was saved is the same model; `rollout` and --losses mean the same; learning changes it. */
    static const char *const same[] = {"off", "on"};
    for (size_t i = 0; i < 2; i++) {
        dm_test_dotmatrix(&again, "dynamics", "rollout", "--losses", run, "--model", model,
                          "--steps", "40", "--json", "--learn", same[i], "--passes", "2");
        dm_test_expect_exit(&again, DM_EXIT_OK);
        const char *a = strstr(r.out, "\"mean\""), *b = strstr(again.out, "\"mean\"");
        assert_non_null(a);
        assert_non_null(b);
        assert_int_equal(strcmp(a, b) == 0, i == 0);
        dm_test_result_free(&again);
    }
    dm_test_result_free(&r);
    if (!dm_program_find(gnuplot, "gnuplot"))
        return;
    dm_test_dotmatrix(&r, "dynamics", "forecast", run, "--plot", plot);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "150 losses, the last of step 1500"));
    assert_true(dm_file_exists(plot));
    dm_test_result_free(&r);
}

static void learns_and_evaluates(void **state)
{
    const char *run = run_file(state, 150), *model = dm_test_path(state, "l.safetensors");
    dm_test_result r;
    json_t *root = NULL;
    dm_test_dotmatrix(&r, "dynamics", "learn", run, "--synthetic", "2", "--hold-out", "noisy",
                      "--updates", "200", "--members", "2", "--hidden", "8", "--out", model);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "2 members of 8 units learnt from 35 curves"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "dynamics", "evaluate", run, "--synthetic", "2", "--family", "noisy",
                      "--model", model, "--json");
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_ok(dm_json_parse(r.out, r.out_size, "out", &root, err));
    assert_int_equal(json_integer_value(json_object_get(root, "curves")), 3);
    const json_t *mean = json_object_get(root, "mean");
    static const char *const methods[] = {"last", "mean", "linear", "power", "ours", "combination"};
    for (size_t m = 0; m < 6; m++)
        assert_true(json_number_value(json_object_get(json_object_get(mean, methods[m]), "all")) >
                    0);
    assert_true(json_number_value(json_object_get(root, "coverage")) > 0.5);
    json_decref(root);
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "dynamics", "evaluate", run);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    assert_non_null(strstr(r.out, "ours is below on"));
    dm_test_result_free(&r);
}

static void curves_that_cannot_be_are_refused(void **state)
{
    const char *run = run_file(state, 60), *old = dm_test_path(state, "old.safetensors");
    const char *out = dm_test_path(state, "x");
    const struct {
        const char *const arguments[8];
        int code;
        const char *says;
    } cases[] = {
        {{"dynamics", "learn", run, NULL}, DM_EXIT_USAGE, "needs --out"},
        {{"dynamics", "learn", "--out", out, NULL}, DM_EXIT_USAGE, "no curves"},
        {{"dynamics", "learn", run, "--out", out, NULL}, DM_EXIT_INPUT, "60 of 60 losses"},
        {{"dynamics", "evaluate", run, NULL}, DM_EXIT_INPUT, "60 of 60 losses"},
        {{"dynamics", "evaluate", "--synthetic", "1", "--family", "none", NULL},
         DM_EXIT_USAGE,
         "there is no family 'none'; there are power-law"},
        {{"dynamics", "forecast", NULL}, DM_EXIT_USAGE, "CURVE"},
        {{"dynamics", "forecast", out, NULL}, DM_EXIT_INPUT, "cannot read"},
        {{"dynamics", "forecast", run, "--model", old, NULL}, DM_EXIT_INPUT, "dynamics rollout"},
        {{"dynamics", "check", run, NULL}, DM_EXIT_USAGE, "unexpected argument"},
    };
    dm_test_result r;
    dm_test_dotmatrix(&r, "dynamics", "rollout", "--hidden", "8", "--save", old);
    dm_test_expect_exit(&r, DM_EXIT_OK);
    dm_test_result_free(&r);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_test_run_dotmatrix(NULL, cases[i].arguments, &r);
        dm_test_expect_exit(&r, cases[i].code);
        assert_non_null(strstr(r.err, cases[i].says));
        assert_true(strchr(r.err, '\n') == r.err + r.err_size - 1); /* one line */
        assert_false(dm_file_exists(out));
        dm_test_result_free(&r);
    }
}

DM_TESTS("dynamics/command", DM_TEST_IN_DIR(rollout_as_json), DM_TEST_IN_DIR(wrong_inputs),
         DM_TEST_IN_DIR(losses_that_are_not_finite_are_skipped),
         DM_TEST_IN_DIR(unknown_parts_are_refused),
         DM_TEST_IN_DIR(bench_leaves_an_artifact_and_plots),
         DM_TEST_IN_DIR(forecasts_by_the_shipped_model), DM_TEST_IN_DIR(learns_and_evaluates),
         DM_TEST_IN_DIR(curves_that_cannot_be_are_refused))
