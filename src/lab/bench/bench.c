/* SPDX-License-Identifier: MIT */
/* bench.c - backends take turns. */
#include "lab/bench/bench.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/terminal/stop.h"
#include "base/thread.h"
#include "lab/actions.h"
#include "lab/provenance.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROM_MAX (16u << 20)
#define SEEN_MAX 4096u /* machines looked at for the receipt */
#define HASHED_MAX 16u /* machines whose memory and picture are hashed */
#define WORK_RAM 0xC000u
#define WORK_RAM_SIZE 0x2000u

/* One backend at one point of the sweep. */
typedef struct subject {
    dm_lab_backend backend;
    dm_lab_bench_row row;
    uint64_t done; /* steps since the machines were driven apart */
    uint64_t instructions;
    uint8_t *keys; /* of references */
} subject;

typedef struct point {
    const dm_lab_bench *bench;
    const char *rom_path;
    const uint8_t *rom;
    size_t rom_size;
    char rom_sha256[DM_SHA256_HEX_SIZE];
    dm_swarm_stage stage;
    uint64_t envs;
    subject subjects[DM_LAB_BENCH_MAX];
} point;

const char *const dm_lab_bench_observations[] = {"vector", "shades", "small", "packed"};

static double now(void)
{
    return (double)dm_time_ns() * 1e-9;
}

static bool observes(dm_swarm_stage stage)
{
    return stage == DM_SWARM_FULL_STEP || stage == DM_SWARM_OBS_ONLY;
}

/* ---- Stepping ---- */

/* Swarms make their keys on the device, references are given the same. */
static dm_status steps(const point *p, subject *s, uint64_t count, int64_t sync_every,
                       dm_error *err)
{
    dm_lab_actions actions = {.generator = DM_SWARM_SEEDED_RANDOM, .seed = p->bench->seed};
    dm_status status = DM_OK;
    for (uint64_t i = 0; i < count && status == DM_OK; i++) {
        if (s->keys != NULL)
            dm_lab_actions_keys(&actions, 0, s->row.machines, s->done, s->keys);
        status = dm_lab_backend_step(&s->backend, s->keys, err);
        s->done++;
        if (status == DM_OK && sync_every > 0 && s->done % (uint64_t)sync_every == 0)
            status = dm_lab_backend_synchronize(&s->backend, err);
    }
    return status == DM_OK ? dm_lab_backend_synchronize(&s->backend, err) : status;
}

static dm_lab_desc describe(const point *p, const dm_lab_kind *kind, uint64_t count)
{
    const dm_lab_bench *b = p->bench;
    return (dm_lab_desc){.rom = p->rom,
                         .rom_size = p->rom_size,
                         .count = count,
                         .frames_per_step = b->frames_per_step,
                         .release_after_frames = b->release_after_frames,
                         .start = DM_LAB_START_GAME,
                         .force_dmg = b->force_dmg,
                         .draw = kind->copy_from == NULL && observes(p->stage),
                         .workers = b->workers,
                         .stage = p->stage,
                         .observations = observes(p->stage) ? b->observations : 0,
                         .generator = DM_SWARM_SEEDED_RANDOM,
                         .seed = b->seed};
}

static uint64_t diverge_steps(const dm_lab_bench *b)
{
    return (b->diverge_frames + b->frames_per_step - 1) / b->frames_per_step;
}

/* A swarm of more than `few` machines: a small one is driven apart and copied. */
static dm_status copy_few(const point *p, subject *s, dm_error *err)
{
    dm_lab_desc desc = describe(p, s->row.kind, p->bench->few);
    subject small = {.row = {.kind = s->row.kind, .machines = p->bench->few}};
    dm_status status = dm_lab_backend_create(s->row.kind, &desc, &small.backend, err);
    if (status == DM_OK)
        status = steps(p, &small, diverge_steps(p->bench), 64, err);
    if (status == DM_OK)
        status = s->row.kind->copy_from(s->backend.self, small.backend.self, p->bench->few, err);
    dm_lab_backend_destroy(&small.backend);
    return status;
}

/* ---- What was measured on ---- */

