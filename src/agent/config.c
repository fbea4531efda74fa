/* SPDX-License-Identifier: MIT */
/* config.c - see config.h. */
#include "agent/config.h"

#include "base/closest.h"
#include "base/setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const dm_agent_policies[] = {"mlp", "cnn", "gru", NULL};
static const char *const dm_agent_observations[] = {"vector", "packed", NULL};

const dm_agent_config dm_agent_config_default = {
#define UINT(name, value, ...) .name = value,
#define REAL(name, value, ...) .name = value,
#define CHOICE(name, value, ...) .name = value,
#define TEXT(name, value, ...) .name = value,
#include "agent/fields.def"
#undef UINT
#undef REAL
#undef CHOICE
#undef TEXT
};

typedef struct field {
    const char *name;
    enum { FIELD_UINT, FIELD_REAL, FIELD_CHOICE, FIELD_TEXT } type;
    size_t offset;
    double low, high;
    const char *const *names; /* of a choice */
    const char *help;
} field;

static const field fields[] = {
#define AT(name) offsetof(dm_agent_config, name)
#define UINT(name, value, low, high, help) {#name, FIELD_UINT, AT(name), low, high, NULL, help},
#define REAL(name, value, low, high, help) {#name, FIELD_REAL, AT(name), low, high, NULL, help},
#define CHOICE(name, value, names, help) {#name, FIELD_CHOICE, AT(name), 0, 0, names, help},
#define TEXT(name, value, help) {#name, FIELD_TEXT, AT(name), 0, 0, NULL, help},
#include "agent/fields.def"
#undef UINT
#undef REAL
#undef CHOICE
#undef TEXT
};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static dm_status fail_value(const field *f, const char *name, const json_t *value, dm_error *err)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    const char *shown = text ? text : "?";
    dm_status status;
    if (f->type == FIELD_CHOICE)
        status = dm_fail(err, DM_EINVAL, "%s: %s is %.64s, not %s%s%s or %s", name, f->name, shown,
                         f->names[0], f->names[2] ? ", " : "", f->names[2] ? f->names[1] : "",
                         f->names[f->names[2] ? 2 : 1]);
    else
        status =
            dm_fail(err, DM_EINVAL, "%s: %s is %.64s; it is %s of %.12g to %.12g", name, f->name,
                    shown, f->type == FIELD_UINT ? "a whole number" : "a number", f->low, f->high);
    free(text);
    return status;
}

static dm_status put(dm_agent_config *config, const field *f, const json_t *value, const char *name,
                     dm_error *err)
{
    void *at = (char *)config + f->offset;
    if (f->type == FIELD_CHOICE) {
        for (int i = 0; json_is_string(value) && f->names[i] != NULL; i++)
            if (strcmp(f->names[i], json_string_value(value)) == 0) {
                *(int *)at = i;
                return DM_OK;
            }
        return fail_value(f, name, value, err);
    }
    if (f->type == FIELD_TEXT) {
        if (!json_is_string(value) || json_string_length(value) >= DM_AGENT_TEXT_MAX)
            return dm_fail(err, DM_EINVAL, "%s: %s is no text of less than %d letters", name,
                           f->name, DM_AGENT_TEXT_MAX);
        snprintf(at, DM_AGENT_TEXT_MAX, "%s", json_string_value(value));
        return DM_OK;
    }
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= f->low && number <= f->high) ||
        (f->type == FIELD_UINT && !json_is_integer(value)))
        return fail_value(f, name, value, err);
    if (f->type == FIELD_UINT)
        *(uint64_t *)at = (uint64_t)json_integer_value(value);
    else
        *(double *)at = number;
    return DM_OK;
}

static dm_status fail_unknown(const char *key, const char *name, dm_error *err)
{
    const char *names[FIELD_COUNT + 1];
    for (size_t i = 0; i < FIELD_COUNT; i++)
        names[i] = fields[i].name;
    names[FIELD_COUNT] = NULL;
    const char *guess = dm_closest(key, names);
    if (guess != NULL)
        return dm_fail(err, DM_EINVAL, "%s: there is no field '%.64s'; did you mean %s?", name, key,
                       guess);
    return dm_fail(err, DM_EINVAL,
                   "%s: there is no field '%.64s'; dotmatrix train agent --fields lists them", name,
                   key);
}

dm_status dm_agent_config_json(dm_agent_config *config, const json_t *object, const char *name,
                               dm_error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return dm_fail(err, DM_EFORMAT, "%s: not a JSON object", name);
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const field *found = NULL;
        for (size_t i = 0; i < FIELD_COUNT; i++)
            if (strcmp(fields[i].name, key) == 0)
                found = &fields[i];
        dm_status status =
            found ? put(config, found, value, name, err) : fail_unknown(key, name, err);
        if (status != DM_OK)
            return status;
    }
    return DM_OK;
}

dm_status dm_agent_config_file(dm_agent_config *config, const char *path, dm_error *err)
{
    json_t *object = NULL;
    dm_status status = dm_json_load(path, &object, err);
    if (status == DM_OK)
        status = dm_agent_config_json(config, object, path, err);
    json_decref(object);
    return status;
}

dm_status dm_agent_config_set(dm_agent_config *config, const char *setting, dm_error *err)
{
    json_t *object = NULL;
    dm_status status = dm_setting_parse(setting, &object, err);
    if (status == DM_OK)
        status = dm_agent_config_json(config, object, setting, err);
    json_decref(object);
    return status;
}

void dm_agent_config_write(const dm_agent_config *config, dm_json *json)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const field *f = &fields[i];
        const void *at = (const char *)config + f->offset;
        if (f->type == FIELD_UINT)
            dm_json_uint(json, f->name, *(const uint64_t *)at);
        else if (f->type == FIELD_REAL)
            dm_json_double(json, f->name, *(const double *)at);
        else if (f->type == FIELD_TEXT)
            dm_json_string(json, f->name, at);
        else
            dm_json_string(json, f->name, f->names[*(const int *)at]);
    }
}

void dm_agent_config_help(const dm_agent_config *config, dm_buffer *out)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const field *f = &fields[i];
        const void *at = (const char *)config + f->offset;
        char value[DM_AGENT_TEXT_MAX];
        if (f->type == FIELD_TEXT)
            snprintf(value, sizeof value, "%s", *(const char *)at ? (const char *)at : "-");
        else if (f->type == FIELD_UINT)
            snprintf(value, sizeof value, "%" PRIu64, *(const uint64_t *)at);
        else if (f->type == FIELD_REAL)
            snprintf(value, sizeof value, "%g", *(const double *)at);
        else
            snprintf(value, sizeof value, "%s", f->names[*(const int *)at]);
        dm_buffer_printf(out, "%-17s %-11s %s", f->name, value, f->help);
        for (int n = 0; f->type == FIELD_CHOICE && f->names[n] != NULL; n++)
            dm_buffer_printf(out, "%s%s", n == 0 ? ": " : ", ", f->names[n]);
        dm_buffer_putc(out, '\n');
    }
}
