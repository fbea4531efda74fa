/* SPDX-License-Identifier: MIT */
/* figure.h - the data of a report, and how it is grouped.
 *
 *   artifacts ─► figures (a backend, a game, a stage, a number of machines or threads)
 *                  │  + geometric means over the games of a folder
 *                  ▼
 *               groups (a game or a mean, and a stage) ─► a table and two plots each (table.c, plot.c)
 */
#ifndef DM_LAB_FIGURE_H
#define DM_LAB_FIGURE_H

#include <dotmatrix/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct dm_lab_figure {
    char backend[32], rom[96], folder[64], stage[32];
    bool is_reference;
    size_t artifact; /* which run */
    uint64_t envs;   /* of ours: machines */
    int threads;     /* of references */
    uint64_t machines;
    uint64_t different, seen; /* states, of so many machines */
    double instructions;      /* a frame; 0: not counted */
    double fps, low, high;
    size_t members; /* a geometric mean of so many games; 0: a game */
} dm_lab_figure;

typedef struct dm_lab_figures {
    dm_lab_figure *items;
    size_t count, capacity;
} dm_lab_figures;

dm_status dm_lab_figures_add(dm_lab_figures *list, const dm_lab_figure *figure, dm_error *err);
/* Geometric means over the games of each folder and run that all backends of the run can play,
 * before the games' figures. Folders with one game get none. */
dm_status dm_lab_figures_add_means(dm_lab_figures *list, dm_error *err);
void dm_lab_figures_deinit(dm_lab_figures *list);

#define DM_LAB_GROUP_BACKENDS 16
#define DM_LAB_GROUP_ENVS 32

typedef struct dm_lab_group {
    const dm_lab_figures *list;
    const dm_lab_figure *first;                  /* whose rom, folder and stage it has */
    const char *backends[DM_LAB_GROUP_BACKENDS]; /* in the order of the runs */
    bool is_reference[DM_LAB_GROUP_BACKENDS];
    size_t backend_count;
    uint64_t envs[DM_LAB_GROUP_ENVS + 1]; /* going up */
    size_t env_count;
} dm_lab_group;

/* The group of figure `i`; false where an earlier figure is of the same. */
bool dm_lab_group_at(const dm_lab_figures *list, size_t i, dm_lab_group *out);

/* The figure of a backend at a number of machines, from `artifact` where it has one; NULL: none. A
 * reference's is that of as many threads, or the most that were measured. */
const dm_lab_figure *dm_lab_group_find(const dm_lab_group *group, const char *backend,
                                       uint64_t envs, size_t artifact);

/* Is backend `b` of the group compared with `k`? Ours with references, the GPU with the CPU. */
bool dm_lab_group_compares(const dm_lab_group *group, size_t b, size_t k);

/* How many times `base` a figure is; of a mean also the range over its games. */
typedef struct dm_lab_ratio {
    double value, low, high;
} dm_lab_ratio;
dm_lab_ratio dm_lab_group_ratio(const dm_lab_group *group, const dm_lab_figure *figure,
                                const dm_lab_figure *base);

#endif
