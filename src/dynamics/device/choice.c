/* SPDX-License-Identifier: MIT */
/* choice.c - see choice.h. Estimates are rough microseconds on an H200, good enough to choose by.
 * Only the number of blocks that run at once scales with the GPU. */
#include "dynamics/device/choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define L2_BYTES (50u << 20) /* where a device does not say */

dm_dyn_gpu dm_dyn_gpu_of(const dm_device_properties *p)
{
    bool cuda = p->kind == DM_DEVICE_CUDA;
    long capability = cuda ? strtol(p->arch + strlen("sm_"), NULL, 10) : 0;
    return (dm_dyn_gpu){.multiprocessors = (uint32_t)p->multiprocessors,
                        .shared_bytes = p->shared_bytes_max,
                        .l2_bytes = p->l2_bytes > 0 ? p->l2_bytes : L2_BYTES,
                        .clusters = capability >= 90,
                        .matrix = capability >= 80};
}

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a + b - 1) / b);
}

/* ---- Rollouts ---- */

uint32_t dm_dyn_batch_padding(uint32_t H)
{
    return H <= 64 ? 64 : H <= 128 ? 128 : H <= 256 ? 256 : 512;
}

/* The host's copy of what kernel_batch.h computes from its defines. */
size_t dm_dyn_batch_shared_bytes(size_t P, size_t M, bool reset_last)
{
    size_t MP = (M + 3) / 4 * 4, row = 4 * MP + 4, K = P > 256 ? 4 : 8, gates = reset_last ? 3 : 2;
    size_t stages = M <= 2 ? 8 : 4;
    size_t floats = stages * K * gates * P + P * row * (reset_last ? 1 : 2) + 8 * 5 * 64 + 4 * MP;
    return floats * sizeof(float);
}

/* Clusters of 16 need a whole group of multiprocessors each, and not every group has 16 free; while
 * there are few, they are a little faster. */
uint32_t dm_dyn_choose_cluster(const dm_dyn_gpu *gpu, const dm_dynamics_config *c,
                               uint32_t rollouts)
{
    const uint64_t clusters = (uint64_t)rollouts * c->members;
    if (c->hidden > 256)
        return 16;
    return c->hidden > 128 && clusters * 16 * 4 <= (uint64_t)gpu->multiprocessors * 3 ? 16 : 8;
}

/* Of 50 steps of 256 units, in proportion for others. */
static double cluster_cost(const dm_dyn_gpu *gpu, const dm_dynamics_config *c, uint32_t rollouts)
{
    double at_once = fmax(floor((double)gpu->multiprocessors / (c->hidden <= 256 ? 8 : 16)), 1);
    return 66 * ceil((double)rollouts * c->members / at_once);
}

static double batch_cost(const dm_dyn_gpu *gpu, const dm_dynamics_config *c, uint32_t rollouts,
                         uint32_t M)
{
    double tiles = ceil(rollouts / (4.0 * M)) * c->members;
    double scale = (double)dm_dyn_batch_padding(c->hidden) / 256;
    return ceil(tiles / gpu->multiprocessors) * (1280 + 190.0 * M) * scale * scale;
}

uint32_t dm_dyn_choose_tile(const dm_dyn_gpu *gpu, const dm_dynamics_config *c, uint32_t rollouts)
{
    static const uint32_t sizes[] = {10, 5, 2};
    uint32_t best = 0, P = dm_dyn_batch_padding(c->hidden);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t M = sizes[i];
        if (P > 256 && M > 5) /* their sums do not fit into the registers */
            continue;
        if (dm_dyn_batch_shared_bytes(P, M, c->kind == DM_DYNAMICS_GRU_RESET_LAST) <=
                gpu->shared_bytes &&
            (best == 0 || batch_cost(gpu, c, rollouts, M) < batch_cost(gpu, c, rollouts, best)))
            best = M;
    }
    return best;
}

