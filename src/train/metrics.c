/* SPDX-License-Identifier: MIT */
/* metrics.c - see metrics.h. */
#include "train/metrics.h"
#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct dm_metrics {
    FILE *file;
    char path[DM_PATH_MAX];
};

/* How many bytes of the text are lines of steps up to `keep`. */
static dm_status kept_size(const char *path, const char *text, size_t size, uint64_t keep,
                           size_t *kept, dm_error *err)
{
    *kept = 0;
    for (int line = 1; *kept < size; line++) {
        const char *begin = text + *kept, *end = memchr(begin, '\n', size - *kept);
        json_t *object = NULL;
        if (end == NULL) /* unfinished */
            return DM_OK;
        if (dm_json_parse(begin, (size_t)(end - begin), path, &object, NULL) != DM_OK)
            return dm_fail_at(err, DM_EFORMAT, path, line, "not a line of metrics");
        const json_t *step = json_object_get(object, "step");
        bool good = json_is_integer(step) && json_integer_value(step) >= 0;
        uint64_t number = (uint64_t)json_integer_value(step);
        json_decref(object);
        if (!good)
            return dm_fail_at(err, DM_EFORMAT, path, line, "a line without its step");
        if (number > keep)
            return DM_OK;
        *kept += (size_t)(end - begin) + 1;
    }
    return DM_OK;
}

static dm_status cut(const char *path, uint64_t keep, dm_error *err)
{
    char *text = NULL;
    size_t size = 0, kept = 0;
    if (keep == 0 || !dm_file_exists(path))
        return dm_file_write(path, "", 0, err);
    dm_status status = dm_file_read(path, 0, &text, &size, err);
    if (status == DM_OK)
        status = kept_size(path, text, size, keep, &kept, err);
    if (status == DM_OK && kept < size)
        status = dm_file_write(path, text, kept, err);
    free(text);
    return status;
}

dm_status dm_metrics_open(const char *path, uint64_t keep, dm_metrics **out, dm_error *err)
{
    dm_status status = cut(path, keep, err);
    if (status != DM_OK)
        return status;
    dm_metrics *metrics = calloc(1, sizeof *metrics);
    if (metrics == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    snprintf(metrics->path, sizeof metrics->path, "%s", path);
    metrics->file = fopen(path, "ae");
    if (metrics->file == NULL) {
        status = dm_fail(err, DM_EIO, "%s: %s", path, strerror(errno));
        free(metrics);
        return status;
    }
    *out = metrics;
    return DM_OK;
}

typedef struct scalars {
    const dm_metric *values;
    size_t count;
} scalars;

static void write_scalars(void *user, dm_json *json)
{
    const scalars *s = user;
    for (size_t i = 0; i < s->count; i++)
        dm_json_double(json, s->values[i].name, s->values[i].value);
}

dm_status dm_metrics_write(dm_metrics *metrics, uint64_t step, const dm_metric *values,
                           size_t count, dm_error *err)
{
    return dm_metrics_write_with(metrics, step, write_scalars, &(scalars){values, count}, err);
}

dm_status dm_metrics_write_with(dm_metrics *metrics, uint64_t step,
                                void (*write)(void *user, dm_json *json), void *user, dm_error *err)
{
    dm_buffer line = DM_BUFFER_EMPTY;
    dm_json json;
    dm_json_init(&json, &line, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_json_uint(&json, "step", step);
    write(user, &json);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    dm_status status = dm_buffer_check(&line, err);
    if (status == DM_OK &&
        (fwrite(line.data, 1, line.size, metrics->file) != line.size || fflush(metrics->file) != 0))
        status = dm_fail(err, DM_EIO, "%s: %s", metrics->path, strerror(errno));
    dm_buffer_deinit(&line);
    return status;
}

void dm_metrics_close(dm_metrics *metrics)
{
    if (metrics == NULL)
        return;
    fclose(metrics->file);
    free(metrics);
}
