/* SPDX-License-Identifier: MIT */
/* space.h - the configurations of a sweep: values drawn from named ranges and lists.
 *
 *     "search": "grid" | "random" | "sobol", "count": 64, "seed": 1,
 *     "parameters": {"rate": {"low": 1e-4, "high": 1e-1, "log": true}, "batch": [16, 32, 64],
 *                    "width": {"low": 8, "high": 64, "integer": true}}
 *
 * A grid has every combination; a range of it says how many "points". A configuration is a function
 * of the space and its index. Sobol's points are Joe and Kuo's, with a digital shift by the seed. */
#ifndef DM_TRAIN_SWEEP_SPACE_H
#define DM_TRAIN_SWEEP_SPACE_H

#include "base/json.h"

enum { DM_SWEEP_PARAMETERS_MAX = 12, DM_SWEEP_RUNS_MAX = 4096, DM_SWEEP_NAME_MAX = 64 };

typedef enum dm_sweep_search { DM_SWEEP_GRID, DM_SWEEP_RANDOM, DM_SWEEP_SOBOL } dm_sweep_search;

typedef struct dm_sweep_parameter {
    char name[DM_SWEEP_NAME_MAX];
    json_t *choices; /* NULL: a range */
    double low, high;
    bool log, integer;
    uint64_t points; /* of a range in a grid */
} dm_sweep_parameter;

typedef struct dm_sweep_space {
    dm_sweep_search search;
    uint64_t seed;
    size_t count; /* configurations */
    dm_sweep_parameter parameters[DM_SWEEP_PARAMETERS_MAX];
    size_t parameter_count;
} dm_sweep_space;

/* From a sweep's file; the space borrows the object's lists. */
dm_status dm_sweep_space_read(const json_t *spec, const char *name, dm_sweep_space *out,
                              dm_error *err);
/* An object with a value for each parameter; the caller's. NULL: out of memory. */
json_t *dm_sweep_space_draw(const dm_sweep_space *space, size_t index);
/* Coordinate `dimension` of Sobol's point `index`, as a fraction of 2^32. */
uint32_t dm_sobol(size_t dimension, uint32_t index);

#endif
