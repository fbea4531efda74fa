/* SPDX-License-Identifier: MIT */
/* test_report.c - the report of what training costs: its counts by hand, a quick one from beginning to end, going on,
 * and what is refused. */
#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/tmpdir.h"
#include "tests/train/small.h"
#include "train/report/flops.h"
#include "train/report/markdown.h"
#include "train/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Counts ---- */

static double flops_of(const dm_nn_layer *layers, size_t count, const uint32_t input[3],
                       dm_nn_optimiser_kind optimiser, double *of_step)
{
    dm_device *device = NULL;
    dm_nn_model *model = NULL;
    dm_nn_model_desc desc = {.layers = layers,
                             .layer_count = count,
                             .input = {input[0], input[1], input[2]},
                             .batch = 6,
                             .microbatches = 3,
                             .shards = 2,
                             .loss = DM_NN_LOSS_SQUARE,
                             .optimiser = {.kind = optimiser, .rate = 0.1f}};
    assert_ok(dm_device_open("cpu:1", &device, err));
    assert_ok(dm_nn_model_create(device, &desc, &model, err));
    double flops = dm_report_forward_flops(model);
    *of_step = dm_report_optimiser_flops(model);
    dm_nn_model_destroy(model);
    dm_device_close(device);
    return flops;
}

static void flops_by_hand(void **state)
{
    (void)state;
    double of_step;
    static const dm_nn_layer two[] = {{.kind = DM_NN_LAYER_LINEAR, .size = 7},
                                      {.kind = DM_NN_LAYER_LINEAR, .size = 3}};
    assert_near(flops_of(two, 2, (const uint32_t[]){5, 0, 0}, DM_NN_SGD, &of_step),
                6 * 2 * (5 * 7 + 7 * 3), 0);
    assert_near(of_step, 0, 0);
    (void)flops_of(two, 2, (const uint32_t[]){5, 0, 0}, DM_NN_MUON, &of_step);
    assert_near(of_step, 5 * (4 * 25 * 7 + 2 * 125 + 4 * 9 * 7 + 2 * 27), 0);
    static const dm_nn_layer image[] = {{.kind = DM_NN_LAYER_CONV, .size = 4, .kernel = 3},
                                        {.kind = DM_NN_LAYER_LINEAR, .size = 2}};
    assert_near(flops_of(image, 2, (const uint32_t[]){2, 6, 5}, DM_NN_SGD, &of_step),
                6 * 2 * (9 * 2 * 4 * 4 * 3 + 4 * 4 * 3 * 2), 0);
}

static void costs_count_checks_and_the_target_is_the_first_below(void **state)
{
    (void)state;
    dm_report_point points[] = {{10, 0, 1, 3}, {20, 7, 2, 1.5}, {30, 9, 3, 1.6}, {40, 9, 4, 1}};
    dm_report_run run = {
        .there = true, .points = points, .count = 4, .forward_flops = 100, .optimiser_flops = 5};
    assert_ptr_equal(dm_report_run_reached(&run, 1.6), &points[1]);
    assert_null(dm_report_run_reached(&run, 0.9));
    assert_near(dm_report_run_flops(&run, &points[1]), 100 * (3 * 20 + 7) + 5 * 20, 0);
    assert_near(dm_report_run_final(&run), 1, 0);
    run.failed[0] = 'x';
    assert_true(isinf(dm_report_run_final(&run)));
    double values[] = {4, 1, 3, 9};
    dm_report_spread s = dm_report_spread_of(values, 4);
    assert_true(s.median == 3.5 && s.low == 1 && s.high == 9);
    assert_int_equal(dm_report_spread_of(values, 0).count, 0);
}

/* Every method of a task has as many tries, of rates that rise. */
static void the_plan_is_fair(void **state)
{
    (void)state;
    for (int quick = 0; quick < 2; quick++) {
        dm_report_plan plan;
        assert_ok(dm_report_plan_init("xor,cnn,gpt,gpt2", quick, true, &plan, err));
        assert_int_equal(plan.method_count, 6);
        for (size_t t = 0; t < plan.task_count; t++) {
            const json_t *task = plan.tasks[t].object;
            assert_int_equal(json_array_size(json_object_get(task, "rates")),
                             json_array_size(json_object_get(task, "muon")));
            assert_true(quick || plan.tasks[t].seeds >= (plan.tasks[t].device != NULL ? 3 : 5));
            dm_train_config config;
            for (size_t m = 0; m < plan.method_count; m++)
                for (size_t i = 0; i < json_array_size(json_object_get(task, "rates")); i++) {
                    double rate = dm_report_rate(&plan, t, m, i);
                    assert_true(rate > (i > 0 ? dm_report_rate(&plan, t, m, i - 1) : 0));
                    assert_ok(dm_report_config(&plan, t, m, rate, 3, &config, err));
                    assert_int_equal(config.predict, plan.methods[m].predicts);
                    assert_near(config.average, m == 2 ? plan.tasks[t].average : 0, 0);
                    /* both averages are over the same share of the run, 5 to 9% */
                    assert_near(config.rules.proposal_average, plan.tasks[t].average, 0);
                    double share = 1 / (1 - plan.tasks[t].average) / (double)config.steps;
                    assert_true(quick || (share > 0.045 && share < 0.09));
                }
        }
        dm_report_plan_deinit(&plan);
    }
}

