/* SPDX-License-Identifier: MIT */
/* hooks.h - `dotmatrix run --hook PLACE`: how often, and when first, places in the program were met. */
#ifndef DM_CLI_HOOKS_H
#define DM_CLI_HOOKS_H

#include "base/json.h"
#include "cli/options.h"

#include <dotmatrix/gb.h>

typedef struct dm_run_hooks {
    const dm_strings *names; /* as they were given */
    dm_gb_hook places[DM_GB_HOOK_COUNT_MAX];
    uint64_t times[DM_GB_HOOK_COUNT_MAX]; /* looks that found the bit */
    uint64_t first[DM_GB_HOOK_COUNT_MAX]; /* frame or step */
} dm_run_hooks;

/* `symbols`: a file with names, or NULL. */
dm_status dm_run_hooks_parse(dm_run_hooks *hooks, const dm_strings *names, const char *symbols,
                             dm_error *err);
/* The bits of frame or step number `when`, of one machine. */
void dm_run_hooks_note(dm_run_hooks *hooks, uint64_t bits, uint64_t when);
/* `unit`: "frame" or "step"; `machines`: whose bits were noted. */
void dm_run_hooks_print(const dm_run_hooks *hooks, const char *unit, uint64_t machines);
void dm_run_hooks_json(const dm_run_hooks *hooks, const char *unit, dm_json *json);

#endif
