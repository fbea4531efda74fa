/* SPDX-License-Identifier: MIT */
/* Records: what is written reads back, and lines that are no records are refused at their place. */
#include "synth/record.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static void fill(dm_synth_record *r, bool all)
{
    dm_synth_record_init(r);
    snprintf(r->id, sizeof r->id, "7-00000012");
    snprintf(r->kernel_name, sizeof r->kernel_name, "scale");
    r->category = DM_SYNTH_MATRIX;
    dm_buffer_puts(&r->python_source, "import warp as wp\n\tx = \"a\\b\"\r\x01\n");
    dm_buffer_puts(&r->cuda_forward, "forward\n");
    if (all) {
        dm_buffer_puts(&r->cuda_backward, "backward\n");
        dm_buffer_puts(&r->c_forward, "c\n");
        dm_buffer_puts(&r->c_backward, "c back\n");
        dm_buffer_puts(&r->ir, "%0 = tid\n");
        r->generation_time_ms = 0.125;
        r->verification = (dm_synth_verification){.level = DM_SYNTH_VERIFY_GRAD,
                                                  .c_compiled = true,
                                                  .cuda_compiled = true,
                                                  .ran = true,
                                                  .compared = 12,
                                                  .gradient_error = 3.5e-9,
                                                  .output_magnitude = 2.25};
    }
    r->has_backward = all;
    r->forward_lines = 1;
    r->backward_lines = all;
    r->attempt = 3;
    r->canonical = (dm_hash128){.low = 1, .high = UINT64_MAX};
}

static void reads_back_what_it_wrote(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        dm_synth_record r, again;
        dm_buffer line = DM_BUFFER_EMPTY, second = DM_BUFFER_EMPTY;
        fill(&r, all);
        dm_synth_record_init(&again);
        dm_synth_record_write(&r, &line);
        assert_int_equal(line.data[line.size - 1], '\n');
        assert_ptr_equal(memchr(line.data, '\n', line.size), line.data + line.size - 1);
        assert_ok(dm_synth_record_read(&again, line.data, line.size, "a.jsonl", 1, err));
        dm_synth_record_write(&again, &second);
        assert_string_equal(line.data, second.data);
        assert_string_equal(dm_buffer_text(&again.python_source), dm_buffer_text(&r.python_source));
        assert_int_equal(again.category, DM_SYNTH_MATRIX);
        assert_int_equal(again.attempt, 3);
        assert_true(again.canonical.high == UINT64_MAX && again.canonical.low == 1);
        assert_true(all ? again.generation_time_ms == 0.125 : again.generation_time_ms < 0);
        dm_synth_record_deinit(&r);
        dm_synth_record_deinit(&again);
        dm_buffer_deinit(&line);
        dm_buffer_deinit(&second);
    }
}

/* A line with one piece of its text replaced. */
static void expect_refused(const char *from, const char *to, const char *message)
{
    dm_synth_record r;
    dm_buffer line = DM_BUFFER_EMPTY, changed = DM_BUFFER_EMPTY;
    dm_error err = {0};
    fill(&r, true);
    dm_synth_record_write(&r, &line);
    const char *at = strstr(line.data, from);
    assert_non_null(at);
    dm_buffer_append(&changed, line.data, (size_t)(at - line.data));
    dm_buffer_puts(&changed, to);
    dm_buffer_puts(&changed, at + strlen(from));
    dm_status status = dm_synth_record_read(&r, changed.data, changed.size, "a.jsonl", 42, &err);
    if (status != DM_EFORMAT || strstr(err.message, message) == NULL || err.line != 42)
        fail_msg("'%s' for '%s': status %d, line %d: %s", to, from, (int)status, err.line,
                 err.message);
    dm_synth_record_deinit(&r);
    dm_buffer_deinit(&line);
    dm_buffer_deinit(&changed);
}

static void other_lines_are_refused(void **state)
{
    (void)state;
    expect_refused("\"id\"", "\"ID\"", "id: missing");
    expect_refused("\"attempt\": 3", "\"attempt\": 3, \"more\": 1", "not known");
    expect_refused("\"attempt\": 3", "\"attempt\": -3", "not a count");
    expect_refused("\"attempt\": 3", "\"attempt\": 3.5", "not a count");
    expect_refused("\"matrix\"", "\"matrixes\"", "category");
    expect_refused("\"both\"", "\"cuda\"", "device");
    expect_refused("\"has_backward\": true", "\"has_backward\": 1", "has_backward");
    expect_refused("\"grad\"", "\"most\"", "level");
    expect_refused("\"gradient_error\": 3.50e-09", "\"gradient_error\": -1", "gradient_error");
    expect_refused("ffffffffffffffff", "FFFFFFFFFFFFFFFF", "canonical");
    expect_refused("\"cuda_forward\": \"forward\\n\"", "\"cuda_forward\": 5", "cuda_forward");
    expect_refused("}\n", "", "");
    expect_refused("{", "[", "");
}

static void lines_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int lines;
    } cases[] = {{"", 0}, {"\n", 1}, {"a", 1}, {"a\n", 1}, {"a\nb", 2}, {"\n\n", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dm_buffer text = DM_BUFFER_EMPTY;
        dm_buffer_puts(&text, cases[i].text);
        assert_int_equal(dm_synth_lines(&text), cases[i].lines);
        dm_buffer_deinit(&text);
    }
}

DM_TESTS("synth/record", DM_TEST(reads_back_what_it_wrote), DM_TEST(other_lines_are_refused),
         DM_TEST(lines_are_counted))