/* A run whose loss is so after so many backward passes, forward passes and seconds. */
static dm_report_run run_of(const dm_report_point *points, size_t count)
{
    dm_report_run run = {.there = true, .count = count};
    run.points = calloc(count, sizeof *points);
    assert_non_null(run.points);
    memcpy(run.points, points, count * sizeof *points);
    return run;
}
#define run_of(...)                                                                                \
    run_of((const dm_report_point[]){__VA_ARGS__},                                                 \
           sizeof((const dm_report_point[]){__VA_ARGS__}) / sizeof(dm_report_point))

/* What a predictive run is worth: its loss in as many backward passes as a plain run makes, not at its own end. */
static void gains_are_counted_in_the_plain_runs_passes(void **state)
{
    (void)state;
    enum { PLAIN = 0, PREDICTIVE = 4 };
    dm_report *r = calloc(1, sizeof *r);
    dm_report_run plain[2], predictive[2];
    assert_non_null(r);
    assert_ok(dm_report_plan_init("xor", true, false, &r->plan, err));
    assert_int_equal(r->plan.tasks[0].seeds, 2);
    assert_string_equal(r->plan.methods[PREDICTIVE].name, "predictive, constant");
    r->results[0][PLAIN].runs = plain;
    r->results[0][PREDICTIVE].runs = predictive;
    plain[0] = run_of({50, 0, 0, 2}, {100, 0, 0, 1.1});
    plain[1] = run_of({50, 0, 0, 2}, {100, 0, 0, 0.9});
    predictive[0] = run_of({60, 0, 0, 1.5}, {90, 0, 0, 1.005}, {120, 0, 0, 0.5});
    predictive[1] = run_of({80, 0, 0, 3}, {110, 0, 0, 0.2});
    predictive[0].rollbacks = 2;
    predictive[1].rollbacks = 1;
    dm_report_gain g = dm_report_gain_of(r, 0, PREDICTIVE);
    assert_int_equal(g.plain, PLAIN);
    assert_near(g.loss.median, 0.5 * (1.005 + 3), 1e-12);
    assert_near(g.off, 0.5 * (1.005 + 3) - 1, 1e-12);
    assert_false(g.holds);
    assert_int_equal(g.passes.count, 1); /* the second one is there too late */
    assert_near(g.passes.median, 90, 0);
    assert_int_equal(g.rollbacks, 3);
    predictive[1].points[0].loss = 1.014; /* 0.95% above, by the median */
    g = dm_report_gain_of(r, 0, PREDICTIVE);
    assert_true(g.holds);
    assert_int_equal(g.passes.count, 1);
    predictive[1].points[0].backward = 101; /* nothing in time */
    assert_false(dm_report_gain_of(r, 0, PREDICTIVE).holds);
    dm_report_plan_deinit(&r->plan);
    for (int i = 0; i < 2; i++) {
        dm_report_run_deinit(&plain[i]);
        dm_report_run_deinit(&predictive[i]);
    }
    free(r);
}

static void markdown_becomes_a_page(void **state)
{
    static const char text[] =
        "# A <b>\n\nWords **bold** and `a*b`\ngo on.\n\n- one\n- two\n  more\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n";
    dm_buffer page = DM_BUFFER_EMPTY;
    assert_ok(dm_markdown_page(text, "T", dm_test_dir(state), &page, err));
    const char *html = dm_buffer_text(&page);
    assert_non_null(strstr(html, "<h1>A &lt;b&gt;</h1>"));
    assert_non_null(strstr(html, "<p>Words <b>bold</b> and <code>a*b</code>\ngo on.\n</p>"));
    assert_non_null(strstr(html, "<ul>\n<li>one\n</li>\n<li>two\n  more\n</li></ul>"));
    assert_non_null(
        strstr(html, "<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>"));
    dm_buffer_deinit(&page);
}

static void long_lines_are_broken_between_words(void **state)
{
    (void)state;
    char words[200], text[1024], expected[1024];
    memset(words, 'x', sizeof words);
    /* 59 + 1 + 60 characters fit; one more word does not, and bold or code goes to the next line whole. */
    snprintf(text, sizeof text, "- %.57s %.60s **a b** end\n%.100s `%.30s y`\n| %.150s |\n# %.130s",
             words, words, words, words, words, words);
    snprintf(expected, sizeof expected,
             "- %.57s %.60s\n  **a b** end\n%.100s\n`%.30s y`\n| %.150s |\n# %.130s", words, words,
             words, words, words, words);
    dm_buffer filled = DM_BUFFER_EMPTY;
    dm_markdown_fill(text, &filled);
    assert_string_equal(dm_buffer_text(&filled), expected);
    dm_buffer_deinit(&filled);
}

/* ---- The command ---- */

