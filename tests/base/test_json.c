/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/philox.h"
#include "tests/support/tmpdir.h"

#include "base/file.h"

#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_sample(dm_json *json)
{
    dm_json_begin_object(json, NULL);
    dm_json_string(json, "device", "cuda:0");
    dm_json_begin_array(json, "sizes");
    dm_json_int(json, NULL, -64);
    dm_json_uint(json, NULL, UINT64_MAX);
    dm_json_begin_object(json, NULL);
    dm_json_end_object(json);
    dm_json_begin_array(json, NULL);
    dm_json_end_array(json);
    dm_json_end_array(json);
    dm_json_begin_object(json, "more");
    dm_json_bool(json, "yes", true);
    dm_json_bool(json, "no", false);
    dm_json_null(json, "none");
    dm_json_string(json, "nothing", NULL);
    dm_json_double(json, "x", 0.5);
    dm_json_end_object(json);
    dm_json_end_object(json);
    dm_json_finish(json);
}

static void compact_and_pretty(void **state)
{
    (void)state;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_COMPACT);
    write_sample(&json);
    assert_string_equal(
        dm_buffer_text(&text),
        "{\"device\":\"cuda:0\",\"sizes\":[-64,18446744073709551615,{},[]],"
        "\"more\":{\"yes\":true,\"no\":false,\"none\":null,\"nothing\":null,\"x\":0.5}}\n");
    dm_buffer_clear(&text);
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    write_sample(&json);
    assert_string_equal(dm_buffer_text(&text), "{\n"
                                               "  \"device\": \"cuda:0\",\n"
                                               "  \"sizes\": [\n"
                                               "    -64,\n"
                                               "    18446744073709551615,\n"
                                               "    {},\n"
                                               "    []\n"
                                               "  ],\n"
                                               "  \"more\": {\n"
                                               "    \"yes\": true,\n"
                                               "    \"no\": false,\n"
                                               "    \"none\": null,\n"
                                               "    \"nothing\": null,\n"
                                               "    \"x\": 0.5\n"
                                               "  }\n"
                                               "}\n");
    dm_buffer_deinit(&text);
}

static void assert_string_written(const char *value, size_t length, const char *expected)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_COMPACT);
    dm_json_string_n(&json, NULL, value, length);
    assert_string_equal(dm_buffer_text(&text), expected);
    dm_buffer_deinit(&text);
}

static void strings_are_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *value, *expected;
    } rows[] = {
        {"", "\"\""},
        {"a\"b\\c/d", "\"a\\\"b\\\\c/d\""},
        {"\n\r\t", "\"\\n\\r\\t\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\""},
        {"\b\f", "\"\\u0008\\u000c\""},
        {"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x8E\xAE",
         "\"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x8E\xAE\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_written(rows[i].value, strlen(rows[i].value), rows[i].expected);
    assert_string_written("a\0b", 3, "\"a\\u0000b\"");
}

#define FFFD "\xEF\xBF\xBD"

static void bad_utf8_is_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *value, *expected;
    } rows[] = {
        {"\xFF", "\"" FFFD "\""},
        {"a\x80z", "\"a" FFFD "z\""},                        /* a lone continuation */
        {"\xC3", "\"" FFFD "\""},                            /* cut off */
        {"\xE2\x82", "\"" FFFD FFFD "\""},                   /* cut off */
        {"\xE2\x82x", "\"" FFFD FFFD "x\""},                 /* broken off */
        {"\xC0\xAF", "\"" FFFD FFFD "\""},                   /* overlong '/' */
        {"\xE0\x80\xAF", "\"" FFFD FFFD FFFD "\""},          /* overlong */
        {"\xF0\x80\x80\xAF", "\"" FFFD FFFD FFFD FFFD "\""}, /* overlong */
        {"\xED\xA0\x80", "\"" FFFD FFFD FFFD "\""},          /* a surrogate */
        {"\xF4\x90\x80\x80", "\"" FFFD FFFD FFFD FFFD "\""}, /* above U+10FFFF */
        {"\xF5\x80\x80\x80", "\"" FFFD FFFD FFFD FFFD "\""}, /* no such first byte */
        {"\xF4\x8F\xBF\xBF\xED\x9F\xBF", "\"\xF4\x8F\xBF\xBF\xED\x9F\xBF\""}, /* the last good */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_written(rows[i].value, strlen(rows[i].value), rows[i].expected);
}

