/* SPDX-License-Identifier: MIT */
/* trainer_case.c - see trainer_case.h. */
#include "tests/train/trainer_case.h"
#include "base/file.h"
#include "tests/support/killed.h"
#include "tests/support/tmpdir.h"
#include "tests/train/small.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dm_train_config trainer_config(dm_train_task task)
{
    static const char *const settings[DM_TRAIN_TASKS][12] = {
        {"steps=60", "checkpoint_every=20"},
        {"steps=40", "batch=16", "channels=4", "classes=4", "eval_every=15", "checkpoint_every=10",
         "log_every=3", "average=0.9", "rate=0.02"},
        {"steps=24", "batch=4", "layers=2", "heads=2", "width=16", "context=16", "warmup=4",
         "eval_every=10", "checkpoint_every=7", "log_every=5", "eval_windows=8", "rate=0.01"},
    };
    dm_train_config config;
    assert_ok(dm_train_config_preset(task, NULL, &config, err));
    for (int i = 0; i < 12 && settings[task][i] != NULL; i++)
        assert_ok(dm_train_config_set(&config, settings[task][i], err));
    return config;
}

dm_training_options trainer_options(const char *device, const char *const *data, const char *folder)
{
    return (dm_training_options){
        .device = device, .data = data, .data_count = data[0] != NULL ? 1 : 0, .folder = folder};
}

void trainer_whole(const dm_train_config *config, const dm_training_options *options,
                   dm_training_state *out)
{
    dm_training *training = NULL;
    assert_ok(dm_training_create(config, options, &training, err));
    assert_ok(dm_training_run(training, err));
    if (out != NULL)
        *out = *dm_training_where(training);
    dm_training_destroy(training);
}

/* ---- Learning ---- */

void trainer_solves_xor(const char *device)
{
    dm_train_config config;
    assert_ok(dm_train_config_preset(DM_TRAIN_XOR, NULL, &config, err));
    int solved = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        float weights[2][17];
        double accuracy = 0;
        config.seed = seed;
        for (int time = 0; time < 2; time++) {
            dm_training *training = NULL;
            dm_training_options options = {.device = device};
            assert_ok(dm_training_create(&config, &options, &training, err));
            assert_ok(dm_training_run(training, err));
            const dm_training_state *s = dm_training_where(training);
            assert_string_equal(s->metrics[1].name, "accuracy");
            accuracy = s->metrics[1].value;
            dm_nn_model *model = dm_training_model(training);
            assert_int_equal(dm_nn_model_size(model), 17);
            size_t at = 0;
            for (size_t k = 0; k < dm_nn_model_parameter_count(model); k++) {
                assert_ok(dm_nn_model_read(model, k, DM_NN_VALUE, weights[time] + at, err));
                at += dm_nn_model_parameter(model, k)->count;
            }
            dm_training_destroy(training);
        }
        assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
        solved += accuracy == 1;
    }
    if (solved < 19)
        fail_msg("XOR was solved with %d of 20 seeds", solved);
}

void trainer_learns_images(void **state, const char *device)
{
    const char *data = small_data(state, DM_TRAIN_CNN);
    dm_train_config config = trainer_config(DM_TRAIN_CNN);
    dm_training_options options = trainer_options(device, &data, NULL);
    dm_training_state s;
    dm_training *training = NULL;
    config.steps = 60;
    assert_ok(dm_training_create(&config, &options, &training, err));
    assert_string_equal(dm_training_task(training)->about, "100 images of 12x12, 37 to test with");
    assert_ok(dm_training_run(training, err));
    s = *dm_training_where(training);
    assert_string_equal(s.metrics[1].name, "accuracy");
    if (!(s.metrics[1].value > 0.9))
        fail_msg("accuracy %g", s.metrics[1].value);
    dm_training_destroy(training);
}

void trainer_learns_text(void **state, const char *device)
{
    const char *data = small_data(state, DM_TRAIN_GPT);
    dm_train_config config = trainer_config(DM_TRAIN_GPT);
    dm_training_options options = trainer_options(device, &data, NULL);
    dm_training_state s;
    config.steps = 80;
    dm_training *training = NULL;
    assert_ok(dm_training_create(&config, &options, &training, err));
    double first = log(dm_training_task(training)->vocabulary);
    assert_ok(dm_training_run(training, err));
    s = *dm_training_where(training);
    assert_string_equal(s.metrics[0].name, "val_loss");
    if (!(s.metrics[0].value < 0.7 * first))
        fail_msg("validation loss %g, %g to begin with", s.metrics[0].value, first);
    dm_training_destroy(training);
}

/* ---- The same bits ---- */

/* The files of an unfinished run are those that a watcher copies away. (A shorter run that is then
 * prolonged is another run: its schedule ends earlier.) */
typedef struct copier {
    uint64_t at;
    const char *from, *to;
} copier;

