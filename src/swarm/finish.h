/* SPDX-License-Identifier: MIT */
/* finish.h - the parts from which a stage's post-step function is put together; kernel text.
 *
 *   judge     the epilog's reward and termination     reward_only, full_step (in the other stages
 *                                                      only for termination, which decides resets)
 *   finish    counters, step limit, same-step reset   every stage
 *   signal    write reward, terminated, truncated     reward_only, full_step
 *   observe   vector, pictures, regions               obs_only, full_step
 *
 * With a reward program the step ends without them; the program judges in a launch of its own, and a third one
 * (answered) has the rest. */
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
    bool fresh;   /* the machine was reset and not stepped, or is about to be observed anew */
    bool by_hand; /* in the reset kernel: no step was made */
} dm_swarm_outcome;

/* Count the step and say whether the episode is over; with same-step autoreset begin the next. */
DM_FN void dm_swarm_finish(const dm_swarm_args *args, const dm_simt_slot *slot,
                           dm_swarm_outcome *outcome)
{
    bool over = false;
    if (slot->valid) {
        dm_swarm_progress *progress = args->progress + slot->machine;
        if (!outcome->by_hand)
            progress->steps++;
        progress->episode_steps = outcome->fresh ? 0u : progress->episode_steps + 1u;
        outcome->done = 0;
        if (!outcome->fresh) {
            outcome->done = outcome->terminated ? DM_SWARM_WAS_TERMINATED : 0u;
            if (outcome->truncated ||
                (args->step_limit != 0 && progress->episode_steps >= args->step_limit))
                outcome->done |= DM_SWARM_WAS_TRUNCATED;
        }
        progress->done = outcome->done;
        over = outcome->done != 0 && args->autoreset == DM_SWARM_RESET_SAME_STEP;
        if (over)
            progress->episode_steps = 0;
    }
    if (args->autoreset == DM_SWARM_RESET_SAME_STEP) {
        dm_swarm_restore(args, slot, over);
        outcome->fresh = outcome->fresh || over;
    }
}

/* A program's answer, instead of judging. */
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
        dm_swarm_metric *metric =
            args->metrics + (uint64_t)slot->machine * args->metric_count + i;
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
}

#endif