static void write_double(dm_buffer *text, double value)
{
    dm_json json;
    dm_buffer_clear(text);
    dm_json_init(&json, text, DM_JSON_COMPACT);
    dm_json_double(&json, NULL, value);
}

static void doubles_are_short(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *expected;
    } rows[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-3, "-3.0"},
        {0.1, "0.1"},
        {1e5, "100000.0"},
        {1e22, "1e+22"},
        {1.5e-7, "1.5e-07"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {5e-324, "4.94065645841247e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {NAN, "null"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
        {123456789012345678.0, "1.2345678901234568e+17"},
    };
    dm_buffer text = DM_BUFFER_EMPTY;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_double(&text, rows[i].value);
        assert_string_equal(dm_buffer_text(&text), rows[i].expected);
    }
    dm_buffer_deinit(&text);
}

/* 20,000 doubles of random bits: what jansson reads back is the same, and real. */
static void doubles_read_back(void **state)
{
    (void)state;
    dm_buffer text = DM_BUFFER_EMPTY;
    for (uint64_t i = 0; i < 20000; i++) {
        dm_philox4 r = dm_random4(3, 1, i);
        uint64_t bits = (uint64_t)r.v[0] << 32 | r.v[1];
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        write_double(&text, value);
        json_t *got = NULL;
        assert_ok(dm_json_parse(text.data, text.size, NULL, &got, err));
        assert_true(json_is_real(got));
        double back = json_real_value(got);
        assert_memory_equal(&back, &value, sizeof value);
        json_decref(got);
    }
    dm_buffer_deinit(&text);
}

/* A locale with a decimal comma, installed or made on the spot. */
static bool use_decimal_comma(void **state)
{
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL) {
        char command[2 * DM_PATH_MAX];
        snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s' >/dev/null 2>&1",
                 dm_test_path(state, "de_DE.UTF-8"));
        if (system(command) != 0)
            return false;
        setenv("LOCPATH", dm_test_dir(state), 1);
    }
    return setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL &&
           strcmp(localeconv()->decimal_point, ",") == 0;
}

static void decimal_comma_does_not_leak(void **state)
{
    if (!use_decimal_comma(state))
        dm_test_skip("no locale with a decimal comma, and none can be made");
    char plain[32];
    snprintf(plain, sizeof plain, "%g", 1234.5);
    dm_buffer text = DM_BUFFER_EMPTY;
    write_double(&text, 1234.5);
    json_t *got = NULL;
    assert_ok(dm_json_parse(text.data, text.size, NULL, &got, err));
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(plain, "1234,5"); /* the locale was really in force */
    assert_string_equal(dm_buffer_text(&text), "1234.5");
    assert_true(json_real_value(got) == 1234.5);
    json_decref(got);
    dm_buffer_deinit(&text);
}

/* ---- misuse ---- */

static void key_in_array(dm_json *json)
{
    dm_json_begin_array(json, NULL);
    dm_json_int(json, "k", 1);
}

static void no_key_in_object(dm_json *json)
{
    dm_json_begin_object(json, NULL);
    dm_json_int(json, NULL, 1);
}

static void wrong_end(dm_json *json)
{
    dm_json_begin_object(json, NULL);
    dm_json_end_array(json);
}

static void one_end_too_many(dm_json *json)
{
    dm_json_begin_object(json, NULL);
    dm_json_end_object(json);
    dm_json_end_object(json);
}

static void unclosed(dm_json *json)
{
    dm_json_begin_object(json, NULL);
    dm_json_finish(json);
}

static void two_roots(dm_json *json)
{
    dm_json_int(json, NULL, 1);
    dm_json_int(json, NULL, 2);
}

static void too_deep(dm_json *json)
{
    for (int i = 0; i <= DM_JSON_DEPTH_MAX; i++)
        dm_json_begin_array(json, NULL);
}

