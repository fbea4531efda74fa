/* SPDX-License-Identifier: MIT */
/* warp.h - the loop of gb/run.h for 32 machines at once; kernel text.
 *
 * The lanes of a warp run one machine each, all in different places of their programs. What decides
 * the speed is how much of the road they share, so the loop is flat: one instruction by the short
 * road (gb/quick.h) per round for every lane that can, then all meet again. A lane that needs the
 * long road, for an event or an access to a device, waits until some others need it too, since it
 * is long; who waits loses nothing, machines do not see each other's time.
 *
 * On the CPU a warp is one lane and this is dm_gb_run. */
#ifndef DM_SWARM_WARP_H
#define DM_SWARM_WARP_H

#include "swarm/lanes.h"

/* Who waits is served when one lane waits for this many that can still execute. */
#ifndef DM_SWARM_PATIENCE
#define DM_SWARM_PATIENCE 4
#endif

/* Rounds between looking who waits. */
#ifndef DM_SWARM_ROUNDS
#define DM_SWARM_ROUNDS 4
#endif

#if DM_ON_CUDA

/* Returns the number of instructions that were executed. */
DM_FN uint32_t dm_swarm_loop(dm_gb_lane *lane, const dm_gb_quick_place *place, bool running)
{
    uint32_t executed = 0;
    dm_gb_hot hot;
    enum dm_gb_need need = DM_GB_NEED_NOTHING;
    if (running) {
        lane->m->next_event = lane->m->clock;
        dm_gb_hot_load(&hot, lane->m, lane);
        dm_gb_quick_map(lane, place);
    }
    for (;;) {
        uint32_t waiting = dm_ballot(running && need != DM_GB_NEED_NOTHING);
        uint32_t able = dm_ballot(running && need == DM_GB_NEED_NOTHING);
        if ((able | waiting) == 0)
            break;
        if (waiting != 0 && dm_popcount_u32(waiting) * DM_SWARM_PATIENCE >= dm_popcount_u32(able)) {
            if (running && need != DM_GB_NEED_NOTHING) {
                dm_gb_hot kept = hot;
                running = dm_gb_turn(lane, &kept, need);
                hot = kept;
                dm_gb_quick_map(lane, place);
                need = DM_GB_NEED_NOTHING;
            }
            __syncwarp();
        }
        DM_NO_UNROLL
        for (uint32_t round = 0; round < DM_SWARM_ROUNDS; round++) {
            if (running && need == DM_GB_NEED_NOTHING) {
                need = DM_GB_NEED_EVENT;
                if (dm_gb_before(hot.clock, hot.next_event) || hot.granted != 0) {
                    need = dm_gb_quick(lane->m, &hot, place);
                    executed++;
                }
            }
            __syncwarp();
        }
    }
    return executed;
}

DM_FN dm_gb_quick_place dm_swarm_quick(void)
{
    return dm_gb_quick_open();
}

#else

DM_FN uint32_t dm_swarm_loop(dm_gb_lane *lane, const dm_gb_quick_place *place, bool running)
{
    (void)place;
    if (running)
        dm_gb_loop(lane);
    return 0;
}

DM_FN dm_gb_quick_place dm_swarm_quick(void)
{
    dm_gb_quick_place place = {0};
    return place;
}

#endif

/* Run `cycles` T-cycles past the last target; returns how many instructions were executed (on
 * CUDA). Every lane of the warp calls this; one without a machine has `valid` false. */
DM_FN uint32_t dm_swarm_run(dm_gb_lane *lane, const dm_gb_quick_place *place, uint32_t cycles,
                            bool valid)
{
    if (valid)
        lane->m->target += cycles;
    uint32_t executed = dm_swarm_loop(lane, place, valid);
    if (valid)
        dm_gb_settle(lane);
    return executed;
}

#endif
