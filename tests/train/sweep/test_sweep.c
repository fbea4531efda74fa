/* SPDX-License-Identifier: MIT */
/* test_sweep.c - dotmatrix train sweep as its users meet it: reproducible, killed and resumed, with
 * a program of one's own, with several workers. */
#include "base/file.h"
#include "base/json.h"
#include "tests/support/command.h"
#include "tests/support/killed.h"
#include "tests/support/tmpdir.h"
#include "tests/train/small.h"

#include <stdlib.h>
#include <string.h>

static const char xor_spec[] =
    "{\"task\": \"xor\", \"search\": \"sobol\", \"count\": 6, \"metric\": \"loss\", \"steps\": 60,"
    " \"parameters\": {\"rate\": {\"low\": 0.01, \"high\": 2, \"log\": true}, \"hidden\": [3, 5]},"
    " \"rules\": {\"checks\": 10}}";

static void put(void **state, const char *name, const char *text)
{
    assert_ok(dm_file_write(dm_test_path(state, name), text, strlen(text), err));
}

static void run_sweep(void **state, dm_test_result *r, double seconds, const char *const *arguments)
{
    const dm_test_command command = {.folder = dm_test_dir(state), .seconds = seconds};
    dm_test_run_dotmatrix(&command, arguments, r);
}
#define sweep(state, r, seconds, ...)                                                              \
    run_sweep(state, r, seconds, (const char *const[]){"train", "sweep", __VA_ARGS__, NULL})

static char *text_of(void **state, const char *name)
{
    static char *text;
    size_t size;
    assert_ok(dm_file_read(dm_test_path(state, name), 0, &text, &size, err));
    return text;
}

static size_t count_text(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

/* A resumed stretch of each rung ends with the weights of a run that was never paused. */
static void one_worker_repeats_every_byte_and_pauses_change_nothing(void **state)
{
    dm_test_result r;
    put(state, "spec.json", xor_spec);
    for (int i = 0; i < 2; i++) {
        sweep(state, &r, 0, "spec.json", "--out", i == 0 ? "a" : "b");
        dm_test_expect_exit(&r, 0);
        assert_non_null(strstr(r.out, "the winner is run "));
        dm_test_result_free(&r);
    }
    dm_test_same_file(dm_test_path(state, "a"), dm_test_path(state, "b"), "sweep.jsonl");
    dm_test_same_file(dm_test_path(state, "a"), dm_test_path(state, "b"), "curves.jsonl");
    dm_test_same_file(dm_test_path(state, "a"), dm_test_path(state, "b"), "index.html");
    sweep(state, &r, 0, "spec.json", "--out", "all", "--rule", "all");
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    char *log = text_of(state, "a/sweep.jsonl");
    static const char mark[] = "\"winner\",\"run\":";
    assert_non_null(strstr(log, mark));
    char folder[32], other[32];
    int run = atoi(strstr(log, mark) + strlen(mark));
    snprintf(folder, sizeof folder, "a/runs/%04d", run);
    snprintf(other, sizeof other, "all/runs/%04d", run);
    assert_true(count_text(log, "\"event\":\"run\"") > 6); /* it was paused and went on */
    char *path = strdup(dm_test_path(state, folder));
    dm_test_same_file(path, dm_test_path(state, other), "model.safetensors");
    dm_test_same_file(path, dm_test_path(state, other), "metrics.jsonl");
    free(path);
    free(log);
}

static void killed_sweeps_end_with_the_same_log(void **state)
{
    dm_test_result r;
    put(state, "spec.json", xor_spec);
    sweep(state, &r, 0, "spec.json", "--out", "whole");
    dm_test_expect_exit(&r, 0);
    double seconds = r.seconds;
    dm_test_result_free(&r);
    int kills = 0;
    for (int i = 0; i < 40; i++) {
        bool begun = dm_file_exists(dm_test_path(state, "killed/spec.json"));
        /* SIGKILL to the sweep and, by the death of their parent, to its runs. */
        double limit = i < 6 ? seconds * 0.15 * (i % 3 + 1) : 60;
        if (begun)
            sweep(state, &r, limit, "--resume", "killed");
        else
            sweep(state, &r, limit, "spec.json", "--out", "killed");
        bool ended = !r.timed_out;
        kills += r.timed_out;
        if (ended)
            dm_test_expect_exit(&r, 0);
        dm_test_result_free(&r);
        if (ended)
            break;
    }
    assert_true(kills > 0);
    dm_test_same_file(dm_test_path(state, "whole"), dm_test_path(state, "killed"), "sweep.jsonl");
    dm_test_same_file(dm_test_path(state, "whole"), dm_test_path(state, "killed"), "curves.jsonl");
    char *log = text_of(state, "killed/sweep.jsonl");
    size_t size = strlen(log);
    sweep(state, &r, 0, "--resume", "killed"); /* nothing is left to do, nothing is run again */
    dm_test_expect_exit(&r, 0);
    dm_test_result_free(&r);
    char *after = text_of(state, "killed/sweep.jsonl");
    assert_int_equal(strlen(after), size);
    free(after);
    free(log);
}

/* A program in two lines of shell: its loss is rate / step, and its folder keeps where it was. */
static void a_program_of_ones_own(void **state)
{
    dm_test_result r;
    put(state, "train.sh",
        "echo loading\n"
        "s=$(cat $3/at 2>/dev/null || echo 0)\n"
        "[ $1 = 7 ] && { echo 'no memory' >&2; exit 4; }\n"
        "while [ $s -lt $2 ]; do s=$((s + 1)); echo \"{\\\"step\\\": $s, \\\"loss\\\": $1.$s}\"; "
        "done\n"
        "echo $s >$3/at\n");
    put(state, "spec.json",
        "{\"command\": [\"sh\", \"train.sh\", \"{number}\", \"{until}\", \"{folder}\"], "
        "\"metric\": "
        "\"loss\", \"steps\": 20, \"search\": \"grid\", \"parameters\": {\"number\": [5, 3, 7, 4, "
        "9, "
        "6]}}");
    sweep(state, &r, 0, "spec.json", "--out", "own", "--workers", "2");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "the winner is run 1 with loss 3.2: {\"number\": 3}"));
    dm_test_result_free(&r);
    char *log = text_of(state, "own/sweep.jsonl"), *page = text_of(state, "own/index.html");
    assert_non_null(strstr(log, "\"reason\":\"exit code 4: no memory\""));
    assert_non_null(strstr(page, "exit code 4: no memory"));
    assert_non_null(strstr(page, "halving: "));
    assert_non_null(strstr(page, ">winner<"));
    free(log);
    free(page);
}

