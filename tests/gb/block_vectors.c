/* SPDX-License-Identifier: MIT */
#define DM_HOST_BLOCK 1
#include "gb/machine/kernel_vectors.h"
#include "tests/gb/block_kernels.h"

const dm_builtin_kernel dm_gb_block_vectors = {"dm_gb_vectors", dm_gb_vectors,
                                               sizeof(dm_gb_vectors_args)};
