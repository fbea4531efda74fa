/* SPDX-License-Identifier: MIT */
/* kernels.h - the kernel texts of kernels.def as a table. */
#ifndef DM_DEVICE_KERNELS_H
#define DM_DEVICE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct dm_kernel_text {
    const char *name;
    const char *defines; /* separated by spaces */
    bool cuda_only;
} dm_kernel_text;

extern const dm_kernel_text dm_kernel_texts[];
extern const size_t dm_kernel_text_count;

#endif
