/* SPDX-License-Identifier: MIT */
/* bench.h - frames per second of backends over numbers of machines, in one run and fairly.
 *
 * For each ROM a population of `few` machines is driven apart by random keys; machine i of a swarm
 * begins as number i modulo `few` of them and gets keys of its own from then on. A reference plays
 * the same keys from its own start, with `reference_machines` machines.
 *
 * A reference's speed depends on its threads, not on the number of machines. So it is measured once
 * per number of threads (1, 2, 4, ... up to the workers), ours once per number of machines. All of
 * them, for one ROM and stage, take turns in windows of `seconds`, as many rounds as asked for, so
 * that a disturbance of the host slows all of them. A figure is the median of the windows, with their
 * spread beside it. The warm-up before the first window does not count. A window ends with a wait for
 * all work, or has no figure.
 *
 *   bench.c       the protocol: which backend is measured when
 *   rom_list.c    the ROMs
 *   subject.c     one backend: making it, driving it apart, its windows
 *   hooks.c       functions of the ROM to watch
 *   receipt.c     the population that was measured: how far apart the machines were, their hashes
 *   artifact.c    all of it as JSON */
#ifndef DM_LAB_BENCH_H
#define DM_LAB_BENCH_H

#include "base/json.h"
#include "base/sha256.h"
#include "lab/backend.h"

#define DM_LAB_BENCH_SCHEMA "dotmatrix-bench-2"
#define DM_LAB_BENCH_MAX 32 /* backends, counts: of each */
#define DM_LAB_BENCH_ROMS 256
#define DM_LAB_BENCH_ROUNDS 32

typedef struct dm_lab_bench {
    const dm_lab_kind *kinds[DM_LAB_BENCH_MAX];
    size_t kind_count;
    const char *roms[DM_LAB_BENCH_ROMS]; /* files */
    size_t rom_count;
    uint64_t envs[DM_LAB_BENCH_MAX]; /* of ours */
    size_t env_count;
    int threads[DM_LAB_BENCH_MAX]; /* of references; none: 1, 2, 4, ... and all */
    size_t thread_count;
    dm_swarm_stage stages[DM_SWARM_STAGES];
    size_t stage_count;
    uint32_t observations; /* of the stages that have some */
    bool draw_every;       /* those draw every picture of a step, not only the last */
    uint32_t frames_per_step, release_after_frames;
    int64_t sync_every;    /* steps; 0: only at the end; -1: 64 on CUDA, else 0 */
    double seconds;        /* of a window, at least */
    uint64_t steps;        /* of a window instead; 0: by time */
    uint64_t warmup;       /* steps, after which machines are hashed */
    double warmup_seconds; /* warm up further until so much time has passed */
    uint32_t rounds;
    uint64_t diverge_frames, few, reference_machines;
    size_t hooks; /* functions of the program that swarms watch; at most DM_GB_HOOK_COUNT_MAX */
    uint64_t seed;
    dm_swarm_codec codec; /* of the random actions */
    const char *state;    /* a save state at which ours begin; NULL: as a game is started */
    int workers;          /* of ours, and at most of references; 0: one per CPU */
    bool force_dmg, keep_idle_loops; /* as in dm_gb_options */
    /* On CUDA, as in dm_swarm_desc; 0: chosen by the number of machines. */
    uint32_t lanes_per_warp, block_threads, blocks_per_multiprocessor;
} dm_lab_bench;

typedef struct dm_lab_bench_row {
    const dm_lab_kind *kind;
    char rom[64], folder[64]; /* the file's name, and that of the folder it is in */
    char rom_sha256[DM_SHA256_HEX_SIZE];
    dm_swarm_stage stage;
    uint64_t machines;
    int workers; /* threads or processes that it runs on; 0: not on the host's cores */
    bool draws;  /* the last picture of each step, or every one */
    double build_seconds;
    uint64_t steps; /* planned for each window */
    int64_t sync_every;
    bool synchronized; /* every window ended with a wait */
    size_t count;
    double seconds[DM_LAB_BENCH_ROUNDS]; /* of the windows */
    uint64_t window_steps[DM_LAB_BENCH_ROUNDS];
    double fps, fps_low, fps_high; /* median, and the range */
    /* The receipt, of the first `seen` machines. */
    uint64_t seen, unique_pcs;
    uint64_t different;            /* states, before the first window: registers and work RAM */
    double lanes_same_pc;          /* mean over warps of 32 of machines per PC */
    double instructions_per_frame; /* 0: not counted */
    double halt_share;             /* of the time, in HALT; where instructions are counted */
    /* Hashes of the first machines after the warm-up: work RAM, and pictures where `draws`. The
     * warm-up is a fixed number of steps, so they are equal for all backends of ours. */
    uint64_t hashed; /* how many machines */
    uint64_t memory_hash, picture_hash;
    uint64_t state_hash; /* registers and work RAM of all that were seen */
    uint64_t blank;      /* of the hashed ones, at the end: pictures of one colour */
    dm_lab_launch launch;
    char skipped[256]; /* why there is no figure; "" when there is one */
} dm_lab_bench_row;

typedef struct dm_lab_bench_results {
    dm_lab_bench_row *rows;
    size_t count, capacity;
    bool partial; /* interrupted: what was measured until then is there */
} dm_lab_bench_results;

/* Told of each row when it is complete. */
typedef void (*dm_lab_bench_listener)(const dm_lab_bench_row *row, void *user);

/* A missing reference, and a backend without memory for so many machines, get rows that say so. When
 * nothing at all could be measured the error is returned. The caller releases the results, also after
 * a failure. */
dm_status dm_lab_bench_run(const dm_lab_bench *bench, dm_lab_bench_results *out,
                           dm_lab_bench_listener listener, void *user, dm_error *err);
void dm_lab_bench_results_deinit(dm_lab_bench_results *results);

/* The artifact as text. */
dm_status dm_lab_bench_json(const dm_lab_bench *bench, const dm_lab_bench_results *results,
                            dm_buffer *out, dm_error *err);

#endif
