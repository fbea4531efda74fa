/* SPDX-License-Identifier: MIT */
/* rollout.c - rollouts on CUDA: which kernel, and its launch.
 *
 * A few rollouts run on clusters of blocks (kernel_cluster.h, kernel_cluster_stream.h), which have the
 * least latency. Many run as tiles (kernel_batch.h), which use each weight read most often. A block for
 * each rollout (kernel_stream.h) runs the rest. choice.c decides. */
#include "base/require.h"
#include "dynamics/device/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The softmax of kernel_batch.h subtracts no maximum. |h| never grows beyond 1 or its first value, so
 * checking h0 is enough. */
static bool tame(const float *hidden, size_t n)
{
    for (size_t i = 0; hidden != NULL && i < n; i++)
        if (fabsf(hidden[i]) > 60)
            return false;
    return true;
}

/* ---- Choosing ---- */

static uint32_t choose_tile(const dm_dynamics_device *on, uint32_t rollouts)
{
    dm_dyn_gpu gpu = dm_dyn_gpu_of(dm_device_get_properties(on->device));
    return on->tile_rollouts != 0 ? on->tile_rollouts
                                  : dm_dyn_choose_tile(&gpu, &on->model->config, rollouts);
}

static uint32_t choose_cluster(const dm_dynamics_device *on, uint32_t rollouts)
{
    dm_dyn_gpu gpu = dm_dyn_gpu_of(dm_device_get_properties(on->device));
    return on->cluster_blocks != 0 ? on->cluster_blocks
                                   : dm_dyn_choose_cluster(&gpu, &on->model->config, rollouts);
}

static dm_dyn_variant choose_variant(const dm_dynamics_device *on, uint32_t rollouts,
                                     const float *hidden)
{
    const dm_dynamics_config *c = &on->model->config;
    dm_dyn_gpu gpu = dm_dyn_gpu_of(dm_device_get_properties(on->device));
    return on->variant != DM_DYN_VARIANT_AUTO
               ? on->variant
               : dm_dyn_choose_variant(&gpu, c, rollouts,
                                       tame(hidden, (size_t)rollouts * c->members * c->hidden));
}

/* ---- Launches ---- */

/* A cluster for each member of each rollout. */
static dm_status set_clusters(dm_dyn_rollout *r, uint32_t members, uint32_t blocks,
                              uint32_t threads, uint32_t shared, dm_error *err)
{
    const uint64_t all = (uint64_t)r->args.rollouts * members * blocks;
    if (all > INT32_MAX)
        return dm_fail(err, DM_EINVAL,
                       "rollout: %u rollouts of %u members; at most %" PRIu64 " rollouts",
                       r->args.rollouts, members, (uint64_t)INT32_MAX / blocks / members);
    r->launch.grid = (dm_grid){(uint32_t)all, threads, shared};
    r->launch.cluster_blocks = blocks;
    return DM_OK;
}

/* U is read again in every step. */
static dm_status prepare_cluster_stream(dm_dynamics_device *on, dm_dyn_rollout *r, dm_error *err)
{
    const dm_dynamics_config *c = &on->model->config;
    uint32_t P = (c->hidden + 511) / 512 * 512;
    char defines[64];
    snprintf(defines, sizeof defines, "DYN_P=%u DYN_RESET_LAST=%d", P,
             c->kind == DM_DYNAMICS_GRU_RESET_LAST);
    void *packed = NULL;
    dm_status status = dm_dyn_form_get(on, DM_DYN_FORM_ROWS, P, &packed, err);
    r->args.packed = packed;
    if (status == DM_OK)
        status = dm_dyn_kernel_get(on, "dynamics/device/kernel_cluster_stream.h", defines,
                                   "dm_rollout_cluster_stream", &r->launch.function, err);
    return status == DM_OK ? set_clusters(r, c->members, 16, 288, 0, err) : status;
}

static dm_status prepare_cluster(dm_dynamics_device *on, dm_dyn_rollout *r, dm_error *err)
{
    if (on->model->config.hidden > DM_DYN_RESIDENT_MAX)
        return prepare_cluster_stream(on, r, err);
    const dm_dynamics_config *c = &on->model->config;
    uint32_t P = (c->hidden + 127) / 128 * 128, C = choose_cluster(on, r->args.rollouts),
             units = P / C;
    bool in_shared = P > 384;
    char defines[128];
    snprintf(defines, sizeof defines,
             "DYN_P=%u DYN_C=%u DYN_N_SHARED=%d DYN_RESET_LAST=%d DYN_HEAD_EACH=%d%s", P, C,
             in_shared, c->kind == DM_DYNAMICS_GRU_RESET_LAST, on->head_each,
             on->profile ? " DYN_PROFILE=1" : "");
    void *packed = NULL;
    dm_status status = dm_dyn_form_get(on, DM_DYN_FORM_ROWS, P, &packed, err);
    r->args.packed = packed;
    if (status == DM_OK)
        status = dm_dyn_kernel_get(on, "dynamics/device/kernel_cluster.h", defines,
                                   "dm_rollout_cluster", &r->launch.function, err);
    if (status == DM_OK && on->profile)
        status = dm_dyn_reserve(on, &on->scratch, r->args.steps * 16 * sizeof(uint32_t), err);
    if (status == DM_OK && on->profile)
        r->args.scratch = dm_device_buffer_address(on->scratch);
    const uint32_t shared = in_shared ? units * P * (uint32_t)sizeof(float) : 0;
    if (status == DM_OK)
        status = set_clusters(r, c->members, C, (units / 4 + !on->head_each) * 32, shared, err);
    return status;
}

