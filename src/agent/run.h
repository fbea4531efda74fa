/* SPDX-License-Identifier: MIT */
/* run.h - a training run of an agent: a game, a learner, and the folder that the run writes. Start here.
 *
 *     config.h ─► game.h: ROM, keys, starts ─► world_swarm.h: a swarm as a world (world.h)
 *                                                 │ observations, rewards   ▲ actions
 *                                                 ▼                         │
 *                      learner.h: rollouts and PPO updates of the networks in policy.h
 *
 * The run's folder:
 *     config.json          every field of the configuration
 *     reward.c, reward.py  the reward's text
 *     checkpoint.safetensors, world-N.swarm, world-N.swarm.starts    the state after update N
 *     metrics.jsonl        a line for each update
 *     events.out.tfevents.*    the same for TensorBoard
 *     lives/               episodes of chosen machines (life.h)
 *
 * A checkpoint names the update whose world files belong to it, and is replaced after they are
 * written. So a run that was killed at any moment resumes to the bits of an uninterrupted one. */
#ifndef DM_AGENT_RUN_H
#define DM_AGENT_RUN_H

#include "agent/learner.h"
#include "agent/world_swarm.h"

typedef struct dm_agent_run dm_agent_run;

typedef struct dm_agent_score {
    uint64_t games, frames; /* frames: after which a game was cut off */
    double mean, median, lowest, highest;
    double alive; /* share of the games that were cut off */
} dm_agent_score;

typedef struct dm_agent_news {
    dm_agent_figures figures;
    double seconds; /* since the run began, without those before a resume */
} dm_agent_news;

/* Make the folder and write its configuration. */
dm_status dm_agent_run_begin(const char *device, const dm_agent_config *config, const char *folder,
                             dm_agent_run **out, dm_error *err);
/* Go on from the folder's checkpoint; without one, from the beginning. */
dm_status dm_agent_run_resume(const char *device, const char *folder, dm_agent_run **out,
                              dm_error *err);
/* The agent alone, to measure and film it: its machines stay at the start, and nothing is written. */
dm_status dm_agent_run_open(const char *device, const char *folder, dm_agent_run **out,
                            dm_error *err);
void dm_agent_run_close(dm_agent_run *run);
const dm_agent_config *dm_agent_run_config(const dm_agent_run *run);
dm_agent_learner *dm_agent_run_learner(dm_agent_run *run);
/* From the next training or measuring on, keep the episodes of these machines, each from its next start on: as
 * lives/machine-N-STEP.life, measured ones as lives/held-out-N-0.life. */
dm_status dm_agent_run_keep(dm_agent_run *run, const uint32_t *machines, size_t count,
                            dm_error *err);
/* The number of .life files written so far. */
uint64_t dm_agent_run_lives(const dm_agent_run *run);
/* Different games among the training starts. */
dm_status dm_agent_run_count_starts(dm_agent_run *run, uint64_t *different, dm_error *err);

/* Rounds until `until` steps of all machines were made, or `watch` says no. Checkpoints are written
 * every `config.checkpoint_seconds` and at the end. */
typedef bool (*dm_agent_watch)(void *user, const dm_agent_news *news);
dm_status dm_agent_run_train(dm_agent_run *run, uint64_t until, dm_agent_watch watch, void *user,
                             dm_error *err);

typedef enum dm_agent_player { DM_AGENT_GREEDY, DM_AGENT_RANDOM } dm_agent_player;

/* The first `count` held-out starts, or those that are trained from, a game each. */
dm_status dm_agent_run_measure(dm_agent_run *run, dm_agent_player player, bool trained,
                               uint64_t count, dm_agent_score *out, dm_error *err);
typedef struct dm_agent_film {
    uint64_t index;        /* of the held-out start */
    uint32_t skip, frames; /* played before it begins; shown at most */
    unsigned scale;
    const char *path; /* of the animation; NULL: none is made */
} dm_agent_film;
typedef struct dm_agent_filmed {
    double score;    /* at the end of the film */
    uint64_t frames; /* played until then */
    bool over;       /* the game is */
} dm_agent_filmed;
dm_status dm_agent_run_film(dm_agent_run *run, dm_agent_player player, const dm_agent_film *film,
                            dm_agent_filmed *out, dm_error *err);
/* The same of the last film->frames frames of the game, or of the first eval_frames of it; film->skip is not read. */
dm_status dm_agent_run_film_end(dm_agent_run *run, dm_agent_player player,
                                const dm_agent_film *film, dm_agent_filmed *out, dm_error *err);

#endif
