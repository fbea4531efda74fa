/* SPDX-License-Identifier: MIT */
/* launch_config.c - how machines are spread over the threads of a GPU. The figures behind these choices
 * are in docs/performance.md and docs/notebook.md. */
#include "swarm/internal.h"

/* Warps of a multiprocessor at a time. */
#define WARPS_AT_MOST 32u

/* A warp for each machine as long as all are on the GPU at once: it goes its own way
 * (gb/simt/fast_scalar.h). Machines that share a warp have to take the same path, so there should be
 * many of them: then as many as leave two warps for each quarter of a multiprocessor, which issues
 * its instructions. More warps with fewer lanes each only push each other's code out of the cache.
 */
static uint32_t lanes_for(uint64_t count, int multiprocessors)
{
    const uint64_t warps = 8u * (uint64_t)multiprocessors;
    uint32_t lanes = 1;
    if (count <= WARPS_AT_MOST * (uint64_t)multiprocessors)
        return 1;
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
 * and are serviced together (service.h). Smaller ones leave quarters without work; larger ones take
 * services with fuller warps, but leave more without work when the busiest machines are all that is
 * left of them, unless there is a next block. Machines with warps of their own do not wait for each
 * other, but those that do the same (rebalance.h) are better on the same multiprocessor. */
#define BLOCK_AT_ONCE 128u
#define BLOCK_IN_WAVES 256u
static uint32_t block_for(const dm_swarm_desc *d, int multiprocessors)
{
    if (!come_in_waves(d, multiprocessors))
        return BLOCK_AT_ONCE;
    if (d->lanes_per_warp != 1)
        return BLOCK_IN_WAVES;
    /* One for each multiprocessor. */
    const uint64_t warps = (d->count + (uint64_t)multiprocessors - 1) / (uint64_t)multiprocessors;
    return warps < WARPS_AT_MOST ? ((uint32_t)warps + 3u) / 4u * 128u : 32u * WARPS_AT_MOST;
}

static uint32_t blocks_for(const dm_swarm_desc *d, int multiprocessors)
{
    const uint32_t threads =
        come_in_waves(d, multiprocessors) ? 2u * THREADS_AT_ONCE : THREADS_AT_ONCE;
    return d->block_threads < threads ? threads / d->block_threads : 1u;
}

void dm_swarm_launch_config_for(int multiprocessors, dm_swarm_desc *d)
{
    if (d->lanes_per_warp == 0)
        d->lanes_per_warp = lanes_for(d->count, multiprocessors);
    if (d->block_threads == 0)
        d->block_threads = block_for(d, multiprocessors);
    if (d->blocks_per_multiprocessor == 0)
        d->blocks_per_multiprocessor = blocks_for(d, multiprocessors);
}

/* As many machines in all blocks but the last. Machines with warps of their own and a block for
 * each multiprocessor are dealt out to all multiprocessors, as evenly as they can be; those with
 * one more come last, where the machines are that cost least (rebalance.h). */
dm_swarm_blocks dm_swarm_blocks_over(int multiprocessors, const dm_swarm_desc *d)
{
    const uint64_t all = (uint64_t)multiprocessors;
    const uint64_t machines =
        d->block_threads == 1 ? 1u : (uint64_t)d->block_threads / 32u * d->lanes_per_warp;
    dm_swarm_blocks blocks = {(uint32_t)((d->count + machines - 1u) / machines), (uint32_t)machines,
                              UINT32_MAX};
    if (d->lanes_per_warp == 1 && d->block_threads > BLOCK_AT_ONCE && blocks.count <= all &&
        d->count >= all) {
        blocks.count = (uint32_t)all;
        blocks.block_machines = (uint32_t)(d->count / all);
        blocks.short_blocks = (uint32_t)(all - d->count % all);
    }
    return blocks;
}

/* Where blocks come in waves the last ones should be short. What a machine will cost is told best
 * by what it cost just before, so the parts of a step are launches of their own, and the machines
 * are sorted before each. Where all blocks are on the GPU at once they would wait for the slowest
 * of them between parts. */
bool dm_swarm_sorts_often(const dm_swarm_desc *d)
{
    return d->lanes_per_warp > 1 && d->block_threads > BLOCK_AT_ONCE;
}

void dm_swarm_choose_threads(const dm_device *device, dm_swarm_desc *d)
{
    const dm_device_properties *properties = dm_device_get_properties(device);
    if (properties->kind == DM_DEVICE_CPU) {
        d->lanes_per_warp = 1;
        d->block_threads = 1;
        return;
    }
    dm_swarm_launch_config_for(properties->multiprocessors, d);
}
