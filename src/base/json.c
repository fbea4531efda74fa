/* SPDX-License-Identifier: MIT */
/* json.c - the streaming JSON writer, and jansson's parser with our errors. */
#include "base/json.h"
#include "base/file.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2
#define LOAD_LIMIT ((size_t)1 << 30)

void dm_json_init(dm_json *json, dm_buffer *out, enum dm_json_style style)
{
    *json = (dm_json){.out = out, .style = style};
}

/* ---- text ---- */

/* The length of the well-formed UTF-8 character at the start of `s`, 0 if there is none: no
 * overlong forms, no surrogates, nothing above U+10FFFF (the table of the Unicode standard, 3.9).
 */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    if (s[0] < 0x80)
        return 1;
    size_t length;
    unsigned char low = 0x80, high = 0xBF; /* bounds of the second byte */
    if (s[0] >= 0xC2 && s[0] <= 0xDF) {
        length = 2;
    } else if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        length = 3;
        if (s[0] == 0xE0)
            low = 0xA0;
        if (s[0] == 0xED)
            high = 0x9F;
    } else if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        length = 4;
        if (s[0] == 0xF0)
            low = 0x90;
        if (s[0] == 0xF4)
            high = 0x8F;
    } else {
        return 0;
    }
    if (left < length || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (s[i] < 0x80 || s[i] > 0xBF)
            return 0;
    return length;
}

static void put_escaped(dm_buffer *out, unsigned char c)
{
    switch (c) {
    case '"':
        dm_buffer_puts(out, "\\\"");
        break;
    case '\\':
        dm_buffer_puts(out, "\\\\");
        break;
    case '\n':
        dm_buffer_puts(out, "\\n");
        break;
    case '\r':
        dm_buffer_puts(out, "\\r");
        break;
    case '\t':
        dm_buffer_puts(out, "\\t");
        break;
    default:
        dm_buffer_printf(out, "\\u%04x", c);
    }
}

static void put_text(dm_buffer *out, const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t plain = 0; /* start of what was not yet written and needs no change */
    dm_buffer_putc(out, '"');
    for (size_t i = 0; i < length;) {
        size_t n = utf8_length(s + i, length - i);
        if (n > 0 && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\') {
            i += n;
            continue;
        }
        dm_buffer_append(out, s + plain, i - plain);
        if (n == 0)
            dm_buffer_puts(out, "\xEF\xBF\xBD"); /* U+FFFD */
        else
            put_escaped(out, s[i]);
        plain = ++i;
    }
    dm_buffer_append(out, s + plain, length - plain);
    dm_buffer_putc(out, '"');
}

/* ---- structure ---- */

static void new_line(dm_json *json)
{
    if (json->style != DM_JSON_PRETTY)
        return;
    dm_buffer_putc(json->out, '\n');
    for (int i = 0; i < INDENT * json->depth; i++)
        dm_buffer_putc(json->out, ' ');
}

/* Everything that stands before a value: comma, line, key. */
static void begin_value(dm_json *json, const char *key)
{
    if (json->depth == 0) {
        assert(key == NULL && !json->complete && "one root value without a key");
        json->complete = true;
        return;
    }
    int top = json->depth - 1;
    assert((key == NULL) == json->is_array[top] && "a key in objects, none in arrays");
    if (json->has_members[top])
        dm_buffer_putc(json->out, ',');
    json->has_members[top] = true;
    new_line(json);
    if (key != NULL) {
        put_text(json->out, key, strlen(key));
        dm_buffer_puts(json->out, json->style == DM_JSON_PRETTY ? ": " : ":");
    }
}

static void begin_container(dm_json *json, const char *key, bool is_array)
{
    begin_value(json, key);
    assert(json->depth < DM_JSON_DEPTH_MAX);
    json->has_members[json->depth] = false;
    json->is_array[json->depth] = is_array;
    json->depth++;
    dm_buffer_putc(json->out, is_array ? '[' : '{');
}

static void end_container(dm_json *json, bool is_array)
{
    assert(json->depth > 0 && json->is_array[json->depth - 1] == is_array);
    json->depth--;
    if (json->has_members[json->depth])
        new_line(json);
    dm_buffer_putc(json->out, is_array ? ']' : '}');
}

void dm_json_begin_object(dm_json *json, const char *key)
{
    begin_container(json, key, false);
}

void dm_json_end_object(dm_json *json)
{
    end_container(json, false);
}

void dm_json_begin_array(dm_json *json, const char *key)
{
    begin_container(json, key, true);
}

void dm_json_end_array(dm_json *json)
{
    end_container(json, true);
}

void dm_json_finish(dm_json *json)
{
    assert(json->depth == 0 && json->complete && "everything closed");
    dm_buffer_putc(json->out, '\n');
}

/* ---- values ---- */

void dm_json_string_n(dm_json *json, const char *key, const char *value, size_t length)
{
    begin_value(json, key);
    put_text(json->out, value, length);
}

void dm_json_string(dm_json *json, const char *key, const char *value)
{
    if (value == NULL)
        dm_json_null(json, key);
    else
        dm_json_string_n(json, key, value, strlen(value));
}

void dm_json_int(dm_json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    dm_buffer_printf(json->out, "%" PRId64, value);
}

void dm_json_uint(dm_json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    dm_buffer_printf(json->out, "%" PRIu64, value);
}

/* printf writes the decimal point of the program's locale, which may be a comma or several bytes;
 * whatever is neither digit, sign nor exponent becomes a point. */
static void put_number(dm_buffer *out, const char *text)
{
    bool has_mark = false, in_point = false;
    for (const char *c = text; *c != 0; c++) {
        bool plain = strchr("0123456789+-e", *c) != NULL;
        if (plain)
            dm_buffer_putc(out, *c);
        else if (!in_point)
            dm_buffer_putc(out, '.');
        in_point = !plain;
        has_mark = has_mark || !plain || *c == 'e';
    }
    if (!has_mark)
        dm_buffer_puts(out, ".0"); /* so that a parser reads it as a real number */
}

void dm_json_double(dm_json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        dm_json_null(json, key);
        return;
    }
    begin_value(json, key);
    char text[64];
    /* 17 digits are always enough to read a double back; fewer often are. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (back == value)
            break;
    }
    put_number(json->out, text);
}

void dm_json_bool(dm_json *json, const char *key, bool value)
{
    begin_value(json, key);
    dm_buffer_puts(json->out, value ? "true" : "false");
}

void dm_json_null(dm_json *json, const char *key)
{
    begin_value(json, key);
    dm_buffer_puts(json->out, "null");
}

/* ---- reading ---- */

dm_status dm_json_parse(const char *text, size_t size, const char *name, json_t **out,
                        dm_error *err)
{
    json_error_t error = {0};
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (value == NULL) {
        dm_status status =
            json_error_code(&error) == json_error_out_of_memory ? DM_ENOMEM : DM_EFORMAT;
        return dm_fail_at(err, status, name != NULL ? name : "", error.line, "JSON: %s",
                          error.text);
    }
    *out = value;
    return DM_OK;
}

dm_status dm_json_load(const char *path, json_t **out, dm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, LOAD_LIMIT, &text, &size, err);
    if (status == DM_OK)
        status = dm_json_parse(text, size, path, out, err);
    free(text);
    return status;
}
