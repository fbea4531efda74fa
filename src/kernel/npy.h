/* SPDX-License-Identifier: MIT */
/* npy.h - arrays in numpy's .npy files, format versions 1 to 3: plain little-endian numbers in C
 * order. */
#ifndef DM_KERNEL_NPY_H
#define DM_KERNEL_NPY_H

#include <dotmatrix/kernel.h>

#define DM_NPY_DIMS_MAX 8

typedef struct dm_npy {
    dm_kernel_scalar scalar;
    int ndim;
    int64_t shape[DM_NPY_DIMS_MAX];
    size_t count, bytes;
    void *data; /* malloc'ed */
} dm_npy;

/* A damaged, foreign or too large file (more than 16 GiB) is refused with a reason. */
dm_status dm_npy_read(const char *path, dm_npy *out, dm_error *err);
dm_status dm_npy_write(const char *path, const dm_npy *npy, dm_error *err);
void dm_npy_deinit(dm_npy *npy);
size_t dm_npy_scalar_bytes(dm_kernel_scalar scalar);
const char *dm_npy_scalar_name(dm_kernel_scalar scalar); /* "float32" */

#endif
