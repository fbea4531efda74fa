/* SPDX-License-Identifier: MIT */
/* recording.c - a reference's side of a verification, written down and played back. */
#include "lab/verify/recording.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "lab/verify/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE ((size_t)DM_GB_SCREEN_W * DM_GB_SCREEN_H)
#define FILE_MAX (1u << 30)

typedef struct record {
    uint64_t step;
    uint8_t a, f, b, c, d, e, h, l;
    uint16_t pc, sp;
    uint32_t has_cycles;
    uint64_t cycles;
    uint32_t changes, zero;
} record;
_Static_assert(sizeof(record) == 40, "without padding");
#define CHANGE_SIZE 5u

static size_t bytes_of(const dm_swarm_region *regions, size_t count, bool picture)
{
    size_t size = picture ? PICTURE : 0;
    for (size_t i = 0; i < count; i++)
        size += regions[i].size;
    return size;
}

/* ---- Writing ---- */

struct dm_lab_recorder {
    const dm_lab_verify *v;
    dm_buffer out;
    uint8_t *last; /* bytes of the comparison before */
    size_t size, region_size;
};

static void write_head(dm_lab_recorder *r)
{
    const dm_lab_verify *v = r->v;
    dm_json json;
    char hash[DM_HASH_HEX_SIZE], version[128] = "";
    v->reference->version(v->reference, version, sizeof version, NULL);
    dm_hash128_hex(dm_hash128_of(v->rom, v->rom_size), hash);
    dm_buffer_puts(&r->out, DM_LAB_RECORDING_SCHEMA "\n");
    dm_json_init(&json, &r->out, DM_JSON_COMPACT);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "reference", v->reference->name);
    dm_json_string(&json, "version", version);
    dm_json_string(&json, "rom_hash", hash);
    dm_json_uint(&json, "bytes", r->size);
    dm_lab_profile_write(&json, "profile", v);
    dm_json_end_object(&json);
    dm_json_finish(&json); /* ends the line */
}

