/* SPDX-License-Identifier: MIT */
/* The validator: a dataset as it was made passes, any byte that is changed does not. */
#include "base/file.h"
#include "base/json.h"
#include "synth/audit/show.h"
#include "synth/audit/summary.h"
#include "synth/audit/validate.h"
#include "synth/check/compile.h"
#include "synth/produce.h"
#include "synth/store/dataset.h"
#include "tests/support/random.h"
#include "tests/support/tmpdir.h"
#include "tests/synth/categories.h"

#include <dotmatrix/device.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dm_device_tools need_cc(void)
{
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    if (!tools.cc)
        dm_test_skip("%s", tools.cc_reason);
    return tools;
}

/* ---- Making and checking ---- */

static void produce(const char *folder, uint64_t count, dm_synth_level level, int texts)
{
    dm_synth_produced made;
    dm_synth_produce_options options = {.folder = folder,
                                        .count = count,
                                        .seed = 5,
                                        .texts = texts,
                                        .rejected = true,
                                        .level = level,
                                        .shard_lines = 8,
                                        .jobs = 1,
                                        .ranks = 1,
                                        .quiet = true};
    every_category(&options);
    assert_ok(dm_synth_produce(&options, &made, err));
}

/* How many problems; the first is copied. */
static uint64_t validate(const char *path, dm_synth_level level, char first[512])
{
    dm_synth_report report;
    dm_synth_validate_options options = {.path = path, .level = level, .jobs = 1, .quiet = true};
    assert_ok(dm_synth_validate(&options, &report, err));
    snprintf(first, 512, "%s", report.problem_count > 0 ? report.problems[0] : "");
    uint64_t count = report.problem_count;
    dm_synth_report_free(&report);
    return count;
}

static void write_text(const char *path, const char *text)
{
    assert_ok(dm_file_write(path, text, strlen(text), err));
}

/* ---- Whole datasets ---- */

static void a_good_dataset_passes(void **state)
{
    const char *folder = dm_test_path(state, "set");
    dm_synth_report report;
    const dm_device_tools tools = need_cc();
    int texts = DM_SYNTH_TEXT_C | (tools.nvrtc ? DM_SYNTH_TEXT_CUDA : 0);
    produce(folder, 14, DM_SYNTH_VERIFY_FULL, texts);
    for (int jobs = 1; jobs < 3; jobs++) {
        dm_synth_validate_options options = {
            .path = folder, .level = DM_SYNTH_VERIFY_FULL, .jobs = jobs, .quiet = true};
        assert_ok(dm_synth_validate(&options, &report, err));
        if (report.problem_count > 0)
            fail_msg("%s", report.problems[0]);
        assert_true(report.ours);
        assert_int_equal(report.pairs, 14);
        assert_int_equal(report.verified, 14);
        assert_int_equal(report.distinct, 14);
        assert_true(report.rejected > 7);
        assert_int_equal(report.notes.size, 0);
        dm_synth_report_free(&report);
    }
}

static void a_sample_has_its_size(void **state)
{
    const char *folder = dm_test_path(state, "set");
    dm_synth_report report;
    need_cc();
    produce(folder, 20, DM_SYNTH_VERIFY_NONE, DM_SYNTH_TEXT_C);
    static const uint64_t samples[] = {1, 6, 20, 100};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        dm_synth_validate_options options = {.path = folder,
                                             .level = DM_SYNTH_VERIFY_COMPILE,
                                             .sample = samples[i],
                                             .seed = 3,
                                             .jobs = 1,
                                             .quiet = true};
        assert_ok(dm_synth_validate(&options, &report, err));
        assert_int_equal(report.verified, samples[i] < 20 ? samples[i] : 20);
        assert_int_equal(report.records, report.pairs + report.rejected);
        assert_int_equal(report.problem_count, 0);
        dm_synth_report_free(&report);
    }
}

