/* SPDX-License-Identifier: MIT */
/* Records: what is written reads back, and lines that are no records are refused at their place. */
#include "base/json.h"
#include "synth/store/record.h"
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
        dm_buffer_puts(&r->reference, "def scale(launch):\n");
        dm_buffer_puts(&r->test, "CASES = []\n");
        snprintf(r->idiom, sizeof r->idiom, "heat_step");
        dm_buffer_puts(&r->line, "A step.");
        dm_buffer_puts(&r->paragraph, "A step. Of heat.");
        dm_buffer_puts(&r->specification, "A step.\n\nArguments:\n");
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
        assert_string_equal(again.idiom, r.idiom);
        assert_string_equal(dm_buffer_text(&again.specification), dm_buffer_text(&r.specification));
        assert_true(again.canonical.high == UINT64_MAX && again.canonical.low == 1);
        assert_true(all ? again.generation_time_ms == 0.125 : again.generation_time_ms < 0);
        dm_synth_record_deinit(&r);
        dm_synth_record_deinit(&again);
        dm_buffer_deinit(&line);
        dm_buffer_deinit(&second);
    }
}

/* A record with this text has it as the general writer writes it, and is not longer by a byte. */
static void expect_written(dm_synth_record *r, dm_buffer *line, size_t *rest)
{
    dm_buffer expected = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &expected, DM_JSON_COMPACT);
    dm_json_string_n(&json, NULL, r->cuda_forward.data, r->cuda_forward.size);
    dm_buffer_clear(line);
    dm_synth_record_write(r, line);
    const char *at = strstr(line->data, "\"cuda_forward\": ") + strlen("\"cuda_forward\": ");
    assert_memory_equal(at, expected.data, expected.size);
    if (*rest == 0)
        *rest = line->size - expected.size;
    assert_int_equal(line->size - expected.size, *rest);
    dm_buffer_deinit(&expected);
}

/* Texts are escaped in blocks: each byte that is escaped, at each place of texts around their size.
 */
static void escapes_any_byte_at_any_place(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 193, 320};
    static const char escaped[] = "\"\\\n\t\r\x01\x1f";
    dm_synth_record r;
    dm_buffer line = DM_BUFFER_EMPTY;
    size_t rest = 0;
    fill(&r, false);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        dm_buffer_clear(&r.cuda_forward);
        for (size_t i = 0; i < sizes[s]; i++)
            dm_buffer_putc(&r.cuda_forward, " !#[]~\x7f"[i % 7]); /* beside those that are not */
        for (size_t place = 0; place < sizes[s]; place++)
            for (const char *c = escaped; *c != '\0'; c++) {
                char before = r.cuda_forward.data[place];
                r.cuda_forward.data[place] = *c;
                expect_written(&r, &line, &rest);
                r.cuda_forward.data[place] = before;
            }
        memset(r.cuda_forward.data, 1, sizes[s]);
        expect_written(&r, &line, &rest);
    }
    dm_synth_record_deinit(&r);
    dm_buffer_deinit(&line);
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
    dm_buffer many = DM_BUFFER_EMPTY;
    for (int i = 1; i <= 1000; i++) {
        dm_buffer_puts(&many, i % 3 == 0 ? "ab\n" : "\n");
        assert_int_equal(dm_synth_lines(&many), i);
    }
    dm_buffer_deinit(&many);
}

DM_TESTS("synth/record", DM_TEST(reads_back_what_it_wrote), DM_TEST(escapes_any_byte_at_any_place),
         DM_TEST(other_lines_are_refused), DM_TEST(lines_are_counted))
