/* SPDX-License-Identifier: MIT */
/* block_modes.h - the stage kernel full_step as a GPU runs it, in blocks of lanes on the host (base/block_host.h).
 *
 * One build for each way in which gb/simt runs machines. Blocks are smaller than on a GPU, so that there are several
 * of them, and their machines fewer. */
#ifndef DM_TESTS_SWARM_BLOCK_MODES_H
#define DM_TESTS_SWARM_BLOCK_MODES_H

#include <dotmatrix/device.h>

#include <stdint.h>

typedef struct dm_block_mode {
    const char *name;
    uint32_t lanes, threads;          /* machines of a warp, threads of a block */
    const dm_builtin_kernel *kernels; /* step, reset, answered and rebalance */
} dm_block_mode;

#define DM_BLOCK_MODES 4
#define DM_BLOCK_KERNELS 4
extern const dm_block_mode dm_block_modes[DM_BLOCK_MODES];

/* Kernels that are compiled with hooks (gb/hooks.h). */
#define DM_BLOCK_HOOK_MODES 3
extern const dm_block_mode dm_block_hook_modes[DM_BLOCK_HOOK_MODES];

#endif