dm_status dm_lab_recorder_create(const dm_lab_verify *v, dm_lab_recorder **out, dm_error *err)
{
    *out = NULL;
    if (v->envs != 1 || v->by_instruction || v->actions.given != NULL ||
        v->start == DM_LAB_START_STATE)
        return dm_fail(err, DM_EINVAL,
                       "--record: one machine, by frames, without an action file or a save state");
    dm_lab_recorder *r = calloc(1, sizeof *r);
    if (r == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    r->v = v;
    r->region_size = bytes_of(v->regions, v->region_count, false);
    r->size = bytes_of(v->regions, v->region_count, v->compare_frame);
    r->last = calloc(1, r->size + 1);
    if (r->last == NULL) {
        free(r);
        return dm_fail(err, DM_ENOMEM, "out of memory");
    }
    write_head(r);
    *out = r;
    return DM_OK;
}

void dm_lab_recorder_destroy(dm_lab_recorder *r)
{
    if (r == NULL)
        return;
    dm_buffer_deinit(&r->out);
    free(r->last);
    free(r);
}

static uint32_t put_changes(dm_lab_recorder *r, size_t at, const uint8_t *bytes, size_t size)
{
    uint32_t count = 0;
    for (size_t i = 0; i < size; i++) {
        if (r->last[at + i] == bytes[i])
            continue;
        uint32_t offset = (uint32_t)(at + i);
        dm_buffer_append(&r->out, &offset, sizeof offset);
        dm_buffer_append(&r->out, &bytes[i], 1);
        r->last[at + i] = bytes[i];
        count++;
    }
    return count;
}

dm_status dm_lab_recorder_add(dm_lab_recorder *r, uint64_t step, const dm_lab_view *view,
                              const uint8_t *regions, const uint8_t *picture, dm_error *err)
{
    const dm_gb_registers *g = &view->registers;
    record one = {.step = step,
                  .a = g->a,
                  .f = g->f,
                  .b = g->b,
                  .c = g->c,
                  .d = g->d,
                  .e = g->e,
                  .h = g->h,
                  .l = g->l,
                  .pc = g->pc,
                  .sp = g->sp,
                  .has_cycles = view->has_cycles,
                  .cycles = view->cycles};
    size_t at = r->out.size;
    dm_buffer_append(&r->out, &one, sizeof one);
    one.changes = put_changes(r, 0, regions, r->region_size);
    if (picture != NULL && r->size > r->region_size)
        one.changes += put_changes(r, r->region_size, picture, PICTURE);
    if (!r->out.failed)
        memcpy(r->out.data + at, &one, sizeof one);
    return dm_buffer_check(&r->out, err);
}

dm_status dm_lab_recorder_write(dm_lab_recorder *r, const char *path, dm_error *err)
{
    uint64_t hash = dm_hash64(r->out.data, r->out.size);
    dm_buffer_append(&r->out, &hash, sizeof hash);
    dm_status status = dm_buffer_check(&r->out, err);
    return status != DM_OK ? status : dm_file_write(path, r->out.data, r->out.size, err);
}

/* ---- Reading ---- */

typedef struct recording {
    char *file;
    const char *at, *end; /* the records that are left */
    json_t *head;
    dm_lab_desc desc;
    uint64_t step; /* that `now` has to be for */
    record now;
    uint8_t *bytes;
    size_t size;
} recording;

static void close_recording(recording *r)
{
    free(r->file);
    free(r->bytes);
    json_decref(r->head);
    *r = (recording){0};
}

static dm_status open_recording(const char *path, recording *r, dm_error *err)
{
    size_t size, head = strlen(DM_LAB_RECORDING_SCHEMA "\n");
    uint64_t hash = 0;
    *r = (recording){0};
    dm_status status = dm_file_read(path, FILE_MAX, &r->file, &size, err);
    if (status != DM_OK)
        return status;
    if (size < head + sizeof hash || memcmp(r->file, DM_LAB_RECORDING_SCHEMA "\n", head) != 0)
        status = dm_fail(err, DM_EFORMAT, "%s: not a recording of schema %s", path,
                         DM_LAB_RECORDING_SCHEMA);
    else
        memcpy(&hash, r->file + size - sizeof hash, sizeof hash);
    if (status == DM_OK && hash != dm_hash64(r->file, size - sizeof hash))
        status = dm_fail(err, DM_EFORMAT, "%s: damaged or cut off", path);
    char *line = r->file + head;
    char *newline = status == DM_OK ? memchr(line, '\n', size - head - sizeof hash) : NULL;
    if (status == DM_OK && newline == NULL)
        status = dm_fail(err, DM_EFORMAT, "%s: without a head", path);
    if (status == DM_OK)
        status = dm_json_parse(line, (size_t)(newline - line), path, &r->head, err);
    if (status == DM_OK) {
        r->at = newline + 1;
        r->end = r->file + size - sizeof hash;
        r->size = (size_t)json_integer_value(json_object_get(r->head, "bytes"));
    } else {
        close_recording(r);
    }
    return status;
}

static dm_status check_head(const recording *r, const char *path, const dm_lab_verify *v,
                            dm_error *err)
{
    char hash[DM_HASH_HEX_SIZE];
    const char *theirs = json_string_value(json_object_get(r->head, "rom_hash"));
    dm_lab_verify p = dm_lab_profile_default();
    dm_status status = dm_lab_profile_read(json_object_get(r->head, "profile"), path, &p, err);
    if (status != DM_OK)
        return status;
    dm_hash128_hex(dm_hash128_of(v->rom, v->rom_size), hash);
    if (theirs == NULL || strcmp(theirs, hash) != 0)
        return dm_fail(err, DM_EINVAL, "%s: a recording of another ROM", path);
    bool same = p.frames_per_step == v->frames_per_step &&
                p.release_after_frames == v->release_after_frames && p.start == v->start &&
                v->steps <= p.steps && p.compare_every == v->compare_every &&
                p.settle == v->settle && p.compare_frame == v->compare_frame &&
                p.actions.generator == v->actions.generator && p.actions.seed == v->actions.seed &&
                p.actions.codec == v->actions.codec && v->actions.given == NULL && v->envs == 1 &&
                p.region_count == v->region_count &&
                memcmp(p.regions, v->regions, p.region_count * sizeof p.regions[0]) == 0;
    if (!same || r->size != bytes_of(p.regions, p.region_count, p.compare_frame))
        return dm_fail(err, DM_EINVAL, "%s: a recording with another profile", path);
    return DM_OK;
}

dm_status dm_lab_recording_check(const char *path, const dm_lab_verify *v, char *name, size_t size,
                                 dm_error *err)
{
    recording r;
    dm_status status = open_recording(path, &r, err);
    if (status != DM_OK)
        return status;
    status = check_head(&r, path, v, err);
    const char *who = json_string_value(json_object_get(r.head, "reference"));
    const char *version = json_string_value(json_object_get(r.head, "version"));
    snprintf(name, size, "%s %s", who != NULL ? who : "?", version != NULL ? version : "?");
    close_recording(&r);
    return status;
}

/* ---- The backend ---- */

static dm_status version(const dm_lab_kind *kind, char *out, size_t size, dm_error *err)
{
    (void)kind;
    (void)err;
    snprintf(out, size, "%s", dm_version_string());
    return DM_OK;
}

static void destroy(void *self)
{
    close_recording(self);
    free(self);
}

static dm_status create(const dm_lab_desc *desc, void **self, dm_error *err)
{
    if (desc->recording == NULL)
        return dm_fail(err, DM_EINVAL, "recorded: which recording?");
    recording *r = calloc(1, sizeof *r);
    if (r == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    dm_status status = open_recording(desc->recording, r, err);
    if (status == DM_OK && (r->bytes = calloc(1, r->size + 1)) == NULL)
        status = dm_fail(err, DM_ENOMEM, "out of memory");
    r->desc = *desc;
    r->now.step = UINT64_MAX;
    if (status != DM_OK) {
        destroy(r);
        return status;
    }
    *self = r;
    return DM_OK;
}

static dm_status step(void *self, const uint8_t *keys, dm_error *err)
{
    (void)keys;
    (void)err;
    ((recording *)self)->step++;
    return DM_OK;
}

/* Read on up to the record of the present step. */
static dm_status seek(recording *r, dm_error *err)
{
    while (r->now.step != r->step) {
        size_t left = (size_t)(r->end - r->at);
        if (left < sizeof r->now)
            return dm_fail(err, DM_EFORMAT, "%s: there is nothing of step %llu", r->desc.recording,
                           (unsigned long long)r->step);
        memcpy(&r->now, r->at, sizeof r->now);
        r->at += sizeof r->now;
        if ((left - sizeof r->now) / CHANGE_SIZE < r->now.changes)
            return dm_fail(err, DM_EFORMAT, "%s: cut off", r->desc.recording);
        for (uint32_t i = 0; i < r->now.changes; i++, r->at += CHANGE_SIZE) {
            uint32_t offset;
            memcpy(&offset, r->at, sizeof offset);
            if (offset >= r->size)
                return dm_fail(err, DM_EFORMAT, "%s: damaged", r->desc.recording);
            r->bytes[offset] = (uint8_t)r->at[4];
        }
    }
    return DM_OK;
}

static dm_status look(void *self, uint64_t machine, dm_lab_view *out, dm_error *err)
{
    recording *r = self;
    (void)machine;
    dm_status status = seek(r, err);
    const record *n = &r->now;
    *out = (dm_lab_view){.registers = {.a = n->a,
                                       .f = n->f,
                                       .b = n->b,
                                       .c = n->c,
                                       .d = n->d,
                                       .e = n->e,
                                       .h = n->h,
                                       .l = n->l,
                                       .pc = n->pc,
                                       .sp = n->sp},
                         .has_cycles = n->has_cycles != 0,
                         .cycles = n->cycles};
    return status;
}

static dm_status read_memory(void *self, uint64_t machine, uint16_t address, uint8_t *to,
                             size_t size, dm_error *err)
{
    recording *r = self;
    size_t at = 0;
    (void)machine;
    for (size_t i = 0; i < r->desc.region_count; i++) {
        if (r->desc.regions[i].address == address && r->desc.regions[i].size == size) {
            dm_status status = seek(r, err);
            memcpy(to, r->bytes + at, size);
            return status;
        }
        at += r->desc.regions[i].size;
    }
    return dm_fail(err, DM_EUNSUPPORTED, "recorded: memory at %04X was not recorded", address);
}

static dm_status picture(void *self, uint64_t machine, uint8_t *shades, dm_error *err)
{
    recording *r = self;
    (void)machine;
    dm_status status = seek(r, err);
    memcpy(shades, r->bytes + r->size - PICTURE, PICTURE);
    return status;
}

/* There is none. */
static dm_status save(void *self, uint64_t machine, dm_buffer *out, dm_error *err)
{
    (void)self;
    (void)machine;
    (void)out;
    (void)err;
    return DM_OK;
}

const dm_lab_kind dm_lab_recorded = {
    .name = "recorded",
    .is_single = true,
    .version = version,
    .create = create,
    .destroy = destroy,
    .step = step,
    .look = look,
    .read = read_memory,
    .picture = picture,
    .save = save,
};