static void what_is_missing_is_said(void **state)
{
    const char *folder = dm_test_path(state, "set");
    char first[512];
    produce(folder, 16, DM_SYNTH_VERIFY_NONE, DM_SYNTH_TEXT_C);
    assert_int_equal(validate(folder, DM_SYNTH_VERIFY_NONE, first), 0);
    assert_int_equal(remove(dm_test_path(state, "set/stats.json")), 0);
    assert_int_equal(validate(folder, DM_SYNTH_VERIFY_NONE, first), 1);
    assert_non_null(strstr(first, "stats.json"));
    assert_int_equal(remove(dm_test_path(state, "set/pairs-00001.jsonl")), 0);
    assert_true(validate(folder, DM_SYNTH_VERIFY_NONE, first) > 1);
    assert_non_null(strstr(first, "pairs-00001.jsonl"));
    assert_int_equal(remove(dm_test_path(state, "set/manifest.json")), 0);
    write_text(dm_test_path(state, "set/manifest.json"), "{\"shards\": [{\"file\": \"../x\"}]}");
    dm_synth_report report;
    dm_synth_validate_options options = {.path = folder, .quiet = true};
    assert_int_equal(dm_synth_validate(&options, &report, NULL), DM_EFORMAT);
    dm_synth_report_free(&report);
    options.path = dm_test_path(state, "nowhere");
    assert_int_equal(dm_synth_validate(&options, &report, NULL), DM_ENOENT);
    dm_synth_report_free(&report);
}

/* ---- Damage ---- */

typedef struct file {
    char path[DM_PATH_MAX];
    char *bytes;
    size_t size;
} file;

static void load(file *f, const char *path)
{
    snprintf(f->path, sizeof f->path, "%s", path);
    assert_ok(dm_file_read(path, 0, &f->bytes, &f->size, err));
}

static void hash_text(const void *bytes, size_t size, char out[DM_HASH_HEX_SIZE])
{
    dm_hash128_hex(dm_hash128_of(bytes, size), out);
}

/* Put the right sum over what is before it. */
static void seal_again(char *text, size_t size)
{
    char *at = NULL, hash[DM_HASH_HEX_SIZE];
    for (char *p = text; (p = memmem(p, size - (size_t)(p - text), ",\n  \"checksum\"", 14)); p++)
        at = p;
    if (at == NULL)
        return;
    hash_text(text, (size_t)(at - text), hash);
    memcpy(at + 17, hash, 32);
}

/* The shard's sum in the manifest made right for its new bytes. */
static void write_with_sums(const file *shard, const char *old_sum, const file *manifest)
{
    char sum[DM_HASH_HEX_SIZE], *text = malloc(manifest->size + 1);
    assert_non_null(text);
    memcpy(text, manifest->bytes, manifest->size + 1);
    hash_text(shard->bytes, shard->size, sum);
    char *at = strstr(text, old_sum);
    assert_non_null(at);
    memcpy(at, sum, 32);
    seal_again(text, manifest->size);
    assert_ok(dm_file_write(manifest->path, text, manifest->size, err));
    free(text);
}

static void flip_shard(file *shard, const file *manifest, const char *folder, uint64_t seed,
                       int flips)
{
    char old_sum[DM_HASH_HEX_SIZE], first[512];
    dm_test_random random = dm_test_random_make(seed, 0);
    hash_text(shard->bytes, shard->size, old_sum);
    for (int i = 0; i < flips; i++) {
        size_t at = dm_test_random_below(&random, (uint32_t)shard->size);
        char was = shard->bytes[at];
        shard->bytes[at] = (char)(was ^ (1 << dm_test_random_below(&random, 8)));
        assert_ok(dm_file_write(shard->path, shard->bytes, shard->size, err));
        if (validate(folder, DM_SYNTH_VERIFY_NONE, first) == 0)
            fail_msg("%s: byte %zu is %d, not %d, and nothing is found", shard->path, at,
                     shard->bytes[at], was);
        write_with_sums(shard, old_sum, manifest);
        if (validate(folder, DM_SYNTH_VERIFY_NONE, first) == 0)
            fail_msg("%s: byte %zu is %d, not %d, and with right sums nothing is found: %.60s",
                     shard->path, at, shard->bytes[at], was,
                     shard->bytes + (at < 30 ? 0 : at - 30));
        shard->bytes[at] = was;
    }
    assert_ok(dm_file_write(shard->path, shard->bytes, shard->size, err));
    assert_ok(dm_file_write(manifest->path, manifest->bytes, manifest->size, err));
    assert_int_equal(validate(folder, DM_SYNTH_VERIFY_NONE, first), 0);
}

