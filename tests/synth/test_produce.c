/* SPDX-License-Identifier: MIT */
/* The producer: the same bytes whatever the threads, the processes and the kills. */
#include "base/file.h"
#include "base/json.h"
#include "synth/check/compile.h"
#include "synth/produce.h"
#include "tests/support/command.h"
#include "tests/support/random.h"
#include "tests/support/tmpdir.h"
#include "tests/synth/categories.h"

#include <dotmatrix/device.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static dm_synth_produce_options options_for(const char *folder, uint64_t count)
{
    dm_synth_produce_options o = {.folder = folder,
                                  .count = count,
                                  .seed = 5,
                                  .texts = DM_SYNTH_TEXT_CUDA,
                                  .shard_lines = 50,
                                  .jobs = 1,
                                  .ranks = 1,
                                  .quiet = true};
    every_category(&o);
    return o;
}

/* One in five fails, as if its verification had found something. */
static bool one_in_five(const dm_synth_record *record)
{
    return record->canonical.low % 5 == 0;
}

static void produce(const dm_synth_produce_options *o, dm_synth_produced *made)
{
    assert_ok(dm_synth_produce(o, made, err));
}

/* ---- Comparing folders ---- */

typedef struct comparison {
    const char *other;
    int files;
} comparison;

/* What may differ: how long it took. */
static bool is_measured(const char *path)
{
    return strcmp(path, "stats.json") == 0 || strncmp(path, "state", 5) == 0;
}

static dm_status compare_file(const char *root, const dm_dir_entry *entry, void *user,
                              dm_error *err)
{
    comparison *c = user;
    char one[DM_PATH_MAX], two[DM_PATH_MAX], *a = NULL, *b = NULL;
    size_t a_size, b_size;
    (void)err;
    if (entry->is_dir || is_measured(entry->path))
        return DM_OK;
    c->files++;
    assert_ok(dm_path_join(one, root, entry->path, err));
    assert_ok(dm_path_join(two, c->other, entry->path, err));
    assert_ok(dm_file_read(one, 0, &a, &a_size, err));
    assert_ok(dm_file_read(two, 0, &b, &b_size, err));
    if (a_size != b_size || memcmp(a, b, a_size) != 0)
        fail_msg("%s differs", entry->path);
    free(a);
    free(b);
    return DM_OK;
}

static void assert_same_data(const char *a, const char *b)
{
    comparison c = {.other = b}, back = {.other = a};
    assert_ok(dm_dir_walk(a, compare_file, &c, err));
    assert_ok(dm_dir_walk(b, compare_file, &back, err));
    assert_int_equal(c.files, back.files);
    assert_true(c.files > 1);
}

/* ---- Tests ---- */

static void threads_make_no_difference(void **state)
{
    dm_synth_produced made;
    const char *first = dm_test_path(state, "one"), *second = dm_test_path(state, "three");
    dm_synth_produce_options o = options_for(first, 130);
    o.rejected = true;
    o.texts |= DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_IR;
    o.refuse = one_in_five;
    produce(&o, &made);
    assert_int_equal(made.shipped, 130);
    assert_true(made.failed > 10);
    assert_int_equal(made.shards, 3);
    assert_int_equal(made.missing, 0);
    o.folder = second;
    o.jobs = 3;
    produce(&o, &made);
    assert_same_data(first, second);
    /* Again: nothing is left to do. */
    produce(&o, &made);
    assert_int_equal(made.shipped, 0);
    assert_same_data(first, second);
}

static void ranks_make_no_difference(void **state)
{
    dm_synth_produced made;
    const char *alone = dm_test_path(state, "alone"), *shared = dm_test_path(state, "shared");
    dm_synth_produce_options o = options_for(alone, 330);
    o.refuse = one_in_five;
    produce(&o, &made);
    o.folder = shared;
    o.ranks = 3;
    static const int order[] = {2, 0, 1};
    for (int i = 0; i < 3; i++) {
        o.rank = order[i];
        produce(&o, &made);
        assert_int_equal(made.missing, i == 0 ? 5 : i == 1 ? 2 : 0);
    }
    assert_same_data(alone, shared);
}

/* One that makes the dataset is killed at random moments, up to `longest` microseconds after its
 * start, and resumed, until ten kills have hit; the last is left alone. Whenever the dataset is
 * complete it is as in `calm`; if that is too early, it is made anew. */
