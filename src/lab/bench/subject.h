/* SPDX-License-Identifier: MIT */
/* subject.h - one backend that is measured: a number of machines, or of threads, of one ROM. */
#ifndef DM_LAB_BENCH_SUBJECT_H
#define DM_LAB_BENCH_SUBJECT_H

#include "lab/bench/bench.h"

/* What all subjects of a ROM have in common. */
typedef struct dm_lab_bench_game {
    const dm_lab_bench *bench;
    const uint8_t *rom;
    size_t rom_size;
    dm_gb_hook hooks[DM_GB_HOOK_COUNT_MAX]; /* of swarms, but for the population */
    size_t hook_count;
    dm_lab_backend population; /* driven apart; no kind: none was made */
} dm_lab_bench_game;

typedef struct dm_lab_bench_subject {
    dm_lab_backend backend;
    dm_lab_bench_row row;
    uint64_t done;                         /* steps since the machines were driven apart */
    uint64_t instructions, halted, cycles; /* of those seen, at the last look */
    uint8_t *keys;                         /* of references */
} dm_lab_bench_subject;

/* The game's hooks, as many as the benchmark wants. */
dm_status dm_lab_bench_find_hooks(dm_lab_bench_game *game, dm_error *err);
/* The population of a ROM, on a GPU where one takes part. */
dm_status dm_lab_bench_populate(dm_lab_bench_game *game, dm_error *err);

/* Make the backend for the row's kind, stage, machines and workers; drive its machines apart, warm it
 * up, and decide how long a window is. */
dm_status dm_lab_bench_prepare(const dm_lab_bench_game *game, dm_lab_bench_subject *subject,
                               dm_error *err);
/* One window, into the row. */
dm_status dm_lab_bench_window(const dm_lab_bench_game *game, dm_lab_bench_subject *subject,
                              dm_error *err);
/* The row's figures. */
dm_status dm_lab_bench_finish(const dm_lab_bench_game *game, dm_lab_bench_subject *subject,
                              dm_error *err);
void dm_lab_bench_subject_deinit(dm_lab_bench_subject *subject);

/* Whether a stage has pictures. */
bool dm_lab_bench_draws(dm_swarm_stage stage);

/* receipt.c: PCs, warps and instructions, now; and, `with_states`, how many states differ and the
 * hashes of the first. */
dm_status dm_lab_bench_look(dm_lab_bench_subject *subject, bool with_states, dm_error *err);
/* How many of the hashed machines show a picture of one colour, into the row. */
dm_status dm_lab_bench_count_blank(dm_lab_bench_subject *subject, dm_error *err);

#endif
