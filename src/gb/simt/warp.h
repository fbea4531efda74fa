/* SPDX-License-Identifier: MIT */
/* warp.h - the loop of gb/cpu/run.h for 32 machines at once; kernel text.
 *
 * The lanes of a warp run one machine each, all in different places of their programs. What decides
 * the speed is how much of the road they share, so the loop is flat: one instruction by the short
 * road (gb/simt/fast.h) per round for every lane that can, then all meet again. A lane that needs the
 * long road, for an event or an access to a device, waits until some others need it too, since it
 * is long; who waits loses nothing, machines do not see each other's time.
 *
 * On the CPU a warp is one lane and this is dm_gb_run. */
#ifndef DM_SIMT_WARP_H
#define DM_SIMT_WARP_H

#include "gb/simt/service.h"
#include "swarm/pixels.h"

/* Who waits is served when one waits for this many that can still execute: lanes of a warp, or
 * machines of a block that takes turns together. */
#ifndef DM_SWARM_PATIENCE
#define DM_SWARM_PATIENCE 2
#endif
#ifndef DM_SWARM_PATIENCE_TOGETHER
#define DM_SWARM_PATIENCE_TOGETHER 2
#endif

/* Rounds between looking who waits. A block has to meet for it; where a step takes as long as its
 * slowest block, that is dearer than machines that wait. */
#ifndef DM_SWARM_ROUNDS
#define DM_SWARM_ROUNDS (!DM_SWARM_TOGETHER ? 4 : DM_SWARM_BLOCK > 128 ? 128 : 256)
#endif

/* A turn counts as this many rounds where machines are sorted by what they cost. */
#define DM_SWARM_TURN_ROUNDS 8u

/* Blocks of warps with at least so many lanes take turns together (service.h), unless one of their
 * machines took this many a frame in the last step: who takes many turns wants each of them soon,
 * and a few machines are served sooner by their own warps. */
#ifndef DM_SWARM_TOGETHER_LANES
#define DM_SWARM_TOGETHER_LANES 16
#endif
#define DM_SWARM_TOGETHER (DM_SWARM_LANES >= DM_SWARM_TOGETHER_LANES)
#ifndef DM_SWARM_TOGETHER_TURNS
#define DM_SWARM_TOGETHER_TURNS 100
#endif

/* Lanes that take part in the loop: those that machines are given to, or all when they help. (A
 * constant, since __syncwarp with another mask is fourteen instructions.) */
#define DM_SWARM_MEMBERS                                                                           \
    (DM_SWARM_TOGETHER || DM_SWARM_LANES == 32 ? 0xFFFFFFFFu : (1u << DM_SWARM_LANES % 32) - 1u)

/* How many times as long as the parts of this launch the whole step is. */
DM_FN float dm_swarm_whole(const dm_swarm_args *args)
{
    uint32_t cycles = 0;
    for (uint32_t part = args->part_begin; part < args->part_end; part++)
        cycles += args->cycles[part];
    return (float)(args->cycles[0] + args->cycles[1]) / (float)cycles;
}

/* The lane of a machine, ready for dm_gb_map: at its desk, or `spare`. */
DM_FN dm_gb_lane *dm_swarm_lane(const dm_swarm_args *args, uint32_t machine, dm_gb_lane *spare)
{
    dm_gb_lane *lane = spare;
#if DM_ON_CUDA && DM_SWARM_TOGETHER
    lane = &dm_swarm_desk_of(args, machine)->lane;
    *lane = *spare;
#endif
    dm_swarm_lane_init(lane, args, machine);
#if DM_ON_CUDA
    lane->slate = &dm_swarm_desk_of(args, machine)->slate;
    lane->kept = &dm_swarm_desk_of(args, machine)->kept;
#endif
    return lane;
}

/* The lane's machine, or its copy where it runs as one; not in a visit. */
DM_FN dm_gb_machine *dm_swarm_m(const dm_gb_lane *lane)
{
#if DM_GB_LOCAL_COPIES
    return lane->home;
#else
    return dm_gb_m(lane);
#endif
}

