/* SPDX-License-Identifier: MIT */
/* library_find.h - find a CUDA library that is not part of the driver: NVRTC, cuBLASLt.
 *
 * Looked for, in this order: the file that a variable names ($DM_NVRTC), $CUDA_HOME, $CUDA_PATH,
 * $LD_LIBRARY_PATH, Python environments ($VIRTUAL_ENV, .venv here or above the program), toolkits
 * under /usr/local and /opt, the system's folders, other Pythons' packages, and last the loader. In
 * a Python environment they are in the folders of NVIDIA's wheels: nvidia/cuda_nvrtc/lib and
 * nvidia/cublas/lib for CUDA 12, nvidia/cu13/lib since. One whose major version is newer than the
 * driver's is only taken when there is no other, since the driver may refuse its code. */
#ifndef DM_DEVICE_LIBRARY_FIND_H
#define DM_DEVICE_LIBRARY_FIND_H

#include "base/file.h"

typedef struct dm_cuda_library {
    const char *stem;     /* "nvrtc": lib<stem>.so.13 */
    const char *name;     /* "NVRTC", for messages */
    const char *variable; /* "DM_NVRTC" */
    const char *wheel;    /* PyPI's: "nvidia-cuda-nvrtc" */
    const char *symbol;   /* that it has */
} dm_cuda_library;

/* `driver_major`: 13, or 0 without a driver. DM_EUNAVAILABLE says how to install it. */
dm_status dm_cuda_library_find(const dm_cuda_library *library, int driver_major,
                               char path[DM_PATH_MAX], dm_error *err);

/* Which package or folder it came from: "wheel nvidia-cuda-nvrtc 13.0.88 from the package index", "toolkit
 * /usr/local/cuda-13.0", "$DM_NVRTC" or "folder /usr/lib". */
void dm_cuda_library_origin(const dm_cuda_library *library, const char *path, char *out,
                            size_t size);

#endif
