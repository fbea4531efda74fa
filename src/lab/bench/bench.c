/* SPDX-License-Identifier: MIT */
/* bench.c - the protocol of a benchmark: backends take turns in windows; see bench.h. */
#include "lab/bench/bench.h"
#include "base/file.h"
#include "base/terminal/stop.h"
#include "base/thread.h"
#include "lab/bench/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROM_MAX (16u << 20)

/* Of one ROM and stage: all that take turns. */
typedef struct field {
    dm_lab_bench_game game;
    const char *rom_path;
    char rom_sha256[DM_SHA256_HEX_SIZE];
    dm_lab_bench_subject *subjects;
    size_t count, capacity;
} field;

/* ---- Who takes part ---- */

/* Games are compared as sets: what a set is, the folder says. */
static void name_rom(const char *path, dm_lab_bench_row *row)
{
    const char *slash = strrchr(path, '/'), *begin = slash;
    snprintf(row->rom, sizeof row->rom, "%.63s", slash != NULL ? slash + 1 : path);
    while (begin != NULL && begin > path && begin[-1] != '/')
        begin--;
    int length = begin != NULL ? (int)(slash - begin) : 0;
    snprintf(row->folder, sizeof row->folder, "%.*s", length < 63 ? length : 63,
             length > 0 ? begin : "");
    if (row->folder[0] == 0)
        snprintf(row->folder, sizeof row->folder, "games");
}

static dm_status add(field *f, const dm_lab_kind *kind, dm_swarm_stage stage, uint64_t machines,
                     int workers, dm_error *err)
{
    if (f->count == f->capacity) {
        size_t capacity = f->capacity > 0 ? 2 * f->capacity : 32;
        dm_lab_bench_subject *subjects = realloc(f->subjects, capacity * sizeof *subjects);
        if (subjects == NULL)
            return dm_fail(err, DM_ENOMEM, "out of memory");
        f->subjects = subjects;
        f->capacity = capacity;
    }
    dm_lab_bench_subject *s = &f->subjects[f->count++];
    *s = (dm_lab_bench_subject){
        .row = {.kind = kind, .stage = stage, .machines = machines, .workers = workers}};
    name_rom(f->rom_path, &s->row);
    memcpy(s->row.rom_sha256, f->rom_sha256, sizeof f->rom_sha256);
    return DM_OK;
}

static int cores(const dm_lab_bench *b)
{
    return b->workers > 0 ? b->workers : dm_cpu_count();
}

/* A reference with so many threads: as many machines for each. */
static dm_status add_reference(field *f, const dm_lab_kind *kind, dm_swarm_stage stage, int threads,
                               dm_error *err)
{
    uint64_t each = (f->game.bench->reference_machines + (uint64_t)threads - 1) / (uint64_t)threads;
    return add(f, kind, stage, kind->is_single ? 1 : each * (uint64_t)threads, threads, err);
}

static dm_status add_references(field *f, const dm_lab_kind *kind, dm_swarm_stage stage,
                                dm_error *err)
{
    const dm_lab_bench *b = f->game.bench;
    dm_status status = DM_OK;
    int all = cores(b);
    if (kind->always_draws && !dm_lab_bench_draws(stage)) {
        status = add_reference(f, kind, stage, 1, err);
        snprintf(f->subjects[f->count - 1].row.skipped, sizeof f->subjects[0].row.skipped,
                 "it draws every frame: --stages full_step");
        return status;
    }
    if (kind->is_single)
        return add_reference(f, kind, stage, 1, err);
    for (size_t i = 0; i < b->thread_count && status == DM_OK; i++)
        status = add_reference(f, kind, stage, b->threads[i], err);
    if (b->thread_count > 0)
        return status;
    for (int threads = 1; threads < all && status == DM_OK; threads *= 2)
        status = add_reference(f, kind, stage, threads, err);
    return status == DM_OK ? add_reference(f, kind, stage, all, err) : status;
}

static dm_status gather(field *f, dm_swarm_stage stage, dm_error *err)
{
    const dm_lab_bench *b = f->game.bench;
    dm_status status = DM_OK;
    f->count = 0;
    for (size_t e = 0; e < b->env_count; e++) {
        for (size_t k = 0; k < b->kind_count && status == DM_OK; k++) {
            uint64_t workers = (uint64_t)cores(b), envs = b->envs[e];
            if (b->kinds[k]->is_reference || (b->kinds[k]->is_single && envs > 1))
                continue;
            if (b->kinds[k] == &dm_lab_vec_cuda)
                workers = 0;
            status = add(f, b->kinds[k], stage, envs, (int)(workers < envs ? workers : envs), err);
        }
    }
    for (size_t k = 0; k < b->kind_count && status == DM_OK; k++)
        if (b->kinds[k]->is_reference)
            status = add_references(f, b->kinds[k], stage, err);
    return status;
}