static dm_status prepare_batch(dm_dynamics_device *on, dm_dyn_rollout *r, dm_error *err)
{
    const dm_dynamics_config *c = &on->model->config;
    uint32_t P = dm_dyn_batch_padding(c->hidden), M = choose_tile(on, r->args.rollouts);
    if (M == 0)
        return dm_fail(err, DM_EUNSUPPORTED, "rollout: no tile of %u units fits into shared memory",
                       c->hidden);
    uint32_t blocks = (r->args.rollouts + 4 * M - 1) / (4 * M) * c->members;
    bool reset_last = c->kind == DM_DYNAMICS_GRU_RESET_LAST;
    char defines[128];
    snprintf(defines, sizeof defines, "DYN_P=%u DYN_M=%u DYN_RESET_LAST=%d", P, M, reset_last);
    void *packed = NULL;
    dm_status status = dm_dyn_form_get(on, DM_DYN_FORM_COLUMNS, P, &packed, err);
    r->args.packed = packed;
    if (status == DM_OK)
        status = dm_dyn_kernel_get(on, "dynamics/device/kernel_batch.h", defines,
                                   "dm_rollout_batch", &r->launch.function, err);
    if (status == DM_OK)
        status =
            dm_dyn_reserve(on, &on->scratch, (size_t)blocks * 3 * P * 4 * M * sizeof(float), err);
    if (status == DM_OK)
        r->args.scratch = dm_device_buffer_address(on->scratch);
    r->launch.grid = (dm_grid){blocks, 256, (uint32_t)dm_dyn_batch_shared_bytes(P, M, reset_last)};
    return status;
}

static dm_status prepare_stream(dm_dynamics_device *on, dm_dyn_rollout *r, dm_error *err)
{
    const dm_dynamics_config *c = &on->model->config;
    uint64_t shared = (6 * (uint64_t)c->hidden + c->stochastic + 32) * sizeof(float);
    uint64_t room = dm_device_get_properties(on->device)->shared_bytes_max;
    if (shared > room)
        return dm_fail(err, DM_EUNSUPPORTED,
                       "rollout: %u hidden units need %llu bytes of shared memory, %s has %llu",
                       c->hidden, (unsigned long long)shared,
                       dm_device_get_properties(on->device)->id, (unsigned long long)room);
    r->launch.grid = (dm_grid){r->args.rollouts * c->members, 1024, (uint32_t)shared};
    return dm_dyn_kernel_get(on, "dynamics/device/kernel_stream.h", "", "dm_rollout_stream",
                             &r->launch.function, err);
}

/* Inputs: features, then h0. Results: loss, entropy, norm, last. All in one buffer each. */
static void set_addresses(dm_dynamics_device *on, dm_dyn_rollout *r, bool has_hidden)
{
    size_t cells = (size_t)r->args.rollouts * r->args.members, Y = r->args.steps;
    const size_t *at = on->model->layout.offset;
    float *input = dm_device_buffer_address(on->input),
          *output = dm_device_buffer_address(on->output);
    float *scaling = dm_device_buffer_address(on->scaling);
    r->args.stride = on->model->layout.stride;
    r->args.at_w = at[DM_DYNAMICS_W];
    r->args.at_u = at[DM_DYNAMICS_U];
    r->args.at_b = at[DM_DYNAMICS_B];
    r->args.at_c = at[DM_DYNAMICS_C];
    r->args.at_projection = at[DM_DYNAMICS_PROJECTION];
    r->args.at_head = at[DM_DYNAMICS_HEAD];
    r->args.shift = scaling;
    r->args.scale = scaling + r->args.input;
    r->args.features = input;
    r->args.h0 = has_hidden ? input + (size_t)r->args.rollouts * r->args.input : NULL;
    r->args.loss = output;
    r->args.entropy = output + cells * Y;
    r->args.norm = output + 2 * cells * Y;
    r->args.last = output + 3 * cells * Y;
}

static dm_status prepare(dm_dynamics_device *on, dm_dyn_rollout *r, dm_error *err)
{
    return r->variant == DM_DYN_VARIANT_CLUSTER ? prepare_cluster(on, r, err)
           : r->variant == DM_DYN_VARIANT_BATCH ? prepare_batch(on, r, err)
                                                : prepare_stream(on, r, err);
}

