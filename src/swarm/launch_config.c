/* SPDX-License-Identifier: MIT */
/* launch_config.c - how machines are spread over the threads of a GPU. The figures behind these choices
 * are in docs/performance.md and docs/notebook.md. */
#include "swarm/internal.h"

/* Warps with one machine each that a multiprocessor runs at a time. */
#define WARPS_AT_MOST 32u

/* Machines of a warp. As long as all warps are on the GPU at once each machine has a warp of its own,
 * which is the fastest (gb/simt/fast_scalar.h). Machines that share a warp execute one instruction
 * stream, so then a warp should have many: as many as leave two warps for each of a multiprocessor's
 * four schedulers. More warps with fewer lanes evict each other's code from the instruction cache. */
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

/* Threads of a multiprocessor at a time, which decides how many registers each has. Where there are more
 * threads than that, twice as many run at a time with half the registers: they spill more, but hide
 * each other's waits for memory. */
#define THREADS_AT_ONCE 512u

/* Are there more threads than run at the same time? */
static bool come_in_waves(const dm_swarm_desc *d, int multiprocessors)
{
    uint64_t threads = (d->count + d->lanes_per_warp - 1) / d->lanes_per_warp * 32u;
    return threads > (uint64_t)multiprocessors * THREADS_AT_ONCE;
}

/* A block of four warps has one for each scheduler of a multiprocessor; they share one table of uops and
 * are serviced together (gb/simt/service.h). Smaller blocks leave schedulers without work. Larger blocks
 * service with fuller warps, but when only their busiest machines are left more lanes idle, unless
 * another block follows. Machines with warps of their own do not wait for each other, but those that
 * execute the same code (gb/simt/rebalance.h) run best on the same multiprocessor. */
#define BLOCK_AT_ONCE 128u
#define BLOCK_IN_WAVES 256u
static uint32_t block_for(const dm_swarm_desc *d, int multiprocessors)
{
    if (!come_in_waves(d, multiprocessors))
        return BLOCK_AT_ONCE;
    if (d->lanes_per_warp != 1)
        return BLOCK_IN_WAVES;
    /* One block for each multiprocessor. */
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

/* All blocks but the last have the same number of machines. Only machines with warps of their own, in a
 * block for each multiprocessor, are spread evenly over all multiprocessors; the blocks with one more
 * come last, since the machines there cost least (gb/simt/rebalance.h). */
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

/* Where blocks come in waves the last ones should be short. The best prediction of a machine's load is
 * its load just before, so each part of a step is a launch of its own, and the machines are sorted
 * before it. Where all blocks are on the GPU at once, all would wait for the slowest between the parts. */
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
