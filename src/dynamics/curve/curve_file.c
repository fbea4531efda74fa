/* SPDX-License-Identifier: MIT */
/* curve_file.c - curves from files; see curve.h. */
#include "base/file.h"
#include "base/json.h"
#include "dynamics/curve/curve.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 12, COLUMNS_MAX = 64 };

static const char *const names[COLUMNS] = {"step",       "loss",      "norm",        "rate",
                                           "first_mean", "first_std", "second_mean", "second_std",
                                           "beta1",      "beta2",     "phase",       "phase_step"};

/* ---- Samples ---- */

void dm_curve_deinit(dm_curve *curve)
{
    free(curve->samples);
    *curve = (dm_curve){0};
}

static float known(float value)
{
    return isfinite(value) ? value : 0;
}

dm_status dm_curve_append(dm_curve *curve, const dm_dynamics_sample *sample, dm_error *err)
{
    if (!(sample->loss >= DM_CURVE_LOSS_MIN && sample->loss <= DM_CURVE_LOSS_MAX)) {
        curve->skipped++;
        return DM_OK;
    }
    if (curve->count >= DM_CURVE_POINTS_MAX)
        return dm_fail(err, DM_EFORMAT, "a curve of more than %u samples; log it less often",
                       DM_CURVE_POINTS_MAX);
    if (curve->count == curve->room) {
        size_t room = curve->room == 0 ? 256 : 2 * curve->room;
        dm_dynamics_sample *grown = realloc(curve->samples, room * sizeof *grown);
        if (grown == NULL)
            return dm_fail(err, DM_ENOMEM, "no memory for a curve of %zu samples", room);
        curve->samples = grown;
        curve->room = room;
    }
    dm_dynamics_sample *to = &curve->samples[curve->count++];
    *to = *sample;
    to->gradient_norm = known(to->gradient_norm);
    to->learning_rate = known(to->learning_rate);
    to->first_mean = known(to->first_mean);
    to->first_std = known(to->first_std);
    to->second_mean = known(to->second_mean);
    to->second_std = known(to->second_std);
    to->beta1 = known(to->beta1);
    to->beta2 = known(to->beta2);
    return DM_OK;
}

/* values[COLUMNS], NAN where a column is not known. */
static dm_status take(dm_curve *out, const double values[COLUMNS], uint64_t *last_step,
                      const char *path, int line, dm_error *err)
{
    dm_dynamics_sample s = {0};
    bool given = !isnan(values[0]);
    if (given && !(values[0] >= 0 && values[0] <= 9e15 && values[0] == floor(values[0])))
        return dm_fail_at(err, DM_EFORMAT, path, line, "a step of %g", values[0]);
    s.step = given ? (uint64_t)values[0] : out->count + out->skipped + 1;
    if (given && out->count + out->skipped > 0 && s.step <= *last_step)
        return dm_fail_at(err, DM_EFORMAT, path, line,
                          "step %llu after step %llu; steps must increase",
                          (unsigned long long)s.step, (unsigned long long)*last_step);
    *last_step = s.step;
    s.loss = (float)values[1];
    s.gradient_norm = (float)values[2];
    s.learning_rate = (float)values[3];
    s.first_mean = (float)values[4];
    s.first_std = (float)values[5];
    s.second_mean = (float)values[6];
    s.second_std = (float)values[7];
    s.beta1 = (float)values[8];
    s.beta2 = (float)values[9];
    s.phase = values[10] >= 0 && values[10] <= 3 ? (uint32_t)values[10] : 1;
    s.phase_step = values[11] >= 0 && values[11] < 4e9 ? (uint32_t)values[11] : 0;
    return dm_curve_append(out, &s, err);
}

static void forget(double values[COLUMNS])
{
    for (size_t i = 0; i < COLUMNS; i++)
        values[i] = NAN;
}

/* ---- The three forms ---- */

static dm_status json_line(const char *text, size_t size, double values[COLUMNS], const char *path,
                           int line, dm_error *err)
{
    json_t *object = NULL;
    if (dm_json_parse(text, size, path, &object, NULL) != DM_OK || !json_is_object(object)) {
        json_decref(object);
        return dm_fail_at(err, DM_EFORMAT, path, line, "not a JSON object");
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        const json_t *value = json_object_get(object, names[i]);
        if (json_is_number(value))
            values[i] = json_number_value(value);
    }
    json_decref(object);
    return DM_OK;
}

