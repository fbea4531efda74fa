/* SPDX-License-Identifier: MIT */
/* life.h - an episode ("life") of one machine as a file: its first state and the keys of each step, from which it can
 * be replayed with the same bits on any device.
 *
 *     "dotmatrix-life-1\n"
 *     JSON in one line: rom, rom_hash, reward, program (the reward program's text; null: there is none), frames
 *         and release of a step, machine, begun (the world's step), practice, ended, steps, total (the rewards'
 *         sum), end (a hash of the machine after the last step), state_bytes, device
 *     the state (dm_swarm_save_states), the keys (a byte for each step)
 *     XXH3 of all that (8 bytes) */
#ifndef DM_AGENT_LIFE_H
#define DM_AGENT_LIFE_H

#include "base/hash.h"

#include <dotmatrix/swarm.h>

#define DM_AGENT_LIFE_SCHEMA "dotmatrix-life-1"

typedef struct dm_agent_life {
    /* Texts and bytes that the caller owns, or `file` after dm_agent_life_read. */
    const char *rom, *reward, *program, *device;
    const uint8_t *state, *keys;
    size_t state_bytes;
    char rom_hash[DM_HASH_HEX_SIZE], end[DM_HASH_HEX_SIZE];
    uint32_t frames, release;
    uint64_t machine, begun, steps;
    bool practice;
    const char *ended; /* "terminated", "truncated" or "unfinished" */
    double total;
    void *file, *head; /* a reader's */
} dm_agent_life;

dm_status dm_agent_life_write(const dm_agent_life *life, const char *path, dm_error *err);
/* DM_EFORMAT: the file is none, or damaged. */
dm_status dm_agent_life_read(const char *path, dm_agent_life *out, dm_error *err);
void dm_agent_life_deinit(dm_agent_life *life);

/* A hash of everything that a program on the machine can observe: registers, 8000 to FFFF, cycles. */
dm_status dm_agent_life_look(dm_swarm *swarm, uint32_t machine, char out[DM_HASH_HEX_SIZE],
                             dm_error *err);

typedef struct dm_agent_replay {
    unsigned scale;        /* of the pictures */
    const char *gif, *png; /* written where not NULL; png: the last picture */
    uint64_t frames;       /* at most so many of the animation; 0: all */
} dm_agent_replay;

typedef struct dm_agent_replayed {
    bool same_end, same_total; /* as when it was recorded */
    double total;
} dm_agent_replayed;

/* Play it on the CPU. A ROM of another hash is DM_EINVAL. */
dm_status dm_agent_life_replay(const dm_agent_life *life, const void *rom, size_t rom_size,
                               const dm_agent_replay *how, dm_agent_replayed *out, dm_error *err);

#endif
