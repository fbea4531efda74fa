/* SPDX-License-Identifier: MIT */
/* nvrtc.h - kernel text to GPU code, by NVIDIA's run-time compiler.
 *
 * library_find.h says where libnvrtc is looked for. $DM_CUDA_OPTIONS adds options ("-lineinfo" for
 * profilers and checkers).
 *
 * Finding is apart from opening: the library is some 100 MB, and code that is in the cache needs
 * only its identity (path, size, time), which is part of the cache's key. */
#ifndef DM_DEVICE_NVRTC_H
#define DM_DEVICE_NVRTC_H

#include "base/file.h"

#include <dotmatrix/device.h>

/* Where it is; the answer is the same for the whole process. */
dm_status dm_nvrtc_find(char path[DM_PATH_MAX], dm_error *err);
/* Where that came from: the wheel, the toolkit or the folder; "" when there is none. */
void dm_nvrtc_origin(char *out, size_t size);
/* Opens it. 13000 for 13.0. */
dm_status dm_nvrtc_version(int *version, dm_error *err);

/* Compile or take from the cache. `arch` is "sm_90", "sm_90a" ... (gives a cubin) or "compute_90"
 * (gives PTX text with its NUL); the bytes are the caller's to free. */
dm_status dm_nvrtc_compile(const dm_module_desc *desc, const char *arch, char **code, size_t *size,
                           bool *was_cached, dm_error *err);

/* Does the text compile to PTX with these options (ended by NULL)? Nothing is kept. DM_ECOMPILE
 * with the compiler's first message; DM_EINVAL when this NVRTC does not know an option. */
dm_status dm_nvrtc_check(const char *name, const char *text, const char *const *options,
                         dm_error *err);

#endif
