/* SPDX-License-Identifier: MIT */
/* skeleton.h - the template of the stage kernels. Not C as it stands: compose.c replaces its two
 * sites, marked by words between at signs, and defines DM_SWARM_STAGE.
 *
 *   instruction dispatch   one part of a step of the lane's machine, if `running`
 *   post-step dispatch     dm_swarm_post_<stage>, which ends a step: reward, termination, reset,
 *                          observation, as far as the stage owns them, and the epilog that it calls
 */
#include "swarm/actions.h"
#include "swarm/finish.h"
#include "swarm/pixels.h"
#include "gb/simt/rebalance.h"
#include "gb/simt/warp.h"

#ifndef DM_SWARM_BLOCKS
/* Per multiprocessor at least: limits registers. */
#define DM_SWARM_BLOCKS (DM_SWARM_BLOCK < 512 ? 512 / DM_SWARM_BLOCK : 1)
#endif

/* clang-format off */
@POST_STEP_DISPATCH@

/* One step of every machine, or one of the two parts of a step. */
DM_SWARM_KERNEL(DM_SWARM_NAME(step), DM_SWARM_BLOCK, DM_SWARM_BLOCKS)
/* clang-format on */
{
    const dm_gb_quick_place quick = dm_swarm_quick(&args);
    dm_swarm_place place = dm_swarm_place_of(&args, dm_thread_index());
    dm_swarm_turn turn = {0};
    dm_gb_lane none = {0}, *lane = place.valid ? dm_swarm_lane(&args, place.machine, &none) : &none;
    turn.view.lane = lane;
    turn.view.machine = place.machine;
    if (place.valid) {
        turn.view.m = dm_swarm_machine(&args, place.machine);
        const dm_swarm_progress *progress = args.progress + place.machine;
        turn.fresh = args.autoreset == DM_SWARM_RESET_NEXT_STEP && progress->done != 0;
        turn.view.action = dm_swarm_action(&args, place.machine, progress->steps);
    }
    if (args.autoreset == DM_SWARM_RESET_NEXT_STEP && args.part_begin == 0)
        dm_swarm_restore(&args, &place, turn.fresh);
    bool running = place.valid && !turn.fresh;
    uint32_t keys = 0;
    if (running && args.part_begin == 0)
        keys = dm_swarm_keys(&args, turn.view.action);
    const bool together = dm_swarm_together(&args, place.machine, place.valid);
    dm_swarm_cost cost = {0, 0};
    dm_swarm_enter(lane, running);
#if DM_ON_CUDA
#pragma unroll 1
#endif
    for (uint32_t part = args.part_begin; part < args.part_end; part++) {
        uint32_t cycles = args.cycles[part];
        if (cycles == 0)
            continue;
        lane->draw = args.draw[part];
        lane->single_frame = args.single_frame[part];
        if (running)
            dm_gb_joypad_set(dm_swarm_m(lane), dm_swarm_m(lane)->joypad.select,
                             (uint8_t)(part == 0 ? keys : 0u));
        /* clang-format off */
        @INSTRUCTION_DISPATCH@
        /* clang-format on */
    }
    if (running)
        dm_swarm_leave(lane);
    if (place.valid && args.loads != 0) {
        const float whole = dm_swarm_whole(&args);
        const uint32_t load = cost.instructions + DM_SWARM_TURN_ROUNDS * cost.turns;
        args.loads[place.machine] = (uint32_t)((float)load * whole);
        args.turns[place.machine] = (uint32_t)((float)cost.turns * whole);
    }
    if (args.part_end == 2u)
        DM_SWARM_NAME(post)(&args, &place, &turn);
}

/* CUDA, before each launch: one block. */
DM_SWARM_KERNEL(DM_SWARM_NAME(regroup), DM_SWARM_SORTERS, 1)
{
    (void)dm_thread_index();
    dm_swarm_sort(&args);
}

/* Machines chosen by reset_mask back to a snapshot, with their first observation. */
DM_SWARM_KERNEL(DM_SWARM_NAME(reset), DM_SWARM_BLOCK, 1)
{
    dm_swarm_place place = dm_swarm_place_of(&args, dm_thread_index());
    dm_swarm_turn turn = {0};
    dm_gb_lane lane = {0};
    turn.view.lane = &lane;
    turn.view.machine = place.machine;
    if (place.valid) {
        uint32_t machine = place.machine;
        turn.fresh = args.reset_mask == 0 || args.reset_mask[machine] != 0;
        if (turn.fresh) {
            uint32_t slot =
                args.reset_slots == 0 ? args.starts[machine] : args.reset_slots[machine];
            turn.fresh = dm_swarm_reset_check(&args, machine, slot);
            if (turn.fresh)
                args.starts[machine] = slot;
            if (turn.fresh && args.reset_mask == 0)
                args.progress[machine].steps = 0;
        }
        dm_swarm_lane_init(&lane, &args, machine);
        turn.view.m = dm_swarm_machine(&args, machine);
    }
    dm_swarm_restore(&args, &place, turn.fresh);
    place.valid = turn.fresh;
    turn.by_hand = true;
    DM_SWARM_NAME(post)(&args, &place, &turn);
}