/* ---- Turns ---- */

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

static void skip(dm_lab_bench_subject *s, const dm_error *why)
{
    snprintf(s->row.skipped, sizeof s->row.skipped, "%.255s", why->message);
    dm_lab_bench_subject_deinit(s);
}

static dm_status prepare_all(field *f, dm_error *first, dm_error *err)
{
    for (size_t i = 0; i < f->count && !dm_stop_requested(); i++) {
        dm_error why;
        if (f->subjects[i].row.skipped[0] != 0)
            continue;
        dm_status status = dm_lab_bench_prepare(&f->game, &f->subjects[i], &why);
        if (is_own_fault(status)) {
            if (first->status == DM_OK)
                *first = why;
            skip(&f->subjects[i], &why);
        } else if (status != DM_OK) {
            pass_on(&why, err);
            return status;
        }
    }
    return DM_OK;
}

static dm_status run_rounds(field *f, dm_error *err)
{
    const dm_lab_bench *b = f->game.bench;
    for (uint32_t round = 0; round < b->rounds; round++) {
        for (size_t i = 0; i < f->count && !dm_stop_requested(); i++) {
            /* Who goes first changes from round to round. */
            dm_lab_bench_subject *s = &f->subjects[(i + round) % f->count];
            if (s->row.skipped[0] != 0)
                continue;
            dm_error why;
            dm_status status = dm_lab_bench_window(&f->game, s, &why);
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

static dm_status run_field(field *f, dm_lab_bench_results *out, dm_lab_bench_listener listener,
                           void *user, dm_error *first, dm_error *err)
{
    dm_status status = prepare_all(f, first, err);
    if (status == DM_OK)
        status = run_rounds(f, err);
    for (size_t i = 0; i < f->count; i++) {
        dm_lab_bench_subject *s = &f->subjects[i];
        bool skipped = s->row.skipped[0] != 0, whole = skipped || s->row.count > 0;
        if (status == DM_OK && whole && !skipped)
            status = dm_lab_bench_finish(&f->game, s, err);
        if (status == DM_OK && whole)
            status = keep(out, &s->row, err);
        if (status == DM_OK && whole && listener != NULL)
            listener(&s->row, user);
        dm_lab_bench_subject_deinit(s);
    }
    return status;
}

static dm_status run_rom(field *f, const char *path, dm_lab_bench_results *out,
                         dm_lab_bench_listener listener, void *user, dm_error *first, dm_error *err)
{
    const dm_lab_bench *b = f->game.bench;
    char *rom = NULL;
    f->rom_path = path;
    dm_status status = dm_file_read(path, ROM_MAX, &rom, &f->game.rom_size, err);
    f->game.rom = (const uint8_t *)rom;
    if (status == DM_OK) {
        dm_sha256_hex(rom, f->game.rom_size, f->rom_sha256);
        status = dm_lab_bench_find_hooks(&f->game, err);
    }
    if (status == DM_OK)
        status = dm_lab_bench_populate(&f->game, err);
    for (size_t i = 0; i < b->stage_count && status == DM_OK && !dm_stop_requested(); i++) {
        status = gather(f, b->stages[i], err);
        if (status == DM_OK)
            status = run_field(f, out, listener, user, first, err);
    }
    if (f->game.population.kind != NULL)
        dm_lab_backend_destroy(&f->game.population);
    free(rom);
    return status;
}

dm_status dm_lab_bench_run(const dm_lab_bench *b, dm_lab_bench_results *out,
                           dm_lab_bench_listener listener, void *user, dm_error *err)
{
    dm_error first = {0};
    dm_status status = DM_OK;
    field f = {.game = {.bench = b}};
    *out = (dm_lab_bench_results){0};
    /* A reference may be missing; one of ours that cannot run here is an error. */
    for (size_t k = 0; k < b->kind_count && status == DM_OK; k++) {
        char version[128];
        if (!b->kinds[k]->is_reference)
            status = b->kinds[k]->version(b->kinds[k], version, sizeof version, err);
    }
    for (size_t r = 0; r < b->rom_count && status == DM_OK && !dm_stop_requested(); r++)
        status = run_rom(&f, b->roms[r], out, listener, user, &first, err);
    free(f.subjects);
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
