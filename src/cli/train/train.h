/* SPDX-License-Identifier: MIT */
/* train.h - the options of `dotmatrix train`, and its actions (train_*.c). */
#ifndef DM_CLI_TRAIN_TRAIN_H
#define DM_CLI_TRAIN_TRAIN_H

#include "cli/command.h"
#include "train/trainer.h"

typedef struct dm_train_options {
    const char *folder, *wheels, *images, *labels, *text;                 /* data */
    const char *device, *config, *out, *resume, *import, *prompt, *trace; /* the others */
    const char *tasks;                                                    /* report */
    const char *rule;                                                     /* sweep */
    const char *rom, *reward, *obs, *policy, *envs, *play, *gif, *lives;  /* agent */
    dm_strings set, data, history, replay, given;
    int64_t eval, scale, frames, skip;
    int64_t classes, steps, until, seed, seeds, tokens, top_k, workers;
    double temperature;
    bool fields, plan, average, twice, json, predict, quick;
} dm_train_options;

bool dm_train_given(const dm_train_options *o, const char *name);
/* DM_EINVAL, "--NAME WHY", when one of these options (the last is NULL) was given. */
dm_status dm_train_refuse(const dm_train_options *o, const char *const *names, const char *why,
                          dm_error *err);
/* The configuration of a task: preset, --config, --set, --steps, --seed, in this order. */
dm_status dm_train_read_config(const dm_train_options *o, dm_train_task task, dm_train_config *out,
                               dm_error *err);
/* The first of runs/NAME-1, -2 ... that is not there; `out` has DM_PATH_MAX bytes. */
dm_status dm_train_choose_folder(const char *name, char *out, dm_error *err);
dm_status dm_train_data(const dm_train_options *o, dm_error *err);
dm_status dm_train_run(const dm_train_options *o, dm_train_task task, dm_error *err);
dm_status dm_train_eval(const dm_train_options *o, const char *folder, dm_error *err);
dm_status dm_train_sample_text(const dm_train_options *o, const char *folder, dm_error *err);
dm_status dm_train_export(const dm_train_options *o, const char *folder, dm_error *err);
/* The report (train/report): the cost of training to a target loss, by every method. */
dm_status dm_train_compare(const dm_train_options *o, dm_error *err);
/* Several seeds of one task: figures of each and of all; with --twice whether bits repeat. */
dm_status dm_train_report(const dm_train_options *o, const char *task, bool *negative,
                          dm_error *err);

/* An agent on a game: train, measure, film. */
dm_status dm_train_agent(const dm_train_options *o, dm_error *err);

/* A sweep of the file `path` (NULL with --resume), or --replay. */
dm_status dm_train_sweep(const dm_train_options *o, const char *path, dm_error *err);

#endif
