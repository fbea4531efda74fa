/* SPDX-License-Identifier: MIT */
/* skeleton.h - the template of the stage kernels: step, answered, rebalance, reset. It is not C:
 * compose.c replaces two sites, marked by words between at signs, and defines DM_SWARM_STAGE.
 *
 *   instruction dispatch   one part of a step of the machine, if `running`
 *   post-step dispatch     dm_swarm_post_<stage>, which ends a step: reward, termination, reset,
 *                          observation, as far as the stage owns them, and the epilog that it calls
 */
#include "gb/batch.h"
#include "swarm/actions.h"
#include "swarm/finish.h"
#include "swarm/pixels.h"

/* clang-format off */
@POST_STEP_DISPATCH@

/* One step of every machine, or one of the two parts of a step. */
DM_SWARM_KERNEL(DM_SWARM_NAME(step), DM_SIMT_THREADS, DM_SIMT_BLOCKS)
/* clang-format on */
{
    const dm_gb_smem smem = dm_simt_smem(&args.batch);
    dm_simt_slot slot = dm_simt_slot_of(&args.batch, dm_thread_index());
    dm_swarm_outcome outcome = {0};
    dm_gb_context none = {0},
                  *context = slot.valid ? dm_simt_context(&args.batch, slot.machine, &none) : &none;
    outcome.view.context = context;
    outcome.view.machine = slot.machine;
    if (slot.valid) {
        outcome.view.m = dm_gb_batch_machine(&args.batch, slot.machine);
        const dm_swarm_progress *progress = args.progress + slot.machine;
        outcome.fresh = args.autoreset == DM_SWARM_RESET_NEXT_STEP && progress->done != 0;
        outcome.view.action = dm_swarm_action(&args, slot.machine, progress->steps);
#if DM_GB_HOOKS
        if (args.batch.hook_bits != 0 && args.batch.part_begin == 0)
            args.batch.hook_bits[slot.machine] = 0;
#endif
    }
    if (args.autoreset == DM_SWARM_RESET_NEXT_STEP && args.batch.part_begin == 0)
        dm_swarm_restore(&args, &slot, outcome.fresh, true);
    bool running = slot.valid && !outcome.fresh;
    uint32_t keys = 0;
    if (running && args.batch.part_begin == 0)
        keys = dm_swarm_keys(&args, outcome.view.action);
    const bool block_service = dm_simt_block_service(&args.batch, slot.machine, slot.valid);
    dm_simt_cost cost = {0, 0};
    dm_simt_stage_in(context, running);
    DM_NO_UNROLL
    for (uint32_t part = args.batch.part_begin; part < args.batch.part_end; part++) {
        uint32_t cycles = args.batch.cycles[part];
        if (cycles == 0)
            continue;
        context->draw = args.batch.draw[part];
        context->single_frame = args.batch.single_frame[part];
        if (running)
            dm_gb_joypad_set(dm_simt_machine(context), dm_simt_machine(context)->joypad.select,
                             (uint8_t)(part == 0 ? keys : 0u));
        /* clang-format off */
        @INSTRUCTION_DISPATCH@
        /* clang-format on */
    }
    if (running)
        dm_simt_stage_out(context);
    if (slot.valid)
        dm_simt_cost_store(&args.batch, slot.machine, &cost);
    if (args.batch.part_end == 2u && args.answers == 0) {
        DM_SWARM_NAME(post)(&args, &slot, &outcome);
    } else if (args.batch.part_end == 2u && slot.valid) {
        args.turns[slot.machine] = outcome.fresh ? DM_SWARM_TURN_FRESH : DM_SWARM_TURN_STEP;
        args.turn_actions[slot.machine] = outcome.view.action;
    }
}

/* The end of a step that a reward program has judged. The program's next launch runs for machines that were reset
 * here. */
DM_SWARM_KERNEL(DM_SWARM_NAME(answered), DM_SIMT_THREADS, 1)
{
    dm_simt_slot slot = dm_simt_slot_of(&args.batch, dm_thread_index());
    dm_swarm_outcome outcome = {0};
    dm_gb_context context = {0};
    outcome.view.context = &context;
    outcome.view.machine = slot.machine;
    if (slot.valid) {
        dm_simt_context_init(&context, &args.batch, slot.machine);
        outcome.view.m = dm_gb_batch_machine(&args.batch, slot.machine);
    }
    dm_swarm_take_answer(&args, &slot, &outcome);
    DM_SWARM_NAME(end)(&args, &slot, &outcome);
    if (slot.valid)
        args.turns[slot.machine] =
            outcome.done != 0 && outcome.fresh ? DM_SWARM_TURN_FRESH : DM_SWARM_TURN_SKIP;
}

#if DM_MANY_LANES

/* GPU, before each launch: one block of DM_SIMT_SORTERS threads (gb/simt/rebalance.h). */
DM_SWARM_KERNEL(DM_SWARM_NAME(rebalance), DM_SIMT_SORTERS, 1)
{
    const uint64_t thread = dm_thread_index();
    dm_simt_sort_begin();
    for (uint32_t i = (uint32_t)thread; i < args.batch.count; i += DM_SIMT_SORTERS)
        dm_simt_sort_count(&args.batch, i, dm_swarm_action(&args, i, args.progress[i].steps));
    dm_simt_sort_scan();
    for (uint32_t i = (uint32_t)thread; i < args.batch.count; i += DM_SIMT_SORTERS)
        dm_simt_sort_place(&args.batch, i, dm_swarm_action(&args, i, args.progress[i].steps));
}

#endif

/* Reset the machines chosen by reset_mask to a snapshot, and make their first observation. */
DM_SWARM_KERNEL(DM_SWARM_NAME(reset), DM_SIMT_THREADS, 1)
{
    dm_simt_slot slot = dm_simt_slot_of(&args.batch, dm_thread_index());
    dm_swarm_outcome outcome = {0};
    dm_gb_context context = {0};
    outcome.view.context = &context;
    outcome.view.machine = slot.machine;
    if (slot.valid) {
        uint32_t machine = slot.machine;
        outcome.fresh = args.reset_mask == 0 || args.reset_mask[machine] != 0;
        if (outcome.fresh) {
            uint32_t snapshot =
                args.reset_snapshots == 0 ? args.starts[machine] : args.reset_snapshots[machine];
            outcome.fresh = dm_swarm_reset_check(&args, machine, snapshot);
            if (outcome.fresh)
                args.starts[machine] = snapshot;
#if DM_GB_HOOKS
            if (outcome.fresh && args.batch.hook_bits != 0)
                args.batch.hook_bits[machine] = 0;
#endif
            if (outcome.fresh && args.reset_mask == 0) {
                args.progress[machine].steps = 0;
                args.start_draws[machine] = 0;
            }
        }
        dm_simt_context_init(&context, &args.batch, machine);
        outcome.view.m = dm_gb_batch_machine(&args.batch, machine);
    }
    dm_swarm_restore(&args, &slot, outcome.fresh, args.reset_snapshots == 0);
    if (args.answers != 0 && slot.valid)
        args.turns[slot.machine] = outcome.fresh ? DM_SWARM_TURN_FRESH : DM_SWARM_TURN_SKIP;
    slot.valid = outcome.fresh;
    outcome.by_hand = true;
    if (args.answers == 0)
        DM_SWARM_NAME(post)(&args, &slot, &outcome);
    else
        DM_SWARM_NAME(end)(&args, &slot, &outcome);
}
