/* SPDX-License-Identifier: MIT */
/* kernel_run.h - `dotmatrix kernel run` and `kernel check`, apart from cmd_kernel.c. */
#ifndef DM_CLI_KERNEL_RUN_H
#define DM_CLI_KERNEL_RUN_H

#include "cli/options.h"

#include <dotmatrix/kernel.h>

typedef struct dm_kernel_run {
    const char *file, *text;
    size_t size;
    const char *kernel;      /* NULL: the only one */
    const char *device;      /* "cpu", "cuda:0" */
    const char *dim;         /* "64" or "8,8" */
    const dm_strings *args;  /* NAME=FILE.npy, NAME=NUMBER, NAME=zeros:8x3 */
    const dm_strings *grads; /* NAME=FILE.npy or NAME=ones: runs the backward pass too */
    const char *out;         /* folder for the arrays; NULL: only a summary */
    const char *const *defines;
    bool warp_compat, from_inputs, bounds;
} dm_kernel_run;

dm_status dm_cli_kernel_run(const dm_kernel_run *run, dm_error *err);

typedef struct dm_kernel_check_run {
    const char *file, *text;
    size_t size;
    const char *kernel; /* NULL: all */
    uint64_t seed;
    int extent;
    bool json;
    bool need_gpu; /* without one it is an error, not only left out */
    const char *const *defines;
    bool warp_compat, from_inputs;
} dm_kernel_check_run;

/* `*failed`: some kernel is wrong. */
dm_status dm_cli_kernel_check(const dm_kernel_check_run *run, bool *failed, dm_error *err);

#endif
