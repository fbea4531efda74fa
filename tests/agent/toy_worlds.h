/* SPDX-License-Identifier: MIT */
/* toy_worlds.h - worlds whose best policies and values are known, on the host. */
#ifndef DM_TESTS_AGENT_TOY_WORLDS_H
#define DM_TESTS_AGENT_TOY_WORLDS_H

#include "agent/world.h"

typedef enum toy_kind {
    /* One state, episodes of one step, three arms: rewards 0.2, 1 and 0.5, with noise. */
    TOY_BANDIT,
    /* Two states. In 0, action 1 leads to 1 and action 0 stays; in 1, action 1 stays and gives 1,
     * action 0 leads back and gives 2. Never ends; cut off after 10 steps when `ends`. */
    TOY_CHAIN,
    /* Six steps: the first observation shows one of two signs, the others nothing; the last action gives 1 when it is
     * the sign's. Without memory 0.5 is the best mean. */
    TOY_MEMORY,
} toy_kind;

typedef struct toy_world {
    dm_agent_world world;
    toy_kind kind;
    uint32_t limit; /* steps of an episode; 0: any */
    uint64_t step;
    float scale; /* of rewards and observations, which then lie 3 x scale off 0; 0: as they are */
    int32_t *state, *age;
} toy_world;

void toy_world_open(toy_world *toy, toy_kind kind, uint64_t machines, uint32_t limit);
void toy_world_close(toy_world *toy);

#endif
