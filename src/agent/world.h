/* SPDX-License-Identifier: MIT */
/* world.h - the environment interface: N machines take an action each and give observation and reward.
 *
 *     observe ──► policy ──► actions ──► step ──► rewards, flags, the next observation
 *
 * An episode's last step gives its final observation. The step after it does not run that machine
 * but begins the next episode: reward 0, flag DM_AGENT_BEGINS, the first observation (Gymnasium's
 * NEXT_STEP). So the critic sees every final observation; the extra step is left out of learning.
 *
 * All arrays are memory of the agent's device; work is queued on its stream. */
#ifndef DM_AGENT_WORLD_H
#define DM_AGENT_WORLD_H

#include <dotmatrix/device.h>

#include <stdbool.h>

/* How a step ended. */
enum {
    DM_AGENT_TERMINATED = 1, /* the episode is over for good */
    DM_AGENT_TRUNCATED = 2,  /* it was cut off */
    DM_AGENT_BEGINS = 4,     /* the step only began the next episode: nothing is learned from it */
    DM_AGENT_PRACTICE = 8,   /* with BEGINS: the next episode's score does not count */
    DM_AGENT_FORCED = 16,    /* the action was forced: learned from if it came out well */
};

typedef struct dm_agent_world {
    void *user;
    uint64_t count;          /* machines */
    uint32_t actions;        /* to choose from: 0 .. actions - 1 */
    uint32_t observation[3]; /* {C} floats, or an image {C, H, W} */
    bool packed; /* of an image: a byte has four pixels, the leftmost lowest; else floats */
    bool has_scores;
    bool watched; /* the host looks at machines in each step: not to be captured in a graph */
    const int32_t *
        forced; /* of each machine, what it does next instead of what the policy draws; -1: that. NULL: none */

    /* All machines at the start of an episode; the first observations [count][...]. */
    dm_status (*reset)(struct dm_agent_world *world, void *observations, dm_error *err);
    /* `scores`: the game's own score after the step, where `has_scores`; else the rewards' sum is
     * taken for it and the array is not written. */
    dm_status (*step)(struct dm_agent_world *world, const int32_t *actions, void *observations,
                      float *rewards, float *scores, uint8_t *flags, dm_error *err);
    /* Let the host prepare the next `steps` steps; NULL: nothing to prepare. After the call so many steps may be
     * replayed from graphs captured of the steps before. */
    dm_status (*prepare)(struct dm_agent_world *world, uint64_t steps, dm_error *err);
    /* All that is needed to go on to the same bits, to and from a file. */
    dm_status (*save)(struct dm_agent_world *world, const char *path, dm_error *err);
    dm_status (*load)(struct dm_agent_world *world, const char *path, dm_error *err);
    void (*destroy)(struct dm_agent_world *world);
} dm_agent_world;

static inline uint64_t dm_agent_world_numbers(const dm_agent_world *world)
{
    uint64_t numbers = 1;
    for (int i = 0; i < 3; i++)
        numbers *= world->observation[i] > 0 ? world->observation[i] : 1;
    return numbers;
}

/* Bytes of a machine's observation. */
static inline uint64_t dm_agent_world_row_bytes(const dm_agent_world *world)
{
    uint64_t numbers = dm_agent_world_numbers(world);
    return world->packed ? numbers / 4 : numbers * sizeof(float);
}

#endif
