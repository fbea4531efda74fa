/* SPDX-License-Identifier: MIT */
/* conv_tiled.c - launches conv_tiled.h. */
#include "nn/cuda/conv_tiled_plan.h"
#include "nn/cuda/internal.h"

enum { THREADS = 192, DW_THREADS = 256, GROUP_MAX = 8, CHUNKS_MAX = 512, CHANNELS_MAX = 128 };
/* A block that leaves room for another one. */
#define SHARED_GOOD ((uint64_t)100 * 1024)

typedef struct sizes {
    uint64_t fixed, per_sample; /* words of shared memory */
    uint64_t places, rounds;    /* of a sample; how often its places are gone through */
} sizes;

static uint64_t fours(uint64_t n)
{
    return (n + 3) / 4 * 4;
}

static sizes sizes_of(const nn_conv_tiled_args *a, nn_conv_pass pass)
{
    uint64_t taps = (uint64_t)a->I * a->K * a->K, P = (uint64_t)a->OH * a->OW;
    uint64_t image = (uint64_t)a->I * a->H * a->row;
    if (pass == NN_CONV_FORWARD)
        return (sizes){taps * a->tiles * 16 + fours(taps), image, P, a->tiles};
    if (pass == NN_CONV_DW)
        return (sizes){fours(taps) + image + P * (a->tiles * 16 + 4) + DW_THREADS, 0, P, 1};
    uint64_t J = (a->K + a->stride - 1) / a->stride, rests = (uint64_t)a->stride * a->stride;
    uint64_t HQ = (a->H + a->stride - 1) / a->stride, WQ = a->Wp;
    taps = a->O * J * J;
    return (sizes){rests * taps * a->tiles * 16 + fours(taps), a->O * (HQ + J - 1) * (WQ + J - 1),
                   HQ * WQ, rests * a->tiles};
}

/* The share of threads that have work when `group` samples are taken at a time. */
static double use_of(const sizes *z, uint64_t group)
{
    uint64_t work = (group * z->places + 1) / 2 * z->rounds;
    return (double)work / (double)((work + THREADS - 1) / THREADS * THREADS);
}

bool dm_nn_conv_plan(const dm_nn_conv *s, nn_conv_pass pass, uint32_t multiprocessors,
                     uint64_t shared_bytes, nn_conv_plan *out)
{
    nn_conv_tiled_args a = {.B = s->B,
                            .I = s->I,
                            .H = s->H,
                            .W = s->W,
                            .O = s->O,
                            .K = s->K,
                            .stride = s->stride,
                            .OH = (s->H - s->K) / s->stride + 1,
                            .OW = (s->W - s->K) / s->stride + 1,
                            .activation = (uint32_t)s->activation,
                            .add_dx = s->add_dx};
    a.Wp = (s->W + s->stride - 1) / s->stride;
    a.row = s->stride * a.Wp;
    a.tiles = ((pass == NN_CONV_DX ? s->I : s->O) + 15) / 16;
    if (s->O > CHANNELS_MAX || s->I > CHANNELS_MAX || s->K > 16)
        return false;
    sizes z = sizes_of(&a, pass);
    if ((z.fixed + z.per_sample) * 4 > shared_bytes)
        return false;
    uint32_t group = 1, blocks;
    if (pass == NN_CONV_DW) {
        uint64_t items = ((uint64_t)s->I * s->K * s->K + 1) / 2 * a.tiles;
        a.item_blocks = (uint32_t)((items + DW_THREADS - 1) / DW_THREADS);
        group = (s->B + CHUNKS_MAX - 1) / CHUNKS_MAX;
        a.groups = (s->B + group - 1) / group;
        blocks = a.groups * a.item_blocks;
    } else {
        for (uint32_t g = 2; g <= GROUP_MAX && g <= s->B; g++)
            if ((z.fixed + g * z.per_sample) * 4 <= SHARED_GOOD &&
                use_of(&z, g) > use_of(&z, group) + 0.03)
                group = g;
        a.groups = (s->B + group - 1) / group;
        blocks = a.groups < multiprocessors * 8 ? a.groups : multiprocessors * 8;
    }
    a.group = group;
    uint64_t words = z.fixed + (pass == NN_CONV_DW ? 0 : group * z.per_sample);
    *out = (nn_conv_plan){
        a, {blocks, pass == NN_CONV_DW ? DW_THREADS : THREADS, (uint32_t)(words * 4)}};
    return true;
}

static bool plan(const dm_nn_exec *e, const dm_nn_conv *s, nn_conv_pass pass, nn_conv_plan *out)
{
    const dm_nn_cuda *state = e->state;
    const dm_device_properties *gpu = dm_device_get_properties(state->device);
    return dm_nn_conv_plan(s, pass, (uint32_t)gpu->multiprocessors, gpu->shared_bytes_max, out);
}

static size_t weights(const dm_nn_conv *s)
{
    return (size_t)s->O * s->I * s->K * s->K;
}

size_t dm_nn_cuda_tiled_scratch(const dm_nn_exec *e, const dm_nn_conv *s)
{
    nn_conv_plan p;
    return plan(e, s, NN_CONV_DW, &p) ? (weights(s) + s->O) * p.args.groups * sizeof(float) : 0;
}

dm_status dm_nn_cuda_tiled(dm_nn_exec *e, const dm_nn_conv *s, const void *x, const void *w,
                           const void *b, void *y, bool *done, dm_error *err)
{
    nn_conv_plan p;
    if (!(*done = plan(e, s, NN_CONV_FORWARD, &p)))
        return DM_OK;
    p.args.x = x, p.args.w = w, p.args.b = b, p.args.out = y;
    return NN_LAUNCH(e, conv_tiled, p.grid, &p.args, err);
}

dm_status dm_nn_cuda_tiled_dx(dm_nn_exec *e, const dm_nn_conv *s, const void *w, const void *dy,
                              void *dx, bool *done, dm_error *err)
{
    nn_conv_plan p;
    if (!(*done = plan(e, s, NN_CONV_DX, &p)))
        return DM_OK;
    p.args.w = w, p.args.y = dy, p.args.out = dx;
    return NN_LAUNCH(e, conv_tiled_dx, p.grid, &p.args, err);
}

dm_status dm_nn_cuda_tiled_dw(dm_nn_exec *e, const dm_nn_conv *s, const void *x, const void *dy,
                              float *dw, float *db, bool *done, dm_error *err)
{
    nn_conv_plan p;
    if (!(*done = plan(e, s, NN_CONV_DW, &p)))
        return DM_OK;
    float *partial = e->scratch, *biases = partial + weights(s) * p.args.groups;
    p.args.x = x, p.args.y = dy, p.args.dw = partial, p.args.db = db != NULL ? biases : NULL;
    dm_status status = NN_LAUNCH(e, conv_tiled_dw, p.grid, &p.args, err);
    nn_partials_args sum = {
        .partial = partial, .out = dw, .chunks = p.args.groups, .O = (uint32_t)weights(s)};
    if (status == DM_OK)
        status = dm_nn_cuda_partials(e, &sum, err);
    sum = (nn_partials_args){.partial = biases, .out = db, .chunks = p.args.groups, .O = s->O};
    return status != DM_OK || db == NULL ? status : dm_nn_cuda_partials(e, &sum, err);
}
