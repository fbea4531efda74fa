/* SPDX-License-Identifier: MIT */
/* world_swarm.h - a game as a world (world.h): a swarm, its starts, and the archive of later ones.
 *
 * Snapshots of the swarm, by number:
 *
 *     0                        power-on
 *     1 .. starts              the states that the configuration describes
 *     then 2 per machine       where it was `before` to twice as many steps ago
 *     then `archive`           such states of episodes that ended: the newest
 *
 * Every `before` steps of an episode the machine is saved to the older of its two snapshots. When
 * the episode ends, the older snapshot replaces the archive's oldest: it is a start shortly before
 * the event that ended the episode. A share of the episodes (`curriculum`) begin at such starts. They
 * are cut off after `practice` steps, and their scores are not counted. Their first steps, up to
 * `stir`, repeat one random action, so that an agent that always acts the same before it dies also
 * sees what other actions lead to. */
#ifndef DM_AGENT_WORLD_SWARM_H
#define DM_AGENT_WORLD_SWARM_H

#include "agent/game.h"
#include "agent/lives.h"
#include "agent/world.h"

#include <dotmatrix/swarm.h>

typedef struct dm_agent_swarm_desc {
    uint64_t machines;
    uint64_t starts;
    bool held_out;  /* machine i plays held-out start i once, and no curriculum */
    bool trained;   /* likewise, but a start that is trained from */
    bool pictures;  /* for dm_swarm_get_picture */
    uint64_t first; /* number of the first start */
} dm_agent_swarm_desc;

dm_status dm_agent_swarm_create(dm_device *device, const dm_agent_config *config,
                                dm_agent_game *game, const dm_agent_swarm_desc *desc,
                                dm_agent_world **out, dm_error *err);
dm_swarm *dm_agent_swarm_of(dm_agent_world *world);
/* Keep episodes of machines from now on; `begun`: all have just been reset. The world does not own them. */
dm_status dm_agent_swarm_keep_lives(dm_agent_world *world, dm_agent_lives *lives, bool begun,
                                    dm_error *err);
/* How many of the starts give different games: all are played with the same keys for `steps` steps,
 * and the policy's observations are compared. The world is reset afterwards. */
dm_status dm_agent_swarm_count_starts(dm_agent_world *world, uint32_t steps, uint64_t *different,
                                      dm_error *err);

#endif
