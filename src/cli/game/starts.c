/* SPDX-License-Identifier: MIT */
/* starts.c - see starts.h. */
#include "cli/game/starts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_COUNTED 16 /* all press the same keys for so long */

/* "C009:2" or "C009" */
static dm_status parse_random(dm_run_starts *starts, const char *text, dm_error *err)
{
    char *colon = NULL, *end = NULL;
    const unsigned long address = strtoul(text[0] == '$' ? text + 1 : text, &colon, 16);
    unsigned long count = 1;
    end = colon;
    if (*colon == ':')
        count = strtoul(colon + 1, &end, 10);
    if (colon == text || *end != '\0' || count == 0 || address > 0xFFFF ||
        count > 0x10000 - address)
        return dm_fail(err, DM_EINVAL, "--random: '%.40s' is not ADDR:COUNT, such as C009:2", text);
    if (count > DM_RUN_RANDOM_MAX - starts->random_count)
        return dm_fail(err, DM_EINVAL, "--random: more than %d bytes", DM_RUN_RANDOM_MAX);
    for (unsigned long i = 0; i < count; i++)
        starts->random[starts->random_count++] = (uint16_t)(address + i);
    return DM_OK;
}

static bool any(const dm_run_starts *starts)
{
    return starts->random_count != 0 || starts->states->count != 0;
}

static bool observes(const dm_swarm_desc *desc)
{
    return desc->stage == DM_SWARM_FULL_STEP || desc->stage == DM_SWARM_OBS_ONLY;
}

dm_status dm_run_starts_parse(dm_run_starts *starts, const dm_strings *states,
                              const dm_strings *random, dm_swarm_desc *desc, dm_error *err)
{
    dm_status status = DM_OK;
    *starts = (dm_run_starts){.states = states};
    for (size_t i = 0; i < random->count && status == DM_OK; i++)
        status = parse_random(starts, random->items[i], err);
    desc->random_bytes = starts->random;
    desc->random_count = starts->random_count;
    desc->snapshots = (uint32_t)states->count;
    if (any(starts) && observes(desc) && desc->observations == 0)
        desc->observations = DM_SWARM_OBS_PACKED;
    return status;
}

dm_status dm_run_starts_prepare(dm_run_starts *starts, dm_swarm *swarm, const dm_swarm_desc *desc,
                                dm_error *err)
{
    const size_t count = starts->states->count;
    uint32_t *snapshots = calloc(count + 1, sizeof *snapshots);
    dm_status status = snapshots == NULL ? dm_fail(err, DM_ENOMEM, "out of memory") : DM_OK;
    for (size_t i = 0; i < count && status == DM_OK; i++) {
        snapshots[i] = (uint32_t)i + 1;
        status = dm_swarm_snapshot_load(swarm, 0, starts->states->items[i], snapshots[i], err);
    }
    if (status == DM_OK && count != 0)
        status = dm_swarm_set_starts(swarm, snapshots, NULL, count, err);
    if (status == DM_OK && count != 0)
        status = dm_swarm_reset(swarm, NULL, NULL, err);
    starts->counted = any(starts) && observes(desc);
    if (status == DM_OK && starts->counted)
        status = dm_swarm_count_starts(swarm, STEPS_COUNTED, &starts->different, err);
    free(snapshots);
    return status;
}

void dm_run_starts_print(const dm_run_starts *starts, uint64_t machines)
{
    if (starts->counted)
        printf("%zu different games among %" PRIu64 " machines\n", starts->different, machines);
}

void dm_run_starts_json(const dm_run_starts *starts, dm_json *json)
{
    if (starts->counted)
        dm_json_uint(json, "different_starts", starts->different);
}