static int compare_pcs(const void *a, const void *b)
{
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static uint64_t unique(uint16_t *pcs, uint64_t count)
{
    uint64_t different = count > 0;
    qsort(pcs, count, sizeof *pcs, compare_pcs);
    for (uint64_t i = 1; i < count; i++)
        different += pcs[i] != pcs[i - 1];
    return different;
}

/* The receipt, and the instructions executed so far by those machines. */
static dm_status look(subject *s, dm_error *err)
{
    static uint16_t pcs[SEEN_MAX];
    dm_lab_bench_row *r = &s->row;
    r->seen = r->machines < SEEN_MAX ? r->machines : SEEN_MAX;
    s->instructions = 0;
    for (uint64_t i = 0; i < r->seen; i++) {
        dm_lab_view view;
        dm_status status = s->backend.kind->look(s->backend.self, i, &view, err);
        if (status != DM_OK)
            return status;
        pcs[i] = view.registers.pc;
        s->instructions += view.has_instructions ? view.instructions : 0;
    }
    uint64_t groups = 0;
    for (uint64_t i = 0; i < r->seen; i += 32)
        groups += unique(pcs + i, r->seen - i < 32 ? r->seen - i : 32);
    r->lanes_same_pc = (double)r->seen / (double)groups;
    r->unique_pcs = unique(pcs, r->seen);
    return DM_OK;
}

/* A hash of hashes, in the order of the machines. */
static dm_status hash_machines(subject *s, dm_error *err)
{
    static uint8_t memory[WORK_RAM_SIZE], picture[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    const dm_lab_kind *kind = s->backend.kind;
    dm_lab_bench_row *r = &s->row;
    uint64_t memories[HASHED_MAX] = {0}, pictures[HASHED_MAX] = {0};
    dm_status status = DM_OK;
    r->hashed = r->machines < HASHED_MAX ? r->machines : HASHED_MAX;
    for (uint64_t i = 0; i < r->hashed && status == DM_OK; i++) {
        status = kind->read(s->backend.self, i, WORK_RAM, memory, sizeof memory, err);
        if (status == DM_OK && r->draws)
            status = kind->picture(s->backend.self, i, picture, err);
        memories[i] = dm_hash64(memory, sizeof memory);
        pictures[i] = dm_hash64(picture, sizeof picture);
    }
    r->memory_hash = dm_hash64(memories, r->hashed * sizeof memories[0]);
    r->picture_hash = dm_hash64(pictures, r->hashed * sizeof pictures[0]);
    return status;
}

/* ---- One point of the sweep ---- */

static int workers_of(const dm_lab_bench *b, const dm_lab_bench_row *r)
{
    if (r->kind == &dm_lab_vec_cuda)
        return 0;
    uint64_t workers = (uint64_t)(b->workers > 0 ? b->workers : dm_cpu_count());
    return (int)(workers < r->machines ? workers : r->machines);
}

static dm_status prepare(point *p, subject *s, dm_error *err)
{
    const dm_lab_bench *b = p->bench;
    dm_lab_bench_row *r = &s->row;
    bool is_swarm = r->kind->copy_from != NULL, copies = is_swarm && r->envs > b->few;
    r->machines = is_swarm || r->envs < b->few ? r->envs : b->few;
    if (r->kind->is_single && r->machines > 1)
        return dm_fail(err, DM_EINVAL, "%s has one machine", r->kind->name);
    dm_lab_desc desc = describe(p, r->kind, r->machines);
    desc.copies = copies ? (uint32_t)b->few : 0;
    r->draws = observes(p->stage);
    r->workers = workers_of(b, r);
    snprintf(r->rom_sha256, sizeof r->rom_sha256, "%s", p->rom_sha256);
    if (!is_swarm && (s->keys = malloc(r->machines)) == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    double start = now();
    dm_status status = dm_lab_backend_create(r->kind, &desc, &s->backend, err);
    r->build_seconds = now() - start;
    if (status == DM_OK)
        status = copies ? copy_few(p, s, err) : steps(p, s, diverge_steps(b), 64, err);
    s->done = 0;
    r->sync_every = b->sync_every >= 0 ? b->sync_every : r->kind == &dm_lab_vec_cuda ? 64 : 0;
    uint64_t warm = b->warmup > 0 ? b->warmup : 1;
    if (status == DM_OK)
        status = steps(p, s, warm - 1, r->sync_every, err);
    start = now(); /* the length of a window is taken from the last step */
    if (status == DM_OK)
        status = steps(p, s, 1, r->sync_every, err);
    double one = now() - start;
    r->steps = b->steps > 0                  ? b->steps
               : one > 0 && b->seconds > one ? (uint64_t)(b->seconds / one)
                                             : 1;
    if (status == DM_OK)
        status = look(s, err);
    if (status == DM_OK)
        status = hash_machines(s, err);
    r->synchronized = true;
    return status;
}

static dm_status window(point *p, subject *s, dm_error *err)
{
    dm_lab_bench_row *r = &s->row;
    double start = now();
    dm_status status = steps(p, s, r->steps, r->sync_every, err);
    double seconds = now() - start;
    r->synchronized = r->synchronized && status == DM_OK;
    if (status == DM_OK)
        r->seconds[r->count++] = seconds;
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static dm_status finish(const point *p, subject *s, dm_error *err)
{
    dm_lab_bench_row *r = &s->row;
    double sorted[DM_LAB_BENCH_ROUNDS];
    if (!r->synchronized || r->count == 0)
        return dm_fail(err, DM_EINTERNAL, "%s: a window was not synchronised", r->kind->name);
    double frames = (double)r->steps * p->bench->frames_per_step * (double)r->machines;
    memcpy(sorted, r->seconds, r->count * sizeof sorted[0]);
    qsort(sorted, r->count, sizeof sorted[0], by_value);
    r->fps = frames / ((sorted[(r->count - 1) / 2] + sorted[r->count / 2]) / 2);
    r->fps_low = frames / sorted[r->count - 1];
    r->fps_high = frames / sorted[0];
    uint64_t before = s->instructions;
    dm_status status = look(s, err);
    double seen = (double)r->steps * p->bench->frames_per_step * (double)r->seen;
    r->instructions_per_frame = (double)(s->instructions - before) / (seen * (double)r->count);
    return status;
}

static dm_status keep(dm_lab_bench_results *out, const dm_lab_bench_row *row, dm_error *err)
{
    if (out->count == out->capacity) {
        size_t capacity = out->capacity > 0 ? 2 * out->capacity : 64;
        dm_lab_bench_row *rows = realloc(out->rows, capacity * sizeof *rows);
        if (rows == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        out->rows = rows;
        out->capacity = capacity;
    }
    out->rows[out->count++] = *row;
    return DM_OK;
}

/* Errors of a backend that concern only it: the sweep goes on without. */
static bool is_own_fault(dm_status status)
{
    return status == DM_EUNAVAILABLE || status == DM_ENOMEM || status == DM_EUNSUPPORTED ||
           status == DM_EINVAL;
}

static void pass_on(const dm_error *from, dm_error *to)
{
    if (to != NULL)
        *to = *from;
}

static void skip(subject *s, const dm_error *why)
{
    snprintf(s->row.skipped, sizeof s->row.skipped, "%.255s", why->message);
    dm_lab_backend_destroy(&s->backend);
}

static dm_status run_rounds(point *p, dm_error *err)
{
    const dm_lab_bench *b = p->bench;
    for (uint32_t round = 0; round < b->rounds && !dm_stop_requested(); round++) {
        for (size_t k = 0; k < b->kind_count; k++) {
            /* Who goes first changes from round to round. */
            subject *s = &p->subjects[(k + round) % b->kind_count];
            if (s->row.skipped[0] != 0)
                continue;
            dm_error why;
            dm_status status = window(p, s, &why);
            if (is_own_fault(status))
                skip(s, &why);
            else if (status != DM_OK) {
                pass_on(&why, err);
                return status;
            }
        }
    }
    return DM_OK;
}

static dm_status run_point(point *p, dm_lab_bench_results *out, dm_lab_bench_listener listener,
                           void *user, dm_error *first, dm_error *err)
{
    const dm_lab_bench *b = p->bench;
    const char *slash = strrchr(p->rom_path, '/');
    dm_status status = DM_OK;
    for (size_t k = 0; k < b->kind_count && status == DM_OK && !dm_stop_requested(); k++) {
        subject *s = &p->subjects[k];
        dm_error why;
        *s = (subject){.row = {.kind = b->kinds[k], .stage = p->stage, .envs = p->envs}};
        snprintf(s->row.rom, sizeof s->row.rom, "%s", slash != NULL ? slash + 1 : p->rom_path);
        status = prepare(p, s, &why);
        if (is_own_fault(status)) {
            if (first->status == DM_OK)
                *first = why;
            skip(s, &why);
            status = DM_OK;
        } else if (status != DM_OK) {
            pass_on(&why, err);
        }
    }
    if (status == DM_OK)
        status = run_rounds(p, err);
    for (size_t k = 0; k < b->kind_count; k++) {
        subject *s = &p->subjects[k];
        bool whole = s->row.skipped[0] != 0 || s->row.count > 0;
        if (status == DM_OK && whole && s->row.skipped[0] == 0)
            status = finish(p, s, err);
        if (status == DM_OK && whole)
            status = keep(out, &s->row, err);
        if (status == DM_OK && whole && listener != NULL)
            listener(&s->row, user);
        dm_lab_backend_destroy(&s->backend);
        free(s->keys);
        s->keys = NULL;
    }
    return status;
}

dm_status dm_lab_bench_run(const dm_lab_bench *b, dm_lab_bench_results *out,
                           dm_lab_bench_listener listener, void *user, dm_error *err)
{
    dm_error first = {0};
    dm_status status = DM_OK;
    point *p = calloc(1, sizeof *p);
    *out = (dm_lab_bench_results){0};
    if (p == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    p->bench = b;
    /* A reference may be missing; one of ours that cannot run here is an error. */
    for (size_t k = 0; k < b->kind_count && status == DM_OK; k++) {
        char version[128];
        if (!b->kinds[k]->is_reference)
            status = b->kinds[k]->version(version, sizeof version, err);
    }
    for (size_t r = 0; r < b->rom_count && status == DM_OK; r++) {
        char *rom = NULL;
        p->rom_path = b->roms[r];
        status = dm_file_read(p->rom_path, ROM_MAX, &rom, &p->rom_size, err);
        p->rom = (const uint8_t *)rom;
        if (status == DM_OK)
            dm_sha256_hex(rom, p->rom_size, p->rom_sha256);
        for (size_t i = 0; i < b->stage_count * b->env_count && status == DM_OK; i++) {
            p->stage = b->stages[i / b->env_count];
            p->envs = b->envs[i % b->env_count];
            if (!dm_stop_requested())
                status = run_point(p, out, listener, user, &first, err);
        }
        free(rom);
    }
    free(p);
    out->partial = dm_stop_requested() || status != DM_OK;
    size_t measured = 0;
    for (size_t i = 0; i < out->count; i++)
        measured += out->rows[i].skipped[0] == 0;
    if (status == DM_OK && measured == 0 && first.status != DM_OK) {
        pass_on(&first, err);
        status = first.status;
    }
    return status;
}

void dm_lab_bench_results_deinit(dm_lab_bench_results *results)
{
    free(results->rows);
    *results = (dm_lab_bench_results){0};
}

/* ---- The artifact ---- */

static void write_hash(dm_json *json, const char *key, uint64_t hash)
{
    char text[17];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    dm_json_string(json, key, text);
}

static void write_row(dm_json *json, const dm_lab_bench *b, const dm_lab_bench_row *r)
{
    dm_json_begin_object(json, NULL);
    dm_json_string(json, "backend", r->kind->name);
    dm_json_bool(json, "is_reference", r->kind->is_reference);
    dm_json_string(json, "rom", r->rom);
    dm_json_string(json, "stage", dm_swarm_stage_name(r->stage));
    dm_json_uint(json, "envs", r->envs);
    if (r->skipped[0] != 0) {
        dm_json_string(json, "skipped", r->skipped);
        dm_json_end_object(json);
        return;
    }
    assert(r->synchronized);
    double steps = r->fps / b->frames_per_step;
    dm_json_string(json, "rom_sha256", r->rom_sha256);
    dm_json_uint(json, "machines", r->machines);
    dm_json_begin_object(json, "settings");
    dm_json_string(json, "sound", r->kind->sound);
    dm_json_string(json, "draws", r->draws ? "the last picture of each step" : "nothing");
    if (r->workers > 0)
        dm_json_int(json, "workers", r->workers);
    dm_json_end_object(json);
    dm_json_uint(json, "steps", r->steps);
    dm_json_int(json, "sync_every", r->sync_every);
    dm_json_bool(json, "synchronized", r->synchronized);
    dm_json_double(json, "build_seconds", r->build_seconds);
    dm_json_begin_array(json, "window_seconds");
    for (size_t i = 0; i < r->count; i++)
        dm_json_double(json, NULL, r->seconds[i]);
    dm_json_end_array(json);
    dm_json_double(json, "fps", r->fps);
    dm_json_double(json, "fps_low", r->fps_low);
    dm_json_double(json, "fps_high", r->fps_high);
    dm_json_double(json, "steps_per_second", steps);
    dm_json_double(json, "steps_per_second_per_machine", steps / (double)r->machines);
    dm_json_begin_object(json, "divergence");
    dm_json_uint(json, "machines_seen", r->seen);
    dm_json_uint(json, "unique_pcs", r->unique_pcs);
    dm_json_double(json, "lanes_same_pc", r->lanes_same_pc);
    dm_json_end_object(json);
    dm_json_begin_object(json, "after_warmup");
    dm_json_uint(json, "machines", r->hashed);
    write_hash(json, "work_ram", r->memory_hash);
    if (r->draws)
        write_hash(json, "pictures", r->picture_hash);
    dm_json_end_object(json);
    if (r->instructions_per_frame > 0)
        dm_json_double(json, "instructions_per_frame", r->instructions_per_frame);
    dm_json_end_object(json);
}

static void write_configuration(dm_json *json, const dm_lab_bench *b)
{
    dm_json_begin_object(json, "configuration");
    dm_json_uint(json, "frames_per_step", b->frames_per_step);
    dm_json_uint(json, "release_after_frames", b->release_after_frames);
    dm_json_begin_array(json, "observations");
    for (unsigned i = 0; i < DM_LAB_BENCH_OBSERVATIONS; i++)
        if (b->observations & DM_SWARM_OBS_VECTOR << i)
            dm_json_string(json, NULL, dm_lab_bench_observations[i]);
    dm_json_end_array(json);
    dm_json_int(json, "sync_every", b->sync_every);
    dm_json_double(json, "window_seconds", b->seconds);
    dm_json_uint(json, "window_steps", b->steps);
    dm_json_uint(json, "warmup_steps", b->warmup);
    dm_json_uint(json, "rounds", b->rounds);
    dm_json_uint(json, "diverge_frames", b->diverge_frames);
    dm_json_uint(json, "diverge_machines", b->few);
    dm_json_string(json, "action_gen", dm_swarm_generator_name(DM_SWARM_SEEDED_RANDOM));
    dm_json_uint(json, "seed", b->seed);
    dm_json_end_object(json);
}

dm_status dm_lab_bench_json(const dm_lab_bench *b, const dm_lab_bench_results *results,
                            dm_buffer *out, dm_error *err)
{
    dm_json json;
    dm_json_init(&json, out, DM_JSON_PRETTY);
    dm_json_begin_object(&json, NULL);
    dm_json_string(&json, "schema", DM_LAB_BENCH_SCHEMA);
    dm_json_bool(&json, "partial", results->partial);
    write_configuration(&json, b);
    dm_json_begin_array(&json, "results");
    for (size_t i = 0; i < results->count; i++)
        write_row(&json, b, &results->rows[i]);
    dm_json_end_array(&json);
    dm_lab_provenance(&json, b->kinds, b->kind_count);
    dm_json_end_object(&json);
    dm_json_finish(&json);
    return dm_buffer_check(out, err);
}