/* A machine is about to run, if `running`, where it is or as a copy, and has run. */
DM_FN void dm_swarm_enter(dm_gb_lane *lane, bool running)
{
#if DM_GB_SHARED_COPIES
    dm_gb_shared_seat(lane);
    if (running)
        dm_gb_shared_begin(lane);
#endif
    if (running)
        dm_gb_map(lane);
}

DM_FN void dm_swarm_leave(dm_gb_lane *lane)
{
#if DM_GB_SHARED_COPIES
    dm_gb_shared_end(lane);
#else
    (void)lane;
#endif
}

#if DM_ON_CUDA

/* Some instructions by the short road for every lane that can; returns what this one needs now. A
 * machine alone in its warp goes on until it needs something. */
DM_FN enum dm_gb_need dm_swarm_rounds(dm_gb_machine *m, dm_gb_hot *hot,
                                      const dm_gb_quick_place *place, enum dm_gb_need need,
                                      uint32_t *executed)
{
#if DM_SWARM_LANES == 1
    return dm_gb_quick_alone(m, hot, place, need, executed);
#else
    uint32_t count = 0;
    DM_NO_UNROLL
    for (uint32_t round = 0; round < DM_SWARM_ROUNDS; round++) {
        if (dm_gb_need_none(need)) {
            need = dm_gb_quick_next(m, hot, place, need);
            count++;
        }
        __syncwarp(DM_SWARM_MEMBERS);
    }
    *executed += count;
    return need;
#endif
}

/* A turn of this lane's machine. */
DM_FN_SLOW enum dm_gb_need dm_swarm_own_turn(dm_gb_lane *lane, dm_gb_hot *hot, enum dm_gb_need need)
{
#if DM_GB_LOCAL_COPIES
    return dm_swarm_visit(lane, hot, need);
#else
    return dm_gb_mapped_turn(lane, hot, need);
#endif
}

/* Does the block take turns together? All its threads ask. */
DM_FN bool dm_swarm_together(const dm_swarm_args *args, uint32_t machine, bool valid)
{
#if DM_SWARM_TOGETHER
    const uint32_t frames = (args->cycles[0] + args->cycles[1]) / DM_GB_FRAME_CYCLES;
    return __syncthreads_count(valid && args->turns[machine] / DM_SWARM_TOGETHER_TURNS >= frames) ==
           0;
#else
    (void)args;
    (void)machine;
    (void)valid;
    return false;
#endif
}

/* One loop for both ways to take turns, by the warp or together with the block: a second copy of
 * the road would not fit the instruction cache beside the first. Blocks that take turns together
 * also move their machines together as others finish (dm_swarm_reseat). */
DM_FN void dm_swarm_loop(const dm_swarm_args *args, uint32_t own, dm_gb_lane *lane,
                         const dm_gb_quick_place *place, const bool valid, bool together,
                         dm_swarm_cost *total)
{
    dm_gb_machine *m = dm_swarm_m(lane);
    dm_gb_hot hot = {0};
    dm_swarm_cost cost = *total;
    enum dm_gb_need need = valid ? DM_GB_NEED_NOTHING : DM_GB_NEED_OVER;
    if (valid) {
        lane->place = *place;
        dm_gb_turns_begin(lane, m, &hot);
    }
#if DM_SWARM_TOGETHER
    uint32_t machine = own;
    int alive = together ? __syncthreads_count(valid) : 0;
#else
    (void)args;
    (void)own;
#endif
    /* Lanes that no machine is given to wait at the end, so that branches of the others are no
     * forks. */
    for (bool on = (DM_SWARM_MEMBERS >> dm_lane() & 1u) != 0; on;) {
        need = dm_swarm_rounds(m, &hot, place, need, &cost.instructions);
        const bool waits = dm_gb_need_turn(need);
#if DM_SWARM_TOGETHER
        if (together) {
            const int waiting = __syncthreads_count(waits);
            if (alive == 0)
                break;
            if (waiting * DM_SWARM_PATIENCE_TOGETHER < alive - waiting)
                continue;
            dm_gb_hot kept = hot;
            need = dm_swarm_serve(args, machine, &kept, need);
            cost.turns += waits ? 1u : 0u;
            if (waits && need == DM_GB_NEED_OVER)
                dm_swarm_desk_of(args, machine)->cost = cost;
            const int left = __syncthreads_count(need != DM_GB_NEED_OVER);
            if (dm_swarm_fewer_warps(alive, left)) {
                need = dm_swarm_reseat(args, &machine, *place, &kept, &cost, need, left);
                m = dm_swarm_machine(args, machine);
            }
            hot = kept;
            alive = left;
            continue;
        }
#endif
        const uint32_t waiting = __ballot_sync(DM_SWARM_MEMBERS, waits);
        const uint32_t able = __ballot_sync(DM_SWARM_MEMBERS, dm_gb_need_none(need));
        on = (able | waiting) != 0;
        if (waiting != 0 && dm_popcount_u32(waiting) * DM_SWARM_PATIENCE >= dm_popcount_u32(able)) {
            if (waits) {
                dm_gb_hot kept = hot;
                need = dm_swarm_own_turn(lane, &kept, need);
                hot = kept;
                cost.turns++;
            }
            __syncwarp(DM_SWARM_MEMBERS);
        }
    }
#if DM_SWARM_TOGETHER
    if (together && valid)
        cost = dm_swarm_desk_of(args, own)->cost;
#endif
    *total = cost;
    __syncwarp();
}

