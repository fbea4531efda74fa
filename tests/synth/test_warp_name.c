/* SPDX-License-Identifier: MIT */
/* Functions by Warp's names: the names differ and nothing else, and such a dataset is valid. */
#include "synth/audit/validate.h"
#include "synth/check/compile.h"
#include "synth/check/warp_name.h"
#include "synth/produce.h"
#include "synth/store/dataset.h"
#include "tests/support/tmpdir.h"
#include "tests/synth/categories.h"

#include <dotmatrix/device.h>

#include <stdio.h>
#include <string.h>

static void produce(const char *folder, int texts)
{
    dm_synth_produced made;
    dm_synth_produce_options options = {.folder = folder,
                                        .count = 12,
                                        .seed = 5,
                                        .texts = texts,
                                        .programs = 25,
                                        .style = DM_SYNTH_STYLE_NATURAL,
                                        .level = DM_SYNTH_VERIFY_FULL,
                                        .shard_lines = 100,
                                        .jobs = 2,
                                        .ranks = 1,
                                        .quiet = true};
    every_category(&options);
    assert_ok(dm_synth_produce(&options, &made, err));
    assert_int_equal(made.shipped, 12);
}

/* Every `from` of a text; how many there were. */
static int replace(dm_buffer *text, const char *from, const char *to)
{
    dm_buffer made = DM_BUFFER_EMPTY;
    const char *at = dm_buffer_text(text), *found;
    int count = 0;
    for (; (found = strstr(at, from)) != NULL; at = found + strlen(from), count++) {
        dm_buffer_append(&made, at, (size_t)(found - at));
        dm_buffer_puts(&made, to);
    }
    dm_buffer_puts(&made, at);
    dm_buffer_deinit(text);
    *text = made;
    return count;
}

static int occurrences(const dm_buffer *text, const char *what)
{
    int count = 0;
    for (const char *p = dm_buffer_text(text); (p = strstr(p, what)) != NULL; p++)
        count++;
    return count;
}

/* A line without the hash in its names is the line of the dataset without the option. */
static void compare_lines(const char *plain, size_t plain_size, const char *named, size_t size,
                          bool cuda)
{
    dm_synth_record record;
    char hash[DM_HASH_HEX_SIZE], from[64], name[DM_WARP_NAME_MAX + 64];
    dm_buffer line = DM_BUFFER_EMPTY;
    dm_synth_record_init(&record);
    assert_ok(dm_synth_record_read(&record, named, size, "named", 1, err));
    assert_int_equal(record.verification.level, DM_SYNTH_VERIFY_FULL);
    dm_hash128_hex(record.canonical, hash);
    snprintf(name, sizeof name, "\"%.200s_%.8s_cpu\"\nPARAMETERS", record.kernel_name, hash);
    assert_int_equal(occurrences(&record.test, name), 1);
    snprintf(name, sizeof name, "void %.200s_%.8s_cpu_forward(const void *", record.kernel_name,
             hash);
    assert_true(occurrences(&record.c_forward, name) > 0);
    snprintf(from, sizeof from, "_%.8s_cuda_kernel_forward(const ", hash);
    assert_int_equal(occurrences(&record.cuda_forward, "__global__") > 0, cuda);
    assert_int_equal(occurrences(&record.cuda_forward, from),
                     occurrences(&record.cuda_forward, "__global__"));
    snprintf(from, sizeof from, "_%.8s_cuda_kernel_backward(const ", hash);
    assert_int_equal(occurrences(&record.cuda_backward, from),
                     occurrences(&record.cuda_backward, "__global__"));

    dm_buffer_append(&line, named, size);
    snprintf(from, sizeof from, "_%.8s_cpu_kernel_forward", hash);
    assert_true(replace(&line, from, "_forward_task") > 1);
    snprintf(from, sizeof from, "_%.8s_cpu_kernel_backward", hash);
    assert_int_equal(replace(&line, from, "_backward_task") > 1, record.has_backward);
    snprintf(from, sizeof from, "_%.8s_cpu", hash);
    assert_true(replace(&line, from, "") > 2);
    snprintf(from, sizeof from, "_%.8s_cuda_kernel", hash);
    assert_int_equal(replace(&line, from, "") > 0, cuda);
    if (line.size != plain_size || memcmp(line.data, plain, plain_size) != 0)
        fail_msg("%s: more than names differs", record.id);
    dm_buffer_deinit(&line);
    dm_synth_record_deinit(&record);
}