static void produce_with_kills(dm_synth_produce_options *o, const char *calm, uint32_t longest)
{
    dm_synth_produced made;
    dm_test_random random = {.seed = 77};
    for (int turn = 0, hits = 0, complete = 0; hits < 10 || !complete; turn++) {
        int status = 0;
        if (complete)
            assert_ok(dm_dir_remove(o->folder, err));
        pid_t child = fork();
        assert_true(child >= 0 && turn < 200);
        if (child == 0) {
            o->jobs = 1 + turn % 2;
            _exit(dm_synth_produce(o, &made, NULL) == DM_OK ? 0 : 1);
        }
        if (hits < 10) {
            usleep(dm_random_below(dm_test_random_word(&random), longest));
            kill(child, SIGKILL);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        complete = WIFEXITED(status);
        hits += !complete;
        if (!complete)
            continue;
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_same_data(calm, o->folder);
    }
}

static void kills_make_no_difference(void **state)
{
    dm_synth_produced made;
    const char *calm = dm_test_path(state, "calm"), *rough = dm_test_path(state, "rough");
    dm_synth_produce_options o = options_for(calm, 400);
    o.rejected = true;
    o.refuse = one_in_five;
    produce(&o, &made);
    o.folder = rough;
    produce_with_kills(&o, calm, (uint32_t)(made.seconds * 1e6 / 8) + 1000);
}

/* The same while compilers run and kernels are tried out: what they leave behind, figures and pairs
 * that failed make no difference either. Small shards, so that each of the lives gets somewhere. */
static void kills_of_the_verifier_make_no_difference(void **state)
{
    dm_synth_produced made;
    dm_device_tools tools;
    const char *calm = dm_test_path(state, "calm"), *rough = dm_test_path(state, "rough");
    dm_synth_produce_options o = options_for(calm, 20);
    dm_device_tools_find(&tools);
    if (!tools.cc)
        dm_test_skip("%s", tools.cc_reason);
    o.texts = DM_SYNTH_TEXT_C | (tools.nvrtc ? DM_SYNTH_TEXT_CUDA : 0);
    o.level = DM_SYNTH_VERIFY_FULL;
    o.shard_lines = 4;
    o.refuse = one_in_five;
    assert_ok(dm_dir_create(dm_test_path(state, "tmp"), err));
    setenv("TMPDIR", dm_test_path(state, "tmp"), 1); /* what is killed does not clean up */
    produce(&o, &made);
    assert_true(made.failed > 1);
    o.folder = rough;
    produce_with_kills(&o, calm, (uint32_t)(made.seconds * 1e6 / 5));
    unsetenv("TMPDIR");
}

static void two_processes_do_not_write_one_folder(void **state)
{
    dm_synth_produced made;
    dm_error err = {0};
    dm_synth_produce_options o = options_for(dm_test_path(state, "set"), 20);
    produce(&o, &made);
    int status, file = open(dm_test_path(state, "set/state/lock-0-of-1"), O_RDWR);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_int_equal(fcntl(file, F_SETLK, &whole), 0);
    pid_t child = fork();
    if (child == 0) {
        bool refused = dm_synth_produce(&o, &made, &err) == DM_EINVAL;
        _exit(refused && strstr(err.message, "another process") != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(file);
    produce(&o, &made);
}

static void cut_lines_are_mended(void **state)
{
    dm_synth_produced made;
    char path[DM_PATH_MAX], part[DM_PATH_MAX], *text;
    size_t size;
    const char *whole = dm_test_path(state, "whole"), *cut = dm_test_path(state, "cut");
    dm_synth_produce_options o = options_for(whole, 60);
    produce(&o, &made);
    o.folder = cut;
    produce(&o, &made);
    /* As a kill while the second shard was written would leave it. */
    assert_ok(dm_path_join(path, cut, "pairs-00001.jsonl", err));
    assert_ok(dm_path_join(part, cut, "pairs-00001.jsonl.part", err));
    assert_ok(dm_file_read(path, 0, &text, &size, err));
    assert_ok(dm_file_write(part, text, size / 2, err));
    free(text);
    assert_int_equal(unlink(path), 0);
    produce(&o, &made);
    assert_true(made.shipped > 0 && made.shipped < 10);
    assert_same_data(whole, cut);
}

/* A file as it is, to see that nobody touched it. */
static void expect_text(const char *path, const char *text)
{
    char *bytes = NULL;
    size_t size;
    assert_ok(dm_file_read(path, 0, &bytes, &size, err));
    assert_string_equal(bytes, text);
    free(bytes);
}

static void damaged_shards_are_seen(void **state)
{
    dm_synth_produced made;
    dm_error err = {0};
    char *text = NULL;
    size_t size;
    const char *whole = dm_test_path(state, "whole"), *cut = dm_test_path(state, "cut");
    const char *pairs = dm_test_path(state, "cut/pairs-00000.jsonl");
    const char *rejected = dm_test_path(state, "cut/rejected-00001.jsonl");
    dm_synth_produce_options o = options_for(whole, 60);
    o.rejected = true;
    produce(&o, &made);
    o.folder = cut;
    produce(&o, &made);
    /* Shorter: what is missing is made again. */
    assert_ok(dm_file_read(pairs, 0, &text, &size, err));
    assert_int_equal(truncate(pairs, (off_t)size / 2), 0);
    assert_int_equal(truncate(rejected, 10), 0);
    produce(&o, &made);
    assert_true(made.shipped > 0 && made.shipped < 50);
    assert_same_data(whole, cut);
    /* Without a state, lines are compared with what they should be. */
    assert_int_equal(unlink(dm_test_path(state, "cut/state/pairs-00000.json")), 0);
    produce(&o, &made);
    assert_int_equal(made.shipped, 0);
    assert_same_data(whole, cut);
    /* Changed: refused, and left as it is. */
    text[size / 2] ^= 1;
    assert_ok(dm_file_write(pairs, text, size, err));
    assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "pairs-00000.jsonl was changed"));
    assert_int_equal(unlink(dm_test_path(state, "cut/state/pairs-00000.json")), 0);
    assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EFORMAT);
    assert_non_null(strstr(err.message, "pairs-00000.jsonl: line"));
    expect_text(pairs, text);
    assert_int_equal(unlink(pairs), 0);
    produce(&o, &made);
    assert_same_data(whole, cut);
    free(text);
}

