/* SPDX-License-Identifier: MIT */
/* peers.h - the emulators that the single-machine benchmark sets side by side.
 *
 * A pass is the unit of work, and it is the same for everybody: load the ROM into a fresh machine,
 * run `warmup` frames that are not measured, then `frames` frames that are, pressing the same keys
 * at the same frames. Only processor time of the measured frames counts, so that other programs on
 * the host disturb little. Passes of one ROM repeat the same frames, hence best and median of
 * several mean something.
 *
 *   peer_ours.c      this library
 *   peer_mgba.c      libmgba, in process (missing when it was not there at build time)
 *   peer_gambatte.c  gambatte as a libretro core, opened at run time
 *   peer_pyboy.c     PyBoy in a worker process (lab/reference/pyboy.h) */
#ifndef DM_BENCH_PEERS_H
#define DM_BENCH_PEERS_H

#include <dotmatrix/gb.h>

#define DM_BENCH_KEY_FRAMES 8 /* keys change only between blocks of so many frames */

typedef struct dm_bench_job {
    const char *path;
    const uint8_t *rom;
    size_t rom_size;
    bool draw;               /* every frame, or none */
    uint32_t warmup, frames; /* multiples of DM_BENCH_KEY_FRAMES */
    const uint8_t *keys;     /* DM_GB_KEY_... for each block, warm-up first */
} dm_bench_job;

typedef struct dm_bench_pass {
    double seconds; /* processor time */
    bool blank;     /* drawn, but all of the last picture has one colour */
    /* Of the measured frames; only ours counts them. */
    uint64_t instructions, cycles, halted;
} dm_bench_pass;

typedef struct dm_bench_peer {
    const char *name;
    const char *install; /* how to get it */
    const char *sound;   /* what it does about sound */
    bool always_draws;
    /* Once, before anything else; DM_EUNAVAILABLE when it is not installed. */
    dm_status (*open)(char *version, size_t size, dm_error *err);
    dm_status (*pass)(const dm_bench_job *job, dm_bench_pass *out, dm_error *err);
    void (*close)(void);
} dm_bench_peer;

extern const dm_bench_peer dm_bench_ours, dm_bench_mgba, dm_bench_gambatte, dm_bench_pyboy;

/* The interpreter that peer_pyboy.c starts; NULL: the one of the project's .venv. */
extern const char *dm_bench_python;

/* Make peer_ours.c execute polling loops. */
extern bool dm_bench_keep_idle_loops;

/* Processor time of this thread, in seconds. */
double dm_bench_cpu_seconds(void);

#endif
