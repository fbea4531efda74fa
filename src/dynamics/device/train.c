/* SPDX-License-Identifier: MIT */
/* train.c - learning from many sequences at a time, on a device: gradients by bptt.c,
 * then clipping and the optimiser, without a copy of the weights to the host. */
#include "base/require.h"
#include "dynamics/device/bptt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct dm_dynamics_batch_trainer {
    dm_dynamics *model;
    dm_dynamics_trainer_config config;
    uint64_t updates;
    dm_bptt bptt;
    dm_device_buffer *first, *second; /* moments [E][stride] */
    dm_device_buffer *sums;           /* [E][DM_UPDATE_PARTS] sums of squares, then [E] factors */
    double *objectives;               /* [E][sequences], on the host */
    size_t objective_room;
};

dm_status dm_dynamics_batch_trainer_create(dm_device *device, dm_dynamics *model,
                                           const dm_dynamics_trainer_config *config,
                                           dm_dynamics_batch_trainer **out, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, model);
    DM_REQUIRE(err, config);
    DM_REQUIRE(err, out);
    dm_status status = dm_dynamics_trainer_config_check(config, err);
    if (status != DM_OK)
        return status;
    dm_dynamics_batch_trainer *t = calloc(1, sizeof *t);
    if (t == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    size_t E = model->config.members, size = E * model->layout.stride * sizeof(float);
    t->model = model;
    t->config = *config;
    status = dm_bptt_init(&t->bptt, device, model, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(device, size, &t->first, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(device, size, &t->second, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(
            device, E * (DM_UPDATE_PARTS * sizeof(double) + sizeof(float)), &t->sums, err);
    if (status == DM_OK)
        status = dm_stream_fill(t->bptt.stream, t->first, 0, 0, size, err);
    if (status == DM_OK)
        status = dm_stream_fill(t->bptt.stream, t->second, 0, 0, size, err);
    if (status != DM_OK)
        dm_dynamics_batch_trainer_destroy(t);
    else
        *out = t;
    return status;
}

void dm_dynamics_batch_trainer_destroy(dm_dynamics_batch_trainer *t)
{
    if (t == NULL)
        return;
    dm_bptt_deinit(&t->bptt); /* waits */
    dm_device_buffer_destroy(t->first);
    dm_device_buffer_destroy(t->second);
    dm_device_buffer_destroy(t->sums);
    free(t->objectives);
    free(t);
}

dm_status dm_dynamics_batch_trainer_set_learning_rate(dm_dynamics_batch_trainer *t, float rate,
                                                      dm_error *err)
{
    DM_REQUIRE(err, t);
    return dm_dynamics_trainer_config_set_rate(&t->config, rate, err);
}

/* Clip every member's gradient and move its weights against it. */
static dm_status update(dm_dynamics_batch_trainer *t, dm_error *err)
{
    const dm_dynamics_trainer_config *c = &t->config;
    uint32_t E = t->model->config.members;
    double steps = (double)++t->updates, correct1 = 1 - pow((double)c->beta1, steps),
           correct2 = sqrt(1 - pow((double)c->beta2, steps));
    bool sgd = c->optimiser == DM_DYNAMICS_OPTIMISER_SGD;
    double *partial = dm_device_buffer_address(t->sums);
    dm_update_args args = {.members = E,
                           .sgd = sgd,
                           .total = t->model->layout.total,
                           .stride = t->model->layout.stride,
                           .weights = dm_device_buffer_address(t->bptt.weights),
                           .first = dm_device_buffer_address(t->first),
                           .second = dm_device_buffer_address(t->second),
                           .grad = t->bptt.args.grad,
                           .partial = partial,
                           .factor = (float *)(void *)(partial + (size_t)E * DM_UPDATE_PARTS),
                           .clip = c->clip,
                           .rate = sgd ? c->learning_rate
                                       : (float)((double)c->learning_rate * correct2 / correct1),
                           .beta1 = c->beta1,
                           .beta2 = c->beta2,
                           .epsilon = (float)((double)c->epsilon * correct2)};
    const struct {
        dm_bptt_kernel kernel;
        uint64_t items;
    } launches[] = {{DM_BPTT_SQUARES, (uint64_t)E * DM_UPDATE_PARTS},
                    {DM_BPTT_CLIP, E},
                    {DM_BPTT_UPDATE, E * args.total}};
    dm_status status = DM_OK;
    for (size_t i = 0; i < 3 && status == DM_OK; i++)
        status = dm_bptt_launch(&t->bptt, launches[i].kernel, launches[i].items, &args, sizeof args,
                                err);
    return status;
}

/* The objectives of all cells, which also waits for everything. */
static dm_status read_objective(dm_dynamics_batch_trainer *t, size_t cells, float *objective,
                                dm_error *err)
{
    if (t->objective_room < cells) {
        double *more = realloc(t->objectives, cells * sizeof *more);
        if (more == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        t->objectives = more;
        t->objective_room = cells;
    }
    dm_status status = dm_bptt_read(&t->bptt, t->bptt.args.objective, t->objectives,
                                    cells * sizeof *t->objectives, err);
    double sum = 0;
    for (size_t i = 0; i < cells && status == DM_OK; i++)
        sum += t->objectives[i];
    if (status == DM_OK && objective != NULL)
        *objective = (float)(sum / t->model->config.members);
    return status;
}

dm_status dm_dynamics_batch_trainer_sequences(dm_dynamics_batch_trainer *t, uint32_t sequences,
                                              const float *features, uint32_t forced,
                                              uint32_t steps, uint32_t from, const float *targets,
                                              const float *hidden, float *objective, dm_error *err)
{
    DM_REQUIRE(err, t);
    DM_REQUIRE(err, features);
    DM_REQUIRE(err, targets);
    dm_bptt *b = &t->bptt;
    if (from >= steps)
        return dm_fail(err, DM_EINVAL, "trainer: %u steps, scored from %u", steps, from);
    dm_status status = dm_bptt_forward(b, sequences, forced, steps, features, hidden, err);
    if (status != DM_OK)
        return status;
    size_t cells = (size_t)sequences * t->model->config.members;
    b->args.from = from;
    status = dm_stream_upload(b->stream, b->input, b->input_targets * sizeof(float), targets,
                              (size_t)sequences * steps * sizeof(float), err);
    if (status == DM_OK)
        status = dm_bptt_launch(b, DM_BPTT_OBJECTIVE, cells, &b->args, sizeof b->args, err);
    if (status == DM_OK)
        status = dm_bptt_backward(b, NULL, err);
    if (status == DM_OK)
        status = update(t, err);
    return status != DM_OK ? status : read_objective(t, cells, objective, err);
}

dm_status dm_dynamics_batch_trainer_hidden(dm_dynamics_batch_trainer *t, uint32_t steps,
                                           float *hidden, dm_error *err)
{
    DM_REQUIRE(err, t);
    DM_REQUIRE(err, hidden);
    const dm_bptt_args *a = &t->bptt.args;
    size_t E = a->members, R = a->sequences, H = a->hidden;
    if (R == 0 || steps > a->steps)
        return dm_fail(err, DM_EINVAL, "trainer: hidden states after %u of %u steps", steps,
                       a->steps);
    float *member = malloc(R * H * sizeof *member); /* the device has them by member */
    if (member == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = DM_OK;
    for (size_t e = 0; e < E && status == DM_OK; e++) {
        const float *from = a->h + (e * (a->steps + 1) + steps) * R * H;
        status = dm_bptt_read(&t->bptt, from, member, R * H * sizeof *member, err);
        for (size_t r = 0; r < R && status == DM_OK; r++)
            memcpy(hidden + (r * E + e) * H, member + r * H, H * sizeof *hidden);
    }
    free(member);
    return status;
}

dm_status dm_dynamics_batch_trainer_fetch(dm_dynamics_batch_trainer *t, dm_error *err)
{
    DM_REQUIRE(err, t);
    size_t size = t->model->config.members * t->model->layout.stride * sizeof(float);
    dm_status status =
        dm_stream_download(t->bptt.stream, t->bptt.weights, 0, t->model->weights, size, err);
    return status != DM_OK ? status : dm_stream_synchronize(t->bptt.stream, err);
}