static void every_byte_of_a_shard_counts(void **state)
{
    const char *folder = dm_test_path(state, "set");
    file pairs = {0}, rejected = {0}, manifest = {0};
    produce(folder, 12, DM_SYNTH_VERIFY_NONE,
            DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_CUDA | DM_SYNTH_TEXT_IR);
    load(&manifest, dm_test_path(state, "set/manifest.json"));
    load(&pairs, dm_test_path(state, "set/pairs-00001.jsonl"));
    load(&rejected, dm_test_path(state, "set/rejected-00000.jsonl"));
    flip_shard(&pairs, &manifest, folder, 1, 40);
    flip_shard(&rejected, &manifest, folder, 2, 25);
    free(pairs.bytes);
    free(rejected.bytes);
    free(manifest.bytes);
}

/* Nothing else says what these are, or not to the last digit: only the file's own sum guards them.
 */
static bool is_only_sealed(const char *text, size_t at)
{
    static const char *const keys[] = {"version",  "commit",   "generator", "profile",
                                       "checksum", "_seconds", "per_second"};
    while (at > 0 && text[at - 1] != '\n')
        at--;
    size_t size = strcspn(text + at, "\n");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (memmem(text + at, size, keys[i], strlen(keys[i])) != NULL)
            return true;
    return false;
}

static void flip_meta(const char *path, const char *folder, uint64_t seed, int flips)
{
    file f = {0};
    char first[512];
    dm_test_random random = dm_test_random_make(seed, 0);
    load(&f, path);
    for (int i = 0; i < flips; i++) {
        size_t at = dm_test_random_below(&random, (uint32_t)f.size);
        char was = f.bytes[at], changed = (char)(was ^ (1 << dm_test_random_below(&random, 8)));
        bool sealed = is_only_sealed(f.bytes, at);
        dm_synth_report report;
        for (int fixed = 0; fixed < 2; fixed++) {
            char *text = malloc(f.size + 1);
            assert_non_null(text);
            memcpy(text, f.bytes, f.size + 1);
            text[at] = changed;
            if (fixed == 1)
                seal_again(text, f.size);
            assert_ok(dm_file_write(path, text, f.size, err));
            dm_synth_validate_options options = {.path = folder, .jobs = 1, .quiet = true};
            dm_status status = dm_synth_validate(&options, &report, NULL);
            bool space = strchr(" \n", was) != NULL;
            if (status == DM_OK && report.problem_count == 0 && (fixed == 0 || (!sealed && !space)))
                fail_msg("%s: byte %zu is %d, not %d, and nothing is found: %.40s", path, at,
                         changed, was, text + (at < 20 ? 0 : at - 20));
            dm_synth_report_free(&report);
            free(text);
        }
    }
    assert_ok(dm_file_write(path, f.bytes, f.size, err));
    assert_int_equal(validate(folder, DM_SYNTH_VERIFY_NONE, first), 0);
    free(f.bytes);
}

static void every_byte_beside_the_shards_counts(void **state)
{
    const char *folder = dm_test_path(state, "set");
    produce(folder, 12, DM_SYNTH_VERIFY_NONE, DM_SYNTH_TEXT_CUDA);
    flip_meta(dm_test_path(state, "set/manifest.json"), folder, 3, 40);
    flip_meta(dm_test_path(state, "set/stats.json"), folder, 4, 40);
}

static void lines_lost_doubled_and_swapped(void **state)
{
    const char *folder = dm_test_path(state, "set");
    file shard = {0}, manifest = {0};
    char first[512], sum[DM_HASH_HEX_SIZE];
    produce(folder, 12, DM_SYNTH_VERIFY_NONE, DM_SYNTH_TEXT_C);
    load(&manifest, dm_test_path(state, "set/manifest.json"));
    load(&shard, dm_test_path(state, "set/pairs-00000.jsonl"));
    hash_text(shard.bytes, shard.size, sum);
    char *second = strchr(shard.bytes, '\n') + 1, *third = strchr(second, '\n') + 1;
    size_t one = (size_t)(second - shard.bytes), rest = shard.size - one;
    /* The first line is lost. */
    assert_ok(dm_file_write(shard.path, second, rest, err));
    assert_true(validate(folder, DM_SYNTH_VERIFY_NONE, first) > 0);
    /* The end is cut off inside of a line. */
    assert_ok(dm_file_write(shard.path, shard.bytes, shard.size - 10, err));
    assert_true(validate(folder, DM_SYNTH_VERIFY_NONE, first) > 0);
    /* The second line is there twice, sums right: ids and forms are not unique. */
    file other = {.size = shard.size + (size_t)(third - second)};
    other.bytes = malloc(other.size);
    assert_non_null(other.bytes);
    memcpy(other.bytes, shard.bytes, shard.size);
    memcpy(other.bytes + shard.size, second, (size_t)(third - second));
    snprintf(other.path, sizeof other.path, "%s", shard.path);
    assert_ok(dm_file_write(other.path, other.bytes, other.size, err));
    write_with_sums(&other, sum, &manifest);
    assert_true(validate(folder, DM_SYNTH_VERIFY_NONE, first) > 2);
    free(other.bytes);
    free(shard.bytes);
    free(manifest.bytes);
}

