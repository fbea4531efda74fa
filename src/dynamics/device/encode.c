/* SPDX-License-Identifier: MIT */
/* encode.c - many encoders on a device, and rollouts from their features. */
#include "base/require.h"
#include "dynamics/device/model.h"
#include "dynamics/encoder.h"

#include <stdlib.h>
#include <string.h>

struct dm_dynamics_encoders {
    dm_device *device;
    dm_stream *stream;
    size_t count;
    dm_module *module;
    dm_function *function;
    dm_device_buffer *states, *samples, *features;
    dm_dynamics_sample *host; /* page-locked: samples on their way */
};

/* The states are made on the host, a piece at a time. */
static dm_status init_states(dm_dynamics_encoders *e, uint32_t losses, uint32_t norms,
                             dm_error *err)
{
    dm_enc_state *state = malloc(sizeof *state);
    if (state == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_enc_init(state, losses, norms);
    dm_status status = DM_OK;
    for (size_t i = 0; i < e->count && status == DM_OK; i++)
        status =
            dm_stream_upload(e->stream, e->states, i * sizeof *state, state, sizeof *state, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(e->stream, err);
    free(state);
    return status;
}

dm_status dm_dynamics_encoders_create(dm_device *device, size_t count, uint32_t losses,
                                      uint32_t norms, dm_dynamics_encoders **out, dm_error *err)
{
    DM_REQUIRE(err, device);
    DM_REQUIRE(err, out);
    dm_dynamics_encoder *probe = NULL; /* checks the windows */
    dm_status status = dm_dynamics_encoder_create(losses, norms, &probe, err);
    dm_dynamics_encoder_destroy(probe);
    if (status != DM_OK)
        return status;
    if (count < 1 || count > UINT32_MAX)
        return dm_fail(err, DM_EINVAL, "encoders: %zu of them; 1 to 4294967295 are possible",
                       count);
    dm_dynamics_encoders *e = calloc(1, sizeof *e);
    if (e == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    static const dm_builtin_kernel builtins[] = {
        {"dm_encode_batch", dm_encode_batch, sizeof(dm_encode_args)}};
    e->device = device;
    e->stream = dm_device_stream(device);
    e->count = count;
    dm_module_desc desc = {
        .name = "dynamics/device/kernel_encode.h", .builtins = builtins, .builtin_count = 1};
    status = dm_module_create(device, &desc, &e->module, err);
    if (status == DM_OK)
        status = dm_module_function(e->module, "dm_encode_batch", &e->function, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(device, count * sizeof(dm_enc_state), &e->states, err);
    if (status == DM_OK)
        status =
            dm_device_buffer_create(device, count * sizeof(dm_dynamics_sample), &e->samples, err);
    if (status == DM_OK)
        status = dm_device_buffer_create(
            device, count * DM_DYNAMICS_ENCODER_FEATURES * sizeof(float), &e->features, err);
    if (status == DM_OK)
        status = dm_device_host_alloc(device, count * sizeof(dm_dynamics_sample), (void **)&e->host,
                                      err);
    if (status == DM_OK)
        status = init_states(e, losses, norms, err);
    if (status != DM_OK)
        dm_dynamics_encoders_destroy(e);
    else
        *out = e;
    return status;
}

void dm_dynamics_encoders_destroy(dm_dynamics_encoders *e)
{
    if (e == NULL)
        return;
    dm_stream_synchronize(e->stream, NULL);
    dm_module_destroy(e->module);
    dm_device_buffer_destroy(e->states);
    dm_device_buffer_destroy(e->samples);
    dm_device_buffer_destroy(e->features);
    dm_device_host_free(e->device, e->host);
    free(e);
}

static dm_status queue_update(dm_dynamics_encoders *e, const dm_dynamics_sample *samples,
                              dm_error *err)
{
    memcpy(e->host, samples, e->count * sizeof *samples);
    dm_encode_args args = {.count = e->count,
                           .states = dm_device_buffer_address(e->states),
                           .samples = dm_device_buffer_address(e->samples),
                           .features = dm_device_buffer_address(e->features)};
    dm_status status =
        dm_stream_upload(e->stream, e->samples, 0, e->host, e->count * sizeof *samples, err);
    return status != DM_OK ? status
                           : dm_function_launch(e->function, e->stream, dm_grid_for(e->count, 64),
                                                &args, sizeof args, err);
}

dm_status dm_dynamics_encoders_update(dm_dynamics_encoders *e, const dm_dynamics_sample *samples,
                                      float *features, dm_error *err)
{
    DM_REQUIRE(err, e);
    DM_REQUIRE(err, samples);
    dm_status status = queue_update(e, samples, err);
    if (status == DM_OK && features != NULL)
        status = dm_stream_download(e->stream, e->features, 0, features,
                                    e->count * DM_DYNAMICS_ENCODER_FEATURES * sizeof(float), err);
    /* The samples' memory is written again by the next call. */
    return status != DM_OK ? status : dm_stream_synchronize(e->stream, err);
}

dm_status dm_dynamics_device_forecast(dm_dynamics_device *on, dm_dynamics_encoders *e,
                                      const dm_dynamics_sample *samples, const float *hidden,
                                      dm_dynamics_forecast *out, dm_error *err)
{
    DM_REQUIRE(err, on);
    DM_REQUIRE(err, e);
    DM_REQUIRE(err, samples);
    DM_REQUIRE(err, out);
    const dm_dynamics_config *c = &on->model->config;
    if (c->input != DM_DYNAMICS_ENCODER_FEATURES || out->rollouts != e->count ||
        out->members != c->members || out->hidden != c->hidden || e->stream != on->stream)
        return dm_fail(err, DM_EINVAL,
                       "forecast: the model takes %u features of %u runs, there are %d of %zu, or "
                       "the devices differ",
                       c->input, out->rollouts, DM_DYNAMICS_ENCODER_FEATURES, e->count);
    dm_status status = queue_update(e, samples, err);
    const float *features = dm_device_buffer_address(e->features);
    if (status == DM_OK && dm_device_get_properties(on->device)->kind == DM_DEVICE_CPU)
        return dm_dynamics_rollout(on->model, features, hidden, out, err);
    return status == DM_OK ? dm_dyn_rollout_run(on, NULL, features, hidden, out, err) : status;
}
