/* SPDX-License-Identifier: MIT */
/* dynamics_updates.c - times of updates: a batch of sequences on the device, beside one sequence with
 * the CPU's vectorised loops. */
#include "cli/dynamics/dynamics_bench.h"

#include "base/philox.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 50, FORCED = 25 };

typedef struct learn_work {
    dm_dynamics *model;
    dm_dynamics_trainer *one;
    dm_dynamics_batch_trainer *many;
    uint32_t sequences;
    float *features, *targets;
} learn_work;

static dm_status run_one(void *user, dm_error *err)
{
    learn_work *w = user;
    return dm_dynamics_trainer_sequence(w->one, w->features, FORCED, STEPS, 0, w->targets, NULL,
                                        err);
}

static dm_status run_many(void *user, dm_error *err)
{
    learn_work *w = user;
    return dm_dynamics_batch_trainer_sequences(w->many, w->sequences, w->features, FORCED, STEPS, 0,
                                               w->targets, NULL, NULL, err);
}

static dm_status make_data(learn_work *w, dm_error *err)
{
    size_t given = (size_t)w->sequences * FORCED * dm_dynamics_get_config(w->model)->input;
    size_t wanted = (size_t)w->sequences * STEPS;
    w->features = malloc(given * sizeof *w->features);
    w->targets = malloc(wanted * sizeof *w->targets);
    if (w->features == NULL || w->targets == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    for (size_t i = 0; i < given; i++)
        w->features[i] = 2 * dm_random_unit(dm_random4(5, 1, i).v[0]) - 1;
    for (size_t i = 0; i < wanted; i++)
        w->targets[i] = 0.5f + dm_random_unit(dm_random4(5, 2, i).v[0]);
    return DM_OK;
}

/* `on_device` false: the CPU's trainer, one sequence. */
static dm_status measure_update(dm_dyn_bench *b, uint32_t sequences, bool on_device, dm_error *err)
{
    dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
    learn_work w = {.sequences = sequences};
    double us = 0;
    dm_status status =
        dm_dynamics_create(&(dm_dynamics_config)DM_DYNAMICS_DEFAULT, 7, &w.model, err);
    if (status == DM_OK)
        status = make_data(&w, err);
    if (status == DM_OK)
        status = on_device
                     ? dm_dynamics_batch_trainer_create(b->device, w.model, &how, &w.many, err)
                     : dm_dynamics_trainer_create(w.model, &how, &w.one, err);
    if (status == DM_OK)
        status = dm_bench_time_host(on_device ? run_many : run_one, &w, 5000, &us, err);
    if (status == DM_OK) {
        printf("  %5u sequences of %d steps, 5 members, h256, %-6s %10.1f us  %9.1f us each\n",
               sequences, STEPS, on_device ? "device" : "loops", us, us / sequences);
        dm_json_begin_object(&b->json, NULL);
        dm_json_uint(&b->json, "sequences", sequences);
        dm_json_uint(&b->json, "steps", STEPS);
        dm_json_string(&b->json, "by", on_device ? "device" : "loops");
        dm_json_double(&b->json, "wall_us", us);
        dm_json_end_object(&b->json);
    }
    dm_dynamics_trainer_destroy(w.one);
    dm_dynamics_batch_trainer_destroy(w.many);
    dm_dynamics_destroy(w.model);
    free(w.features);
    free(w.targets);
    return status;
}

dm_status dm_bench_part_train(dm_dyn_bench *b, dm_error *err)
{
    static const uint32_t counts[] = {1, 16, 64, 256, 1024};
    size_t most = !b->cuda ? 0 : b->quick ? 3 : 5; /* the CPU's own loops are its fast ones */
    printf("updates of the weights\n");
    dm_json_begin_array(&b->json, "train");
    dm_status status = measure_update(b, 1, false, err);
    for (size_t i = 0; i < most && status == DM_OK; i++)
        status = measure_update(b, counts[i], true, err);
    dm_json_end_array(&b->json);
    return status;
}