/* ---- Others' data ---- */

#define GOOD                                                                                       \
    "import warp as wp\\n\\n@wp.kernel\\ndef twice(x: wp.array(dtype=float), out: "                \
    "wp.array(dtype=float)):\\n    i = wp.tid()\\n    out[i] = x[i] * 2.0\\n"

static void data_of_others(void **state)
{
    dm_synth_report report;
    dm_synth_validate_options options = {.quiet = true};
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    options.level = tools.cc ? DM_SYNTH_VERIFY_FULL : DM_SYNTH_VERIFY_NONE;
    /* One object a line; text that needs Warp's headers is not compiled, and C text not run. */
    options.path = dm_test_path(state, "a.jsonl");
    write_text(options.path,
               "{\"id\": \"1\", \"kernel_name\": \"twice\", \"category\": \"math\", "
               "\"python_source\": \"" GOOD "\", \"cuda_forward\": \"#include \\\"builtin.h\\\"\", "
               "\"metadata\": {\"has_backward\": false}}\n\n"
               "{\"python_source\": \"" GOOD "\", \"c_forward\": \"int abort_now(void);\\nint "
               "abort_now(void) { return 1; }\\n\"}\n");
    assert_ok(dm_synth_validate(&options, &report, err));
    if (report.problem_count > 0)
        fail_msg("%s", report.problems[0]);
    assert_false(report.ours);
    assert_int_equal(report.pairs, 2);
    assert_int_equal(report.distinct, 1);
    assert_non_null(strstr(report.notes.data, "needs headers"));
    dm_synth_report_free(&report);
    /* A list in one file, and all that can be wrong. */
    options.path = dm_test_path(state, "b.json");
    write_text(options.path,
               "{\"pairs\": [{\"python_source\": \"" GOOD "\"}, 7, {\"id\": \"x\"},\n"
               "{\"id\": \"y\", \"python_source\": \"def f(:\\n\"},\n"
               "{\"id\": \"z\", \"python_source\": \"x = 1\\n\"},\n"
               "{\"python_source\": \"" GOOD "\", \"metadata\": {\"has_backward\": true}}]}\n");
    assert_ok(dm_synth_validate(&options, &report, err));
    assert_int_equal(report.problem_count, 5);
    assert_string_equal(report.problems[0], "b.json[1]: not an object");
    assert_string_equal(report.problems[1], "b.json[2]: x: no python_source");
    if (strstr(report.problems[2], "b.json[3]: y: python_source: line") == NULL)
        fail_msg("%s", report.problems[2]);
    assert_non_null(strstr(report.problems[3], "no kernel in it"));
    assert_non_null(strstr(report.problems[4], "has_backward"));
    dm_synth_report_free(&report);
    /* No JSON at all. */
    options.path = dm_test_path(state, "c.jsonl");
    write_text(options.path, "what is this\n{\"python_source\": 3}\n");
    assert_ok(dm_synth_validate(&options, &report, err));
    assert_int_equal(report.problem_count, 2);
    dm_synth_report_free(&report);
}

