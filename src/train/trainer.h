/* SPDX-License-Identifier: MIT */
/* trainer.h - one run of training, of any task: steps, measures, files; from the beginning or from
 * a checkpoint. Start here, then task.h.
 *
 *     configuration + data ─► task ─► model
 *     each step: samples at `progress * batch + i` in the order of the data (progress: the step; predictions add to it) ─► nn's step
 *     now and then: metrics.jsonl, TensorBoard's events, an evaluation, a checkpoint
 *
 *     config.h    fields (fields.def) and presets       task/     xor, cnn, gpt
 *     data/       files to samples, shuffling           predict/  the predictive trainer
 *     sweep/      many runs, the worst stopped early    report/   methods compared by cost
 *
 * With `predict` (predict/predictive.h) the predictive trainer decides what each turn does.
 *
 * A step depends on the checkpoint and the data alone. So a run that was killed and resumed, with any
 * number of threads, writes the same metrics.jsonl and the same weights.
 *
 * A run's folder:
 *     checkpoint.safetensors   weights, optimiser state, where the run is; replaced atomically
 *     metrics.jsonl            loss, rate, gradient norm, evaluations; the same bits every time
 *     events.out.tfevents.*    the same and the speed, for TensorBoard
 *     model.safetensors        at the end: the weights alone
 *     loss.png                 where gnuplot is installed */
#ifndef DM_TRAIN_TRAINER_H
#define DM_TRAIN_TRAINER_H

#include "base/safetensors.h"
#include "train/predict/predictive.h"
#include "train/task/task.h"

#define DM_TRAINING_CHECKPOINT "checkpoint.safetensors"

/* Where a run is. */
typedef struct dm_training_state {
    uint64_t step; /* turns that were done; without predict each is a step of the optimiser */
    /* Steps that were made or that proposals stand for, and how many the run has: with predict
     * `progress` may jump and go back. */
    uint64_t progress, steps;
    uint64_t units; /* images or tokens of the steps done by this process */
    double seconds; /* that these steps took, evaluations and files not counted */
    double busy;    /* with options.count_busy: processor time of this thread in them */
    double loss;    /* of the step; NaN in a turn without one */
    double rate, norm;
    const dm_predict_turn *turn; /* NULL without predict */
    const dm_metric *metrics;    /* of an evaluation after this step; */
    size_t metric_count;         /* 0: there was none */
    bool saved;                  /* a checkpoint of this step is in the folder */
} dm_training_state;

typedef struct dm_training_options {
    const char *device;
    const char *const *data; /* the user's files or folders */
    size_t data_count;
    const char *folder; /* for the run's files; NULL: none are written */
    const char *import; /* weights to begin with; NULL: by the seed */
    /* The curve model that predictive runs begin with (the rule predict.ensemble_pretrained); NULL:
     * a new ensemble. A run is resumed with the same. */
    const char *forecaster;
    const char *trace; /* a file for where the time goes (trace.h); NULL: none */
    /* dm_training_run ends with a checkpoint once this many turns were done (dm_training_state.step);
     * 0: at the last step. A run that is taken up again goes on to the same bits. */
    uint64_t until;
    bool count_busy; /* costs a call of the system in every step */
    /* Called after each step; may be NULL. */
    void (*watch)(void *user, const dm_training_state *state);
    void *user;
} dm_training_options;

typedef struct dm_training dm_training;

/* A new run. A folder that has a checkpoint already is DM_EINVAL. */
dm_status dm_training_create(const dm_train_config *config, const dm_training_options *options,
                             dm_training **out, dm_error *err);
/* Go on where the folder's checkpoint is, with the configuration and data that it names (or
 * `options->data`, which must hold the same). `task` < 0: whichever it is. `steps` 0: as many as
 * were planned; another number changes schedules that end with the last step. */
dm_status dm_training_resume(const dm_training_options *options, int task, uint64_t steps,
                             dm_training **out, dm_error *err);
/* To the last step, or until dm_stop_requested: then it saves, says so with dm_stop_kept, and
 * returns DM_OK. */
dm_status dm_training_run(dm_training *training, dm_error *err);
void dm_training_destroy(dm_training *training);

const dm_task *dm_training_task(const dm_training *training);
dm_nn_model *dm_training_model(dm_training *training);
/* NULL without predict. */
const dm_predictive *dm_training_predictive(const dm_training *training);
/* Of the last step that was done, with its evaluation at the end. */
const dm_training_state *dm_training_where(const dm_training *training);
/* Evaluate now; the averaged weights where there are some. */
dm_status dm_training_evaluate(dm_training *training, dm_metric *metrics, size_t *count,
                               dm_error *err);

/* A checkpoint's task, described, but without data: to make a model of another batch from. The
 * caller closes `*file`. */
dm_status dm_training_open(const char *folder, dm_task *task, dm_safetensors **file, uint64_t *step,
                           dm_error *err);

#endif
