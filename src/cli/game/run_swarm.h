/* SPDX-License-Identifier: MIT */
/* run_swarm.h - `dotmatrix run --backend vec_cpu|vec_cuda`: many machines for some steps. */
#ifndef DM_CLI_RUN_SWARM_H
#define DM_CLI_RUN_SWARM_H

#include "cli/options.h"

#include <stdbool.h>

/* The options of `run` that concern a swarm. */
typedef struct dm_run_swarm {
    const char *rom;
    bool cuda;
    int64_t envs, steps, frames_per_step, seed, scale;
    const char *stage, *obs, *action_gen;
    const char *record;       /* a .gif or .png of the first machines; NULL: none */
    const char *mosaic;       /* which ones, see mosaic.h */
    const dm_strings *hooks;  /* see hooks.h */
    const char *reward;       /* a program's file; NULL: none */
    const char *actions_file; /* lab/actions.h; NULL: the generator's actions */
    const char *symbols;
    const dm_strings *states, *random; /* see starts.h */
    const char *actions; /* a list of key masks (romtools/key_list.h); NULL: the codec's */
    bool json, force_dmg;
} dm_run_swarm;

dm_status dm_run_swarm_run(const dm_run_swarm *options, dm_error *err);

#endif
