/* SPDX-License-Identifier: MIT */
/* cmd_train.c - `dotmatrix train`: its options, the actions that take them, and the call of the action (train.h). */
#include "cli/train/train.h"

#include <stdio.h>
#include <string.h>

static const dm_option rows[] = {
    DM_OPTION_STRINGS(dm_train_options, set, "set", "NAME[=VALUE]",
                      "training: a field of the configuration; data: prepare gpt2, mnist5k, "
                      "digits or bible (default: all); repeatable"),
    DM_OPTION_STRING(dm_train_options, config, "config", "FILE", NULL, "a JSON file of fields"),
    DM_OPTION_FLAG(dm_train_options, fields, "fields",
                   "print the fields with their values and train nothing"),
    DM_OPTION_FLAG(dm_train_options, plan, "plan", "print weights and memory and train nothing"),
    DM_OPTION_STRINGS(dm_train_options, data, "data", "PATH",
                      "a folder of images, a text or a token file; repeatable"),
    DM_OPTION_STRING(dm_train_options, device, "device", "ID", "cpu", "cpu, cpu:1, cuda:0 ..."),
    DM_OPTION_INT(dm_train_options, steps, "steps", "N", 1, 1000000000, NULL, "the field steps"),
    DM_OPTION_INT(dm_train_options, seed, "seed", "N", 0, INT64_MAX, NULL,
                  "training: the field seed; sample: of the drawn tokens"),
    DM_OPTION_STRING(dm_train_options, out, "out", "DIR", NULL,
                     "the run's folder (default: the next of runs/TASK-1, -2 ...); "
                     "export, data --text: the file"),
    DM_OPTION_STRING(dm_train_options, resume, "resume", "DIR", NULL,
                     "go on with the run in this folder"),
    DM_OPTION_INT(dm_train_options, until, "until", "N", 1, 1000000000, NULL,
                  "end with a checkpoint at step N; --resume goes on"),
    DM_OPTION_STRING(dm_train_options, import, "import", "FILE", NULL,
                     "begin with these weights (.safetensors)"),
    DM_OPTION_FLAG(dm_train_options, predict, "predict",
                   "checked proposals stand for some steps (docs/prediction.md); its "
                   "rules are the fields predict.NAME"),
    DM_OPTION_STRING(dm_train_options, trace, "trace", "FILE", NULL,
                     "where the time goes, as a Chrome trace"),
    DM_OPTION_STRING(dm_train_options, prompt, "prompt", "TEXT", "", "what to go on from"),
    DM_OPTION_INT(dm_train_options, tokens, "tokens", "N", 1, 1000000000, "200",
                  "how many to write"),
    DM_OPTION_DOUBLE(dm_train_options, temperature, "temperature", "X", "0.8",
                     "0 takes the likeliest token"),
    DM_OPTION_INT(dm_train_options, top_k, "top-k", "K", 0, 65536, "0",
                  "draw from the K likeliest tokens; 0: from all"),
    DM_OPTION_FLAG(dm_train_options, average, "average", "the averaged weights"),
    DM_OPTION_STRING(dm_train_options, tasks, "tasks", "LIST", NULL,
                     "report without a task: of xor, cnn, gpt and, on CUDA, gpt2 (default: those "
                     "that are for the device)"),
    DM_OPTION_FLAG(dm_train_options, quick, "quick",
                   "small sizes, which show that all works and nothing else"),
    DM_OPTION_INT(dm_train_options, seeds, "seeds", "N", 1, 1000, "5",
                  "train with the seeds 1 to N"),
    DM_OPTION_FLAG(dm_train_options, twice, "twice",
                   "train each seed twice; exit code 1 when bits differ"),
    DM_OPTION_INT(dm_train_options, workers, "workers", "N", 1, 256, "1",
                  "runs at a time, each with one CPU; with 1 a sweep is reproducible"),
    DM_OPTION_STRING(dm_train_options, rule, "rule", "all|halving|forecast", NULL,
                     "which runs go on (default: the file's \"rule\", else halving)"),
    DM_OPTION_STRINGS(dm_train_options, history, "history", "DIR",
                      "an earlier sweep of this task, to learn forecasts from; repeatable"),
    DM_OPTION_STRINGS(dm_train_options, replay, "replay", "POOL",
                      "apply all rules to a recorded sweep by the rule all (folder or "
                      "curves.jsonl), with the other pools as history; repeatable"),
    DM_OPTION_FLAG(dm_train_options, json, "json", "write JSON"),
    DM_OPTION_STRING(dm_train_options, folder, "folder", "DIR", NULL,
                     "where the sets go (default: data in the cache folder)"),
    DM_OPTION_STRING(dm_train_options, wheels, "wheels", "DIR", NULL,
                     "take the wheels from here and download nothing"),
    DM_OPTION_STRING(dm_train_options, images, "images", "FILE", NULL,
                     "check this IDX file of images, with --labels"),
    DM_OPTION_STRING(dm_train_options, labels, "labels", "FILE", NULL,
                     "the IDX file of their labels"),
    DM_OPTION_INT(dm_train_options, classes, "classes", "N", 1, 256, "10", "labels are below N"),
    DM_OPTION_STRING(dm_train_options, text, "text", "FILE", NULL,
                     "encode this text with GPT-2's vocabulary"),
    DM_OPTION_STRING(dm_train_options, rom, "rom", "FILE", NULL, "the game"),
    DM_OPTION_STRING(dm_train_options, reward, "reward", "FILE", NULL,
                     "what is good play, and what the agent sees (docs/agent.md)"),
    DM_OPTION_STRING(dm_train_options, obs, "obs", "vector|packed", NULL, "the field obs"),
    DM_OPTION_STRING(dm_train_options, policy, "policy", "mlp|cnn|gru", NULL, "the field policy"),
    DM_OPTION_STRING(dm_train_options, envs, "envs", "N", NULL, "the field machines"),
    DM_OPTION_INT(dm_train_options, eval, "eval", "N", 1, 1000000, NULL,
                  "measure on N held-out starts instead of training; with --resume"),
    DM_OPTION_STRING(dm_train_options, lives, "lives", "LIST", NULL,
                     "keep the episodes of these machines, by commas, for dotmatrix replay"),
    DM_OPTION_STRING(dm_train_options, play, "play", "DIR", NULL,
                     "let the agent of this run play; with --gif"),
    DM_OPTION_STRING(dm_train_options, gif, "gif", "FILE", NULL, "the animation of --play"),
    DM_OPTION_INT(dm_train_options, scale, "scale", "N", 1, 16, "2", "of the animation"),
    DM_OPTION_INT(dm_train_options, frames, "frames", "N", 1, 1000000, "1800",
                  "the animation's most"),
    DM_OPTION_INT(dm_train_options, skip, "skip", "N", 0, 1000000000, "0",
                  "frames that are played before the animation begins"),
    DM_OPTION_GIVEN(dm_train_options, given),
};