dm_status dm_dyn_rollout_stage(dm_dynamics_device *on, const float *features,
                               const float *on_device, const float *hidden,
                               const dm_dynamics_forecast *shape, dm_dyn_rollout *r, dm_error *err)
{
    const dm_dynamics_config *c = &on->model->config;
    size_t cells = (size_t)shape->rollouts * c->members;
    size_t feature_bytes = (size_t)shape->rollouts * c->input * sizeof(float);
    size_t hidden_bytes = hidden != NULL ? cells * c->hidden * sizeof(float) : 0;
    size_t input_bytes = feature_bytes + hidden_bytes;
    size_t result_bytes = cells * (3 * (size_t)shape->steps + c->hidden) * sizeof(float);
    *r = (dm_dyn_rollout){.variant = choose_variant(on, shape->rollouts, hidden)};
    r->launch.cluster_blocks = 1;
    r->args = (dm_rollout_args){.rollouts = shape->rollouts,
                                .members = c->members,
                                .steps = shape->steps,
                                .input = c->input,
                                .hidden = c->hidden,
                                .stochastic = c->stochastic,
                                .reset_last = c->kind == DM_DYNAMICS_GRU_RESET_LAST,
                                .projection = c->projection};
    void *plain = NULL;
    dm_status status = dm_dyn_reserve(on, &on->input, input_bytes, err);
    if (status == DM_OK)
        status = dm_dyn_reserve(on, &on->output, result_bytes, err);
    if (status == DM_OK)
        status = dm_dyn_reserve_host(on, &on->host_input, &on->host_input_size, input_bytes, err);
    if (status == DM_OK)
        status =
            dm_dyn_reserve_host(on, &on->host_output, &on->host_output_size, result_bytes, err);
    if (status == DM_OK)
        status = dm_dyn_form_get(on, DM_DYN_FORM_PLAIN, 0, &plain, err);
    if (status != DM_OK)
        return status;
    r->args.weights = plain;
    set_addresses(on, r, hidden != NULL);
    size_t skipped = features == NULL ? feature_bytes : 0; /* they are there */
    if (features == NULL)
        r->args.features = on_device;
    else
        memcpy(on->host_input, features, feature_bytes);
    if (hidden != NULL)
        memcpy((char *)on->host_input + feature_bytes, hidden, hidden_bytes);
    if (input_bytes > skipped)
        status = dm_stream_upload(on->stream, on->input, skipped, (char *)on->host_input + skipped,
                                  input_bytes - skipped, err);
    return status != DM_OK ? status : prepare(on, r, err);
}

dm_status dm_dyn_rollout_launch(dm_dynamics_device *on, const dm_dyn_rollout *r, dm_error *err)
{
    return dm_function_launch_clusters(r->launch.function, on->stream, r->launch.grid,
                                       r->launch.cluster_blocks, &r->args, sizeof r->args, err);
}

static dm_status fetch(dm_dynamics_device *on, const dm_dyn_rollout *r, dm_dynamics_forecast *out,
                       dm_error *err)
{
    size_t cells = (size_t)r->args.rollouts * r->args.members, Y = r->args.steps;
    size_t size = cells * (3 * Y + r->args.hidden) * sizeof(float);
    const float *host = on->host_output;
    dm_status status = dm_stream_download(on->stream, on->output, 0, on->host_output, size, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(on->stream, err);
    if (status != DM_OK)
        return status;
    memcpy(out->loss, host, cells * Y * sizeof(float));
    memcpy(out->entropy, host + cells * Y, cells * Y * sizeof(float));
    memcpy(out->hidden_norm, host + 2 * cells * Y, cells * Y * sizeof(float));
    memcpy(out->hidden_last, host + 3 * cells * Y, cells * r->args.hidden * sizeof(float));
    return DM_OK;
}

dm_status dm_dyn_rollout_run(dm_dynamics_device *on, const float *features, const float *on_device,
                             const float *hidden, dm_dynamics_forecast *out, dm_error *err)
{
    dm_dyn_rollout r;
    dm_status status = dm_dyn_rollout_stage(on, features, on_device, hidden, out, &r, err);
    if (status == DM_OK)
        status = dm_dyn_rollout_launch(on, &r, err);
    if (status == DM_OK)
        status = fetch(on, &r, out, err);
    if (status == DM_OK)
        dm_dynamics_forecast_aggregate(out);
    return status;
}

dm_status dm_dynamics_device_rollout(dm_dynamics_device *on, const float *features,
                                     const float *hidden, dm_dynamics_forecast *out, dm_error *err)
{
    DM_REQUIRE(err, on);
    DM_REQUIRE(err, features);
    DM_REQUIRE(err, out);
    const dm_dynamics_config *c = &on->model->config;
    if (dm_device_get_properties(on->device)->kind == DM_DEVICE_CPU)
        return dm_dynamics_rollout(on->model, features, hidden, out, err);
    if (out->members != c->members || out->hidden != c->hidden)
        return dm_fail(err, DM_EINVAL, "rollout: the results were made for another model");
    return dm_dyn_rollout_run(on, features, NULL, hidden, out, err);
}