static void misuse_asserts(void **state)
{
    (void)state;
    static void (*const wrong[])(dm_json *) = {
        key_in_array, no_key_in_object, wrong_end, one_end_too_many, unclosed, two_roots, too_deep};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            signal(SIGABRT, SIG_DFL);
            close(STDERR_FILENO);
            dm_buffer text = DM_BUFFER_EMPTY;
            dm_json json;
            dm_json_init(&json, &text, DM_JSON_COMPACT);
            wrong[i](&json);
            _exit(0);
        }
        int status;
        waitpid(pid, &status, 0);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("misuse %zu was not caught", i);
    }
}

static void deepest_is_fine(void **state)
{
    (void)state;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    for (int i = 0; i < DM_JSON_DEPTH_MAX; i++)
        dm_json_begin_array(&json, NULL);
    for (int i = 0; i < DM_JSON_DEPTH_MAX; i++)
        dm_json_end_array(&json);
    dm_json_finish(&json);
    json_t *got = NULL;
    assert_ok(dm_json_parse(text.data, text.size, NULL, &got, err));
    json_decref(got);
    dm_buffer_deinit(&text);
}

/* ---- reading ---- */

static void reads_what_was_written(void **state)
{
    const char *path = dm_test_path(state, "a.json");
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "k\"\x01", "v\n\xC3\xBC");
    dm_json_int(&json, "min", INT64_MIN);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    assert_ok(dm_file_write(path, text.data, text.size, err));
    dm_buffer_deinit(&text);
    json_t *got = NULL;
    assert_ok(dm_json_load(path, &got, err));
    assert_string_equal(json_string_value(json_object_get(got, "k\"\x01")), "v\n\xC3\xBC");
    assert_true(json_integer_value(json_object_get(got, "min")) == INT64_MIN);
    json_decref(got);
}

static void bad_text_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line;
    } rows[] = {
        {"{\n\"a\": 1,\n\"a\": 2}", 3}, /* a key twice */
        {"[1,\n2] x", 2},               /* more text */
        {"{\n\n\"a\":", 3},             /* cut off */
        {"[1,\n2,\n]", 3},
        {"{\"a\" 1}", 1},
        {"\"\xFF\"", 1},
        {"[1e999]", 1},
        {"nul", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *got = NULL;
        dm_error err = {0};
        assert_int_equal(dm_json_parse(rows[i].text, strlen(rows[i].text), "in.json", &got, &err),
                         DM_EFORMAT);
        assert_null(got);
        assert_string_equal(err.file, "in.json");
        assert_int_equal(err.line, rows[i].line);
        assert_true(strlen(err.message) > 8);
    }
}

/* Every prefix of a good text is refused, and none crashes. */
static void truncated_text_is_refused(void **state)
{
    (void)state;
    dm_buffer text = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &text, DM_JSON_PRETTY);
    write_sample(&json);
    for (size_t size = 0; size + 1 < text.size; size++) {
        json_t *got = NULL;
        char *exact = malloc(size + 1); /* so that ASan sees a read past the end */
        memcpy(exact, text.data, size);
        char *shrunk = realloc(exact, size > 0 ? size : 1);
        assert_int_equal(dm_json_parse(shrunk, size, NULL, &got, NULL), DM_EFORMAT);
        free(shrunk);
    }
    dm_buffer_deinit(&text);
}

static void load_errors_name_the_file(void **state)
{
    json_t *got = NULL;
    dm_error err = {0};
    const char *missing = dm_test_path(state, "missing.json");
    assert_int_equal(dm_json_load(missing, &got, &err), DM_ENOENT);
    assert_non_null(strstr(err.message, missing));
    const char *bad = dm_test_path(state, "bad.json");
    assert_ok(dm_file_write(bad, "{\n", 2, err));
    assert_int_equal(dm_json_load(bad, &got, &err), DM_EFORMAT);
    assert_string_equal(err.file, bad);
    assert_null(got);
}

DM_TESTS("base/json", DM_TEST(compact_and_pretty), DM_TEST(strings_are_escaped),
         DM_TEST(bad_utf8_is_replaced), DM_TEST(doubles_are_short), DM_TEST(doubles_read_back),
         DM_TEST_IN_DIR(decimal_comma_does_not_leak), DM_TEST(misuse_asserts),
         DM_TEST(deepest_is_fine), DM_TEST_IN_DIR(reads_what_was_written),
         DM_TEST(bad_text_is_refused_with_its_line), DM_TEST(truncated_text_is_refused),
         DM_TEST_IN_DIR(load_errors_name_the_file))
