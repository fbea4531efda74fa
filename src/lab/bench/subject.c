/* SPDX-License-Identifier: MIT */
/* subject.c - one backend: made, driven apart, warmed up, measured window by window. */
#include "lab/bench/subject.h"
#include "base/median.h"
#include "base/thread.h"
#include "lab/actions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double now(void)
{
    return (double)dm_time_ns() * 1e-9;
}

bool dm_lab_bench_draws(dm_swarm_stage stage)
{
    return stage == DM_SWARM_FULL_STEP || stage == DM_SWARM_OBS_ONLY;
}

static bool is_swarm(const dm_lab_kind *kind)
{
    return kind->copy_from != NULL;
}

/* Swarms make their keys on the device, others are given the same. */
static dm_status steps(const dm_lab_bench *b, dm_lab_bench_subject *s, uint64_t count,
                       dm_error *err)
{
    dm_lab_actions actions = {
        .codec = b->codec, .generator = DM_SWARM_SEEDED_RANDOM, .seed = b->seed};
    int64_t sync_every = s->row.sync_every;
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

static dm_status create(const dm_lab_bench_game *g, dm_lab_bench_subject *s, uint32_t copies,
                        dm_error *err)
{
    const dm_lab_bench *b = g->bench;
    const dm_lab_bench_row *r = &s->row;
    dm_lab_desc desc = {.rom = g->rom,
                        .rom_size = g->rom_size,
                        .count = r->machines,
                        .frames_per_step = b->frames_per_step,
                        .release_after_frames = b->release_after_frames,
                        .start = b->state != NULL ? DM_LAB_START_STATE : DM_LAB_START_GAME,
                        .state = b->state,
                        .force_dmg = b->force_dmg,
                        .keep_idle_loops = b->keep_idle_loops,
                        .draw = r->draws && !is_swarm(r->kind),
                        .draw_every = r->draws && b->draw_every,
                        .workers = r->workers,
                        .stage = r->stage,
                        .observations = r->draws ? b->observations : 0,
                        .generator = DM_SWARM_SEEDED_RANDOM,
                        .codec = b->codec,
                        .hooks = g->hooks,
                        .hook_count = g->population.kind != NULL ? g->hook_count : 0,
                        .seed = b->seed,
                        .lanes_per_warp = b->lanes_per_warp,
                        .block_threads = b->block_threads,
                        .blocks_per_multiprocessor = b->blocks_per_multiprocessor,
                        .copies = copies};
    if (!is_swarm(r->kind) && (s->keys = malloc(r->machines)) == NULL)
        return dm_fail(err, DM_ENOMEM, "out of memory");
    return dm_lab_backend_create(r->kind, &desc, &s->backend, err);
}

static uint64_t diverge_steps(const dm_lab_bench *b)
{
    return (b->diverge_frames + b->frames_per_step - 1) / b->frames_per_step;
}

/* No more than the largest swarm can hold. */
static uint64_t few(const dm_lab_bench *b)
{
    uint64_t most = 1;
    for (size_t i = 0; i < b->env_count; i++)
        most = b->envs[i] > most ? b->envs[i] : most;
    return b->few < most ? b->few : most;
}

dm_status dm_lab_bench_populate(dm_lab_bench_game *g, dm_error *err)
{
    const dm_lab_bench *b = g->bench;
    const dm_lab_kind *kind = NULL;
    for (size_t i = 0; i < b->kind_count; i++)
        if (is_swarm(b->kinds[i]) && kind != &dm_lab_vec_cuda)
            kind = b->kinds[i];
    if (kind == NULL)
        return DM_OK;
    dm_lab_bench_subject s = {.row = {.kind = kind,
                                      .stage = DM_SWARM_EMULATE_ONLY,
                                      .machines = few(b),
                                      .workers = b->workers,
                                      .sync_every = 64}};
    dm_status status = create(g, &s, 0, err);
    if (status == DM_OK)
        status = steps(b, &s, diverge_steps(b), err);
    if (status == DM_OK)
        g->population = s.backend;
    else
        dm_lab_backend_destroy(&s.backend);
    return status;
}

static dm_status drive_apart(const dm_lab_bench_game *g, dm_lab_bench_subject *s, dm_error *err)
{
    dm_status status =
        is_swarm(s->row.kind)
            ? s->row.kind->copy_from(s->backend.self, g->population.self, few(g->bench), err)
            : steps(g->bench, s, diverge_steps(g->bench), err);
    s->done = 0;
    return status;
}

dm_status dm_lab_bench_prepare(const dm_lab_bench_game *g, dm_lab_bench_subject *s, dm_error *err)
{
    const dm_lab_bench *b = g->bench;
    dm_lab_bench_row *r = &s->row;
    bool copies = is_swarm(r->kind) && r->machines > few(b);
    r->draws = dm_lab_bench_draws(r->stage);
    r->sync_every = b->sync_every >= 0 ? b->sync_every : r->kind == &dm_lab_vec_cuda ? 64 : 0;
    double start = now();
    dm_status status = create(g, s, copies ? (uint32_t)few(b) : 0, err);
    r->build_seconds = now() - start;
    if (status == DM_OK && r->kind->launch != NULL)
        status = r->kind->launch(s->backend.self, &r->launch, err);
    if (status == DM_OK)
        status = drive_apart(g, s, err);
    uint64_t warm = b->warmup > 0 ? b->warmup : 1, further = 0;
    start = now();
    if (status == DM_OK)
        status = steps(b, s, warm, err);
    double spent = now() - start;
    if (status == DM_OK)
        status = dm_lab_bench_look(s, true, err);
    /* The first steps are slow (caches, compilers): the length of a window is taken from those
     * after them, twice as many each time. */
    double one = spent / (double)warm;
    for (uint64_t more = 1; status == DM_OK && spent < b->warmup_seconds; more *= 2) {
        start = now();
        status = steps(b, s, more, err);
        one = (now() - start) / (double)more;
        spent += now() - start;
        further += more;
    }
    r->steps = b->steps > 0                  ? b->steps
               : one > 0 && b->seconds > one ? (uint64_t)ceil(b->seconds / one)
                                             : 1;
    if (status == DM_OK && further > 0)
        status = dm_lab_bench_look(s, false, err);
    r->synchronized = true;
    return status;
}

dm_status dm_lab_bench_window(const dm_lab_bench_game *g, dm_lab_bench_subject *s, dm_error *err)
{
    dm_lab_bench_row *r = &s->row;
    double start = now(), seconds = 0;
    uint64_t done = 0, more = r->steps;
    dm_status status = DM_OK;
    /* The host may have become faster since the warm-up: go on until it is as long as asked for. */
    while (status == DM_OK && more > 0) {
        status = steps(g->bench, s, more, err);
        seconds = now() - start;
        done += more;
        bool is_short = g->bench->steps == 0 && seconds < g->bench->seconds;
        double ratio = seconds > 0 ? g->bench->seconds / seconds : 2;
        more = is_short ? (uint64_t)ceil((double)done * (ratio - 1)) : 0;
    }
    r->synchronized = r->synchronized && status == DM_OK;
    if (status == DM_OK) {
        r->window_steps[r->count] = done;
        r->seconds[r->count++] = seconds;
    }
    return status;
}

dm_status dm_lab_bench_finish(const dm_lab_bench_game *g, dm_lab_bench_subject *s, dm_error *err)
{
    dm_lab_bench_row *r = &s->row;
    double sorted[DM_LAB_BENCH_ROUNDS];
    if (!r->synchronized || r->count == 0)
        return dm_fail(err, DM_EINTERNAL, "%s: a window was not synchronised", r->kind->name);
    double frames = 0; /* of a machine in all windows */
    for (size_t i = 0; i < r->count; i++) {
        double each = (double)r->window_steps[i] * g->bench->frames_per_step;
        sorted[i] = each * (double)r->machines / r->seconds[i];
        frames += each;
    }
    r->fps = dm_median(sorted, r->count); /* sorts */
    r->fps_low = sorted[0];
    r->fps_high = sorted[r->count - 1];
    uint64_t instructions = s->instructions, halted = s->halted, cycles = s->cycles;
    dm_status status = dm_lab_bench_look(s, false, err);
    if (status == DM_OK && r->draws)
        status = dm_lab_bench_count_blank(s, err);
    instructions = s->instructions - instructions;
    if (instructions > 0) {
        r->instructions_per_frame = (double)instructions / (frames * (double)r->seen);
        r->halt_share = (double)(s->halted - halted) / (double)(s->cycles - cycles);
    }
    return status;
}

void dm_lab_bench_subject_deinit(dm_lab_bench_subject *s)
{
    dm_lab_backend_destroy(&s->backend);
    free(s->keys);
    s->keys = NULL;
}
