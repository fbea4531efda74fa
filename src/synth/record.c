/* SPDX-License-Identifier: MIT */
/* record.c - a dataset's record as a line of JSON, and back.
 *
 * Writing is on the producer's fast path, so lines are put together here without the general
 * writer: the texts are ours, and hold no bytes that need more than an escape. */
#include "synth/record.h"

#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const dm_synth_category_names[] = {
    "arithmetic", "vector", "matrix",   "control_flow", "math",   "atomic", "reduction",
    "stencil",    "struct", "function", "multi_dim",    "random", NULL};
const char *const dm_synth_level_names[] = {"none", "compile", "run", "grad", "full", NULL};
const char *const dm_synth_kind_names[] = {"pair", "rejected", NULL};

static int find_name(const char *const *names, const char *name)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

int dm_synth_category_find(const char *name)
{
    return find_name(dm_synth_category_names, name);
}

/* The buffers, so that each is named once. */
#define TEXT_COUNT 7
static void list_texts(dm_synth_record *r, dm_buffer *texts[TEXT_COUNT])
{
    dm_buffer *all[TEXT_COUNT] = {&r->python_source, &r->cuda_forward, &r->cuda_backward,
                                  &r->c_forward,     &r->c_backward,   &r->ir,
                                  &r->diagnostics};
    memcpy(texts, all, sizeof all);
}

void dm_synth_record_init(dm_synth_record *record)
{
    *record = (dm_synth_record){.generation_time_ms = -1};
}

void dm_synth_record_deinit(dm_synth_record *record)
{
    dm_buffer *texts[TEXT_COUNT];
    list_texts(record, texts);
    for (int i = 0; i < TEXT_COUNT; i++)
        dm_buffer_deinit(texts[i]);
}

void dm_synth_record_clear(dm_synth_record *record)
{
    dm_buffer *texts[TEXT_COUNT], kept[TEXT_COUNT];
    list_texts(record, texts);
    for (int i = 0; i < TEXT_COUNT; i++)
        kept[i] = *texts[i];
    dm_synth_record_init(record);
    for (int i = 0; i < TEXT_COUNT; i++) {
        *texts[i] = kept[i];
        dm_buffer_clear(texts[i]);
    }
}

int dm_synth_lines(const dm_buffer *text)
{
    int lines = 0;
    const char *at = dm_buffer_text(text), *end = at + text->size;
    while (at != end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        lines++;
        at = next == NULL ? end : next + 1;
    }
    return lines;
}

/* ---- Writing ---- */

/* The letter after the backslash; 'u' for \u00XX, 0 for bytes that stay. */
static char escape_of(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\n':
        return 'n';
    case '\t':
        return 't';
    case '\r':
        return 'r';
    default:
        return c < 0x20 ? 'u' : 0;
    }
}

/* How many of eight bytes need no escape, by arithmetic on all of them at once: a byte of
 * (x - low) & ~x has its top bit set where the byte of x is less than that of `low`, and the lowest
 * such bit is never wrong. */
static size_t plain_bytes(const char *bytes)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t x;
    memcpy(&x, bytes, 8);
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
        x = __builtin_bswap64(x);
    uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\';
    uint64_t low = (x - ones * 0x20) & ~x;
    uint64_t found = (low | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops;
    return found == 0 ? 8 : (size_t)__builtin_ctzll(found) / 8;
}

static void put_quoted(dm_buffer *out, const char *text, size_t size)
{
    /* At worst every byte is \u00XX. */
    if (!dm_buffer_reserve(out, 6 * size + 16))
        return;
    char *to = out->data + out->size;
    *to++ = '"';
    for (size_t i = 0; i < size;) {
        if (i + 8 <= size) {
            size_t plain = plain_bytes(text + i);
            memcpy(to, text + i, 8); /* what is too much is written over */
            to += plain;
            i += plain;
            if (plain == 8)
                continue;
        }
        unsigned char c = (unsigned char)text[i++];
        char escape = escape_of(c);
        if (escape == 0) {
            *to++ = (char)c;
            continue;
        }
        *to++ = '\\';
        *to++ = escape;
        if (escape == 'u')
            to += sprintf(to, "%04x", c);
    }
    *to++ = '"';
    *to = '\0';
    out->size = (size_t)(to - out->data);
}

static void put_key(dm_buffer *out, const char *key)
{
    dm_buffer_puts(out, out->data[out->size - 1] == '{' ? "\"" : ", \"");
    dm_buffer_puts(out, key);
    dm_buffer_append(out, "\": ", 3);
}

static void put_string(dm_buffer *out, const char *key, const char *text)
{
    put_key(out, key);
    put_quoted(out, text, strlen(text));
}

/* An empty text is null: it is not there. */
static void put_text(dm_buffer *out, const char *key, const dm_buffer *text)
{
    put_key(out, key);
    if (text->size == 0)
        dm_buffer_append(out, "null", 4);
    else
        put_quoted(out, text->data, text->size);
}

