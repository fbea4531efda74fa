/* SPDX-License-Identifier: MIT */
/* builder.h - compiled stage kernels: composed (compose.h), compiled by the device layer, shared.
 *
 * A variant's key is made from stage, vector size, the composed text, the device's architecture and the
 * tuning. Swarms with the same key on a device share the kernels while any of them lives; compiled code
 * stays in the device layer's cache on disk. On a CPU the kernels with the default epilog are built into
 * the library (dm_swarm_builtins) and need no compiler. */
#ifndef DM_SWARM_BUILDER_H
#define DM_SWARM_BUILDER_H

#include "base/hash.h"
#include "swarm/compose.h"

#define DM_SWARM_BUILTINS (3 * DM_SWARM_STAGES)
extern const dm_builtin_kernel dm_swarm_builtins[DM_SWARM_BUILTINS];

/* Settings of the CUDA compiler that change speed only. 0: the skeleton's. */
typedef struct dm_swarm_tuning {
    uint32_t block_threads, blocks;
    uint32_t lanes; /* machines per warp */
} dm_swarm_tuning;

typedef struct dm_swarm_kernels {
    dm_function *step, *reset;
    dm_function *answered;  /* the end of a step with a reward program */
    dm_function *rebalance; /* CUDA, else NULL */
    dm_hash128 key;
    bool was_cached; /* nothing was compiled */
    struct dm_swarm_entry *entry;
} dm_swarm_kernels;

dm_status dm_swarm_build(dm_device *device, const dm_swarm_variant *variant,
                         const dm_swarm_tuning *tuning, dm_swarm_kernels *out, dm_error *err);
void dm_swarm_kernels_release(dm_swarm_kernels *kernels);

/* The generated text (free() it). */
dm_status dm_swarm_variant_text(const dm_swarm_variant *variant, char **out, dm_error *err);
/* Names the variant on this device. */
dm_hash128 dm_swarm_variant_key(const dm_device *device, const dm_swarm_variant *variant,
                                const dm_swarm_tuning *tuning, const char *text);

#endif
