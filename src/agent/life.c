/* SPDX-License-Identifier: MIT */
/* life.c - see life.h. */
#include "agent/life.h"

#include "base/file.h"
#include "base/json.h"
#include "gb/host/picture.h"

#include <dotmatrix/program.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The file ---- */

dm_status dm_agent_life_write(const dm_agent_life *life, const char *path, dm_error *err)
{
    dm_buffer out = DM_BUFFER_EMPTY;
    dm_json json;
    dm_buffer_puts(&out, DM_AGENT_LIFE_SCHEMA "\n");
    dm_json_init(&json, &out, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "rom", life->rom);
    dm_json_string(&json, "rom_hash", life->rom_hash);
    dm_json_string(&json, "reward", life->reward);
    dm_json_string(&json, "program", life->program);
    dm_json_uint(&json, "frames", life->frames);
    dm_json_uint(&json, "release", life->release);
    dm_json_uint(&json, "machine", life->machine);
    dm_json_uint(&json, "begun", life->begun);
    dm_json_bool(&json, "practice", life->practice);
    dm_json_string(&json, "ended", life->ended);
    dm_json_uint(&json, "steps", life->steps);
    dm_json_double(&json, "total", life->total);
    dm_json_string(&json, "end", life->end);
    dm_json_uint(&json, "state_bytes", life->state_bytes);
    dm_json_string(&json, "device", life->device);
    dm_json_end_object(&json);
    dm_json_finish(&json); /* ends the line */
    dm_buffer_append(&out, life->state, life->state_bytes);
    dm_buffer_append(&out, life->keys, life->steps);
    uint64_t hash = dm_hash64(out.data, out.size);
    dm_buffer_append(&out, &hash, sizeof hash);
    return dm_file_write_buffer(path, &out, err);
}

static const char *text_of(const json_t *head, const char *key)
{
    return json_string_value(json_object_get(head, key));
}

static uint64_t number_of(const json_t *head, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(head, key));
    return value > 0 ? (uint64_t)value : 0;
}

static dm_status read_head(dm_agent_life *out, const char *path, size_t left, dm_error *err)
{
    const json_t *head = out->head;
    const char *rom_hash = text_of(head, "rom_hash"), *end = text_of(head, "end");
    out->rom = text_of(head, "rom");
    out->reward = text_of(head, "reward");
    out->program = text_of(head, "program");
    out->device = text_of(head, "device");
    out->ended = text_of(head, "ended");
    out->frames = (uint32_t)number_of(head, "frames");
    out->release = (uint32_t)number_of(head, "release");
    out->machine = number_of(head, "machine");
    out->begun = number_of(head, "begun");
    out->practice = json_is_true(json_object_get(head, "practice"));
    out->steps = number_of(head, "steps");
    out->total = json_number_value(json_object_get(head, "total"));
    out->state_bytes = number_of(head, "state_bytes");
    if (!out->rom || !out->reward || !out->device || !out->ended || !rom_hash || !end ||
        strlen(rom_hash) >= DM_HASH_HEX_SIZE || strlen(end) >= DM_HASH_HEX_SIZE ||
        out->frames == 0 || out->frames > 1024 || out->state_bytes > left ||
        out->steps != left - out->state_bytes)
        return dm_fail(err, DM_EFORMAT, "%s: its first lines say nothing that could be played",
                       path);
    snprintf(out->rom_hash, sizeof out->rom_hash, "%s", rom_hash);
    snprintf(out->end, sizeof out->end, "%s", end);
    return DM_OK;
}

