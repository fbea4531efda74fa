/* SPDX-License-Identifier: MIT */
/* cmd_train.c - dotmatrix train: options, and which action they are for. */
#include "cli/train/train.h"

#include <stdio.h>
#include <string.h>

static const dm_option rows[] = {
    DM_OPTION_STRINGS(dm_train_options, set, "set", "NAME[=VALUE]",
                      "training: a field of the configuration; data: prepare gpt2, mnist5k, "
                      "digits or bible (default: all); repeatable"),
    DM_OPTION_STRING(dm_train_options, config, "config", "FILE", NULL,
                     "training: a JSON file of fields"),
    DM_OPTION_FLAG(dm_train_options, fields, "fields",
                   "training: print the fields with their values and train nothing"),
    DM_OPTION_FLAG(dm_train_options, plan, "plan",
                   "training: print weights and memory and train nothing"),
    DM_OPTION_STRINGS(dm_train_options, data, "data", "PATH",
                      "training, eval: a folder of images, a text or a token file; repeatable"),
    DM_OPTION_STRING(dm_train_options, device, "device", "ID", "cpu", "cpu, cpu:1, cuda:0 ..."),
    DM_OPTION_INT(dm_train_options, steps, "steps", "N", 1, 1000000000, NULL,
                  "training: the field steps"),
    DM_OPTION_INT(dm_train_options, seed, "seed", "N", 0, INT64_MAX, NULL,
                  "training: the field seed; sample: of the drawn tokens"),
    DM_OPTION_STRING(dm_train_options, out, "out", "DIR", NULL,
                     "training: the run's folder (default: the next of runs/TASK-1, -2 ...); "
                     "export, data --text: the file"),
    DM_OPTION_STRING(dm_train_options, resume, "resume", "DIR", NULL,
                     "training: go on with the run in this folder"),
    DM_OPTION_STRING(dm_train_options, import, "import", "FILE", NULL,
                     "training: begin with these weights (.safetensors)"),
    DM_OPTION_FLAG(dm_train_options, predict, "predict",
                   "training: checked proposals stand for some steps (docs/prediction.md); its "
                   "rules are the fields predict.NAME"),
    DM_OPTION_STRING(dm_train_options, trace, "trace", "FILE", NULL,
                     "training: where the time goes, as a Chrome trace"),
    DM_OPTION_STRING(dm_train_options, prompt, "prompt", "TEXT", "", "sample: what to go on from"),
    DM_OPTION_INT(dm_train_options, tokens, "tokens", "N", 1, 1000000000, "200",
                  "sample: how many to write"),
    DM_OPTION_DOUBLE(dm_train_options, temperature, "temperature", "X", "0.8",
                     "sample: 0 takes the likeliest token"),
    DM_OPTION_INT(dm_train_options, top_k, "top-k", "K", 0, 65536, "0",
                  "sample: draw from the K likeliest tokens; 0: from all"),
    DM_OPTION_FLAG(dm_train_options, average, "average", "export: the averaged weights"),
    DM_OPTION_INT(dm_train_options, seeds, "seeds", "N", 1, 1000, "5",
                  "report: train with the seeds 1 to N"),
    DM_OPTION_FLAG(dm_train_options, twice, "twice",
                   "report: train each seed twice; exit code 1 when bits differ"),
    DM_OPTION_FLAG(dm_train_options, json, "json", "eval, report: write JSON"),
    DM_OPTION_STRING(dm_train_options, folder, "folder", "DIR", NULL,
                     "data: where the sets go (default: data in the cache folder)"),
    DM_OPTION_STRING(dm_train_options, wheels, "wheels", "DIR", NULL,
                     "data: take the wheels from here and download nothing"),
    DM_OPTION_STRING(dm_train_options, images, "images", "FILE", NULL,
                     "data: check this IDX file of images, with --labels"),
    DM_OPTION_STRING(dm_train_options, labels, "labels", "FILE", NULL,
                     "data: the IDX file of their labels"),
    DM_OPTION_INT(dm_train_options, classes, "classes", "N", 1, 256, "10",
                  "data: labels are below N"),
    DM_OPTION_STRING(dm_train_options, text, "text", "FILE", NULL,
                     "data: encode this text with GPT-2's vocabulary"),
    DM_OPTION_GIVEN(dm_train_options, given),
};

bool dm_train_given(const dm_train_options *o, const char *name)
{
    for (size_t i = 0; i < o->given.count; i++)
        if (strcmp(o->given.items[i], name) == 0)
            return true;
    return false;
}

/* ---- Which options an action takes ---- */

