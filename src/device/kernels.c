/* SPDX-License-Identifier: MIT */
/* kernels.c - kernels.def as a table. */
#include "device/kernels.h"

enum { BOTH = 0, CUDA_ONLY = 1 };

const dm_kernel_text dm_kernel_texts[] = {
#define TEXT(name, defines, targets) {name, defines, (targets) == CUDA_ONLY},
#include "device/kernels.def"
#undef TEXT
};

const size_t dm_kernel_text_count = sizeof dm_kernel_texts / sizeof dm_kernel_texts[0];
