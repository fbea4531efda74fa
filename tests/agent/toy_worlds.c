/* SPDX-License-Identifier: MIT */
/* toy_worlds.c - see toy_worlds.h. */
#include "tests/agent/toy_worlds.h"

#include "base/philox.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum { MEMORY_STEPS = 6 };

static void observe(const toy_world *toy, void *to)
{
    float *observations = to;
    for (uint64_t n = 0; n < toy->world.count; n++) {
        bool seen = toy->kind != TOY_MEMORY || toy->age[n] == 0;
        observations[2 * n] = seen && toy->state[n] == 0;
        observations[2 * n + 1] = seen && toy->state[n] == 1;
        for (int i = 0; i < 2 && toy->scale > 0; i++)
            observations[2 * n + (uint64_t)i] =
                toy->scale * (observations[2 * n + (uint64_t)i] + 3);
    }
}

static dm_status reset(dm_agent_world *world, void *observations, dm_error *error)
{
    (void)error;
    toy_world *toy = world->user;
    memset(toy->state, 0, world->count * sizeof *toy->state);
    memset(toy->age, 0, world->count * sizeof *toy->age);
    observe(toy, observations);
    return DM_OK;
}

static float play(toy_world *toy, uint64_t n, int32_t action)
{
    static const float arms[3] = {0.2f, 1, 0.5f};
    if (toy->kind == TOY_BANDIT)
        return arms[action] + dm_random_unit(dm_random4(5, n, toy->step).v[0]) - 0.5f;
    if (toy->kind == TOY_MEMORY)
        return toy->age[n] == MEMORY_STEPS - 1 && action == toy->state[n] ? 1 : 0;
    float reward = toy->state[n] == 0 ? 0 : action == 1 ? 1 : 2;
    toy->state[n] = action == 1;
    return reward;
}

static dm_status step(dm_agent_world *world, const int32_t *actions, void *observations,
                      float *rewards, float *scores, uint8_t *flags, dm_error *error)
{
    (void)error, (void)scores;
    toy_world *toy = world->user;
    for (uint64_t n = 0; n < world->count; n++) {
        rewards[n] = 0;
        flags[n] = 0;
        if (toy->age[n] < 0) { /* the last step ended an episode */
            toy->state[n] = toy->age[n] = 0;
            if (toy->kind == TOY_MEMORY)
                toy->state[n] = (int32_t)(dm_random4(6, n, toy->step).v[0] & 1);
            flags[n] = DM_AGENT_BEGINS;
            continue;
        }
        rewards[n] = play(toy, n, actions[n]) * (toy->scale > 0 ? toy->scale : 1);
        toy->age[n]++;
        if (toy->kind == TOY_BANDIT || (toy->kind == TOY_MEMORY && toy->age[n] == MEMORY_STEPS))
            flags[n] = DM_AGENT_TERMINATED;
        else if (toy->limit > 0 && (uint32_t)toy->age[n] >= toy->limit)
            flags[n] = DM_AGENT_TRUNCATED;
        if (flags[n])
            toy->age[n] = -1;
    }
    toy->step++;
    observe(toy, observations);
    return DM_OK;
}

void toy_world_open(toy_world *toy, toy_kind kind, uint64_t machines, uint32_t limit)
{
    *toy = (toy_world){.kind = kind,
                       .limit = limit,
                       .world = {.user = toy,
                                 .count = machines,
                                 .actions = kind == TOY_BANDIT ? 3 : 2,
                                 .observation = {2},
                                 .reset = reset,
                                 .step = step}};
    toy->state = calloc(machines, sizeof *toy->state);
    toy->age = calloc(machines, sizeof *toy->age);
    assert_true(toy->state && toy->age);
}

void toy_world_close(toy_world *toy)
{
    free(toy->state);
    free(toy->age);
}