static void foreign_files_are_left_alone(void **state)
{
    static const char *const names[] = {
        "pairs-00000.jsonl", "pairs-00000.jsonl.part", "rejected-00000.jsonl",
        "stats.json",        "manifest.json",          "failed/mine",
        "state/mine"};
    dm_synth_produced made;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char folder[32], name[64];
        dm_error err = {0};
        snprintf(folder, sizeof folder, "set%zu", i);
        snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        dm_synth_produce_options o = options_for(dm_test_path(state, folder), 20);
        o.rejected = true;
        const char *slash = strchr(names[i], '/');
        snprintf(name, sizeof name, "%s/%.*s", folder, slash == NULL ? 0 : (int)(slash - names[i]),
                 names[i]);
        assert_ok(dm_dir_create(dm_test_path(state, name), err));
        snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        assert_ok(dm_file_write(dm_test_path(state, name), "{}\n", 3, err));
        assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EINVAL);
        snprintf(name, sizeof name, "%.*s", slash == NULL ? 64 : (int)(slash - names[i]), names[i]);
        if (strstr(err.message, name) == NULL)
            fail_msg("no '%s' in: %s", name, err.message);
        snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        expect_text(dm_test_path(state, name), "{}\n");
        snprintf(name, sizeof name, "%s/state/lock-0-of-1", folder);
        assert_false(dm_file_exists(dm_test_path(state, name)));
    }
    /* Also in the folder of a dataset. */
    dm_error err = {0};
    dm_synth_produce_options o = options_for(dm_test_path(state, "own"), 60);
    const char *second = dm_test_path(state, "own/pairs-00001.jsonl");
    produce(&o, &made);
    assert_int_equal(unlink(dm_test_path(state, "own/state/pairs-00001.json")), 0);
    assert_ok(dm_file_write(second, "mine\n", 5, err));
    assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "pairs-00001.jsonl: line 1 is not of this dataset"));
    expect_text(second, "mine\n");
}

static void another_run_is_refused(void **state)
{
    dm_synth_produced made;
    dm_error err = {0};
    dm_synth_produce_options o = options_for(dm_test_path(state, "set"), 20);
    produce(&o, &made);
    o.seed = 6;
    assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "'seed': 5, now 6"));
    o.seed = 5;
    o.texts |= DM_SYNTH_WARP_NAMES;
    assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "'warp_names': none, now true"));
    o.folder = dm_test_path(state, "named");
    produce(&o, &made);
    o.texts &= ~DM_SYNTH_WARP_NAMES;
    assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "'warp_names': true, now false"));
    o.folder = dm_test_path(state, "set");
    o.category_count = 3;
    assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EINVAL);
    assert_non_null(strstr(err.message, "categories"));
    o = options_for(dm_test_path(state, "none"), 0);
    assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EINVAL);
    o.count = 5;
    o.texts = DM_SYNTH_TEXT_IR;
    assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EINVAL);
    o.texts = DM_SYNTH_TEXT_C;
    o.rank = 2;
    assert_int_equal(dm_synth_produce(&o, &made, &err), DM_EINVAL);
    assert_false(dm_dir_exists(dm_test_path(state, "none")));
}

