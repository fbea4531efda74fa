/* SPDX-License-Identifier: MIT */
/* peer_pyboy.c - PyBoy in a worker process (lab/reference/pyboy.h) that lives as long as the benchmark and
 * measures its own processor time. */
#include "bench/peers.h"
#include "lab/reference/pyboy.h"

#include <stdio.h>
#include <string.h>

const char *dm_bench_python;

static dm_pyboy *worker;

#define KEYS_ROOM (1u << 20)

static void close_pyboy(void)
{
    dm_pyboy_end(worker);
    worker = NULL;
}

static dm_status open_pyboy(char *version, size_t size, dm_error *err)
{
    char python[DM_PATH_MAX];
    if (dm_bench_python != NULL)
        snprintf(python, sizeof python, "%s", dm_bench_python);
    else
        dm_pyboy_find_python(python);
    dm_status status = dm_pyboy_start(python, 0, KEYS_ROOM, &worker, err);
    if (status == DM_OK)
        status = dm_pyboy_ready(worker, err);
    if (status == DM_OK)
        snprintf(version, size, "%s", dm_pyboy_version(worker));
    else
        close_pyboy();
    return status;
}

/* Without drawing a block is one call of tick(); with drawing PyBoy draws only the last frame of a
 * call, so there is one call per frame. */
static dm_status run_blocks(const dm_bench_job *job, uint32_t first, uint32_t blocks,
                            double *seconds, dm_error *err)
{
    uint32_t per_block = job->draw ? DM_BENCH_KEY_FRAMES : 1;
    uint32_t frames = DM_BENCH_KEY_FRAMES / per_block, room = KEYS_ROOM / per_block;
    *seconds = 0;
    for (uint32_t done = 0; done < blocks;) {
        uint32_t now = blocks - done < room ? blocks - done : room;
        uint8_t *keys = dm_pyboy_shared(worker);
        for (uint32_t i = 0; i < now; i++)
            memset(keys + (size_t)i * per_block, job->keys[first + done + i], per_block);
        dm_status status =
            dm_pyboy_step(worker, 0, 1, now * per_block, frames, frames, job->draw, err);
        if (status == DM_OK)
            status = dm_pyboy_wait(worker, err);
        if (status != DM_OK)
            return status;
        *seconds += dm_pyboy_seconds(worker);
        done += now;
    }
    return DM_OK;
}

static dm_status pass(const dm_bench_job *job, dm_bench_pass *out, dm_error *err)
{
    static uint8_t shades[DM_GB_SCREEN_W * DM_GB_SCREEN_H];
    uint32_t warm = job->warmup / DM_BENCH_KEY_FRAMES;
    double ignored;
    dm_status status = dm_pyboy_make(worker, job->rom, job->rom_size, 1, 0, err);
    if (status == DM_OK)
        status = run_blocks(job, 0, warm, &ignored, err);
    if (status == DM_OK)
        status = run_blocks(job, warm, job->frames / DM_BENCH_KEY_FRAMES, &out->seconds, err);
    if (status == DM_OK && job->draw)
        status = dm_pyboy_picture(worker, 0, shades, err);
    if (status == DM_OK && out->seconds <= 0)
        status = dm_fail(err, DM_EINTERNAL, "pyboy: an answer without a time");
    out->blank = job->draw;
    for (size_t i = 1; i < sizeof shades && out->blank; i++)
        out->blank = shades[i] == shades[0];
    dm_status dropped = dm_pyboy_drop(worker, status == DM_OK ? err : NULL);
    return status != DM_OK ? status : dropped;
}

const dm_bench_peer dm_bench_pyboy = {
    .name = "pyboy",
    .install = DM_PYBOY_INSTALL,
    .sound = "off",
    .open = open_pyboy,
    .pass = pass,
    .close = close_pyboy,
};
