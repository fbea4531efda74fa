/* SPDX-License-Identifier: MIT */
#include "tests/swarm/block_modes.h"

extern const dm_builtin_kernel dm_block_kernels_1[], dm_block_kernels_8[], dm_block_kernels_16[],
    dm_block_kernels_32[], dm_block_kernels_hooks_1[], dm_block_kernels_hooks_8[],
    dm_block_kernels_hooks_32[];

/* As tests/meson.build compiles them. */
const dm_block_mode dm_block_modes[DM_BLOCK_MODES] = {
    {"a warp for each machine, staged in shared memory", 1, 96, dm_block_kernels_1},
    {"warps that service their own lanes", 8, 64, dm_block_kernels_8},
    {"blocks that service and compact together", 16, 128, dm_block_kernels_16},
    {"large blocks, page tables of 32 bits", 32, 160, dm_block_kernels_32},
};

const dm_block_mode dm_block_hook_modes[DM_BLOCK_HOOK_MODES] = {
    {"a warp for each machine, with hooks", 1, 96, dm_block_kernels_hooks_1},
    {"warps that service their own lanes, with hooks", 8, 64, dm_block_kernels_hooks_8},
    {"large blocks, with hooks", 32, 160, dm_block_kernels_hooks_32},
};