static void stats_add_up(void **state)
{
    dm_synth_produced made;
    char path[DM_PATH_MAX];
    json_t *stats;
    dm_synth_produce_options o = options_for(dm_test_path(state, "set"), 96);
    produce(&o, &made);
    assert_ok(dm_path_join(path, o.folder, "stats.json", err));
    assert_ok(dm_json_load(path, &stats, err));
    assert_int_equal(json_integer_value(json_object_get(stats, "total_pairs")), 96);
    json_t *by = json_object_get(stats, "by_category");
    for (int i = 0; i < DM_SYNTH_CATEGORY_COUNT; i++)
        assert_int_equal(json_integer_value(json_object_get(by, dm_synth_category_names[i])), 8);
    assert_true(json_real_value(json_object_get(stats, "avg_forward_lines")) > 20);
    assert_true(json_real_value(json_object_get(stats, "avg_backward_lines")) > 20);
    assert_true(json_real_value(json_object_get(stats, "pairs_per_second")) > 0);
    assert_true(json_real_value(json_object_get(stats, "generation_time_seconds")) > 0);
    json_decref(stats);
}

static void ranks_come_from_the_environment(void **state)
{
    (void)state;
    static const char *const names[] = {
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
        "SLURM_PROCID",         "SLURM_STEP_NUM_TASKS"};
    int rank, ranks;
    for (size_t i = 0; i < 6; i++)
        unsetenv(names[i]);
    dm_synth_ranks(&rank, &ranks);
    assert_true(rank == 0 && ranks == 1);
    for (size_t i = 0; i < 6; i += 2) {
        setenv(names[i], "3", 1);
        setenv(names[i + 1], "8", 1);
        dm_synth_ranks(&rank, &ranks);
        assert_true(rank == 3 && ranks == 8);
        setenv(names[i + 1], "2", 1); /* nonsense */
        dm_synth_ranks(&rank, &ranks);
        assert_true(rank == 0 && ranks == 1);
        unsetenv(names[i]);
        unsetenv(names[i + 1]);
    }
}

static void the_command_says_what_is_wrong(void **state)
{
    static const struct {
        const char *arguments[6];
        const char *message;
    } cases[] = {{{"produce"}, "--out"},
                 {{"produce", "--out", "x", "--categories", "maths"}, "did you mean math?"},
                 {{"produce", "--out", "x", "--categories", "math,math"}, "named twice"},
                 {{"produce", "--out", "x", "--categories", ","}, "empty place"},
                 {{"produce", "--out", "x", "--kinds", "c"}, "pairs"},
                 {{"produce", "--out", "x", "--kinds", "pairs,rejecte"}, "did you mean rejected?"},
                 {{"produce", "--out", "x", "--verify", "some"}, "verify"},
                 {{"produce", "--out", "x", "--count", "0"}, "count"},
                 {{"produce", "--out", "x", "--rank=3", "--ranks=2"}, "ranks are 0 to 1"},
                 {{"produc"}, "did you mean produce?"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *argv[8] = {"synth"};
        for (int k = 0; k < 6; k++)
            argv[k + 1] = cases[i].arguments[k];
        dm_test_result r;
        dm_test_run_dotmatrix(&(dm_test_command){.folder = dm_test_dir(state)}, argv, &r);
        dm_test_expect_exit(&r, 2);
        if (strstr(r.err, cases[i].message) == NULL)
            fail_msg("no '%s' in: %s", cases[i].message, r.err);
        dm_test_result_free(&r);
    }
    dm_test_result r;
    dm_test_dotmatrix(&r, "synth", "produce", "--out", dm_test_path(state, "set"), "--count", "24",
                      "--verify", "none", "--categories", "atomic,random", "--device", "cuda",
                      "--timing", "--jobs", "2");
    dm_test_expect_exit(&r, 0);
    assert_non_null(strstr(r.out, "24 pairs"));
    dm_test_result_free(&r);
    dm_test_dotmatrix(&r, "synth", "produce", "--out", dm_test_path(state, "set"), "--count", "25",
                      "--verify", "none");
    dm_test_expect_exit(&r, 2);
    dm_test_result_free(&r);
}

DM_TESTS("synth/produce", DM_TEST_IN_DIR(threads_make_no_difference),
         DM_TEST_IN_DIR(ranks_make_no_difference), DM_TEST_IN_DIR(kills_make_no_difference),
         DM_TEST_IN_DIR(kills_of_the_verifier_make_no_difference),
         DM_TEST_IN_DIR(two_processes_do_not_write_one_folder),
         DM_TEST_IN_DIR(cut_lines_are_mended), DM_TEST_IN_DIR(damaged_shards_are_seen),
         DM_TEST_IN_DIR(foreign_files_are_left_alone), DM_TEST_IN_DIR(another_run_is_refused),
         DM_TEST_IN_DIR(stats_add_up), DM_TEST(ranks_come_from_the_environment),
         DM_TEST_IN_DIR(the_command_says_what_is_wrong))