static void cuda_of_others_is_compiled(void **state)
{
    dm_synth_report report;
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    if (!tools.cc || !tools.nvrtc)
        dm_test_skip("%s", tools.cc ? tools.nvrtc_reason : tools.cc_reason);
    dm_synth_validate_options options = {.quiet = true, .level = DM_SYNTH_VERIFY_COMPILE};
    options.path = dm_test_path(state, "a.jsonl");
    write_text(options.path,
               "{\"python_source\": \"" GOOD
               "\", \"cuda_forward\": \"#define N 3\\nextern \\\"C\\\" "
               "__global__ void k(float *x) { x[N] = 1; }\"}\n"
               "{\"python_source\": \"" GOOD "\", \"cuda_forward\": \"extern \\\"C\\\" __global__ "
               "void k(float *x) { x[0] = y; }\"}\n");
    assert_ok(dm_synth_validate(&options, &report, err));
    assert_int_equal(report.problem_count, 1);
    assert_non_null(strstr(report.problems[0], "a.jsonl:2: fails at compile: cuda_forward"));
    dm_synth_report_free(&report);
}

/* ---- Looking ---- */

static void show_fits_its_columns(void **state)
{
    const char *folder = dm_test_path(state, "set");
    dm_synth_dataset dataset;
    dm_synth_record record;
    produce(folder, 12, DM_SYNTH_VERIFY_NONE, DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_CUDA);
    assert_ok(dm_synth_dataset_open(&dataset, folder, err));
    dm_synth_record_init(&record);
    assert_ok(dm_synth_dataset_find(&dataset, "5-00000009", &record, err));
    assert_int_equal(record.category, 9);
    static const int widths[] = {1, 60, 80, 119, 120, 200, 400};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_synth_show(&record, widths[i], false, &text);
        assert_non_null(strstr(text.data, "cuda_backward"));
        const char *line = strstr(text.data, "\n\n") + 2;
        for (; *line != '\0'; line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > (size_t)(widths[i] < 40 ? 40 : widths[i]))
                fail_msg("%d columns: %.*s", widths[i], (int)strcspn(line, "\n"), line);
        dm_buffer_deinit(&text);
    }
    assert_int_equal(dm_synth_dataset_find(&dataset, "5-9", &record, NULL), DM_ENOENT);
    assert_ok(dm_synth_dataset_find(&dataset, "5-00000009r", &record, err));
    assert_int_equal(record.kind, DM_SYNTH_REJECTED);
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_synth_show(&record, 100, false, &text);
    assert_non_null(strstr(text.data, "diagnostics"));
    dm_buffer_deinit(&text);
    dm_synth_record_deinit(&record);
    dm_synth_dataset_close(&dataset);
}

static void a_summary_counts_all(void **state)
{
    const char *folder = dm_test_path(state, "set");
    dm_synth_summary summary;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_error err = {0};
    produce(folder, 24, DM_SYNTH_VERIFY_NONE, DM_SYNTH_TEXT_CUDA);
    assert_ok(dm_synth_summarise(folder, &summary, err));
    assert_int_equal(summary.pairs, 24);
    uint64_t python = 0;
    for (int i = 0; i < summary.python.bins; i++)
        python += summary.python.counts[i];
    assert_int_equal(python, 24);
    for (int i = 0; i < DM_SYNTH_CATEGORY_COUNT; i++)
        assert_int_equal(summary.categories.counts[i], 2);
    dm_synth_summary_print(&summary, 80, &text);
    assert_non_null(strstr(text.data, "multi_dim"));
    assert_null(strstr(text.data, "gradient error")); /* none was measured */
    for (const char *line = text.data; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 120);
    dm_buffer_deinit(&text);
    const char *png = dm_test_path(state, "it's.png");
    dm_status status = dm_synth_summary_plot(&summary, png, &err);
    if (status == DM_EUNAVAILABLE)
        dm_test_skip("%s", err.message);
    assert_int_equal(status, DM_OK);
    file picture = {0};
    load(&picture, png);
    assert_memory_equal(picture.bytes, "\x89PNG", 4);
    free(picture.bytes);
}

DM_TESTS("synth/validate", DM_TEST_IN_DIR(a_good_dataset_passes),
         DM_TEST_IN_DIR(a_sample_has_its_size), DM_TEST_IN_DIR(what_is_missing_is_said),
         DM_TEST_IN_DIR(every_byte_of_a_shard_counts),
         DM_TEST_IN_DIR(every_byte_beside_the_shards_counts),
         DM_TEST_IN_DIR(lines_lost_doubled_and_swapped), DM_TEST_IN_DIR(data_of_others),
         DM_TEST_IN_DIR(cuda_of_others_is_compiled), DM_TEST_IN_DIR(show_fits_its_columns),
         DM_TEST_IN_DIR(a_summary_counts_all))
