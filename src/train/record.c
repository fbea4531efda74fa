/* SPDX-License-Identifier: MIT */
/* record.c - see record.h. */
#include "train/record.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

void dm_run_record_deinit(dm_run_record *record)
{
    for (size_t i = 0; i < record->data_count; i++)
        free(record->data[i]);
    free(record->data);
    *record = (dm_run_record){0};
}

/* Room for so many paths, all of them NULL. */
static dm_status take_paths(dm_run_record *record, size_t count, dm_error *err)
{
    for (size_t i = 0; i < record->data_count; i++)
        free(record->data[i]);
    free(record->data);
    record->data_count = 0;
    record->data = calloc(count + 1, sizeof *record->data);
    if (record->data == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    record->data_count = count;
    return DM_OK;
}

dm_status dm_run_record_data(dm_run_record *record, const char *const *paths, size_t count,
                             dm_error *err)
{
    dm_status status = take_paths(record, count, err);
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        struct stat about;
        if ((record->data[i] = realpath(paths[i], NULL)) == NULL || stat(paths[i], &about) != 0)
            status = dm_fail(err, errno == ENOMEM ? DM_ENOMEM : DM_ENOENT, "--data %.900s: %s",
                             paths[i], strerror(errno));
        else if (!S_ISREG(about.st_mode) &&
                 !S_ISDIR(about.st_mode)) /* it could not be read again */
            status = dm_fail(err, DM_EINVAL, "--data %.900s: no file and no folder", paths[i]);
    }
    return status;
}

void dm_run_record_write(const dm_run_record *record, const dm_task *task, dm_buffer *out)
{
    dm_json json;
    dm_json_init(&json, out, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_json_begin_object(&json, "config");
    dm_train_config_write(&task->config, &json);
    dm_json_end_object(&json);
    dm_json_begin_array(&json, "data");
    for (size_t i = 0; i < record->data_count; i++)
        dm_json_string(&json, NULL, record->data[i]);
    dm_json_end_array(&json);
    dm_json_string(&json, "data_hash", task->hash);
    if (task->vocabulary > 0)
        dm_json_uint(&json, "vocabulary", task->vocabulary);
    if (task->alphabet_size > 0) {
        char hex[2 * sizeof task->alphabet + 1];
        for (size_t i = 0; i < task->alphabet_size; i++)
            snprintf(hex + 2 * i, 3, "%02x", task->alphabet[i]);
        dm_json_string(&json, "alphabet", hex);
    }
    dm_json_end_object(&json);
    dm_json_finish(&json);
}

static dm_status bad(const char *path, const char *what, dm_error *err)
{
    return dm_fail(err, DM_EFORMAT, "%.900s: no checkpoint of a run: '%s' is missing or wrong",
                   path, what);
}

static int hex_digit(char c)
{
    const char digits[] = "0123456789abcdef", *at = c != 0 ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static dm_status read_alphabet(const json_t *object, const char *path, dm_task *task, dm_error *err)
{
    const char *hex = json_string_value(json_object_get(object, "alphabet"));
    if (hex == NULL)
        return DM_OK;
    size_t length = strlen(hex);
    if (length % 2 != 0 || length > 2 * sizeof task->alphabet || length / 2 != task->vocabulary)
        return bad(path, "alphabet", err);
    for (size_t i = 0; i < length / 2; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return bad(path, "alphabet", err);
        task->alphabet[i] = (uint8_t)(16 * high + low);
    }
    task->alphabet_size = (uint32_t)(length / 2);
    return DM_OK;
}

static dm_status read_paths(const json_t *object, const char *path, dm_run_record *record,
                            dm_error *err)
{
    const json_t *data = json_object_get(object, "data");
    if (!json_is_array(data))
        return bad(path, "data", err);
    dm_status status = take_paths(record, json_array_size(data), err);
    for (size_t i = 0; i < record->data_count && status == DM_OK; i++) {
        const char *one = json_string_value(json_array_get(data, i));
        if (one == NULL)
            status = bad(path, "data", err);
        else if ((record->data[i] = strdup(one)) == NULL)
            status = dm_fail(err, DM_ENOMEM, "out of memory");
    }
    return status;
}

static dm_status read_object(const json_t *object, const char *model, const char *path,
                             dm_task *task, dm_run_record *record, dm_error *err)
{
    int which = 0;
    while (which < DM_TRAIN_TASKS && strcmp(dm_train_task_names[which], model) != 0)
        which++;
    const json_t *config = json_object_get(object, "config");
    const char *hash = json_string_value(json_object_get(object, "data_hash"));
    json_int_t vocabulary = json_integer_value(json_object_get(object, "vocabulary"));
    if (which == DM_TRAIN_TASKS)
        return bad(path, "model", err);
    if (hash == NULL || strlen(hash) != sizeof record->hash - 1)
        return bad(path, "data_hash", err);
    if (vocabulary < 0 || vocabulary > 65536 || (which == DM_TRAIN_GPT && vocabulary == 0))
        return bad(path, "vocabulary", err);
    memcpy(record->hash, hash, sizeof record->hash);
    dm_train_config values;
    dm_status status = dm_train_config_preset((dm_train_task)which, NULL, &values, err);
    if (status == DM_OK)
        status = dm_train_config_json(&values, config, path, err);
    if (status != DM_OK)
        return status;
    dm_task_init(task, &values);
    task->vocabulary = (uint32_t)vocabulary;
    status = read_alphabet(object, path, task, err);
    return status == DM_OK ? read_paths(object, path, record, err) : status;
}

dm_status dm_run_record_read(const char *text, const char *model, const char *path, dm_task *task,
                             dm_run_record *record, dm_error *err)
{
    json_t *object = NULL;
    dm_status status = dm_json_parse(text, strlen(text), path, &object, err);
    if (status == DM_OK)
        status = read_object(object, model, path, task, record, err);
    json_decref(object);
    if (status != DM_OK) {
        dm_run_record_deinit(record);
        dm_task_deinit(task);
    }
    return status;
}