typedef struct action {
    const char *name;
    size_t arguments;    /* with the action itself */
    const char *options; /* each between spaces */
} action;

#define TRAINING " set config fields plan data device steps seed out resume import predict trace "
static const action actions[] = {
    {"data", 1, " set folder wheels images labels classes text out "},
    {"xor", 1, TRAINING},
    {"cnn", 1, TRAINING},
    {"gpt", 1, TRAINING},
    {"eval", 2, " data device json "},
    {"sample", 2, " device prompt tokens temperature top-k seed "},
    {"export", 2, " out average "},
    {"report", 2, " set config data device steps seeds twice json "},
};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

static dm_status find_action(const dm_strings *arguments, const action **out, dm_error *err)
{
    const char *names[ACTIONS + 1] = {0}, *name = arguments->items[0];
    for (size_t i = 0; i < ACTIONS; i++) {
        names[i] = actions[i].name;
        if (strcmp(actions[i].name, name) == 0)
            *out = &actions[i];
    }
    const char *guess = dm_closest(name, names);
    if (*out == NULL && guess != NULL)
        return dm_fail(err, DM_EINVAL, "unknown action '%.64s'; did you mean %s?", name, guess);
    if (*out == NULL)
        return dm_fail(err, DM_EINVAL,
                       "'%.64s' is not one of data, xor, cnn, gpt, eval, sample, export, report",
                       name);
    if (arguments->count < (*out)->arguments)
        return dm_fail(err, DM_EINVAL, "%s of what? dotmatrix train %s %s", name, name,
                       strcmp(name, "report") == 0 ? "xor|cnn|gpt" : "DIR");
    if (arguments->count > (*out)->arguments)
        return dm_fail(err, DM_EINVAL, "unexpected argument '%.200s'",
                       arguments->items[(*out)->arguments]);
    return DM_OK;
}

static dm_status check_options(const dm_train_options *o, const action *a, dm_error *err)
{
    for (size_t i = 0; i < o->given.count; i++) {
        char word[72];
        snprintf(word, sizeof word, " %.64s ", o->given.items[i]);
        if (strstr(a->options, word) == NULL)
            return dm_fail(err, DM_EINVAL, "--%s is not for train %s", o->given.items[i], a->name);
    }
    return DM_OK;
}

dm_status dm_train_read_config(const dm_train_options *o, dm_train_task task, dm_train_config *out,
                               dm_error *err)
{
    dm_status status = dm_train_config_preset(task, NULL, out, err);
    if (status == DM_OK && o->config != NULL)
        status = dm_train_config_file(out, o->config, err);
    /* A preset among the settings comes before the others, wherever it stands. */
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < o->set.count && status == DM_OK; i++)
            if ((strncmp(o->set.items[i], "preset=", 7) == 0) == (pass == 0))
                status = dm_train_config_set(out, o->set.items[i], err);
    if (dm_train_given(o, "steps"))
        out->steps = (uint64_t)o->steps;
    if (dm_train_given(o, "seed"))
        out->seed = (uint64_t)o->seed;
    if (o->predict)
        out->predict = 1;
    return status;
}

static dm_status run(const void *options, const dm_strings *arguments, bool *negative,
                     dm_error *err)
{
    const dm_train_options *o = options;
    const action *a = NULL;
    const char *what = arguments->count > 1 ? arguments->items[1] : NULL;
    dm_status status = find_action(arguments, &a, err);
    if (status == DM_OK)
        status = check_options(o, a, err);
    if (status != DM_OK)
        return status;
    for (int task = 0; task < DM_TRAIN_TASKS; task++)
        if (strcmp(a->name, dm_train_task_names[task]) == 0)
            return dm_train_run(o, (dm_train_task)task, err);
    if (strcmp(a->name, "data") == 0)
        return dm_train_data(o, err);
    if (strcmp(a->name, "eval") == 0)
        return dm_train_eval(o, what, err);
    if (strcmp(a->name, "sample") == 0)
        return dm_train_sample_text(o, what, err);
    if (strcmp(a->name, "export") == 0)
        return dm_train_export(o, what, err);
    return dm_train_report(o, what, negative, err);
}

const dm_command dm_command_train = {
    .name = "train",
    .summary = "Train XOR, a CNN on images or a GPT on text; prepare data, measure, sample "
               "(dotmatrix train gpt --data book.txt)",
    .arguments = "data|xor|cnn|gpt|eval DIR|sample DIR|export DIR|report TASK",
    .arguments_min = 1,
    .arguments_max = 2,
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(dm_train_options),
    .run = run,
};
