/* SPDX-License-Identifier: MIT */
/* hooks.c - see hooks.h. */
#include "cli/game/hooks.h"

#include <inttypes.h>
#include <stdio.h>

dm_status dm_run_hooks_parse(dm_run_hooks *hooks, const dm_strings *names, const char *symbols,
                             dm_error *err)
{
    *hooks = (dm_run_hooks){.names = names};
    if (names->count > DM_GB_HOOK_COUNT_MAX)
        return dm_fail(err, DM_EINVAL, "--hook: %zu of them; at most %d", names->count,
                       DM_GB_HOOK_COUNT_MAX);
    for (size_t i = 0; i < names->count; i++) {
        dm_status status = dm_gb_hook_parse(symbols, names->items[i], &hooks->places[i], err);
        if (status != DM_OK)
            return dm_error_prefix(err, "--hook"), status;
    }
    return DM_OK;
}

void dm_run_hooks_note(dm_run_hooks *hooks, uint64_t bits, uint64_t when)
{
    for (size_t i = 0; i < hooks->names->count; i++)
        if ((bits >> i & 1u) != 0 && hooks->times[i]++ == 0)
            hooks->first[i] = when;
}

void dm_run_hooks_print(const dm_run_hooks *hooks, const char *unit, uint64_t machines)
{
    for (size_t i = 0; i < hooks->names->count; i++) {
        printf("hook %s: ", hooks->names->items[i]);
        if (hooks->times[i] == 0)
            printf("never met\n");
        else if (machines == 1)
            printf("met in %" PRIu64 " %ss, first in %s %" PRIu64 "\n", hooks->times[i], unit, unit,
                   hooks->first[i]);
        else
            printf("met %" PRIu64 " times in a %s of %" PRIu64 " machines, first in %s %" PRIu64
                   "\n",
                   hooks->times[i], unit, machines, unit, hooks->first[i]);
    }
}

void dm_run_hooks_json(const dm_run_hooks *hooks, const char *unit, dm_json *json)
{
    if (hooks->names->count == 0)
        return;
    dm_json_begin_array(json, "hooks");
    for (size_t i = 0; i < hooks->names->count; i++) {
        const dm_gb_hook place = hooks->places[i];
        char first[32];
        snprintf(first, sizeof first, "first_%s", unit);
        dm_json_begin_object(json, NULL);
        dm_json_string(json, "hook", hooks->names->items[i]);
        dm_json_uint(json, "address", place.address);
        if (place.bank != DM_GB_HOOK_EVERY_BANK)
            dm_json_uint(json, "bank", place.bank);
        dm_json_uint(json, "times", hooks->times[i]);
        if (hooks->times[i] != 0)
            dm_json_uint(json, first, hooks->first[i]);
        dm_json_end_object(json);
    }
    dm_json_end_array(json);
}