static void ctrl_c_says_how_to_go_on(void **state)
{
    static const char script[] =
        "\"$0\" train sweep spec.json --out s >said 2>&1 & p=$!; "
        "while ! grep -q reached s/sweep.jsonl 2>/dev/null; do sleep 0.02; done; "
        "kill -INT $p; wait $p; code=$?; cat said; exit $code";
    dm_test_result r;
    put(state, "spec.json",
        "{\"task\": \"xor\", \"search\": \"random\", \"count\": 4000, \"metric\": \"loss\", "
        "\"steps\": 2000, \"parameters\": {\"rate\": {\"low\": 0.01, \"high\": 2}}}");
    const char *program = getenv("DM_TEST_COMMAND");
    if (program == NULL)
        program = DM_TEST_BUILD_ROOT "/src/cli/dotmatrix";
    const dm_test_command command = {.argv =
                                         (const char *const[]){"bash", "-c", script, program, NULL},
                                     .folder = dm_test_dir(state)};
    dm_test_run(&command, &r);
    dm_test_expect_exit(&r, 130);
    assert_non_null(strstr(r.out, "go"));
    assert_non_null(strstr(r.out, "dotmatrix train sweep --resume s"));
    dm_test_result_free(&r);
}

static void wrong_uses_are_one_line(void **state)
{
    static const struct {
        const char *arguments[5], *said;
    } cases[] = {
        {{NULL}, "sweep needs a file that says what is tried, --resume DIR or --replay POOL"},
        {{"none.json"}, "none.json"},
        {{"--resume", "none"}, "none has no sweep"},
        {{"spec.json", "--resume", "a"}, "are the sweep's own with --resume"},
        {{"spec.json", "--rule", "best"}, "rule is all, halving or forecast"},
        {{"spec.json", "--history", "spec.json"}, "no curve: it needs checks and values"},
        {{"--replay", "none"}, "none"},
    };
    put(state, "spec.json", "{\"x\": 1}");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_test_result r;
        const char *arguments[8] = {"train", "sweep"};
        if (i == 4 || i == 5)
            put(state, "spec.json", i == 4 ? xor_spec : "{}");
        for (int k = 0; k < 5 && cases[i].arguments[k] != NULL; k++)
            arguments[k + 2] = cases[i].arguments[k];
        if (i == 5) {
            put(state, "good.json", xor_spec);
            arguments[2] = "good.json";
        }
        run_sweep(state, &r, 0, arguments);
        assert_int_not_equal(r.exit_code, 0);
        if (strstr(r.err, cases[i].said) == NULL)
            fail_msg("case %zu: %s", i, r.err);
        assert_int_equal(count_text(r.err, "\n"), 1);
        dm_test_result_free(&r);
    }
}

DM_TESTS("train/sweep/command",
         DM_TEST_IN_DIR(one_worker_repeats_every_byte_and_pauses_change_nothing),
         DM_TEST_IN_DIR(killed_sweeps_end_with_the_same_log), DM_TEST_IN_DIR(a_program_of_ones_own),
         DM_TEST_IN_DIR(ctrl_c_says_how_to_go_on), DM_TEST_IN_DIR(wrong_uses_are_one_line))
