/* SPDX-License-Identifier: MIT */
/* device_gru.c - one step of the cell for a batch, on CUDA: which kernels, and their launch. */
#include "dynamics/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_VECTORS 8 /* that one warp of the small kernel takes */
/* Up to here the weights are read again for every 8 vectors, as measured on an H200. */
#define SMALL_BATCH 64
#define SMALL_WORK (64u * 512u) /* vectors times hidden units */
#define SMALL_WARPS 8

/* Shapes of the matrix kernel: vectors and rows of weights in a block, its threads, and the chunks
 * of columns that are on their way at once. */
static const struct shape {
    uint32_t vectors, rows, threads, stages;
} shapes[] = {{128, 96, 256, 3}, {64, 96, 128, 4}, {32, 48, 64, 5}};
#define SHAPES (sizeof shapes / sizeof shapes[0])

static uint32_t blocks_of(const struct shape *shape, uint32_t batch, uint32_t hidden,
                          uint32_t gates)
{
    uint32_t units = shape->rows / gates;
    return (batch + shape->vectors - 1) / shape->vectors * ((hidden + units - 1) / units);
}

/* The largest shape that still gives every multiprocessor a block. */
static const struct shape *choose_shape(const dm_dynamics_device *on, uint32_t batch)
{
    uint32_t enough = (uint32_t)dm_device_get_properties(on->device)->multiprocessors;
    for (size_t i = 0; i + 1 < SHAPES; i++) {
        if (on->gru_block > 0
                ? on->gru_block == (int)shapes[i].vectors
                : batch > shapes[i].vectors / 2 &&
                      blocks_of(&shapes[i], batch, on->model->config.hidden, 3) >= enough)
            return &shapes[i];
    }
    return &shapes[SHAPES - 1];
}

/* The matrix units need bfloat16: compute capability 8.0. */
static bool has_matrix(const dm_dynamics_device *on)
{
    return strtol(dm_device_get_properties(on->device)->arch + strlen("sm_"), NULL, 10) >= 80;
}

static dm_status prepare_small(dm_dynamics_device *on, dm_dyn_gru *g, dm_error *err)
{
    uint32_t batch = g->args.batch, vectors = 1;
    while (vectors < batch && vectors < SMALL_VECTORS)
        vectors *= 2;
    bool whole = on->model->config.kind == DM_GRU_RESET_LAST;
    static const char *const names[] = {"whole", "gates", "candidate"};
    dm_status status = DM_OK;
    int count = whole ? 1 : 2;
    g->count = count;
    for (int i = 0; i < count && status == DM_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "dm_gru_%s_%u", names[whole ? 0 : i + 1], vectors);
        status = dm_dyn_kernel_get(on, "dynamics/kernel_gru_small.h", "", name,
                                   &g->launches[i].function, err);
        g->launches[i].grid = (dm_grid){(g->args.hidden + SMALL_WARPS - 1) / SMALL_WARPS *
                                            ((batch + vectors - 1) / vectors),
                                        SMALL_WARPS * 32, 0};
    }
    return status;
}

static dm_status prepare_matrix(dm_dynamics_device *on, uint32_t member, dm_dyn_gru *g,
                                dm_error *err)
{
    const struct shape *shape = choose_shape(on, g->args.batch);
    bool whole = on->model->config.kind == DM_GRU_RESET_LAST;
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
        status = dm_dyn_kernel_get(on, "dynamics/kernel_gru_matrix.h", "", name,
                                   &g->launches[i].function, err);
        /* Rows of 80 bytes, each number in two parts. */
        g->launches[i].grid =
            (dm_grid){blocks_of(shape, g->args.batch, g->args.hidden, gates), shape->threads,
                      shape->stages * (shape->vectors + shape->rows) * 160};
    }
    return status;
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
    bool few = batch <= SMALL_BATCH && batch * c->hidden <= SMALL_WORK;
    bool small = on->gru_block == 0 ? few || !has_matrix(on) : on->gru_block < 0;
    return small ? prepare_small(on, g, err) : prepare_matrix(on, member, g, err);
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
    if (dm_device_get_properties(on->device)->kind == DM_DEVICE_CPU)
        return dm_dynamics_gru(on->model, member, batch, x, h, out, err);
    dm_dyn_gru g;
    dm_status status = dm_dyn_gru_stage(on, member, batch, x, h, &g, err);
    if (status == DM_OK)
        status = dm_dyn_gru_launch(on, &g, err);
    return status != DM_OK ? status : dm_dyn_gru_fetch(on, &g, out, err);
}