static void names_differ_and_nothing_else(void **state)
{
    dm_device_tools tools;
    dm_device_tools_find(&tools);
    if (!tools.cc)
        dm_test_skip("%s", tools.cc_reason);
    int texts = DM_SYNTH_TEXT_C | DM_SYNTH_TEXT_REFERENCE | (tools.nvrtc ? DM_SYNTH_TEXT_CUDA : 0);
    const char *folders[2] = {dm_test_path(state, "plain"), dm_test_path(state, "named")};
    dm_synth_dataset sets[2];
    dm_synth_file files[2];
    for (int i = 0; i < 2; i++) {
        produce(folders[i], i == 0 ? texts : texts | DM_SYNTH_WARP_NAMES);
        assert_ok(dm_synth_dataset_open(&sets[i], folders[i], err));
        assert_ok(dm_synth_file_read(&files[i], &sets[i], 0, err));
        assert_int_equal(files[i].count, 12);
    }
    assert_null(json_object_get(sets[0].manifest, "warp_names"));
    assert_true(json_is_true(json_object_get(sets[1].manifest, "warp_names")));
    for (size_t i = 0; i < 12; i++)
        compare_lines(files[0].lines[i], dm_synth_file_line(&files[0], i), files[1].lines[i],
                      dm_synth_file_line(&files[1], i), tools.nvrtc);
    for (int i = 0; i < 2; i++) {
        dm_synth_file_free(&files[i]);
        dm_synth_dataset_close(&sets[i]);
    }

    dm_synth_report report;
    dm_synth_validate_options options = {
        .path = folders[1], .level = DM_SYNTH_VERIFY_FULL, .jobs = 2, .quiet = true};
    assert_ok(dm_synth_validate(&options, &report, err));
    if (report.problem_count > 0)
        fail_msg("%s", report.problems[0]);
    assert_int_equal(report.verified, 12);
    dm_synth_report_free(&report);
}

/* Warp's text says what the hash of a kernel is; a function of launches has none there. */
static void hashes_are_warps_where_it_has_them(void **state)
{
    (void)state;
    dm_synth_record r;
    char name[DM_WARP_NAME_MAX];
    dm_synth_record_init(&r);
    r.canonical = dm_hash128_of("form", 4);
    char own[DM_HASH_HEX_SIZE], text[400];
    dm_hash128_hex(r.canonical, own);
    own[8] = '\0';
    dm_buffer_puts(&r.cuda_forward, "void blur_forward(int);\nvoid other_blur_forward(int);\n");
    dm_buffer_puts(&r.c_forward, "x = blur_forward_task + blur_forward + blur_forwards;\n");
    assert_ok(dm_warp_name_functions(&r, "blur", err));
    snprintf(text, sizeof text,
             "void blur_%s_cuda_kernel_forward(int);\nvoid other_blur_forward(int);\n", own);
    assert_string_equal(dm_buffer_text(&r.cuda_forward), text);
    snprintf(text, sizeof text,
             "x = blur_%s_cpu_kernel_forward + blur_%s_cpu_forward + blur_forwards;\n", own, own);
    assert_string_equal(dm_buffer_text(&r.c_forward), text);

    dm_buffer_puts(&r.warp_forward, "void other_blur_11111111_cuda_kernel_forward(int);\n"
                                    "void blur_0123abcd_cuda_kernel_forward(int);\n");
    dm_buffer_printf(&r.test, "\"blur_%s_cpu\", \"launches_%s_cpu\"", own, own);
    dm_warp_name_take_hashes(&r);
    assert_string_equal(
        dm_buffer_text(&r.cuda_forward),
        "void blur_0123abcd_cuda_kernel_forward(int);\nvoid other_blur_forward(int);\n");
    assert_string_equal(dm_buffer_text(&r.c_forward),
                        "x = blur_0123abcd_cpu_kernel_forward + "
                        "blur_0123abcd_cpu_forward + blur_forwards;\n");
    snprintf(text, sizeof text, "\"blur_0123abcd_cpu\", \"launches_%s_cpu\"", own);
    assert_string_equal(dm_buffer_text(&r.test), text);
    dm_warp_name_put(&r, "blur", true, name);
    assert_string_equal(name, "blur_0123abcd_cuda_kernel");
    dm_warp_name_put(&r, "lur", false, name);
    snprintf(text, sizeof text, "lur_%s_cpu", own);
    assert_string_equal(name, text);
    dm_synth_record_deinit(&r);
}

DM_TESTS("synth/warp_name", DM_TEST_IN_DIR(names_differ_and_nothing_else),
         DM_TEST(hashes_are_warps_where_it_has_them))
