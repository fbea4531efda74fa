/* SPDX-License-Identifier: MIT */
/* warp.h - the loop of gb/run.h for 32 machines at once; kernel text.
 *
 * The lanes of a warp run one machine each, all in different places of their programs. What decides
 * the speed is how much of the road they share, so the loop is flat: one instruction per round for
 * every lane that has one to execute, then all meet again. A lane whose event is due waits until
 * some others have one too, since events are long; who waits loses nothing, machines do not see
 * each other's time.
 *
 * On the CPU a warp is one lane and this is dm_gb_run. */
#ifndef DM_SWARM_WARP_H
#define DM_SWARM_WARP_H

#include "gb/run.h"

/* Lanes that must be waiting before their events are handled, while others can still execute. */
#ifndef DM_SWARM_COMPANY
#define DM_SWARM_COMPANY 8u
#endif

#if DM_ON_CUDA

DM_FN void dm_swarm_loop(dm_gb_lane *lane, const uint32_t *rows, bool running)
{
    dm_gb_machine *m = lane->m;
    dm_gb_hot hot;
    if (running) {
        m->next_event = m->clock;
        dm_gb_hot_load(&hot, m, lane);
    }
    for (;;) {
        bool due = running && !dm_gb_before(hot.clock, hot.next_event);
        uint32_t waiting = dm_ballot(due);
        uint32_t able = dm_ballot(running && !due);
        if ((able | waiting) == 0)
            break;
        bool halt_bug = false;
        if (able == 0 || dm_popcount_u32(waiting) >= DM_SWARM_COMPANY) {
            if (due) {
                dm_gb_hot_store(&hot, m);
                enum dm_gb_next next = dm_gb_event(lane);
                dm_gb_hot_load(&hot, m, lane);
                running = next != DM_GB_NEXT_STOP;
                halt_bug = next == DM_GB_NEXT_HALT_BUG;
                due = false;
            }
            __syncwarp();
        }
        if (running && !due) {
            uint32_t opcode = dm_gb_fetch_opcode(lane, &hot);
            if (DM_UNLIKELY(halt_bug)) {
                hot.pc = (hot.pc - 1u) & 0xFFFFu;
                hot.word_valid = 0;
            }
            hot.count++;
            uint32_t row = rows[opcode];
            if (DM_GB_ROW_OPERATION(row) == DM_GB_DO_PREFIX)
                row = rows[256u + dm_gb_bus_fetch8(lane, &hot)];
            dm_gb_exec(lane, &hot, row);
        }
        __syncwarp();
    }
}

/* The decode table in shared memory, where lanes can read different rows at once. All threads of
 * the block call this before the first run. */
DM_FN const uint32_t *dm_swarm_rows(void)
{
    __shared__ uint32_t rows[512];
    for (uint32_t i = threadIdx.x; i < 512u; i += blockDim.x)
        rows[i] = dm_gb_rows[i];
    __syncthreads();
    return rows;
}

#else

DM_FN void dm_swarm_loop(dm_gb_lane *lane, const uint32_t *rows, bool running)
{
    (void)rows;
    if (running)
        dm_gb_loop(lane);
}

DM_FN const uint32_t *dm_swarm_rows(void)
{
    return dm_gb_rows;
}

#endif

/* Run `cycles` T-cycles past the last target. Every lane of the warp calls this; one without a
 * machine has `valid` false. */
DM_FN void dm_swarm_run(dm_gb_lane *lane, const uint32_t *rows, uint32_t cycles, bool valid)
{
    if (valid)
        lane->m->target += cycles;
    dm_swarm_loop(lane, rows, valid);
    if (valid)
        dm_gb_settle(lane);
}

#endif
