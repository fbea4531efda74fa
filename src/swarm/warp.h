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

#include "swarm/desk.h"

/* Who waits is served when one waits for this many that can still execute: lanes of a warp, or
 * machines of a block that takes turns together. */
#ifndef DM_SWARM_PATIENCE
#define DM_SWARM_PATIENCE 2
#endif
#ifndef DM_SWARM_PATIENCE_TOGETHER
#define DM_SWARM_PATIENCE_TOGETHER 2
#endif

/* Rounds between looking who waits. */
#ifndef DM_SWARM_ROUNDS
#define DM_SWARM_ROUNDS 4
#endif

/* A block takes turns together (desk.h) when most of its machines executed fewer instructions a
 * frame than this in the last step (0: never), and none took more turns a frame than that. Those
 * that execute more lose more by waiting for the slowest warp of the block than they gain, and who
 * takes many turns wants each of them soon. */
#ifndef DM_SWARM_TOGETHER
#define DM_SWARM_TOGETHER 3000
#endif
#ifndef DM_SWARM_TOGETHER_TURNS
#define DM_SWARM_TOGETHER_TURNS 100
#endif

/* The lane of a machine, ready for dm_gb_map: at its desk, or `spare`. */
DM_FN dm_gb_lane *dm_swarm_lane(const dm_swarm_args *args, uint32_t machine, dm_gb_lane *spare)
{
    dm_gb_lane *lane = spare;
#if DM_ON_CUDA && DM_SWARM_TOGETHER != 0
    lane = &dm_swarm_desk_of(args, machine)->lane;
    *lane = *spare;
#endif
    dm_swarm_lane_init(lane, args, machine);
    return lane;
}

#if DM_ON_CUDA

/* Some instructions by the short road for every lane that can; returns what this one needs now. */
DM_FN enum dm_gb_need dm_swarm_rounds(dm_gb_machine *m, dm_gb_hot *hot,
                                      const dm_gb_quick_place *place, bool running,
                                      enum dm_gb_need need, uint32_t *executed)
{
    DM_NO_UNROLL
    for (uint32_t round = 0; round < DM_SWARM_ROUNDS; round++) {
        if (running && need == DM_GB_NEED_NOTHING) {
            need = DM_GB_NEED_EVENT;
            if (dm_gb_before(hot->clock, hot->next_event) || hot->granted != 0) {
                need = dm_gb_quick(m, hot, place);
                ++*executed;
            }
        }
        __syncwarp();
    }
    return need;
}

/* A turn of this lane's machine. */
DM_FN_SLOW bool dm_swarm_own_turn(dm_gb_lane *lane, dm_gb_hot *hot, enum dm_gb_need need)
{
    bool running = dm_gb_turn(lane, hot, need);
    dm_gb_quick_map(lane, &lane->place);
    return running;
}

/* Does the block take turns together? All its threads ask. */
DM_FN bool dm_swarm_together(const dm_swarm_args *args, uint32_t machine, bool valid)
{
#if DM_SWARM_TOGETHER != 0
    if (args->lanes_per_warp < 16u) /* a few machines are served sooner by their own warps */
        return false;
    const uint32_t frames = (args->cycles[0] + args->cycles[1]) / DM_GB_FRAME_CYCLES;
    const bool light = valid && args->loads[machine] / DM_SWARM_TOGETHER < frames;
    const bool hasty = valid && args->turns[machine] / DM_SWARM_TOGETHER_TURNS >= frames;
    const int most = __syncthreads_count(light) * 2 > __syncthreads_count(valid);
    return most && __syncthreads_count(hasty) == 0;
#else
    (void)args;
    (void)machine;
    (void)valid;
    return false;
#endif
}

/* Returns the number of instructions that were executed, and counts turns. */
DM_FN uint32_t dm_swarm_loop(const dm_swarm_args *args, uint32_t machine, dm_gb_lane *lane,
                             const dm_gb_quick_place *place, bool running, bool together,
                             uint32_t *turns)
{
    uint32_t executed = 0;
    dm_gb_machine *m = lane->m;
    dm_gb_hot hot = {0};
    enum dm_gb_need need = DM_GB_NEED_NOTHING;
    if (running) {
        m->next_event = m->clock;
        dm_gb_hot_load(&hot, m, lane);
        lane->place = *place;
        dm_gb_quick_map(lane, place);
    }
    int alive = together ? __syncthreads_count(running) : 0;
    for (;;) {
        need = dm_swarm_rounds(m, &hot, place, running, need, &executed);
        const bool waits = running && need != DM_GB_NEED_NOTHING;
#if DM_SWARM_TOGETHER != 0
        if (together) {
            const int waiting = __syncthreads_count(waits);
            if (alive == 0)
                break;
            if (waiting * DM_SWARM_PATIENCE_TOGETHER < alive - waiting)
                continue;
            dm_gb_hot kept = hot;
            const bool goes_on =
                dm_swarm_serve(args, machine, &kept, waits ? need : DM_GB_NEED_NOTHING);
            hot = kept;
            *turns += waits ? 1u : 0u;
            running = running && goes_on;
            need = DM_GB_NEED_NOTHING;
            alive = __syncthreads_count(running);
            continue;
        }
#endif
        const uint32_t waiting = dm_ballot(waits);
        const uint32_t able = dm_ballot(running && !waits);
        if ((able | waiting) == 0)
            break;
        if (waiting != 0 && dm_popcount_u32(waiting) * DM_SWARM_PATIENCE >= dm_popcount_u32(able)) {
            if (waits) {
                dm_gb_hot kept = hot;
                running = dm_swarm_own_turn(lane, &kept, need);
                hot = kept;
                need = DM_GB_NEED_NOTHING;
                ++*turns;
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

DM_FN bool dm_swarm_together(const dm_swarm_args *args, uint32_t machine, bool valid)
{
    (void)args;
    (void)machine;
    (void)valid;
    return false;
}

DM_FN uint32_t dm_swarm_loop(const dm_swarm_args *args, uint32_t machine, dm_gb_lane *lane,
                             const dm_gb_quick_place *place, bool running, bool together,
                             uint32_t *turns)
{
    (void)args;
    (void)machine;
    (void)place;
    (void)together;
    (void)turns;
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

/* What a step has cost so far (CUDA). */
typedef struct dm_swarm_cost {
    uint32_t instructions, turns;
} dm_swarm_cost;

/* Run `cycles` T-cycles past the last target. Every thread of the block calls this; one without a
 * machine has `valid` false. */
DM_FN void dm_swarm_run(const dm_swarm_args *args, uint32_t machine, dm_gb_lane *lane,
                        const dm_gb_quick_place *place, uint32_t cycles, bool valid, bool together,
                        dm_swarm_cost *cost)
{
    if (valid)
        lane->m->target += cycles;
    cost->instructions += dm_swarm_loop(args, machine, lane, place, valid, together, &cost->turns);
    if (valid)
        dm_gb_settle(lane);
}

#endif
