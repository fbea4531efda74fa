/* SPDX-License-Identifier: MIT */
/* config.c - see config.h. */
#include "train/config.h"
#include "base/closest.h"
#include "base/setting.h"
#include "device/sources.h"

#include <inttypes.h>
#include <stdlib.h>

#define PRESETS "train/presets.json"

const char *const dm_train_task_names[] = {"xor", "cnn", "gpt", NULL};
static const char *const dm_train_tokenizers[] = {"characters", "bpe", NULL};
static const char *const dm_train_optimisers[] = {"sgd", "adamw", "adam", "muon", NULL};
static const char *const dm_train_precisions[] = {"float32", "bfloat16", NULL};
static const char *const dm_train_schedules[] = {"constant", "linear", "cosine", NULL};

/* ---- Fields ---- */

typedef struct field {
    const char *name;
    enum { FIELD_UINT, FIELD_REAL, FIELD_CHOICE } type;
    unsigned tasks;
    size_t offset;
    double low, high;
    const char *const *names; /* of a choice */
    const char *help;
} field;

enum { X = 1 << DM_TRAIN_XOR, C = 1 << DM_TRAIN_CNN, G = 1 << DM_TRAIN_GPT };

#define AT(name) offsetof(dm_train_config, name)
#define UINT(name, tasks, low, high, help)                                                         \
    {#name, FIELD_UINT, tasks, AT(name), (double)(low), (double)(high), NULL, help},
#define REAL(name, tasks, low, high, help)                                                         \
    {#name, FIELD_REAL, tasks, AT(name), low, high, NULL, help},
#define CHOICE(name, tasks, names, help) {#name, FIELD_CHOICE, tasks, AT(name), 0, 0, names, help},
static const field fields[] = {
#include "train/fields.def"
#undef UINT
#undef REAL
#define RULE(name, type, low, high, help)                                                          \
    {"predict." #name, type, X | C | G, AT(rules.name), low, high, NULL, help},
#define UINT(name, value, low, high, help) RULE(name, FIELD_UINT, low, high, help)
#define REAL(name, value, low, high, help) RULE(name, FIELD_REAL, low, high, help)
#include "train/predict/rules.def"
};
#undef UINT
#undef REAL
#undef RULE
#undef CHOICE
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static bool has(const dm_train_config *config, const field *f)
{
    return (f->tasks & 1u << config->task) != 0;
}

/* ---- Values ---- */

static dm_status fail_value(const field *f, const char *name, const char *value, dm_error *err)
{
    char names[96] = "";
    if (f->type != FIELD_CHOICE)
        return dm_fail(err, DM_EINVAL, "%s: %s is %.64s; it is %s of %.12g to %.12g", name, f->name,
                       value, f->type == FIELD_UINT ? "a whole number" : "a number", f->low,
                       f->high);
    for (size_t i = 0, used = 0; f->names[i] != NULL && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                                 f->names[i]);
    return dm_fail(err, DM_EINVAL, "%s: %s is %.64s, not one of %s", name, f->name, value, names);
}

static dm_status put(dm_train_config *config, const field *f, const json_t *value, const char *name,
                     dm_error *err)
{
    void *at = (char *)config + f->offset;
    bool good = false;
    if (f->type == FIELD_UINT && json_is_integer(value)) {
        json_int_t number = json_integer_value(value);
        good = number >= 0 && (double)number >= f->low && (double)number <= f->high;
        *(uint64_t *)at = good ? (uint64_t)number : 0;
    } else if (f->type == FIELD_REAL && json_is_number(value)) {
        double number = json_number_value(value);
        good = number >= f->low && number <= f->high;
        *(double *)at = number;
    } else if (f->type == FIELD_CHOICE && json_is_string(value)) {
        for (int i = 0; f->names[i] != NULL && !good; i++) {
            *(int *)at = i;
            good = strcmp(f->names[i], json_string_value(value)) == 0;
        }
    }
    if (good)
        return DM_OK;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    dm_status status = fail_value(f, name, text != NULL ? text : "?", err);
    free(text);
    return status;
}

static dm_status fail_unknown(const dm_train_config *config, const char *key, const char *name,
                              dm_error *err)
{
    const char *names[FIELD_COUNT + 3];
    size_t count = 0;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (has(config, &fields[i]))
            names[count++] = fields[i].name;
    names[count++] = "preset";
    names[count++] = "task";
    names[count] = NULL;
    const char *guess = dm_closest(key, names), *task = dm_train_task_names[config->task];
    if (guess != NULL)
        return dm_fail(err, DM_EINVAL, "%s: %s has no field '%.64s'; did you mean %s?", name, task,
                       key, guess);
    return dm_fail(err, DM_EINVAL,
                   "%s: %s has no field '%.64s'; dotmatrix train %s --fields lists "
                   "them",
                   name, task, key, task);
}

static dm_status put_members(dm_train_config *config, const json_t *object, const char *name,
                             dm_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const field *found = NULL;
        for (size_t i = 0; i < FIELD_COUNT; i++)
            if (has(config, &fields[i]) && strcmp(fields[i].name, key) == 0)
                found = &fields[i];
        if (strcmp(key, "preset") == 0 || strcmp(key, "task") == 0)
            continue;
        if (found == NULL)
            return fail_unknown(config, key, name, err);
        dm_status status = put(config, found, value, name, err);
        if (status != DM_OK)
            return status;
    }
    return DM_OK;
}

/* ---- Presets (presets.json) ---- */

static dm_status fail_preset(const json_t *all, const char *task, const char *name, dm_error *err)
{
    char names[128] = "";
    size_t used = 0;
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(all, task), key, value)
    {
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", key);
    }
    return dm_fail(err, DM_EINVAL, "%s has no preset '%.64s'; there is %s", task, name, names);
}

dm_status dm_train_config_preset(dm_train_task task, const char *name, dm_train_config *out,
                                 dm_error *err)
{
    const char *text = dm_embedded_text(PRESETS), *task_name = dm_train_task_names[task];
    json_t *all = NULL;
    dm_status status = dm_json_parse(text, strlen(text), PRESETS, &all, err);
    if (status != DM_OK)
        return status;
    json_t *own = json_object_get(all, task_name);
    const json_t *preset =
        name != NULL ? json_object_get(own, name) : json_object_iter_value(json_object_iter(own));
    if (preset == NULL) {
        status = fail_preset(all, task_name, name, err);
    } else {
        *out = (dm_train_config){.task = task, .rules = dm_predict_rules_default};
        status = put_members(out, json_object_get(all, "all"), PRESETS, err);
        if (status == DM_OK)
            status = put_members(out, preset, PRESETS, err);
    }
    json_decref(all);
    return status;
}

/* ---- Files and settings ---- */

dm_status dm_train_config_json(dm_train_config *config, const json_t *object, const char *name,
                               dm_error *err)
{
    if (!json_is_object(object))
        return dm_fail(err, DM_EFORMAT, "%s: not a JSON object", name);
    const json_t *task = json_object_get(object, "task");
    const json_t *preset_name = json_object_get(object, "preset");
    const char *own = dm_train_task_names[config->task];
    if (task != NULL && (!json_is_string(task) || strcmp(json_string_value(task), own) != 0))
        return dm_fail(err, DM_EINVAL, "%s: a configuration of another task than %s", name, own);
    if (preset_name != NULL && !json_is_string(preset_name))
        return dm_fail(err, DM_EINVAL, "%s: preset is not a name", name);
    dm_status status = DM_OK;
    if (preset_name != NULL)
        status = dm_train_config_preset(config->task, json_string_value(preset_name), config, err);
    if (status != DM_OK)
        dm_error_prefix(err, "%s", name);
    return status == DM_OK ? put_members(config, object, name, err) : status;
}

dm_status dm_train_config_file(dm_train_config *config, const char *path, dm_error *err)
{
    json_t *object = NULL;
    dm_status status = dm_json_load(path, &object, err);
    if (status == DM_OK)
        status = dm_train_config_json(config, object, path, err);
    json_decref(object);
    return status;
}

dm_status dm_train_config_set(dm_train_config *config, const char *setting, dm_error *err)
{
    json_t *object = NULL;
    dm_status status = dm_setting_parse(setting, &object, err);
    if (status == DM_OK)
        status = dm_train_config_json(config, object, setting, err);
    json_decref(object);
    return status;
}

/* ---- Writing ---- */

void dm_train_config_write(const dm_train_config *config, dm_json *json)
{
    dm_json_string(json, "task", dm_train_task_names[config->task]);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const field *f = &fields[i];
        const void *at = (const char *)config + f->offset;
        if (!has(config, f))
            continue;
        if (f->type == FIELD_UINT)
            dm_json_uint(json, f->name, *(const uint64_t *)at);
        else if (f->type == FIELD_REAL)
            dm_json_double(json, f->name, *(const double *)at);
        else
            dm_json_string(json, f->name, f->names[*(const int *)at]);
    }
}

void dm_train_config_help(const dm_train_config *config, dm_buffer *out)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const field *f = &fields[i];
        const void *at = (const char *)config + f->offset;
        char value[32];
        bool rule = strncmp(f->name, "predict.", 8) == 0;
        if (!has(config, f) || (rule && !config->predict))
            continue;
        if (f->type == FIELD_UINT)
            snprintf(value, sizeof value, "%" PRIu64, *(const uint64_t *)at);
        else if (f->type == FIELD_REAL)
            snprintf(value, sizeof value, "%g", *(const double *)at);
        else
            snprintf(value, sizeof value, "%s", f->names[*(const int *)at]);
        dm_buffer_printf(out, "%-*s %-11s %s", rule ? 30 : 17, f->name, value, f->help);
        for (int n = 0; f->type == FIELD_CHOICE && f->names[n] != NULL; n++)
            dm_buffer_printf(out, "%s%s", n == 0 ? ": " : ", ", f->names[n]);
        dm_buffer_putc(out, '\n');
    }
}