dm_dyn_variant dm_dyn_choose_variant(const dm_dyn_gpu *gpu, const dm_dynamics_config *c,
                                     uint32_t rollouts, bool tame)
{
    if (c->projection)
        return DM_DYN_VARIANT_STREAM;
    bool cluster = gpu->clusters && c->hidden <= DM_DYN_CLUSTER_MAX;
    uint32_t M = c->hidden <= DM_DYN_RESIDENT_MAX ? dm_dyn_choose_tile(gpu, c, rollouts) : 0;
    bool batch = M > 0 && rollouts > 1 && tame;
    if (cluster && batch)
        return cluster_cost(gpu, c, rollouts) <= batch_cost(gpu, c, rollouts, M)
                   ? DM_DYN_VARIANT_CLUSTER
                   : DM_DYN_VARIANT_BATCH;
    return cluster                  ? DM_DYN_VARIANT_CLUSTER
           : batch && rollouts > 32 ? DM_DYN_VARIANT_BATCH
                                    : DM_DYN_VARIANT_STREAM;
}

/* ---- One step of a batch ---- */

const dm_dyn_shape dm_dyn_shapes[DM_DYN_SHAPES] = {
    {128, 96, 256, 3, 2, 5.0, {1.61, 2.49, 0}},
    {64, 96, 128, 4, 2, 5.0, {1.20, 1.67, 0}},
    {32, 48, 64, 5, 3, 3.5, {0.92, 1.06, 1.18}},
};

/* Rows of 80 bytes, each number in two parts. */
uint32_t dm_dyn_shape_shared_bytes(const dm_dyn_shape *shape)
{
    return shape->stages * (shape->vectors + shape->rows) * 160;
}

uint32_t dm_dyn_shape_blocks(const dm_dyn_shape *shape, uint32_t batch, uint32_t hidden,
                             uint32_t gates)
{
    return ceil_div(batch, shape->vectors) * ceil_div(hidden, shape->rows / gates);
}

/* The time of one launch of the matrix kernel for so many gates. The busiest multiprocessor runs its
 * blocks `together` at a time; the last, smaller group waits longer for weights that are not in the
 * second-level cache. Rows without a vector are not read. */
static double matrix_cost(const dm_dyn_gpu *gpu, const dm_dynamics_config *c,
                          const dm_dyn_shape *shape, uint32_t batch, uint32_t gates)
{
    double chunks = (double)ceil_div(c->input, 32) + ceil_div(c->hidden, 32);
    double weights = 3.0 * c->hidden * chunks * 32 * 4; /* bytes */
    uint32_t busiest =
        ceil_div(dm_dyn_shape_blocks(shape, batch, c->hidden, gates), gpu->multiprocessors);
    uint32_t groups = busiest / shape->together, left = busiest % shape->together;
    double us = groups * shape->chunk_us[shape->together - 1];
    if (left > 0)
        us += shape->chunk_us[left - 1] * (weights > (double)gpu->l2_bytes ? 1.2 : 1.0);
    double filled = fmin(1, (double)batch / shape->vectors);
    return shape->fixed_us + chunks * us * (0.7 + 0.3 * filled);
}

/* The small kernel reads the weights again for every 8 vectors. */
static double small_cost(const dm_dyn_gpu *gpu, const dm_dynamics_config *c, uint32_t batch)
{
    double H = c->hidden;
    uint32_t vectors = batch < DM_DYN_SMALL_VECTORS ? batch : DM_DYN_SMALL_VECTORS;
    double blocks =
        (double)ceil_div(c->hidden, DM_DYN_SMALL_WARPS) * (double)ceil_div(batch, vectors);
    double launches = c->kind == DM_DYNAMICS_GRU_RESET_LAST ? 1 : 3;
    return launches + ceil(blocks / gpu->multiprocessors) * fmax(2.5 + 0.0027 * H, 0.0057 * H);
}

const dm_dyn_shape *dm_dyn_choose_gru(const dm_dyn_gpu *gpu, const dm_dynamics_config *c,
                                      uint32_t batch)
{
    const dm_dyn_shape *best = NULL;
    double least = small_cost(gpu, c, batch);
    for (size_t i = 0; i < DM_DYN_SHAPES && gpu->matrix; i++) {
        const dm_dyn_shape *shape = &dm_dyn_shapes[i];
        if (dm_dyn_shape_shared_bytes(shape) > gpu->shared_bytes)
            continue;
        double cost =
            c->kind == DM_DYNAMICS_GRU_RESET_LAST
                ? matrix_cost(gpu, c, shape, batch, 3)
                : matrix_cost(gpu, c, shape, batch, 2) + matrix_cost(gpu, c, shape, batch, 1);
        if (cost < least) {
            least = cost;
            best = shape;
        }
    }
    return best;
}
