/* SPDX-License-Identifier: MIT */
/* gru.c - one step of the cell for a batch, on CUDA: which kernels, and their launch. */
#include "base/require.h"
#include "dynamics/device/model.h"

#include <stdio.h>

static dm_status prepare_small(dm_dynamics_device *on, dm_dyn_gru *g, dm_error *err)
{
    uint32_t batch = g->args.batch, vectors = 1;
    while (vectors < batch && vectors < DM_DYN_SMALL_VECTORS)
        vectors *= 2;
    bool whole = on->model->config.kind == DM_DYNAMICS_GRU_RESET_LAST;
    static const char *const names[] = {"whole", "gates", "candidate"};
    dm_status status = DM_OK;
    int count = whole ? 1 : 2;
    g->count = count;
    for (int i = 0; i < count && status == DM_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "dm_gru_%s_%u", names[whole ? 0 : i + 1], vectors);
        status = dm_dyn_kernel_get(on, "dynamics/device/kernel_gru_small.h", "", name,
                                   &g->launches[i].function, err);
        g->launches[i].grid = (dm_grid){(g->args.hidden + DM_DYN_SMALL_WARPS - 1) /
                                            DM_DYN_SMALL_WARPS * ((batch + vectors - 1) / vectors),
                                        DM_DYN_SMALL_WARPS * 32, 0};
    }
    return status;
}

static dm_status prepare_matrix(dm_dynamics_device *on, const dm_dyn_shape *shape, uint32_t member,
                                dm_dyn_gru *g, dm_error *err)
{
    bool whole = on->model->config.kind == DM_DYNAMICS_GRU_RESET_LAST;
    void *packed = NULL;
    dm_status status = dm_dyn_form_get(on, DM_DYN_FORM_SPLIT, 0, &packed, err);
    g->args.input_p = (g->args.input + 31) / 32 * 32;
    g->args.hidden_p = (g->args.hidden + 31) / 32 * 32;
    size_t part = 3 * (size_t)g->args.hidden * (g->args.input_p + g->args.hidden_p);
    g->args.high = (const uint16_t *)packed + member * 2 * part;
    g->args.low = g->args.high + part;
    g->count = whole ? 1 : 2;
    for (int i = 0; i < g->count && status == DM_OK; i++) {
        uint32_t gates = whole ? 3 : i == 0 ? 2 : 1;
        char name[48];
        snprintf(name, sizeof name, "dm_gru_matrix_%u_%u", shape->vectors, gates);
        status = dm_dyn_kernel_get(on, "dynamics/device/kernel_gru_matrix.h", "", name,
                                   &g->launches[i].function, err);
        g->launches[i].grid =
            (dm_grid){dm_dyn_shape_blocks(shape, g->args.batch, g->args.hidden, gates),
                      shape->threads, dm_dyn_shape_shared_bytes(shape)};
    }
    return status;
}

/* NULL: the small kernel. */
static const dm_dyn_shape *choose(const dm_dynamics_device *on, uint32_t batch)
{
    dm_dyn_gpu gpu = dm_dyn_gpu_of(dm_device_get_properties(on->device));
    if (on->gru_block == 0)
        return dm_dyn_choose_gru(&gpu, &on->model->config, batch);
    for (size_t i = 0; i < DM_DYN_SHAPES; i++)
        if (on->gru_block == (int)dm_dyn_shapes[i].vectors)
            return &dm_dyn_shapes[i];
    return NULL;
}

/* Memory: x and h in the input buffer; the result, then z and q, in the output buffer. */
dm_status dm_dyn_gru_stage(dm_dynamics_device *on, uint32_t member, size_t batch, const float *x,
                           const float *h, dm_dyn_gru *g, dm_error *err)
{
    const dm_dynamics_config *c = &on->model->config;
    const size_t *at = on->model->layout.offset;
    size_t x_bytes = batch * c->input * sizeof(float), h_bytes = batch * c->hidden * sizeof(float);
    if (member >= c->members || batch == 0 || batch > INT32_MAX)
        return dm_fail(err, DM_EINVAL, "gru: member %u of %u, batch %zu", member, c->members,
                       batch);
    *g = (dm_dyn_gru){.args = {.batch = (uint32_t)batch, .input = c->input, .hidden = c->hidden}};
    void *plain = NULL;
    size_t x_room = (x_bytes + 255) / 256 * 256; /* h is aligned like x */
    dm_status status = dm_dyn_reserve(on, &on->input, x_room + h_bytes, err);
    if (status == DM_OK)
        status = dm_dyn_reserve(on, &on->output, 3 * h_bytes, err);
    if (status == DM_OK)
        status = dm_dyn_form_get(on, DM_DYN_FORM_PLAIN, 0, &plain, err);
    if (status == DM_OK)
        status = dm_stream_upload(on->stream, on->input, 0, x, x_bytes, err);
    if (status == DM_OK)
        status = dm_stream_upload(on->stream, on->input, x_room, h, h_bytes, err);
    if (status != DM_OK)
        return status;
    const float *weights = (const float *)plain + member * on->model->layout.stride;
    g->args.W = weights + at[DM_DYNAMICS_W];
    g->args.U = weights + at[DM_DYNAMICS_U];
    g->args.b = weights + at[DM_DYNAMICS_B];
    g->args.c = weights + at[DM_DYNAMICS_C];
    g->args.x = dm_device_buffer_address(on->input);
    g->args.h = g->args.x + x_room / sizeof(float);
    g->args.out = dm_device_buffer_address(on->output);
    g->args.z = g->args.out + batch * c->hidden;
    g->args.q = g->args.z + batch * c->hidden;
    const dm_dyn_shape *shape = choose(on, g->args.batch);
    return shape == NULL ? prepare_small(on, g, err) : prepare_matrix(on, shape, member, g, err);
}

dm_status dm_dyn_gru_launch(dm_dynamics_device *on, const dm_dyn_gru *g, dm_error *err)
{
    dm_status status = DM_OK;
    for (int i = 0; i < g->count && status == DM_OK; i++)
        status = dm_function_launch(g->launches[i].function, on->stream, g->launches[i].grid,
                                    &g->args, sizeof g->args, err);
    return status;
}

dm_status dm_dyn_gru_fetch(dm_dynamics_device *on, const dm_dyn_gru *g, float *out, dm_error *err)
{
    size_t size = (size_t)g->args.batch * g->args.hidden * sizeof(float);
    dm_status status = dm_stream_download(on->stream, on->output, 0, out, size, err);
    return status != DM_OK ? status : dm_stream_synchronize(on->stream, err);
}

dm_status dm_dynamics_device_gru(dm_dynamics_device *on, uint32_t member, size_t batch,
                                 const float *x, const float *h, float *out, dm_error *err)
{
    DM_REQUIRE(err, on);
    DM_REQUIRE_SOME(err, x, batch);
    DM_REQUIRE_SOME(err, h, batch);
    DM_REQUIRE_SOME(err, out, batch);
    if (dm_device_get_properties(on->device)->kind == DM_DEVICE_CPU)
        return dm_dynamics_gru(on->model, member, batch, x, h, out, err);
    dm_dyn_gru g;
    dm_status status = dm_dyn_gru_stage(on, member, batch, x, h, &g, err);
    if (status == DM_OK)
        status = dm_dyn_gru_launch(on, &g, err);
    return status != DM_OK ? status : dm_dyn_gru_fetch(on, &g, out, err);
}
