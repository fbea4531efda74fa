/* SPDX-License-Identifier: MIT */
/* vectors.c - the kernel of single-step vectors, in blocks of lanes on the host. */
#define DM_HOST_BLOCK 1
#include "gb/machine/kernel_vectors.h"
#include "tests/gb/block/kernels.h"

const dm_builtin_kernel dm_gb_block_vectors = {"dm_gb_vectors", dm_gb_vectors,
                                               sizeof(dm_gb_vectors_args)};
