/* SPDX-License-Identifier: MIT */
/* lives.h - keeps the episodes of chosen machines of a swarm, a file each (life.h).
 *
 * The host looks at these machines after each step, which waits for the device. */
#ifndef DM_AGENT_LIVES_H
#define DM_AGENT_LIVES_H

#include "agent/game.h"
#include "agent/life.h"

typedef struct dm_agent_lives dm_agent_lives;

/* Files are FOLDER/NAME-MACHINE-BEGUN.life; FOLDER is made. `name`, `config`, `game` and `device` must stay. */
typedef struct dm_agent_lives_desc {
    const char *folder, *name, *device;
    const dm_agent_config *config;
    const dm_agent_game *game;
    const uint32_t *machines; /* copied, as the folder is */
    size_t count;
    bool once; /* only each machine's first episode: one after a measured game does not count */
} dm_agent_lives_desc;
dm_status dm_agent_lives_create(const dm_agent_lives_desc *desc, dm_agent_lives **out,
                                dm_error *err);
void dm_agent_lives_destroy(dm_agent_lives *lives);
uint64_t dm_agent_lives_written(const dm_agent_lives *lives);

/* A step of all machines, in device memory; flags as in world.h. practice[machine]: its episode is cut off and its
 * score not counted (world_swarm.h). */
typedef struct dm_agent_lives_step {
    dm_swarm *swarm;
    dm_stream *stream;
    uint64_t number; /* of the world's step */
    const uint8_t *keys, *flags, *practice;
    const float *rewards;
} dm_agent_lives_step;
/* All machines begin an episode. */
dm_status dm_agent_lives_begin(dm_agent_lives *lives, const dm_agent_lives_step *step,
                               dm_error *err);
dm_status dm_agent_lives_add(dm_agent_lives *lives, const dm_agent_lives_step *step, dm_error *err);
/* The machines hold other states now: keep each again from its next episode on. */
void dm_agent_lives_forget(dm_agent_lives *lives);
/* Write episodes that go on, as far as they have come. */
dm_status dm_agent_lives_finish(dm_agent_lives *lives, dm_swarm *swarm, dm_error *err);

#endif
