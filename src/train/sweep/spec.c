/* SPDX-License-Identifier: MIT */
/* spec.c - see spec.h. */
#include "train/sweep/spec.h"
#include "base/closest.h"

#include <stdlib.h>

static const char *const members[] = {"task",  "set",   "command", "data",       "search",
                                      "count", "seed",  "steps",   "parameters", "metric",
                                      "rule",  "rules", NULL};

void dm_sweep_spec_deinit(dm_sweep_spec *spec)
{
    json_decref(spec->object);
    *spec = (dm_sweep_spec){0};
}

static bool words(const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!json_is_string(json_array_get(array, i)))
            return false;
    return json_is_array(array);
}

static dm_status refuse_unknown(const json_t *object, const char *name, dm_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t i = 0;
        while (members[i] != NULL && strcmp(members[i], key) != 0)
            i++;
        const char *guess = members[i] == NULL ? dm_closest(key, members) : NULL;
        if (members[i] == NULL)
            return dm_fail(err, DM_EINVAL, "%s: a sweep has no '%.64s'%s%s%s", name, key,
                           guess != NULL ? "; did you mean " : "", guess != NULL ? guess : "",
                           guess != NULL ? "?" : "");
    }
    return DM_OK;
}

static int task_of(const char *task)
{
    int i = 0;
    while (i < DM_TRAIN_TASKS && (task == NULL || strcmp(dm_train_task_names[i], task) != 0))
        i++;
    return i;
}

static bool mentions(const json_t *command, const char *text)
{
    for (size_t i = 0; i < json_array_size(command); i++)
        if (strstr(json_string_value(json_array_get(command, i)), text) != NULL)
            return true;
    return false;
}

static dm_status read_what(dm_sweep_spec *s, const char *name, dm_error *err)
{
    s->task = json_string_value(json_object_get(s->object, "task"));
    s->set = json_object_get(s->object, "set");
    s->command = json_object_get(s->object, "command");
    s->data = json_object_get(s->object, "data");
    if ((json_object_get(s->object, "task") == NULL) == (s->command == NULL))
        return dm_fail(err, DM_EINVAL, "%s: a sweep has either a task or a command", name);
    if (s->command == NULL && task_of(s->task) == DM_TRAIN_TASKS)
        return dm_fail(err, DM_EINVAL, "%s: task is xor, cnn or gpt", name);
    if (s->command != NULL && (!words(s->command) || json_array_size(s->command) == 0))
        return dm_fail(err, DM_EINVAL, "%s: command is an array of words", name);
    if (s->command != NULL && (s->set != NULL || s->data != NULL))
        return dm_fail(err, DM_EINVAL, "%s: set and data are for a task", name);
    if (s->command != NULL &&
        (!mentions(s->command, "{until}") || !mentions(s->command, "{folder}")))
        return dm_fail(
            err, DM_EINVAL,
            "%s: the command needs {until}, the step to end after, and {folder}, where it "
            "keeps what it goes on from",
            name);
    if (s->set != NULL && !json_is_object(s->set))
        return dm_fail(err, DM_EINVAL, "%s: set is an object of fields", name);
    if (s->data != NULL && !words(s->data))
        return dm_fail(err, DM_EINVAL, "%s: data is an array of paths", name);
    return DM_OK;
}

static dm_status read_how(dm_sweep_spec *s, const char *name, dm_error *err)
{
    const json_t *steps = json_object_get(s->object, "steps");
    const json_t *metric = json_object_get(s->object, "metric");
    const json_t *rule = json_object_get(s->object, "rule");
    const char *text = json_string_value(rule);
    s->metric = metric == NULL && s->task != NULL ? "val_loss" : json_string_value(metric);
    if (s->metric == NULL || s->metric[0] == 0)
        return dm_fail(err, DM_EINVAL, "%s: metric is the name of a number that shall be small",
                       name);
    if (!json_is_integer(steps) || json_integer_value(steps) < 2 ||
        json_integer_value(steps) > 1000000000)
        return dm_fail(err, DM_EINVAL, "%s: steps is a whole number of 2 to 1000000000", name);
    s->steps = (uint64_t)json_integer_value(steps);
    s->rule = DM_SWEEP_HALVING;
    if (rule != NULL) {
        int i = 0;
        while (i < DM_SWEEP_RULES && (text == NULL || strcmp(dm_sweep_rule_names[i], text) != 0))
            i++;
        if (i == DM_SWEEP_RULES)
            return dm_fail(err, DM_EINVAL, "%s: rule is all, halving or forecast", name);
        s->rule = (dm_sweep_rule)i;
    }
    s->rules = dm_sweep_rules_default;
    dm_status status =
        dm_sweep_rules_read(json_object_get(s->object, "rules"), name, &s->rules, err);
    s->checks = dm_sweep_checks(&s->rules, s->steps, &s->stride);
    return status;
}

dm_status dm_sweep_spec_config(const dm_sweep_spec *spec, const json_t *parameters, json_t **out,
                               dm_error *err)
{
    const char *const own[] = {"steps", "eval_every", "checkpoint_every"};
    json_t *object = spec->set != NULL ? json_copy((json_t *)(uintptr_t)spec->set) : json_object();
    bool good = object != NULL && json_object_update(object, (json_t *)(uintptr_t)parameters) == 0;
    for (size_t i = 0; i < 3 && good; i++)
        if (json_object_get(object, own[i]) != NULL) {
            json_decref(object);
            return dm_fail(err, DM_EINVAL, "the sweep itself says %s", own[i]);
        }
    good = good && json_object_set_new(object, "task", json_string(spec->task)) == 0 &&
           json_object_set_new(object, "steps", json_integer((json_int_t)spec->steps)) == 0 &&
           json_object_set_new(object, "eval_every", json_integer((json_int_t)spec->stride)) == 0 &&
           json_object_set_new(object, "checkpoint_every", json_integer(0)) == 0;
    if (good && json_object_get(object, "log_every") == NULL)
        good =
            json_object_set_new(object, "log_every", json_integer((json_int_t)spec->stride)) == 0;
    if (!good) {
        json_decref(object);
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    *out = object;
    return DM_OK;
}

static dm_status check_configurations(const dm_sweep_spec *s, const char *name, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < s->space.count && status == DM_OK && s->task != NULL; i++) {
        dm_train_config config;
        json_t *parameters = dm_sweep_space_draw(&s->space, i), *object = NULL;
        status = parameters == NULL ? dm_fail(err, DM_ENOMEM, "out of memory")
                                    : dm_sweep_spec_config(s, parameters, &object, err);
        if (status == DM_OK)
            status = dm_train_config_preset((dm_train_task)task_of(s->task), NULL, &config, err);
        if (status == DM_OK)
            status = dm_train_config_json(&config, object, name, err);
        json_decref(parameters);
        json_decref(object);
    }
    return status;
}

dm_status dm_sweep_spec_read(json_t *object, const char *name, dm_sweep_spec *out, dm_error *err)
{
    *out = (dm_sweep_spec){.object = object};
    dm_status status = json_is_object(object)
                           ? refuse_unknown(object, name, err)
                           : dm_fail(err, DM_EFORMAT, "%s: not a JSON object", name);
    if (status == DM_OK)
        status = read_what(out, name, err);
    if (status == DM_OK)
        status = read_how(out, name, err);
    if (status == DM_OK)
        status = dm_sweep_space_read(object, name, &out->space, err);
    if (status == DM_OK)
        status = check_configurations(out, name, err);
    if (status != DM_OK)
        dm_sweep_spec_deinit(out);
    return status;
}
