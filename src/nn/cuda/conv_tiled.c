/* SPDX-License-Identifier: MIT */
/* conv_tiled.c - launches conv_mma.h, or conv_tiled.h where that does not fit. */
#include "nn/cuda/conv_tiled_plan.h"
#include "nn/cuda/internal.h"

#include <assert.h>

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
        return (sizes){fours(taps) + fours(image) + P * (a->tiles * 16 + 4) + DW_THREADS, 0, P, 1};
    uint64_t J = (a->K + a->stride - 1) / a->stride, rests = (uint64_t)a->stride * a->stride;
    uint64_t HQ = (a->H + a->stride - 1) / a->stride, WQ = a->Wp;
    taps = a->O * J * J;
    return (sizes){rests * taps * a->tiles * 16 + fours(taps), a->O * (HQ + J - 1) * (WQ + J - 1),
                   HQ * WQ, rests * a->tiles};
}

/* The share of a block's threads that have work when it takes `group` samples at a time. */
static double use_of(const sizes *z, uint64_t group, uint64_t places)
{
    uint64_t work = (group * z->places + places - 1) / places * z->rounds;
    uint64_t passes = (work + THREADS - 1) / THREADS;
    return (double)work / (double)(passes * THREADS);
}

static nn_divisor divisor(uint64_t by)
{
    return (nn_divisor){(uint32_t)by,
                        by == 1 ? 0 : (uint32_t)(((UINT64_C(1) << 32) + by - 1) / by)};
}

void dm_nn_conv_set_row(nn_conv_tiled_args *a, uint32_t Wp)
{
    a->Wp = Wp;
    a->row = a->stride * Wp;
    uint64_t P = (uint64_t)a->OH * a->OW;
    a->of_W = divisor(a->W);
    a->of_stride = divisor(a->stride);
    a->of_P = divisor(P);
    a->of_OW = divisor(a->OW);
    a->of_Wp = divisor(a->Wp);
    a->of_Q = divisor((uint64_t)((a->H + a->stride - 1) / a->stride) * a->Wp);
    a->of_pitch = divisor(a->tiles * 16);
    a->of_eights = divisor((P + 7) / 8);
    uint64_t words = (uint64_t)a->I * a->H * a->W / 16;
    a->of_words = divisor(words > 0 ? words : 1);
}

/* Samples at a time, and places of a thread: with four, each value read from shared memory is used twice as often. */
static void choose(const sizes *z, uint32_t B, uint32_t wanted, uint32_t *group, uint32_t *places)
{
    double best = 0;
    for (uint32_t p = 2; p <= 4; p += 2)
        for (uint32_t g = 1; g <= GROUP_MAX && g <= B; g++) {
            double use = use_of(z, g, p) * (p == 2 ? 0.7 : 1);
            bool room = g == 1 || (z->fixed + g * z->per_sample) * 4 <= SHARED_GOOD;
            if ((wanted == 0 || wanted == p) && room && use > best * 1.03) {
                best = use;
                *group = g;
                *places = p;
            }
        }
}

bool dm_nn_conv_args(const dm_nn_conv *s, nn_conv_pass pass, nn_conv_tiled_args *out)
{
    *out = (nn_conv_tiled_args){NN_CONV_SIZES(s)};
    out->tiles = ((pass == NN_CONV_DX ? s->I : s->O) + 15) / 16;
    dm_nn_conv_set_row(out, (s->W + s->stride - 1) / s->stride);
    return s->O <= CHANNELS_MAX && s->I <= CHANNELS_MAX && s->K <= 16 &&
           (uint64_t)GROUP_MAX * s->I * s->H * s->W * s->W <= UINT32_MAX &&
           (uint64_t)GROUP_MAX * s->O * out->OH * out->OW * out->OH * out->OW <= UINT32_MAX;
}

void dm_nn_conv_chunks(nn_conv_tiled_args *a)
{
    assert(a->B > 0);
    a->group = (a->B + CHUNKS_MAX - 1) / CHUNKS_MAX;
    a->groups = (a->B + a->group - 1) / a->group;
}

bool dm_nn_conv_plan(const dm_nn_conv *s, nn_conv_pass pass, uint32_t places,
                     uint32_t multiprocessors, uint64_t shared_bytes, nn_conv_plan *out)
{
    nn_conv_tiled_args a;
    if (!dm_nn_conv_args(s, pass, &a))
        return false;
    sizes z = sizes_of(&a, pass);
    if ((z.fixed + z.per_sample) * 4 > shared_bytes)
        return false;
    uint32_t group = 1, blocks;
    if (pass == NN_CONV_DW) {
        uint64_t items = ((uint64_t)s->I * s->K * s->K + 3) / 4 * a.tiles;
        a.item_blocks = (uint32_t)((items + DW_THREADS - 1) / DW_THREADS);
        dm_nn_conv_chunks(&a);
        group = a.group;
        blocks = a.groups * a.item_blocks;
    } else {
        choose(&z, s->B, places, &group, &places);
        a.groups = (s->B + group - 1) / group;
        blocks = a.groups < multiprocessors * 8 ? a.groups : multiprocessors * 8;
    }
    a.group = group;
    uint64_t words = z.fixed + (pass == NN_CONV_DW ? 0 : group * z.per_sample);
    *out = (nn_conv_plan){
        .args = a,
        .grid = {blocks, pass == NN_CONV_DW ? DW_THREADS : THREADS, (uint32_t)(words * 4)},
        .places = places};
    return true;
}

