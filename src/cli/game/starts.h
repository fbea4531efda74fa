/* SPDX-License-Identifier: MIT */
/* starts.h - `dotmatrix run --start-state FILE --random ADDR:COUNT`: where the episodes of a swarm start, and how many
 * of these games really differ. */
#ifndef DM_CLI_STARTS_H
#define DM_CLI_STARTS_H

#include "base/json.h"
#include "cli/options.h"

#include <dotmatrix/swarm.h>

#define DM_RUN_RANDOM_MAX 64

typedef struct dm_run_starts {
    const dm_strings *states; /* files of saved states */
    uint16_t random[DM_RUN_RANDOM_MAX];
    size_t random_count;
    bool counted;
    size_t different;
} dm_run_starts;

/* Fill in what the description has of it: snapshots, random bytes, and something to tell games apart by. */
dm_status dm_run_starts_parse(dm_run_starts *starts, const dm_strings *states,
                              const dm_strings *random, dm_swarm_desc *desc, dm_error *err);
/* Load the states, draw from them, and count. Nothing where none were asked for. */
dm_status dm_run_starts_prepare(dm_run_starts *starts, dm_swarm *swarm, const dm_swarm_desc *desc,
                                dm_error *err);
void dm_run_starts_print(const dm_run_starts *starts, uint64_t machines);
void dm_run_starts_json(const dm_run_starts *starts, dm_json *json);

#endif