dm_status dm_agent_life_read(const char *path, dm_agent_life *out, dm_error *err)
{
    static const char schema[] = DM_AGENT_LIFE_SCHEMA "\n";
    const size_t first = sizeof schema - 1;
    char *file = NULL;
    size_t size = 0;
    uint64_t hash = 0;
    *out = (dm_agent_life){0};
    dm_status status = dm_file_read(path, 1u << 30, &file, &size, err);
    if (status != DM_OK)
        return status;
    out->file = file;
    const char *line = NULL;
    if (size < first + sizeof hash || memcmp(file, schema, first) != 0)
        status = dm_fail(err, DM_EFORMAT, "%s: not a life that train agent --lives kept", path);
    if (status == DM_OK) {
        size -= sizeof hash;
        memcpy(&hash, file + size, sizeof hash);
        line = memchr(file + first, '\n', size - first);
        if (line == NULL || hash != dm_hash64(file, size))
            status = dm_fail(err, DM_EFORMAT, "%s: damaged: its hash differs", path);
    }
    if (status == DM_OK)
        status = dm_json_parse(file + first, (size_t)(line - file) - first, path,
                               (json_t **)&out->head, err);
    if (status == DM_OK)
        status = read_head(out, path, (size_t)(file + size - (line + 1)), err);
    if (status != DM_OK) {
        dm_agent_life_deinit(out);
        return status;
    }
    out->state = (const uint8_t *)line + 1;
    out->keys = out->state + out->state_bytes;
    return DM_OK;
}

void dm_agent_life_deinit(dm_agent_life *life)
{
    json_decref(life->head);
    free(life->file);
    *life = (dm_agent_life){0};
}

/* ---- Looking at a machine ---- */

enum { RAM = 0x8000 };

dm_status dm_agent_life_look(dm_swarm *swarm, uint32_t machine, char out[DM_HASH_HEX_SIZE],
                             dm_error *err)
{
    struct {
        uint8_t ram[RAM], registers[8];
        uint16_t pc, sp;
        uint8_t flags[4];
        uint64_t cycles;
    } seen;
    dm_gb_registers r = {0};
    dm_gb_counters c = {0};
    memset(&seen, 0, sizeof seen);
    dm_status status = dm_swarm_get_registers(swarm, &machine, 1, &r, err);
    if (status == DM_OK)
        status = dm_swarm_get_counters(swarm, &machine, 1, &c, err);
    if (status == DM_OK)
        status = dm_swarm_read(swarm, machine, RAM, seen.ram, sizeof seen.ram, err);
    const uint8_t registers[8] = {r.a, r.f, r.b, r.c, r.d, r.e, r.h, r.l};
    const uint8_t flags[4] = {r.ime, r.halted, r.stopped, r.locked};
    memcpy(seen.registers, registers, sizeof registers);
    memcpy(seen.flags, flags, sizeof flags);
    seen.pc = r.pc;
    seen.sp = r.sp;
    seen.cycles = c.cycles;
    dm_hash128_hex(dm_hash128_of(&seen, sizeof seen), out);
    return status;
}

/* ---- Playing it ---- */

typedef struct player {
    dm_device *device;
    dm_program *program;
    dm_swarm *swarm;
    dm_gb_gif *gif;
    bool draws;
} player;

static dm_status open_player(const dm_agent_life *life, const void *rom, size_t rom_size,
                             const dm_agent_replay *how, player *p, dm_error *err)
{
    char hash[DM_HASH_HEX_SIZE];
    const uint32_t first = 0;
    dm_hash128_hex(dm_hash128_of(rom, rom_size), hash);
    if (strcmp(hash, life->rom_hash) != 0)
        return dm_fail(err, DM_EINVAL, "the ROM is another than the one that was played (%.900s)",
                       life->rom);
    dm_swarm_rom_source source = {.bytes = rom, .size = rom_size};
    dm_swarm_desc desc = {.roms = &source,
                          .rom_count = 1,
                          .count = 1,
                          .frames_per_step = life->frames,
                          .release_after_frames = life->release,
                          .stage = DM_SWARM_FULL_STEP,
                          .codec = DM_SWARM_RAW_KEYS,
                          .autoreset = DM_SWARM_DISABLED,
                          .first_machine = life->machine,
                          .observations = DM_SWARM_OBS_SHADES};
    p->draws = how->gif != NULL || how->png != NULL;
    dm_status status = dm_device_open("cpu:1", &p->device, err);
    if (status == DM_OK && life->program != NULL)
        status = dm_program_create(life->reward, life->program, strlen(life->program), NULL,
                                   &p->program, err);
    desc.program = p->program;
    if (p->program != NULL && dm_program_get_info(p->program).observation_size > 0)
        desc.observations |= DM_SWARM_OBS_VECTOR;
    if (status == DM_OK)
        status = dm_swarm_create(p->device, &desc, &p->swarm, err);
    if (status == DM_OK && dm_swarm_state_bytes(p->swarm) != life->state_bytes)
        status = dm_fail(err, DM_EFORMAT, "its state has %zu bytes, a machine of this ROM %zu",
                         life->state_bytes, dm_swarm_state_bytes(p->swarm));
    if (status == DM_OK)
        status = dm_swarm_load_states(p->swarm, &first, 1, life->state, life->state_bytes, err);
    if (status == DM_OK && how->gif != NULL)
        status = dm_gb_gif_create(how->scale, &p->gif, err);
    return status;
}