static void put_bool(dm_buffer *out, const char *key, bool value)
{
    put_key(out, key);
    dm_buffer_puts(out, value ? "true" : "false");
}

static void put_int(dm_buffer *out, const char *key, int value)
{
    char digits[16], *at = digits + sizeof digits;
    unsigned left = value < 0 ? 0 : (unsigned)value; /* counts are never negative */
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    put_key(out, key);
    dm_buffer_append(out, at, (size_t)(digits + sizeof digits - at));
}

/* A number of three digits: what is measured has no more. Negative: null. */
static void put_figure(dm_buffer *out, const char *key, double value)
{
    put_key(out, key);
    if (value >= 0 && isfinite(value))
        dm_buffer_printf(out, "%.2e", value);
    else
        dm_buffer_append(out, "null", 4);
}

static const char *device_of(const dm_synth_record *record)
{
    bool c = record->c_forward.size > 0;
    return record->cuda_forward.size == 0 ? "cpu" : c ? "both" : "cuda";
}

static void put_metadata(dm_buffer *out, const dm_synth_record *record)
{
    put_key(out, "metadata");
    dm_buffer_putc(out, '{');
    put_string(out, "device", device_of(record));
    put_bool(out, "has_backward", record->has_backward);
    put_int(out, "forward_lines", record->forward_lines);
    put_int(out, "backward_lines", record->backward_lines);
    put_figure(out, "generation_time_ms", record->generation_time_ms);
    put_int(out, "attempt", record->attempt);
    dm_buffer_putc(out, '}');
}

static void put_verification(dm_buffer *out, const dm_synth_verification *v)
{
    put_key(out, "verification");
    dm_buffer_putc(out, '{');
    put_string(out, "level", dm_synth_level_names[v->level]);
    put_bool(out, "c_compiled", v->c_compiled);
    put_bool(out, "cuda_compiled", v->cuda_compiled);
    put_bool(out, "ran", v->ran);
    put_int(out, "compared", v->compared);
    put_figure(out, "gradient_error", v->compared > 0 ? v->gradient_error : -1);
    put_figure(out, "output_magnitude", v->ran ? v->output_magnitude : -1);
    dm_buffer_putc(out, '}');
}

void dm_synth_record_write(const dm_synth_record *record, dm_buffer *out)
{
    char hash[DM_HASH_HEX_SIZE];
    dm_hash128_hex(record->canonical, hash);
    if (!dm_buffer_reserve(out, 64))
        return;
    dm_buffer_putc(out, '{');
    put_string(out, "id", record->id);
    put_string(out, "kind", dm_synth_kind_names[record->kind]);
    put_string(out, "kernel_name", record->kernel_name);
    put_string(out, "category",
               record->category < 0 ? "" : dm_synth_category_names[record->category]);
    put_text(out, "python_source", &record->python_source);
    if (record->kind == DM_SYNTH_PAIR) {
        put_text(out, "cuda_forward", &record->cuda_forward);
        put_text(out, "cuda_backward", &record->cuda_backward);
        if (record->c_forward.size > 0) {
            put_text(out, "c_forward", &record->c_forward);
            put_text(out, "c_backward", &record->c_backward);
        }
        if (record->ir.size > 0)
            put_text(out, "ir", &record->ir);
        put_metadata(out, record);
        put_verification(out, &record->verification);
    } else {
        put_text(out, "diagnostics", &record->diagnostics);
    }
    put_string(out, "canonical", hash);
    dm_buffer_append(out, "}\n", 2);
}

/* ---- Reading ---- */

/* One object being taken apart: every field is asked for once, and none may be left. */
typedef struct reader {
    json_t *object;
    size_t taken;
    const char *file;
    int number;
    dm_status status;
    dm_error *err;
} reader;

static void complain(reader *r, const char *key, const char *what)
{
    if (r->status == DM_OK)
        r->status = dm_fail_at(r->err, DM_EFORMAT, r->file, r->number, "%s: %s", key, what);
}

static json_t *take(reader *r, const char *key, bool needed)
{
    json_t *value = json_object_get(r->object, key);
    if (value != NULL)
        r->taken++;
    else if (needed)
        complain(r, key, "missing");
    return value;
}

static const char *take_string(reader *r, const char *key)
{
    json_t *value = take(r, key, true);
    if (value != NULL && !json_is_string(value))
        complain(r, key, "not a string");
    return json_is_string(value) ? json_string_value(value) : "";
}

static void take_text(reader *r, const char *key, dm_buffer *out, bool needed)
{
    json_t *value = take(r, key, needed);
    if (json_is_string(value) && json_string_length(value) > 0)
        dm_buffer_append(out, json_string_value(value), json_string_length(value));
    else if (value != NULL && !json_is_null(value))
        complain(r, key, "not a text");
}

static bool take_bool(reader *r, const char *key)
{
    json_t *value = take(r, key, true);
    if (value != NULL && !json_is_boolean(value))
        complain(r, key, "not true or false");
    return json_is_true(value);
}

