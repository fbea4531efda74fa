/* SPDX-License-Identifier: MIT */
/* bench.h - frames per second of backends over numbers of machines, in one run and fairly.
 *
 * For each ROM, stage and number of machines every backend is made, its machines are driven apart
 * by random keys, and it is warmed up, which is not measured. Then the backends take turns: a
 * window of --seconds each, as many rounds as asked for, so that what slows the host down for a
 * while slows all of them. A figure is the median of the windows, with their spread beside it. A
 * window ends with a wait for all work; one without has no figure.
 *
 * All backends run the same population: `few` machines driven apart, of which the others of a swarm
 * are copies that get keys of their own from then on. What a reference does for one machine does
 * not depend on how many others there are, so at most `few` of them are made; the artifact says how
 * many. */
#ifndef DM_LAB_BENCH_H
#define DM_LAB_BENCH_H

#include "base/json.h"
#include "base/sha256.h"
#include "lab/backend.h"

#define DM_LAB_BENCH_SCHEMA "dotmatrix-bench-1"
#define DM_LAB_BENCH_MAX 32 /* backends, counts, ROMs: of each */
#define DM_LAB_BENCH_ROUNDS 32
#define DM_LAB_BENCH_OBSERVATIONS 4
/* Name i is that of DM_SWARM_OBS_VECTOR << i. */
extern const char *const dm_lab_bench_observations[DM_LAB_BENCH_OBSERVATIONS];

typedef struct dm_lab_bench {
    const dm_lab_kind *kinds[DM_LAB_BENCH_MAX];
    size_t kind_count;
    const char *roms[DM_LAB_BENCH_MAX]; /* files */
    size_t rom_count;
    uint64_t envs[DM_LAB_BENCH_MAX];
    size_t env_count;
    dm_swarm_stage stages[DM_SWARM_STAGES];
    size_t stage_count;
    uint32_t observations; /* of the stages that have some */
    uint32_t frames_per_step, release_after_frames;
    int64_t sync_every; /* steps; 0: only at the end; -1: 64 on CUDA, else 0 */
    double seconds;     /* of a window, about */
    uint64_t steps;     /* of a window instead; 0: by time */
    uint64_t warmup;    /* steps */
    uint32_t rounds;
    uint64_t diverge_frames, few;
    uint64_t seed;
    int workers;
    bool force_dmg; /* as in dm_gb_options */
} dm_lab_bench;

typedef struct dm_lab_bench_row {
    const dm_lab_kind *kind;
    char rom[64];
    char rom_sha256[DM_SHA256_HEX_SIZE];
    bool draws;  /* the last picture of each step */
    int workers; /* threads or processes that it runs on; 0: not on the host's cores */
    dm_swarm_stage stage;
    uint64_t envs, machines; /* asked for, and made */
    double build_seconds;
    uint64_t steps; /* of each window */
    int64_t sync_every;
    bool synchronized; /* every window ended with a wait */
    size_t count;
    double seconds[DM_LAB_BENCH_ROUNDS]; /* of the windows */
    double fps, fps_low, fps_high;       /* median, and the range */
    uint64_t unique_pcs, seen;           /* the receipt: of so many machines */
    double lanes_same_pc;                /* mean over warps of 32 of machines per PC */
    double instructions_per_frame;       /* 0: not counted */
    /* What the first machines were after the warm-up, whose steps are a fixed number: equal for
     * backends of ours wherever they run. Their work RAM, and their pictures where `draws`. */
    uint64_t hashed; /* how many machines */
    uint64_t memory_hash, picture_hash;
    char skipped[256]; /* why there is no figure; "" when there is one */
} dm_lab_bench_row;

typedef struct dm_lab_bench_results {
    dm_lab_bench_row *rows;
    size_t count, capacity;
    bool partial; /* interrupted: what was measured until then is there */
} dm_lab_bench_results;

/* Told of each row when it is complete. */
typedef void (*dm_lab_bench_listener)(const dm_lab_bench_row *row, void *user);

/* A reference that is not there, or a backend that has no memory for so many machines, gets rows
 * that say so; when nothing at all could be measured its error is returned. The caller releases the
 * results, also after a failure. */
dm_status dm_lab_bench_run(const dm_lab_bench *bench, dm_lab_bench_results *out,
                           dm_lab_bench_listener listener, void *user, dm_error *err);
void dm_lab_bench_results_deinit(dm_lab_bench_results *results);

/* The artifact as text. */
dm_status dm_lab_bench_json(const dm_lab_bench *bench, const dm_lab_bench_results *results,
                            dm_buffer *out, dm_error *err);

#endif