static bool plan(const dm_nn_exec *e, const dm_nn_conv *s, nn_conv_pass pass, nn_conv_plan *out)
{
    const dm_nn_cuda *state = e->state;
    const dm_device_properties *gpu = dm_device_get_properties(state->device);
    return dm_nn_conv_plan(s, pass, 0, (uint32_t)gpu->multiprocessors, gpu->shared_bytes_max, out);
}

/* The same on the matrix units, where `plan` did. */
static bool plan_mma(const dm_nn_exec *e, const dm_nn_conv *s, nn_conv_pass pass, nn_conv_plan *out)
{
    const dm_nn_cuda *state = e->state;
    const dm_device_properties *gpu = dm_device_get_properties(state->device);
    nn_conv_plan mma;
    if (!state->conv_mma ||
        !dm_nn_conv_mma_plan(s, pass, (uint32_t)gpu->multiprocessors, gpu->shared_bytes_max, &mma))
        return false;
    *out = mma;
    return true;
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
    bool mma = plan_mma(e, s, NN_CONV_FORWARD, &p);
    p.args.x = x, p.args.w = w, p.args.b = b, p.args.out = y;
    p.args.rows = s->rows, p.args.packed = s->packed;
    if (mma)
        return NN_LAUNCH(e, conv_mma, p.grid, &p.args, err);
    return p.places == 4 ? NN_LAUNCH(e, conv_tiled_4, p.grid, &p.args, err)
                         : NN_LAUNCH(e, conv_tiled, p.grid, &p.args, err);
}

dm_status dm_nn_cuda_tiled_dx(dm_nn_exec *e, const dm_nn_conv *s, const void *w, const void *dy,
                              void *dx, bool *done, dm_error *err)
{
    nn_conv_plan p;
    if (!(*done = plan(e, s, NN_CONV_DX, &p)))
        return DM_OK;
    bool mma = plan_mma(e, s, NN_CONV_DX, &p);
    p.args.w = w, p.args.y = dy, p.args.out = dx;
    if (mma)
        return NN_LAUNCH(e, conv_mma_dx, p.grid, &p.args, err);
    return p.places == 4 ? NN_LAUNCH(e, conv_tiled_dx_4, p.grid, &p.args, err)
                         : NN_LAUNCH(e, conv_tiled_dx, p.grid, &p.args, err);
}

bool dm_nn_cuda_tiled_takes_results(const dm_nn_exec *e, const dm_nn_conv *s)
{
    nn_conv_plan p;
    return s->activation != DM_NN_GELU && plan(e, s, NN_CONV_DW, &p) &&
           plan_mma(e, s, NN_CONV_DW, &p);
}

dm_status dm_nn_cuda_tiled_dw(dm_nn_exec *e, const dm_nn_conv *s, const void *x,
                              const void *results, const void *dy, float *dw, float *db, bool *done,
                              dm_error *err)
{
    nn_conv_plan p;
    if (!(*done = plan(e, s, NN_CONV_DW, &p)))
        return DM_OK;
    bool mma = plan_mma(e, s, NN_CONV_DW, &p);
    float *partial = e->scratch, *biases = partial + weights(s) * p.args.groups;
    p.args.rows = s->rows, p.args.packed = s->packed;
    p.args.results = results;
    p.args.x = x, p.args.y = dy, p.args.dw = partial, p.args.db = db != NULL ? biases : NULL;
    dm_status status = mma ? NN_LAUNCH(e, conv_mma_dw, p.grid, &p.args, err)
                           : NN_LAUNCH(e, conv_tiled_dw, p.grid, &p.args, err);
    nn_partials_args sum = {
        .partial = partial, .out = dw, .chunks = p.args.groups, .O = (uint32_t)weights(s)};
    if (status == DM_OK)
        status = dm_nn_cuda_partials(e, &sum, err);
    sum = (nn_partials_args){.partial = biases, .out = db, .chunks = p.args.groups, .O = s->O};
    return status != DM_OK || db == NULL ? status : dm_nn_cuda_partials(e, &sum, err);
}

bool dm_nn_cuda_takes_packed(const dm_nn_exec *e, const dm_nn_conv *s)
{
    nn_conv_plan p;
    return s->W % 16 == 0 && plan(e, s, NN_CONV_FORWARD, &p) && plan(e, s, NN_CONV_DW, &p);
}