/* Which value each column of a CSV is: -1 for one that is not used. */
static dm_status csv_header(const char *text, size_t size, int *columns, size_t *count,
                            const char *path, dm_error *err)
{
    bool loss = false;
    *count = 0;
    for (const char *p = text, *end = text + size; p <= end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma != NULL ? comma : end;
        size_t from = 0, length = (size_t)(stop - p);
        while (from < length && (isspace((unsigned char)p[from]) || p[from] == '"'))
            from++;
        while (length > from && (isspace((unsigned char)p[length - 1]) || p[length - 1] == '"'))
            length--;
        if (*count == COLUMNS_MAX)
            return dm_fail_at(err, DM_EFORMAT, path, 1, "more than %d columns", COLUMNS_MAX);
        columns[*count] = -1;
        for (int i = 0; i < COLUMNS; i++)
            if (strlen(names[i]) == length - from && memcmp(names[i], p + from, length - from) == 0)
                columns[*count] = i;
        loss = loss || columns[*count] == 1;
        (*count)++;
        p = stop + 1;
    }
    if (!loss)
        return dm_fail_at(err, DM_EFORMAT, path, 1,
                          "no column 'loss'; a CSV begins with the names of its columns");
    return DM_OK;
}

static dm_status csv_line(const char *text, size_t size, const int *columns, size_t count,
                          double values[COLUMNS], const char *path, int line, dm_error *err)
{
    const char *p = text, *end = text + size;
    for (size_t k = 0; k < count; k++) {
        const char *comma = p <= end ? memchr(p, ',', (size_t)(end - p)) : NULL;
        const char *stop = comma != NULL ? comma : end;
        if (p > end || (comma == NULL) != (k + 1 == count))
            return dm_fail_at(err, DM_EFORMAT, path, line, "not %zu columns as in the header",
                              count);
        while (p < stop && isspace((unsigned char)*p))
            p++;
        if (columns[k] >= 0 && p < stop) {
            char *after;
            double value = strtod(p, &after);
            while (after < stop && isspace((unsigned char)*after))
                after++;
            if (after != stop)
                return dm_fail_at(err, DM_EFORMAT, path, line, "column '%s' is not a number",
                                  names[columns[k]]);
            values[columns[k]] = value;
        }
        p = stop + 1;
    }
    return DM_OK;
}

static dm_status number_line(const char *text, size_t size, double values[COLUMNS],
                             const char *path, int line, dm_error *err)
{
    char *after;
    double value = strtod(text, &after);
    while (after < text + size && isspace((unsigned char)*after))
        after++;
    if (after != text + size || size == 0)
        return dm_fail_at(err, DM_EFORMAT, path, line, "a line holds one number");
    values[1] = value;
    return DM_OK;
}

static dm_status read_lines(const char *text, const char *path, dm_curve *out, dm_error *err)
{
    enum { UNKNOWN, JSON, CSV, NUMBERS } form = UNKNOWN;
    int columns[COLUMNS_MAX], line = 1;
    size_t column_count = 0;
    uint64_t last_step = 0;
    dm_status status = DM_OK;
    for (const char *p = text; *p != 0 && status == DM_OK; line++) {
        size_t size = strcspn(p, "\n"), whole = size;
        double values[COLUMNS];
        while (size > 0 && isspace((unsigned char)p[size - 1]))
            size--;
        forget(values);
        bool header = false;
        if (size > 0 && form == UNKNOWN) {
            char *after;
            strtod(p, &after);
            form = *p == '{' ? JSON : after > p && after == p + size ? NUMBERS : CSV;
            header = form == CSV;
        }
        if (header)
            status = csv_header(p, size, columns, &column_count, path, err);
        else if (size > 0 && form == JSON && p[whole] == 0 &&
                 json_line(p, size, values, path, line, NULL) != DM_OK)
            break; /* a run that goes on is writing this line */
        else if (size > 0 && form == JSON)
            status = json_line(p, size, values, path, line, err);
        else if (size > 0 && form == CSV)
            status = csv_line(p, size, columns, column_count, values, path, line, err);
        else if (size > 0)
            status = number_line(p, size, values, path, line, err);
        /* A line of metrics that says nothing of the loss is an evaluation or a decision. */
        if (status == DM_OK && size > 0 && !header && !(form == JSON && isnan(values[1])))
            status = take(out, values, &last_step, path, line, err);
        p += whole + (p[whole] == '\n');
    }
    return status;
}

dm_status dm_curve_read(const char *path, size_t least, dm_curve *out, dm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    const char *slash = strrchr(path, '/');
    *out = (dm_curve){0};
    snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1,
             slash != NULL && slash[1] != 0 ? slash + 1 : path);
    dm_status status = dm_file_read(path, DM_CURVE_FILE_MAX, &text, &size, err);
    if (status == DM_OK && memchr(text, 0, size) != NULL)
        status = dm_fail_at(err, DM_EFORMAT, path, 0, "not a text: it has zero bytes");
    if (status == DM_OK)
        status = read_lines(text, path, out, err);
    if (status == DM_OK && out->count < least)
        status = dm_fail_at(err, DM_EFORMAT, path, 0,
                            "%zu of %zu losses are between 1e-30 and 1e30; at least %zu are needed",
                            out->count, out->count + out->skipped, least);
    free(text);
    if (status != DM_OK)
        dm_curve_deinit(out);
    return status;
}
