/* SPDX-License-Identifier: MIT */
/* task.c - what tasks have in common. */
#include "train/task/task.h"

#include <stdlib.h>

void dm_task_init(dm_task *task, const dm_train_config *config)
{
    static const dm_task_kind *const kinds[DM_TRAIN_TASKS] = {&dm_task_xor, &dm_task_cnn,
                                                              &dm_task_gpt};
    *task = (dm_task){.kind = kinds[config->task], .config = *config};
}

void dm_task_deinit(dm_task *task)
{
    if (task->kind != NULL)
        task->kind->unload(task);
    free(task->layers);
    free(task->names);
    *task = (dm_task){0};
}

dm_status dm_task_take_layers(dm_task *task, size_t count, dm_error *err)
{
    free(task->layers);
    free(task->names);
    task->layers = calloc(count, sizeof *task->layers);
    task->names = calloc(count, sizeof *task->names);
    task->layer_count = count;
    if (task->layers == NULL || task->names == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory for %zu layers", count);
    return DM_OK;
}

dm_nn_model_desc dm_task_model(const dm_task *task, uint32_t batch)
{
    const dm_train_config *c = &task->config;
    for (size_t i = 0; i < task->layer_count; i++)
        task->layers[i].name = task->names[i][0] != 0 ? task->names[i] : NULL;
    return (dm_nn_model_desc){
        .layers = task->layers,
        .layer_count = task->layer_count,
        .input = {task->input[0], task->input[1], task->input[2]},
        .batch = batch > 0 ? batch : (uint32_t)c->batch,
        .microbatches = batch > 0 ? 1 : (uint32_t)c->microbatches,
        .shards = batch > 0 ? 0 : (uint32_t)c->shards,
        .loss = task->loss,
        .precision = (dm_nn_precision)c->precision,
        .seed = c->seed,
        .optimiser = {.kind = (dm_nn_optimiser_kind)c->optimiser,
                      .rate = (float)c->rate,
                      .momentum =
                          (float)(c->optimiser == DM_NN_MUON ? c->muon_momentum : c->momentum),
                      .beta1 = (float)c->beta1,
                      .beta2 = (float)c->beta2,
                      .epsilon = (float)c->epsilon,
                      .decay = (float)c->decay,
                      .clip = (float)c->clip,
                      .average = (float)c->average,
                      .others = (float)c->others},
    };
}

/* Rows of a batch whose largest output is that of their target. */
static uint64_t count_right(const float *outputs, const int32_t *targets, size_t rows,
                            size_t classes)
{
    uint64_t right = 0;
    for (size_t r = 0; r < rows; r++) {
        const float *row = outputs + r * classes;
        size_t best = 0;
        for (size_t c = 1; c < classes; c++)
            best = row[c] > row[best] ? c : best;
        right += targets[r] >= 0 && best == (size_t)targets[r];
    }
    return right;
}

dm_status dm_task_measure(const dm_task *task, dm_nn_model *model, uint64_t count,
                          dm_task_fill fill, double *loss, uint64_t *right, dm_error *err)
{
    size_t classes = dm_nn_model_outputs(model), rows = dm_nn_model_rows(model);
    size_t rows_each = task->target_size / sizeof(int32_t), batch = rows / rows_each;
    char *input = calloc(batch, task->input_size);
    int32_t *target = malloc(batch * task->target_size);
    float *output = right != NULL ? malloc(rows * classes * sizeof *output) : NULL;
    dm_status status = DM_OK;
    if (input == NULL || target == NULL || (right != NULL && output == NULL))
        status = dm_fail(err, DM_ENOMEM, "out of memory for a batch of %zu", batch);
    double total = 0;
    uint64_t counted = 0, correct = 0;
    for (uint64_t at = 0; at < count && status == DM_OK; at += batch) {
        uint64_t counts = 0;
        float mean = 0;
        for (size_t i = 0; i < rows; i++)
            target[i] = -1;
        for (size_t b = 0; b < batch && at + b < count; b++)
            fill(task, at + b, input + b * task->input_size, target + b * rows_each);
        for (size_t i = 0; i < rows; i++)
            counts += target[i] >= 0;
        status = dm_nn_model_evaluate(model, input, target, output, &mean, err);
        if (status == DM_OK && right != NULL)
            correct += count_right(output, target, rows, classes);
        total += (double)mean * (double)counts;
        counted += counts;
    }
    *loss = counted > 0 ? total / (double)counted : 0;
    if (right != NULL)
        *right = correct;
    free(input);
    free(target);
    free(output);
    return status;
}
