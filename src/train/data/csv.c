/* SPDX-License-Identifier: MIT */
/* csv.c - see csv.h. */
#include "train/data/csv.h"
#include "base/buffer.h"
#include "train/data/gz.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)8 << 30)

typedef struct reader {
    const char *path;
    size_t line;
    dm_csv *csv;
    dm_buffer values;
} reader;

void dm_csv_deinit(dm_csv *csv)
{
    free(csv->values);
    free(csv->names);
    *csv = (dm_csv){0};
}

/* The field at `*at`, without spaces and quotes, and `*at` behind its comma. */
static void next_field(char **at, char *end, char **begin, char **stop)
{
    char *comma = memchr(*at, ',', (size_t)(end - *at));
    char *b = *at, *e = comma != NULL ? comma : end;
    *at = comma != NULL ? comma + 1 : end + 1;
    while (b < e && (*b == ' ' || *b == '\t'))
        b++;
    while (e > b && (e[-1] == ' ' || e[-1] == '\t' || e[-1] == '\r'))
        e--;
    if (e - b >= 2 && b[0] == '"' && e[-1] == '"') {
        b++;
        e--;
    }
    *begin = b;
    *stop = e;
}

static bool parse(char *begin, char *end, float *out)
{
    if (begin == end || *begin == ' ')
        return false;
    /* Digits alone are most of what image tables hold. */
    if (end - begin <= 4) {
        int value = 0;
        char *c = begin;
        for (; c < end && *c >= '0' && *c <= '9'; c++)
            value = value * 10 + (*c - '0');
        if (c == end) {
            *out = (float)value;
            return true;
        }
    }
    char kept = *end, *stopped = NULL;
    *end = 0;
    *out = strtof(begin, &stopped);
    *end = kept;
    return stopped == end && isfinite(*out);
}

static bool is_header(char *line, char *end)
{
    for (char *at = line, *b, *e; at <= end;) {
        float value;
        next_field(&at, end, &b, &e);
        if (parse(b, e, &value))
            return false;
    }
    return true;
}

static dm_status read_names(reader *r, char *line, char *end, dm_error *err)
{
    dm_buffer names = DM_BUFFER_EMPTY;
    for (char *at = line, *b, *e; at <= end;) {
        next_field(&at, end, &b, &e);
        dm_buffer_append(&names, b, (size_t)(e - b));
        dm_buffer_putc(&names, 0);
        r->csv->columns++;
    }
    r->csv->names = dm_buffer_take(&names);
    dm_buffer_deinit(&names);
    return r->csv->names != NULL ? DM_OK : dm_fail(err, DM_ENOMEM, "out of memory");
}

static dm_status read_row(reader *r, char *line, char *end, dm_error *err)
{
    size_t column = 0;
    for (char *at = line, *b, *e; at <= end; column++) {
        float value;
        next_field(&at, end, &b, &e);
        if (!parse(b, e, &value))
            return dm_fail(err, DM_EFORMAT, "%s:%zu: column %zu: '%.*s' is not a finite number",
                           r->path, r->line, column + 1, (int)(e - b < 32 ? e - b : 32), b);
        dm_buffer_append(&r->values, &value, sizeof value);
    }
    if (r->csv->columns == 0)
        r->csv->columns = column;
    if (column != r->csv->columns)
        return dm_fail(err, DM_EFORMAT, "%s:%zu: %zu fields, where other lines have %zu", r->path,
                       r->line, column, r->csv->columns);
    if (r->csv->rows++ == 0)
        r->csv->first_line = r->line;
    return DM_OK;
}

static dm_status read_lines(reader *r, dm_csv_header header, char *text, size_t size, dm_error *err)
{
    dm_status status = DM_OK;
    bool first = true;
    if (memchr(text, 0, size) != NULL)
        return dm_fail(err, DM_EFORMAT, "%s: a zero byte at offset %zu: not text", r->path,
                       (size_t)((char *)memchr(text, 0, size) - text));
    for (char *at = text, *stop = text + size; at < stop && status == DM_OK;) {
        char *end = memchr(at, '\n', (size_t)(stop - at));
        if (end == NULL)
            end = stop;
        r->line++;
        if (end > at && !(end == at + 1 && *at == '\r')) {
            if (first && (header == DM_CSV_HEADER_YES ||
                          (header == DM_CSV_HEADER_AUTO && is_header(at, end))))
                status = read_names(r, at, end, err);
            else
                status = read_row(r, at, end, err);
            first = false;
        }
        at = end + 1;
    }
    if (status == DM_OK && r->csv->rows == 0)
        status = dm_fail(err, DM_EFORMAT, "%s: no rows", r->path);
    return status;
}

dm_status dm_csv_load(const char *path, dm_csv_header header, dm_csv *out, dm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    dm_csv csv = {0};
    reader r = {.path = path, .csv = &csv};
    dm_status status = dm_gz_read(path, FILE_MAX, &text, &size, err);
    if (status == DM_OK)
        status = read_lines(&r, header, text, size, err);
    if (status == DM_OK)
        status = dm_buffer_check(&r.values, err);
    if (status == DM_OK) {
        csv.values = (float *)(void *)dm_buffer_take(&r.values);
        *out = csv;
    } else {
        dm_csv_deinit(&csv);
    }
    dm_buffer_deinit(&r.values);
    free(text);
    return status;
}

dm_status dm_csv_column(const dm_csv *csv, const char *name, size_t *column, dm_error *err)
{
    const char *at = csv->names;
    for (size_t c = 0; at != NULL && c < csv->columns; c++, at += strlen(at) + 1)
        if (strcmp(at, name) == 0) {
            *column = c;
            return DM_OK;
        }
    char *end = NULL;
    long number = strtol(name, &end, 10);
    if (end == name || *end != 0)
        return dm_fail(err, DM_EINVAL, "no column '%s'", name);
    if (number < 0)
        number += (long)csv->columns;
    if (number < 0 || (size_t)number >= csv->columns)
        return dm_fail(err, DM_EINVAL, "no column %s of %zu", name, csv->columns);
    *column = (size_t)number;
    return DM_OK;
}