/* What only lanes with machines do. Where each warp has one machine the test is of the lane's
 * number alone, and functions ask for `valid` themselves: then the compiler sees that everything
 * called from here is for one lane, whose branches are no forks, and leaves out what joins them
 * again. */
#if DM_SWARM_LANES == 1
#define DM_SWARM_HAS_MACHINE(valid) (dm_lane() == 0)
#else
#define DM_SWARM_HAS_MACHINE(valid) (valid)
#endif

/* The end of a run: like a turn it goes over all devices, so it works on a copy where turns do. */
DM_FN_SLOW void dm_swarm_settle(dm_gb_lane *lane, bool valid)
{
    if (!valid)
        return;
#if DM_GB_LOCAL_COPIES
    dm_gb_visit visit;
    dm_gb_visit_begin(&visit, lane);
    dm_gb_settle(&visit.lane);
    dm_gb_visit_end(&visit, lane);
#else
    dm_gb_settle(lane);
#endif
}

/* The picture unit up to the machine's target, likewise. Mostly the last turn has done it. */
DM_FN_SLOW void dm_swarm_ppu_sync(dm_gb_lane *lane, bool valid)
{
    const dm_gb_machine *m = dm_swarm_m(lane);
    if (!valid || m->dma.active || !dm_gb_ppu_behind(&m->ppu, m->target))
        return;
#if DM_GB_LOCAL_COPIES
    dm_gb_visit visit;
    dm_gb_visit_begin(&visit, lane);
    dm_gb_ppu_sync(&visit.lane, dm_gb_m(&visit.lane)->target);
    dm_gb_visit_end(&visit, lane);
#else
    dm_gb_ppu_sync(lane, dm_gb_m(lane)->target);
#endif
}

/* The first half of a run ends when the last picture is complete (dm_gb_last_picture), on all
 * machines, so that warps can draw it. Where no picture is wanted there is only the second half. */
DM_FN uint32_t dm_swarm_halves(dm_gb_lane *lane, bool valid, bool draws)
{
    if (valid && draws)
        dm_swarm_m(lane)->target = dm_gb_last_picture(lane, dm_swarm_m(lane));
    return draws ? 2u : 1u;
}

/* Draw the lines that the warp's machines have kept (gb/simt/render.h) up to their targets, one
 * machine after the other, with all lanes. Where the picture is complete and `packs`, its packed
 * pixels come with it, which saves reading it again (dm_swarm_packed_already). */
