/* SPDX-License-Identifier: MIT */
/* actions.h - which keys each machine gets in each step, for backends of all kinds.
 *
 * Generated from (generator, seed, machine, step) exactly as a swarm does with the same codec, or read
 * from a file: a line for each step with one action for all machines, or one for each. An action is
 * a number of the codec or its name; those of the codec raw have no names.
 *
 *     # step 0: machine 0 presses A, machine 1 nothing
 *     A NOOP
 *     3 RIGHT
 */
#ifndef DM_LAB_ACTIONS_H
#define DM_LAB_ACTIONS_H

#include "base/buffer.h"

#include <dotmatrix/swarm.h>

typedef struct dm_lab_actions {
    dm_swarm_codec codec;
    dm_swarm_generator generator;
    uint64_t seed;
    /* From a file: an action for each step and machine; NULL: made up. */
    uint8_t *given;
    uint64_t steps, machines;
} dm_lab_actions;

/* `codec` is taken as it is. DM_EFORMAT with file and line when it is malformed, or has fewer than `steps` steps. */
dm_status dm_lab_actions_load(dm_lab_actions *actions, const char *path, uint64_t steps,
                              uint64_t machines, dm_error *err);
void dm_lab_actions_deinit(dm_lab_actions *actions);

/* The number of the action in the codec. */
uint8_t dm_lab_action(const dm_lab_actions *actions, uint64_t machine, uint64_t step);
/* keys[0..count) of machines first .. first + count - 1. */
void dm_lab_actions_keys(const dm_lab_actions *actions, uint64_t first, uint64_t count,
                         uint64_t step, uint8_t *keys);
/* "RIGHT", or "16" of raw. */
#define DM_LAB_ACTION_SIZE 8
const char *dm_lab_action_text(dm_swarm_codec codec, uint8_t action, char out[DM_LAB_ACTION_SIZE]);

#endif
