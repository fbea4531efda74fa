/* SPDX-License-Identifier: MIT */
/* json.h - a streaming JSON writer. (Reading is jansson's; dm_json_load adds our error form.)
 *
 * The writer appends to a dm_buffer. It adds commas, indentation and escapes; the caller gives events
 * in order:
 *
 *     dm_json json;
 *     dm_json_init(&json, &buffer, DM_JSON_PRETTY);
 *     dm_json_begin_object(&json, NULL);
 *     dm_json_string(&json, "device", "cuda:0");
 *     dm_json_begin_array(&json, "sizes");
 *     dm_json_int(&json, NULL, 64);
 *     dm_json_end_array(&json);
 *     dm_json_end_object(&json);
 *     dm_json_finish(&json);
 *
 * `key` is NULL inside arrays and for the root. Misuse (a key in an array, an unclosed object) is
 * our bug and asserts. Numbers that JSON cannot hold (NaN, infinities) are written as null. Text
 * that is not valid UTF-8 has its bad bytes replaced by U+FFFD. */
#ifndef DM_BASE_JSON_H
#define DM_BASE_JSON_H

#include "base/buffer.h"

#include <jansson.h>

enum dm_json_style { DM_JSON_COMPACT, DM_JSON_PRETTY };
#define DM_JSON_DEPTH_MAX 64

typedef struct dm_json {
    dm_buffer *out;
    enum dm_json_style style;
    int depth;     /* objects and arrays open now */
    bool complete; /* the root value was begun */
    bool has_members[DM_JSON_DEPTH_MAX];
    bool is_array[DM_JSON_DEPTH_MAX];
} dm_json;

void dm_json_init(dm_json *json, dm_buffer *out, enum dm_json_style style);
void dm_json_begin_object(dm_json *json, const char *key);
void dm_json_end_object(dm_json *json);
void dm_json_begin_array(dm_json *json, const char *key);
void dm_json_end_array(dm_json *json);
void dm_json_string(dm_json *json, const char *key, const char *value); /* NULL value: null */
void dm_json_string_n(dm_json *json, const char *key, const char *value, size_t length);
void dm_json_int(dm_json *json, const char *key, int64_t value);
void dm_json_uint(dm_json *json, const char *key, uint64_t value);
/* The shortest text that reads back equal, with a '.' or an exponent: 1.0, 0.1, 1e+22. */
void dm_json_double(dm_json *json, const char *key, double value);
void dm_json_bool(dm_json *json, const char *key, bool value);
void dm_json_null(dm_json *json, const char *key);
/* Assert that everything was closed, and end the text with a newline. */
void dm_json_finish(dm_json *json);

/* Parse text or a file; on failure the error names file (may be NULL for text) and line. The caller
 * owns one reference: json_decref. Duplicate keys and trailing text are refused. */
dm_status dm_json_parse(const char *text, size_t size, const char *name, json_t **out,
                        dm_error *err);
dm_status dm_json_load(const char *path, json_t **out, dm_error *err);

#endif