static void copy_checkpoint(void *user, const dm_training_state *s)
{
    const copier *c = user;
    char from[DM_PATH_MAX], to[DM_PATH_MAX], *bytes = NULL;
    size_t size = 0;
    static const char *const names[] = {DM_TRAINING_CHECKPOINT, "metrics.jsonl"};
    /* The metrics of a later step than the checkpoint's, as a kill leaves them. */
    for (int i = 0; i < 2; i++) {
        if (s->step != c->at + (i == 0 ? 0 : 3))
            continue;
        assert_true(i == 1 || s->saved);
        assert_ok(dm_dir_create(c->to, err));
        assert_ok(dm_path_join(from, c->from, names[i], err));
        assert_ok(dm_path_join(to, c->to, names[i], err));
        assert_ok(dm_file_read(from, 0, &bytes, &size, err));
        assert_ok(dm_file_write(to, bytes, size, err));
        free(bytes);
    }
}

/* Runs that predict: proposals after a short warm-up, whatever the confidence. */
static void predict(dm_train_config *config)
{
    static const char *const settings[] = {
        "predict=1",   "predict.warmup_steps=6",     "predict.full_steps=3",
        "steps=60",    "predict.proposal_checked=4", "predict.confidence_needed=0",
        "average=0",   "predict.ensemble_hidden=8",  "predict.ensemble_fit=4",
        "log_every=1", "predict.verdict_steps=4",    "predict.proposal_every=1"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        assert_ok(dm_train_config_set(config, settings[i], err));
}

void trainer_resumes(void **state, const char *device, const char *other_device)
{
    /* The second three predict; the last is a GPT with Muon. */
    enum { MUON = 2 * DM_TRAIN_TASKS };
    static const uint64_t at[MUON + 1] = {20, 30, 14, 20, 20, 21, 14};
    for (int run = 0; run <= MUON; run++) {
        char name[32], other[32];
        int task = run == MUON ? DM_TRAIN_GPT : run % DM_TRAIN_TASKS;
        snprintf(name, sizeof name, "whole-%d", run);
        snprintf(other, sizeof other, "cut-%d", run);
        const char *whole = dm_test_path(state, name), *cut = dm_test_path(state, other);
        const char *data = small_data(state, (dm_train_task)task), *none = NULL;
        dm_train_config config = trainer_config((dm_train_task)task);
        if (run == MUON)
            config.optimiser = DM_NN_MUON;
        else if (run >= DM_TRAIN_TASKS)
            predict(&config);
        copier c = {at[run], whole, cut};
        dm_training_options options = trainer_options(device, &data, whole);
        options.watch = copy_checkpoint;
        options.user = &c;
        trainer_whole(&config, &options, NULL);
        dm_training *training = NULL;
        dm_training_options resumed = trainer_options(other_device, &none, cut);
        assert_ok(dm_training_resume(&resumed, task, 0, &training, err));
        assert_int_equal(dm_training_where(training)->step, at[run]);
        assert_ok(dm_training_run(training, err));
        dm_training_destroy(training);
        dm_test_same_file(whole, cut, DM_TRAINING_CHECKPOINT);
        dm_test_same_file(whole, cut, "metrics.jsonl");
        dm_test_same_file(whole, cut, "model.safetensors");
    }
}

/* All weights and their averages at a run's end. */
static float *weights_after(const dm_train_config *config, const dm_training_options *options,
                            size_t *count, uint64_t *proposed)
{
    dm_training *training = NULL;
    assert_ok(dm_training_create(config, options, &training, err));
    assert_ok(dm_training_run(training, err));
    dm_nn_model *model = dm_training_model(training);
    const dm_predictive *p = dm_training_predictive(training);
    *count = 2 * dm_nn_model_size(model);
    *proposed = p != NULL ? dm_predictive_counts(p)->rejected : 0;
    float *all = calloc(*count, sizeof *all), *to = all;
    assert_non_null(all);
    for (int part = 0; part < 2; part++)
        for (size_t k = 0; k < dm_nn_model_parameter_count(model); k++) {
            assert_ok(dm_nn_model_read(model, k, part ? DM_NN_AVERAGE : DM_NN_VALUE, to, err));
            to += dm_nn_model_parameter(model, k)->count;
        }
    dm_training_destroy(training);
    return all;
}

void trainer_refused_is_plain(void **state, const char *device)
{
    const char *data = small_data(state, DM_TRAIN_GPT);
    dm_train_config plain = trainer_config(DM_TRAIN_GPT), predictive;
    dm_training_options options = trainer_options(device, &data, NULL);
    size_t count, other;
    uint64_t none, refused;
    plain.steps = 60;
    predictive = plain;
    predict(&predictive);
    predictive.rules.proposal_margin = 1; /* nothing is ever good enough */
    predictive.rules.monitor_loss_critical = predictive.rules.monitor_loss_warning = 1000;
    plain.average = predictive.rules.proposal_average;
    float *a = weights_after(&plain, &options, &count, &none);
    float *b = weights_after(&predictive, &options, &other, &refused);
    assert_int_equal(none, 0);
    assert_true(refused > 2);
    assert_int_equal(count, other);
    assert_memory_equal(a, b, count * sizeof *a);
    free(b);
    /* Where evaluations look at all of the validation text, windows to train on are held out. */
    predictive.eval_windows = 0;
    b = weights_after(&predictive, &options, &other, &refused);
    assert_true(refused > 2);
    assert_true(memcmp(a, b, count * sizeof *a) != 0);
    free(a);
    free(b);
}
