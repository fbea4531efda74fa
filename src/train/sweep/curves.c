/* SPDX-License-Identifier: MIT */
/* curves.c - see curves.h. */
#include "train/sweep/curves.h"
#include "base/file.h"

#include <math.h>
#include <stdlib.h>

enum { CHECKS_MAX = 100000, FILE_MAX = 1 << 28 };

void dm_sweep_curves_deinit(dm_sweep_curves *curves)
{
    for (size_t i = 0; i < curves->count; i++) {
        free(curves->items[i].values);
        json_decref(curves->items[i].parameters);
    }
    free(curves->items);
    *curves = (dm_sweep_curves){0};
}

dm_status dm_sweep_curves_add(dm_sweep_curves *curves, const dm_sweep_curve *curve, dm_error *err)
{
    if (curves->count == curves->capacity) {
        size_t capacity = curves->capacity > 0 ? 2 * curves->capacity : 64;
        dm_sweep_curve *items = realloc(curves->items, capacity * sizeof *items);
        if (items == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory for curves");
        curves->items = items;
        curves->capacity = capacity;
    }
    dm_sweep_curve copy = *curve;
    copy.values = malloc((curve->count + 1) * sizeof *copy.values);
    if (copy.values == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory for curves");
    if (curve->count > 0)
        memcpy(copy.values, curve->values, curve->count * sizeof *copy.values);
    copy.parameters = json_incref(curve->parameters);
    curves->items[curves->count++] = copy;
    return DM_OK;
}

static dm_status read_line(const json_t *object, const char *path, int line, dm_sweep_curves *out,
                           dm_error *err)
{
    const json_t *values = json_object_get(object, "values");
    json_int_t run = json_integer_value(json_object_get(object, "run"));
    json_int_t checks = json_integer_value(json_object_get(object, "checks"));
    size_t count = json_array_size(values);
    if (!json_is_array(values) || run < 0 || checks < 2 || checks > CHECKS_MAX ||
        count > (size_t)checks)
        return dm_fail_at(err, DM_EFORMAT, path, line, "no curve: it needs checks and values");
    dm_sweep_curve curve = {.run = (size_t)run,
                            .checks = (size_t)checks,
                            .count = count,
                            .complete = count == (size_t)checks,
                            .parameters = json_object_get(object, "parameters")};
    curve.values = calloc(count + 1, sizeof *curve.values);
    if (curve.values == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory for curves");
    dm_status status = DM_OK;
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        const json_t *value = json_array_get(values, i);
        curve.values[i] = json_is_null(value) ? NAN : json_number_value(value);
        if (!json_is_null(value) && !json_is_number(value))
            status = dm_fail_at(err, DM_EFORMAT, path, line, "a value that is no number");
    }
    if (status == DM_OK)
        status = dm_sweep_curves_add(out, &curve, err);
    free(curve.values);
    return status;
}

dm_status dm_sweep_curves_read(const char *path, dm_sweep_curves *curves, dm_error *err)
{
    char name[DM_PATH_MAX], *text = NULL;
    size_t size = 0;
    dm_status status = dm_path_join(name, dm_dir_exists(path) ? path : "",
                                    dm_dir_exists(path) ? DM_SWEEP_CURVES : path, err);
    if (status == DM_OK)
        status = dm_file_read(name, FILE_MAX, &text, &size, err);
    size_t before = curves->count;
    const char *at = text;
    for (int line = 1; status == DM_OK && at < text + size; line++) {
        const char *end = memchr(at, '\n', (size_t)(text + size - at));
        size_t length = (size_t)((end != NULL ? end : text + size) - at);
        json_t *object = NULL;
        dm_error reason = {0};
        if (dm_json_parse(at, length, name, &object, &reason) != DM_OK)
            status = dm_fail_at(err, DM_EFORMAT, name, line, "not a line of JSON");
        else
            status = read_line(object, name, line, curves, err);
        json_decref(object);
        at += length + 1;
    }
    free(text);
    if (status == DM_OK && curves->count == before)
        status = dm_fail(err, DM_EFORMAT, "%.900s: there are no curves", name);
    return status;
}

/* Six digits are enough for a decision, and a pool stays small. */
static double rounded(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    return strtod(text, NULL);
}

dm_status dm_sweep_curves_write(const char *path, const dm_sweep_curves *curves, dm_error *err)
{
    dm_buffer text = DM_BUFFER_EMPTY;
    for (size_t i = 0; i < curves->count; i++) {
        const dm_sweep_curve *c = &curves->items[i];
        dm_json json;
        dm_json_init(&json, &text, DM_JSON_COMPACT);
        dm_json_begin_object(&json, NULL);
        dm_json_uint(&json, "run", c->run);
        dm_json_uint(&json, "checks", c->checks);
        dm_json_bool(&json, "complete", c->complete);
        dm_json_begin_array(&json, "values");
        for (size_t k = 0; k < c->count; k++)
            dm_json_double(&json, NULL, rounded(c->values[k]));
        dm_json_end_array(&json);
        if (c->parameters != NULL) {
            const char *key;
            json_t *value;
            dm_json_begin_object(&json, "parameters");
            json_object_foreach(c->parameters, key, value)
            {
                if (json_is_string(value))
                    dm_json_string(&json, key, json_string_value(value));
                else if (json_is_integer(value))
                    dm_json_int(&json, key, json_integer_value(value));
                else
                    dm_json_double(&json, key, rounded(json_number_value(value)));
            }
            dm_json_end_object(&json);
        }
        dm_json_end_object(&json);
        dm_json_finish(&json);
    }
    return dm_file_write_buffer(path, &text, err);
}

bool dm_sweep_curve_logs(const dm_sweep_curve *curve, size_t checks, double *logs)
{
    if (!curve->complete)
        return false;
    for (size_t i = 0; i < curve->count; i++)
        if (!(curve->values[i] > 0) || !isfinite(curve->values[i]))
            return false;
    for (size_t i = 0; i < checks; i++) {
        /* Linear between two values; before the first one it is the first. */
        double at = (double)(i + 1) / (double)checks * (double)curve->checks - 1;
        size_t low = at <= 0 ? 0 : (size_t)at;
        size_t high = low + 1 < curve->count ? low + 1 : low;
        double part = at <= 0 ? 0 : at - (double)low;
        logs[i] = (1 - part) * log(curve->values[low]) + part * log(curve->values[high]);
    }
    return true;
}