DM_FN_SLOW void dm_swarm_draw(const dm_swarm_args *args, uint32_t machine, dm_gb_lane *lane,
                              bool valid, bool packs)
{
    if (DM_SWARM_HAS_MACHINE(valid))
        dm_swarm_ppu_sync(lane, valid);
    const bool draws = valid && lane->kept_end != 0;
    const uint32_t complete =
        packs && draws ? dm_gb_complete_key(lane, &dm_swarm_m(lane)->ppu) : 0u;
    uint32_t lanes = dm_ballot(draws);
    const uint32_t packed = dm_ballot(complete != 0);
    const uint32_t fronts = dm_ballot(draws && dm_swarm_m(lane)->ppu.front != 0);
    dm_warp_sync();
    for (; lanes != 0; lanes &= lanes - 1u) {
        const uint32_t number = dm_ffs_u32(lanes) - 1u;
        const uint32_t others = dm_from_lane(machine, number);
        dm_gb_lane other;
        dm_swarm_lane_init(&other, args, others);
        dm_swarm_draw_picture(
            other.ram, other.frames + ((fronts >> number & 1u) != 0 ? 0u : DM_SWARM_PICTURE),
            &dm_swarm_desk_of(args, others)->kept,
            (packed >> number & 1u) != 0 ? args->packed + (uint64_t)others * DM_SWARM_PACKED : 0);
    }
    dm_warp_sync();
    lane->kept_end = 0;
    if (complete != 0)
        lane->complete = complete;
    if (valid)
        dm_swarm_m(lane)->target = lane->run_end;
}

DM_FN dm_gb_quick_place dm_swarm_quick(const dm_swarm_args *args)
{
    return dm_gb_quick_open(args->lowest);
}

#else

DM_FN bool dm_swarm_together(const dm_swarm_args *args, uint32_t machine, bool valid)
{
    (void)args;
    (void)machine;
    (void)valid;
    return false;
}

DM_FN void dm_swarm_loop(const dm_swarm_args *args, uint32_t own, dm_gb_lane *lane,
                         const dm_gb_quick_place *place, bool valid, bool together,
                         dm_swarm_cost *total)
{
    (void)args;
    (void)own;
    (void)place;
    (void)together;
    (void)total;
    if (valid)
        dm_gb_loop(lane);
}

DM_FN uint32_t dm_swarm_halves(dm_gb_lane *lane, bool valid, bool draws)
{
    (void)lane;
    (void)valid;
    (void)draws;
    return 1;
}

#define DM_SWARM_HAS_MACHINE(valid) (valid)

DM_FN void dm_swarm_settle(dm_gb_lane *lane, bool valid)
{
    (void)valid;
    dm_gb_settle(lane);
}

DM_FN void dm_swarm_draw(const dm_swarm_args *args, uint32_t machine, dm_gb_lane *lane, bool valid,
                         bool packs)
{
    (void)args;
    (void)machine;
    (void)lane;
    (void)valid;
    (void)packs;
}

DM_FN dm_gb_quick_place dm_swarm_quick(const dm_swarm_args *args)
{
    dm_gb_quick_place place = {0};
    (void)args;
    return place;
}

#endif

/* Run `cycles` T-cycles past the last target. Every thread of the block calls this; one without a
 * machine has `valid` false. `draws`: some picture of the run is wanted; `observes`: the stage
 * writes observations. */
DM_FN void dm_swarm_run(const dm_swarm_args *args, uint32_t machine, dm_gb_lane *lane,
                        const dm_gb_quick_place *place, uint32_t cycles, bool valid, bool together,
                        bool draws, bool observes, dm_swarm_cost *cost)
{
    /* By words, while somebody else's buffer may begin at any byte. */
    const bool packs = observes && args->packed != 0 && args->stack == 1u &&
                       (uintptr_t)args->packed % sizeof(uint32_t) == 0;
    if (valid)
        dm_gb_move_target(lane, dm_swarm_m(lane), cycles);
    DM_NO_UNROLL
    for (uint32_t halves = dm_swarm_halves(lane, valid, draws); halves != 0; halves--) {
        dm_swarm_loop(args, machine, lane, place, valid, together, cost);
        if (draws)
            dm_swarm_draw(args, machine, lane, valid, packs);
    }
    if (DM_SWARM_HAS_MACHINE(valid))
        dm_swarm_settle(lane, valid);
}

#endif