static void close_player(player *p)
{
    dm_gb_gif_destroy(p->gif);
    dm_swarm_destroy(p->swarm);
    dm_program_destroy(p->program);
    dm_device_close(p->device);
}

static dm_status write_pictures(player *p, const dm_agent_replay *how, const uint8_t *shades,
                                dm_error *err)
{
    dm_buffer gif = DM_BUFFER_EMPTY, png = DM_BUFFER_EMPTY;
    dm_status status = DM_OK;
    if (how->gif != NULL)
        status = dm_gb_gif_finish(p->gif, &gif, err);
    if (status == DM_OK && how->gif != NULL)
        status = dm_file_write_buffer(how->gif, &gif, err);
    if (status == DM_OK && how->png != NULL)
        status = dm_gb_picture_png(shades, how->scale, &png, err);
    if (status == DM_OK && how->png != NULL)
        status = dm_file_write_buffer(how->png, &png, err);
    dm_buffer_deinit(&gif);
    dm_buffer_deinit(&png);
    return status;
}

static dm_status play(const dm_agent_life *life, const dm_agent_replay *how, player *p,
                      dm_agent_replayed *out, dm_error *err)
{
    uint8_t shades[DM_GB_SCREEN_W * DM_GB_SCREEN_H] = {0};
    char end[DM_HASH_HEX_SIZE];
    dm_status status = DM_OK;
    for (uint64_t s = 0; s < life->steps && status == DM_OK; s++) {
        float reward = 0;
        status = dm_swarm_step_host(p->swarm, &life->keys[s], 1, err);
        if (status == DM_OK && p->program != NULL)
            status = dm_swarm_download(p->swarm, DM_SWARM_REWARDS, &reward, sizeof reward, err);
        out->total += (double)reward;
        if (status == DM_OK && p->draws)
            status = dm_swarm_get_picture(p->swarm, 0, shades, err);
        if (status == DM_OK && how->gif != NULL &&
            (how->frames == 0 || s * life->frames < how->frames))
            status = dm_gb_gif_add(p->gif, shades, life->frames, err);
    }
    if (status == DM_OK)
        status = dm_agent_life_look(p->swarm, 0, end, err);
    if (status == DM_OK)
        out->same_end = strcmp(end, life->end) == 0;
    if (p->program == NULL) /* an epilog's reward is the agent's business */
        out->total = life->total;
    out->same_total = out->total == life->total;
    return status == DM_OK && p->draws ? write_pictures(p, how, shades, err) : status;
}

dm_status dm_agent_life_replay(const dm_agent_life *life, const void *rom, size_t rom_size,
                               const dm_agent_replay *how, dm_agent_replayed *out, dm_error *err)
{
    player p = {0};
    *out = (dm_agent_replayed){0};
    dm_status status = open_player(life, rom, rom_size, how, &p, err);
    if (status == DM_OK)
        status = play(life, how, &p, out, err);
    close_player(&p);
    return status;
}
