/* SPDX-License-Identifier: MIT */
/* lives.c - see lives.h. */
#include "agent/lives.h"

#include "agent/world.h"
#include "base/file.h"
#include "device/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One machine's episode so far; no state: none began since it was looked at. */
typedef struct record {
    uint32_t machine;
    uint8_t *state;
    bool lives, practice;
    uint64_t begun;
    dm_buffer keys;
    double total;
} record;

struct dm_agent_lives {
    dm_agent_lives_desc desc;
    char folder[DM_PATH_MAX];
    char rom_hash[DM_HASH_HEX_SIZE];
    record *records;
    size_t count, state_bytes;
    uint64_t written;
};

dm_status dm_agent_lives_create(const dm_agent_lives_desc *desc, dm_agent_lives **out,
                                dm_error *err)
{
    dm_agent_lives *lives = calloc(1, sizeof *lives);
    if (lives == NULL)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    lives->desc = *desc;
    lives->desc.folder = lives->folder;
    snprintf(lives->folder, sizeof lives->folder, "%s", desc->folder);
    lives->records = calloc(desc->count > 0 ? desc->count : 1, sizeof *lives->records);
    if (lives->records == NULL) {
        free(lives);
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    }
    dm_status status = dm_dir_create(desc->folder, err);
    if (status != DM_OK) {
        dm_agent_lives_destroy(lives);
        return status;
    }
    lives->count = desc->count;
    for (size_t i = 0; i < desc->count; i++)
        lives->records[i].machine = desc->machines[i];
    dm_hash128_hex(dm_hash128_of(desc->game->rom, desc->game->rom_size), lives->rom_hash);
    *out = lives;
    return DM_OK;
}

void dm_agent_lives_destroy(dm_agent_lives *lives)
{
    if (lives == NULL)
        return;
    for (size_t i = 0; i < lives->count; i++) {
        free(lives->records[i].state);
        dm_buffer_deinit(&lives->records[i].keys);
    }
    free(lives->records);
    free(lives);
}

uint64_t dm_agent_lives_written(const dm_agent_lives *lives)
{
    return lives->written;
}

static dm_status begin(dm_agent_lives *lives, record *r, const dm_agent_lives_step *step,
                       bool practice, dm_error *err)
{
    lives->state_bytes = dm_swarm_state_bytes(step->swarm);
    if (r->state == NULL)
        r->state = malloc(lives->state_bytes);
    if (r->state == NULL)
        return dm_fail(err, DM_ENOMEM, "agent: no memory");
    r->lives = true;
    r->practice = practice;
    r->begun = step->number;
    r->total = 0;
    dm_buffer_clear(&r->keys);
    return dm_swarm_save_states(step->swarm, &r->machine, 1, r->state, lives->state_bytes, err);
}

static dm_status end(dm_agent_lives *lives, record *r, dm_swarm *swarm, const char *ended,
                     dm_error *err)
{
    char name[128], path[DM_PATH_MAX];
    const dm_agent_lives_desc *d = &lives->desc;
    dm_agent_life life = {
        .rom = d->config->rom,
        .reward = d->config->reward,
        .program = d->game->program ? d->game->reward : NULL,
        .device = d->device,
        .state = r->state,
        .keys = (const uint8_t *)r->keys.data,
        .state_bytes = lives->state_bytes,
        .frames = (uint32_t)d->config->frames,
        .release = (uint32_t)(d->config->release > 0 ? d->config->release : d->config->frames),
        .machine = r->machine,
        .begun = r->begun,
        .steps = r->keys.size,
        .practice = r->practice,
        .ended = ended,
        .total = r->total};
    r->lives = false;
    memcpy(life.rom_hash, lives->rom_hash, sizeof life.rom_hash);
    snprintf(name, sizeof name, "%s-%" PRIu32 "-%" PRIu64 ".life", d->name, r->machine, r->begun);
    dm_status status = dm_buffer_check(&r->keys, err);
    if (status == DM_OK)
        status = dm_agent_life_look(swarm, r->machine, life.end, err);
    if (status == DM_OK)
        status = dm_path_join(path, d->folder, name, err);
    if (status == DM_OK)
        status = dm_agent_life_write(&life, path, err);
    lives->written += status == DM_OK;
    return status;
}

dm_status dm_agent_lives_begin(dm_agent_lives *lives, const dm_agent_lives_step *step,
                               dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < lives->count && status == DM_OK; i++)
        status = begin(lives, &lives->records[i], step, false, err);
    return status;
}

static dm_status add(dm_agent_lives *lives, record *r, const dm_agent_lives_step *step,
                     dm_error *err)
{
    const dm_device_ops *ops = step->stream->device->ops;
    uint8_t keys = 0, flags = 0, practice = 0;
    float reward = 0;
    const struct {
        void *to;
        const void *from;
        size_t bytes;
    } parts[] = {{&keys, step->keys + r->machine, 1},
                 {&flags, step->flags + r->machine, 1},
                 {&practice, step->practice + r->machine, 1},
                 {&reward, step->rewards + r->machine, sizeof reward}};
    dm_status status = DM_OK;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == DM_OK; i++)
        status = ops->download(step->stream, parts[i].to, parts[i].from, parts[i].bytes, err);
    if (status == DM_OK)
        status = dm_stream_synchronize(step->stream, err);
    if (status != DM_OK)
        return status;
    if (flags & DM_AGENT_BEGINS)
        return lives->desc.once ? DM_OK : begin(lives, r, step, practice != 0, err);
    if (!r->lives)
        return DM_OK;
    dm_buffer_append(&r->keys, &keys, 1);
    r->total += (double)reward;
    if ((flags & (DM_AGENT_TERMINATED | DM_AGENT_TRUNCATED)) == 0)
        return DM_OK;
    return end(lives, r, step->swarm, flags & DM_AGENT_TERMINATED ? "terminated" : "truncated",
               err);
}

dm_status dm_agent_lives_add(dm_agent_lives *lives, const dm_agent_lives_step *step, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < lives->count && status == DM_OK; i++)
        status = add(lives, &lives->records[i], step, err);
    return status;
}

void dm_agent_lives_forget(dm_agent_lives *lives)
{
    for (size_t i = 0; i < lives->count; i++)
        lives->records[i].lives = false;
}

dm_status dm_agent_lives_finish(dm_agent_lives *lives, dm_swarm *swarm, dm_error *err)
{
    dm_status status = DM_OK;
    for (size_t i = 0; i < lives->count && status == DM_OK; i++)
        if (lives->records[i].lives && lives->records[i].keys.size > 0)
            status = end(lives, &lives->records[i], swarm, "unfinished", err);
    return status;
}