bool dm_train_given(const dm_train_options *o, const char *name)
{
    for (size_t i = 0; i < o->given.count; i++)
        if (strcmp(o->given.items[i], name) == 0)
            return true;
    return false;
}

dm_status dm_train_refuse(const dm_train_options *o, const char *const *names, const char *why,
                          dm_error *err)
{
    for (; *names != NULL; names++)
        if (dm_train_given(o, *names))
            return dm_fail(err, DM_EINVAL, "--%s %s", *names, why);
    return DM_OK;
}

/* ---- What there is to do ---- */

#define TRAINING                                                                                   \
    "set config fields plan data device steps seed out resume until import predict trace"
static const dm_action actions[] = {
    {"data", "", 0, 0, "Prepare data sets, check images, encode text",
     "set folder wheels images labels classes text out", "dotmatrix train data --set digits"},
    {"xor", "", 0, 0, "Train XOR, the smallest of networks", TRAINING, "dotmatrix train xor"},
    {"cnn", "", 0, 0, "Train a CNN on images", TRAINING, "dotmatrix train cnn --data images"},
    {"agent", "", 0, 0, "Train an agent that plays a game",
     "rom reward obs policy envs set config fields device steps seed out resume until eval lives "
     "play gif scale frames skip",
     "dotmatrix train agent --rom STARFALL.gb --config examples/agents/starfall.json"},
    {"gpt", "", 0, 0, "Train a GPT on text", TRAINING, "dotmatrix train gpt --data book.txt"},
    {"eval", "DIR", 1, 1, "Measure a trained model", "data device json",
     "dotmatrix train eval runs/gpt-1"},
    {"sample", "DIR", 1, 1, "Write text with a trained GPT",
     "device prompt tokens temperature top-k seed",
     "dotmatrix train sample runs/gpt-1 --prompt 'In the beginning'"},
    {"export", "DIR", 1, 1, "Write a run's weights (.safetensors)", "out average",
     "dotmatrix train export runs/gpt-1 --out gpt.safetensors"},
    {"report", "[xor|cnn|gpt]", 0, 1,
     "A task: several seeds and their spread. None: what every method costs, with and without "
     "prediction",
     "set config data device steps seeds twice json tasks quick workers replay out",
     "dotmatrix train report --data book.txt --out runs/report"},
    {"sweep", "[SPEC.json]", 0, 1, "Train many configurations; stop those that will not win",
     "out workers resume history rule replay data device json",
     "dotmatrix train sweep rates.json --workers 2"},
};

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
    const char *name = arguments->items[0];
    const char *what = arguments->count > 1 ? arguments->items[1] : NULL;
    for (int task = 0; task < DM_TRAIN_TASKS; task++)
        if (strcmp(name, dm_train_task_names[task]) == 0)
            return dm_train_run(o, (dm_train_task)task, err);
    if (strcmp(name, "agent") == 0)
        return dm_train_agent(o, err);
    if (strcmp(name, "data") == 0)
        return dm_train_data(o, err);
    if (strcmp(name, "eval") == 0)
        return dm_train_eval(o, what, err);
    if (strcmp(name, "sample") == 0)
        return dm_train_sample_text(o, what, err);
    if (strcmp(name, "export") == 0)
        return dm_train_export(o, what, err);
    if (strcmp(name, "sweep") == 0)
        return dm_train_sweep(o, what, err);
    return what == NULL ? dm_train_compare(o, err) : dm_train_report(o, what, negative, err);
}

const dm_command dm_command_train = {
    .name = "train",
    .summary = "Train XOR, a CNN, a GPT, or an agent that plays; prepare data, measure, sample",
    .arguments = "data|xor|cnn|gpt|agent|eval DIR|sample DIR|export DIR|report [TASK]|sweep SPEC",
    .arguments_min = 1,
    .arguments_max = 2,
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .options_size = sizeof(dm_train_options),
    .run = run,
};
