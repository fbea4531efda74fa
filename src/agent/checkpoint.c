/* SPDX-License-Identifier: MIT */
/* checkpoint.c - see checkpoint.h. */
#include "agent/checkpoint.h"

#include "agent/learner_internal.h"
#include "train/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 12 };

typedef struct array {
    const char *name;
    float *at; /* device memory */
    uint64_t count;
    float *copy;
} array;

/* How many there are: those that are empty are left out. */
static int list(dm_agent_learner *l, array out[ARRAYS])
{
    uint64_t room = l->policy.parameter_room;
    const array all[ARRAYS] = {
        {"weights", l->parameters, room, NULL},
        {"first", l->first, room, NULL},
        {"second", l->second, room, NULL},
        {"observations", (float *)(void *)(l->observations + l->T * l->N * l->row_bytes),
         l->N * l->row_bytes / sizeof(float), NULL},
        {"score", l->score, l->N, NULL},
        {"length", l->length, l->N, NULL},
        {"practice", l->practice, l->N, NULL},
        {"states", l->states, l->N * l->policy.state, NULL},
        {"starts", (float *)(void *)(l->starts + l->T * l->N),
         l->policy.state > 0 ? (l->N + 3) / 4 : 0, NULL},
        {"seen", l->seen, l->config.normalise_obs ? 3 * l->policy.numbers : 0, NULL},
        {"gains", l->gains, l->config.normalise_rewards ? 3 : 0, NULL},
        {"running", l->running, l->config.normalise_rewards ? l->N : 0, NULL},
    };
    int count = 0;
    for (int i = 0; i < ARRAYS; i++)
        if (all[i].count > 0)
            out[count++] = all[i];
    return count;
}

dm_status dm_agent_checkpoint_save(dm_agent_learner *l, const char *path, const char *config,
                                   dm_error *err)
{
    array arrays[ARRAYS];
    dm_safetensor tensors[ARRAYS] = {0};
    dm_checkpoint where = {.model = "agent",
                           .config = config,
                           .step = l->updates,
                           .seed = l->config.seed,
                           .position = l->optimiser_steps};
    int count = list(l, arrays);
    dm_status status = DM_OK;
    for (int i = 0; i < count && status == DM_OK; i++) {
        size_t bytes = arrays[i].count * sizeof(float);
        arrays[i].copy = malloc(bytes);
        status = arrays[i].copy
                     ? dm_agent_learner_copy(l, arrays[i].copy, arrays[i].at, bytes, false, err)
                     : dm_fail(err, DM_ENOMEM, "agent: no memory for a checkpoint");
        tensors[i] = (dm_safetensor){.name = arrays[i].name,
                                     .type = DM_SAFETENSORS_F32,
                                     .dimensions = 1,
                                     .shape = {arrays[i].count},
                                     .data = arrays[i].copy};
    }
    if (status == DM_OK)
        status = dm_checkpoint_save(path, &where, tensors, (size_t)count, err);
    for (int i = 0; i < count; i++)
        free(arrays[i].copy);
    return status;
}

dm_status dm_agent_checkpoint_load(dm_agent_learner *l, const char *path, dm_error *err)
{
    array arrays[ARRAYS];
    dm_checkpoint where;
    dm_safetensors *file = NULL;
    int count = list(l, arrays);
    dm_status status = dm_checkpoint_load(path, "agent", &where, &file, err);
    for (int i = 0; i < count && status == DM_OK; i++) {
        const dm_safetensor *t = dm_safetensors_find(file, arrays[i].name);
        if (t == NULL || t->type != DM_SAFETENSORS_F32 || t->dimensions != 1)
            status = dm_fail(err, DM_EFORMAT, "%s: has no numbers called %s", path, arrays[i].name);
        else if (t->shape[0] != arrays[i].count)
            status = dm_fail(err, DM_EFORMAT,
                             "%s: of another network or number of machines (%s has %" PRIu64
                             " numbers, not %" PRIu64 ")",
                             path, arrays[i].name, t->shape[0], arrays[i].count);
    }
    for (int i = 0; i < count && status == DM_OK; i++)
        status = dm_agent_learner_copy(
            l, arrays[i].at, (void *)(uintptr_t)dm_safetensors_find(file, arrays[i].name)->data,
            arrays[i].count * sizeof(float), true, err);
    if (status == DM_OK) {
        l->updates = where.step;
        l->optimiser_steps = where.position;
    }
    dm_safetensors_close(file);
    return status;
}
