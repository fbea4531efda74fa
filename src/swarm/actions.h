/* SPDX-License-Identifier: MIT */
/* actions.h - which keys a machine gets in a step; kernel text. */
#ifndef DM_SWARM_ACTIONS_H
#define DM_SWARM_ACTIONS_H

#include "base/philox.h"
#include "swarm/args.h"

/* The action of a machine in the step with this number: given, or generated from (seed, machine,
 * step) alone, so that it does not depend on the device or the order of machines. */
DM_FN uint32_t dm_swarm_action(const dm_swarm_args *args, uint64_t machine, uint64_t step)
{
    if (args->actions != 0)
        return args->actions[machine];
    uint64_t number = args->first_machine + machine;
    if (args->generator == DM_SWARM_GEN_RANDOM)
        return dm_random_below(dm_random4(args->seed, number, step).v[0], args->action_count);
    if (args->generator == DM_SWARM_GEN_STRIPED)
        return (uint32_t)((number + step) % args->action_count);
    return 0;
}

DM_FN uint8_t dm_swarm_keys(const dm_swarm_args *args, uint32_t action)
{
    if (DM_UNLIKELY(action >= args->action_count)) {
        dm_atomic_add_u32(&args->faults->actions, 1);
        action = 0;
    }
    return args->raw_keys ? (uint8_t)action : args->keys[action];
}

#endif
