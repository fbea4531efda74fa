/* SPDX-License-Identifier: MIT */
/* spread.c - how machines are spread over the threads of a GPU. The figures behind these choices
 * are in docs/performance.md. */
#include "swarm/internal.h"

/* About two warps for each quarter of a multiprocessor, which issues its instructions: more warps
 * with fewer lanes each only push each other's code out of the cache. */
static uint32_t lanes_for(uint64_t count, int multiprocessors)
{
    const uint64_t warps = 8u * (uint64_t)multiprocessors;
    uint32_t lanes = 1;
    while (lanes < 32 && lanes * warps < count)
        lanes *= 2;
    return lanes;
}

/* Threads of a multiprocessor at a time. Where there are more, twice as many hide each other's
 * waiting for memory better than more registers would avoid it. */
#define THREADS_AT_ONCE 512u

/* More threads than run at the same time? */
static bool come_in_waves(const dm_swarm_desc *d, int multiprocessors)
{
    uint64_t threads = (d->count + d->lanes_per_warp - 1) / d->lanes_per_warp * 32u;
    return threads > (uint64_t)multiprocessors * THREADS_AT_ONCE;
}

/* A block of four warps: one for each quarter of a multiprocessor, which share one table of rows
 * and take turns together (desk.h). Smaller ones leave quarters without work; larger ones take
 * turns with fuller warps, but leave more without work when the busiest machines are all that is
 * left of them, unless there is a next block. */
static uint32_t block_for(const dm_swarm_desc *d, int multiprocessors)
{
    return come_in_waves(d, multiprocessors) ? 256u : 128u;
}

static uint32_t blocks_for(const dm_swarm_desc *d, int multiprocessors)
{
    uint32_t blocks = THREADS_AT_ONCE / d->block_threads;
    return come_in_waves(d, multiprocessors) ? 2u * blocks : blocks;
}

void dm_swarm_choose_threads(const dm_device *device, dm_swarm_desc *d)
{
    const dm_device_properties *properties = dm_device_get_properties(device);
    if (properties->kind == DM_DEVICE_CPU) {
        d->lanes_per_warp = 1;
        d->block_threads = 1;
        return;
    }
    if (d->lanes_per_warp == 0)
        d->lanes_per_warp = lanes_for(d->count, properties->multiprocessors);
    if (d->block_threads == 0)
        d->block_threads = block_for(d, properties->multiprocessors);
    if (d->blocks_per_multiprocessor == 0)
        d->blocks_per_multiprocessor = blocks_for(d, properties->multiprocessors);
}