static int take_int(reader *r, const char *key)
{
    json_t *value = take(r, key, true);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    if (value != NULL && (number < 0 || number > INT32_MAX))
        complain(r, key, "not a count");
    return (int)number;
}

static double take_figure(reader *r, const char *key)
{
    json_t *value = take(r, key, true);
    if (value != NULL && !json_is_null(value) &&
        !(json_is_number(value) && json_number_value(value) >= 0))
        complain(r, key, "not a figure");
    return json_is_number(value) ? json_number_value(value) : -1;
}

static void take_name(reader *r, const char *key, char *out, size_t size)
{
    const char *text = take_string(r, key);
    if (strlen(text) >= size)
        complain(r, key, "too long");
    else
        memcpy(out, text, strlen(text) + 1);
}

static int take_choice(reader *r, const char *key, const char *const *names)
{
    int found = find_name(names, take_string(r, key));
    if (found < 0)
        complain(r, key, "not one of the values that there are");
    return found < 0 ? 0 : found;
}

static void take_hash(reader *r, const char *key, dm_hash128 *out)
{
    const char *text = take_string(r, key);
    char again[DM_HASH_HEX_SIZE] = "";
    unsigned long long high, low;
    if (strlen(text) == DM_HASH_HEX_SIZE - 1 && sscanf(text, "%16llx%16llx", &high, &low) == 2) {
        *out = (dm_hash128){.low = low, .high = high};
        dm_hash128_hex(*out, again);
    }
    if (strcmp(text, again) != 0)
        complain(r, key, "not a hash");
}

static reader enter(reader *r, const char *key)
{
    reader inner = *r;
    inner.object = take(r, key, true);
    inner.taken = 0;
    if (inner.object != NULL && !json_is_object(inner.object))
        complain(&inner, key, "not an object");
    return inner;
}

static void leave(reader *r, const char *name)
{
    if (json_is_object(r->object) && r->taken != json_object_size(r->object))
        complain(r, name, "fields that are not known");
}

static void read_metadata(reader *outer, dm_synth_record *record)
{
    reader r = enter(outer, "metadata");
    const char *device = take_string(&r, "device");
    if (strcmp(device, device_of(record)) != 0)
        complain(&r, "device", "does not fit the texts");
    record->has_backward = take_bool(&r, "has_backward");
    record->forward_lines = take_int(&r, "forward_lines");
    record->backward_lines = take_int(&r, "backward_lines");
    record->generation_time_ms = take_figure(&r, "generation_time_ms");
    record->attempt = take_int(&r, "attempt");
    leave(&r, "metadata");
    outer->status = r.status;
}

static void read_verification(reader *outer, dm_synth_verification *v)
{
    reader r = enter(outer, "verification");
    v->level = (dm_synth_level)take_choice(&r, "level", dm_synth_level_names);
    v->c_compiled = take_bool(&r, "c_compiled");
    v->cuda_compiled = take_bool(&r, "cuda_compiled");
    v->ran = take_bool(&r, "ran");
    v->compared = take_int(&r, "compared");
    v->gradient_error = take_figure(&r, "gradient_error");
    v->output_magnitude = take_figure(&r, "output_magnitude");
    leave(&r, "verification");
    outer->status = r.status;
}

dm_status dm_synth_record_read(dm_synth_record *record, const char *line, size_t size,
                               const char *file, int number, dm_error *err)
{
    reader r = {.file = file, .number = number, .err = err};
    dm_synth_record_clear(record);
    dm_status status = dm_json_parse(line, size, file, &r.object, err);
    if (status != DM_OK) {
        if (err != NULL)
            err->line = number;
        return status;
    }
    if (!json_is_object(r.object))
        complain(&r, "record", "not an object");
    take_name(&r, "id", record->id, sizeof record->id);
    record->kind = (dm_synth_kind)take_choice(&r, "kind", dm_synth_kind_names);
    take_name(&r, "kernel_name", record->kernel_name, sizeof record->kernel_name);
    record->category = take_choice(&r, "category", dm_synth_category_names);
    take_text(&r, "python_source", &record->python_source, true);
    if (record->kind == DM_SYNTH_PAIR) {
        take_text(&r, "cuda_forward", &record->cuda_forward, true);
        take_text(&r, "cuda_backward", &record->cuda_backward, true);
        take_text(&r, "c_forward", &record->c_forward, false);
        take_text(&r, "c_backward", &record->c_backward, record->c_forward.size > 0);
        take_text(&r, "ir", &record->ir, false);
        read_metadata(&r, record);
        read_verification(&r, &record->verification);
    } else {
        take_text(&r, "diagnostics", &record->diagnostics, true);
    }
    take_hash(&r, "canonical", &record->canonical);
    leave(&r, "record");
    json_decref(r.object);
    if (r.status != DM_OK)
        return r.status;
    dm_buffer *texts[TEXT_COUNT];
    list_texts(record, texts);
    for (int i = 0; i < TEXT_COUNT && status == DM_OK; i++)
        status = dm_buffer_check(texts[i], err);
    return status;
}
