/* SPDX-License-Identifier: MIT */
/* plot.h - figures of one ROM and stage as plots, by gnuplot. */
#ifndef DM_LAB_PLOT_H
#define DM_LAB_PLOT_H

#include <dotmatrix/base.h>

#include <stdbool.h>

typedef struct dm_lab_figure {
    char backend[32], rom[64], stage[32];
    bool is_reference;
    size_t artifact; /* which run */
    uint64_t envs, machines;
    double fps, low, high;
} dm_lab_figure;

#define DM_LAB_GROUP_MAX 1024
#define DM_LAB_GROUP_BACKENDS 16
#define DM_LAB_GROUP_ENVS 32

typedef struct dm_lab_group {
    const char *rom, *stage;
    const dm_lab_figure *figures[DM_LAB_GROUP_MAX];
    size_t count;
    const char *backends[DM_LAB_GROUP_BACKENDS]; /* in the order of the runs */
    bool is_reference[DM_LAB_GROUP_BACKENDS];
    size_t backend_count;
    uint64_t envs[DM_LAB_GROUP_ENVS + 1]; /* going up */
    size_t env_count;
} dm_lab_group;

/* The figure of a backend at a number of machines, from `artifact` where it has one; NULL: none. */
const dm_lab_figure *dm_lab_group_find(const dm_lab_group *group, const char *backend,
                                       uint64_t envs, size_t artifact);

/* Is backend `b` of the group compared with `k`? Ours with references, the GPU with the CPU. */
bool dm_lab_group_compares(const dm_lab_group *group, size_t b, size_t k);

/* Is there something that can be compared with a reference? */
bool dm_lab_plot_has_speedup(const dm_lab_group *group);
/* fps_ROM_STAGE and, where there is one, speedup_ROM_STAGE as .png and .svg into the folder. */
dm_status dm_lab_plot(const dm_lab_group *group, const char *folder, dm_error *err);

#endif
