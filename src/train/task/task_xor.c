/* SPDX-License-Identifier: MIT */
/* task_xor.c - exclusive or: 2 inputs, a tanh layer, a sigmoid. Its four rows are its data. */
#include "train/data/order.h"
#include "train/task/task.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 4 };
static const float inputs[ROWS][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
static const float targets[ROWS] = {0, 1, 1, 0};

static dm_status describe(dm_task *task, dm_error *err)
{
    dm_status status = dm_task_take_layers(task, 2, err);
    if (status != DM_OK)
        return status;
    /* Sequential(Linear, Tanh, Linear); the sigmoid is the loss's. */
    task->layers[0] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR,
                                    .size = (uint32_t)task->config.hidden,
                                    .activation = DM_NN_TANH};
    task->layers[1] = (dm_nn_layer){.kind = DM_NN_LAYER_LINEAR, .size = 1};
    snprintf(task->names[0], DM_TASK_NAME_MAX, "0");
    snprintf(task->names[1], DM_TASK_NAME_MAX, "2");
    task->input[0] = 2;
    task->loss = DM_NN_LOSS_SIGMOID;
    task->input_size = sizeof inputs[0];
    task->target_size = sizeof targets[0];
    task->units = 1;
    return DM_OK;
}

static dm_status load(dm_task *task, const char *const *paths, size_t count, dm_error *err)
{
    if (count > 0)
        return dm_fail(err, DM_EINVAL, "xor has its data in itself; --data %.200s is for others",
                       paths[0]);
    task->samples = ROWS;
    task->held = task->config.predict ? ROWS : 0;
    dm_hash128_hex(dm_hash128_of(targets, sizeof targets), task->hash);
    snprintf(task->about, sizeof task->about, "four rows");
    return DM_OK;
}

static void unload(dm_task *task)
{
    (void)task;
}

static void sample(const dm_task *task, uint64_t position, void *input, void *target)
{
    uint64_t row = dm_order_at(task->config.seed, position / ROWS, ROWS, position % ROWS);
    memcpy(input, inputs[row], sizeof inputs[row]);
    memcpy(target, &targets[row], sizeof targets[row]);
}

/* -log of the probability that sigmoid(z) gives the target. */
static double cross_entropy(double z, double target)
{
    return (z > 0 ? z : 0) - z * target + log1p(exp(-fabs(z)));
}

static dm_status evaluate(const dm_task *task, dm_nn_model *model, dm_metric *metrics,
                          size_t *count, dm_error *err)
{
    (void)task;
    size_t batch = dm_nn_model_rows(model);
    float *input = malloc(batch * sizeof inputs[0]), *output = malloc(batch * sizeof *output);
    dm_status status = DM_OK;
    double loss = 0;
    int right = 0;
    if (input == NULL || output == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory for a batch of %zu", batch);
    for (size_t at = 0; at < ROWS && status == DM_OK; at += batch) {
        for (size_t b = 0; b < batch; b++)
            memcpy(input + 2 * b, inputs[(at + b) % ROWS], sizeof inputs[0]);
        status = dm_nn_model_evaluate(model, input, NULL, output, NULL, err);
        for (size_t b = 0; b < batch && at + b < ROWS && status == DM_OK; b++) {
            loss += cross_entropy((double)output[b], (double)targets[at + b]) / ROWS;
            right += (output[b] > 0) == (targets[at + b] > 0.5f);
        }
    }
    metrics[0] = (dm_metric){"val_loss", loss};
    metrics[1] = (dm_metric){"accuracy", (double)right / ROWS};
    *count = 2;
    free(input);
    free(output);
    return status;
}

/* Four rows are too few to keep one apart. */
static dm_status held_out(const dm_task *task, dm_nn_model *model, double *loss, dm_error *err)
{
    dm_metric metrics[DM_TASK_METRICS_MAX];
    size_t count;
    dm_status status = evaluate(task, model, metrics, &count, err);
    *loss = metrics[0].value;
    return status;
}

const dm_task_kind dm_task_xor = {
    .name = "xor",
    .unit = "rows",
    .describe = describe,
    .load = load,
    .unload = unload,
    .sample = sample,
    .evaluate = evaluate,
    .held_out = held_out,
};
