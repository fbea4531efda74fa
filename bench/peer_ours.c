/* SPDX-License-Identifier: MIT */
/* peer_ours.c - this library, called as any program would. */
#include "bench/peers.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

bool dm_bench_keep_idle_loops;

double dm_bench_cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static dm_status open_ours(char *version, size_t size, dm_error *err)
{
    (void)err;
    snprintf(version, size, "%s", dm_version_string());
    return DM_OK;
}

static void play(dm_gb *gb, const uint8_t *keys, uint32_t frames, bool draw)
{
    for (uint32_t i = 0; i < frames / DM_BENCH_KEY_FRAMES; i++) {
        dm_gb_set_keys(gb, keys[i]);
        dm_gb_run_frames(gb, DM_BENCH_KEY_FRAMES, draw ? DM_GB_DRAW_ALWAYS : DM_GB_DRAW_NEVER);
    }
}

static dm_status pass(const dm_bench_job *job, dm_bench_pass *out, dm_error *err)
{
    dm_gb *gb = NULL;
    dm_gb_options options = {.keep_idle_loops = dm_bench_keep_idle_loops};
    dm_status status = dm_gb_create(job->rom, job->rom_size, &options, &gb, err);
    if (status != DM_OK)
        return status;
    play(gb, job->keys, job->warmup, job->draw);
    dm_gb_counters before = dm_gb_get_counters(gb);
    double start = dm_bench_cpu_seconds();
    play(gb, job->keys + job->warmup / DM_BENCH_KEY_FRAMES, job->frames, job->draw);
    out->seconds = dm_bench_cpu_seconds() - start;
    dm_gb_counters after = dm_gb_get_counters(gb);
    out->instructions = after.instructions - before.instructions;
    out->cycles = after.cycles - before.cycles;
    out->halted = after.halted - before.halted;
    const uint8_t *shades = dm_gb_frame(gb);
    out->blank = job->draw && memcmp(shades, shades + 1, DM_GB_SCREEN_W * DM_GB_SCREEN_H - 1) == 0;
    dm_gb_destroy(gb);
    return DM_OK;
}

static void close_ours(void)
{
}

const dm_bench_peer dm_bench_ours = {
    .name = "ours",
    .install = "",
    .sound = "registers only",
    .open = open_ours,
    .pass = pass,
    .close = close_ours,
};