static char *read_text(void **state, const char *name)
{
    char *text = NULL;
    size_t size = 0;
    assert_ok(dm_file_read(dm_test_path(state, name), 0, &text, &size, err));
    return text;
}

static void report(void **state, dm_test_result *r, const char *const *more)
{
    const char *arguments[16] = {"train", "report", "--quick", "--out", "out"};
    size_t count = 5;
    for (; *more != NULL; more++)
        arguments[count++] = *more;
    const dm_test_command command = {.folder = dm_test_dir(state)};
    dm_test_run_dotmatrix(&command, arguments, r);
}
#define report(state, r, ...) report(state, r, (const char *const[]){__VA_ARGS__, NULL})

static void a_quick_report_is_whole_and_goes_on(void **state)
{
    dm_test_result r;
    json_t *json = NULL;
    const char *text = small_data(state, DM_TRAIN_GPT), *images = small_data(state, DM_TRAIN_CNN);
    report(state, &r, "--data", images, "--data", text, "--workers", "2");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    char *first = read_text(state, "out/report.md"), *html = read_text(state, "out/index.html");
    const char *gains = strstr(first, "## What prediction did not gain");
    assert_non_null(gains);
    assert_true(gains < strstr(first, "## XOR"));
    static const char *const lines[] = {"Within 1% of the plain run's loss in ",
                                        " of 6 cases",
                                        "| cnn, predictive, constant |",
                                        "- **xor, predictive, constant**",
                                        "- **gpt, predictive, linear decay**",
                                        "| Muon, linear decay |",
                                        "24 runs on ",
                                        "proposals"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_non_null(strstr(first, lines[i]));
    assert_non_null(strstr(html, "<h2>What prediction did not gain</h2>"));
    assert_ok(dm_json_load(dm_test_path(state, "out/report.json"), &json, err));
    const json_t *decay = json_object_get(json_object_get(json, "cnn"), "linear decay");
    assert_int_equal(json_array_size(json_object_get(decay, "final")), 2);
    assert_true(json_number_value(json_object_get(json_object_get(decay, "backward"), "seeds")) >
                0);
    assert_non_null(json_object_get(json, "provenance"));
    const json_t *cnn = json_object_get(json, "cnn");
    const json_t *gain = json_object_get(json_object_get(cnn, "predictive, constant"), "gain");
    assert_string_equal(json_string_value(json_object_get(gain, "plain")), "constant rate");
    const json_t *made = json_object_get(cnn, "made");
    assert_int_equal(json_array_size(made), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(made, 0), "runs")), 24);
    json_decref(json);
    /* A run that is missing is trained again to the same losses; the others are read. */
    assert_int_equal(unlink(dm_test_path(state, "out/runs/xor-1-rate0.3-seed1.json")), 0);
    report(state, &r, "--data", images, "--data", text);
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    char *second = read_text(state, "out/report.md");
    assert_string_equal(second, first);
    free(first);
    free(second);
    free(html);
}

static void what_cannot_be_is_said(void **state)
{
    dm_test_result r;
    report(state, &r, "--tasks", "gpt");
    dm_test_expect_exit(&r, 2);
    assert_non_null(strstr(r.err, "report: gpt needs --data TEXT"));
    dm_test_result_free(&r);
    report(state, &r, "--tasks", "xor,go");
    dm_test_expect_exit(&r, 2);
    assert_non_null(strstr(r.err, "'go' is not a task"));
    dm_test_result_free(&r);
    report(state, &r, "--tasks", "gpt2", "--data", small_data(state, DM_TRAIN_GPT));
    dm_test_expect_exit(&r, 2);
    assert_non_null(strstr(r.err, "gpt2 needs --device cuda"));
    dm_test_result_free(&r);
    report(state, &r, "--set", "rate=1");
    assert_non_null(strstr(r.err, "--set is for the report of one task"));
    dm_test_result_free(&r);
    report(state, &r, "xor"); /* --quick and --out with a task */
    dm_test_expect_exit(&r, 2);
    dm_test_result_free(&r);
    /* A folder that has runs of other sizes. */
    assert_ok(dm_dir_create(dm_test_path(state, "out/runs"), err));
    static const char other[] = "{\"config\":{\"steps\":1},\"failed\":\"\",\"points\":[]}";
    assert_ok(dm_file_write(dm_test_path(state, "out/runs/xor-0-rate0.3-seed1.json"), other,
                            sizeof other - 1, err));
    report(state, &r, "--tasks", "xor");
    dm_test_expect_exit(&r, 2);
    assert_non_null(strstr(r.err, "of another configuration"));
    dm_test_result_free(&r);
}

DM_TESTS("train/report", DM_TEST(flops_by_hand),
         DM_TEST(costs_count_checks_and_the_target_is_the_first_below), DM_TEST(the_plan_is_fair),
         DM_TEST(gains_are_counted_in_the_plain_runs_passes),
         DM_TEST_IN_DIR(markdown_becomes_a_page), DM_TEST(long_lines_are_broken_between_words),
         DM_TEST_IN_DIR(a_quick_report_is_whole_and_goes_on),
         DM_TEST_IN_DIR(what_cannot_be_is_said))
