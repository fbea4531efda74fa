/* SPDX-License-Identifier: MIT */
/* finish.h - the parts from which a stage's post-step function is put together; kernel text.
 *
 *   judge     the epilog's reward and termination     reward_only, full_step (in the other stages
 *                                                     only for termination, which decides resets)
 *   count     counters, step limit: is it over?       every stage
 *   final     observe machines that are over          obs_only, full_step, where wanted
 *   restart   same-step reset of machines that are    every stage
 *             over
 *   signal    reward, ends, return and length         reward_only, full_step
 *   observe   vector, pictures, regions               obs_only, full_step
 *
 * With a reward program the step kernel does none of this: the program judges in a launch of its own, and a third
 * launch (answered) does the rest. */
#ifndef DM_SWARM_FINISH_H
#define DM_SWARM_FINISH_H

#include "swarm/pixels.h"
#include "swarm/reset.h"

/* One step of one machine, as it goes through the kernel. */
typedef struct dm_swarm_outcome {
    dm_swarm_view view;
    float reward;
    bool terminated, truncated;
    uint32_t done;
    bool fresh;      /* the machine was reset and not stepped, or is about to be observed anew */
    bool by_hand;    /* in the reset kernel: no step was made */
    bool over;       /* the episode has ended and the next one begins in the same step */
    bool first;      /* the step was the first one after such a reset */
    uint32_t length; /* of the episode, this step included */
} dm_swarm_outcome;

/* Count the step and say whether the episode is over. */
DM_FN void dm_swarm_count(const dm_swarm_args *args, const dm_simt_slot *slot,
                          dm_swarm_outcome *outcome)
{
    if (!slot->valid)
        return;
    dm_swarm_progress *progress = args->progress + slot->machine;
    const bool same_step = args->autoreset == DM_SWARM_RESET_SAME_STEP;
    if (!outcome->by_hand)
        progress->steps++;
    outcome->first = same_step && progress->done != 0;
    outcome->length = outcome->fresh ? 0u : progress->episode_steps + 1u;
    outcome->done = 0;
    if (!outcome->fresh) {
        outcome->done = outcome->terminated ? DM_SWARM_WAS_TERMINATED : 0u;
        if (outcome->truncated || (args->step_limit != 0 && outcome->length >= args->step_limit))
            outcome->done |= DM_SWARM_WAS_TRUNCATED;
    }
    progress->done = outcome->done;
    outcome->over = outcome->done != 0 && same_step;
    progress->episode_steps = outcome->over ? 0u : outcome->length;
}

/* With same-step autoreset: begin the next episode. */
DM_FN void dm_swarm_restart(const dm_swarm_args *args, const dm_simt_slot *slot,
                            dm_swarm_outcome *outcome)
{
    if (args->autoreset == DM_SWARM_RESET_SAME_STEP) {
        dm_swarm_restore(args, slot, outcome->over, true);
        outcome->fresh = outcome->fresh || outcome->over;
    }
}

/* One machine's observation of some kind, by all lanes. */
DM_FN void dm_swarm_keep_bytes(uint8_t *to, const uint8_t *from, uint64_t machine, uint64_t size)
{
    if (to != 0 && from != 0)
        dm_warp_copy(to + machine * size, from + machine * size, size);
}

/* Observe machines whose episode is over before they are reset, and copy that to the arrays of final observations. The
 * vectors are there already; the observation after the reset overwrites the ordinary arrays. */
DM_FN_SLOW void dm_swarm_keep_final(const dm_swarm_args *args, const dm_simt_slot *slot,
                                    const dm_swarm_outcome *outcome)
{
    dm_simt_slot ending = *slot;
    ending.valid = slot->valid && outcome->over;
    dm_swarm_observe_pixels(args, &ending, &outcome->view, false);
    dm_warp_sync();
    for (uint32_t lanes = dm_ballot(ending.valid); lanes != 0; lanes &= lanes - 1u) {
        const uint64_t machine = dm_from_lane(slot->machine, dm_ffs_u32(lanes) - 1u);
        const uint64_t stack = args->stack;
        if (args->final_vectors != 0)
            for (uint32_t i = dm_lane(); i < args->vector_size; i += DM_LANES)
                args->final_vectors[machine * args->vector_size + i] =
                    args->vectors[machine * args->vector_size + i];
        dm_swarm_keep_bytes(args->final_shades, args->shades, machine, stack * DM_SWARM_PICTURE);
        dm_swarm_keep_bytes(args->final_small, args->small, machine, stack * DM_SWARM_SMALL);
        dm_swarm_keep_bytes(args->final_packed, args->packed, machine, stack * DM_SWARM_PACKED);
        dm_swarm_keep_bytes(args->final_regions, args->regions, machine, args->region_bytes);
    }
    dm_warp_sync();
}

/* Take over the program's answer, in place of the epilog's. */
DM_FN void dm_swarm_take_answer(const dm_swarm_args *args, const dm_simt_slot *slot,
                                dm_swarm_outcome *outcome)
{
    if (!slot->valid)
        return;
    const dm_swarm_answer *answer = args->answers + slot->machine;
    outcome->fresh = args->turns[slot->machine] == DM_SWARM_TURN_FRESH;
    outcome->reward = answer->reward;
    outcome->terminated = answer->terminated != 0;
    outcome->truncated = answer->truncated != 0;
}

/* Metrics, once it is known whether the episode is over. */
DM_FN void dm_swarm_count_metrics(const dm_swarm_args *args, const dm_simt_slot *slot,
                                  const dm_swarm_outcome *outcome)
{
    if (!slot->valid)
        return;
    for (uint32_t i = 0; i < args->metric_count; i++) {
        dm_swarm_metric *metric = args->metrics + (uint64_t)slot->machine * args->metric_count + i;
        metric->sum = outcome->done == 0 && outcome->fresh ? 0.0f : metric->sum + metric->value;
        if (outcome->done == 0)
            continue;
        metric->last_sum += (double)metric->value;
        metric->sum_sum += (double)metric->sum;
        metric->sum = 0.0f;
    }
    if (outcome->done != 0 && args->metric_count != 0)
        args->episodes[slot->machine]++;
}

DM_FN void dm_swarm_signal(const dm_swarm_args *args, const dm_simt_slot *slot,
                           const dm_swarm_outcome *outcome)
{
    if (!slot->valid)
        return;
    args->rewards[slot->machine] = outcome->reward;
    args->terminated[slot->machine] = (outcome->done & DM_SWARM_WAS_TERMINATED) != 0;
    args->truncated[slot->machine] = (outcome->done & DM_SWARM_WAS_TRUNCATED) != 0;
    if (args->returns != 0) {
        const float before = outcome->first ? 0.0f : args->returns[slot->machine];
        args->returns[slot->machine] = outcome->length == 0 ? 0.0f : before + outcome->reward;
        args->lengths[slot->machine] = outcome->length;
    }
}

#endif
