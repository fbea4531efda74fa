/* SPDX-License-Identifier: MIT */
/* script.c - see script.h. */
#include "romtools/script.h"

#include "base/file.h"

#include <dotmatrix/gb.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    uint8_t key;
} keys[] = {
    {"A", DM_GB_KEY_A},       {"B", DM_GB_KEY_B},           {"START", DM_GB_KEY_START},
    {"UP", DM_GB_KEY_UP},     {"SELECT", DM_GB_KEY_SELECT}, {"DOWN", DM_GB_KEY_DOWN},
    {"LEFT", DM_GB_KEY_LEFT}, {"RIGHT", DM_GB_KEY_RIGHT},
};

/* A piece of the text that is being read. */
typedef struct span {
    const char *at, *end;
} span;

typedef struct reader {
    const char *name;
    int line;
    dm_error *err;
} reader;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word, empty at the end of the line. */
static span next_word(span *line)
{
    while (line->at < line->end && is_blank(*line->at))
        line->at++;
    span word = {line->at, line->at};
    while (line->at < line->end && !is_blank(*line->at))
        line->at++;
    word.end = line->at;
    return word;
}

static dm_status parse_frame(const reader *r, span word, uint64_t *out)
{
    uint64_t frame = 0;
    for (const char *c = word.at; c < word.end; c++) {
        if (!isdigit((unsigned char)*c))
            return dm_fail_at(r->err, DM_EFORMAT, r->name, r->line,
                              "'%.*s' is no frame number; a line is: frame keys",
                              (int)(word.end - word.at > 40 ? 40 : word.end - word.at), word.at);
        frame = frame * 10 + (uint64_t)(*c - '0');
        if (frame > DM_GB_SCRIPT_FRAME_MAX)
            return dm_fail_at(r->err, DM_EFORMAT, r->name, r->line, "no run has so many frames");
    }
    *out = frame;
    return DM_OK;
}

/* One key; 0: it is none. */
static uint8_t find_key(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strlen(keys[i].name) == length && strncasecmp(keys[i].name, text, length) == 0)
            return keys[i].key;
    return 0;
}

/* The first of them that is no key; NULL: all are. */
static const char *read_keys(const char *text, size_t size, uint8_t *out, size_t *length)
{
    const char *end = text + size;
    *out = 0;
    if (size == 1 && *text == '-')
        return NULL;
    while (text <= end) {
        const char *comma = text;
        while (comma < end && *comma != ',')
            comma++;
        *length = (size_t)(comma - text);
        const uint8_t key = find_key(text, *length);
        if (key == 0)
            return text;
        *out |= key;
        text = comma + 1;
    }
    return NULL;
}

bool dm_gb_script_keys(const char *text, size_t size, uint8_t *out)
{
    size_t length;
    return read_keys(text, size, out, &length) == NULL;
}

static dm_status parse_keys(const reader *r, span word, uint8_t *out)
{
    size_t length;
    const char *wrong = read_keys(word.at, (size_t)(word.end - word.at), out, &length);
    if (wrong == NULL)
        return DM_OK;
    return dm_fail_at(r->err, DM_EFORMAT, r->name, r->line,
                      "'%.*s' is no key; there are A, B, START, SELECT, UP, DOWN, LEFT, "
                      "RIGHT, joined by commas, and - for none",
                      (int)(length > 40 ? 40 : length), wrong);
}

static dm_status add_line(const reader *r, dm_gb_script *script, size_t *capacity,
                          dm_gb_script_line line)
{
    if (script->count > 0 && script->lines[script->count - 1].frame >= line.frame)
        return dm_fail_at(r->err, DM_EFORMAT, r->name, r->line,
                          "frame %llu comes after frame %llu; frames must go up",
                          (unsigned long long)line.frame,
                          (unsigned long long)script->lines[script->count - 1].frame);
    if (script->count == *capacity) {
        size_t more = *capacity > 0 ? *capacity * 2 : 64;
        dm_gb_script_line *lines = realloc(script->lines, more * sizeof *lines);
        if (lines == NULL)
            return dm_fail(r->err, DM_ENOMEM, "script: out of memory");
        script->lines = lines;
        *capacity = more;
    }
    script->lines[script->count++] = line;
    return DM_OK;
}

static dm_status parse_line(const reader *r, span text, dm_gb_script *script, size_t *capacity)
{
    const char *comment = memchr(text.at, '#', (size_t)(text.end - text.at));
    if (comment != NULL)
        text.end = comment;
    span frame = next_word(&text), held = next_word(&text), rest = next_word(&text);
    if (frame.at == frame.end)
        return DM_OK;
    dm_gb_script_line line = {0};
    dm_status status = parse_frame(r, frame, &line.frame);
    if (status != DM_OK)
        return status;
    if (held.at == held.end)
        return dm_fail_at(r->err, DM_EFORMAT, r->name, r->line,
                          "the keys are missing; - stands for none");
    if (rest.at != rest.end)
        return dm_fail_at(r->err, DM_EFORMAT, r->name, r->line,
                          "something follows the keys; they are joined by commas, without spaces");
    status = parse_keys(r, held, &line.keys);
    return status == DM_OK ? add_line(r, script, capacity, line) : status;
}

dm_status dm_gb_script_parse(dm_gb_script *script, const char *name, const char *text, size_t size,
                             dm_error *err)
{
    *script = (dm_gb_script){0};
    reader r = {.name = name, .err = err};
    size_t capacity = 0;
    const char *end = text + size;
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        span line = {at, newline != NULL ? newline : end};
        r.line++;
        dm_status status = parse_line(&r, line, script, &capacity);
        if (status != DM_OK) {
            dm_gb_script_deinit(script);
            return status;
        }
        at = line.end + 1;
    }
    return DM_OK;
}

dm_status dm_gb_script_load(dm_gb_script *script, const char *path, dm_error *err)
{
    *script = (dm_gb_script){0};
    char *text = NULL;
    size_t size = 0;
    dm_status status = dm_file_read(path, DM_GB_SCRIPT_SIZE_MAX, &text, &size, err);
    if (status == DM_OK)
        status = dm_gb_script_parse(script, path, text, size, err);
    free(text);
    return status;
}

void dm_gb_script_deinit(dm_gb_script *script)
{
    free(script->lines);
    *script = (dm_gb_script){0};
}
