/* SPDX-License-Identifier: MIT */
/* dynamics_updates.c - times of updates: a batch of sequences on the device, beside one sequence with
 * the CPU's vectorised loops. */
#include "cli/dynamics/dynamics_bench.h"

#include "base/philox.h"
#include "dynamics/curve/view.h"

#include <stdio.h>
#include <stdlib.h>

/* What is taught: sequences of `steps` steps, the first `forced` of them with features. */
typedef struct lesson {
    uint32_t members, hidden, input, steps, forced;
} lesson;
static const lesson large = {5, 256, 64, 50, 25};
/* That of the curve model which follows a run (dynamics/curve/stream.h). */
static const lesson followed = {5, 32, DM_VIEW_FEATURES, DM_VIEW_STEPS, DM_VIEW_PAST};

typedef struct learn_work {
    lesson what;
    dm_dynamics *model;
    dm_dynamics_trainer *one;
    dm_dynamics_batch_trainer *many;
    uint32_t sequences;
    float *features, *targets;
} learn_work;

static dm_status run_one(void *user, dm_error *err)
{
    learn_work *w = user;
    return dm_dynamics_trainer_sequence(w->one, w->features, w->what.forced, w->what.steps, 0,
                                        w->targets, NULL, err);
}

static dm_status run_many(void *user, dm_error *err)
{
    learn_work *w = user;
    return dm_dynamics_batch_trainer_sequences(w->many, w->sequences, w->features, w->what.forced,
                                               w->what.steps, 0, w->targets, NULL, NULL, err);
}

static dm_status make_data(learn_work *w, dm_error *err)
{
    size_t given = (size_t)w->sequences * w->what.forced * w->what.input;
    size_t wanted = (size_t)w->sequences * w->what.steps;
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
static dm_status measure_update(dm_dyn_bench *b, lesson what, uint32_t sequences, bool on_device,
                                dm_error *err)
{
    dm_dynamics_trainer_config how = DM_DYNAMICS_TRAINER_DEFAULT;
    dm_dynamics_config config = DM_DYNAMICS_DEFAULT;
    learn_work w = {.what = what, .sequences = sequences};
    double us = 0;
    config.members = what.members;
    config.hidden = what.hidden;
    config.input = what.input;
    config.stochastic = what.hidden < config.stochastic ? what.hidden : config.stochastic;
    dm_status status = dm_dynamics_create(&config, 7, &w.model, err);
    if (status == DM_OK)
        status = make_data(&w, err);
    if (status == DM_OK)
        status = on_device
                     ? dm_dynamics_batch_trainer_create(b->device, w.model, &how, &w.many, err)
                     : dm_dynamics_trainer_create(w.model, &how, &w.one, err);
    if (status == DM_OK)
        status = dm_bench_time_host(on_device ? run_many : run_one, &w, 5000, &us, err);
    if (status == DM_OK) {
        printf("  %5u sequences of %u steps, %u members, h%u, %-6s %10.1f us  %9.1f us each\n",
               sequences, what.steps, what.members, what.hidden, on_device ? "device" : "loops", us,
               us / sequences);
        dm_json_begin_object(&b->json, NULL);
        dm_json_uint(&b->json, "sequences", sequences);
        dm_json_uint(&b->json, "steps", what.steps);
        dm_json_uint(&b->json, "members", what.members);
        dm_json_uint(&b->json, "hidden", what.hidden);
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
    dm_status status = measure_update(b, large, 1, false, err);
    for (size_t i = 0; i < most && status == DM_OK; i++)
        status = measure_update(b, large, counts[i], true, err);
    if (status == DM_OK)
        status = measure_update(b, followed, 1, false, err);
    if (status == DM_OK && b->cuda)
        status = measure_update(b, followed, 1, true, err);
    dm_json_end_array(&b->json);
    return status;
}
