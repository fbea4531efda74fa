/* SPDX-License-Identifier: MIT */
/* plan.c - see plan.h. */
#include "train/report/plan.h"
#include "device/sources.h"

#include <stdio.h>
#include <string.h>

#define PLAN "train/report/plan.json"

static uint64_t number(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

static void read_methods(dm_report_plan *plan)
{
    const json_t *methods = json_object_get(plan->all, "methods");
    for (size_t i = 0; i < json_array_size(methods) && i < DM_REPORT_METHODS_MAX; i++) {
        const json_t *one = json_array_get(methods, i);
        dm_report_method *m = &plan->methods[plan->method_count++];
        const char *rates = json_string_value(json_object_get(one, "rates"));
        snprintf(m->name, sizeof m->name, "%s", json_string_value(json_object_get(one, "name")));
        m->set = json_object_get(one, "set");
        m->rates = rates != NULL ? rates : "rates";
        m->predicts = json_object_get(m->set, "predict") != NULL;
        m->averages = json_is_true(json_object_get(one, "average"));
    }
}

static dm_status add_task(dm_report_plan *plan, const char *key, const json_t *tasks, dm_error *err)
{
    const json_t *object = json_object_get(tasks, key);
    if (object == NULL || strlen(key) >= sizeof plan->tasks[0].key ||
        plan->task_count == DM_REPORT_TASKS_MAX)
        return dm_fail(err, DM_EINVAL,
                       "report: '%.64s' is not a task; there are xor, cnn, gpt and gpt2", key);
    for (size_t i = 0; i < plan->task_count; i++)
        if (strcmp(plan->tasks[i].key, key) == 0)
            return dm_fail(err, DM_EINVAL, "report: the task %s is named twice", key);
    dm_report_task *t = &plan->tasks[plan->task_count++];
    const char *task = json_string_value(json_object_get(object, "task"));
    snprintf(t->key, sizeof t->key, "%s", key);
    while (strcmp(dm_train_task_names[t->task], task) != 0)
        t->task++;
    t->title = json_string_value(json_object_get(object, "title"));
    t->device = json_string_value(json_object_get(object, "device"));
    t->every = number(object, "every");
    t->seeds = number(object, "seeds");
    t->average = json_number_value(json_object_get(object, "average"));
    t->object = object;
    return DM_OK;
}

static dm_status choose_tasks(dm_report_plan *plan, const char *names, const json_t *tasks,
                              bool cuda, dm_error *err)
{
    dm_status status = DM_OK;
    if (names == NULL) {
        const char *key;
        json_t *object;
        json_object_foreach((json_t *)(uintptr_t)tasks, key, object)
        {
            if ((json_object_get(object, "device") != NULL) == cuda && status == DM_OK)
                status = add_task(plan, key, tasks, err);
        }
        return status;
    }
    for (const char *at = names; status == DM_OK; at = strchr(at, ',') + 1) {
        char key[64];
        size_t length = strcspn(at, ",");
        snprintf(key, sizeof key, "%.*s", (int)(length < sizeof key ? length : sizeof key - 1), at);
        status = add_task(plan, key, tasks, err);
        if (strchr(at, ',') == NULL)
            break;
    }
    return status;
}

dm_status dm_report_plan_init(const char *tasks, bool quick, bool cuda, dm_report_plan *out,
                              dm_error *err)
{
    const char *text = dm_embedded_text(PLAN);
    *out = (dm_report_plan){0};
    dm_status status = dm_json_parse(text, strlen(text), PLAN, &out->all, err);
    if (status != DM_OK)
        return status;
    read_methods(out);
    status =
        choose_tasks(out, tasks, json_object_get(out->all, quick ? "quick" : "full"), cuda, err);
    if (status == DM_OK)
        out->tries = json_array_size(json_object_get(out->tasks[0].object, "rates"));
    if (status != DM_OK)
        dm_report_plan_deinit(out);
    return status;
}

void dm_report_plan_deinit(dm_report_plan *plan)
{
    json_decref(plan->all);
    *plan = (dm_report_plan){0};
}

double dm_report_rate(const dm_report_plan *plan, size_t task, size_t method, size_t try)
{
    const json_t *rates = json_object_get(plan->tasks[task].object, plan->methods[method].rates);
    return json_number_value(json_array_get(rates, try));
}

dm_status dm_report_config(const dm_report_plan *plan, size_t task, size_t method, double rate,
                           uint64_t seed, dm_train_config *out, dm_error *err)
{
    const dm_report_task *t = &plan->tasks[task];
    dm_status status = dm_train_config_preset(t->task, NULL, out, err);
    if (status == DM_OK)
        status = dm_train_config_json(out, json_object_get(t->object, "set"), PLAN, err);
    if (status == DM_OK)
        status = dm_train_config_json(out, plan->methods[method].set, PLAN, err);
    out->average = plan->methods[method].averages ? t->average : 0;
    out->rules.proposal_average = t->average;
    out->rate = rate;
    out->seed = seed;
    out->eval_every = t->every;
    out->checkpoint_every = 0;
    return status;
}
