/* SPDX-License-Identifier: MIT */
/* fake_cuda.h - a stand-in for libcuda, so that cuda.c can be tested where there is no GPU.
 *
 * "Device" memory is host memory; a kernel runs as the plain C loop that the test registered under
 * its name; everything happens at once. The fake insists on what the real driver insists on (a
 * current context, known handles) and can be told to fail. It says nothing about GPUs. */
#ifndef DM_TESTS_DEVICE_FAKE_CUDA_H
#define DM_TESTS_DEVICE_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*fake_loop)(const void *args, uint64_t first, uint64_t last, uint64_t count);

typedef struct fake_cuda {
    /* What a module "has"; instead of one of the same name. */
    void (*add_kernel)(const char *name, fake_loop loop, size_t args_size);
    /* The next call of `function` (a driver name such as "cuLaunchKernel") returns `code`. */
    void (*fail_next)(const char *function, int code);
    int (*calls)(const char *function);
    int (*live)(void);      /* allocations, streams, events, modules and graphs not yet destroyed */
    int (*errors)(void);    /* calls without a context, of unknown handles ... */
    int (*retained)(void);  /* references to the primary context */
    int (*all_calls)(void); /* of every function */
    void (*set_free)(size_t bytes); /* what cuMemGetInfo says is free; 1000 at first */
} fake_cuda;

/* Found by dlsym. */
const fake_cuda *fake_cuda_get(void);

/* In the test program (fake_open.c): open the fake before the library looks for a driver. NULL when
 * it is not there. A group has its process to itself, so others still see the real one. */
const fake_cuda *dm_test_fake_cuda(void);

/* And a compiler that takes every text (fake_nvrtc.c), for tests that need no more of it. Kernels that it has
 * "compiled" are not to be cached where others look: $DM_CACHE_DIR is the test's. */
bool dm_test_fake_nvrtc(void);

#endif
