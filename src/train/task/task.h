/* SPDX-License-Identifier: MIT */
/* task.h - a task is what the trainer trains: a model, an order of samples, a measure.
 *
 *     kind->describe   configuration ─► layers with names, input, loss
 *     kind->load       files         ─► samples and their hash
 *     kind->sample     position      ─► one sample, a pure function of seed and position
 *     kind->evaluate   model         ─► "val_loss", "accuracy" ...
 *     kind->held_out   model         ─► the loss that proposals are checked by
 *
 * One trainer (trainer.h) runs every task; a task is one file, task_<name>.c. */
#ifndef DM_TRAIN_TASK_H
#define DM_TRAIN_TASK_H

#include "base/hash.h"
#include "train/config.h"
#include "train/metrics.h"

#define DM_TASK_METRICS_MAX 4
#define DM_TASK_NAME_MAX 64

typedef struct dm_task dm_task;

typedef struct dm_task_kind {
    const char *name;
    const char *unit; /* what is counted: "images", "tokens" */
    /* The layers of `task->config`; all that can be wrong with it is refused here. A text's
     * vocabulary (task->vocabulary) is known by then. */
    dm_status (*describe)(dm_task *task, dm_error *err);
    /* The user's files or folders; with none what the cache folder has. */
    dm_status (*load)(dm_task *task, const char *const *paths, size_t count, dm_error *err);
    void (*unload)(dm_task *task);
    void (*sample)(const dm_task *task, uint64_t position, void *input, void *target);
    /* Of a model that this task described, whatever its batch. */
    dm_status (*evaluate)(const dm_task *task, dm_nn_model *model, dm_metric *metrics,
                          size_t *count, dm_error *err);
    /* The mean loss of the `held` samples that are kept apart from training. */
    dm_status (*held_out)(const dm_task *task, dm_nn_model *model, double *loss, dm_error *err);
} dm_task_kind;

struct dm_task {
    const dm_task_kind *kind;
    dm_train_config config;
    /* describe */
    dm_nn_layer *layers;
    char (*names)[DM_TASK_NAME_MAX]; /* of layers with parameters, as in PyTorch */
    size_t layer_count;
    uint32_t input[3];
    dm_nn_loss loss;
    const char *position_name; /* of an embedding's positions */
    bool transposed;           /* files have the weights of linear layers as [inputs][outputs] */
    size_t input_size, target_size; /* bytes of a sample */
    uint64_t units;                 /* that a sample counts as */
    /* load */
    uint64_t samples; /* in an epoch */
    uint64_t held;    /* samples for checks of proposals; 0 without predict */
    char hash[DM_HASH_HEX_SIZE];
    char about[256];        /* one line: "5000 images of 28x28, 10000 to test on" */
    uint32_t vocabulary;    /* of tokens */
    uint32_t alphabet_size; /* characters: token i is the byte alphabet[i]; 0: byte pairs */
    uint8_t alphabet[256];
    void *data; /* the kind's own */
};

/* By the configuration's task; nothing is loaded or described yet. */
void dm_task_init(dm_task *task, const dm_train_config *config);
void dm_task_deinit(dm_task *task);

/* What nn needs to make the model. `batch` 0: the configuration's; another batch is for evaluating,
 * and has no microbatches. */
dm_nn_model_desc dm_task_model(const dm_task *task, uint32_t batch);

/* For kinds: take memory for so many layers, DM_ENOMEM. */
dm_status dm_task_take_layers(dm_task *task, size_t count, dm_error *err);

/* For kinds whose loss is softmax: `count` samples, given by `fill`, through the model a batch at a
 * time; rows that fill up the last batch have the target -1. *loss is the mean over all rows that
 * count; `right` (may be NULL) how many of them have the largest output at their target. */
typedef void (*dm_task_fill)(const dm_task *task, uint64_t index, void *input, void *target);
dm_status dm_task_measure(const dm_task *task, dm_nn_model *model, uint64_t count,
                          dm_task_fill fill, double *loss, uint64_t *right, dm_error *err);

extern const dm_task_kind dm_task_xor, dm_task_cnn, dm_task_gpt;

#endif
